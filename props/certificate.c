#include "props/certificate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void certificate_free(certificate *c)
{
    free(c->spec);
    free(c->segments);
    free(c->provenance);
    *c = (certificate){0};
}

int certificate_case_order(const certificate_case *a, const certificate_case *b)
{
    double ea = isnan(a->error_u) ? INFINITY : a->error_u;
    double eb = isnan(b->error_u) ? INFINITY : b->error_u;
    if (ea != eb)
        return ea > eb ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->probe > b->probe) - (a->probe < b->probe);
}

void certificate_keep_worst(certificate_stage *stage, const certificate_case *found)
{
    int at = stage->worst_count; /* where `found` goes in: after all that come before it */
    int same = -1;               /* the case that is kept of the same position */
    for (int i = stage->worst_count - 1; i >= 0; i--) {
        if (certificate_case_order(found, &stage->worst[i]) < 0)
            at = i;
        if (stage->worst[i].position == found->position)
            same = i;
    }
    if (same >= 0 && same < at)
        return;
    int last = same >= 0 ? same : stage->worst_count; /* the slot that is lost or new */
    if (last == CERTIFICATE_WORST)
        last--;
    if (at > last)
        return;
    for (int i = last; i > at; i--)
        stage->worst[i] = stage->worst[i - 1];
    stage->worst[at] = *found;
    if (same < 0 && stage->worst_count < CERTIFICATE_WORST)
        stage->worst_count++;
}

static int place_order(const certificate_place *a, const certificate_place *b)
{
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->probe > b->probe) - (a->probe < b->probe);
}

void certificate_keep_misrounded(certificate_stage *stage, const certificate_place *found)
{
    int at = stage->misrounded_count;
    while (at > 0 && place_order(found, &stage->misrounded[at - 1]) < 0)
        at--;
    if (at == CERTIFICATE_MISROUNDED)
        return;
    int last = stage->misrounded_count < CERTIFICATE_MISROUNDED ? stage->misrounded_count++
                                                                : CERTIFICATE_MISROUNDED - 1;
    for (int i = last; i > at; i--)
        stage->misrounded[i] = stage->misrounded[i - 1];
    stage->misrounded[at] = *found;
}

static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

void certificate_tally_add(certificate_tally *to, const certificate_tally *from)
{
    to->pairs += from->pairs;
    to->correctly_rounded += from->correctly_rounded;
    to->misrounded += from->misrounded;
    to->above += from->above;
    to->without += from->without;
    to->max_error_u = larger(from->max_error_u, to->max_error_u);
    to->max_ulp = larger(from->max_ulp, to->max_ulp);
    certificate_sum_join(&to->squares_u, &from->squares_u);
    certificate_sum_join(&to->squares_ulp, &from->squares_ulp);
}

double certificate_rms(const certificate_sum *squares, uint64_t pairs)
{
    return pairs == 0 ? 0 : sqrt(certificate_sum_value(squares) / (double)pairs);
}

int64_t certificate_grid(int64_t position, int64_t size)
{
    return position & ~(size - 1);
}

int64_t certificate_segment_size(int64_t first, int64_t end)
{
    int64_t size = INT64_C(1) << 14;
    while (size < INT64_C(1) << 60 && (end - first - 1) / size >= CERTIFICATE_SEGMENTS)
        size *= 2;
    return size;
}

/* The cut before shard `index` (0-based), relative to first. */
static int64_t cut(int64_t first, int64_t end, uint64_t index, uint64_t shards)
{
    enum { BLOCK = 64 };
    uint64_t length = (uint64_t)(end - first);
    int64_t at = first + (int64_t)((unsigned __int128)length * index / shards);
    if (index == 0 || index == shards || length / shards < 2 * BLOCK)
        return at;
    return certificate_grid(at, BLOCK);
}

void certificate_shard_range(int64_t first, int64_t end, uint64_t shard, uint64_t shards,
                             int64_t *shard_first, int64_t *shard_end)
{
    *shard_first = cut(first, end, shard - 1, shards);
    *shard_end = cut(first, end, shard, shards);
}

const char *certificate_verdict(const certificate *c)
{
    uint64_t above = 0, without = 0, pairs = 0;
    for (int s = 0; s < CERTIFICATE_STAGES; s++) {
        above += c->stage[s].total.above;
        without += c->stage[s].total.without;
        pairs += c->stage[s].total.pairs;
    }
    bool searched =
        c->search.evaluations == 0 || c->search.worst.error_u <= c->search.worst.bound_u;
    if (above > 0 || !searched)
        return "broken";
    return without == 0 ? "kept" : without == pairs ? "none" : "partial";
}
