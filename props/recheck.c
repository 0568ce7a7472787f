#include "props/recheck.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_measure.h"
#include "props/certify_probe.h"
#include "props/certify_worker.h"
#include "props/hunt.h"
#include "props/isolate.h"

/* Of the memory that the child shares: its verdict. */
typedef struct answer {
    bool good;
    int64_t pairs;
    rope_error error;
} answer;

typedef struct inspection {
    const certificate *c;
    certify_subject subject;
    certify_options options;
    oracle *o;
    rope_frequencies frequencies;
    int64_t *positions; /* ascending */
    int64_t count;
    answer *answer;
} inspection;

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* A stated error against MPFR's: the enclosure's far side lies at or above the true error, and
 * above it by no more than the enclosure (certify_measure.h) allows; the factor 2 covers MPFR's own
 * rounding to f64. */
static bool error_holds(double stated, double exact, double u)
{
    if (!(exact < 0x1p100))
        return isinf(stated);
    double allowance = u == 0x1p-11 ? 0x1p-40 : 0;
    return stated >= exact * (1 - 0x1p-50) - allowance &&
           stated <= exact * (1 + 0x1p-48) + 0x1p-95 / u + allowance;
}

static const char *const stage_names[] = {"angle", "rotation"};
static const char *const probe_names[] = {"unit_u", "unit_v", "vector"};

static bool wrong(rope_error *error, int stage, int64_t position, int64_t pair, uint32_t probe,
                  const char *what, double stated, double found)
{
    return rope_fail(error,
                     "%s, position %" PRId64 ", pair %" PRId64 ", %s: %s is %.17g, stated %.17g",
                     stage_names[stage], position, pair, probe_names[probe], what, found, stated);
}

/* Every statement that the certificate makes about one pair. */
static bool check_pair(const inspection *p, const certificate_case *found, int correct,
                       rope_error *error)
{
    int s = found->probe == CERTIFICATE_VECTOR ? CERTIFICATE_ROTATION : CERTIFICATE_ANGLE;
    const certificate_stage *stage = &p->c->stage[s];
    double u = rope_dtype_unit_roundoff(p->subject.dtype);
    int64_t position = found->position, pair = found->pair;
    if (found->error_u > stage->total.max_error_u * (1 + 0x1p-48) + 0x1p-38)
        return wrong(error, s, position, pair, found->probe, "an error above the stated maximum",
                     stage->total.max_error_u, found->error_u);
    bool above = !(found->error_u <= found->bound_u * (1 + 0x1p-48) + 0x1p-38);
    if (above && stage->total.above == 0)
        return wrong(error, s, position, pair, found->probe,
                     "an error above the contract, of which none is stated,", found->bound_u,
                     found->error_u);
    for (int i = 0; i < stage->worst_count; i++) {
        const certificate_case *w = &stage->worst[i];
        if (w->position != position || w->pair != pair || w->probe != found->probe)
            continue;
        if (!same_number(w->x0, found->x0) || !same_number(w->x1, found->x1))
            return wrong(error, s, position, pair, found->probe, "the input", w->x0, found->x0);
        if (!same_number(w->y0, found->y0))
            return wrong(error, s, position, pair, found->probe, "y0", w->y0, found->y0);
        if (!same_number(w->y1, found->y1))
            return wrong(error, s, position, pair, found->probe, "y1", w->y1, found->y1);
        if (!same_number(w->bound_u, found->bound_u))
            return wrong(error, s, position, pair, found->probe, "the contract", w->bound_u,
                         found->bound_u);
        if (!error_holds(w->error_u, found->error_u, u))
            return wrong(error, s, position, pair, found->probe, "the error", w->error_u,
                         found->error_u);
    }
    for (int i = 0; i < stage->misrounded_count; i++) {
        const certificate_place *m = &stage->misrounded[i];
        if (m->position == position && m->pair == pair && m->probe == found->probe && correct == 2)
            return rope_fail(error,
                             "%s, position %" PRId64 ", pair %" PRId64
                             ", %s: correctly rounded, stated to be misrounded",
                             stage_names[s], position, pair, probe_names[m->probe]);
    }
    return true;
}

