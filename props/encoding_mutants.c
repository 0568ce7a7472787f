/* Each wraps the real kernel and spoils one thing. */
#include "props/encoding_mutants.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern const rope_table_kernel rope_sinusoidal, rope_learnt;
extern const rope_bias_kernel rope_alibi;

struct rope_plan {
    rope_plan *original;
    int64_t dim, rows, heads;
    uint32_t layout;
};

static rope_plan *wrap(rope_plan *original)
{
    rope_plan *p = calloc(1, sizeof *p);
    if (p != NULL)
        p->original = original;
    return p;
}

/* ---- sinusoidal ---- */

static rope_status sinusoidal_plan(const rope_table_args *args, rope_plan **out)
{
    rope_plan *original;
    rope_status status = rope_sinusoidal.plan(args, &original);
    if (status != ROPE_OK)
        return status;
    *out = wrap(original);
    (*out)->dim = args->dim;
    (*out)->layout = args->layout;
    return ROPE_OK;
}

static rope_status other_layout_plan(const rope_table_args *args, rope_plan **out)
{
    rope_table_args changed = *args;
    if (args->dim > 2)
        changed.layout = args->layout == ROPE_LAYOUT_PAPER ? ROPE_LAYOUT_CONCAT : ROPE_LAYOUT_PAPER;
    return sinusoidal_plan(&changed, out);
}

static void sinusoidal_destroy(rope_plan *p)
{
    if (p != NULL)
        rope_sinusoidal.destroy(p->original);
    free(p);
}

static size_t sinusoidal_bytes(const rope_plan *p)
{
    return sizeof *p + rope_sinusoidal.plan_bytes(p->original);
}

static rope_status sinusoidal_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                                    const int64_t *positions, int64_t stride)
{
    return rope_sinusoidal.apply(p->original, x, y, positions, stride);
}

/* Applies token by token, each at another position. */
static rope_status apply_at(const rope_plan *p, const rope_view *x, const rope_view *y,
                            const int64_t *positions, int64_t stride, int64_t (*changed)(int64_t))
{
    for (int64_t t = 0; t < x->tokens; t++) {
        rope_view from = *x, to = *y;
        from.tokens = to.tokens = 1;
        from.data = (float *)x->data + t * x->token_stride;
        to.data = (float *)y->data + t * y->token_stride;
        int64_t position = changed(positions[t * stride]);
        rope_status status = rope_sinusoidal.apply(p->original, &from, &to, &position, 1);
        if (status != ROPE_OK)
            return status;
    }
    return ROPE_OK;
}

static int64_t in_32_bits(int64_t position)
{
    return (int32_t)(uint32_t)(uint64_t)position;
}

static int64_t one_less(int64_t position)
{
    return (int64_t)((uint64_t)position - 1);
}

static rope_status wrapped_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t stride)
{
    return apply_at(p, x, y, positions, stride, in_32_bits);
}

static rope_status late_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t stride)
{
    return apply_at(p, x, y, positions, stride, one_less);
}

/* Adds the row twice: its norm is wrong, the shift property still holds. */
static rope_status twice_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    rope_status status = rope_sinusoidal.apply(p->original, x, y, positions, stride);
    return status == ROPE_OK ? rope_sinusoidal.apply(p->original, y, y, positions, stride) : status;
}

/* Angles in f32: t w_i rounded once more. */
static rope_status f32_angle_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                                   const int64_t *positions, int64_t stride)
{
    int64_t half = p->dim / 2;
    bool paper = p->layout == ROPE_LAYOUT_PAPER;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t i = 0; i < half; i++) {
            double exponent =
                paper ? 2 * (double)i / (double)p->dim : (double)i / (double)(half - 1);
            float angle = (float)positions[t * stride] * (float)pow(1e4, -exponent);
            int64_t s = paper ? 2 * i : i, c = paper ? 2 * i + 1 : half + i;
            for (int64_t h = 0; h < x->heads; h++) {
                const float *source =
                    (const float *)x->data + t * x->token_stride + h * x->head_stride;
                float *target = (float *)y->data + t * y->token_stride + h * y->head_stride;
                target[s] = source[s] + sinf(angle);
                target[c] = source[c] + cosf(angle);
            }
        }
    return ROPE_OK;
}

/* ---- learnt ---- */

static rope_status learnt_plan(const rope_table_args *args, rope_plan **out)
{
    rope_plan *original;
    rope_status status = rope_learnt.plan(args, &original);
    if (status != ROPE_OK)
        return status;
    *out = wrap(original);
    (*out)->rows = args->rows;
    return ROPE_OK;
}

static void learnt_destroy(rope_plan *p)
{
    if (p != NULL)
        rope_learnt.destroy(p->original);
    free(p);
}

