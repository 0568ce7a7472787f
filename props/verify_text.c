#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/annotate.h"
#include "props/replay.h"

static double unit_roundoff(const rope_kernel *kernel)
{
    uint32_t dtype = 0;
    while (dtype < ROPE_F64 && !(kernel->dtypes & 1u << dtype))
        dtype++;
    return rope_dtype_unit_roundoff(dtype);
}

/* How close it came, and where. A bound of 1 % of |x| and more is told as such: there the angle is
 * off by that much of a radian, and a rounding error or two beside it leave the ratio at 100 %. An
 * error that is not finite (NaN, or anything but 0 made of x = (0, 0)) has no figure. */
static void print_worst(const prop_verification *v, const prop_line *line, FILE *out)
{
    const prop_tally *t = &line->total;
    bool finite = isfinite(t->ratio);
    if (finite)
        fprintf(out, "  worst %.5g of %.5g u (%.3g %%)", t->ratio * t->bound, t->bound,
                100 * t->ratio);
    else
        fprintf(out, "  worst: %s (%.5g u allowed)",
                t->x0 == 0 && t->x1 == 0 ? "not 0 where x is 0" : "an error beyond measure",
                t->bound);
    if (t->ratio > 0 || !finite)
        fprintf(out, " at position %" PRId64, t->position);
    if (v->suite.count > 1 && (t->ratio > 0 || !finite))
        fprintf(out, " of %s", line->worst_spec);
    bool one_dtype = (line->kernel->dtypes & (line->kernel->dtypes - 1)) == 0;
    double of_x = one_dtype ? t->bound * unit_roundoff(line->kernel) : 0;
    if (of_x >= 0.01)
        fprintf(out, ", a bound of %.3g |x|", of_x);
}

static void print_line(const prop_verification *v, const prop_line *line, FILE *out)
{
    const prop_tally *t = &line->total;
    bool pass = line->verdict == PROP_PASS;
    fprintf(out, "%s %-14s %-14s %3d specs %9" PRId64 " %s", pass ? "pass" : "FAIL",
            line->kernel->name, line->property->name, line->specs, t->comparisons,
            line->property->every_call ? "calls" : "cases");
    if (t->squares > 0 && t->bound > 0)
        print_worst(v, line, out);
    /* The bound above belongs to the worst ratio: an error can hide where another is claimed. */
    if (t->claims > 0 && t->claim > 1.01 * t->bound)
        fprintf(out, ", up to %.5g u is claimed, at position %" PRId64, t->claim,
                t->claim_position);
    if (t->claims > 0 && t->unjudged > 0)
        fprintf(out, ", no contract at %" PRId64 " of %" PRId64, t->unjudged,
                t->unjudged + t->comparisons);
    fputc('\n', out);
    if (pass)
        return;
    /* The worst stands above; this is the first that failed, which the replay makes small. */
    fprintf(out, "     %s%s\n", line->failing >= 0 ? "first to fail: " : "", line->reason);
    const char *smallest, *replay = prop_replay_printed(v, line, &smallest);
    if (smallest != NULL)
        fprintf(out, "     smallest: %s\n", smallest);
    if (replay != NULL)
        fprintf(out, "     replay: %s\n", replay);
    prop_annotate(line->kernel->name, line->property->name, line->reason, out);
}

prop_sum prop_verify_text(const prop_verification *v, FILE *out)
{
    prop_sum sum = {0};
    size_t properties;
    prop_properties(&properties);
    for (int k = 0; k < v->kernel_count; k++) {
        const rope_kernel *kernel = v->kernels[k];
        for (int p = 0; p < (int)properties; p++) {
            prop_line line;
            if (!prop_line_make(v, kernel, p, &line))
                continue;
            print_line(v, &line, out);
            if (line.verdict == PROP_PASS)
                sum.passed++;
            else
                sum.failed++;
        }
        void (*const skips[])(const prop_verification *, const rope_kernel *, char *,
                              size_t) = {prop_skip_no_contract, prop_skip_unsupported,
                                         prop_skip_no_unit, prop_skip_not_run, prop_skip_far};
        for (size_t i = 0; i < sizeof skips / sizeof skips[0]; i++) {
            char text[4096];
            skips[i](v, kernel, text, sizeof text);
            if (*text == '\0')
                continue;
            fprintf(out, "skip %-14s %s\n", kernel->name, text);
            sum.skipped++;
        }
    }
    return sum;
}
