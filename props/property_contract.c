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
#include "props/contract_cases.h"
#include "props/rotate.h"

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

/* In calls of so many tokens as the parameter says, one behind the other on one plan; 0: in one. */
static bool rotate_in_calls(const prop_subject *s, const prop_case *c, const char *x, char *y,
                            prop_sheet *sheet)
{
    prop_plan plan;
    const int64_t *positions = prop_case_list(c, 0);
    int64_t tokens = c->x.tokens, each = c->parameter > 0 ? c->parameter : tokens;
    size_t token = (size_t)(c->x.heads * c->x.head_dim) * rope_dtype_bytes(s->dtype);
    if (!prop_plan_make(s, c->axes, positions, tokens, &plan, sheet))
        return false;
    bool good = true;
    for (int64_t t = 0, many; good && t < tokens; t += many) {
        many = each < tokens - t ? each : tokens - t;
        good = prop_apply(s, &plan, c, positions + t * c->axes, many, x + (size_t)t * token,
                          y + (size_t)t * token, sheet);
    }
    prop_plan_free(s, &plan, sheet);
    return good;
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
        if (rotate_in_calls(s, c, x, y, sheet)) {
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
    .count = prop_contract_count,
    .generate = prop_contract_generate,
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
