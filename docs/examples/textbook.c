/* A complete plug-in: the textbook loop with angles in f64, interleaved pairs, f32.
 *   cc -O2 -shared -fPIC -I/usr/local/include/tightrope textbook.c -o textbook.so -lm
 *   tightrope verify --plugin ./textbook.so */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rope.h"

struct rope_plan {
    rope_plan_args args; /* its lists are the host's, and end with the call of plan: frequencies are copied */
    int64_t head_dim, offset;
    double frequencies[];
};
static rope_status plan(const rope_plan_args *args, rope_plan **out) {
    if (args->size < sizeof *args || args->spec->size < sizeof *args->spec || args->flags != 0 || args->dtype != ROPE_F32 ||
        args->axis_count != 1)
        return ROPE_UNSUPPORTED;
    rope_plan *p = *out = malloc(sizeof *p + (size_t)args->pairs * sizeof(double));
    if (p == NULL)
        return ROPE_NO_MEMORY;
    *p = (rope_plan){*args, args->spec->head_dim, args->spec->rotary_offset};
    memcpy(p->frequencies, args->frequency_hi, (size_t)args->pairs * sizeof(double));
    return ROPE_OK;
}
static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y, const int64_t *at, int64_t stride) {
    for (int64_t t = 0; t < x->tokens; t++)
        if (at[t * stride] < p->args.first[0] || at[t * stride] > p->args.last[0])
            return ROPE_RANGE; /* before anything is written */
    for (int64_t t = 0; t < x->tokens; t++)
        for (int64_t h = 0; h < x->heads; h++) {
            const float *in = (const float *)x->data + t * x->token_stride + h * x->head_stride;
            float *out = (float *)y->data + t * y->token_stride + h * y->head_stride;
            if (in != out)
                memcpy(out, in, (size_t)p->head_dim * sizeof *out);
            for (int64_t i = 0; i < p->args.pairs; i++) {
                double angle = (double)at[t * stride] * p->frequencies[i];
                double c = p->args.attention_factor * cos(angle), s = p->args.attention_factor * sin(angle);
                double u = out[p->offset + 2 * i], v = out[p->offset + 2 * i + 1];
                out[p->offset + 2 * i] = (float)(u * c - v * s);
                out[p->offset + 2 * i + 1] = (float)(u * s + v * c);
            }
        }
    return ROPE_OK;
}
static void destroy(rope_plan *p) { free(p); }
static size_t plan_bytes(const rope_plan *p) { return sizeof *p + (size_t)p->args.pairs * sizeof(double); }
/* One rounding to f32: 1 u. The angle: position, frequency and product rounded to f64, 3 |angle| 2^-53 or 2^-27.4 |angle| u. */
static double error_bound(const rope_plan_args *a, int64_t position, int64_t pair) {
    return 1 + 0x1p-20 + fabs((double)position) * a->frequency_hi[pair] * 0x1p-27;
}
static const rope_kernel textbook = {
    {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE}, "textbook", "the loop of the paper, angles in f64",
    1u << ROPE_INTERLEAVED, 1u << ROPE_F32, 0, {0}, plan, apply, destroy, plan_bytes, error_bound};
static const rope_header *const kernels[] = {&textbook.header};
const rope_header *const *tightrope_kernels(uint32_t host_abi, size_t *count) {
    *count = 1;
    return host_abi == ROPE_ABI ? kernels : NULL;
}