/* One position: the kernel runs in the same window and block as when it was certified, and MPFR
 * measures every pair of its three rows. */
static bool check_position(const inspection *p, certify_block *block, int64_t position,
                           rope_error *error)
{
    const certify_subject *s = &p->subject;
    int64_t first, end, block_first, block_end;
    certify_window_at(&p->options, p->c->pairs, position, &first, &end);
    certify_block_at(&p->options, position, &block_first, &block_end);
    rope_plan_args args =
        rope_spec_plan_args(s->spec, &p->frequencies, (rope_dtype)s->dtype, first, end - 1);
    rope_plan *plan = NULL;
    rope_status status = s->kernel->plan(&args, &plan);
    if (status != ROPE_OK)
        return rope_fail(error, "plan returned status %d for positions %" PRId64 " to %" PRId64,
                         (int)status, first, end - 1);
    certify_block_fill(block, block_first, block_end - block_first);
    bool good = certify_block_apply(block, s->kernel, plan, error);
    double u = rope_dtype_unit_roundoff(s->dtype);
    for (uint32_t probe = 0; good && probe < CERTIFY_PROBES; probe++) {
        const double *x0, *x1, *y0, *y1;
        certify_block_row(block, position - block_first, probe, &x0, &x1, &y0, &y1);
        for (int64_t i = 0; good && i < p->c->pairs; i++) {
            double ulp, bound = s->kernel->error_bound(&args, position, i);
            certificate_case found = {
                position, i,        probe,
                x0[i],    x1[i],    y0[i],
                y1[i],    INFINITY, bound >= 0 && bound < sqrt(2) / u ? bound : INFINITY};
            int correct = 0;
            if (!recheck_bound_within(p->c, position, i, found.bound_u, error)) {
                good = false;
                break;
            }
            if (isfinite(y0[i]) && isfinite(y1[i])) {
                certify_measure_mpfr(p->o, s->dtype, position, i, x0[i], x1[i], y0[i], y1[i],
                                     &found.error_u, &ulp);
                correct = certify_nearest(p->o, s->dtype, position, i, x0[i], x1[i], y0[i], y1[i]);
            }
            good = check_pair(p, &found, correct, error);
            p->answer->pairs++;
        }
    }
    s->kernel->destroy(plan);
    return good;
}

/* The adversarial search's case: the kernel once more, and MPFR. */
static bool check_search(const inspection *p, rope_error *error)
{
    const certificate_case *stated = &p->c->search.worst;
    certificate_case found = *stated;
    double ulp, error_u = INFINITY;
    if (p->c->search.evaluations == 0)
        return true;
    if (stated->position < p->c->first || stated->position >= p->c->end || stated->pair < 0 ||
        stated->pair >= p->c->pairs || !isfinite(stated->x0) || !isfinite(stated->x1) ||
        (stated->x0 == 0 && stated->x1 == 0))
        return rope_fail(error, "search: its case lies outside the range");
    if (!hunt_evaluate(&p->subject, p->o, &p->frequencies, &p->options, &found, error))
        return false;
    if (!same_number(found.y0, stated->y0) || !same_number(found.y1, stated->y1) ||
        !same_number(found.bound_u, stated->bound_u))
        return rope_fail(error,
                         "search, position %" PRId64 ", pair %" PRId64
                         ": the kernel gives %a, %a, stated %a, %a",
                         stated->position, stated->pair, found.y0, found.y1, stated->y0,
                         stated->y1);
    if (isfinite(found.y0) && isfinite(found.y1))
        certify_measure_mpfr(p->o, p->subject.dtype, stated->position, stated->pair, stated->x0,
                             stated->x1, found.y0, found.y1, &error_u, &ulp);
    p->answer->pairs++;
    return error_holds(stated->error_u, error_u, rope_dtype_unit_roundoff(p->subject.dtype)) ||
           rope_fail(error, "search: the error is %.17g, stated %.17g", error_u, stated->error_u);
}

