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

/* Where a table has what makes two rows the same figure. */
enum { KEYS = 8 };
typedef struct {
    const rows_table *table;
    int column[KEYS];
} keyed;

static keyed keyed_by(const rows_table *table)
{
    static const char *const names[KEYS] = {"kernel", "pairing", "dtype", "spec",
                                            "tokens", "heads",   "mode",  "in_place"};
    keyed k = {.table = table};
    for (int i = 0; i < KEYS; i++)
        k.column[i] = rows_column(table, names[i]);
    return k;
}

static bool same_figure(const keyed *a, size_t row_a, const keyed *b, size_t row_b)
{
    for (int i = 0; i < KEYS; i++)
        if (strcmp(rows_field(a->table, row_a, a->column[i]),
                   rows_field(b->table, row_b, b->column[i])) != 0)
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

static bool by_ratio(const bench_comparison *c)
{
    return strcmp(c->measure, "ns_per_element") != 0;
}

static double logarithm_or_nan(double quotient)
{
    return quotient > 0 && isfinite(quotient) ? log(quotient) : NAN;
}

/* The same code in both files: what it changed by is the machine's doing. */
static void take_controls(bench_comparison *c, const rows_table *before, size_t old)
{
    double copy = number(c->table, c->row, "memcpy_ns_per_element") /
                  number(before, old, "memcpy_ns_per_element");
    double scale = number(c->table, c->row, "scale_ns_per_element") /
                   number(before, old, "scale_ns_per_element");
    c->floor = logarithm_or_nan(is(c->table, c->row, "in_place", "yes") ? scale : copy);
    c->control = by_ratio(c) ? logarithm_or_nan(copy / scale) : NAN;
}

/* All but the verdict of time, which needs all figures. */
static void measure(bench_comparison *c, const rows_table *before, size_t old, bool by_time)
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
    take_controls(c, before, old);
    if (less_exact(before, old, c->table, c->row))
        c->verdict = BENCH_LESS_EXACT;
    else if (!is_whole(c->before) || !is_whole(c->after))
        c->verdict = BENCH_NO_TIME;
    else
        c->verdict = BENCH_SAME;
}

static bool is_timed(const bench_comparison *c)
{
    return c->verdict <= BENCH_LESS_EXACT && is_whole(c->before) && is_whole(c->after);
}

static bool has_control(const bench_comparison *c, const char *kernel)
{
    return is_timed(c) && !isnan(c->control) &&
           (kernel == NULL || is(c->table, c->row, "kernel", kernel));
}

/* The controls of a kernel, or of all: `into` has room for count. */
static int controls_of(const bench_comparison *list, size_t count, const char *kernel, double *into)
{
    int n = 0;
    for (size_t i = 0; i < count; i++)
        if (has_control(&list[i], kernel))
            into[n++] = list[i].control;
    return n;
}

/* A machine that is slower as a whole is no noise: how far this figure's floor is from what most
 * floors did. A core that shares its cache for a while slows floors down, but not a kernel that is
 * busy computing, so that its ratio changes; hence of a ratio the larger of both. */
static void finish_controls(bench_comparison *list, size_t count, double *room)
{
    int n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_timed(&list[i]) && !isnan(list[i].floor))
            room[n++] = list[i].floor;
    double middle = bench_median(room, n).median;
    for (size_t i = 0; i < count; i++) {
        double off = list[i].floor - middle;
        if (!(fabs(list[i].control) > fabs(off)) && !isnan(off))
            list[i].control = off;
    }
}

/* Whether this is the kernel's first figure with a time. */
static bool is_first(const bench_comparison *list, size_t i)
{
    const char *kernel = field(list[i].table, list[i].row, "kernel");
    for (size_t j = 0; j < i; j++)
        if (is_timed(&list[j]) && is(list[j].table, list[j].row, "kernel", kernel))
            return false;
    return is_timed(&list[i]);
}

static bool find_basis(bench_comparison *list, size_t count, double tolerance, bench_basis *basis)
{
    double *room = malloc((count + 1) * sizeof *room);
    if (room == NULL)
        return false;
    *basis = (bench_basis){.tolerance = tolerance, .kernel_tolerance = BENCH_KERNEL_TOLERANCE};
    for (size_t i = 0; i < count; i++) {
        basis->figures += is_timed(&list[i]);
        basis->kernels += is_first(list, i);
    }
    finish_controls(list, count, room);
    int n = controls_of(list, count, NULL, room);
    basis->controls = (size_t)n;
    basis->noise = bench_deviation(room, n);
    free(room);
    return true;
}

