#include "bench/pick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "scripts/front/environment.h"

typedef struct {
    const rope_kernel *kernel;
    rope_plan_args args;
    double largest, limit; /* limit: a contract at or above it is none */
} look;

static void look_at(look *l, int64_t position)
{
    for (int64_t pair = 0; pair < l->args.pairs; pair++) {
        double bound = l->kernel->error_bound(&l->args, position, pair);
        if (!(bound >= 0 && bound < l->limit))
            l->largest = INFINITY;
        else if (bound > l->largest)
            l->largest = bound;
    }
}

double bench_largest_contract(const rope_kernel *kernel, const bench_problem *problem,
                              rope_dtype dtype, int64_t last, rope_error *error)
{
    (void)error;
    look l = {.kernel = kernel,
              .args = rope_spec_plan_args(&problem->spec, &problem->frequencies, dtype, 0, last),
              .limit = sqrt(2) / rope_dtype_unit_roundoff(dtype)};
    for (int64_t p = 0; p < 4096 && p <= last; p++)
        look_at(&l, p);
    for (int64_t power = 4096; power > 0 && power <= last; power *= 2) {
        for (int64_t i = 0; i < 16 && power + power / 16 * i <= last; i++)
            look_at(&l, power + power / 16 * i);
        look_at(&l, power - 1);
        if (power < last)
            look_at(&l, power + 1);
        if (power > INT64_MAX / 2)
            break;
    }
    for (int64_t p = last; p >= 0 && p > last - 16; p--)
        look_at(&l, p);
    return l.largest;
}

static const char *field(const rows_table *table, size_t row, const char *column)
{
    return rows_field(table, row, rows_column(table, column));
}

static double number(const rows_table *table, size_t row, const char *column)
{
    return rows_field_number(table, row, rows_column(table, column));
}

/* How well a row fits, higher is better; 0: not at all. */
static int fit(const rows_table *table, size_t row, const bench_candidate *candidate,
               const bench_problem *problem, rope_dtype dtype)
{
    if (strcmp(field(table, row, "kernel"), candidate->kernel->name) != 0 ||
        strcmp(field(table, row, "dtype"), rope_dtype_name(dtype)) != 0 ||
        strcmp(field(table, row, "pairing"), rope_pairing_name(problem->spec.pairing)) != 0 ||
        strcmp(field(table, row, "mode"), "apply") != 0 ||
        !(number(table, row, "ns_per_element") > 0))
        return 0;
    bool same_spec = strcmp(field(table, row, "spec"), problem->text) == 0;
    if (!same_spec && number(table, row, "head_dim") != (double)problem->spec.head_dim)
        return 0;
    return 1 + 8 * same_spec + 4 * (number(table, row, "tokens") == 512) +
           2 * (strcmp(field(table, row, "in_place"), "yes") == 0);
}

static bench_source source_of(const char *file, const rows_table *table, size_t row, int fit)
{
    bench_source s = {.file = file,
                      .line = rows_line(table, row),
                      .tokens = (int64_t)number(table, row, "tokens"),
                      .heads = (int64_t)number(table, row, "heads"),
                      .in_place = strcmp(field(table, row, "in_place"), "yes") == 0,
                      .fit = fit};
    snprintf(s.spec, sizeof s.spec, "%s", field(table, row, "spec"));
    snprintf(s.run, sizeof s.run, "%s", field(table, row, "run"));
    return s;
}

/* What the record of the run says: whether its floors drifted, and when it was made. */
static void read_standing(bench_source *s)
{
    char floors[256];
    s->drifted = front_run_fact(s->file, s->run, "notes", "floors", floors, sizeof floors) &&
                 strncmp(floors, "drifted", 7) == 0;
    front_run_fact(s->file, s->run, NULL, "time_utc", s->made_utc, sizeof s->made_utc);
}

/* Whether the time of `next` is to be taken instead; times of one run and fit: the first stands. */
static bool replaces(const bench_source *next, const bench_source *now)
{
    if (next->fit != now->fit)
        return next->fit > now->fit;
    if (bench_same_run(next, now))
        return false;
    if (next->drifted != now->drifted)
        return now->drifted;
    return strcmp(next->made_utc, now->made_utc) > 0; /* 2026-01-31T12:00:00Z sorts as text */
}

static void offer_time(bench_candidate *candidate, bench_source *next, const rows_table *table,
                       size_t row)
{
    bench_source *now = &candidate->source;
    bool timed = candidate->ns > 0, other = timed && !bench_same_run(next, now);
    bool preferred = other || now->preferred;
    if (timed && !other && next->fit <= now->fit)
        return;
    if (timed && !other) {
        next->drifted = now->drifted;
        memcpy(next->made_utc, now->made_utc, sizeof next->made_utc);
    } else
        read_standing(next);
    if (!timed || replaces(next, now)) {
        candidate->ns = number(table, row, "ns_per_element");
        candidate->ns_low = number(table, row, "ns_ci_low");
        candidate->ns_high = number(table, row, "ns_ci_high");
        *now = *next;
    }
    now->preferred = preferred;
}

void bench_candidate_from_rows(bench_candidate *candidate, const bench_problem *problem,
                               rope_dtype dtype, int64_t last, const char *file,
                               const rows_table *table)
{
    for (size_t r = 0; r < table->rows; r++) {
        int here = fit(table, r, candidate, problem, dtype);
        if (here > 0 && strcmp(field(table, r, "verdict"), "fail") == 0)
            snprintf(candidate->reason, sizeof candidate->reason, "its rows fail: %.150s",
                     field(table, r, "reason"));
        if (here > 0 && !(number(table, r, "last_position") > (double)last))
            candidate->max_error_u = fmax(candidate->max_error_u, number(table, r, "max_error_u"));
        if (here > 0) {
            bench_source next = source_of(file, table, r, here);
            offer_time(candidate, &next, table, r);
        }
    }
}

void bench_candidate_judge(bench_candidate *candidate, double budget)
{
    if (candidate->reason[0] != '\0')
        return;
    if (!(candidate->ns > 0))
        snprintf(candidate->reason, sizeof candidate->reason, "no time in the rows");
    else if (candidate->max_error_u > budget) /* NaN, not measured: the contract speaks */
        snprintf(candidate->reason, sizeof candidate->reason, "measured %.6g u, above the budget",
                 candidate->max_error_u);
}

int bench_pick(const bench_candidate *candidates, size_t count)
{
    return bench_runner_up(candidates, count, -1);
}

int bench_runner_up(const bench_candidate *candidates, size_t count, int best)
{
    int next = -1;
    for (size_t i = 0; i < count; i++)
        if ((int)i != best && candidates[i].reason[0] == '\0' && candidates[i].ns > 0 &&
            (next < 0 || candidates[i].ns < candidates[next].ns))
            next = (int)i;
    return next;
}

bool bench_is_faster(const bench_candidate *one, const bench_candidate *other)
{
    return one->ns_high < other->ns_low;
}

bool bench_same_run(const bench_source *a, const bench_source *b)
{
    if (a->file == NULL || b->file == NULL)
        return a->file == b->file;
    return strcmp(a->run, b->run) == 0 && (a->run[0] != '\0' || strcmp(a->file, b->file) == 0);
}

bool bench_same_source(const bench_source *a, const bench_source *b)
{
    return bench_same_run(a, b) && strcmp(a->spec, b->spec) == 0 && a->tokens == b->tokens &&
           a->heads == b->heads && a->in_place == b->in_place;
}
