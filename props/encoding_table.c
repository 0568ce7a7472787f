/* Properties of kernels that add a row p(t) to an embedding.
 *
 * Contract: |y - (x + p)| <= b u (|x| + |p|), b from error_bound, with |p| counted as 1 for
 * sinusoidal (a pair has norm 1). With x = 0 the row itself is seen, each element within b u.
 * Hence, for sinusoidal: shift  (s', c') at t + k against (s cos kw + c sin kw, c cos kw - s sin
 * kw): b u on the left, b u (|cos| + |sin|) <= sqrt(2) b u on the right, 2^-50 for the check's own
 * arithmetic: tolerance (1 + sqrt(2)) b u + 2^-50, given in u. norm   ||p| - sqrt(dim/2)| <=
 * |errors|_2 <= sqrt(dim) b u, and the check's own dim 2^-52. zero   exact: sin 0 = 0 and cos 0 = 1
 * are representable, and so is their sum with 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/encoding.h"
#include "oracle/encoding.h"
#include "props/arena.h"
#include "props/encoding_internal.h"
#include "props/isolate.h"

enum { MAX_DIM = 512, TOKENS = 4 };
static const double base = 1e4;

typedef struct {
    prop_encoding_run *run;
    const rope_table_kernel *kernel;
    rope_table_args args;
    rope_plan *plan;
    prop_arena *x, *y;
    char spec[64];
    double hi[MAX_DIM / 2], lo[MAX_DIM / 2];
} bench;

static prop_encoding_result begin(const bench *b, const char *property)
{
    prop_encoding_result r = {.property = property};
    memcpy(r.spec, b->spec, sizeof r.spec);
    return r;
}

/* Applies to packed rows [tokens][dim]; y gets the result; in_place uses one buffer. Checks the
 * status, the input and all that lies around the output. */
static bool apply(bench *b, prop_encoding_result *r, const float *x, float *y,
                  const int64_t *positions, int64_t tokens, bool in_place, prop_place place)
{
    prop_shape shape = {
        .tokens = tokens, .heads = 1, .head_dim = b->args.dim, .token_gap = 3, .place = place};
    rope_view vx, vy;
    rope_error error;
    if (!prop_arena_place(b->x, ROPE_F32, &shape, &vx, &error) ||
        !prop_arena_place(b->y, ROPE_F32, &shape, &vy, &error)) {
        prop_encoding_require(r, false, 0, "%s", error.text);
        return false;
    }
    prop_arena_load(in_place ? b->y : b->x, x);
    if (in_place)
        vx = vy;
    const int64_t *guarded =
        prop_guarded_copy(0, "positions", positions, (size_t)tokens * sizeof *positions, &error);
    rope_status status = guarded ? b->kernel->apply(b->plan, &vx, &vy, guarded, 1) : ROPE_NO_MEMORY;
    prop_beat(); /* the time limit is one call's, not the sweep's */
    prop_encoding_require(r, status == ROPE_OK, positions[0], "apply gives status %d, expected 0",
                          (int)status);
    prop_arena_store(b->y, y);
    int64_t offset = 0;
    if (!in_place)
        prop_encoding_require(r, prop_arena_holds(b->x, x), positions[0], "the input was changed");
    prop_encoding_require(r, prop_arena_clean(b->y, &offset), positions[0],
                          "element %lld outside the rows was written", (long long)offset);
    return status == ROPE_OK;
}

static double size_of_p(const bench *b, oracle_dd p)
{
    return b->kernel->layouts != 0 ? 1 : fabs(p.hi);
}

static oracle_dd exact(const bench *b, int64_t position, int64_t element)
{
    if (b->kernel->layouts != 0)
        return oracle_sinusoidal(b->args.layout, b->args.dim, base, position, element);
    return (oracle_dd){(double)b->args.table[position * b->args.dim + element], 0};
}

/* Judges TOKENS positions with random x. */
static void contract_at(bench *b, prop_encoding_result *r, const int64_t *positions)
{
    float x[TOKENS * MAX_DIM], y[TOKENS * MAX_DIM];
    int64_t dim = b->args.dim;
    for (int64_t i = 0; i < TOKENS * dim; i++)
        x[i] = prop_encoding_value(b->run);
    uint64_t choice = prop_encoding_random(b->run);
    bool in_place = (choice & 1) && (b->kernel->header.flags & ROPE_IN_PLACE);
    if (!apply(b, r, x, y, positions, TOKENS, in_place,
               choice & 2 ? PROP_PLACE_END : PROP_PLACE_START))
        return;
    r->positions += TOKENS;
    for (int64_t t = 0; t < TOKENS; t++)
        for (int64_t i = 0; i < dim; i++) {
            oracle_dd p = exact(b, positions[t], i);
            double xi = (double)x[t * dim + i];
            prop_encoding_note(
                r, oracle_sum_error_u(ROPE_F32, xi, p, size_of_p(b, p), (double)y[t * dim + i]),
                b->kernel->error_bound(&b->args, positions[t], i), positions[t], i, xi);
        }
}