double bench_least_reach(const bench_basis *basis)
{
    return bench_normal_reach(BENCH_MISS / (double)basis->figures) * basis->noise;
}

/* Half a width of a figure's interval, in logarithms, from those of its two parts (a, b): what its
 * rounds show, what the floors of all figures show, and what its own floors did. */
static double reach(const bench_comparison *c, double a, double b, const bench_basis *basis)
{
    double z = bench_normal_reach(BENCH_MISS / (double)basis->figures);
    double rounds = fmax(a + b, z / bench_normal_reach(0.05) * hypot(a, b));
    double own = isnan(c->control) ? 0 : c->control;
    return hypot(hypot(rounds, own), bench_least_reach(basis));
}

static void judge(bench_comparison *c, const bench_basis *basis)
{
    const bench_interval *a = &c->after, *b = &c->before;
    c->change.low =
        c->change.median * exp(-reach(c, log(a->median / a->low), log(b->high / b->median), basis));
    c->change.high =
        c->change.median * exp(reach(c, log(a->high / a->median), log(b->median / b->low), basis));
    if (c->verdict == BENCH_LESS_EXACT)
        return;
    if (c->change.low > 1 + basis->tolerance)
        c->verdict = BENCH_SLOWER;
    else if (c->change.high < 1 / (1 + basis->tolerance))
        c->verdict = BENCH_FASTER;
}

/* The row of a figure in another file; its row count when there is none. */
static size_t find(const keyed *in, const keyed *of, size_t row)
{
    size_t i = 0;
    while (i < in->table->rows && !same_figure(in, i, of, row))
        i++;
    return i;
}

bench_comparison *bench_compare(const rows_table *before, const rows_table *after, double tolerance,
                                bool by_time, size_t *count, bench_basis *basis, rope_error *error)
{
    *count = 0;
    if (!has_columns(before, "old", error) || !has_columns(after, "new", error))
        return NULL;
    bench_comparison *list = calloc(before->rows + after->rows + 1, sizeof *list);
    if (list == NULL) {
        rope_fail(error, "out of memory");
        return NULL;
    }
    const keyed old_keys = keyed_by(before), new_keys = keyed_by(after);
    const bench_interval none = {NAN, NAN, NAN};
    for (size_t r = 0; r < after->rows; r++) {
        bench_comparison *c = &list[(*count)++];
        *c = (bench_comparison){.table = after,
                                .row = r,
                                .measure = "",
                                .before = none,
                                .after = none,
                                .change = none,
                                .floor = NAN,
                                .control = NAN,
                                .verdict = BENCH_ONLY_NEW};
        size_t old = find(&old_keys, &new_keys, r);
        if (old < before->rows)
            measure(c, before, old, by_time);
    }
    for (size_t r = 0; r < before->rows; r++)
        if (find(&new_keys, &old_keys, r) == after->rows)
            list[(*count)++] = (bench_comparison){.table = before,
                                                  .row = r,
                                                  .measure = "",
                                                  .before = none,
                                                  .after = none,
                                                  .change = none,
                                                  .floor = NAN,
                                                  .control = NAN,
                                                  .verdict = BENCH_ONLY_OLD};
    if (!find_basis(list, *count, tolerance, basis)) {
        free(list);
        rope_fail(error, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < *count; i++)
        if (is_timed(&list[i]))
            judge(&list[i], basis);
    return list;
}

bench_interval bench_compare_kernel(const bench_comparison *comparisons, size_t count,
                                    const bench_basis *basis, const char *kernel, size_t *figures)
{
    double *room = malloc((count + 1) * sizeof *room);
    *figures = 0;
    if (room == NULL)
        return (bench_interval){NAN, NAN, NAN};
    int controls = controls_of(comparisons, count, kernel, room);
    double own = controls > 0 ? bench_median(room, controls).median : 0;
    for (size_t i = 0; i < count; i++) {
        const bench_comparison *c = &comparisons[i];
        if (is_timed(c) && is(c->table, c->row, "kernel", kernel))
            room[(*figures)++] = c->change.median;
    }
    bench_interval result =
        bench_median_within(room, (int)*figures, BENCH_MISS / (double)basis->kernels);
    free(room);
    result.low = result.median * exp(-hypot(log(result.median / result.low), own));
    result.high = result.median * exp(hypot(log(result.high / result.median), own));
    return result;
}
