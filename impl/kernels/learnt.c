/* learnt: adds row `position` of a trained table to an embedding (GPT-2, BERT). The table is
 * bounded: a position past its end, or negative, is ROPE_RANGE, and is never read.
 *
 * Contract: 1 times u (|x| + |p|): one rounded sum, |error| <= u |x + p|. */
#include "impl/rope.h"

#include <stdlib.h>

struct rope_plan {
    int64_t dim, rows;
    const float *table; /* the caller's */
};

static rope_status plan(const rope_table_args *args, rope_plan **out)
{
    if (args->size < sizeof *args || args->flags != 0 || args->dtype != ROPE_F32)
        return ROPE_UNSUPPORTED;
    if (args->dim < 1 || args->rows < 1 || args->table == NULL)
        return ROPE_INVALID;
    rope_plan *p = malloc(sizeof *p);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    *p = (rope_plan){args->dim, args->rows, args->table};
    *out = p;
    return ROPE_OK;
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    for (int64_t t = 0; t < x->tokens; t++)
        if (positions[t * position_stride] < 0 || positions[t * position_stride] >= p->rows)
            return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++) {
        const float *row = p->table + positions[t * position_stride] * p->dim;
        for (int64_t h = 0; h < x->heads; h++) {
            const float *source = (const float *)x->data + t * x->token_stride + h * x->head_stride;
            float *target = (float *)y->data + t * y->token_stride + h * y->head_stride;
            for (int64_t i = 0; i < p->dim; i++)
                target[i] = source[i] + row[i];
        }
    }
    return ROPE_OK;
}

static void destroy(rope_plan *p)
{
    free(p);
}

static size_t plan_bytes(const rope_plan *p)
{
    return sizeof *p + (size_t)p->rows * (size_t)p->dim * sizeof(float);
}

static double error_bound(const rope_table_args *args, int64_t position, int64_t element)
{
    (void)args, (void)position, (void)element;
    return 1;
}

const rope_table_kernel rope_learnt = {
    .header = {ROPE_ABI, sizeof(rope_table_kernel), ROPE_TABLE_ADD, ROPE_IN_PLACE},
    .name = "learnt",
    .summary = "adds a row of a trained table; positions end where the table ends",
    .dtypes = 1u << ROPE_F32,
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
