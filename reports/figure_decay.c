#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/figure.h"

typedef struct {
    const char *dtype, *spec, *kernel, *pairing;
} decay_cut;

static bool in_curve(report_row row, const void *context)
{
    const decay_cut *cut = context;
    return report_is(row, "property", "decay-curve") && report_is(row, "dtype", cut->dtype) &&
           (cut->spec == NULL || report_is(row, "spec", cut->spec)) &&
           (cut->kernel == NULL || report_is(row, "kernel", cut->kernel)) &&
           (cut->pairing == NULL || report_is(row, "pairing", cut->pairing)) &&
           report_number(row, "worst_position") > 0 && report_number(row, "value") >= 0;
}

static size_t curve_points(const report_rows *rows, const decay_cut *cut, const char *column,
                           figure_point *points)
{
    size_t count = 0;
    for (size_t r = 0; r < rows->count; r++)
        if (in_curve(rows->items[r], cut) && report_number(rows->items[r], column) >= 0)
            points[count++] = (figure_point){report_number(rows->items[r], "worst_position"),
                                             report_number(rows->items[r], column), 0};
    qsort(points, count, sizeof *points, figure_by_x);
    return count;
}

bool figure_decay(const report_model *model, const char *dtype, report_figures *figures)
{
    decay_cut cut = {.dtype = dtype};
    cut.spec = report_commonest(&model->verify, "spec", in_curve, &cut);
    if (cut.spec == NULL || !figure_plain(dtype))
        return true;
    char name[FIGURE_NAME], title[160];
    snprintf(name, sizeof name, "decay-%s", dtype);
    figure_point *points = calloc(model->verify.count + 1, sizeof *points);
    FILE *out = points != NULL ? figure_add(figures, REPORT_DECAY, name) : NULL;
    char *plots = NULL;
    size_t size;
    FILE *list = out != NULL ? open_memstream(&plots, &size) : NULL;
    if (list == NULL) {
        free(points);
        return false;
    }
    snprintf(title, sizeof title, "Long-term decay, %s, %.100s", dtype, cut.spec);
    figure_begin(out, name, title, "distance m", "mean |S_j|");
    fputs("set logscale x 10\nset format x '%.0s%c'\nset yrange [0:]\n", out);
    bool exact = false;
    for (size_t k = 0; k < model->kernel_count; k++) {
        cut.kernel = model->kernels[k];
        cut.pairing = NULL;
        cut.pairing = report_commonest(&model->verify, "pairing", in_curve, &cut);
        if (!exact) {
            size_t count = curve_points(&model->verify, &cut, "exact_value", points);
            if (count > 0) {
                figure_block(out, 999, points, count);
                fputs("plot $k999 using 1:2 with lines lw 5 lc rgb '#cccccc' title 'exact'", list);
                exact = true;
            }
        }
        size_t count = curve_points(&model->verify, &cut, "value", points);
        if (count == 0)
            continue;
        figure_block(out, (int)k, points, count);
        fprintf(list, "%s $k%d using 1:2 with linespoints lw 1.2 pt %d ps 0.6 lc rgb '%s' title ",
                ftell(list) > 0 ? ", \\\n    " : "plot", (int)k, figure_marker((int)k),
                figure_colour((int)k));
        figure_string(list, model->kernels[k]);
    }
    free(points);
    bool good = fclose(list) == 0;
    if (good)
        fprintf(out, "%s\n", plots);
    free(plots);
    snprintf(figure_caption(figures), FIGURE_CAPTION,
             "Long-term decay (Su et al., Figure 2), %s, %.200s: the mean over j of |S_j(m)|, S_j "
             "the sum of the first j unit vectors rotated by m. The wide grey line is exact; a "
             "kernel must stay on it within its contract. The curve is not monotone: it falls by "
             "octave means up to base / (2 pi).",
             dtype, cut.spec);
    return fclose(out) == 0 && good;
}
