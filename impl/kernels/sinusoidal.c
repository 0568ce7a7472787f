/* sinusoidal: adds sin and cos of position * w_i to an embedding (Vaswani et al., Attention Is All
 * You Need, section 3.5), computed per token, so that there is no last position.
 *
 * Contract: 1 + 2^-20 for |position| < 2^31, 1 + 2^-9 elsewhere, times u (|x| + 1).
 *   Angle. t = t1 2^32 + t0, both parts exact in f64. Each part times hi is a product a_k and its
 * exact rest (fma); the products are added with their exact rest (Knuth's two-sum). So angle = a +
 * e, e the sum of the rests. For |t| < 2^31 (w <= 1) |e| < 2^-21, its own error below 2^-70. For
 * every int64 |e| < 2^11, its error below 2^-40, and the frequency's own 2^-98 |angle| is below
 * 2^-35: less than 2^-34 together. Value. sin(a + e) = sin a cos e + cos a sin e; glibc's f64
 * functions reduce any argument exactly and stay within 1 ulp, so p is off by less than 2^-50 more.
 *   Sum. x + p in f64 (relative 2^-53) and one rounding to f32: at most u (1 + 2^-28) |x + p| <= u
 * (1 + 2^-28) (|x| + 1). */
#include "impl/rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rope_plan {
    int64_t dim;
    uint32_t layout;
    size_t bytes;
    double frequencies[]; /* [dim/2] hi, then [dim/2] lo */
};

static rope_status plan(const rope_table_args *args, rope_plan **out)
{
    if (args->size < sizeof *args || args->flags != 0 || args->dtype != ROPE_F32 ||
        args->layout > ROPE_LAYOUT_CONCAT)
        return ROPE_UNSUPPORTED;
    if (args->dim < 2 || args->dim % 2 != 0 || args->frequency_hi == NULL ||
        args->frequency_lo == NULL)
        return ROPE_INVALID;
    if ((uint64_t)args->dim > (SIZE_MAX - sizeof(rope_plan)) / sizeof(double))
        return ROPE_NO_MEMORY;
    size_t half = (size_t)args->dim / 2;
    size_t bytes = sizeof(rope_plan) + 2 * half * sizeof(double);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    *p = (rope_plan){args->dim, args->layout, bytes};
    memcpy(p->frequencies, args->frequency_hi, half * sizeof(double));
    memcpy(p->frequencies + half, args->frequency_lo, half * sizeof(double));
    *out = p;
    return ROPE_OK;
}

/* sin and cos of t * (hi + lo), as derived above. */
static void sin_cos(int64_t t, double hi, double lo, double *sine, double *cosine)
{
    double low = (double)(t & 0xffffffff), high = (double)(t - (t & 0xffffffff));
    double a1 = high * hi, a0 = low * hi;
    double e = fma(high, hi, -a1) + high * lo + (fma(low, hi, -a0) + low * lo);
    double a = a1 + a0, back = a - a1;
    e += (a1 - (a - back)) + (a0 - back);
    double sa = sin(a), ca = cos(a), se = sin(e), ce = cos(e);
    *sine = sa * ce + ca * se;
    *cosine = ca * ce - sa * se;
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    int64_t half = p->dim / 2;
    int64_t step = p->layout == ROPE_LAYOUT_PAPER ? 2 : 1,
            partner = p->layout == ROPE_LAYOUT_PAPER ? 1 : half;
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t i = 0; i < half; i++) {
            double sine, cosine;
            sin_cos(positions[t * position_stride], p->frequencies[i], p->frequencies[half + i],
                    &sine, &cosine);
            for (int64_t h = 0; h < x->heads; h++) {
                const float *source =
                    (const float *)x->data + t * x->token_stride + h * x->head_stride;
                float *target = (float *)y->data + t * y->token_stride + h * y->head_stride;
                target[i * step] = (float)((double)source[i * step] + sine);
                target[i * step + partner] = (float)((double)source[i * step + partner] + cosine);
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
    return p->bytes;
}

static double error_bound(const rope_table_args *args, int64_t position, int64_t element)
{
    (void)args, (void)element;
    const int64_t near = INT64_C(1) << 31;
    return 1 + (position > -near && position < near ? 0x1p-20 : 0x1p-9);
}

const rope_table_kernel rope_sinusoidal = {
    .header = {ROPE_ABI, sizeof(rope_table_kernel), ROPE_TABLE_ADD, ROPE_IN_PLACE},
    .name = "sinusoidal",
    .summary = "adds sin and cos of position and element, computed per token in f64",
    .dtypes = 1u << ROPE_F32,
    .layouts = 1u << ROPE_LAYOUT_PAPER | 1u << ROPE_LAYOUT_CONCAT,
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
