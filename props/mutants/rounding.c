/* Faults of where a 16-bit result is rounded: F34. Right: everything wider than the storage, and
 * one rounding to nearest at the end. */
#include "props/mutants/common.h"

#include <math.h>

#include "oracle/measure.h"

static double narrow(uint32_t dtype, double x)
{
    return dtype == ROPE_BF16 ? mutant_round(x, 8) : mutant_round_f16(x);
}

/* The next value of the format towards 0, where x is none. */
static double truncate_to(uint32_t dtype, double x)
{
    double nearest = narrow(dtype, x);
    if (x == 0 || !isfinite(nearest) || fabs(nearest) <= fabs(x))
        return nearest;
    int exponent, bits = dtype == ROPE_BF16 ? 8 : 11;
    frexp(x, &exponent);
    return nearest - copysign(ldexp(1, exponent - bits), x);
}

typedef void rounding(const rope_plan *p, double c, double s, double u, double v, double *first,
                      double *second);

/* A loop like mutant_loop over elements of 16 bits, in f64 but for the rounding under test. */
static rope_status rotate_16(const rope_plan *p, const rope_view *x, const rope_view *y,
                             const int64_t *positions, int64_t position_stride,
                             rounding *round_pair)
{
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    if (!mutant_in_window(p, positions, x->tokens, position_stride))
        return ROPE_RANGE;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t h = 0; h < x->heads; h++) {
            const uint16_t *from =
                (const uint16_t *)x->data + t * x->token_stride + h * x->head_stride;
            uint16_t *to = (uint16_t *)y->data + t * y->token_stride + h * y->head_stride;
            for (int64_t e = 0; from != to && e < p->spec.head_dim; e++)
                to[e] = from[e];
            for (int64_t i = 0; i < p->args.pairs; i++) {
                int64_t a, b;
                float c, s;
                double first, second;
                mutant_elements(p, i, &a, &b);
                mutant_turn(p, positions[t * position_stride + p->axis[i]], i, &c, &s);
                round_pair(p, (double)c, (double)s, oracle_load(p->args.dtype, to, a),
                           oracle_load(p->args.dtype, to, b), &first, &second);
                oracle_store(p->args.dtype, to, a, first);
                oracle_store(p->args.dtype, to, b, second);
            }
        }
    return ROPE_OK;
}

static void round_products(const rope_plan *p, double c, double s, double u, double v,
                           double *first, double *second)
{
    uint32_t dtype = p->args.dtype;
    *first = narrow(dtype, u * c) - narrow(dtype, v * s);
    *second = narrow(dtype, u * s) + narrow(dtype, v * c);
}
static rope_status apply_products(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    return rotate_16(p, x, y, positions, position_stride, round_products);
}
static const mutant_hooks rounding_doubled_hooks = {.turn = mutant_turn, .apply = apply_products};
MUTATION(rounding_doubled, "F34", "products are rounded to 16 bits before they are added",
         .dtypes = 1u << ROPE_BF16 | 1u << ROPE_F16);

static void round_table(const rope_plan *p, double c, double s, double u, double v, double *first,
                        double *second)
{
    c = narrow(p->args.dtype, c);
    s = narrow(p->args.dtype, s);
    *first = u * c - v * s;
    *second = u * s + v * c;
}
static rope_status apply_table(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    return rotate_16(p, x, y, positions, position_stride, round_table);
}
static const mutant_hooks rounding_table_hooks = {.turn = mutant_turn, .apply = apply_table};
MUTATION(rounding_table, "F34", "cos and sin are rounded to 16 bits like the data",
         .dtypes = 1u << ROPE_BF16 | 1u << ROPE_F16);

static void round_down(const rope_plan *p, double c, double s, double u, double v, double *first,
                       double *second)
{
    *first = truncate_to(p->args.dtype, u * c - v * s);
    *second = truncate_to(p->args.dtype, u * s + v * c);
}
static rope_status apply_truncation(const rope_plan *p, const rope_view *x, const rope_view *y,
                                    const int64_t *positions, int64_t position_stride)
{
    return rotate_16(p, x, y, positions, position_stride, round_down);
}
static const mutant_hooks rounding_truncated_hooks = {.turn = mutant_turn,
                                                      .apply = apply_truncation};
MUTATION(rounding_truncated, "F34", "the result is truncated to 16 bits, not rounded",
         .dtypes = 1u << ROPE_BF16 | 1u << ROPE_F16);
