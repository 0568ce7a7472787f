#include "bench/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *bench_change_name(bench_change change)
{
    static const char *const names[] = {"same",     "slower",   "faster", "less exact",
                                        "only old", "only new", "no time"};
    return names[change];
}

static const char *field(const rows_table *table, size_t row, const char *column)
{
    return rows_field(table, row, rows_column(table, column));
}

static double number(const rows_table *table, size_t row, const char *column)
{
    return rows_field_number(table, row, rows_column(table, column));
}

static bool same_figure(const rows_table *a, size_t row_a, const rows_table *b, size_t row_b)
{
    static const char *const keys[] = {"kernel", "pairing", "dtype", "spec",
                                       "tokens", "heads",   "mode",  "in_place"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(field(a, row_a, keys[i]), field(b, row_b, keys[i])) != 0)
            return false;
    return true;
}

static bool has_columns(const rows_table *table, const char *which, rope_error *error)
{
    static const char *const columns[] = {
        "kernel", "pairing",        "dtype",     "spec",       "tokens",      "heads",
        "mode",   "ns_per_element", "ns_ci_low", "ns_ci_high", "max_error_u", "verdict"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (rows_column(table, columns[i]) < 0)
            return rope_fail(error, "the %s file has no column '%s', expected rows of bench", which,
                             columns[i]);
    return true;
}

static bench_interval interval(const rows_table *table, size_t row, const char *measure)
{
    char low[64], high[64];
    bool time = strcmp(measure, "ns_per_element") == 0;
    snprintf(low, sizeof low, "%s_low", time ? "ns_ci" : measure);
    snprintf(high, sizeof high, "%s_high", time ? "ns_ci" : measure);
    return (bench_interval){number(table, row, measure), number(table, row, low),
                            number(table, row, high)};
}

static bool is_whole(bench_interval i)
{
    return i.low > 0 && i.low <= i.median && i.median <= i.high;
}

static bool is(const rows_table *table, size_t row, const char *column, const char *value)
{
    return strcmp(field(table, row, column), value) == 0;
}

static bool less_exact(const rows_table *before, size_t old, const rows_table *after, size_t new)
{
    if (is(after, new, "verdict", "fail"))
        return !is(before, old, "verdict", "fail");
    double error = number(after, new, "max_error_u"), was = number(before, old, "max_error_u");
    return error > 1.1 * was;
}

static void judge(bench_comparison *c, const rows_table *before, size_t old, double tolerance,
                  bool by_time)
{
    const char *ratio = is(c->table, c->row, "in_place", "yes") ? "ratio_scale" : "ratio_memcpy";
    c->measure = ratio;
    c->before = interval(before, old, ratio);
    c->after = interval(c->table, c->row, ratio);
    if (by_time || !is_whole(c->before) || !is_whole(c->after)) {
        c->measure = "ns_per_element";
        c->before = interval(before, old, c->measure);
        c->after = interval(c->table, c->row, c->measure);
    }
    c->error_unmeasured =
        isnan(number(before, old, "max_error_u")) || isnan(number(c->table, c->row, "max_error_u"));
    c->change = bench_unpaired_ratio(c->after, c->before);
    if (less_exact(before, old, c->table, c->row))
        c->verdict = BENCH_LESS_EXACT;
    else if (!is_whole(c->before) || !is_whole(c->after))
        c->verdict = BENCH_NO_TIME;
    else if (c->change.low > 1 + tolerance)
        c->verdict = BENCH_SLOWER;
    else if (c->change.high < 1 / (1 + tolerance))
        c->verdict = BENCH_FASTER;
    else
        c->verdict = BENCH_SAME;
}

/* The row of a figure in another file; its row count when there is none. */
static size_t find(const rows_table *table, const rows_table *of, size_t row)
{
    size_t i = 0;
    while (i < table->rows && !same_figure(table, i, of, row))
        i++;
    return i;
}

bench_comparison *bench_compare(const rows_table *before, const rows_table *after, double tolerance,
                                bool by_time, size_t *count, rope_error *error)
{
    *count = 0;
    if (!has_columns(before, "old", error) || !has_columns(after, "new", error))
        return NULL;
    bench_comparison *list = calloc(before->rows + after->rows + 1, sizeof *list);
    if (list == NULL) {
        rope_fail(error, "out of memory");
        return NULL;
    }
    const bench_interval none = {NAN, NAN, NAN};
    for (size_t r = 0; r < after->rows; r++) {
        bench_comparison *c = &list[(*count)++];
        *c = (bench_comparison){.table = after,
                                .row = r,
                                .measure = "",
                                .before = none,
                                .after = none,
                                .change = none,
                                .verdict = BENCH_ONLY_NEW};
        size_t old = find(before, after, r);
        if (old < before->rows)
            judge(c, before, old, tolerance, by_time);
    }
    for (size_t r = 0; r < before->rows; r++)
        if (find(after, before, r) == after->rows)
            list[(*count)++] = (bench_comparison){.table = before,
                                                  .row = r,
                                                  .measure = "",
                                                  .before = none,
                                                  .after = none,
                                                  .change = none,
                                                  .verdict = BENCH_ONLY_OLD};
    return list;
}

bench_interval bench_compare_kernel(const bench_comparison *comparisons, size_t count,
                                    const char *kernel, size_t *figures)
{
    double *changes = malloc((count + 1) * sizeof *changes);
    *figures = 0;
    for (size_t i = 0; changes != NULL && i < count; i++) {
        const bench_comparison *c = &comparisons[i];
        if (is(c->table, c->row, "kernel", kernel) && c->change.median > 0)
            changes[(*figures)++] = c->change.median;
    }
    bench_interval result = bench_median(changes, (int)*figures);
    free(changes);
    return result;
}
