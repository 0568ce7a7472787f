/* Skips: what was not judged of a kernel, and why. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/arena.h"
#include "props/bands.h"
#include "props/claims.h"
#include "props/lines.h"

/* What one property could not judge of a kernel, and on which spec nearest to position 0. */
typedef struct {
    int64_t unjudged, nearest;
    int entry;
} unclaimed;

static unclaimed unclaimed_by(const prop_verification *v, const rope_kernel *kernel, int property)
{
    unclaimed all = {0};
    for (int u = 0; u < v->unit_count; u++)
        for (int e = 0; v->units[u].kernel == kernel && e < v->suite.count; e++)
            for (int b = 0; b < PROP_BANDS; b++) {
                const prop_tally *t = &prop_unit_finding(&v->units[u], e, property)->sheet.bands[b];
                if (t->unjudged > 0 && (all.unjudged == 0 || prop_magnitude(t->no_contract) <
                                                                 prop_magnitude(all.nearest))) {
                    all.nearest = t->no_contract;
                    all.entry = e;
                }
                all.unjudged += t->unjudged;
            }
    return all;
}

static bool has_failed(const prop_verification *v, const rope_kernel *kernel, int property)
{
    bool failed = false;
    for (int u = 0; u < v->unit_count; u++)
        for (int e = 0; v->units[u].kernel == kernel && e < v->suite.count; e++)
            failed |= prop_unit_finding(&v->units[u], e, property)->sheet.failed;
    return failed;
}

/* The contract's own position comes first: the others' tolerances are sums of bounds at several
 * positions, and theirs is the first of them. */
void prop_skip_no_contract(const prop_verification *v, const rope_kernel *kernel, char *text,
                           size_t size)
{
    size_t properties, used = 0;
    const prop_property *const *list = prop_properties(&properties);
    *text = '\0';
    prop_tally total = {0};
    for (int u = 0; u < v->unit_count; u++)
        for (int e = 0; v->units[u].kernel == kernel && e < v->suite.count; e++)
            for (int p = 0; p < (int)properties; p++)
                for (int b = 0; b < PROP_BANDS; b++)
                    prop_tally_merge(&total,
                                     &prop_unit_finding(&v->units[u], e, p)->sheet.bands[b]);
    for (int p = 0; p < (int)properties && used < size; p++) {
        unclaimed u = unclaimed_by(v, kernel, p);
        /* Where results are wrong, what follows from them is no tolerance: the failure says more.
         */
        if (u.unjudged == 0 || prop_may_be_unclaimed(list[p]) || has_failed(v, kernel, p))
            continue;
        const char *before = used == 0 ? "" : ",";
        if (used == 0)
            used =
                (size_t)snprintf(text, size,
                                 "no contract at position %" PRId64
                                 " of %s (%s) and others further from 0; comparisons not judged:",
                                 u.nearest, v->suite.entries[u.entry].text, list[p]->name);
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s %s %" PRId64, before,
                                     list[p]->name, u.unjudged);
    }
    if (total.outlying > 0 && used < size)
        snprintf(text + used, size - used,
                 "%sno contract worth the name at %" PRId64 " of %" PRId64
                 " pairs: up to %.4g u is claimed, at position %" PRId64
                 ", and less than 1/%d of it further out",
                 used > 0 ? "; " : "", total.outlying, total.claims, total.claim,
                 total.claim_position, PROP_CLAIM_FACTOR);
}

void prop_skip_unsupported(const prop_verification *v, const rope_kernel *kernel, char *text,
                           size_t size)
{
    char *list = NULL;
    size_t length = 0, properties;
    FILE *f = open_memstream(&list, &length);
    prop_properties(&properties);
    int count = 0;
    for (int e = 0; f != NULL && e < v->suite.count; e++) {
        bool refused = false;
        for (int u = 0; u < v->unit_count; u++)
            for (int p = 0; v->units[u].kernel == kernel && p < (int)properties; p++)
                refused |= prop_unit_finding(&v->units[u], e, p)->sheet.refused;
        if (refused)
            fprintf(f, "%s%s", count++ > 0 ? "; " : "", v->suite.entries[e].text);
    }
    *text = '\0';
    if (f != NULL && fclose(f) == 0 && count > 0)
        snprintf(text, size, "%d of %d specs unsupported: %s", count, v->suite.count, list);
    free(list);
}

