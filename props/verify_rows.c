#include <math.h>
#include <string.h>

#include "impl/registry.h"
#include "props/bands.h"
#include "props/claims.h"
#include "props/replay.h"

/* The promised columns; ours are appended: ratio, the worst deviation / tolerance, and value and
 * exact_value, of the decay curve. */
const char prop_verify_columns[] =
    "run,kernel,pairing,dtype,spec,truth,property,arrangement,positions_checked,cases,max_error_u,"
    "rms_error_u,max_ulp,correctly_rounded,bound_u,worst_position,worst_pair,worst_x0,worst_x1,"
    "verdict,reason,replay,ratio,value,exact_value";

typedef struct {
    const prop_verification *v;
    const char *run;
    const prop_unit *unit;
    int entry, property;
    rows_writer *w;
} place;

static void number_if(rows_writer *w, bool applies, double value)
{
    rows_number(w, applies ? value : NAN);
}

static void integer_if(rows_writer *w, bool applies, int64_t value)
{
    if (applies)
        rows_integer(w, value);
    else
        rows_empty(w);
}

static void start(const place *at, const char *property, const char *arrangement)
{
    rows_writer *w = at->w;
    rows_text(w, at->run);
    rows_text(w, at->unit->kernel->name);
    rows_text(w, rope_pairing_name(at->unit->pairing));
    rows_text(w, rope_dtype_name((uint32_t)at->unit->dtype));
    rows_text(w, at->v->suite.entries[at->entry].text);
    rows_text(w, at->v->suite.truth == ROPE_TRUTH_EXACT ? "exact" : "as-trained");
    rows_text(w, property);
    rows_text(w, arrangement);
}

static void row(const place *at, const char *arrangement, const prop_tally *t, int64_t cases,
                prop_verdict verdict, const char *reason, const char *replay)
{
    rows_writer *w = at->w;
    size_t count;
    bool judged = verdict == PROP_PASS || verdict == PROP_FAIL;
    bool figures = judged && t->squares > 0, ulps = judged && t->components > 0;
    start(at, prop_properties(&count)[at->property]->name, arrangement);
    rows_integer(w, t->positions);
    rows_integer(w, cases);
    number_if(w, figures, t->max_error);
    number_if(w, figures, sqrt(t->sum_of_squares / (double)t->squares));
    number_if(w, ulps, t->max_ulp);
    number_if(w, ulps, (double)t->correctly_rounded / (double)t->components);
    /* One case: what failed, or else the one of max_error_u, so that max_error_u <= bound_u holds
     * where the contract grows with position; how close any case came is the ratio's to say. */
    bool failed = verdict == PROP_FAIL;
    int64_t position = failed ? t->position : t->largest_position;
    number_if(w, figures, failed ? t->bound : t->largest_bound);
    integer_if(w, figures || verdict == PROP_NO_CONTRACT,
               verdict == PROP_NO_CONTRACT ? t->no_contract : position);
    int64_t pair = failed ? t->pair : t->largest_pair;
    integer_if(w, figures && pair != PROP_NO_PAIR, pair);
    rows_hex(w, figures ? failed ? t->x0 : t->largest_x0 : NAN);
    rows_hex(w, figures ? failed ? t->x1 : t->largest_x1 : NAN);
    rows_text(w, prop_verdict_name(verdict));
    rows_text(w, reason);
    rows_text(w, replay);
    number_if(w, figures, t->ratio);
    rows_empty(w);
    rows_empty(w);
    rows_end(w);
}

/* The decay curve, one row a point: value is the kernel's mean |S_j|, exact_value the oracle's. */
static void curve_rows(const place *at, const prop_finding *f)
{
    rows_writer *w = at->w;
    for (int i = 0; i < f->sheet.curve_points; i++) {
        const prop_curve_point *p = &f->sheet.curve[i];
        start(at, "decay-curve", "curve");
        rows_integer(w, 1);
        rows_integer(w, 1);
        for (int empty = 0; empty < 5; empty++)
            rows_empty(w);
        rows_integer(w, p->position);
        for (int empty = 0; empty < 3; empty++)
            rows_empty(w);
        rows_text(w, f->sheet.failed ? "fail" : "pass");
        rows_text(w, "");
        rows_text(w, "");
        rows_empty(w);
        rows_number(w, p->kernel);
        rows_number(w, p->exact);
        rows_end(w);
    }
}

/* One band of a finding: what was judged, then what has no contract. Returns whether a row says
 * what failed. */
