/* Spec text: refused with one line, or read; what is read prints, reads back to the same text, and
 * resolves. Paths and @FILE lists are left out: they would read whatever the bytes name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char once[1 << 20], twice[1 << 20];
    char *text = malloc(size + 10);
    if (text == NULL)
        return 0;
    memcpy(text, "head_dim=", 9);
    memcpy(text + 9, data, size);
    text[9 + size] = '\0';
    rope_spec spec, again;
    rope_error error = {""};
    if (strchr(text, '@') != NULL) {
        /* not here */
    } else if (rope_spec_parse(text, &spec, &error)) {
        rope_frequencies f;
        /* Large dimensions take seconds under sanitizers and differ in nothing. */
        for (int truth = 0; truth < 2 && spec.rotary_dim <= 512; truth++)
            if (rope_spec_resolve(&spec, (rope_truth)truth, &f, &error))
                rope_frequencies_free(&f);
        rope_spec_format(&spec, once, sizeof once);
        if (!rope_spec_parse(once, &again, &error))
            abort();
        rope_spec_format(&again, twice, sizeof twice);
        if (strcmp(once, twice) != 0)
            abort();
        rope_spec_free(&again);
        rope_spec_free(&spec);
    } else if (error.text[0] == '\0' || strchr(error.text, '\n') != NULL) {
        abort();
    }
    free(text);
    return 0;
}
