#include "props/certify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_measure.h"
#include "props/certify_worker.h"
#include "props/isolate.h"

enum { MOST_JOBS = 256 };

/* ---- pieces in parallel ---- */

typedef struct run {
    const certify_subject *subjects;
    int count, jobs;
    const certify_options *options;
    oracle *o;
    rope_frequencies frequencies;
    int64_t first, end; /* the shard */
    bool *skip;         /* [count] */
    certify_piece pieces[MOST_JOBS];
    void *shared[MOST_JOBS];
    size_t shared_bytes[MOST_JOBS];
} run;

static int64_t segments_in(const certify_options *options, int64_t first, int64_t end)
{
    int64_t size = certificate_segment_size(options->first, options->end);
    return (certificate_grid(end - 1, size) - certificate_grid(first, size)) / size + 1;
}

/* Status, parts and their segments of one piece, in one shared block. */
static bool share(run *r, int j)
{
    certify_piece *piece = &r->pieces[j];
    size_t count = (size_t)r->count,
           segments = (size_t)segments_in(r->options, piece->first, piece->end);
    size_t parts = count * sizeof(certify_part), status = (sizeof(certify_status) + 63) / 64 * 64;
    r->shared_bytes[j] = status + parts + count * segments * sizeof(certificate_segment);
    unsigned char *memory = r->shared[j] = prop_share(r->shared_bytes[j]);
    if (memory == NULL)
        return false;
    piece->status = (certify_status *)memory;
    piece->status->subject = -1;
    piece->parts = (certify_part *)(memory + status);
    certificate_segment *rows = (certificate_segment *)(memory + status + parts);
    for (size_t k = 0; k < count; k++) {
        piece->parts[k].bounds = certificate_bounds_none();
        piece->parts[k].segments = rows + k * segments;
    }
    return true;
}

static bool cut_pieces(run *r)
{
    for (int j = 0; j < r->jobs; j++) {
        certify_piece *piece = &r->pieces[j];
        *piece = (certify_piece){.subjects = r->subjects,
                                 .count = r->count,
                                 .skip = r->skip,
                                 .options = r->options,
                                 .o = r->o,
                                 .frequencies = &r->frequencies,
                                 .index = j,
                                 .jobs = r->jobs};
        certificate_shard_range(r->first, r->end, (uint64_t)j + 1, (uint64_t)r->jobs, &piece->first,
                                &piece->end);
        if (!share(r, j))
            return false;
    }
    return true;
}

static void unshare(run *r)
{
    for (int j = 0; j < r->jobs; j++)
        if (r->shared[j] != NULL) {
            prop_unshare(r->shared[j], r->shared_bytes[j]);
            r->shared[j] = NULL;
        }
}

static void report(const run *r)
{
    double done = 0;
    for (int j = 0; j < r->jobs; j++)
        done += r->pieces[j].status->done;
    if (r->options->progress != NULL)
        r->options->progress(r->options->context, done,
                             (double)(r->end - r->first) * (double)r->count);
}

/* Runs all pieces to their ends. False: a child did not finish; *culprit is the subject at work
 * there (-1: none, then error says why), and all children are gone. */
static bool work_all(run *r, int *culprit, char *reason, size_t size, rope_error *error)
{
    prop_child children[MOST_JOBS] = {0};
    prop_limits limits = {.cpu_seconds = 60, .wall_seconds = 600, .memory_bytes = 0};
    bool good = true;
    *culprit = -1;
    int running = 0;
    for (int j = 0; good && j < r->jobs; j++)
        good = prop_start(&children[j], certify_work, &r->pieces[j], &limits, error) && ++running;
    while (good && running > 0) {
        prop_nap();
        report(r);
        for (int j = 0; good && j < r->jobs; j++) {
            prop_end end;
            if (children[j].pid == 0 || !prop_poll(&children[j], &end))
                continue;
            running--;
            const certify_status *status = r->pieces[j].status;
            if (end.outcome == PROP_FINISHED && end.status == 0)
                continue;
            good = false;
            char text[128];
            prop_end_text(&end, text, sizeof text);
            if (status->out_of_memory || status->subject < 0)
                rope_fail(error, status->out_of_memory ? "out of memory" : "a child process: %s",
                          text);
            else
                *culprit = status->subject;
            snprintf(reason, size, "%s, at positions from %" PRId64, text, status->position);
        }
    }
    for (int j = 0; j < r->jobs; j++)
        if (children[j].pid != 0)
            prop_stop(&children[j]);
    return good;
}

/* ---- results ---- */

