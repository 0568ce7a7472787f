#include "props/certify_worker.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_judge.h"
#include "props/hunt.h"
#include "props/isolate.h"

int64_t certify_window(int64_t pairs)
{
    /* 2^19 angles a plan: 4 MiB of f32 cos and sin, tens of milliseconds to make. */
    int64_t window = INT64_C(1) << 13;
    while (window > CERTIFY_BLOCK && window * pairs > INT64_C(1) << 19)
        window /= 2;
    return window;
}

static void fail(const certify_worker *w, int k, const char *reason)
{
    certify_part *part = &w->piece->parts[k];
    rope_error text;
    rope_fail(&text, "%.180s", reason);
    strcpy(part->reason, text.text);
    part->failed = true;
}

static bool skipped(const certify_worker *w, int k)
{
    return w->piece->skip[k] || w->piece->parts[k].failed;
}

static bool prepare(certify_worker *w)
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

/* One subject on the block [block_first, block_end) of which [first, end) counts. */
static void work_block(certify_worker *w, int k, int64_t block_first, int64_t block_end,
                       int64_t first, int64_t end)
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
        certificate_segment *segment = certify_judge_segment(w, &w->piece->parts[k], position);
        segment->end = position + 1;
        int64_t without = certify_judge_bounds(w, k, position);
        for (uint32_t probe = 0; probe < CERTIFY_PROBES; probe++)
            certify_judge_row(w, k, position - block_first, position - first, probe, position,
                              without, segment);
    }
    w->piece->status->done += (double)(end - first);
}

static void plan_window(certify_worker *w, int64_t first, int64_t last)
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

static void unplan_window(certify_worker *w)
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
static bool work_window(certify_worker *w, int64_t first, int64_t end)
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
        for (int p = 0; p < CERTIFY_PAIRINGS; p++)
            for (int d = 0; d < CERTIFY_DTYPES; d++)
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
static void search(certify_worker *w)
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
    certify_worker w = {.piece = context};
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
