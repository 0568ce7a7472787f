#include "props/dump_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"

/* Everything that one judgement holds. */
typedef struct {
    prop_dump *dump;
    oracle *oracle;
    prop_model model;
    double *theta, *theta_lo;
    int32_t *steps;
} judging;

static void finish(judging *g)
{
    oracle_free(g->oracle);
    free(g->theta);
    free(g->theta_lo);
    free(g->steps);
}

static void take_frequency(judging *g, int64_t pair)
{
    mpfr_t f;
    mpfr_init2(f, 160);
    oracle_inverse_frequency(g->oracle, pair, f);
    g->theta[pair] = mpfr_get_d(f, MPFR_RNDN);
    mpfr_sub_d(f, f, g->theta[pair], MPFR_RNDN);
    g->theta_lo[pair] = mpfr_get_d(f, MPFR_RNDN);
    mpfr_clear(f);
}

static bool begin(judging *g, prop_dump *dump, const rope_spec *spec, rope_error *error)
{
    *g = (judging){.dump = dump};
    if (dump->head_dim != spec->head_dim)
        return rope_fail(error, "rows of %lld elements, but the spec's head_dim is %lld",
                         (long long)dump->head_dim, (long long)spec->head_dim);
    g->oracle = oracle_new(spec, ROPE_TRUTH_EXACT, error);
    if (g->oracle == NULL)
        return false;
    uint32_t axes = oracle_axis_count(g->oracle);
    if (dump->positions.axes != 1 && dump->positions.axes != axes)
        return rope_fail(error, "positions of %u axes, but the spec has %u", dump->positions.axes,
                         axes);
    size_t pairs = (size_t)oracle_pairs(g->oracle);
    g->theta = malloc(pairs * sizeof *g->theta);
    g->theta_lo = malloc(pairs * sizeof *g->theta_lo);
    g->steps = malloc(pairs * sizeof *g->steps);
    if (!g->theta || !g->theta_lo || !g->steps)
        return rope_fail(error, "out of memory for %zu pairs", pairs);
    for (size_t i = 0; i < pairs; i++)
        take_frequency(g, (int64_t)i);
    prop_frequency_steps(spec, g->theta, (int64_t)pairs, g->steps);
    g->model = (prop_model){.pairing = spec->pairing,
                            .head_dim = spec->head_dim,
                            .rotary_dim = spec->rotary_dim,
                            .rotary_offset = spec->rotary_offset,
                            .pairs = (int64_t)pairs,
                            .theta = g->theta,
                            .theta_lo = g->theta_lo,
                            .steps = g->steps,
                            .attention_factor = oracle_attention_factor_dd(g->oracle),
                            .input_dtype = dump->x.dtype,
                            .dtype = dump->y.dtype};
    return true;
}

/* ---- what a verdict says ---- */

static int64_t count_moving(const prop_dump *dump)
{
    const rope_positions *p = &dump->positions;
    int64_t first = 0;
    for (int64_t i = 0; i < p->tokens * (int64_t)p->axes; i++) {
        if (p->values[i] == 0)
            continue;
        if (first != 0 && p->values[i] != first)
            return 2;
        first = p->values[i];
    }
    return first != 0;
}

static const prop_combination *better(const prop_combination *results, int count,
                                      const prop_combination *best)
{
    for (int k = 0; k < count; k++)
        if (best == NULL || (!best->explains && (results[k].explains ||
                                                 results[k].pairs_refuted < best->pairs_refuted)))
            best = &results[k];
    return best;
}

/* The error that the chosen frequencies and the angle's own rounding make at one position:
 * |dangle|, over |x|. */
static double error_at(const judging *g, prop_explanation *e, const prop_combination *best,
                       int combination, double position)
{
    double largest = 0;
    for (int64_t i = 0; i < g->model.pairs; i++) {
        double f = prop_explanation_frequency(e, combination, i);
        double change = fabs(position * ((f - g->theta[i]) - g->theta_lo[i]));
        if (best->angle != PROP_ANGLE_EXACT && best->angle != PROP_ANGLE_UNROUNDED)
            change += position * fabs(f) * rope_dtype_unit_roundoff(best->format);
        if (change > largest)
            largest = change;
    }
    return largest < 2 ? 2 * sin(largest / 2) : 2;
}

static double trained(const rope_spec *spec, double given)
{
    if (spec->max_position > 0)
        return spec->max_position;
    if (given > 0)
        return given;
    if (spec->original > 0)
        return spec->factor > 0 ? spec->original * spec->factor : spec->original;
    return NAN;
}

static void explain_pass(prop_verdict *v)
{
    const prop_combination *b = &v->best;
    int used = snprintf(v->reason, sizeof v->reason, "%s; %s", prop_angle_text(b->angle),
                        prop_arithmetic_text(b->arithmetic));
    if (b->format == ROPE_F64 && b->angle != PROP_ANGLE_EXACT)
        used += snprintf(v->reason + used, sizeof v->reason - (size_t)used, " (in f64)");
    if (b->bound_u > 0)
        snprintf(v->reason + used, sizeof v->reason - (size_t)used,
                 "; largest error against that %.4g u, %.3g %% of the limit of %.5g u",
                 b->max_error_u, 100 * b->max_error_u / b->bound_u, b->bound_u);
}

