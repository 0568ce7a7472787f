/* Findings, summed up by kernel and property. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/arena.h"
#include "props/bands.h"
#include "props/claims.h"
#include "props/verify.h"

/* Distinct positions of the main spec that the standard suite promises for every kernel. */
enum { PROMISED_POSITIONS = 10000 };

static const char *const verdict_names[] = {"pass", "fail", "no contract", "unsupported",
                                            "not run"};

const char *prop_verdict_name(prop_verdict verdict)
{
    return verdict_names[verdict];
}

/* Returns whether the worst is now from's. */
static bool merge(prop_tally *to, const prop_tally *from)
{
    bool worse = from->comparisons > 0 && (to->comparisons == 0 || !(from->ratio <= to->ratio));
    if (worse) {
        to->ratio = from->ratio;
        to->bound = from->bound;
        to->x0 = from->x0;
        to->x1 = from->x1;
        to->position = from->position;
        to->pair = from->pair;
    }
    if (from->unjudged > 0 &&
        (to->unjudged == 0 || prop_magnitude(from->no_contract) < prop_magnitude(to->no_contract)))
        to->no_contract = from->no_contract;
    if (from->claims > 0 && (to->claims == 0 || from->claim > to->claim)) {
        to->claim = from->claim;
        to->claim_position = from->claim_position;
    }
    to->claims += from->claims;
    to->outlying += from->outlying;
    to->positions += from->positions;
    to->comparisons += from->comparisons;
    to->failures += from->failures;
    to->unjudged += from->unjudged;
    to->max_error = fmax(to->max_error, from->max_error);
    to->max_ulp = fmax(to->max_ulp, from->max_ulp);
    to->sum_of_squares += from->sum_of_squares;
    to->squares += from->squares;
    to->components += from->components;
    to->correctly_rounded += from->correctly_rounded;
    return worse;
}

static void blame(prop_line *line, const prop_unit *unit, int entry, int property, int64_t failing,
                  const char *reason)
{
    if (line->verdict == PROP_FAIL)
        return;
    line->verdict = PROP_FAIL;
    line->unit = unit;
    line->entry = entry;
    line->property_index = property;
    line->failing = failing;
    snprintf(line->reason, sizeof line->reason, "%s", reason);
}

/* A property that is looked at in every call, from the findings of all others. */
static void add_every_call(prop_line *line, const prop_unit *unit, int entry)
{
    size_t properties;
    prop_properties(&properties);
    bool untouched = line->property == &prop_untouched_property;
    int64_t calls = 0;
    for (int p = 0; p < (int)properties; p++) {
        const prop_finding *f = prop_unit_finding(unit, entry, p);
        calls += f->sheet.calls;
        if (untouched ? f->sheet.strayed : f->sheet.disturbed)
            blame(line, unit, entry, p, untouched ? f->stray_case : f->disturbed_case,
                  untouched ? f->sheet.stray : f->sheet.disturbance);
    }
    line->specs += calls > 0;
    line->total.comparisons += calls;
}

static void add_finding(prop_line *line, const prop_unit *unit, int entry, int property)
{
    const prop_finding *f = prop_unit_finding(unit, entry, property);
    if (f->state == PROP_PENDING || f->sheet.refused || (f->sheet.idle && !f->sheet.failed))
        return;
    for (int b = 0; b < PROP_BANDS; b++)
        if (merge(&line->total, &f->sheet.bands[b]))
            line->worst_spec = unit->suite->entries[entry].full_text[unit->pairing];
    line->specs++;
    if (f->sheet.failed)
        blame(line, unit, entry, property, f->failing, f->sheet.reason);
}

/* Positions that only the property far tries, past 2^27: a kernel need not claim anything there,
 * and that property's own line says how much it claims. */
static bool may_be_unclaimed(const prop_property *property)
{
    return property == &prop_far_property;
}

/* What must hold beside the findings themselves, so that nothing passes by doing nothing. */
static void demand_work(const prop_verification *v, prop_line *line)
{
    if (line->verdict == PROP_FAIL)
        return;
    const prop_tally *t = &line->total;
    line->verdict = PROP_PASS;
    if (t->comparisons == 0 && (t->unjudged == 0 || may_be_unclaimed(line->property)))
        line->verdict = PROP_NOT_RUN;
    else if (t->comparisons == 0) {
        line->verdict = PROP_FAIL;
        snprintf(line->reason, sizeof line->reason, "no contract at any position");
    } else if (v->standard && line->property == &prop_contract_property) {
        int64_t most = 0;
        for (int u = 0; u < v->unit_count; u++) {
            int64_t positions = 0;
            for (int b = 0; b < PROP_BANDS && v->units[u].kernel == line->kernel; b++)
                positions += prop_unit_finding(&v->units[u], 0, line->property_index)
                                 ->sheet.bands[b]
                                 .positions;
            most += positions;
        }
        if (most < PROMISED_POSITIONS) {
            line->verdict = PROP_FAIL;
            snprintf(line->reason, sizeof line->reason,
                     "only %" PRId64 " positions of %s were checked, expected %d", most,
                     v->suite.entries[0].text, PROMISED_POSITIONS);
        }
    }
}

bool prop_line_make(const prop_verification *v, const rope_kernel *kernel, int property,
                    prop_line *line)
{
    size_t properties;
    *line = (prop_line){.kernel = kernel,
                        .property = prop_properties(&properties)[property],
                        .verdict = PROP_NOT_RUN,
                        .property_index = property,
                        .failing = -1};
    for (int u = 0; u < v->unit_count; u++) {
        if (v->units[u].kernel != kernel)
            continue;
        for (int e = 0; e < v->suite.count; e++) {
            if (line->property->every_call)
                add_every_call(line, &v->units[u], e);
            else
                add_finding(line, &v->units[u], e, property);
        }
    }
    demand_work(v, line);
    return line->verdict != PROP_NOT_RUN;
}

/* ---- skips ---- */

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
                    merge(&total, &prop_unit_finding(&v->units[u], e, p)->sheet.bands[b]);
    for (int p = 0; p < (int)properties && used < size; p++) {
        unclaimed u = unclaimed_by(v, kernel, p);
        /* Where results are wrong, what follows from them is no tolerance: the failure says more.
         */
        if (u.unjudged == 0 || may_be_unclaimed(list[p]) || has_failed(v, kernel, p))
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
