/* Adding certificates of parts of one range, and whether a certificate agrees with itself. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "props/certificate.h"

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_case(const certificate_case *a, const certificate_case *b)
{
    return certificate_case_order(a, b) == 0 && same_number(a->x0, b->x0) &&
           same_number(a->x1, b->x1) && same_number(a->y0, b->y0) && same_number(a->y1, b->y1) &&
           same_number(a->error_u, b->error_u) && same_number(a->bound_u, b->bound_u);
}

static bool same_subject(const certificate *a, const certificate *b, rope_error *error)
{
    if (strcmp(a->kernel, b->kernel) != 0)
        return rope_fail(error, "kernel %s does not go with kernel %s", b->kernel, a->kernel);
    if (strcmp(a->plugin, b->plugin) != 0 || strcmp(a->binary_hash, b->binary_hash) != 0)
        return rope_fail(error, "kernel binary %s does not go with %s: other builds",
                         b->binary_hash, a->binary_hash);
    if (strcmp(a->spec, b->spec) != 0)
        return rope_fail(error, "spec %.200s does not go with %.200s", b->spec, a->spec);
    if (strcmp(a->truth, b->truth) != 0 || strcmp(a->dtype, b->dtype) != 0)
        return rope_fail(error, "%s %s does not go with %s %s", b->truth, b->dtype, a->truth,
                         a->dtype);
    if (a->first != b->first || a->end != b->end)
        return rope_fail(error,
                         "range %" PRId64 ":%" PRId64 " does not go with %" PRId64 ":%" PRId64,
                         b->first, b->end, a->first, a->end);
    if (a->seed != b->seed)
        return rope_fail(error, "seed %" PRIu64 " does not go with seed %" PRIu64, b->seed,
                         a->seed);
    if (a->pairs != b->pairs || a->attention_factor != b->attention_factor ||
        strcmp(a->table, b->table) != 0 || strcmp(a->arithmetic, b->arithmetic) != 0 ||
        a->search.evaluations != b->search.evaluations ||
        (a->search.evaluations > 0 && !same_case(&a->search.worst, &b->search.worst)))
        return rope_fail(error, "two certificates of one kernel and spec disagree about its pairs, "
                                "attention factor, pipeline or adversarial search");
    return true;
}

static void join_stage(certificate_stage *to, const certificate_stage *from)
{
    certificate_tally_add(&to->total, &from->total);
    for (int i = 0; i < from->worst_count; i++)
        certificate_keep_worst(to, &from->worst[i]);
    for (int i = 0; i < from->misrounded_count; i++)
        certificate_keep_misrounded(to, &from->misrounded[i]);
}

static bool join_segments(certificate *sum, const certificate *part, rope_error *error)
{
    int64_t count = sum->segment_count + part->segment_count;
    certificate_segment *segments = realloc(sum->segments, (size_t)count * sizeof *segments);
    if (segments == NULL)
        return rope_fail(error, "out of memory");
    sum->segments = segments;
    int64_t size = certificate_segment_size(sum->first, sum->end);
    for (int64_t i = 0; i < part->segment_count; i++) {
        const certificate_segment *from = &part->segments[i];
        certificate_segment *last =
            sum->segment_count > 0 ? segments + sum->segment_count - 1 : NULL;
        if (last != NULL &&
            certificate_grid(last->first, size) == certificate_grid(from->first, size)) {
            last->end = from->end;
            for (int s = 0; s < CERTIFICATE_STAGES; s++)
                certificate_tally_add(&last->tally[s], &from->tally[s]);
        } else
            segments[sum->segment_count++] = *from;
    }
    return true;
}

bool certificate_append(certificate *sum, const certificate *part, rope_error *error)
{
    if (!same_subject(sum, part, error))
        return false;
    if (part->shard_first > sum->shard_end)
        return rope_fail(error, "positions %" PRId64 ":%" PRId64 " are missing", sum->shard_end,
                         part->shard_first);
    if (part->shard_first < sum->shard_end)
        return rope_fail(error, "positions %" PRId64 ":%" PRId64 " are given twice",
                         part->shard_first,
                         part->shard_end < sum->shard_end ? part->shard_end : sum->shard_end);
    if (!join_segments(sum, part, error))
        return false;
    sum->shard_end = part->shard_end;
    certificate_bounds_join(&sum->bounds, &part->bounds);
    for (int s = 0; s < CERTIFICATE_STAGES; s++)
        join_stage(&sum->stage[s], &part->stage[s]);
    return true;
}

/* ---- consistency ---- */

