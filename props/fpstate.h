/* The state of the processor that a kernel must leave as it found it: rounding mode, exception
 * masks, flush-to-zero and denormals-are-zero of MXCSR (bits 0xFFC0), the x87 control word, FPCR on
 * aarch64; and, as the System V ABI has it between functions (AMD64 supplement, 3.2.1 and 3.2.3),
 * an empty x87 stack (MMX code without EMMS leaves it full: the next long double is NaN), the
 * direction flag clear (else string instructions run backwards) and no alignment check. Sticky
 * exception flags may change. */
#ifndef PROPS_FPSTATE_H
#define PROPS_FPSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct prop_fpstate {
    uint64_t simd;  /* MXCSR & 0xFFC0, or FPCR */
    uint32_t x87;   /* x87 control word; 0 elsewhere */
    uint32_t tags;  /* a bit for every x87 register in use; 0 elsewhere */
    uint64_t flags; /* RFLAGS & (direction | alignment check); 0 elsewhere */
    int rounding;   /* fegetround() */
} prop_fpstate;

prop_fpstate prop_fpstate_get(void);

/* Compares with what is in force now. Where it differs: writes "what was A and became B: which
 * modes that changes" into text (PROP_FPSTATE_TEXT), puts the old state back, and returns false. */
enum { PROP_FPSTATE_TEXT = 256 };
bool prop_fpstate_check(const prop_fpstate *before, char *text, size_t size);

#endif