/* A pairing of the spec that the kernel takes. */
static bool reaches(const prop_verification *v, const rope_kernel *kernel, int entry)
{
    bool reached = false;
    for (uint32_t pairing = 0; pairing < 2; pairing++)
        reached |= v->suite.entries[entry].full_text[pairing] != NULL &&
                   (kernel->pairings & 1u << pairing);
    return reached;
}

static bool has_units(const prop_verification *v, const rope_kernel *kernel)
{
    bool units = false;
    for (int u = 0; u < v->unit_count; u++)
        units |= v->units[u].kernel == kernel;
    return units;
}

static const char *pairing_lacking(const rope_kernel *kernel)
{
    return kernel->pairings & 1u << ROPE_HALF ? "interleaved" : "half";
}

prop_verdict prop_skip_entry(const prop_verification *v, const rope_kernel *kernel, int entry,
                             char *text, size_t size)
{
    uint32_t lacking = kernel->cpu_features & ~rope_cpu_features();
    *text = '\0';
    if (lacking != 0) {
        char missing[64];
        rope_cpu_features_text(lacking, missing, sizeof missing);
        snprintf(text, size, "needs %s, which this machine lacks", missing);
        return PROP_NOT_RUN;
    }
    if (!has_units(v, kernel)) {
        size_t used = (size_t)snprintf(text, size, "dtype unsupported, the kernel takes");
        for (uint32_t dtype = 0; dtype < 4 && used < size; dtype++)
            if (kernel->dtypes & 1u << dtype)
                used += (size_t)snprintf(text + used, size - used, " %s", rope_dtype_name(dtype));
        return PROP_UNSUPPORTED;
    }
    if (reaches(v, kernel, entry))
        return PROP_PASS;
    snprintf(text, size, "pairing %s unsupported", pairing_lacking(kernel));
    return PROP_UNSUPPORTED;
}

void prop_skip_no_unit(const prop_verification *v, const rope_kernel *kernel, char *text,
                       size_t size)
{
    *text = '\0';
    if (kernel->cpu_features & ~rope_cpu_features())
        return; /* prop_skip_not_run names it */
    if (!has_units(v, kernel)) {
        prop_skip_entry(v, kernel, 0, text, size);
        return;
    }
    int count = 0;
    for (int e = 0; e < v->suite.count; e++)
        count += !reaches(v, kernel, e);
    if (count == v->suite.count && count > 0)
        snprintf(text, size, "pairing %s unsupported", pairing_lacking(kernel));
    else if (count > 0)
        snprintf(text, size, "pairing %s unsupported, of %d of %d specs", pairing_lacking(kernel),
                 count, v->suite.count);
}

void prop_skip_not_run(const prop_verification *v, const rope_kernel *kernel, char *text,
                       size_t size)
{
    *text = '\0';
    if (kernel->cpu_features & ~rope_cpu_features()) {
        prop_skip_entry(v, kernel, 0, text, size);
        return;
    }
    for (int u = 0; u < v->unit_count; u++)
        if (v->units[u].kernel == kernel && v->units[u].gave_up)
            snprintf(text, size, "given up after %d crashes, %d of them endless: the rest not run",
                     v->units[u].crashes, v->units[u].hangs);
}

void prop_skip_far(const prop_verification *v, const rope_kernel *kernel, char *text, size_t size)
{
    *text = '\0';
    if (has_units(v, kernel) && !prop_arena_far_fits())
        snprintf(text, size, "rows 2^31 elements apart not tried: no address space for them");
}
