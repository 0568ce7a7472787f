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
static const unsigned long flush_bits = 0x8040, overflow_mask = 0x400;
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
static const unsigned long flush_bits = 1ul << 24, overflow_mask = 0;
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

static double claim_upward(const rope_plan_args *args, int64_t position, int64_t pair);
static const mutant_hooks contract_rounding_mode_hooks = {0};
MUTATION(contract_rounding_mode, "FRAUD", "error_bound leaves the rounding mode at upward",
         .error_bound = claim_upward);
static double claim_upward(const rope_plan_args *args, int64_t position, int64_t pair)
{
    double bound =
        mutant_original(&mutation_contract_rounding_mode)->error_bound(args, position, pair);
    fesetround(FE_UPWARD);
    return bound;
}

/* What only x86 has; elsewhere a named skip. */
#if defined(__x86_64__)
#define X86_ONLY NULL
#define X86(...) __asm__ volatile(__VA_ARGS__)
#else
#define X86_ONLY "an x86 processor"
#define X86(...) (void)0
#endif

static rope_status apply_mmx(const rope_plan *p, const rope_view *x, const rope_view *y,
                             const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    X86("pxor %mm0, %mm0");
    return status;
}
static const mutant_hooks mmx_state_left_hooks = {.apply = apply_mmx};
MUTATION(mmx_state_left, "FRAUD", "uses MMX and leaves out EMMS: the x87 stack is full",
         .waits_for = X86_ONLY);

static rope_status apply_backwards(const rope_plan *p, const rope_view *x, const rope_view *y,
                                   const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    X86("std");
    return status;
}
static const mutant_hooks direction_flag_left_hooks = {.apply = apply_backwards};
MUTATION(direction_flag_left, "FRAUD", "leaves the direction flag set", .waits_for = X86_ONLY);

/* The x87 unit alone: MXCSR keeps its own rounding and precision. */
static rope_status apply_x87(const rope_plan *p, const rope_view *x, const rope_view *y,
                             const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    unsigned short precision_53 = 0x27f;
    (void)precision_53;
    X86("fldcw %0" : : "m"(precision_53));
    return status;
}
static const mutant_hooks x87_precision_left_hooks = {.apply = apply_x87};
MUTATION(x87_precision_left, "FRAUD", "leaves the x87 unit at 53 bits, as DirectX did",
         .waits_for = X86_ONLY);

static rope_status apply_trapping(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t position_stride)
{
    rope_status status = mutant_honest(p, x, y, positions, position_stride);
    control_write(control_read() & ~overflow_mask);
    return status;
}
static const mutant_hooks exception_unmasked_hooks = {.apply = apply_trapping};
MUTATION(exception_unmasked, "FRAUD", "leaves the overflow exception unmasked: a later one traps",
         .waits_for = X86_ONLY);
