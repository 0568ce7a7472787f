/* Floating-point control words in words: what a kernel or the loading of a plug-in changed. */
#ifndef IMPL_CONTROLS_H
#define IMPL_CONTROLS_H

#include <stddef.h>
#include <stdint.h>

typedef enum rope_control {
    ROPE_CONTROL_MXCSR = 0, /* x86, SSE and AVX; sticky flags left out */
    ROPE_CONTROL_X87 = 1,   /* the x87 control word */
    ROPE_CONTROL_FPCR = 2,  /* aarch64 */
} rope_control;

enum { ROPE_CONTROL_TEXT = 256 }; /* room for every change of one control word */

/* Writes "MXCSR control bits were 0x1f80 and became 0x9fc0: flush-to-zero on, denormals-are-zero
 * on": both values, then every mode, field and exception mask that differs, by name. */
void rope_control_change(rope_control which, uint64_t before, uint64_t after, char *text,
                         size_t size);

#endif
