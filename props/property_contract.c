/* The contract, and the identity at position 0.
 *
 * Contract. For every pair x of a token at position p, with exact rotation R of the spec:
 *     |y - A R x|_2 <= bound(p, pair) u A |x|_2 + 2 eta a component,
 * bound as the kernel claims it, nothing added. The oracle's R has an error of 2^-100, which
 * oracle_measure_pair counts against the kernel's side of the enclosure. Where x holds NaN or
 * infinity, by class; at the overflow threshold, infinity and finite are both right.
 *
 * Identity. At position 0 the exact result is A x. If A = 1, y = x bit for bit, but that zeros
 * compare without sign (0 * c - x1 * 0 may give either). If A != 1 the contract says what is
 * allowed, and the property adds nothing.
 *
 * Kills what changes the rotation at all: every fault of angle, frequency, position, pairing,
 * sign, scaling; the frauds identity, zeros, constant, previous_output; and rounding_boundary,
 * which no other property can see. The identity kills faults that act at angle 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/bands.h"
#include "props/case.h"
#include "props/claims.h"
#include "props/rotate.h"

/* Random windows of consecutive positions: cheap for kernels that hold a table. */
enum { WINDOW = 512, MAIN_WINDOWS = 24, USUAL_CASES = 20, LIGHT_CASES = 8 };
enum { MANY_HEADS = 129, BLOCK_TOKENS = 37 };

static int64_t count_contract(const prop_subject *s)
{
    static const int64_t windows[] = {[PROP_QUICK] = MAIN_WINDOWS,
                                      [PROP_FULL] = 20 * MAIN_WINDOWS,
                                      [PROP_EXHAUSTIVE] = 20 * MAIN_WINDOWS + 257};
    int64_t more = s->level == PROP_QUICK ? 1 : 8;
    if (s->weight == PROP_MAIN)
        return 2 * PROP_CLUSTERS + windows[s->level] / (s->halved ? 2 : 1);
    return (s->weight == PROP_USUAL ? USUAL_CASES : LIGHT_CASES) * more;
}

/* A call of many tokens, and one of as many heads as models have: once each, on a spec of few
 * pairs, where a table of the window is small.
 */
static bool wide_case(const prop_subject *s, int64_t index)
{
    return index == count_contract(s) - 1 && s->frequencies->pairs <= 4;
}

static bool many_heads_case(const prop_subject *s, int64_t index)
{
    return index == count_contract(s) - 2 && s->frequencies->pairs <= 4;
}

/* A call of more tokens than a block, whose positions follow a pattern: once each, on every spec
 * but the main one. */
static bool block_case(const prop_subject *s, int64_t index)
{
    return s->weight != PROP_MAIN && index == count_contract(s) - 1 && !wide_case(s, index);
}