static void explain_failure(prop_verdict *v, const judging *g)
{
    const prop_stats *s = &v->stats;
    size_t size = sizeof v->reason;
    if (s->unexpected_nan > 0)
        snprintf(v->reason, size,
                 "unexpected NaN: %lld of the output, the first at token %lld, head %lld, element "
                 "%lld; the input there is finite",
                 (long long)s->unexpected_nan, (long long)s->nan_token, (long long)s->nan_head,
                 (long long)s->nan_element);
    else if (s->wrong_class > 0)
        snprintf(
            v->reason, size,
            "infinite or NaN where finite is due, or the reverse: %lld pairs, the first at token "
            "%lld, head %lld, pair %lld",
            (long long)s->wrong_class, (long long)s->first_wrong_class.token,
            (long long)s->first_wrong_class.head, (long long)s->first_wrong_class.pair);
    else if (s->rows_stale > 0)
        snprintf(v->reason, size,
                 "stale: %lld rows hold another row's output, the first token %lld, head %lld that "
                 "of token %lld, head %lld",
                 (long long)s->rows_stale, (long long)s->first_stale.token,
                 (long long)s->first_stale.head, (long long)s->stale_source.token,
                 (long long)s->stale_source.head);
    else if (s->changed_outside > 0)
        snprintf(v->reason, size,
                 "%lld elements outside the rotary range differ from the input, the first at token "
                 "%lld, head %lld, element %lld",
                 (long long)s->changed_outside, (long long)s->changed_token,
                 (long long)s->changed_head, (long long)s->changed_element);
    else if (s->rows_zero == s->rows_wrong && s->rows_zero > 0)
        snprintf(v->reason, size, "output all zeros: in %lld of %lld rows", (long long)s->rows_zero,
                 (long long)s->rows);
    else if (s->rows_unrotated == s->rows_wrong)
        snprintf(v->reason, size, "output equal to input: %lld of %lld rows are not rotated",
                 (long long)s->rows_unrotated, (long long)s->rows);
    else
        snprintf(v->reason, size,
                 "no combination explains it; the nearest (%s; %s) fails at %lld of %lld "
                 "pairs, first at token %lld, head %lld, pair %lld",
                 prop_angle_text(v->best.angle), prop_arithmetic_text(v->best.arithmetic),
                 (long long)v->best.pairs_refuted, (long long)g->model.pairs,
                 (long long)v->best.first.token, (long long)v->best.first.head,
                 (long long)v->best.first.pair);
}

/* What stays when the judge goes: by_pair is copied. */
static bool keep_stats(prop_verdict *v, const judging *g, const prop_stats *stats,
                       rope_error *error)
{
    size_t bytes = (size_t)g->model.pairs * sizeof *stats->by_pair;
    v->stats = *stats;
    v->stats.by_pair = malloc(bytes);
    if (v->stats.by_pair == NULL)
        return rope_fail(error, "out of memory");
    memcpy(v->stats.by_pair, stats->by_pair, bytes);
    return stats->not_zero > 0 ||
           rope_fail(error, "%s: no pair of the input is finite and non-zero: nothing to see",
                     g->dump->x.array.path);
}

static void decide(judging *g, const rope_spec *spec, prop_explanation *exact,
                   prop_explanation *computed, prop_verdict *v)
{
    int count;
    const prop_combination *results = prop_explanation_results(exact, &count);
    const prop_combination *best = better(results, count, NULL);
    v->tried_computed = computed != NULL;
    if (computed != NULL) {
        results = prop_explanation_results(computed, &count);
        best = better(results, count, best);
        if (best->explains && !isnan(v->trained_length = trained(spec, v->trained_length)))
            v->error_at_trained =
                error_at(g, computed, best, (int)(best - results), v->trained_length);
    }
    v->best = *best;
    const prop_stats *s = &v->stats;
    v->pass =
        best->explains && s->unexpected_nan == 0 && s->wrong_class == 0 && s->changed_outside == 0;
    if (v->pass)
        explain_pass(v);
    else
        explain_failure(v, g);
}

static bool run(judging *g, const rope_spec *spec, const prop_check_options *options,
                prop_verdict *v, rope_error *error)
{
    uint32_t angles = options->angles != 0 ? options->angles : (1u << PROP_ANGLES) - 1;
    prop_stats rows = prop_stats_none(NULL);
    prop_judge *judge = prop_judge_new(&g->model);
    prop_explanation *exact = prop_explanation_new(&g->model, 1u << PROP_ANGLE_EXACT);
    prop_explanation *computed = NULL;
    prop_pass *pass =
        prop_pass_new(g->dump, g->oracle, &g->model, options->jobs > 0 ? options->jobs : 1, error);
    bool good = pass != NULL;
    if (good && (judge == NULL || exact == NULL))
        good = rope_fail(error, "out of memory");
    good = good && prop_pass_run(pass, judge, &rows, exact, angles & ~(1u << PROP_ANGLE_EXACT),
                                 &computed, options->progress, options->context, error);
    if (good) {
        prop_stats stats = prop_judge_stats(judge, &rows);
        good = keep_stats(v, g, &stats, error);
    }
    if (good)
        decide(g, spec, exact, computed, v);
    prop_pass_free(pass);
    prop_judge_free(judge);
    prop_explanation_free(exact);
    prop_explanation_free(computed);
    return good;
}

bool prop_dump_check(prop_dump *dump, const rope_spec *spec, const prop_check_options *options,
                     prop_verdict *verdict, rope_error *error)
{
    judging g;
    *verdict = (prop_verdict){.trained_length = options->trained_length, .error_at_trained = NAN};
    bool good = begin(&g, dump, spec, error);
    if (good) {
        verdict->pairs = g.model.pairs;
        verdict->dtype = dump->y.dtype;
        verdict->exact_bound_u = prop_contract(&g.model, PROP_ANGLE_EXACT);
        verdict->moving = count_moving(dump);
        good = run(&g, spec, options, verdict, error);
    }
    finish(&g);
    if (!good)
        prop_verdict_free(verdict);
    return good;
}

void prop_verdict_free(prop_verdict *verdict)
{
    free(verdict->stats.by_pair);
    *verdict = (prop_verdict){0};
}
