#include "props/certify_worker.h"

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_exact.h"
#include "props/certify_measure.h"
#include "props/certify_probe.h"
#include "props/hunt.h"
#include "props/isolate.h"

enum { DTYPES = 4, PAIRINGS = 2 };

/* Errors above this, and NaN, count as above the contract and stay out of the sums. */
#define ABSURD 0x1p100

typedef struct worker {
    const certify_piece *piece;
    certify_exact_rows *exact;
    certify_block *blocks[PAIRINGS][DTYPES]; /* NULL where no subject needs one */
    bool filled[PAIRINGS][DTYPES];           /* for the block of positions at work */
    rope_plan **plans;                       /* [count] of the window at work */
    rope_plan_args *args;                    /* [count] the same */
    double *bound, *limit;                   /* [pairs] of the position at work */
    certify_errors errors;                   /* [pairs] */
    int64_t segment_size;
} worker;

int64_t certify_window(int64_t pairs)
{
    /* 2^19 angles a plan: 4 MiB of f32 cos and sin, tens of milliseconds to make. */
    int64_t window = INT64_C(1) << 13;
    while (window > CERTIFY_BLOCK && window * pairs > INT64_C(1) << 19)
        window /= 2;
    return window;
}

static void fail(const worker *w, int k, const char *reason)
{
    certify_part *part = &w->piece->parts[k];
    rope_error text;
    rope_fail(&text, "%.180s", reason);
    strcpy(part->reason, text.text);
    part->failed = true;
}

static bool skipped(const worker *w, int k)
{
    return w->piece->skip[k] || w->piece->parts[k].failed;
}

static bool prepare(worker *w)
{
    const certify_piece *piece = w->piece;
    size_t pairs = (size_t)oracle_pairs(piece->o), count = (size_t)piece->count;
    w->exact = certify_exact_new(piece->o, certify_window(oracle_pairs(piece->o)));
    w->plans = calloc(count, sizeof *w->plans);
    w->args = calloc(count, sizeof *w->args);
    double *room = malloc(7 * pairs * sizeof *room);
    if (!w->exact || !w->plans || !w->args || !room)
        return false;
    w->bound = room;
    w->limit = room + pairs;
    w->errors = (certify_errors){room + 2 * pairs, room + 3 * pairs, room + 4 * pairs,
                                 room + 5 * pairs, room + 6 * pairs};
    for (int k = 0; k < piece->count; k++) {
        const certify_subject *s = &piece->subjects[k];
        certify_block **block = &w->blocks[s->spec->pairing][s->dtype];
        if (*block == NULL)
            *block = certify_block_new(s->spec, s->dtype, piece->frequencies->axis_count,
                                       piece->options->seed);
        if (*block == NULL)
            return false;
    }
    w->segment_size = certificate_segment_size(piece->options->first, piece->options->end);
    return true;
}

/* The contract of every pair at a position, and the limit that the measurement compares with.
 * Returns how many pairs have no contract (DESIGN's rule: NaN, infinite, negative or at least
 * sqrt(2)/u). Position 0 with A = 1 must give x itself: the limit allows the enclosure alone. */
static int64_t bounds_at(const worker *w, int k, int64_t position)
{
    const certify_subject *s = &w->piece->subjects[k];
    certify_part *part = &w->piece->parts[k];
    int64_t pairs = oracle_pairs(w->piece->o), without = 0;
    double u = rope_dtype_unit_roundoff(s->dtype), ceiling = sqrt(2) / u;
    bool identity = position == 0 && w->args[k].attention_factor == 1;
    certificate_bounds bounds = part->bounds;
    for (int64_t i = 0; i < pairs; i++) {
        double bound = s->kernel->error_bound(&w->args[k], position, i);
        if (!(bound >= 0 && bound < ceiling)) {
            without++;
            bound = INFINITY;
        } else {
            if (!(bounds.low <= bound && bounds.high >= bound)) /* NaN before the first */
                certificate_bounds_meet(&bounds, bound, position, i);
        }
        w->bound[i] = bound;
        w->limit[i] = identity ? 2 * CERTIFY_ENCLOSURE / u : bound;
    }
    part->bounds = bounds;
    return without;
}

static certificate_segment *segment_at(const worker *w, certify_part *part, int64_t position)
{
    int64_t cell = certificate_grid(position, w->segment_size);
    certificate_segment *last = part->segments + part->segment_count - 1;
    if (part->segment_count > 0 && certificate_grid(last->first, w->segment_size) == cell)
        return last;
    part->segment_count++;
    *++last = (certificate_segment){.first = position, .end = position};
    return last;
}

typedef struct seen {
    int64_t position;
    uint32_t probe;
    const double *x0, *x1, *y0, *y1;
} seen;

