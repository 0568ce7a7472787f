/* A faulty plug-in, to see what a failure looks like: it claims half pairing and rotates adjacent elements, the commonest fault of
 * all. Everything else is the textbook's. Build it as textbook.c. */
#define tightrope_kernels textbook_kernels
#include "textbook.c"
#undef tightrope_kernels

static const rope_kernel mixed_up = {
    {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE}, "mixed_up", "claims half, rotates interleaved",
    1u << ROPE_HALF, 1u << ROPE_F32, 0, {0}, plan, apply, destroy, plan_bytes, error_bound};
static const rope_header *const mixed_up_kernels[] = {&mixed_up.header};
const rope_header *const *tightrope_kernels(uint32_t host_abi, size_t *count) {
    *count = 1;
    return host_abi == ROPE_ABI ? mixed_up_kernels : NULL;
}