static bool same_tally(const certificate_tally *a, const certificate_tally *b)
{
    return a->pairs == b->pairs && a->correctly_rounded == b->correctly_rounded &&
           a->misrounded == b->misrounded && a->above == b->above && a->without == b->without &&
           same_number(a->max_error_u, b->max_error_u) && same_number(a->max_ulp, b->max_ulp) &&
           certificate_sum_equal(&a->squares_u, &b->squares_u) &&
           certificate_sum_equal(&a->squares_ulp, &b->squares_ulp);
}

static bool within(const certificate *c, int64_t position, int64_t pair)
{
    return position >= c->shard_first && position < c->shard_end && pair >= 0 && pair < c->pairs;
}

static const char *const stage_names[] = {"angle", "rotation"};
/* Probes of a position and pair in each stage. */
static const uint64_t probes[] = {2, 1};

static bool stage_consistent(const certificate *c, int s, rope_error *error)
{
    const certificate_stage *stage = &c->stage[s];
    const certificate_tally *t = &stage->total;
    const char *name = stage_names[s];
    uint64_t expected = (uint64_t)(c->shard_end - c->shard_first) * (uint64_t)c->pairs * probes[s];
    if (t->pairs != expected)
        return rope_fail(error, "%s: %" PRIu64 " pairs compared, expected %" PRIu64, name, t->pairs,
                         expected);
    if (t->misrounded > t->pairs || t->above > t->pairs || t->without > t->pairs ||
        t->correctly_rounded > 2 * t->pairs ||
        2 * t->pairs - t->correctly_rounded < t->misrounded ||
        2 * t->pairs - t->correctly_rounded > 2 * t->misrounded)
        return rope_fail(error, "%s: counts of misrounded and correctly rounded disagree", name);
    if (stage->worst_count < 1)
        return rope_fail(error, "%s: no worst case", name);
    if (!same_number(stage->worst[0].error_u, t->max_error_u))
        return rope_fail(error, "%s: the worst case's error %.17g is not the largest, %.17g", name,
                         stage->worst[0].error_u, t->max_error_u);
    if (t->max_error_u < certificate_rms(&t->squares_u, t->pairs) ||
        t->max_ulp < certificate_rms(&t->squares_ulp, t->pairs))
        return rope_fail(error, "%s: a root mean square exceeds its maximum", name);
    for (int i = 0; i < stage->worst_count; i++) {
        const certificate_case *w = &stage->worst[i];
        if (!within(c, w->position, w->pair) ||
            (w->probe == CERTIFICATE_VECTOR) != (s == CERTIFICATE_ROTATION))
            return rope_fail(error, "%s: worst case %d lies outside the range", name, i + 1);
        /* What underflow may add below 2^-20 u is not taken off an error (certify_measure.c). */
        if (t->above == 0 && !(w->error_u <= w->bound_u * (1 + 0x1p-48) + 0x1p-19))
            return rope_fail(error, "%s: worst case %d is above its contract, none is stated", name,
                             i + 1);
        if (i > 0 && certificate_case_order(&stage->worst[i - 1], w) >= 0)
            return rope_fail(error, "%s: worst cases are out of order", name);
    }
    uint64_t listed =
        t->misrounded < CERTIFICATE_MISROUNDED ? t->misrounded : CERTIFICATE_MISROUNDED;
    if ((uint64_t)stage->misrounded_count != listed)
        return rope_fail(error, "%s: %d misrounded pairs listed, expected %" PRIu64, name,
                         stage->misrounded_count, listed);
    for (int i = 0; i < stage->misrounded_count; i++) {
        const certificate_place *m = &stage->misrounded[i];
        if (!within(c, m->position, m->pair) ||
            (m->probe == CERTIFICATE_VECTOR) != (s == CERTIFICATE_ROTATION))
            return rope_fail(error, "%s: misrounded pair %d lies outside the range", name, i + 1);
        if (i > 0 && m->position < stage->misrounded[i - 1].position)
            return rope_fail(error, "%s: misrounded pairs are out of order", name);
    }
    return true;
}