/* A window of consecutive positions in shuffled order. */
static void fill_window(prop_case *c, int64_t first)
{
    int64_t tokens = c->x.tokens, *p = prop_case_list(c, 0);
    for (int64_t t = 0; t < tokens; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            p[t * c->axes + a] = first + (t * 197 + 31 * a) % tokens;
}

static bool generate_window(const prop_subject *s, int64_t index, uint64_t h, prop_case *c)
{
    /* One head and two in turn: most of a verification's time is spent here. */
    if (!prop_case_new(c, &prop_contract_property, s, WINDOW, 1 + index / 2 % 2, 1))
        return false;
    /* Stratified by magnitude from 2^9 to 2^24, so that few overlap. */
    int64_t strata = s->level == PROP_QUICK ? MAIN_WINDOWS : 20 * MAIN_WINDOWS;
    double step = (double)(index - 2 * PROP_CLUSTERS) + (double)(h >> 12) * 0x1p-52;
    int64_t first = (int64_t)exp2(9 + 15 * step / (double)strata);
    if (h & 1)
        first = -first;
    /* Exhaustive: 257 windows of 512 from -2^16 on. */
    int64_t beyond = index - (2 * PROP_CLUSTERS + 20 * MAIN_WINDOWS);
    if (beyond >= 0)
        first = -65536 + beyond * WINDOW;
    prop_case_arrange(s, c, h >> 40);
    fill_window(c, first);
    return true;
}

static bool generate_cluster(const prop_subject *s, int64_t index, uint64_t h, prop_case *c)
{
    int count = 3;
    bool random = (index / PROP_CLUSTERS) % 2 == 1 && s->weight != PROP_MAIN;
    const int64_t *cluster = NULL;
    if (!random)
        cluster = prop_cluster((int)(index % PROP_CLUSTERS), &count);
    /* Few heads in turn, whole blocks of them, and once in eight more than most blocks have. */
    static const int64_t heads[] = {1, 3, 2, 5, 1, 9, 8, 33};
    int64_t rows = many_heads_case(s, index) ? MANY_HEADS : heads[h >> 20 & 7];
    if (!prop_case_new(c, &prop_contract_property, s, count, rows, 1))
        return false;
    prop_case_arrange(s, c, (uint64_t)index);
    int64_t start = prop_random_position(h);
    for (int t = 0; t < count; t++)
        for (uint32_t a = 0; a < c->axes; a++) {
            /* Each axis has its own order, so that an exchange of axes shows. */
            int64_t p = random ? start + (int64_t)(h >> (8 * t) & 31)
                               : cluster[(t + (int)a) % count] + (int64_t)a * 7;
            prop_case_list(c, 0)[t * (int64_t)c->axes + a] = p;
        }
    return true;
}

/* More tokens than a block, over a window that 16 bits cannot index; every position of a window of
 * exactly a power of two; more tokens than a prompt's chunk of 8192. By size in turn, so that each
 * has its specs; the longer levels, 8 times the last two. */
static bool generate_wide(const prop_subject *s, uint64_t h, prop_case *c)
{
    static const struct {
        int64_t tokens, window;
    } calls[] = {{1537, 1 << 17}, {4096, 4096}, {8209, 8192}};
    int64_t which = s->spec->rotary_dim / 2 % 3, more = s->level == PROP_QUICK ? 1 : 8;
    int64_t window = calls[which].window * (which == 0 ? 1 : more);
    int64_t heads = which == 0 ? 2 : 1;
    if (!prop_case_new(c, &prop_contract_property, s, calls[which].tokens * more, heads, 1))
        return false;
    prop_case_arrange(s, c, h >> 40);
    int64_t *p = prop_case_list(c, 0);
    for (int64_t t = 0; t < c->x.tokens; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            p[t * c->axes + a] = t == 0 ? 0 : t == 1 ? window - 1 : (t * 86243 + 29 * a) % window;
    return true;
}

/* What a kernel could take for something simpler by a look at a few tokens. One axis, by size in
 * turn: sequences packed one behind the other; blocks with the ends of consecutive ones; a step
 * forward, then back all the way; each position twice. More axes: text, an image, text. */
static int64_t block_position(const prop_subject *s, int64_t t, uint32_t axis)
{
    enum { TEXT = 5, COLUMNS = 6, IMAGE = 24 };
    if (s->frequencies->axis_count == 1)
        switch (s->spec->rotary_dim / 2 % 4) {
        case 0:
            return t < 11 ? t : t < 16 ? t - 11 : t - 16;
        case 1:
            return t % 4 == 1 ? t + 1 : t % 4 == 2 ? t - 1 : t;
        case 2:
            return t < 2 ? t : BLOCK_TOKENS - t;
        default:
            return t / 2;
        }
    if (t < TEXT)
        return t;
    if (t >= TEXT + IMAGE)
        return t - IMAGE + COLUMNS;
    int64_t place = t - TEXT, last = s->frequencies->axis_count - 1;
    return TEXT + (axis == last ? place % COLUMNS : axis + 1 == last ? place / COLUMNS : 0);
}

/* place: the same for both pairings, whose rows of the oracle are then the same. */
static bool generate_block(const prop_subject *s, uint64_t h, uint64_t place, prop_case *c)
{
    if (!prop_case_new(c, &prop_contract_property, s, BLOCK_TOKENS, 1 + (int64_t)(h >> 20 & 1), 1))
        return false;
    prop_case_arrange(s, c, h >> 40);
    int64_t start = prop_random_position(place);
    for (int64_t t = 0; t < BLOCK_TOKENS; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = start + block_position(s, t, a);
    return true;
}

static bool generate_contract(const prop_subject *s, int64_t index, prop_case *c)
{
    static const prop_data_kind kinds[] = {PROP_DATA_USUAL, PROP_DATA_CANCEL, PROP_DATA_WIDE,
                                           PROP_DATA_EDGE, PROP_DATA_SPECIAL};
    bool window = s->weight == PROP_MAIN && index >= 2 * PROP_CLUSTERS;
    if (window && s->halved) /* every other one, so that both pairings together take them all */
        index = 2 * index - 2 * PROP_CLUSTERS + s->spec->pairing;
    uint64_t h = prop_hash(s->seed, (uint64_t)index, 1);
    /* A light spec starts elsewhere each time, so that together they cover all clusters. */
    int64_t start = s->weight == PROP_LIGHT ? s->spec->rotary_dim / 2 * 3 : 0;
    if (wide_case(s, index) || block_case(s, index)) {
        /* Apart by size and pairing: arrangement and heads follow; the place by size. */
        uint64_t place = prop_hash(h, (uint64_t)s->spec->rotary_dim, 2);
        h = prop_hash(h, (uint64_t)s->spec->rotary_dim, s->spec->pairing);
        if (!(wide_case(s, index) ? generate_wide(s, h, c) : generate_block(s, h, place, c)))
            return false;
        c->kind = PROP_DATA_USUAL;
        c->seed = h;
        return true;
    }
    if (!(window ? generate_window(s, index, h, c) : generate_cluster(s, index + start, h, c)))
        return false;
    c->kind = kinds[(uint64_t)index % (sizeof kinds / sizeof kinds[0])];
    if (window && c->kind > PROP_DATA_WIDE)
        c->kind = PROP_DATA_USUAL;
    c->seed = h;
    return true;
}

/* ---- judging ---- */

static void note(prop_tally *t, const oracle_pair_error *e)
{
    if (!e->has_error)
        return;
    if (e->ulp_larger > t->max_ulp)
        t->max_ulp = e->ulp_larger;
    t->components += 2;
    t->correctly_rounded += e->correctly_rounded;
}

static void judge_pair(const prop_subject *s, const oracle_cos_sin_dd *r, const double x[2],
                       const double y[2], double bound, prop_where where, prop_sheet *sheet)
{
    int band = s->weight == PROP_MAIN ? prop_band(where.position) : 0;
    oracle_pair_error e = oracle_measure_pair((uint32_t)s->dtype, *r, s->attention_factor, x[0],
                                              x[1], y[0], y[1], bound);
    bool contract = prop_has_contract(s->dtype, bound);
    /* What is judged by class, or passes by the allowance for underflow alone, has no figure. */
    bool figure = e.has_error && !(e.outcome == ORACLE_WITHIN && e.normwise_u > bound);
    prop_compare(sheet, band, s->dtype, figure ? e.normwise_u : 0, bound, where);
    if (!contract)
        return;
    note(&sheet->bands[band], &e);
    sheet->bands[band].failures += e.outcome != ORACLE_WITHIN && !figure;
    if (e.outcome == ORACLE_ABOVE)
        prop_fail(sheet,
                  "position %lld, pair %lld: x = (%a, %a), y = (%a, %a), error %.5g u, contract "
                  "%.5g u",
                  (long long)where.position, (long long)where.pair, x[0], x[1], y[0], y[1],
                  e.normwise_u, bound);
    else if (e.outcome != ORACLE_WITHIN)
        prop_fail(sheet, "position %lld, pair %lld: x = (%a, %a), y = (%a, %a): %s",
                  (long long)where.position, (long long)where.pair, x[0], x[1], y[0], y[1],
                  "finite where infinity or NaN is due, or the reverse");
}

static void judge_rows(const prop_subject *s, const prop_case *c, const void *x, const void *y,
                       const double *bounds, oracle_cos_sin_dd *scratch, prop_sheet *sheet)
{
    int64_t pairs = s->frequencies->pairs;
    for (int64_t t = 0; t < c->x.tokens; t++) {
        const int64_t *position = prop_case_list(c, 0) + t * c->axes;
        const oracle_cos_sin_dd *r = oracle_row_at(s->oracle, position, scratch);
        for (int64_t row = t * c->x.heads; row < (t + 1) * c->x.heads; row++)
            for (int64_t i = 0; i < pairs; i++) {
                double a[2], b[2];
                prop_load_pair(s, x, row, i, &a[0], &a[1]);
                prop_load_pair(s, y, row, i, &b[0], &b[1]);
                prop_where where = {position[s->frequencies->axis[i]], i, a[0], a[1]};
                judge_pair(s, &r[i], a, b, bounds[t * pairs + i], where, sheet);
            }
    }
}

static void judge_contract(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    size_t bytes = (size_t)prop_case_elements(c) * rope_dtype_bytes(s->dtype);
    size_t pairs = (size_t)s->frequencies->pairs;
    void *x = malloc(bytes), *y = malloc(bytes);
    size_t count = (size_t)c->x.tokens * pairs;
    double *bounds = malloc(2 * count * sizeof *bounds), *after = bounds + count;
    oracle_cos_sin_dd *r = malloc(pairs * sizeof *r);
    if (x != NULL && y != NULL && bounds != NULL && r != NULL) {
        prop_case_data(s, c, 0, x);
        /* Claimed before the call, and held to after it: a contract is a function of its arguments
         * alone. */
        prop_bounds(s, c->axes, prop_case_list(c, 0), c->x.tokens, bounds, sheet);
        if (prop_rotate(s, c, prop_case_list(c, 0), x, y, sheet)) {
            sheet->expected += c->x.tokens * c->x.heads * (int64_t)pairs;
            prop_bounds(s, c->axes, prop_case_list(c, 0), c->x.tokens, after, sheet);
            if (memcmp(bounds, after, count * sizeof *bounds) != 0)
                prop_fail(sheet, "error_bound answers differently after the call than before it");
            prop_claims_note(s, c->axes, prop_case_list(c, 0), c->x.tokens, bounds, sheet);
            judge_rows(s, c, x, y, bounds, r, sheet);
        }
    } else {
        prop_fail(sheet, "internal: out of memory");
    }
    free(x);
    free(y);
    free(bounds);
    free(r);
}

const prop_property prop_contract_property = {
    .name = "contract",
    .statement =
        "|y - A R x| <= bound(position, pair) u A |x| for every pair, R the exact rotation",
    .count = count_contract,
    .generate = generate_contract,
    .judge = judge_contract,
};

/* ---- identity ---- */

static int64_t count_identity(const prop_subject *s)
{
    return s->weight == PROP_LIGHT ? 3 : 11;
}

static bool generate_identity(const prop_subject *s, int64_t index, prop_case *c)
{
    static const prop_data_kind kinds[] = {PROP_DATA_EDGE, PROP_DATA_USUAL, PROP_DATA_WIDE};
    if (!prop_case_new(c, &prop_identity_property, s, 1 + index % 3, 1 + index % 2, 1))
        return false;
    prop_case_arrange(s, c, (uint64_t)index);
    c->kind = s->attention_factor.hi == 1 && s->attention_factor.lo == 0 ? kinds[index % 3]
                                                                         : PROP_DATA_WIDE;
    c->seed = prop_hash(s->seed, (uint64_t)index, 2);
    return true;
}

static void judge_identity(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    bool exact = s->attention_factor.hi == 1 && s->attention_factor.lo == 0;
    if (!exact) {
        judge_contract(s, c, sheet);
        return;
    }
    size_t bytes = (size_t)prop_case_elements(c) * rope_dtype_bytes(s->dtype);
    void *x = malloc(bytes), *y = malloc(bytes);
    if (x != NULL && y != NULL) {
        prop_case_data(s, c, 0, x);
        if (prop_rotate(s, c, prop_case_list(c, 0), x, y, sheet)) {
            int64_t rows = c->x.tokens * c->x.heads;
            sheet->expected += rows * s->frequencies->pairs;
            for (int64_t row = 0; row < rows; row++)
                for (int64_t i = 0; i < s->frequencies->pairs; i++) {
                    double a[2], b[2];
                    prop_load_pair(s, x, row, i, &a[0], &a[1]);
                    prop_load_pair(s, y, row, i, &b[0], &b[1]);
                    bool same = a[0] == b[0] && a[1] == b[1];
                    prop_where where = {0, i, a[0], a[1]};
                    prop_compare(sheet, 0, s->dtype, same ? 0 : 1, 0, where);
                    if (!same)
                        prop_fail(sheet, "position 0, pair %lld: x = (%a, %a) became (%a, %a)",
                                  (long long)i, a[0], a[1], b[0], b[1]);
                }
        }
    } else {
        prop_fail(sheet, "internal: out of memory");
    }
    free(x);
    free(y);
}

const prop_property prop_identity_property = {
    .name = "identity",
    .statement = "at position 0, y = A x: bit for bit if A = 1, within the contract otherwise",
    .count = count_identity,
    .generate = generate_identity,
    .judge = judge_identity,
};
