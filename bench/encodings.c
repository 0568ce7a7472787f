#include "bench/encodings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "impl/registry.h"
#include "impl/spec/encoding.h"
#include "oracle/encoding.h"

enum { DIM = 128, HEADS = 32, KEYS = 512 };
static const double base = 1e4; /* Vaswani et al., section 3.5 */

static bool add(bench_encoding point, bench_encoding **list, size_t *count)
{
    bench_encoding *grown = realloc(*list, (*count + 2) * sizeof *grown);
    if (grown == NULL)
        return false;
    *list = grown;
    if (point.kernel->flags & ROPE_IN_PLACE) {
        point.in_place = true;
        grown[(*count)++] = point;
    }
    point.in_place = false;
    grown[(*count)++] = point;
    return true;
}

bool bench_encodings_add(const rope_header *kernel, bench_encoding **list, size_t *count)
{
    static const int64_t tokens[] = {1, 16, 512, 4096}, queries[] = {1, 64};
    bench_encoding point = {.kernel = kernel, .heads = 1, .width = DIM};
    bool good = true;
    if (kernel->kind == ROPE_TABLE_ADD) {
        bool learnt = ((const rope_table_kernel *)kernel)->layouts == 0;
        for (size_t i = 0; good && i < sizeof tokens / sizeof tokens[0]; i++) {
            point.tokens = tokens[i];
            if (learnt)
                snprintf(point.spec, sizeof point.spec, "dim=%d,rows=%lld", DIM,
                         (long long)tokens[i]);
            else
                snprintf(point.spec, sizeof point.spec, "dim=%d,layout=paper", DIM);
            good = add(point, list, count);
        }
    } else if (kernel->kind == ROPE_SCORE_BIAS) {
        snprintf(point.spec, sizeof point.spec, "heads=%d,keys=%d", HEADS, KEYS);
        point.heads = HEADS;
        point.width = KEYS;
        for (size_t i = 0; good && i < sizeof queries / sizeof queries[0]; i++) {
            point.tokens = queries[i];
            good = add(point, list, count);
        }
    }
    return good;
}

typedef struct {
    const bench_encoding *point;
    const rope_table_kernel *table; /* one of the two */
    const rope_bias_kernel *bias;
    rope_table_args table_args;
    rope_bias_args bias_args;
    rope_plan *plan;
    bench_buffers buffers;
    float *x, *y, *rows; /* rows: of a learnt table */
    int64_t *positions;  /* [tokens] */
    int64_t keys[KEYS];
    double hi[DIM / 2], lo[DIM / 2];
    rope_status status; /* the first that is not ROPE_OK */
} work;

static void body(void *context)
{
    work *w = context;
    const bench_encoding *p = w->point;
    rope_status status;
    if (w->table != NULL) {
        rope_view x = {w->x, p->tokens, 1, p->width, p->width}, y = x;
        y.data = w->y;
        status = w->table->apply(w->plan, &x, &y, w->positions, 1);
    } else {
        rope_scores x = {w->x, p->heads, p->tokens, p->width, p->tokens * p->width, p->width};
        rope_scores y = x;
        y.data = w->y;
        status = w->bias->apply(w->plan, &x, &y, w->positions, w->keys);
    }
    if (w->status == ROPE_OK)
        w->status = status;
}

static size_t elements(const bench_encoding *p)
{
    return (size_t)(p->tokens * p->heads * p->width);
}

static bool plan_table(work *w, uint64_t seed)
{
    const bench_encoding *p = w->point;
    rope_table_args *args = &w->table_args;
    *args = (rope_table_args){
        .size = sizeof *args, .dtype = ROPE_F32, .layout = ROPE_LAYOUT_PAPER, .dim = p->width};
    if (w->table->layouts == 0) {
        w->rows = malloc(elements(p) * sizeof *w->rows);
        if (w->rows == NULL)
            return false;
        bench_fill(ROPE_F32, w->rows, elements(p), seed + 1);
        args->table = w->rows;
        args->rows = p->tokens;
    } else {
        rope_sinusoidal_frequencies(ROPE_LAYOUT_PAPER, p->width, base, w->hi, w->lo);
        args->frequency_hi = w->hi;
        args->frequency_lo = w->lo;
    }
    w->status = w->table->plan(args, &w->plan);
    return true;
}

/* The last of the table, of the keys, or (sinusoidal) of the grid's context. */
static int64_t last_position(const work *w)
{
    if (w->bias != NULL)
        return w->point->width - 1;
    return w->table->layouts == 0 ? w->point->tokens - 1 : BENCH_LAST_POSITION;
}

static bool work_new(const bench_encoding *p, const bench_effort *effort, work *w,
                     rope_error *error)
{
    *w = (work){.point = p};
    if (p->kernel->kind == ROPE_TABLE_ADD)
        w->table = (const rope_table_kernel *)p->kernel;
    else
        w->bias = (const rope_bias_kernel *)p->kernel;
    w->positions = malloc((size_t)p->tokens * sizeof *w->positions);
    if (w->positions == NULL)
        return rope_fail(error, "out of memory");
    for (int64_t t = 0; t < p->tokens; t++)
        w->positions[t] = last_position(w) + 1 - p->tokens + t;
    for (int64_t k = 0; k < KEYS; k++)
        w->keys[k] = k;
    if (!bench_take_buffers(effort, elements(p) * sizeof(float), &w->buffers, error))
        return false;
    w->x = w->buffers.x;
    w->y = p->in_place ? w->buffers.x : w->buffers.y;
    bench_fill(ROPE_F32, w->x, elements(p), effort->seed);
    if (w->table != NULL)
        return plan_table(w, effort->seed) || rope_fail(error, "out of memory");
    w->bias_args =
        (rope_bias_args){.size = sizeof w->bias_args, .dtype = ROPE_F32, .heads = p->heads};
    w->status = w->bias->plan(&w->bias_args, &w->plan);
    return true;
}

