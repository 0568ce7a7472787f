/* Frauds on the floating-point environment. */
#include "props/mutants/common.h"

#include <fenv.h>

/* The control word that holds flush-to-zero: bits 15 and 6 of MXCSR (flush results, zero
 * subnormal inputs), bit 24 of FPCR. */
#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned long control_read(void)
{
    return _mm_getcsr();
}
static void control_write(unsigned long value)
{
    _mm_setcsr((unsigned)value);
}
static const unsigned long flush_bits = 0x8040;
#elif defined(__aarch64__)
static unsigned long control_read(void)
{
    unsigned long value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
static void control_write(unsigned long value)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
}
static const unsigned long flush_bits = 1ul << 24;
#else
#error "no flush-to-zero control known for this architecture"
#endif

static rope_status apply_flushing(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    control_write(control_read() | flush_bits);
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks flush_to_zero_left_hooks = {.apply = apply_flushing};
MUTATION(flush_to_zero_left, "FRAUD", "leaves flush-to-zero on");

static rope_status apply_flushed(const rope_plan *p, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride)
{
    unsigned long before = control_read();
    control_write(before | flush_bits);
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    control_write(before);
    return status;
}
static const mutant_hooks flush_to_zero_hooks = {.apply = apply_flushed};
MUTATION(flush_to_zero, "FRAUD", "flushes subnormals to zero, and restores the mode");

static rope_status apply_downward(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    fesetround(FE_DOWNWARD);
    return status;
}
static const mutant_hooks rounding_mode_left_hooks = {.apply = apply_downward};
MUTATION(rounding_mode_left, "FRAUD", "leaves the rounding mode at downward");

static void round_plan(rope_plan *p)
{
    (void)p;
    fesetround(FE_UPWARD);
}
static const mutant_hooks plan_rounding_mode_hooks = {.alter = round_plan};
MUTATION(plan_rounding_mode, "FRAUD", "plan leaves the rounding mode at upward");
