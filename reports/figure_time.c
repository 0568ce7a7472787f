#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/figure.h"

/* The commonest spec of a dtype and pairing; false: nothing was timed. */
static bool usual_cut(const report_model *model, const char *dtype, const char *pairing,
                      report_cut *cut)
{
    *cut = (report_cut){.dtype = dtype, .pairing = pairing, .mode = "apply"};
    cut->spec = report_commonest(&model->bench, "spec", report_in_cut, cut);
    if (cut->spec == NULL || !figure_plain(dtype) || !figure_plain(pairing))
        return false;
    cut->in_place = "yes";
    if (report_find(&model->bench, cut).table == NULL)
        cut->in_place = NULL;
    return true;
}

/* Whether the errors are so far apart that powers of ten are tics enough. */
static bool spans_decades(const report_trade *points, size_t count)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, points[i].error);
        high = fmax(high, points[i].error);
    }
    return high > 100 * low;
}

bool figure_trade_off(const report_model *model, const char *dtype, const char *pairing,
                      report_figures *figures)
{
    report_cut cut;
    if (!usual_cut(model, dtype, pairing, &cut) || !report_usual_shape(&model->bench, &cut))
        return true;
    report_trade *points = calloc(model->kernel_count, sizeof *points);
    if (points == NULL)
        return false;
    size_t count = 0;
    for (size_t k = 0; k < model->kernel_count; k++) {
        cut.kernel = model->kernels[k];
        report_row row = report_find(&model->bench, &cut);
        if (row.table == NULL || report_is(row, "verdict", "fail") ||
            !(report_number(row, "max_error_u") > 0) || !(report_number(row, "ns_per_element") > 0))
            continue;
        points[count++] = (report_trade){.kernel = model->kernels[k],
                                         .time = report_number(row, "ns_per_element"),
                                         .error = report_number(row, "max_error_u")};
    }
    report_mark_pareto(points, count);
    char name[FIGURE_NAME], title[160];
    snprintf(name, sizeof name, "trade-off-%s-%s", dtype, pairing);
    FILE *out = count > 1 ? figure_add(figures, REPORT_TRADE_OFF, name) : NULL;
    if (out == NULL) {
        free(points);
        return count <= 1;
    }
    snprintf(title, sizeof title, "Error against time, %s, %.60s, %.0f tokens x %.0f heads", dtype,
             cut.spec, cut.tokens, cut.heads);
    figure_begin(out, name, title, "time, ns per element (CPU time, median)",
                 "largest normwise error of the timed output, in u");
    fputs("set logscale xy 10\nset autoscale fix\nset offsets graph 0.06, graph 0.06, graph 0.06, "
          "graph 0.06\n",
          out);
    figure_tics(out, 'x');
    if (spans_decades(points, count))
        fputs("set format y '%g'\n", out);
    else
        figure_tics(out, 'y');
    fputs("$front << EOD\n", out);
    for (double after = -1;;) { /* the front in order of time */
        const report_trade *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (points[i].pareto && points[i].time > after &&
                (next == NULL || points[i].time < next->time))
                next = &points[i];
        if (next == NULL)
            break;
        fprintf(out, "%.17g %.17g\n", next->time, next->error);
        after = next->time;
    }
    fputs("EOD\n", out);
    for (size_t i = 0; i < count; i++) {
        int index = report_kernel_index(model, points[i].kernel);
        fprintf(out, "$k%d << EOD\n%.17g %.17g\nEOD\n", index, points[i].time, points[i].error);
    }
    fputs("plot $front using 1:2 with steps lw 2 lc rgb '#999999' title 'Pareto front'", out);
    for (size_t i = 0; i < count; i++) {
        int index = report_kernel_index(model, points[i].kernel);
        fprintf(out, ", \\\n     $k%d using 1:2 with points pt %d ps %s lw 2 lc rgb '%s' title ",
                index, figure_marker(index), points[i].pareto ? "1.9" : "1.2",
                figure_colour(index));
        char label[96];
        snprintf(label, sizeof label, "%s%.70s", points[i].pareto ? "\u2605 " : "",
                 points[i].kernel);
        figure_string(out, label);
    }
    fputc('\n', out);
    free(points);
    snprintf(figure_caption(figures), FIGURE_CAPTION,
             "Error against time, %s, %.200s, %.0f tokens x %.0f heads, apply%s. Left and below is "
             "better; a star and the grey steps mark the Pareto front: no other kernel is both "
             "faster and more exact. The error is that of the timed output, at the end of a "
             "context of 131072 positions.",
             dtype, cut.spec, cut.tokens, cut.heads, cut.in_place ? " in place" : "");
    return fclose(out) == 0;
}