static void work_free(const bench_effort *effort, work *w)
{
    if (w->plan != NULL)
        w->table != NULL ? w->table->destroy(w->plan) : w->bias->destroy(w->plan);
    if (w->buffers.arena != NULL)
        bench_give_buffers(effort, &w->buffers);
    free(w->rows);
    free(w->positions);
}

/* The exact term of an element and the size that the contract counts it with; see impl/rope.h. */
static oracle_dd term(const work *w, int64_t token, int64_t head, int64_t i, double *size)
{
    const bench_encoding *p = w->point;
    if (w->bias != NULL) {
        oracle_dd slope = oracle_alibi_slope(p->heads, head);
        double distance = fabs((double)(w->positions[token] - w->keys[i]));
        double hi = slope.hi * distance;
        *size = hi;
        return (oracle_dd){-hi, -(fma(slope.hi, distance, -hi) + slope.lo * distance)};
    }
    if (w->table->layouts == 0) {
        double value = (double)w->rows[w->positions[token] * p->width + i];
        *size = fabs(value);
        return (oracle_dd){value, 0};
    }
    *size = 1;
    return oracle_sinusoidal(ROPE_LAYOUT_PAPER, p->width, base, w->positions[token], i);
}

static double bound_of(const work *w, int64_t token, int64_t head, int64_t i)
{
    return w->bias != NULL
               ? w->bias->error_bound(&w->bias_args, head, llabs(w->positions[token] - w->keys[i]))
               : w->table->error_bound(&w->table_args, w->positions[token], i);
}

/* One row of width elements. */
static void check_row(const work *w, int64_t token, int64_t head, const float *x, const float *y,
                      bench_result *result)
{
    for (int64_t i = 0; i < w->point->width; i++) {
        double size, bound = bound_of(w, token, head, i);
        oracle_dd p = term(w, token, head, i, &size);
        double error = oracle_sum_error_u(ROPE_F32, (double)x[i], p, size, (double)y[i]);
        result->bound_u = fmax(result->bound_u, bound);
        if (!(error <= result->max_error_u))
            result->max_error_u = error;
        if (error <= bound || result->verdict == BENCH_FAIL)
            continue;
        result->verdict = BENCH_FAIL;
        snprintf(result->reason, sizeof result->reason,
                 "error above the contract at position %lld, head %lld, element %lld",
                 (long long)w->positions[token], (long long)head, (long long)i);
    }
}

/* Out of place, y holds the last timed output. In place, terms were added many times over; x is
 * filled afresh, kept in y, and added to once. */
static void check(work *w, const bench_effort *effort, bench_result *result)
{
    const bench_encoding *p = w->point;
    const float *x = w->x, *y = w->y;
    if (p->in_place) {
        bench_fill(ROPE_F32, w->x, elements(p), effort->seed);
        memcpy(w->buffers.y, w->x, elements(p) * sizeof(float));
        body(w);
        x = w->buffers.y;
    }
    result->verdict = BENCH_PASS;
    result->max_error_u = result->bound_u = 0;
    int64_t count = p->tokens < effort->checked_tokens ? p->tokens : effort->checked_tokens;
    uint64_t seed = effort->seed;
    for (int64_t n = 0; n < count; n++) {
        int64_t t = bench_chosen_token(p->tokens, count, n, &seed);
        for (int64_t h = 0; h < p->heads; h++) {
            int64_t at = (h * p->tokens + t) * p->width;
            check_row(w, t, h, x + at, y + at, result);
        }
    }
}

bool bench_encoding_measure(const bench_encoding *point, const bench_effort *effort,
                            bench_result *result, rope_error *error)
{
    work w;
    bool good = work_new(point, effort, &w, error);
    bench_result_init(result, (int64_t)(elements(point) * sizeof(float)));
    if (good && w.status == ROPE_OK) {
        result->last_position = last_position(&w);
        result->first_position = last_position(&w) + 1 - point->tokens;
        result->plan_bytes =
            (int64_t)(w.table != NULL ? w.table->plan_bytes(w.plan) : w.bias->plan_bytes(w.plan));
        const bench_subject subject = {"kernel", body, &w};
        good = bench_time_beside_floors(&subject, ROPE_F32, &w.buffers, (double)elements(point),
                                        effort, result, error);
        if (good)
            check(&w, effort, result);
    } else {
        w.plan = NULL;
    }
    if (good && w.status != ROPE_OK) {
        result->verdict = BENCH_FAIL;
        snprintf(result->reason, sizeof result->reason, "%s", bench_status_text(w.status));
    }
    work_free(effort, &w);
    return good;
}

bench_row_key bench_encoding_key(const bench_encoding *point)
{
    return (bench_row_key){.kernel = rope_header_name(point->kernel),
                           .pairing = "",
                           .dtype = rope_dtype_name(ROPE_F32),
                           .spec = point->spec,
                           .mode = bench_mode_name(BENCH_APPLY),
                           .tokens = point->tokens,
                           .heads = point->heads,
                           .head_dim = point->width,
                           .in_place = point->in_place};
}
