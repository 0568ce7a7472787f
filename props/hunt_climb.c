#include "props/hunt_climb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"

static uint64_t draw(hunter *h)
{
    /* xorshift64* (Vigna, ACM TOMS 42 (2016)) */
    h->state ^= h->state >> 12;
    h->state ^= h->state << 25;
    h->state ^= h->state >> 27;
    return h->state * UINT64_C(0x2545f4914f6cdd1d);
}

static double uniform(hunter *h) /* [0, 1) */
{
    return (double)(draw(h) >> 11) * 0x1p-53;
}

static double round_to(const hunter *h, double x)
{
    return h->s->dtype == ROPE_F32   ? (double)(float)x
           : h->s->dtype == ROPE_F64 ? x
                                     : oracle_round_dd(h->s->dtype, (oracle_dd){x, 0});
}

static double signed_unit(hunter *h)
{
    return 2 * uniform(h) - 1;
}

/* A start: a random direction; or an x that lands just above a power of two in both components,
 * where an ulp is largest beside the number; or an axis, which shows the angle alone. */
static void start_pair(hunter *h, int t, int64_t i, double *x0, double *x1)
{
    uint64_t form = draw(h) % 4;
    if (form == 0) {
        bool first = draw(h) % 2 == 0;
        *x0 = first;
        *x1 = !first;
    } else if (form == 1) {
        *x0 = round_to(h, signed_unit(h));
        *x1 = round_to(h, signed_unit(h));
    } else {
        double c, s, y0 = 1 + 64 * h->u * uniform(h), y1 = 1 + 64 * h->u * uniform(h);
        hunt_call_rotor(h->call, t, i, &c, &s);
        y0 *= draw(h) % 2 ? 1 : -1;
        y1 *= draw(h) % 2 ? 1 : -1;
        y1 *= form == 2 ? 1 : ldexp(1, -(int)(draw(h) % 6));
        *x0 = round_to(h, c * y0 + s * y1);
        *x1 = round_to(h, c * y1 - s * y0);
    }
    if (*x0 == 0 && *x1 == 0)
        *x0 = 1;
}

/* A neighbour: some ulps or a bit of one component, both components turned a little, or one of them
 * anew. */
static void move_pair(hunter *h, double from0, double from1, double *x0, double *x1)
{
    double a = from0, b = from1;
    uint64_t form = draw(h) % 8;
    double *one = draw(h) % 2 ? &a : &b;
    if (form < 3)
        *one *= 1 + 2 * h->u * (double)((int64_t)(draw(h) % 17) - 8);
    else if (form < 5)
        *one *= 1 + ldexp(signed_unit(h), -(int)(draw(h) % (h->u < 0x1p-40 ? 50 : 22)));
    else if (form == 5) {
        double turn = ldexp(signed_unit(h), -(int)(draw(h) % 20));
        a = from0 - turn * from1;
        b = from1 + turn * from0;
    } else if (form == 6)
        *one = -*one;
    else
        *one = signed_unit(h) * fmax(fabs(from0), fabs(from1));
    *x0 = round_to(h, a);
    *x1 = round_to(h, b);
    /* Keep away from underflow and overflow: the search is for rounding. */
    double size = fmax(fabs(*x0), fabs(*x1));
    if (!(size > 0x1p-6 && size < 0x1p6)) {
        *x0 = from0;
        *x1 = from1;
    }
}

static void note(const hunter *h, certificate_case *worst, int t, int64_t i, double x0, double x1,
                 double y0, double y1, double error_u)
{
    certificate_case found = {h->positions[t],
                              i,
                              CERTIFICATE_VECTOR,
                              x0,
                              x1,
                              y0,
                              y1,
                              error_u,
                              hunt_call_bound(h->call, t, i)};
    if (worst->error_u < 0 || certificate_case_order(&found, worst) < 0)
        *worst = found;
}

int64_t hunter_draw_position(hunter *h, int64_t first, int64_t end)
{
    uint64_t span = (uint64_t)(end - first);
    return first + (int64_t)(draw(h) % span);
}