static int inspect(void *context)
{
    const inspection *p = context;
    certify_block *block = certify_block_new(p->subject.spec, p->subject.dtype,
                                             p->frequencies.axis_count, p->options.seed);
    if (block == NULL) {
        rope_fail(&p->answer->error, "out of memory");
        return 0;
    }
    for (int64_t i = 0; i < p->count; i++) {
        prop_beat();
        if (!check_position(p, block, p->positions[i], &p->answer->error))
            return 0;
    }
    p->answer->good =
        recheck_bounds(p->c, &p->subject, &p->options, &p->frequencies, &p->answer->error) &&
        check_search(p, &p->answer->error);
    return 0;
}

static uint64_t next(uint64_t *state)
{
    /* xorshift64* (Marsaglia 2003; Vigna 2016) */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The positions of all cases listed, the ends of the range, and a sample. */
static bool choose_positions(inspection *p, const recheck_options *options)
{
    const certificate *c = p->c;
    int64_t most =
        2 + options->positions + CERTIFICATE_STAGES * (CERTIFICATE_WORST + CERTIFICATE_MISROUNDED);
    int64_t *positions = p->positions = malloc((size_t)most * sizeof *positions);
    if (positions == NULL)
        return false;
    int64_t n = 0;
    positions[n++] = c->shard_first;
    positions[n++] = c->shard_end - 1;
    for (int s = 0; s < CERTIFICATE_STAGES; s++) {
        for (int i = 0; i < c->stage[s].worst_count; i++)
            positions[n++] = c->stage[s].worst[i].position;
        for (int i = 0; i < c->stage[s].misrounded_count; i++)
            positions[n++] = c->stage[s].misrounded[i].position;
    }
    uint64_t state = options->seed * 2 + 1, span = (uint64_t)(c->shard_end - c->shard_first);
    for (int i = 0; i < options->positions; i++)
        positions[n++] = c->shard_first + (int64_t)(next(&state) % span);
    qsort(positions, (size_t)n, sizeof *positions, ascending);
    p->count = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || positions[i] != positions[i - 1])
            positions[p->count++] = positions[i];
    return true;
}

static bool check_positions(inspection *p, const recheck_options *options, recheck_work *work,
                            rope_error *error)
{
    prop_limits limits = {.cpu_seconds = 60, .wall_seconds = 600, .memory_bytes = 0};
    prop_end end;
    p->answer = prop_share(sizeof *p->answer);
    if (p->answer == NULL || !choose_positions(p, options))
        return rope_fail(error, "out of memory");
    bool good = prop_isolate(inspect, p, &limits, &end, error);
    if (good && end.outcome != PROP_FINISHED) {
        char text[128];
        prop_end_text(&end, text, sizeof text);
        good = rope_fail(error, "the kernel ended its process: %s", text);
    } else if (good && !p->answer->good) {
        *error = p->answer->error;
        good = false;
    }
    work->positions = p->count;
    work->pairs = p->answer->pairs;
    prop_unshare(p->answer, sizeof *p->answer);
    return good;
}

/* A segment again, by the same engine that certified it: equal to the last digit. */
static bool check_segment(const inspection *p, const certificate_segment *g, int jobs,
                          rope_error *error)
{
    certify_options options = p->options;
    certify_result result;
    options.part_first = g->first;
    options.part_end = g->end;
    options.jobs = jobs;
    if (!certify_run(&p->subject, 1, &options, &result, error))
        return false;
    bool good = result.reason[0] == '\0' || rope_fail(error, "%s", result.reason);
    for (int s = 0; good && s < CERTIFICATE_STAGES; s++)
        good =
            memcmp(&result.certificate.stage[s].total, &g->tally[s], sizeof g->tally[s]) == 0 ||
            rope_fail(error,
                      "%s: positions %" PRId64 ":%" PRId64 " give other sums or counts than stated",
                      stage_names[s], g->first, g->end);
    good = good && (!(result.certificate.bound_low < p->c->bound_low ||
                      result.certificate.bound_high > p->c->bound_high) ||
                    rope_fail(error,
                              "positions %" PRId64 ":%" PRId64
                              " have contracts from %.17g to %.17g u, stated %.17g to %.17g",
                              g->first, g->end, result.certificate.bound_low,
                              result.certificate.bound_high, p->c->bound_low, p->c->bound_high));
    certificate_free(&result.certificate);
    return good;
}

