#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "props/explain_round.h"
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

const char *prop_sample_unrotated(const prop_sample *s, bool *zeros)
{
    bool equal = true;
    *zeros = true;
    for (int64_t i = 0; i < s->tokens * s->heads * s->head_dim && (*zeros || equal); i++) {
        *zeros = *zeros && s->y[i] == 0;
        equal = equal && (s->x[i] == s->y[i] || (isnan(s->x[i]) && isnan(s->y[i])));
    }
    return *zeros  ? "the output is all zeros"
           : equal ? "all rows equal their input: nothing was rotated (or all by position 0)"
                   : NULL;
}

int prop_sample_narrower(const prop_sample *s)
{
    static const uint32_t narrow[] = {ROPE_BF16, ROPE_F16};
    if (s->dtype != ROPE_F32)
        return -1;
    for (int k = 0; k < 2; k++) {
        bool all = true;
        for (int64_t i = 0; all && i < s->tokens * s->heads * s->head_dim; i++)
            all = isnan(s->y[i]) || prop_round(narrow[k], s->y[i]) == s->y[i];
        if (all)
            return (int)narrow[k];
    }
    return -1;
}

void prop_sample_free(prop_sample *sample)
{
    free(sample->x);
    free(sample->y);
    free(sample->index);
    free(sample->position);
    *sample = (prop_sample){0};
}