static size_t learnt_bytes(const rope_plan *p)
{
    return sizeof *p + rope_learnt.plan_bytes(p->original);
}

static rope_status clamped_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t stride)
{
    for (int64_t t = 0; t < x->tokens; t++) {
        rope_view from = *x, to = *y;
        from.tokens = to.tokens = 1;
        from.data = (float *)x->data + t * x->token_stride;
        to.data = (float *)y->data + t * y->token_stride;
        int64_t position = positions[t * stride] < 0 ? 0 : positions[t * stride];
        if (position >= p->rows)
            position = p->rows - 1;
        rope_learnt.apply(p->original, &from, &to, &position, 1);
    }
    return ROPE_OK;
}

/* Checks the range token by token, so that good ones before a bad one are written. */
static rope_status eager_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t stride)
{
    for (int64_t t = 0; t < x->tokens; t++) {
        rope_view from = *x, to = *y;
        from.tokens = to.tokens = 1;
        from.data = (float *)x->data + t * x->token_stride;
        to.data = (float *)y->data + t * y->token_stride;
        rope_status status = rope_learnt.apply(p->original, &from, &to, positions + t * stride, 1);
        if (status != ROPE_OK)
            return status;
    }
    return ROPE_OK;
}

/* ---- ALiBi ---- */

static rope_status alibi_plan(const rope_bias_args *args, rope_plan **out)
{
    *out = wrap(NULL);
    if (*out == NULL)
        return ROPE_NO_MEMORY;
    (*out)->heads = args->heads;
    return ROPE_OK;
}

static size_t alibi_bytes(const rope_plan *p)
{
    return sizeof *p;
}

static double good_slope(int64_t heads, int64_t head)
{
    int64_t power = 1;
    while (power <= heads / 2)
        power *= 2;
    return head < power ? exp2(-8.0 * (double)(head + 1) / (double)power)
                        : exp2(-4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

static double from_zero_slope(int64_t heads, int64_t head)
{
    return head == 0 ? 1 : good_slope(heads, head - 1);
}

static double any_count_slope(int64_t heads, int64_t head)
{
    return exp2(-8.0 * (double)(head + 1) / (double)heads);
}

static double identity_distance(double d)
{
    return d;
}

static double log_distance(double d)
{
    return log1p(fabs(d));
}

static rope_status bias_apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                              const int64_t *queries, const int64_t *keys,
                              double (*slope)(int64_t, int64_t), double (*length)(double),
                              bool absolute)
{
    for (int64_t h = 0; h < x->heads; h++)
        for (int64_t i = 0; i < x->queries; i++)
            for (int64_t j = 0; j < x->keys; j++) {
                double d = (double)(queries[i] - keys[j]);
                double bias = slope(p->heads, h) * length(absolute ? fabs(d) : d);
                const float *source =
                    (const float *)x->data + h * x->head_stride + i * x->query_stride;
                float *target = (float *)y->data + h * y->head_stride + i * y->query_stride;
                target[j] = (float)((double)source[j] - bias);
            }
    return ROPE_OK;
}

static rope_status from_zero_apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                                   const int64_t *q, const int64_t *k)
{
    return bias_apply(p, x, y, q, k, from_zero_slope, identity_distance, true);
}

static rope_status any_count_apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                                   const int64_t *q, const int64_t *k)
{
    return bias_apply(p, x, y, q, k, any_count_slope, identity_distance, true);
}

static rope_status log_apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                             const int64_t *q, const int64_t *k)
{
    return bias_apply(p, x, y, q, k, good_slope, log_distance, true);
}

static rope_status signed_apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                                const int64_t *q, const int64_t *k)
{
    return bias_apply(p, x, y, q, k, good_slope, identity_distance, false);
}

/* Distance counted from 1: the token itself is biased too. */
static double from_one_distance(double d)
{
    return d + 1;
}

static rope_status from_one_apply(const rope_plan *p, const rope_scores *x, const rope_scores *y,
                                  const int64_t *q, const int64_t *k)
{
    return bias_apply(p, x, y, q, k, good_slope, from_one_distance, true);
}

/* ---- the list ---- */

static double table_bound(const rope_table_args *args, int64_t position, int64_t element)
{
    return (args->table != NULL ? rope_learnt.error_bound
                                : rope_sinusoidal.error_bound)(args, position, element);
}

static double bias_bound(const rope_bias_args *args, int64_t head, int64_t distance)
{
    return rope_alibi.error_bound(args, head, distance);
}

static void destroy_plain(rope_plan *p)
{
    free(p);
}

