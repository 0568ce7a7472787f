/* GGUF: refused with one line, or read, in time and memory that the file's size bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (file == NULL)
        return 0;
    rope_spec spec;
    rope_error error = {""};
    rope_spec_init(&spec);
    bool ok = rope_gguf_read_stream(file, "f", NULL, 0, &spec, &error) &&
              rope_spec_validate(&spec, &error);
    if (!ok && (error.text[0] == '\0' || strchr(error.text, '\n') != NULL))
        abort();
    rope_spec_free(&spec);
    fclose(file);
    return 0;
}
