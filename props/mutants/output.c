/* Frauds that write something else than the rotation. */
#include "props/mutants/common.h"

#include <string.h>

static void copy_row(const mutant_row *r, const float *x, float *y)
{
    if (x != y)
        memcpy(y, x, (size_t)r->plan->spec.head_dim * sizeof *y);
}
static const mutant_hooks identity_hooks = {.row = copy_row};
MUTATION(identity, "FRAUD", "y = x");
