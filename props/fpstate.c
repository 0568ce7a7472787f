#include "props/fpstate.h"

#include <fenv.h>
#include <stdio.h>

#include "impl/controls.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { MXCSR_CONTROL = 0xFFC0, DIRECTION = 1 << 10, ALIGNMENT_CHECK = 1 << 18, TAGS_AT = 4 };

/* First of all: with the direction flag set, what the compiler makes of the rest may go wrong. */
static void read_flags(prop_fpstate *s)
{
    s->flags = __builtin_ia32_readeflags_u64() & (DIRECTION | ALIGNMENT_CHECK);
    if (s->flags != 0)
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() &
                                       ~(unsigned long long)(DIRECTION | ALIGNMENT_CHECK));
}

static void read_control(prop_fpstate *s)
{
    uint16_t word;
    unsigned char image[512] __attribute__((aligned(16)));
    __asm__ volatile("fnstcw %0" : "=m"(word));
    __asm__ volatile("fxsave %0" : "=m"(image)); /* FNSTENV would mask exceptions */
    s->x87 = word;
    s->tags = image[TAGS_AT];
    s->simd = _mm_getcsr() & MXCSR_CONTROL;
}

static void write_control(const prop_fpstate *s)
{
    uint16_t word = (uint16_t)s->x87;
    if (s->tags == 0)
        __asm__ volatile("emms");
    __asm__ volatile("fldcw %0" : : "m"(word));
    _mm_setcsr((_mm_getcsr() & ~(unsigned)MXCSR_CONTROL) | (unsigned)s->simd);
}
#elif defined(__aarch64__)
static void read_flags(prop_fpstate *s)
{
    s->flags = 0; /* has no such flags */
}

static void read_control(prop_fpstate *s)
{
    __asm__ volatile("mrs %0, fpcr" : "=r"(s->simd));
    s->x87 = s->tags = 0;
}

static void write_control(const prop_fpstate *s)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(s->simd));
}
#else
static void read_flags(prop_fpstate *s)
{
    s->flags = 0;
}

static void read_control(prop_fpstate *s)
{
    s->simd = 0;
    s->x87 = s->tags = 0;
}

static void write_control(const prop_fpstate *s)
{
    fesetround(s->rounding);
}
#endif

prop_fpstate prop_fpstate_get(void)
{
    prop_fpstate s;
    read_flags(&s);
    read_control(&s);
    s.rounding = fegetround();
    return s;
}

bool prop_fpstate_check(const prop_fpstate *before, char *text, size_t size)
{
    prop_fpstate now = prop_fpstate_get();
    bool flags = now.flags == before->flags, tags = now.tags == before->tags;
    if (now.simd == before->simd && now.x87 == before->x87 && now.rounding == before->rounding &&
        flags && tags)
        return true;
    if (!flags)
        snprintf(text, size, "direction and alignment flags (0x40400) were %#llx and became %#llx",
                 (unsigned long long)before->flags, (unsigned long long)now.flags);
    else if (!tags)
        snprintf(text, size,
                 "x87 registers in use (tag word) were %#x and became %#x: MMX code "
                 "without EMMS?",
                 before->tags, now.tags);
    else if (now.simd != before->simd)
        rope_control_change(
#if defined(__aarch64__)
            ROPE_CONTROL_FPCR,
#else
            ROPE_CONTROL_MXCSR,
#endif
            before->simd, now.simd, text, size);
    else if (now.x87 != before->x87)
        rope_control_change(ROPE_CONTROL_X87, before->x87, now.x87, text, size);
    else
        snprintf(text, size, "rounding mode was %d and became %d", before->rounding, now.rounding);
    write_control(before);
    return false;
}
