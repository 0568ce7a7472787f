#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/figure.h"

typedef struct {
    const char *dtype, *spec, *kernel;
} position_cut;

static bool in_bands(report_row row, const void *context)
{
    const position_cut *cut = context;
    return report_is(row, "property", "contract") && report_is(row, "dtype", cut->dtype) &&
           strncmp(report_text(row, "arrangement"), "position", 8) == 0 &&
           (cut->spec == NULL || report_is(row, "spec", cut->spec)) &&
           (cut->kernel == NULL || report_is(row, "kernel", cut->kernel)) &&
           report_number(row, "max_error_u") > 0 && report_number(row, "bound_u") > 0 &&
           report_number(row, "worst_position") != 0;
}

/* The band's case of the largest error, with the contract there. */
static figure_point worst(report_row row)
{
    return (figure_point){fabs(report_number(row, "worst_position")),
                          report_number(row, "max_error_u"), report_number(row, "bound_u")};
}

/* Points of one kernel: a band has one row a pairing, of which the one with the larger error
 * counts. */
static size_t band_points(const report_rows *rows, const position_cut *cut, figure_point *points)
{
    size_t count = 0;
    const char **bands = report_distinct(rows, "arrangement", in_bands, cut, &count);
    size_t used = 0;
    for (size_t b = 0; b < count; b++) {
        figure_point best = {0};
        for (size_t r = 0; r < rows->count; r++) {
            if (!in_bands(rows->items[r], cut) ||
                !report_is(rows->items[r], "arrangement", bands[b]))
                continue;
            figure_point p = worst(rows->items[r]);
            if (p.y > best.y)
                best = p;
        }
        points[used++] = best;
    }
    free(bands);
    qsort(points, used, sizeof *points, figure_by_x);
    return used;
}

bool figure_error_position(const report_model *model, const char *dtype, report_figures *figures)
{
    position_cut cut = {.dtype = dtype};
    cut.spec = report_commonest(&model->verify, "spec", in_bands, &cut);
    if (cut.spec == NULL || !figure_plain(dtype))
        return true;
    char name[FIGURE_NAME], title[160];
    snprintf(name, sizeof name, "error-position-%s", dtype);
    FILE *out = figure_add(figures, REPORT_ERROR_POSITION, name);
    figure_point *points = calloc(model->verify.count, sizeof *points);
    if (out == NULL || points == NULL) {
        free(points);
        return false;
    }
    snprintf(title, sizeof title, "Error against position, %s, %.100s", dtype, cut.spec);
    figure_begin(out, name, title, "position (magnitude)", "normwise error of a pair, in u");
    fputs("set logscale xy 10\nset format x '%.0s%c'\nset format y '%g'\nset xrange [1:]\n", out);
    char *plots = NULL;
    size_t size;
    FILE *list = open_memstream(&plots, &size);
    for (size_t k = 0; list != NULL && k < model->kernel_count; k++) {
        cut.kernel = model->kernels[k];
        size_t count = band_points(&model->verify, &cut, points);
        if (count == 0)
            continue;
        figure_block(out, (int)k, points, count);
        fprintf(list, "%s $k%d using 1:2 with linespoints lw 2 pt %d ps 0.8 lc rgb '%s' title ",
                ftell(list) > 0 ? ", \\\n    " : "plot", (int)k, figure_marker((int)k),
                figure_colour((int)k));
        figure_string(list, model->kernels[k]);
        fprintf(list, ", \\\n     $k%d using 1:3 with lines lw 1.5 dt 2 lc rgb '%s' notitle",
                (int)k, figure_colour((int)k));
    }
    fputs(", \\\n     NaN with lines lw 1.5 dt 2 lc rgb '#333333' title 'contract'", list);
    free(points);
    if (list == NULL || fclose(list) != 0) {
        fclose(out);
        return false;
    }
    fprintf(out, "%s\n", plots);
    free(plots);
    snprintf(figure_caption(figures), FIGURE_CAPTION,
             "Error against position, %s, %.200s. A point is the largest error in one band of "
             "positions, of either pairing; dashed: the contract of that position and pair. Both "
             "axes are logarithmic.",
             dtype, cut.spec);
    return fclose(out) == 0;
}
