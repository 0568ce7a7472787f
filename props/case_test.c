/* The text of a case: what was written is read back, and nothing else is. */
#include "props/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/suite.h"

static prop_suite suite;
static prop_subject subject;

static int make_subject(void **state)
{
    (void)state;
    rope_error error;
    const char *text = "head_dim=4,base=10000,pairing=half";
    if (!prop_suite_chosen(&suite, &text, 1, PROP_QUICK, ROPE_TRUTH_EXACT, &error))
        return 1;
    subject = prop_suite_subject(&suite, 0, rope_registry_find("scalar"), ROPE_HALF, ROPE_F32, 1);
    return 0;
}

static int free_suite(void **state)
{
    (void)state;
    prop_suite_free(&suite);
    return 0;
}

/* Both steps of reading; *again is what was read, written. */
static bool read_case(const char *text, char **again, rope_error *error)
{
    prop_case_header header;
    prop_case c;
    if (!prop_case_parse_header(text, &header, error))
        return false;
    free(header.spec_text);
    if (!prop_case_parse(text, &subject, &c, error))
        return false;
    if (again != NULL)
        *again = prop_case_format(&subject, &c);
    prop_case_free(&c);
    return true;
}

#define HEAD "contract;spec=head_dim=4,base=10000,pairing=half;dtype=f32"
#define SHAPE ";tokens=2;heads=1;x=end:1:2:3;y=far-heads:0:0:4:heads"

static void comes_back_as_it_was(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD SHAPE ";gap=3;k=-7;at=5,-9223372036854775808;data=usual:18446744073709551615",
        HEAD SHAPE ";at=0,1;data=special:3;bits=0:3f800000,7:ffffffff",
        HEAD ";tokens=1;heads=1;x=start:0:0:0;in_place=1;at=1;bits=;bits2=3:1",
        HEAD ";tokens=1;heads=1;x=rows:0:0:0;y=far-tokens:0:0:0;at=1;and=2;data=edge:0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rope_error error;
        char *again = NULL;
        if (!read_case(texts[i], &again, &error))
            fail_msg("%s: %s", texts[i], error.text);
        assert_string_equal(again, texts[i]);
        free(again);
    }
}

static void refuses_and_names_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *text, *named;
    } wrong[] = {
        {HEAD ";at=1;zork=1", "'zork'"},
        {HEAD ";at=1;;;garbage", "''"},
        {HEAD ";at=1;garbage", "'garbage'"},
        {HEAD ";at=1;", "''"},
        {"contract;spec=head_dim=4,base=10000,pairing=half;dtpe=f16;at=1", "'dtpe'"},
        {HEAD ";at=1;token=1", "'token'"},
        {HEAD ";at=1;heads", "heads"},
        {HEAD ";at=1;tokens=1;tokens=x", "tokens given twice"},
        {HEAD ";at=1;at=1", "at given twice"},
        {HEAD ";dtype=f16;at=1", "dtype given twice"},
        {HEAD ";at=99999999999999999999999", "at="},
        {HEAD ";at=-9223372036854775809", "at="},
        {HEAD ";at=\t1", "at="},
        {HEAD ";at=1,2", "at="},
        {HEAD ";at=1;tokens=99999999999999999999999", "tokens="},
        {HEAD ";at=1;tokens=65536;heads=4096", "elements"},
        {HEAD ";at=1;k=9223372036854775808", "k="},
        {HEAD ";at=1;x=end:99999999999999999999999:0:0", "x="},
        {HEAD ";at=1;data=usual:18446744073709551616", "data="},
        {HEAD ";at=1;data=usual:-1", "data="},
        {HEAD ";at=1;data=usual", "data="},
        {HEAD ";at=1;data=zork:1", "data="},
        {HEAD ";at=1;bits=0:10000000000000000", "bits="},
        {HEAD ";at=1;bits=0:100000000", "bits="}, /* wider than f32 */
        {HEAD ";at=1;bits=0:-1", "bits="},
        {HEAD ";at=1;bits=99999999999999999999999:1", "bits="},
        {HEAD ";at=1;bits=4:1", "bits="},
        {HEAD ";at=1;bits=1:1,1:2", "bits="},
        {HEAD ";at=1;bits2=0:1,", "bits2="},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rope_error error = {0};
        if (read_case(wrong[i].text, NULL, &error))
            fail_msg("%s was taken", wrong[i].text);
        if (strstr(error.text, wrong[i].named) == NULL || strchr(error.text, '\n') != NULL)
            fail_msg("%s: %s", wrong[i].text, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_was),
        cmocka_unit_test(refuses_and_names_the_field),
    };
    return cmocka_run_group_tests(tests, make_subject, free_suite);
}
