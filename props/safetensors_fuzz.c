/* .safetensors: refused with one line, or opened, and then its last element can be read. Few inputs
 * begin with a length that fits: with an odd first byte the target writes it, and the header ends
 * at the first NUL. */
#include "impl/fuzz_file.h"
#include "props/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fuzz_file with_length(const uint8_t *data, size_t size)
{
    static unsigned char bytes[1 << 17];
    size_t length = strnlen((const char *)data, size);
    if (size > sizeof bytes - 8)
        abort(); /* more than -max_len */
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, data, size);
    return fuzz_file_open(bytes, 8 + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tensors[] = {NULL, "x"};
    if (size == 0)
        return 0;
    fuzz_file file =
        data[0] & 1 ? with_length(data + 1, size - 1) : fuzz_file_open(data + 1, size - 1);
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
