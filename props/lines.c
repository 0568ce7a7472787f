/* Findings, summed up by kernel and property. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/bands.h"
#include "props/lines.h"

/* Distinct positions of the main spec that the standard suite promises for every kernel. */
enum { PROMISED_POSITIONS = 10000 };

static const char *const verdict_names[] = {"pass", "fail", "no contract", "unsupported",
                                            "not run"};

const char *prop_verdict_name(prop_verdict verdict)
{
    return verdict_names[verdict];
}

bool prop_tally_merge(prop_tally *to, const prop_tally *from)
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
        if (prop_tally_merge(&line->total, &f->sheet.bands[b]))
            line->worst_spec = unit->suite->entries[entry].full_text[unit->pairing];
    line->specs++;
    if (f->sheet.failed)
        blame(line, unit, entry, property, f->failing, f->sheet.reason);
}

bool prop_may_be_unclaimed(const prop_property *property)
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
    if (t->comparisons == 0 && (t->unjudged == 0 || prop_may_be_unclaimed(line->property)))
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
