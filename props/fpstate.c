#include "props/fpstate.h"

#include <fenv.h>
#include <stdio.h>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>

enum { MXCSR_CONTROL = 0xFFC0 };

static void read_control(prop_fpstate *s)
{
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    s->x87 = word;
    s->simd = _mm_getcsr() & MXCSR_CONTROL;
}

static void write_control(const prop_fpstate *s)
{
    uint16_t word = (uint16_t)s->x87;
    __asm__ volatile("fldcw %0" : : "m"(word));
    _mm_setcsr((_mm_getcsr() & ~(unsigned)MXCSR_CONTROL) | (unsigned)s->simd);
}
#elif defined(__aarch64__)
static void read_control(prop_fpstate *s)
{
    __asm__ volatile("mrs %0, fpcr" : "=r"(s->simd));
    s->x87 = 0;
}

static void write_control(const prop_fpstate *s)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(s->simd));
}
#else
static void read_control(prop_fpstate *s)
{
    s->simd = 0;
    s->x87 = 0;
}

static void write_control(const prop_fpstate *s)
{
    fesetround(s->rounding);
}
#endif

prop_fpstate prop_fpstate_get(void)
{
    prop_fpstate s;
    read_control(&s);
    s.rounding = fegetround();
    return s;
}

bool prop_fpstate_check(const prop_fpstate *before, char *text, size_t size)
{
    prop_fpstate now = prop_fpstate_get();
    if (now.simd == before->simd && now.x87 == before->x87 && now.rounding == before->rounding)
        return true;
    if (now.simd != before->simd)
        snprintf(text, size, "%s control bits were %#llx and became %#llx",
#if defined(__aarch64__)
                 "FPCR",
#else
                 "MXCSR",
#endif
                 (unsigned long long)before->simd, (unsigned long long)now.simd);
    else if (now.x87 != before->x87)
        snprintf(text, size, "x87 control word was %#x and became %#x", before->x87, now.x87);
    else
        snprintf(text, size, "rounding mode was %d and became %d", before->rounding, now.rounding);
    write_control(before);
    return false;
}
