/* .safetensors: refused with one line, or opened, and then its last element can be read. */
#include "impl/fuzz_file.h"
#include "props/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tensors[] = {NULL, "x"};
    fuzz_file file = fuzz_file_open(data, size);
    for (int i = 0; i < 2; i++) {
        npy_array array;
        rope_error error = {""};
        double last = 0;
        if (safetensors_open(file.path, tensors[i], &array, &error)) {
            if (array.count > 0 && !npy_read(&array, array.count - 1, 1, &last, &error))
                abort();
            npy_close(&array);
        } else {
            fuzz_refused(&error);
        }
    }
    fuzz_file_close(&file);
    return 0;
}