/* A row with NaN, an absurd error or a component that the enclosure cannot decide: pair by pair. */
static certify_summary settle(const worker *w, int k, const seen *row)
{
    const certify_errors *e = &w->errors;
    certify_summary sum = {0};
    for (int64_t i = 0; i < oracle_pairs(w->piece->o); i++) {
        if (e->undecided[i] != 0)
            e->correct[i] = certify_nearest(w->piece->o, w->piece->subjects[k].dtype, row->position,
                                            i, row->x0[i], row->x1[i], row->y0[i], row->y1[i]);
        sum.correct += e->correct[i];
        sum.misrounded += e->correct[i] < 2;
        if (!(e->error_u[i] < ABSURD)) {
            sum.above += 1;
            sum.max_error_u = e->error_u[i] = INFINITY;
            continue;
        }
        sum.above += e->above[i];
        sum.squares_u += e->error_u[i] * e->error_u[i];
        sum.squares_ulp += e->ulp[i] * e->ulp[i];
        sum.max_error_u = fmax(sum.max_error_u, e->error_u[i]);
        sum.max_ulp = fmax(sum.max_ulp, e->ulp[i]);
    }
    return sum;
}

static void keep_cases(const worker *w, const seen *row, certificate_stage *stage)
{
    int64_t worst = 0, pairs = oracle_pairs(w->piece->o);
    const double *error_u = w->errors.error_u;
    for (int64_t i = 1; i < pairs; i++)
        if (error_u[i] > error_u[worst])
            worst = i;
    certificate_case found = {row->position,  worst,          row->probe,
                              row->x0[worst], row->x1[worst], row->y0[worst],
                              row->y1[worst], error_u[worst], w->bound[worst]};
    certificate_keep_worst(stage, &found);
}

static void keep_misrounded(const worker *w, const seen *row, certificate_stage *stage)
{
    for (int64_t i = 0; i < oracle_pairs(w->piece->o); i++)
        if (w->errors.correct[i] < 2)
            certificate_keep_misrounded(stage, &(certificate_place){row->position, i, row->probe});
}

static void judge_row(worker *w, int k, int64_t j, int64_t row_index, uint32_t probe,
                      int64_t position, int64_t without, certificate_segment *segment)
{
    const certify_subject *s = &w->piece->subjects[k];
    certify_block *block = w->blocks[s->spec->pairing][s->dtype];
    int index = probe == CERTIFICATE_VECTOR ? CERTIFICATE_ROTATION : CERTIFICATE_ANGLE;
    certificate_stage *stage = &w->piece->parts[k].stage[index];
    certificate_tally *tally = &segment->tally[index];
    seen row = {.position = position, .probe = probe};
    certify_block_row(block, j, probe, &row.x0, &row.x1, &row.y0, &row.y1);
    certify_unit unit = certify_unit_of(s->dtype, w->args[k].attention_factor);
    certify_row measured = {certify_exact_row(w->exact, row_index),
                            row.x0,
                            row.x1,
                            row.y0,
                            row.y1,
                            w->limit,
                            oracle_pairs(w->piece->o)};
    certify_summary sum = certify_measure(&unit, &measured, &w->errors);
    if (sum.above > 0 || sum.undecided > 0 || !(sum.max_error_u < ABSURD))
        sum = settle(w, k, &row);
    tally->pairs += (uint64_t)measured.pairs;
    tally->correctly_rounded += (uint64_t)sum.correct;
    tally->misrounded += (uint64_t)sum.misrounded;
    tally->above += (uint64_t)sum.above;
    tally->without += (uint64_t)without;
    tally->max_error_u = fmax(tally->max_error_u, sum.max_error_u);
    tally->max_ulp = fmax(tally->max_ulp, sum.max_ulp);
    certificate_sum_add(&tally->squares_u, sum.squares_u);
    certificate_sum_add(&tally->squares_ulp, sum.squares_ulp);
    if (stage->worst_count < CERTIFICATE_WORST || sum.above > 0 ||
        sum.max_error_u >= stage->worst[CERTIFICATE_WORST - 1].error_u)
        keep_cases(w, &row, stage);
    /* A list that is full may still be out of order within its last position. */
    if (sum.misrounded > 0 && (stage->misrounded_count < CERTIFICATE_MISROUNDED ||
                               stage->misrounded[CERTIFICATE_MISROUNDED - 1].position == position))
        keep_misrounded(w, &row, stage);
}

/* One subject on the block [block_first, block_end) of which [first, end) counts. */
static void work_block(worker *w, int k, int64_t block_first, int64_t block_end, int64_t first,
                       int64_t end)
{
    const certify_subject *s = &w->piece->subjects[k];
    certify_block *block = w->blocks[s->spec->pairing][s->dtype];
    bool *filled = &w->filled[s->spec->pairing][s->dtype];
    rope_error error;
    w->piece->status->subject = k;
    w->piece->status->position = block_first;
    prop_beat();
    if (!*filled)
        certify_block_fill(block, block_first, block_end - block_first);
    *filled = true;
    if (!certify_block_apply(block, s->kernel, w->plans[k], &error)) {
        fail(w, k, error.text);
        return;
    }
    for (int64_t position = first; position < end; position++) {
        certificate_segment *segment = segment_at(w, &w->piece->parts[k], position);
        segment->end = position + 1;
        int64_t without = bounds_at(w, k, position);
        for (uint32_t probe = 0; probe < CERTIFY_PROBES; probe++)
            judge_row(w, k, position - block_first, position - first, probe, position, without,
                      segment);
    }
    w->piece->status->done += (double)(end - first);
}

