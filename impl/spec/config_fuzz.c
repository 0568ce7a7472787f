/* config.json: refused with one line, or read into a spec that validation then judges. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layers[] = {NULL, "local", "full_attention"};
    for (int i = 0; i < 3; i++) {
        rope_spec spec;
        rope_error error = {""};
        rope_spec_init(&spec);
        bool ok = rope_config_parse("f", (const char *)data, size, layers[i], 0, &spec, &error) &&
                  rope_spec_validate(&spec, &error);
        if (!ok && (error.text[0] == '\0' || strchr(error.text, '\n') != NULL))
            abort();
        rope_spec_free(&spec);
    }
    return 0;
}
