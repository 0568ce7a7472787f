#include "props/hunt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "impl/registry.h"
#include "props/hunt_climb.h"
#include "props/isolate.h"

/* A window is climbed for an eighth of all rounds, within these; its first 16 positions may be
 * given ones. */
enum { FEWEST_ROUNDS = 64, MOST_ROUNDS = 512, KEEP = 16 };

/* Window number w: the first ones hold the starts; then the range's end, where angle errors are
 * largest; then random ones. Its positions: starts that lie in it, then random ones. */
static bool enter_window(hunter *h, int w, bool climbing, int64_t *first, int64_t *end,
                         rope_error *error)
{
    const hunt_options *o = h->options;
    int64_t at = hunter_draw_position(h, o->first, o->end);
    if (climbing && w < o->start_count)
        at = o->starts[w];
    else if (climbing && (w - o->start_count) % 3 == 0)
        at = o->end - 1;
    if (!hunt_call_window(h->call, at, first, end, error))
        return false;
    h->count = 0;
    for (int i = 0; climbing && i < o->start_count && h->count < KEEP; i++)
        if (o->starts[i] >= *first && o->starts[i] < *end)
            h->positions[h->count++] = o->starts[i];
    while (h->count < HUNT_TOKENS)
        h->positions[h->count++] = hunter_draw_position(h, *first, *end);
    return hunt_call_positions(h->call, h->positions, h->count, error);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool prepare(hunter *h)
{
    h->pairs = h->frequencies->pairs;
    h->u = rope_dtype_unit_roundoff(h->s->dtype);
    h->state = h->options->seed * 2 + 1;
    uint64_t rounds = h->options->evaluations / (uint64_t)(HUNT_TOKENS * h->pairs) / 8;
    h->rounds = rounds < FEWEST_ROUNDS ? FEWEST_ROUNDS
                : rounds > MOST_ROUNDS ? MOST_ROUNDS
                                       : (int)rounds;
    h->call = hunt_call_new(h->s, h->o, h->frequencies, h->options->first, h->options->end);
    size_t n = (size_t)(HUNT_TOKENS * h->pairs);
    double *room = malloc(10 * n * sizeof *room);
    double **arrays[] = {&h->x0,    &h->x1,    &h->y0,      &h->y1,      &h->error_u,
                         &h->best0, &h->best1, &h->best_y0, &h->best_y1, &h->best};
    for (size_t k = 0; room != NULL && k < 10; k++)
        *arrays[k] = room + k * n;
    return h->call != NULL && room != NULL;
}

bool hunt_evaluate(const certify_subject *subject, oracle *o, const rope_frequencies *frequencies,
                   const certify_options *range, certificate_case *c, rope_error *error)
{
    hunt_call *call = hunt_call_new(subject, o, frequencies, range->first, range->end);
    size_t pairs = (size_t)frequencies->pairs;
    double *room = malloc(5 * pairs * sizeof *room);
    int64_t first, end;
    bool good = (call != NULL && room != NULL) || rope_fail(error, "out of memory");
    for (size_t i = 0; good && i < pairs; i++) {
        room[i] = c->x0;
        room[pairs + i] = c->x1;
    }
    good = good && hunt_call_window(call, c->position, &first, &end, error) &&
           hunt_call_positions(call, &c->position, 1, error) &&
           hunt_call_run(call, room, room + pairs, room + 2 * pairs, room + 3 * pairs,
                         room + 4 * pairs, error);
    if (good) {
        c->y0 = room[2 * pairs + (size_t)c->pair];
        c->y1 = room[3 * pairs + (size_t)c->pair];
        c->error_u = room[4 * pairs + (size_t)c->pair];
        c->bound_u = hunt_call_bound(call, 0, c->pair);
    }
    hunt_call_free(call);
    free(room);
    return good;
}

static bool hunt(hunter *h, rope_error *error)
{
    const hunt_options *o = h->options;
    double deadline = now() + o->seconds;
    int64_t first, end;
    for (int w = 0; h->result->evaluations < o->evaluations; w++) {
        if (o->seconds > 0 && now() > deadline)
            break;
        if (!enter_window(h, w, true, &first, &end, error) || !hunter_climb(h, error))
            return false;
    }
    h->state = o->seed * 2 + 1;
    for (int w = 0; o->sample && h->result->sampled < h->result->evaluations; w++)
        if (!enter_window(h, w, false, &first, &end, error) || !hunter_sample(h, error))
            return false;
    certify_options range = {.first = o->first, .end = o->end};
    return hunt_evaluate(h->s, h->o, h->frequencies, &range, &h->result->worst, error);
}

static void hunt_into(hunter *h)
{
    rope_error error;
    h->result->worst.error_u = h->result->random.error_u = -1;
    bool good = prepare(h) || rope_fail(&error, "out of memory");
    if (!good || !hunt(h, &error))
        snprintf(h->result->reason, sizeof h->result->reason, "%.190s", error.text);
    hunt_call_free(h->call);
    free(h->x0);
}

void hunt_here(const certify_subject *subject, oracle *o, const rope_frequencies *frequencies,
               const hunt_options *options, hunt_result *result)
{
    hunter h = {
        .s = subject, .o = o, .frequencies = frequencies, .options = options, .result = result};
    *result = (hunt_result){0};
    hunt_into(&h);
}

static int hunt_body(void *context)
{
    hunt_into(context);
    return 0;
}

bool hunt_search(const certify_subject *subject, oracle *o, const rope_frequencies *frequencies,
                 const hunt_options *options, hunt_result *result, rope_error *error)
{
    prop_limits limits = {.cpu_seconds = 60, .wall_seconds = 600, .memory_bytes = 0};
    prop_end end;
    hunter h = {.s = subject, .o = o, .frequencies = frequencies, .options = options};
    h.result = prop_share(sizeof *h.result);
    if (h.result == NULL)
        return rope_fail(error, "out of memory");
    bool good = prop_isolate(hunt_body, &h, &limits, &end, error);
    *result = *h.result;
    prop_unshare(h.result, sizeof *h.result);
    if (good && end.outcome != PROP_FINISHED)
        prop_end_text(&end, result->reason, sizeof result->reason);
    return good;
}
