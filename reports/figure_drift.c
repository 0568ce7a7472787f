/* How far scores move with both positions, by how far these move. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/figure.h"

/* What one figure shows: all kernels of these. */
static bool together(report_row a, report_row b)
{
    return report_is(a, "dtype", report_text(b, "dtype")) &&
           report_is(a, "spec", report_text(b, "spec")) &&
           report_is(a, "truth", report_text(b, "truth"));
}

static bool is_drawn(double value)
{
    return value > 0 && isfinite(value); /* the axes are logarithmic */
}

static bool has_point(report_row row)
{
    return is_drawn(report_number(row, "magnitude")) && is_drawn(report_number(row, "max_drift"));
}

static size_t curve(const report_rows *rows, report_row of, figure_point *points)
{
    size_t count = 0;
    for (size_t r = 0; r < rows->count; r++) {
        report_row row = rows->items[r];
        if (report_same_curve(row, of) && has_point(row))
            points[count++] =
                (figure_point){report_number(row, "magnitude"), report_number(row, "max_drift"), 0};
    }
    qsort(points, count, sizeof *points, figure_by_x);
    return count;
}

/* $k0, $k1, ... and what plots them; *plots is malloc'ed, NULL when memory is out. */
static void put_curves(FILE *out, const report_model *model, report_row of, char **plots)
{
    const report_rows *rows = &model->drift;
    size_t size;
    int curves = 0;
    figure_point *points = calloc(rows->count, sizeof *points);
    FILE *list = points != NULL ? open_memstream(plots, &size) : NULL;
    for (size_t r = 0; list != NULL && r < rows->count; r++) {
        report_row row = rows->items[r];
        if (!together(row, of) || !report_first_of_curve(rows, r))
            continue;
        size_t count = curve(rows, row, points);
        if (count == 0)
            continue;
        int kernel = report_kernel_index(model, report_text(row, "kernel"));
        figure_block(out, curves, points, count);
        fprintf(list, "%s $k%d using 1:2 with linespoints lw 2 pt %d ps 0.8 lc rgb '%s' title ",
                curves > 0 ? ", \\\n    " : "plot", curves, figure_marker(kernel),
                figure_colour(kernel));
        figure_string(list, report_text(row, "kernel"));
        curves++;
    }
    free(points);
    if (list != NULL)
        fclose(list);
}

static bool draw(const report_model *model, report_row of, int number, report_figures *figures)
{
    char name[FIGURE_NAME], title[160];
    snprintf(name, sizeof name, "offset-drift-%d", number);
    FILE *out = figure_add(figures, REPORT_OFFSET_DRIFT, name);
    if (out == NULL)
        return false;
    snprintf(title, sizeof title, "Offset drift, %.20s, %.100s", report_text(of, "dtype"),
             report_text(of, "spec"));
    figure_begin(out, name, title, "size of k, by which both positions move",
                 "largest change of a score / (|q| |k|)");
    fputs("set logscale xy 10\nset format x '%g'\nset format y '%.0e'\nset xrange [0.7:]\n", out);
    char *plots = NULL;
    put_curves(out, model, of, &plots);
    if (plots == NULL) {
        fclose(out);
        return false;
    }
    fprintf(out, "%s\n", plots);
    free(plots);
    snprintf(figure_caption(figures), FIGURE_CAPTION,
             "Offset drift, %.20s, %.200s, truth %.20s: largest change of a score when both "
             "positions move by k, over the lengths of q and k. Both axes are logarithmic. Exact "
             "rotations keep scores: what is flat is rounding.",
             report_text(of, "dtype"), report_text(of, "spec"), report_text(of, "truth"));
    return fclose(out) == 0;
}

bool figure_drift(const report_model *model, report_figures *figures)
{
    const report_rows *rows = &model->drift;
    bool good = true;
    int number = 0;
    for (size_t r = 0; good && r < rows->count; r++) {
        bool first = has_point(rows->items[r]);
        for (size_t o = 0; o < r && first; o++)
            first = !together(rows->items[o], rows->items[r]) || !has_point(rows->items[o]);
        if (first)
            good = draw(model, rows->items[r], ++number, figures);
    }
    return good;
}
