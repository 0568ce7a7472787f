/* `tightrope compare`: two bench.csv, figure by figure; exit 1 on a regression. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/believe.h"
#include "bench/compare.h"
#include "scripts/front/verbs.h"

typedef struct {
    size_t compared, slower, faster, less_exact, missing, unmeasured;
} totals;

static totals count_up(const bench_comparison *list, size_t count)
{
    totals t = {0};
    for (size_t i = 0; i < count; i++) {
        t.compared += list[i].verdict <= BENCH_LESS_EXACT;
        t.slower += list[i].verdict == BENCH_SLOWER;
        t.faster += list[i].verdict == BENCH_FASTER;
        t.less_exact += list[i].verdict == BENCH_LESS_EXACT;
        t.unmeasured += list[i].verdict <= BENCH_LESS_EXACT && list[i].error_unmeasured;
        t.missing += list[i].verdict > BENCH_LESS_EXACT;
    }
    return t;
}

static const char *field(const bench_comparison *c, const char *column)
{
    return rows_field(c->table, c->row, rows_column(c->table, column));
}

static bool write_rows(const bench_comparison *list, size_t count, const char *csv,
                       rope_error *error)
{
    rows_writer *w = rows_create(csv,
                                 "kernel,pairing,dtype,spec,tokens,heads,mode,in_place,measure,old,"
                                 "new,change,change_low,change_high,verdict",
                                 error);
    if (w == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const bench_comparison *c = &list[i];
        static const char *const texts[] = {"kernel", "pairing", "dtype", "spec"};
        for (int t = 0; t < 4; t++)
            rows_text(w, field(c, texts[t]));
        rows_number(w, rows_field_number(c->table, c->row, rows_column(c->table, "tokens")));
        rows_number(w, rows_field_number(c->table, c->row, rows_column(c->table, "heads")));
        rows_text(w, field(c, "mode"));
        rows_text(w, field(c, "in_place"));
        rows_text(w, c->measure);
        rows_number(w, c->before.median);
        rows_number(w, c->after.median);
        rows_number(w, c->change.median);
        rows_number(w, c->change.low);
        rows_number(w, c->change.high);
        rows_text(w, bench_change_name(c->verdict));
        rows_end(w);
    }
    return rows_commit(w, error);
}

static void print_figures(const bench_comparison *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const bench_comparison *c = &list[i];
        if (c->verdict == BENCH_SAME)
            continue;
        printf("%-10s %s %s %s %sx%s %s%s, %s", bench_change_name(c->verdict), field(c, "kernel"),
               field(c, "spec"), field(c, "dtype"), field(c, "tokens"), field(c, "heads"),
               field(c, "mode"), strcmp(field(c, "in_place"), "yes") == 0 ? " in place" : "",
               *c->measure ? c->measure : "not in both");
        if (!isnan(c->change.median))
            printf(" %.4g -> %.4g: x %.3f [%.3f, %.3f]", c->before.median, c->after.median,
                   c->change.median, c->change.low, c->change.high);
        printf("\n");
    }
}

/* One line a kernel; returns how many regress as a whole. */
static size_t print_kernels(const bench_comparison *list, size_t count, const bench_basis *basis,
                            bool print)
{
    size_t regressed = 0;
    for (size_t i = 0; i < count; i++) {
        const char *kernel = field(&list[i], "kernel");
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(field(&list[j], "kernel"), kernel) != 0;
        if (!first)
            continue;
        size_t figures;
        bench_interval change = bench_compare_kernel(list, count, basis, kernel, &figures);
        bool worse = change.low > 1 + basis->kernel_tolerance;
        regressed += worse;
        if (!print || figures == 0)
            continue;
        printf("%-10s %-16s %3zu figures, median x %.3f", worse ? "slower" : "", kernel, figures,
               change.median);
        if (!isnan(change.low))
            printf(" [%.3f, %.3f]", change.low, change.high);
        printf("\n");
    }
    return regressed;
}

