/* The smallest and largest contract that a certificate states, against what the kernel claims. */
#include <inttypes.h>
#include <math.h>

#include "impl/registry.h"
#include "props/certify_worker.h"
#include "props/isolate.h"
#include "props/recheck.h"

/* Contracts asked for again, all of 2^20 positions of 64 pairs: nanoseconds each. */
static const int64_t MOST_PAIRS = INT64_C(1) << 26;

bool recheck_bound_within(const certificate *c, int64_t position, int64_t pair, double bound,
                          rope_error *error)
{
    if (isinf(bound) || (bound >= c->bounds.low && bound <= c->bounds.high))
        return true;
    return rope_fail(error,
                     "position %" PRId64 ", pair %" PRId64
                     ": the contract is %.17g u, stated to lie between %.17g and %.17g",
                     position, pair, bound, c->bounds.low, c->bounds.high);
}

/* The contract of one pair, in the plan's window that certification had. */
static double bound_at(const certificate *c, const certify_subject *s,
                       const certify_options *options, const rope_frequencies *frequencies,
                       int64_t position, int64_t pair)
{
    int64_t first, end;
    certify_window_at(options, c->pairs, position, &first, &end);
    rope_plan_args args =
        rope_spec_plan_args(s->spec, frequencies, (rope_dtype)s->dtype, first, end - 1);
    return s->kernel->error_bound(&args, position, pair);
}

/* Both are met where the certificate says so. */
static bool bounds_are_met(const certificate *c, const certify_subject *s,
                           const certify_options *options, const rope_frequencies *frequencies,
                           rope_error *error)
{
    const certificate_bounds *b = &c->bounds;
    const struct {
        const char *name;
        double stated;
        int64_t position, pair;
    } ends[] = {{"smallest", b->low, b->low_position, b->low_pair},
                {"largest", b->high, b->high_position, b->high_pair}};
    for (int i = 0; i < 2 && !isnan(ends[i].stated); i++) {
        double bound = bound_at(c, s, options, frequencies, ends[i].position, ends[i].pair);
        if (bound != ends[i].stated)
            return rope_fail(error,
                             "the %s contract, at position %" PRId64 ", pair %" PRId64
                             ", is %.17g u, stated %.17g",
                             ends[i].name, ends[i].position, ends[i].pair, bound, ends[i].stated);
    }
    return true;
}

typedef struct sweep {
    certificate_bounds bounds;
    uint64_t without;
} sweep;

/* The contracts of every pair of every position. */
static sweep sweep_bounds(const certificate *c, const certify_subject *s,
                          const certify_options *options, const rope_frequencies *frequencies)
{
    sweep all = {.bounds = certificate_bounds_none()};
    double ceiling = sqrt(2) / rope_dtype_unit_roundoff(s->dtype);
    for (int64_t at = c->shard_first; at < c->shard_end;) {
        int64_t first, end;
        certify_window_at(options, c->pairs, at, &first, &end);
        rope_plan_args args =
            rope_spec_plan_args(s->spec, frequencies, (rope_dtype)s->dtype, first, end - 1);
        prop_beat();
        for (; at < end && at < c->shard_end; at++)
            for (int64_t i = 0; i < c->pairs; i++) {
                double bound = s->kernel->error_bound(&args, at, i);
                if (bound >= 0 && bound < ceiling)
                    certificate_bounds_meet(&all.bounds, bound, at, i);
                else
                    all.without++;
            }
    }
    return all;
}

static bool same_bounds(const certificate_bounds *a, const certificate_bounds *b)
{
    if (isnan(a->low) || isnan(b->low))
        return isnan(a->low) && isnan(b->low) && isnan(a->high) && isnan(b->high);
    return a->low == b->low && a->high == b->high && a->low_position == b->low_position &&
           a->low_pair == b->low_pair && a->high_position == b->high_position &&
           a->high_pair == b->high_pair;
}

bool recheck_bounds(const certificate *c, const certify_subject *s, const certify_options *options,
                    const rope_frequencies *frequencies, rope_error *error)
{
    double ceiling = sqrt(2) / rope_dtype_unit_roundoff(s->dtype);
    if (c->bounds.high >= ceiling)
        return rope_fail(error, "the largest contract is stated as %.17g u, expected below %.17g",
                         c->bounds.high, ceiling);
    if (!bounds_are_met(c, s, options, frequencies, error))
        return false;
    if (c->pairs < 1 || c->shard_end - c->shard_first > MOST_PAIRS / c->pairs)
        return true;
    sweep all = sweep_bounds(c, s, options, frequencies);
    if (!same_bounds(&all.bounds, &c->bounds))
        return rope_fail(error,
                         "the contracts lie between %.17g and %.17g u, stated between %.17g and "
                         "%.17g, or are met elsewhere",
                         all.bounds.low, all.bounds.high, c->bounds.low, c->bounds.high);
    uint64_t angle = c->stage[CERTIFICATE_ANGLE].total.without;
    uint64_t rotation = c->stage[CERTIFICATE_ROTATION].total.without;
    return (angle == 2 * all.without && rotation == all.without) ||
           rope_fail(error,
                     "%" PRIu64 " pairs have no contract, stated %" PRIu64 " twice and %" PRIu64,
                     all.without, angle / 2, rotation);
}
