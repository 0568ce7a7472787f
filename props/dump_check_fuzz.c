/* check and identify on dumps of any content: the first byte picks dtype and layout, the rest is
 * data of both tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "props/dump_check.h"
#include "props/identify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char input[64], output[64];
static rope_spec spec;

static void begin(void)
{
    rope_error error;
    snprintf(input, sizeof input, "/tmp/dump_check_fuzz.%ld.x.npy", (long)getpid());
    snprintf(output, sizeof output, "/tmp/dump_check_fuzz.%ld.y.npy", (long)getpid());
    if (!rope_spec_parse("head_dim=8,rotary_dim=6,base=10000,pairing=half", &spec, &error))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const npy_type types[] = {NPY_F32, NPY_F64, NPY_F16, NPY_U16};
    static const size_t bytes[] = {4, 8, 2, 2};
    if (*input == '\0')
        begin();
    if (size < 2)
        return 0;
    int type = data[0] & 3;
    int64_t tokens = 1 + (data[0] >> 2 & 3), heads = 1 + (data[0] >> 4 & 1);
    size_t tensor = (size_t)(tokens * heads * 8) * bytes[type];
    unsigned char *x = calloc(2, tensor);
    if (x == NULL)
        abort();
    for (size_t i = 0; i < 2 * tensor; i++)
        x[i] = data[1 + i % (size - 1)];
    rope_error error;
    char positions[64];
    snprintf(positions, sizeof positions, "%d:%d", data[1], (int)(data[1] + tokens));
    int64_t shape[3] = {tokens, heads, 8};
    prop_dump dump;
    if (npy_write(input, types[type], 3, shape, x, &error) &&
        npy_write(output, types[type], 3, shape, x + tensor, &error) &&
        prop_dump_open(input, output, positions, PROP_LAYOUT_DEFAULT, &dump, &error)) {
        prop_verdict verdict;
        if (prop_dump_check(&dump, &spec, &(prop_check_options){.jobs = 1 + (data[0] >> 5 & 1)},
                            &verdict, &error))
            prop_verdict_free(&verdict);
        prop_sample sample;
        static prop_identity identity;
        if (prop_sample_read(&dump, &sample, &error)) {
            prop_identify(&sample, &spec, (1u << PROP_ANGLES) - 1, &identity, &error);
            prop_sample_free(&sample);
        }
        prop_dump_close(&dump);
    }
    free(x);
    unlink(input);
    unlink(output);
    return 0;
}