#define TABLE(kernel_name, layout_bits, plan_function, apply_function, destroy_function,           \
              bytes_function)                                                                      \
    static const rope_table_kernel kernel_name = {                                                 \
        .header = {ROPE_ABI, sizeof(rope_table_kernel), ROPE_TABLE_ADD, ROPE_IN_PLACE},            \
        .name = #kernel_name,                                                                      \
        .summary = "mutant",                                                                       \
        .dtypes = 1u << ROPE_F32,                                                                  \
        .layouts = layout_bits,                                                                    \
        .plan = plan_function,                                                                     \
        .apply = apply_function,                                                                   \
        .destroy = destroy_function,                                                               \
        .plan_bytes = bytes_function,                                                              \
        .error_bound = table_bound,                                                                \
    };
#define BIAS(kernel_name, apply_function)                                                          \
    static const rope_bias_kernel kernel_name = {                                                  \
        .header = {ROPE_ABI, sizeof(rope_bias_kernel), ROPE_SCORE_BIAS, ROPE_IN_PLACE},            \
        .name = #kernel_name,                                                                      \
        .summary = "mutant",                                                                       \
        .dtypes = 1u << ROPE_F32,                                                                  \
        .plan = alibi_plan,                                                                        \
        .apply = apply_function,                                                                   \
        .destroy = destroy_plain,                                                                  \
        .plan_bytes = alibi_bytes,                                                                 \
        .error_bound = bias_bound,                                                                 \
    };

enum { BOTH_LAYOUTS = 1u << ROPE_LAYOUT_PAPER | 1u << ROPE_LAYOUT_CONCAT };
TABLE(sinusoidal_layout_swapped, BOTH_LAYOUTS, other_layout_plan, sinusoidal_apply,
      sinusoidal_destroy, sinusoidal_bytes)
TABLE(sinusoidal_f32_angle, BOTH_LAYOUTS, sinusoidal_plan, f32_angle_apply, sinusoidal_destroy,
      sinusoidal_bytes)
TABLE(sinusoidal_32_bit_position, BOTH_LAYOUTS, sinusoidal_plan, wrapped_apply, sinusoidal_destroy,
      sinusoidal_bytes)
TABLE(sinusoidal_one_late, BOTH_LAYOUTS, sinusoidal_plan, late_apply, sinusoidal_destroy,
      sinusoidal_bytes)
TABLE(sinusoidal_added_twice, BOTH_LAYOUTS, sinusoidal_plan, twice_apply, sinusoidal_destroy,
      sinusoidal_bytes)
TABLE(learnt_clamped, 0, learnt_plan, clamped_apply, learnt_destroy, learnt_bytes)
TABLE(learnt_late_check, 0, learnt_plan, eager_apply, learnt_destroy, learnt_bytes)
BIAS(alibi_head_from_zero, from_zero_apply)
BIAS(alibi_any_head_count, any_count_apply)
BIAS(alibi_log_distance, log_apply)
BIAS(alibi_signed_distance, signed_apply)
BIAS(alibi_distance_from_one, from_one_apply)

static const prop_encoding_mutant mutants[] = {
    {"sinusoidal_layout_swapped", "F3", "sinusoidal",
     "sines and cosines lie as in the other layout", &sinusoidal_layout_swapped.header},
    {"sinusoidal_f32_angle", "F7", "sinusoidal", "angles in f32", &sinusoidal_f32_angle.header},
    {"sinusoidal_32_bit_position", "F27", "sinusoidal", "positions kept in 32 bits",
     &sinusoidal_32_bit_position.header},
    {"sinusoidal_one_late", "F26", "sinusoidal", "the row of the position before",
     &sinusoidal_one_late.header},
    {"sinusoidal_added_twice", "FRAUD", "sinusoidal", "the row is added twice",
     &sinusoidal_added_twice.header},
    {"learnt_clamped", "F27", "learnt", "a position past the table takes the last row",
     &learnt_clamped.header},
    {"learnt_late_check", "FRAUD", "learnt", "rows before the one out of range are written",
     &learnt_late_check.header},
    {"alibi_head_from_zero", "F33", "alibi", "slopes counted from head 0: the first is 1",
     &alibi_head_from_zero.header},
    {"alibi_any_head_count", "F33", "alibi", "2^(-8h/n) for head counts that are no power of two",
     &alibi_any_head_count.header},
    {"alibi_log_distance", "FRAUD", "alibi", "bias grows with the logarithm of the distance",
     &alibi_log_distance.header},
    {"alibi_signed_distance", "FRAUD", "alibi", "keys after the query are rewarded",
     &alibi_signed_distance.header},
    {"alibi_distance_from_one", "F26", "alibi", "distance counted from 1",
     &alibi_distance_from_one.header},
};

const prop_encoding_mutant *prop_encoding_mutants(size_t *count)
{
    *count = sizeof mutants / sizeof mutants[0];
    return mutants;
}