static void plan_window(worker *w, int64_t first, int64_t last)
{
    const certify_piece *piece = w->piece;
    for (int k = 0; k < piece->count; k++) {
        const certify_subject *s = &piece->subjects[k];
        w->plans[k] = NULL;
        if (skipped(w, k))
            continue;
        piece->status->subject = k;
        piece->status->position = first;
        prop_beat();
        w->args[k] =
            rope_spec_plan_args(s->spec, piece->frequencies, (rope_dtype)s->dtype, first, last);
        rope_status status = s->kernel->plan(&w->args[k], &w->plans[k]);
        if (status != ROPE_OK) {
            rope_error error;
            w->plans[k] = NULL;
            rope_fail(&error, "plan returned status %d for positions %" PRId64 " to %" PRId64,
                      (int)status, first, last);
            fail(w, k, error.text);
        }
    }
}

static void unplan_window(worker *w)
{
    for (int k = 0; k < w->piece->count; k++)
        if (w->plans[k] != NULL) {
            w->piece->status->subject = k;
            w->piece->subjects[k].kernel->destroy(w->plans[k]);
        }
}

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The next multiple of size after position, or end. */
static int64_t next_cell(int64_t position, int64_t size, int64_t end)
{
    int64_t cell = certificate_grid(position, size);
    return end - cell < size ? end : cell + size;
}

void certify_window_at(const certify_options *options, int64_t pairs, int64_t position,
                       int64_t *first, int64_t *end)
{
    int64_t size = certify_window(pairs);
    *first = max_of(certificate_grid(position, size), options->first);
    *end = next_cell(position, size, options->end);
}

void certify_block_at(const certify_options *options, int64_t position, int64_t *first,
                      int64_t *end)
{
    *first = max_of(certificate_grid(position, CERTIFY_BLOCK), options->first);
    *end = next_cell(position, CERTIFY_BLOCK, options->end);
}

/* Windows and blocks are never cut at the piece's ends: what a kernel sees does not depend on them.
 */
static bool work_window(worker *w, int64_t first, int64_t end)
{
    const certify_piece *piece = w->piece;
    int64_t window_first, window_end;
    certify_window_at(piece->options, oracle_pairs(piece->o), first, &window_first, &window_end);
    rope_error error;
    if (!certify_exact_span(w->exact, first, end - first, &error))
        return false;
    plan_window(w, window_first, window_end - 1);
    for (int64_t at = first; at < end;) {
        int64_t block_first, block_end;
        certify_block_at(piece->options, at, &block_first, &block_end);
        int64_t stop = min_of(block_end, end);
        for (int p = 0; p < PAIRINGS; p++)
            for (int d = 0; d < DTYPES; d++)
                w->filled[p][d] = false;
        certify_exact_block(w->exact, at, stop - at);
        for (int k = 0; k < piece->count; k++)
            if (!skipped(w, k))
                work_block(w, k, block_first, block_end, at, stop);
        at = stop;
    }
    unplan_window(w);
    return true;
}

/* The adversarial search over the whole range, so that every shard finds the same; subjects are
 * shared out between the pieces. */
static void search(worker *w)
{
    const certify_piece *piece = w->piece;
    const certify_options *o = piece->options;
    hunt_options options = {.truth = o->truth,
                            .seed = o->seed,
                            .first = o->first,
                            .end = o->end,
                            .evaluations = o->search};
    for (int k = piece->index; k < piece->count; k += piece->jobs) {
        hunt_result found;
        if (skipped(w, k))
            continue;
        piece->status->subject = k;
        hunt_here(&piece->subjects[k], piece->o, piece->frequencies, &options, &found);
        if (found.reason[0] != '\0')
            fail(w, k, found.reason);
        piece->parts[k].search = (certificate_search){found.evaluations, found.worst};
    }
}

int certify_work(void *context)
{
    worker w = {.piece = context};
    const certify_piece *piece = w.piece;
    /* Plans of megabytes come and go with every window: keep their pages. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    if (!prepare(&w)) {
        piece->status->out_of_memory = true;
        return 1;
    }
    int64_t size = certify_window(oracle_pairs(piece->o));
    for (int64_t at = piece->first; at < piece->end;) {
        int64_t end = min_of(next_cell(at, size, piece->options->end), piece->end);
        if (!work_window(&w, at, end)) {
            piece->status->out_of_memory = true;
            return 1;
        }
        at = end;
    }
    if (piece->options->search > 0)
        search(&w);
    for (int k = 0; k < piece->count; k++)
        for (int s = 0; s < CERTIFICATE_STAGES; s++)
            for (int64_t i = 0; i < piece->parts[k].segment_count; i++)
                certificate_tally_add(&piece->parts[k].stage[s].total,
                                      &piece->parts[k].segments[i].tally[s]);
    return 0; /* the process ends: its memory goes with it */
}