/* Keeps what was tried where it is worse than what was kept, and makes the next tries. */
static void step(hunter *h)
{
    for (int64_t k = 0; k < h->count * h->pairs; k++) {
        if (h->error_u[k] > h->best[k]) {
            h->best[k] = h->error_u[k];
            h->best0[k] = h->x0[k];
            h->best1[k] = h->x1[k];
            h->best_y0[k] = h->y0[k];
            h->best_y1[k] = h->y1[k];
            if (h->best[k] >= h->result->worst.error_u)
                note(h, &h->result->worst, (int)(k / h->pairs), k % h->pairs, h->best0[k],
                     h->best1[k], h->best_y0[k], h->best_y1[k], h->best[k]);
        }
        move_pair(h, h->best0[k], h->best1[k], &h->x0[k], &h->x1[k]);
    }
}

typedef struct rank {
    double best;
    int token;
} rank;

static int by_best(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    if (x->best != y->best)
        return x->best > y->best ? -1 : 1;
    return x->token - y->token;
}

static void copy_token(hunter *h, int to, int from)
{
    double *const arrays[] = {h->best0, h->best1, h->best_y0, h->best_y1, h->best};
    for (int k = 0; k < 5; k++)
        memcpy(arrays[k] + to * h->pairs, arrays[k] + from * h->pairs,
               (size_t)h->pairs * sizeof(double));
    h->positions[to] = h->positions[from];
}

/* Selection: the tokens that hold the `keep` largest errors take the places of all others, whose
 * copies go on climbing on their own; every fourth copy begins anew at its position. */
static bool select_tokens(hunter *h, int keep, rope_error *error)
{
    rank ranks[HUNT_TOKENS];
    for (int t = 0; t < h->count; t++) {
        ranks[t] = (rank){-1, t};
        for (int64_t i = 0; i < h->pairs; i++)
            ranks[t].best = fmax(ranks[t].best, h->best[t * h->pairs + i]);
    }
    qsort(ranks, (size_t)h->count, sizeof *ranks, by_best);
    for (int r = keep; r < h->count; r++)
        copy_token(h, ranks[r].token, ranks[r % keep].token);
    if (!hunt_call_positions(h->call, h->positions, h->count, error))
        return false;
    for (int t = 0; t < h->count; t++)
        for (int64_t i = 0; i < h->pairs; i++) {
            int64_t k = t * h->pairs + i;
            bool anew = t != ranks[0].token && draw(h) % 4 == 0;
            if (anew) {
                h->best[k] = -1;
                start_pair(h, t, i, &h->x0[k], &h->x1[k]);
            } else
                move_pair(h, h->best0[k], h->best1[k], &h->x0[k], &h->x1[k]);
        }
    return true;
}

bool hunter_climb(hunter *h, rope_error *error)
{
    const hunt_options *options = h->options;
    int64_t n = h->count * h->pairs;
    for (int64_t k = 0; k < n; k++) {
        start_pair(h, (int)(k / h->pairs), k % h->pairs, &h->x0[k], &h->x1[k]);
        h->best[k] = -1;
    }
    for (int round = 0; round < h->rounds && h->result->evaluations < options->evaluations;
         round++) {
        int quarter = round * 4 / h->rounds;
        if (round > 0 && quarter > (round - 1) * 4 / h->rounds &&
            !select_tokens(h, HUNT_TOKENS >> (2 * quarter - 1), error))
            return false;
        if (!hunt_call_run(h->call, h->x0, h->x1, h->y0, h->y1, h->error_u, error))
            return false;
        h->result->evaluations += (uint64_t)n;
        step(h);
    }
    return true;
}

bool hunter_sample(hunter *h, rope_error *error)
{
    int64_t n = h->count * h->pairs;
    for (int round = 0; round < h->rounds && h->result->sampled < h->options->evaluations;
         round++) {
        for (int64_t k = 0; k < n; k++) {
            h->x0[k] = round_to(h, signed_unit(h));
            h->x1[k] = round_to(h, signed_unit(h));
            if (h->x0[k] == 0 && h->x1[k] == 0)
                h->x0[k] = 1;
        }
        if (!hunt_call_run(h->call, h->x0, h->x1, h->y0, h->y1, h->error_u, error))
            return false;
        h->result->sampled += (uint64_t)n;
        for (int64_t k = 0; k < n; k++)
            if (h->error_u[k] >= h->result->random.error_u)
                note(h, &h->result->random, (int)(k / h->pairs), k % h->pairs, h->x0[k], h->x1[k],
                     h->y0[k], h->y1[k], h->error_u[k]);
    }
    return true;
}