static bool segments_consistent(const certificate *c, rope_error *error)
{
    int64_t size = certificate_segment_size(c->first, c->end), at = c->shard_first;
    certificate_tally total[CERTIFICATE_STAGES] = {0};
    for (int64_t i = 0; i < c->segment_count; i++) {
        const certificate_segment *g = &c->segments[i];
        int64_t cell = certificate_grid(at, size);
        int64_t end = c->shard_end - cell < size ? c->shard_end : cell + size;
        if (g->first != at || g->end != end)
            return rope_fail(error,
                             "segment %" PRId64 ":%" PRId64 " found, expected %" PRId64 ":%" PRId64,
                             g->first, g->end, at, end);
        for (int s = 0; s < CERTIFICATE_STAGES; s++) {
            uint64_t expected = (uint64_t)(g->end - g->first) * (uint64_t)c->pairs * probes[s];
            if (g->tally[s].pairs != expected)
                return rope_fail(error,
                                 "segment %" PRId64 ":%" PRId64 " has %" PRIu64
                                 " pairs, expected %" PRIu64,
                                 g->first, g->end, g->tally[s].pairs, expected);
            certificate_tally_add(&total[s], &g->tally[s]);
        }
        at = end;
    }
    if (at != c->shard_end)
        return rope_fail(error, "segments end at %" PRId64 ", expected %" PRId64, at, c->shard_end);
    for (int s = 0; s < CERTIFICATE_STAGES; s++)
        if (!same_tally(&total[s], &c->stage[s].total))
            return rope_fail(error, "%s: the segments do not add up to the total", stage_names[s]);
    return true;
}

/* A contract is finite and not negative; both ends are NaN where none was met. */
static bool bounds_consistent(const certificate *c, rope_error *error)
{
    const certificate_tally *total = &c->stage[CERTIFICATE_ANGLE].total;
    const certificate_bounds *b = &c->bounds;
    if (isnan(b->low) && isnan(b->high) && total->without == total->pairs)
        return true;
    if (!(b->low >= 0 && b->low <= b->high && isfinite(b->high)))
        return rope_fail(error,
                         "contract: bounds from %.17g to %.17g u, expected 0 <= low <= high, "
                         "finite",
                         b->low, b->high);
    return (within(c, b->low_position, b->low_pair) && within(c, b->high_position, b->high_pair)) ||
           rope_fail(error, "contract: its smallest or largest bound lies outside the range");
}

bool certificate_consistent(const certificate *c, rope_error *error)
{
    int64_t first, end;
    certificate_shard_range(c->first, c->end, c->shard, c->shards, &first, &end);
    if (first != c->shard_first || end != c->shard_end || first >= end)
        return rope_fail(error,
                         "shard %" PRIu64 "/%" PRIu64 " covers %" PRId64 ":%" PRId64
                         ", expected %" PRId64 ":%" PRId64,
                         c->shard, c->shards, c->shard_first, c->shard_end, first, end);
    for (int s = 0; s < CERTIFICATE_STAGES; s++)
        if (!stage_consistent(c, s, error))
            return false;
    return bounds_consistent(c, error) && segments_consistent(c, error);
}
