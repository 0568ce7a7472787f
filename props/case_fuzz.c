/* The text of a case, as --replay takes it: refused with one line, or read, and then its own text
 * reads back to the same. */
#include "impl/fuzz_file.h"
#include "impl/registry.h"
#include "props/case.h"
#include "props/suite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static prop_suite suite;
static prop_subject subject;

static void begin(void)
{
    rope_error error;
    const char *text = "head_dim=4,base=10000,pairing=half";
    if (!prop_suite_chosen(&suite, &text, 1, PROP_QUICK, ROPE_TRUTH_EXACT, &error))
        abort();
    subject = prop_suite_subject(&suite, 0, rope_registry_find("scalar"), ROPE_HALF, ROPE_F32, 1);
}

static bool read_case(const char *text, prop_case *c, rope_error *error)
{
    prop_case_header header;
    if (!prop_case_parse_header(text, &header, error))
        return false;
    free(header.spec_text);
    return prop_case_parse(text, &subject, c, error);
}

static void comes_back(const prop_case *c)
{
    rope_error error;
    prop_case again;
    char *once = prop_case_format(&subject, c);
    if (once == NULL || !read_case(once, &again, &error))
        abort();
    char *twice = prop_case_format(&subject, &again);
    if (twice == NULL || strcmp(once, twice) != 0)
        abort();
    free(once);
    free(twice);
    prop_case_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (subject.kernel == NULL)
        begin();
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    prop_case c;
    rope_error error = {""};
    if (read_case(text, &c, &error)) {
        if (prop_case_elements(&c) <= 1 << 12) /* larger ones take long and differ in nothing */
            comes_back(&c);
        prop_case_free(&c);
    } else {
        fuzz_refused(&error);
    }
    free(text);
    return 0;
}
