/* Frauds that end or never end the process. */
#include "props/mutants/common.h"

#include <stdlib.h>

static rope_status spin(const rope_plan *p, const rope_view *x, const rope_view *y,
                        const int64_t *positions, int64_t position_stride)
{
    (void)p, (void)x, (void)y, (void)positions, (void)position_stride;
    for (volatile int go = 1; go;)
        ;
    return ROPE_OK;
}
static const mutant_hooks endless_loop_hooks = {.apply = spin};
MUTATION(endless_loop, "FRAUD", "apply never returns");

static rope_status abort_apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    (void)p, (void)x, (void)y, (void)positions, (void)position_stride;
    abort();
}
static const mutant_hooks aborts_hooks = {.apply = abort_apply};
MUTATION(aborts, "FRAUD", "apply calls abort()");
