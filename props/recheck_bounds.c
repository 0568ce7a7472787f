/* The smallest and largest contract that a certificate states, against what the kernel claims. */
#include <inttypes.h>
#include <math.h>

#include "impl/registry.h"
#include "props/certify_worker.h"
#include "props/isolate.h"
#include "props/recheck.h"

/* Contracts asked for again; tens of nanoseconds each, of the child's 60 s. */
static const int64_t MOST_PAIRS = INT64_C(1) << 24;

bool recheck_bound_within(const certificate *c, int64_t position, int64_t pair, double bound,
                          rope_error *error)
{
    if (isinf(bound) || (bound >= c->bound_low && bound <= c->bound_high))
        return true;
    return rope_fail(error,
                     "position %" PRId64 ", pair %" PRId64
                     ": the contract is %.17g u, stated to lie between %.17g and %.17g",
                     position, pair, bound, c->bound_low, c->bound_high);
}

bool recheck_bounds(const certificate *c, const certify_subject *s, const certify_options *options,
                    const rope_frequencies *frequencies, rope_error *error)
{
    double ceiling = sqrt(2) / rope_dtype_unit_roundoff(s->dtype), low = NAN, high = NAN;
    if (c->bound_high >= ceiling)
        return rope_fail(error, "the largest contract is stated as %.17g u, expected below %.17g",
                         c->bound_high, ceiling);
    if (c->pairs < 1 || c->shard_end - c->shard_first > MOST_PAIRS / c->pairs)
        return true;
    for (int64_t at = c->shard_first; at < c->shard_end;) {
        int64_t first, end;
        certify_window_at(options, c->pairs, at, &first, &end);
        rope_plan_args args =
            rope_spec_plan_args(s->spec, frequencies, (rope_dtype)s->dtype, first, end - 1);
        prop_beat();
        for (; at < end && at < c->shard_end; at++)
            for (int64_t i = 0; i < c->pairs; i++) {
                double bound = s->kernel->error_bound(&args, at, i);
                if (!(bound >= 0 && bound < ceiling))
                    continue;
                low = low <= bound ? low : bound; /* NaN before the first */
                high = high >= bound ? high : bound;
            }
    }
    /* NaN where none was met. */
    if ((low == c->bound_low && high == c->bound_high) ||
        (isnan(low) && isnan(c->bound_low) && isnan(c->bound_high)))
        return true;
    return rope_fail(error,
                     "the contracts lie between %.17g and %.17g u, stated between %.17g and %.17g",
                     low, high, c->bound_low, c->bound_high);
}
