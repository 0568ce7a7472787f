#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_measure.h"
#include "props/hunt.h"
#include "props/isolate.h"
#include "props/recheck_internal.h"

/* Searches of at most this many evaluations are done again: a second. */
static const uint64_t SEARCHED_AGAIN = UINT64_C(1) << 24;

/* The adversarial search's case: the kernel once more, and MPFR. */
static bool check_search(const recheck_inspection *p, rope_error *error)
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
    if (!recheck_same(found.y0, stated->y0) || !recheck_same(found.y1, stated->y1) ||
        !recheck_same(found.bound_u, stated->bound_u))
        return rope_fail(error,
                         "search, position %" PRId64 ", pair %" PRId64
                         ": the kernel gives %a, %a, stated %a, %a",
                         stated->position, stated->pair, found.y0, found.y1, stated->y0,
                         stated->y1);
    if (isfinite(found.y0) && isfinite(found.y1))
        certify_measure_mpfr(p->o, p->subject.dtype, stated->position, stated->pair, stated->x0,
                             stated->x1, found.y0, found.y1, &error_u, &ulp);
    p->answer->pairs++;
    return recheck_error_holds(stated->error_u, error_u,
                               rope_dtype_unit_roundoff(p->subject.dtype)) ||
           rope_fail(error, "search: the error is %.17g, stated %.17g", error_u, stated->error_u);
}

static int inspect(void *context)
{
    const recheck_inspection *p = context;
    certify_block *block = certify_block_new(p->subject.spec, p->subject.dtype,
                                             p->frequencies.axis_count, p->options.seed);
    if (block == NULL) {
        rope_fail(&p->answer->error, "out of memory");
        return 0;
    }
    for (int64_t i = 0; i < p->count; i++) {
        prop_beat();
        if (!recheck_position(p, block, p->positions[i], &p->answer->error))
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

/* The positions of all cases and contracts listed, the ends of the range, and a sample. */
static bool choose_positions(recheck_inspection *p, const recheck_options *options)
{
    const certificate *c = p->c;
    int64_t most =
        4 + options->positions + CERTIFICATE_STAGES * (CERTIFICATE_WORST + CERTIFICATE_MISROUNDED);
    int64_t *positions = p->positions = malloc((size_t)most * sizeof *positions);
    if (positions == NULL)
        return false;
    int64_t n = 0;
    positions[n++] = c->shard_first;
    positions[n++] = c->shard_end - 1;
    if (!isnan(c->bounds.low)) {
        positions[n++] = c->bounds.low_position;
        positions[n++] = c->bounds.high_position;
    }
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

static bool check_positions(recheck_inspection *p, const recheck_options *options,
                            recheck_work *work, rope_error *error)
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

/* The range's adversarial search, done again: the same case. */
static bool check_search_again(const recheck_inspection *p, const certificate_search *again,
                               rope_error *error)
{
    const certificate_search *stated = &p->c->search;
    return (again->evaluations == stated->evaluations &&
            certificate_case_order(&again->worst, &stated->worst) == 0) ||
           rope_fail(error,
                     "search: %" PRIu64 " evaluations find %.17g u at position %" PRId64
                     ", pair %" PRId64 ", stated %.17g u at position %" PRId64 ", pair %" PRId64,
                     again->evaluations, again->worst.error_u, again->worst.position,
                     again->worst.pair, stated->worst.error_u, stated->worst.position,
                     stated->worst.pair);
}

/* A segment again, by the same engine that certified it: equal to the last digit. With the first
 * of them the search. */
static bool check_segment(const recheck_inspection *p, const certificate_segment *g, int jobs,
                          bool search, rope_error *error)
{
    certify_options options = p->options;
    certify_result result;
    bool again = search && p->c->search.evaluations <= SEARCHED_AGAIN;
    options.search = again ? p->c->search.evaluations : 0;
    options.o = p->o;
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
                      recheck_stage_names[s], g->first, g->end);
    good = good && (!(result.certificate.bounds.low < p->c->bounds.low ||
                      result.certificate.bounds.high > p->c->bounds.high) ||
                    rope_fail(error,
                              "positions %" PRId64 ":%" PRId64
                              " have contracts from %.17g to %.17g u, stated %.17g to %.17g",
                              g->first, g->end, result.certificate.bounds.low,
                              result.certificate.bounds.high, p->c->bounds.low, p->c->bounds.high));
    good = good && (!again || check_search_again(p, &result.certificate.search, error));
    certificate_free(&result.certificate);
    return good;
}

static bool check_segments(const recheck_inspection *p, const recheck_options *options,
                           recheck_work *work, rope_error *error)
{
    const certificate *c = p->c;
    uint64_t state = options->seed * 2 + 1;
    int64_t stretch = (c->segment_count + options->segments - 1) / options->segments;
    for (int64_t at = 0; at < c->segment_count; at += stretch) {
        int64_t left = c->segment_count - at < stretch ? c->segment_count - at : stretch;
        const certificate_segment *g = &c->segments[at + (int64_t)(next(&state) % (uint64_t)left)];
        if (!check_segment(p, g, options->jobs, at == 0, error))
            return false;
        work->segments++;
    }
    return true;
}

/* ---- what the certificate speaks of ---- */

static bool find_subject(const certificate *c, const rope_kernel *kernel, const char *plugin,
                         rope_spec *spec, recheck_inspection *p, rope_error *error)
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

static bool check_subject(const recheck_inspection *p, bool other_binary, rope_error *error)
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
    const rope_pipeline *pipeline = &p->subject.kernel->pipeline;
    const char *table = certificate_format_name(pipeline->table);
    const char *arithmetic = certificate_arithmetic_name(pipeline->arithmetic);
    if (strcmp(c->table, table) != 0 || strcmp(c->arithmetic, arithmetic) != 0)
        return rope_fail(error,
                         "the kernel declares table '%s' and arithmetic '%s', stated '%s' and '%s'",
                         table, arithmetic, c->table, c->arithmetic);
    return certify_takes(&p->subject, p->options.truth, c->shard_first, c->shard_first, error);
}

static bool check_attention_factor(const recheck_inspection *p, rope_error *error)
{
    return p->frequencies.attention_factor == p->c->attention_factor ||
           rope_fail(error, "the attention factor is %.17g, stated %.17g",
                     p->frequencies.attention_factor, p->c->attention_factor);
}

recheck_verdict recheck_certificate(const certificate *c, const rope_kernel *kernel,
                                    const char *plugin, const recheck_options *options,
                                    recheck_work *work, rope_error *error)
{
    rope_spec spec;
    recheck_inspection p = {.c = c};
    *work = (recheck_work){0};
    rope_spec_init(&spec);
    recheck_verdict verdict = RECHECK_UNUSABLE;
    if (find_subject(c, kernel, plugin, &spec, &p, error)) {
        verdict = RECHECK_FAILS;
        if (check_subject(&p, options->other_binary, error) &&
            rope_spec_resolve(&spec, p.options.truth, &p.frequencies, error) &&
            check_attention_factor(&p, error) &&
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
