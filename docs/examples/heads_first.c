/* A kernel whose own order is heads before tokens, [heads][tokens][head_dim], as many attention kernels have it: the strides of the
 * view say so, and a wrapper hands it one head at a time. The inner function is what an engine would have already. */
#define tightrope_kernels textbook_kernels
#include "textbook.c"
#undef tightrope_kernels

/* The engine's kernel: all tokens of one head, rows token_stride apart. */
static rope_status rotate_head(const rope_plan *p, const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t tokens,
                               const int64_t *at, int64_t stride) {
    const rope_view in = {(void *)(uintptr_t)x, tokens, 1, x_stride, 0}, out = {y, tokens, 1, y_stride, 0};
    return apply(p, &in, &out, at, stride);
}
static rope_status apply_heads_first(const rope_plan *p, const rope_view *x, const rope_view *y, const int64_t *at, int64_t stride) {
    for (int64_t h = 0; h < x->heads; h++) { /* a position out of range stops the first head before it writes */
        rope_status status = rotate_head(p, (const float *)x->data + h * x->head_stride, x->token_stride,
                                         (float *)y->data + h * y->head_stride, y->token_stride, x->tokens, at, stride);
        if (status != ROPE_OK)
            return status;
    }
    return ROPE_OK;
}
static const rope_kernel heads_first = {
    {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE}, "heads_first", "one head at a time, all its tokens",
    1u << ROPE_INTERLEAVED, 1u << ROPE_F32, 0, {0}, plan, apply_heads_first, destroy, plan_bytes, error_bound};
static const rope_header *const heads_first_kernels[] = {&heads_first.header};
const rope_header *const *tightrope_kernels(uint32_t host_abi, size_t *count) {
    *count = 1;
    return host_abi == ROPE_ABI ? heads_first_kernels : NULL;
}
