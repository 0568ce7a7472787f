/* The .safetensors reader on any bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "props/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    if (*path == '\0')
        snprintf(path, sizeof path, "/tmp/safetensors_fuzz.%ld", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size)
        abort();
    fclose(file);
    npy_array array;
    rope_error error;
    if (safetensors_open(path, NULL, &array, &error)) {
        double first = 0;
        if (array.count > 0)
            npy_read(&array, array.count - 1, 1, &first, &error);
        npy_close(&array);
    }
    if (safetensors_open(path, "x", &array, &error))
        npy_close(&array);
    unlink(path);
    return 0;
}