static int64_t wrapped(const bench *b, int64_t position)
{
    if (b->kernel->layouts != 0)
        return position;
    int64_t rest = position % b->args.rows;
    return rest < 0 ? rest + b->args.rows : rest;
}

static void contract(bench *b)
{
    prop_encoding_result r = begin(b, "sum-contract");
    int64_t positions[TOKENS];
    for (int i = 0; i < prop_encoding_position_count; i += TOKENS) {
        for (int t = 0; t < TOKENS; t++)
            positions[t] =
                wrapped(b, prop_encoding_positions[(i + t) % prop_encoding_position_count]);
        contract_at(b, &r, positions);
    }
    for (int i = 0; i < (b->run->level == 0 ? 12 : 200); i++) {
        for (int t = 0; t < TOKENS; t++)
            positions[t] = wrapped(b, (int64_t)(prop_encoding_random(b->run) >> (40 + i % 16)));
        contract_at(b, &r, positions);
    }
    prop_encoding_end(b->run, &r);
}

static void unbounded(bench *b)
{
    static const int64_t far[] = {INT64_C(1) << 31,
                                  -(INT64_C(1) << 31) - 1,
                                  (INT64_C(1) << 32) + 1,
                                  (INT64_C(1) << 53) + 1,
                                  INT64_C(1) << 62,
                                  -(INT64_C(1) << 62) + 1,
                                  INT64_MAX,
                                  INT64_MIN};
    prop_encoding_result r = begin(b, "sum-unbounded");
    contract_at(b, &r, far);
    contract_at(b, &r, far + TOKENS);
    prop_encoding_end(b->run, &r);
}

/* The row p(t) itself: x = 0. */
static bool row(bench *b, prop_encoding_result *r, int64_t position, float *p)
{
    float zero[MAX_DIM] = {0};
    return apply(b, r, zero, p, &position, 1, false, PROP_PLACE_END);
}

static void pair_elements(const bench *b, int64_t i, int64_t *sine, int64_t *cosine)
{
    bool paper = b->args.layout == ROPE_LAYOUT_PAPER;
    *sine = paper ? 2 * i : i;
    *cosine = paper ? 2 * i + 1 : b->args.dim / 2 + i;
}

static void zero_row(bench *b)
{
    prop_encoding_result r = begin(b, "sum-zero-row");
    float p[MAX_DIM];
    r.positions = 1;
    if (row(b, &r, 0, p))
        for (int64_t i = 0; i < b->args.dim / 2; i++) {
            int64_t sine, cosine;
            pair_elements(b, i, &sine, &cosine);
            prop_encoding_require(&r, p[sine] == 0 && p[cosine] == 1, 0,
                                  "pair %lld is (%a, %a), expected (0, 1)", (long long)i,
                                  (double)p[sine], (double)p[cosine]);
        }
    prop_encoding_end(b->run, &r);
}

static void shift(bench *b)
{
    prop_encoding_result r = begin(b, "sum-shift");
    const double u = 0x1p-24;
    for (int n = 0; n < (b->run->level == 0 ? 12 : 100); n++) {
        int64_t t = prop_encoding_positions[(size_t)n % (size_t)prop_encoding_position_count];
        int64_t k = (int64_t)(prop_encoding_random(b->run) >> (44 + n % 12)) - 512;
        float p[MAX_DIM], q[MAX_DIM];
        if (!row(b, &r, t, p) || !row(b, &r, t + k, q))
            break;
        r.positions += 2;
        for (int64_t i = 0; i < b->args.dim / 2; i++) {
            int64_t s, c;
            pair_elements(b, i, &s, &c);
            double sk = oracle_sinusoidal(b->args.layout, b->args.dim, base, k, s).hi;
            double ck = oracle_sinusoidal(b->args.layout, b->args.dim, base, k, c).hi;
            double bound = fmax(b->kernel->error_bound(&b->args, t, s),
                                b->kernel->error_bound(&b->args, t + k, s));
            double tolerance = (1 + sqrt(2)) * bound + 0x1p-50 / u;
            double ps = (double)p[s], pc = (double)p[c];
            prop_encoding_note(&r, fabs((double)q[s] - (ps * ck + pc * sk)) / u, tolerance, t, s,
                               (double)k);
            prop_encoding_note(&r, fabs((double)q[c] - (pc * ck - ps * sk)) / u, tolerance, t, c,
                               (double)k);
        }
    }
    prop_encoding_end(b->run, &r);
}

static void norm(bench *b)
{
    prop_encoding_result r = begin(b, "sum-norm");
    const double u = 0x1p-24, dim = (double)b->args.dim;
    for (int n = 0; n < prop_encoding_position_count; n++) {
        float p[MAX_DIM];
        int64_t t = prop_encoding_positions[n];
        if (!row(b, &r, t, p))
            break;
        r.positions++;
        double sum = 0;
        for (int64_t i = 0; i < b->args.dim; i++)
            sum += (double)p[i] * (double)p[i];
        prop_encoding_note(&r, fabs(sqrt(sum) - sqrt(dim / 2)) / u,
                           sqrt(dim) * b->kernel->error_bound(&b->args, t, 0) + dim * 0x1p-52 / u,
                           t, 0, 0);
    }
    prop_encoding_end(b->run, &r);
}

