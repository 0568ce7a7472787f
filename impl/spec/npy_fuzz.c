/* .npy: refused with one line, or opened, and then every element that it claims can be read. */
#include "impl/fuzz_file.h"
#include "impl/spec/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file file = fuzz_file_open(data, size);
    npy_array array;
    rope_error error = {""};
    double *values;
    if (npy_open(file.path, &array, &error)) {
        if (npy_read_f64(&array, &values, &error))
            free(values);
        npy_close(&array);
    } else {
        fuzz_refused(&error);
    }
    fuzz_file_close(&file);
    return 0;
}