static bool describe(const run *r, int k, certificate *c, rope_error *error)
{
    const certify_subject *s = &r->subjects[k];
    const certify_options *options = r->options;
    *c = (certificate){.seed = options->seed,
                       .first = options->first,
                       .end = options->end,
                       .shard = options->shard,
                       .shards = options->shards,
                       .shard_first = r->first,
                       .shard_end = r->first,
                       .pairs = r->frequencies.pairs,
                       .attention_factor = r->frequencies.attention_factor,
                       .bounds = certificate_bounds_none()};
    snprintf(c->kernel, sizeof c->kernel, "%s", s->kernel->name);
    if (s->plugin != NULL) {
        const char *slash = strrchr(s->plugin, '/');
        snprintf(c->plugin, sizeof c->plugin, "%s", slash != NULL ? slash + 1 : s->plugin);
    }
    snprintf(c->truth, sizeof c->truth, "%s",
             options->truth == ROPE_TRUTH_EXACT ? "exact" : "as-trained");
    snprintf(c->dtype, sizeof c->dtype, "%s", rope_dtype_name(s->dtype));
    const rope_pipeline *pipeline = &s->kernel->pipeline;
    snprintf(c->table, sizeof c->table, "%s", certificate_format_name(pipeline->table));
    snprintf(c->arithmetic, sizeof c->arithmetic, "%s",
             certificate_arithmetic_name(pipeline->arithmetic));
    int length = rope_spec_format(s->spec, NULL, 0);
    c->spec = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (c->spec == NULL)
        return rope_fail(error, "out of memory");
    rope_spec_format(s->spec, c->spec, (size_t)length + 1);
    return certify_binary_hash(s, c->binary_hash, error);
}

static bool collect(const run *r, int k, certify_result *result, rope_error *error)
{
    for (int j = 0; j < r->jobs; j++)
        if (r->pieces[j].parts[k].failed) {
            snprintf(result->reason, sizeof result->reason, "%s", r->pieces[j].parts[k].reason);
            return true;
        }
    certificate *sum = &result->certificate;
    if (!describe(r, k, sum, error))
        return false;
    for (int j = 0; j < r->jobs; j++) {
        certify_part *part = &r->pieces[j].parts[k];
        certificate piece = *sum; /* borrows the texts */
        piece.shard_first = r->pieces[j].first;
        piece.shard_end = r->pieces[j].end;
        piece.bounds = part->bounds;
        memcpy(piece.stage, part->stage, sizeof piece.stage);
        piece.segments = part->segments;
        piece.segment_count = part->segment_count;
        if (!certificate_append(sum, &piece, error))
            return false;
    }
    if (r->options->search > 0)
        sum->search = r->pieces[k % r->jobs].parts[k].search;
    return r->options->part_first < r->options->part_end || certificate_consistent(sum, error);
}

static bool run_all(run *r, certify_result *results, rope_error *error)
{
    for (;;) {
        char reason[200];
        int culprit;
        if (!cut_pieces(r))
            return rope_fail(error, "out of memory");
        if (work_all(r, &culprit, reason, sizeof reason, error))
            break;
        if (culprit < 0)
            return false;
        /* A kernel that ends its process is out; the others start again without it. */
        snprintf(results[culprit].reason, sizeof results[culprit].reason, "%s", reason);
        r->skip[culprit] = true;
        unshare(r);
    }
    for (int k = 0; k < r->count; k++)
        if (!r->skip[k] && !collect(r, k, &results[k], error))
            return false;
    return true;
}

bool certify_run(const certify_subject *subjects, int count, const certify_options *options,
                 certify_result *results, rope_error *error)
{
    memset(results, 0, (size_t)count * sizeof *results);
    run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return rope_fail(error, "out of memory");
    *r = (run){.subjects = subjects, .count = count, .options = options};
    certificate_shard_range(options->first, options->end, options->shard, options->shards,
                            &r->first, &r->end);
    if (options->part_first < options->part_end) {
        r->first = options->part_first;
        r->end = options->part_end;
    }
    int64_t blocks = (r->end - r->first) / 64 + 1;
    r->jobs = options->jobs < 1 ? 1 : options->jobs > MOST_JOBS ? MOST_JOBS : options->jobs;
    r->jobs = blocks < r->jobs ? (int)blocks : r->jobs;
    if (r->end - r->first < r->jobs)
        r->jobs = 1;
    r->skip = calloc((size_t)count, sizeof *r->skip);
    certify_measure_choose();
    bool good = r->skip != NULL &&
                rope_spec_resolve(subjects[0].spec, options->truth, &r->frequencies, error);
    if (good) {
        r->o =
            options->o != NULL ? options->o : oracle_new(subjects[0].spec, options->truth, error);
        good = r->o != NULL;
    }
    if (good) {
        oracle_prepare(r->o, r->first, r->end - 1);
        good = run_all(r, results, error);
        unshare(r);
    }
    if (r->o != NULL && options->o == NULL)
        oracle_free(r->o);
    rope_frequencies_free(&r->frequencies);
    free(r->skip);
    free(r);
    for (int k = 0; !good && k < count; k++)
        certificate_free(&results[k].certificate);
    return good;
}