/* The table ends at an unreadable page, and y keeps its poison. */
static void bounded(bench *b)
{
    prop_encoding_result r = begin(b, "sum-bounded");
    const int64_t outside[] = {-1,        b->args.rows, b->args.rows + 1,
                               INT64_MAX, INT64_MIN,    INT64_C(1) << 32};
    for (size_t n = 0; n < sizeof outside / sizeof outside[0]; n++) {
        prop_shape shape = {
            .tokens = 2, .heads = 1, .head_dim = b->args.dim, .place = PROP_PLACE_END};
        rope_view vx, vy;
        rope_error error;
        if (!prop_arena_place(b->x, ROPE_F32, &shape, &vx, &error) ||
            !prop_arena_place(b->y, ROPE_F32, &shape, &vy, &error))
            break;
        float x[2 * MAX_DIM] = {0}, before[2 * MAX_DIM], after[2 * MAX_DIM];
        prop_arena_load(b->x, x);
        prop_arena_store(b->y, before);
        int64_t positions[2] = {0,
                                outside[n]}; /* a good token first: it must not be written either */
        rope_status status = b->kernel->apply(b->plan, &vx, &vy, positions, 1);
        prop_arena_store(b->y, after);
        r.positions++;
        prop_encoding_require(&r, status == ROPE_RANGE, outside[n],
                              "position %lld of a table of %lld rows gives status %d, expected %d",
                              (long long)outside[n], (long long)b->args.rows, (int)status,
                              (int)ROPE_RANGE);
        prop_encoding_require(
            &r, memcmp(before, after, 2 * (size_t)b->args.dim * sizeof *after) == 0, outside[n],
            "position %lld: y was written before the range was checked", (long long)outside[n]);
    }
    prop_encoding_end(b->run, &r);
}

static void check_plan(bench *b)
{
    rope_status status = b->kernel->plan(&b->args, &b->plan);
    if (status != ROPE_OK) {
        prop_encoding_result r = begin(b, "sum-contract");
        prop_encoding_require(&r, false, 0, "plan gives status %d, expected 0", (int)status);
        prop_encoding_end(b->run, &r);
        return;
    }
    contract(b);
    if (b->kernel->layouts == 0) {
        bounded(b);
    } else {
        unbounded(b);
        zero_row(b);
        shift(b);
        norm(b);
    }
    b->kernel->destroy(b->plan);
}

static void check_sinusoidal(bench *b)
{
    static const int64_t dims[] = {2, 4, 8, 30, 64, 130, MAX_DIM};
    for (size_t d = 0; d < (b->run->level == 0 ? 5 : sizeof dims / sizeof dims[0]); d++)
        for (uint32_t layout = 0; layout < 2; layout++) {
            if (!(b->kernel->layouts & 1u << layout) ||
                !rope_sinusoidal_frequencies(layout, dims[d], base, b->hi, b->lo))
                continue;
            b->args = (rope_table_args){
                .size = sizeof b->args, .dtype = ROPE_F32, .layout = layout, .dim = dims[d]};
            b->args.frequency_hi = b->hi;
            b->args.frequency_lo = b->lo;
            snprintf(b->spec, sizeof b->spec, "dim=%lld,layout=%s", (long long)dims[d],
                     layout ? "concat" : "paper");
            check_plan(b);
        }
}

static void check_learnt(bench *b)
{
    static const int64_t dims[] = {1, 8, 30, 64};
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
        int64_t rows = 37, count = rows * dims[d];
        float *table = malloc((size_t)count * sizeof *table);
        if (table == NULL)
            return;
        for (int64_t i = 0; i < count; i++)
            table[i] = prop_encoding_value(b->run);
        rope_error error;
        const float *guarded =
            prop_guarded_copy(1, "table", table, (size_t)count * sizeof *table, &error);
        free(table);
        if (guarded == NULL)
            return;
        b->args = (rope_table_args){.size = sizeof b->args,
                                    .dtype = ROPE_F32,
                                    .dim = dims[d],
                                    .table = guarded,
                                    .rows = rows};
        snprintf(b->spec, sizeof b->spec, "dim=%lld,rows=%lld", (long long)dims[d],
                 (long long)rows);
        check_plan(b);
    }
}

void prop_encoding_check_table(prop_encoding_run *run)
{
    bench b = {.run = run, .kernel = (const rope_table_kernel *)run->kernel};
    b.x = prop_arena_new("x", 0, true);
    b.y = prop_arena_new("y", 1, false);
    if (b.x != NULL && b.y != NULL) {
        if (b.kernel->layouts != 0)
            check_sinusoidal(&b);
        else
            check_learnt(&b);
    }
    prop_arena_free(b.x);
    prop_arena_free(b.y);
}