/* Points of one kernel, or of a floor (column), by size. The floors have a figure beside every
 * kernel: their median over kernels is the middle one. */
static size_t size_points(const report_rows *rows, const report_cut *cut, const char *column,
                          figure_point *points)
{
    size_t count = 0;
    for (size_t r = 0; r < rows->count; r++)
        if (report_in_cut(rows->items[r], cut) && report_number(rows->items[r], column) > 0)
            points[count++] = (figure_point){report_number(rows->items[r], "bytes"),
                                             report_number(rows->items[r], column), 0};
    qsort(points, count, sizeof *points, figure_by_x);
    return count;
}

/* Replaces runs of equal x by their median y. */
static size_t medians(figure_point *points, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && points[end].x == points[i].x)
            end++;
        for (size_t a = i + 1; a < end; a++) /* insertion sort: a handful of values */
            for (size_t b = a; b > i && points[b].y < points[b - 1].y; b--) {
                double y = points[b].y;
                points[b].y = points[b - 1].y;
                points[b - 1].y = y;
            }
        points[used++] = (figure_point){points[i].x, points[(i + end - 1) / 2].y, 0};
        i = end;
    }
    return used;
}

bool figure_time_size(const report_model *model, const char *dtype, const char *pairing,
                      report_figures *figures)
{
    report_cut cut;
    if (!usual_cut(model, dtype, pairing, &cut))
        return true;
    char name[FIGURE_NAME], title[160];
    snprintf(name, sizeof name, "time-size-%s-%s", dtype, pairing);
    figure_point *points = calloc(model->bench.count + 1, sizeof *points);
    FILE *out = points != NULL ? figure_add(figures, REPORT_TIME_SIZE, name) : NULL;
    char *plots = NULL;
    size_t size;
    FILE *list = out != NULL ? open_memstream(&plots, &size) : NULL;
    if (list == NULL) {
        free(points);
        return false;
    }
    snprintf(title, sizeof title, "Time against size, %s, %.80s", dtype, cut.spec);
    figure_begin(out, name, title, "bytes of the tensor", "ns per element (CPU time, median)");
    fputs("set logscale x 2\nset logscale y 10\nset format x '%.0b %B'\nset xtics 16\n", out);
    figure_tics(out, 'y');
    for (size_t k = 0; k < model->kernel_count; k++) {
        cut.kernel = model->kernels[k];
        size_t count = medians(points, size_points(&model->bench, &cut, "ns_per_element", points));
        if (count == 0)
            continue;
        figure_block(out, (int)k, points, count);
        fprintf(list, "%s $k%d using 1:2 with linespoints lw 2 pt %d ps 0.9 lc rgb '%s' title ",
                ftell(list) > 0 ? ", \\\n    " : "plot", (int)k, figure_marker((int)k),
                figure_colour((int)k));
        figure_string(list, model->kernels[k]);
    }
    cut.kernel = NULL;
    static const char *const floors[][3] = {{"memcpy_ns_per_element", "memcpy", "2"},
                                            {"scale_ns_per_element", "in-place scale", "4"}};
    for (int f = 0; f < 2; f++) {
        size_t count = medians(points, size_points(&model->bench, &cut, floors[f][0], points));
        if (count == 0)
            continue;
        figure_block(out, 900 + f, points, count);
        fprintf(list, ", \\\n     $k%d using 1:2 with lines lw 2.5 dt %s lc rgb '#000000' title ",
                900 + f, floors[f][2]);
        figure_string(list, floors[f][1]);
    }
    free(points);
    bool good = fclose(list) == 0;
    if (good)
        fprintf(out, "%s\n", plots);
    free(plots);
    snprintf(figure_caption(figures), FIGURE_CAPTION,
             "Time against size, %s, %.200s, apply%s. Black dashes: the floors, moving the same "
             "bytes, measured beside every figure. Both axes are logarithmic.",
             dtype, cut.spec, cut.in_place ? " in place" : "");
    return fclose(out) == 0 && good;
}
