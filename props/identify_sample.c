#include <stdlib.h>
#include <string.h>

#include "props/identify.h"

enum { MAX_ELEMENTS = 1 << 21 }; /* of each tensor: 16 MiB as f64 */

bool prop_sample_read(prop_dump *dump, prop_sample *sample, rope_error *error)
{
    int64_t row = dump->heads * dump->head_dim;
    int64_t most = MAX_ELEMENTS / row < 4 ? 4 : MAX_ELEMENTS / row;
    int64_t tokens = dump->tokens < most ? dump->tokens : most;
    *sample = (prop_sample){.tokens = tokens,
                            .heads = dump->heads,
                            .head_dim = dump->head_dim,
                            .dump_tokens = dump->tokens,
                            .input_dtype = dump->x.dtype,
                            .dtype = dump->y.dtype,
                            .axes = dump->positions.tokens > 0 ? dump->positions.axes : 1};
    sample->x = malloc((size_t)(tokens * row) * sizeof *sample->x);
    sample->y = malloc((size_t)(tokens * row) * sizeof *sample->y);
    sample->index = malloc((size_t)tokens * sizeof *sample->index);
    if (dump->positions.tokens > 0)
        sample->position = malloc((size_t)tokens * sample->axes * sizeof *sample->position);
    if (!sample->x || !sample->y || !sample->index ||
        (dump->positions.tokens > 0 && !sample->position)) {
        prop_sample_free(sample);
        return rope_fail(error, "out of memory for a sample of %lld tokens", (long long)tokens);
    }
    /* The first half in a row, since differences between neighbours tell frequencies; then spread.
     */
    int64_t together = tokens == dump->tokens ? tokens : tokens / 2;
    for (int64_t t = 0; t < tokens; t++) {
        int64_t spread = t - together;
        sample->index[t] =
            t < together ? t : together + spread * (dump->tokens - together) / (tokens - together);
        for (uint32_t a = 0; sample->position != NULL && a < sample->axes; a++)
            sample->position[t * sample->axes + a] = prop_dump_position(dump, sample->index[t], a);
    }
    bool good = prop_dump_read(dump, 0, together, sample->x, sample->y, error);
    for (int64_t t = together; good && t < tokens; t++)
        good = prop_dump_read(dump, sample->index[t], 1, sample->x + t * row, sample->y + t * row,
                              error);
    if (!good)
        prop_sample_free(sample);
    return good;
}

void prop_sample_free(prop_sample *sample)
{
    free(sample->x);
    free(sample->y);
    free(sample->index);
    free(sample->position);
    *sample = (prop_sample){0};
}