static bool check_segments(const inspection *p, const recheck_options *options, recheck_work *work,
                           rope_error *error)
{
    const certificate *c = p->c;
    uint64_t state = options->seed * 2 + 1;
    int64_t stretch = (c->segment_count + options->segments - 1) / options->segments;
    for (int64_t at = 0; at < c->segment_count; at += stretch) {
        int64_t left = c->segment_count - at < stretch ? c->segment_count - at : stretch;
        const certificate_segment *g = &c->segments[at + (int64_t)(next(&state) % (uint64_t)left)];
        if (!check_segment(p, g, options->jobs, error))
            return false;
        work->segments++;
    }
    return true;
}

/* ---- what the certificate speaks of ---- */

static bool find_subject(const certificate *c, const rope_kernel *kernel, const char *plugin,
                         rope_spec *spec, inspection *p, rope_error *error)
{
    char *text = NULL;
    int dtype = rope_dtype_from_name(c->dtype);
    bool exact = strcmp(c->truth, "exact") == 0;
    if (kernel == NULL)
        kernel = rope_registry_find(c->kernel);
    if (kernel == NULL)
        return rope_fail(error, "kernel '%s' of the certificate is unknown here", c->kernel);
    if (dtype < 0 || (!exact && strcmp(c->truth, "as-trained") != 0))
        return rope_fail(error,
                         "the certificate names dtype '%s' and truth '%s', of which one is "
                         "unknown",
                         c->dtype, c->truth);
    if (!rope_spec_parse(c->spec, spec, error))
        return false;
    int length = rope_spec_format(spec, NULL, 0);
    text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text == NULL)
        return rope_fail(error, "out of memory");
    rope_spec_format(spec, text, (size_t)length + 1);
    bool canonical = strcmp(text, c->spec) == 0;
    free(text);
    if (!canonical)
        return rope_fail(error, "the certificate's spec is not in canonical form");
    p->subject = (certify_subject){kernel, plugin, spec, (uint32_t)dtype};
    p->options = (certify_options){.truth = exact ? ROPE_TRUTH_EXACT : ROPE_TRUTH_AS_TRAINED,
                                   .seed = c->seed,
                                   .first = c->first,
                                   .end = c->end,
                                   .shard = 1,
                                   .shards = 1};
    return true;
}

static bool check_subject(const inspection *p, bool other_binary, rope_error *error)
{
    const certificate *c = p->c;
    char hash[65];
    if (!certify_binary_hash(&p->subject, hash, error))
        return false;
    if (!other_binary && strcmp(hash, c->binary_hash) != 0)
        return rope_fail(
            error,
            "the kernel's binary has SHA-256 %.16s..., the certificate is of %.16s...; "
            "--other-binary verifies this build's kernel against it",
            hash, c->binary_hash);
    if (p->subject.spec->rotary_dim / 2 != c->pairs)
        return rope_fail(error, "the spec has %" PRId64 " pairs, stated %" PRId64,
                         p->subject.spec->rotary_dim / 2, c->pairs);
    return certify_takes(&p->subject, p->options.truth, c->shard_first, c->shard_first, error);
}

recheck_verdict recheck_certificate(const certificate *c, const rope_kernel *kernel,
                                    const char *plugin, const recheck_options *options,
                                    recheck_work *work, rope_error *error)
{
    rope_spec spec;
    inspection p = {.c = c};
    *work = (recheck_work){0};
    rope_spec_init(&spec);
    recheck_verdict verdict = RECHECK_UNUSABLE;
    if (find_subject(c, kernel, plugin, &spec, &p, error)) {
        verdict = RECHECK_FAILS;
        if (check_subject(&p, options->other_binary, error) &&
            rope_spec_resolve(&spec, p.options.truth, &p.frequencies, error) &&
            (p.o = oracle_new(&spec, p.options.truth, error)) != NULL &&
            check_positions(&p, options, work, error) && check_segments(&p, options, work, error))
            verdict = RECHECK_HOLDS;
    }
    if (p.o != NULL)
        oracle_free(p.o);
    rope_frequencies_free(&p.frequencies);
    free(p.positions);
    rope_spec_free(&spec);
    return verdict;
}