/* What counts as slower, so that the verdict can be judged without the manual. */
static void print_basis(const bench_basis *b, FILE *out)
{
    fprintf(out,
            "slower: by more than %.3g %%, the whole interval; intervals hold for all %zu figures "
            "together with %.0f %%\nslower as a whole: by more than %.3g %% in the median over a "
            "kernel's figures, for all %zu kernels together with %.0f %%\n",
            100 * b->tolerance, b->figures, 100 * (1 - BENCH_MISS), 100 * b->kernel_tolerance,
            b->kernels, 100 * (1 - BENCH_MISS));
    if (b->controls > 0)
        fprintf(out,
                "noise: the floors, the same code in both, changed by %.2g %% a figure (standard "
                "deviation): slower by less than %.3g %% cannot be told in one figure\n",
                100 * expm1(b->noise), 100 * ((1 + b->tolerance) * exp(bench_least_reach(b)) - 1));
    else
        fprintf(out, "noise: not known, the files have no times of floors\n");
}

static int compare_files(const char *old, const char *new, double tolerance, bool by_time,
                         const char *csv)
{
    rope_error error;
    rows_table before, after;
    if (!rows_read(old, &before, &error))
        return front_usage("compare", "%s", error.text);
    if (!rows_read(new, &after, &error)) {
        rows_free(&before);
        return front_usage("compare", "%s", error.text);
    }
    size_t count;
    bench_basis basis;
    bench_comparison *list = NULL;
    if (bench_believe(old, &before, &error) && bench_believe(new, &after, &error))
        list = bench_compare(&before, &after, tolerance, by_time, &count, &basis, &error);
    int status = FRONT_HOLDS;
    if (list == NULL) {
        status = front_usage("compare", "%s", error.text);
    } else if (csv != NULL && !write_rows(list, count, csv, &error)) {
        status = front_usage("compare", "%s", error.text);
    } else {
        totals t = count_up(list, count);
        if (csv == NULL)
            print_figures(list, count);
        size_t kernels = print_kernels(list, count, &basis, csv == NULL);
        fprintf(csv == NULL ? stdout : stderr,
                "%zu compared: %zu slower, %zu faster, %zu less exact; %zu kernels slower as a "
                "whole; %zu not comparable\n",
                t.compared, t.slower, t.faster, t.less_exact, kernels, t.missing);
        print_basis(&basis, csv == NULL ? stdout : stderr);
        if (t.unmeasured > 0)
            fprintf(csv == NULL ? stdout : stderr,
                    "max_error_u is not measured in one of the files for %zu of them\n",
                    t.unmeasured);
        if (t.compared == 0)
            status = front_usage("compare", "no figure is in both %s and %s", old, new);
        else if (t.slower + t.less_exact + kernels > 0)
            status = FRONT_FAILS;
    }
    free(list);
    rows_free(&before);
    rows_free(&after);
    return status;
}

int verb_compare(int argc, char **argv)
{
    const char *csv = NULL, *tolerance_text = NULL;
    bool by_time = false;
    front_values operands = {0};
    const front_option options[] = {
        {.name = "tolerance",
         .argument = "X",
         .help = "slower means by more than this, with the whole interval; default 0.05",
         .value = &tolerance_text},
        {.name = "by-time", .help = "compare times, not times over the floors'", .flag = &by_time},
        {.name = "csv", .argument = "[FILE]", .help = "rows as CSV", .value = &csv},
        {0}};
    int status = front_parse(
        argc, argv, "compare [OPTION]... OLD.csv NEW.csv",
        "Compares two files of bench, figure by figure; exit 1 on a regression: a figure "
        "slower by more\nthan the tolerance with its whole interval, which all figures' "
        "hold together with 99 % and which\nis widened by what the floors changed by; a "
        "kernel slower by more than 2 % in the median over\nits figures, likewise; an "
        "error that grew by more than a tenth. See docs/benchmarks.md.",
        options, &operands);
    double tolerance = 0.05;
    rope_error error;
    if (status != -1)
        ;
    else if (operands.count != 2)
        status =
            front_usage("compare", "%d files given, expected two: OLD.csv NEW.csv", operands.count);
    else if (tolerance_text != NULL &&
             !front_double(tolerance_text, "tolerance", &tolerance, &error))
        status = front_usage("compare", "%s", error.text);
    else if (!(tolerance >= 0 && tolerance <= 10))
        status = front_usage("compare", "tolerance %s is out of range, expected 0 to 10",
                             tolerance_text);
    else
        status = compare_files(operands.items[0], operands.items[1], tolerance, by_time, csv);
    return status;
}