static bool band_rows(const place *at, const prop_finding *f, int band, const char *replay)
{
    const prop_tally *t = &f->sheet.bands[band];
    char text[64] = "all";
    if (at->v->suite.entries[at->entry].weight == PROP_MAIN &&
        prop_property_find("contract") == prop_properties(&(size_t){0})[at->property])
        prop_band_text(band, text, sizeof text);
    bool failed = t->failures > 0;
    if (t->comparisons > 0)
        row(at, text, t, t->comparisons, failed ? PROP_FAIL : PROP_PASS,
            failed ? f->sheet.reason : "", failed ? replay : "");
    if (t->unjudged > 0)
        row(at, text, t, t->unjudged, PROP_NO_CONTRACT,
            "no bound to judge by from worst_position on: none is claimed, or what follows from "
            "bounds and results is too large",
            "");
    if (t->outlying > 0) {
        prop_tally outlying = *t;
        char reason[PROP_REASON];
        outlying.no_contract = t->claim_position;
        snprintf(reason, sizeof reason,
                 "up to %.4g u is claimed, and less than 1/%d of it further out", t->claim,
                 PROP_CLAIM_FACTOR);
        row(at, text, &outlying, t->outlying, PROP_NO_CONTRACT, reason, "");
    }
    return failed;
}

static void finding_rows(const place *at, const prop_finding *f)
{
    static const prop_tally nothing;
    if (f->state == PROP_PENDING && at->unit->gave_up && f->cases > 0)
        row(at, "", &nothing, 0, PROP_NOT_RUN, "given up after too many crashes", "");
    if (f->state == PROP_PENDING || f->sheet.idle)
        return;
    if (f->sheet.refused) {
        row(at, "", &nothing, 0, PROP_UNSUPPORTED, f->sheet.reason, "");
        return;
    }
    const char *replay =
        f->sheet.failed ? prop_replay_line(at->v, at->unit, at->entry, at->property, f->failing)
                        : NULL;
    bool told = false;
    for (int b = 0; b < PROP_BANDS; b++)
        told |= band_rows(at, f, b, replay != NULL ? replay : "");
    if (f->sheet.failed && !told)
        row(at, f->crashed ? "crash" : "all", &nothing, f->sheet.made, PROP_FAIL, f->sheet.reason,
            replay != NULL ? replay : "");
    curve_rows(at, f);
}

/* untouched and environment: from what the others' calls showed. */
static void every_call_rows(const place *at, bool untouched)
{
    size_t properties;
    prop_properties(&properties);
    prop_tally t = {0};
    const char *replay = NULL;
    const char *reason = "";
    for (int p = 0; p < (int)properties; p++) {
        const prop_finding *f = prop_unit_finding(at->unit, at->entry, p);
        t.comparisons += f->sheet.calls;
        if (replay != NULL || !(untouched ? f->sheet.strayed : f->sheet.disturbed))
            continue;
        t.failures++;
        reason = untouched ? f->sheet.stray : f->sheet.disturbance;
        replay = prop_replay_line(at->v, at->unit, at->entry, p,
                                  untouched ? f->stray_case : f->disturbed_case);
    }
    if (t.comparisons > 0)
        row(at, "every call", &t, t.comparisons, t.failures > 0 ? PROP_FAIL : PROP_PASS, reason,
            replay != NULL ? replay : "");
}

/* A kernel and a spec that never met, so that neither vanishes: a row for every pairing and dtype
 * that was asked for, those that the kernel has where there are any. */
static void skipped_rows(const prop_verification *v, const char *run, const rope_kernel *kernel,
                         int entry, rows_writer *w)
{
    static const prop_tally nothing;
    char reason[PROP_REASON];
    prop_verdict verdict = prop_skip_entry(v, kernel, entry, reason, sizeof reason);
    if (verdict == PROP_PASS)
        return;
    uint32_t pairings = 0, dtypes = v->dtypes & 0xf;
    for (uint32_t p = 0; p < 2; p++)
        pairings |= (uint32_t)(v->suite.entries[entry].full_text[p] != NULL) << p;
    if (pairings & kernel->pairings)
        pairings &= kernel->pairings;
    if (dtypes & kernel->dtypes)
        dtypes &= kernel->dtypes;
    for (uint32_t i = 0; i < 8; i++) {
        if (!(pairings & 1u << i % 2) || !(dtypes & 1u << i / 2))
            continue;
        const prop_unit none = {.kernel = kernel, .pairing = i % 2, .dtype = (rope_dtype)(i / 2)};
        const place at = {v, run, &none, entry, 0, w};
        row(&at, "", &nothing, 0, verdict, reason, "");
    }
}

void prop_verify_rows(const prop_verification *v, const char *run, rows_writer *w)
{
    size_t properties;
    const prop_property *const *list = prop_properties(&properties);
    for (int u = 0; u < v->unit_count; u++)
        for (int e = 0; e < v->suite.count; e++)
            for (int p = 0; p < (int)properties; p++) {
                place at = {v, run, &v->units[u], e, p, w};
                if (list[p]->every_call)
                    every_call_rows(&at, list[p] == &prop_untouched_property);
                else
                    finding_rows(&at, prop_unit_finding(at.unit, e, p));
            }
    for (int k = 0; k < v->kernel_count; k++)
        for (int e = 0; e < v->suite.count; e++)
            skipped_rows(v, run, v->kernels[k], e, w);
}
