/* The control bits of the floating-point units, which a kernel must leave as it found them:
 * rounding mode, exception masks, flush-to-zero and denormals-are-zero of MXCSR (bits 0xFFC0), the
 * x87 control word, FPCR on aarch64. Sticky exception flags may change. */
#ifndef PROPS_FPSTATE_H
#define PROPS_FPSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct prop_fpstate {
    uint64_t simd; /* MXCSR & 0xFFC0, or FPCR */
    uint32_t x87;  /* x87 control word; 0 elsewhere */
    int rounding;  /* fegetround() */
} prop_fpstate;

prop_fpstate prop_fpstate_get(void);

/* Compares with what is in force now. Where it differs: writes "what was A and became B" into text,
 * puts the old state back, and returns false. */
bool prop_fpstate_check(const prop_fpstate *before, char *text, size_t size);

#endif
