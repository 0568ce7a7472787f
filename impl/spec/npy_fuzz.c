/* .npy: refused with one line, or opened, and then every element that it claims can be read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "impl/spec/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int descriptor = memfd_create("npy", 0);
    char path[64];
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    npy_array array;
    rope_error error = {""};
    double *values;
    if (npy_open(path, &array, &error)) {
        if (npy_read_f64(&array, &values, &error))
            free(values);
        npy_close(&array);
    } else if (error.text[0] == '\0' || strchr(error.text, '\n') != NULL) {
        abort();
    }
    close(descriptor);
    return 0;
}
