/* Error by stage: shares of the mean square, stacked, by position. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/figure.h"

enum { MOST_FIGURES = 8, STAGES = 6 };

static const char *const stages[STAGES] = {"frequency", "angle",      "evaluation",
                                           "table",     "arithmetic", "storage"};
static const char *const colours[STAGES] = {"#d55e00", "#e69f00", "#cc79a7",
                                            "#56b4e9", "#0072b2", "#bbbbbb"};

/* Band of positions, as the axis names it: "1 Ki". */
static void put_band(FILE *out, double first)
{
    if (first >= 1048576)
        fprintf(out, "%gMi", first / 1048576);
    else if (first >= 1024)
        fprintf(out, "%gKi", first / 1024);
    else
        fprintf(out, "%g", first);
}

static bool same_band(report_row a, report_row b)
{
    return report_same_curve(a, b) && report_is(a, "band_first", report_text(b, "band_first"));
}

/* Whether row r is the first of its band that has a share. */
static bool begins_band(const report_rows *rows, size_t r)
{
    for (size_t o = 0; o < r; o++)
        if (same_band(rows->items[o], rows->items[r]) &&
            !isnan(report_number(rows->items[o], "share")))
            return false;
    return !isnan(report_number(rows->items[r], "share"));
}

typedef struct {
    bool measured, model; /* whether the line has a point: gnuplot takes none for a mistake */
} lines;

static bool is_drawn(double rms)
{
    return rms > 0 && isfinite(rms); /* the axis is logarithmic */
}

/* One line a band: its name, six shares in percent, measured and modelled rms. A share below zero
 * is noise, or errors of two stages that cancel; a stack has no place for it. */
static lines put_bands(FILE *out, const report_rows *rows, report_row of)
{
    lines any = {false, false};
    fputs("$bands << EOD\n", out);
    for (size_t r = 0; r < rows->count; r++) {
        report_row row = rows->items[r];
        if (!report_same_curve(row, of) || !begins_band(rows, r))
            continue;
        double share[STAGES] = {0};
        for (size_t o = 0; o < rows->count; o++)
            for (int s = 0; s < STAGES; s++)
                if (same_band(rows->items[o], row) && report_is(rows->items[o], "stage", stages[s]))
                    share[s] = fmax(0, report_number(rows->items[o], "share"));
        put_band(out, report_number(row, "band_first"));
        for (int s = 0; s < STAGES; s++)
            fprintf(out, " %.6g", 100 * share[s]);
        double measured = report_number(row, "measured_rms_u"),
               model = report_number(row, "model_rms_u");
        any.measured |= is_drawn(measured);
        any.model |= is_drawn(model);
        fprintf(out, " %.17g %.17g\n", measured, model);
    }
    fputs("EOD\n", out);
    return any;
}

/* The lines of the right axis, after the stack. */
static void put_lines(FILE *out, lines any)
{
    if (any.measured)
        fputs(", \\\n     $bands using 0:8 axes x1y2 with linespoints lw 2 pt 7 ps 0.8 "
              "lc rgb '#000000' title 'measured (right)'",
              out);
    if (any.model)
        fputs(", \\\n     $bands using 0:9 axes x1y2 with lines lw 2 dt 2 lc rgb '#ffffff' "
              "notitle",
              out);
    fputc('\n', out);
}

static bool draw(const report_rows *rows, report_row of, int number, report_figures *figures)
{
    char name[FIGURE_NAME], title[220];
    snprintf(name, sizeof name, "error-stages-%d", number);
    FILE *out = figure_add(figures, REPORT_ERROR_STAGES, name);
    if (out == NULL)
        return false;
    snprintf(title, sizeof title, "Error by stage, %.60s, %.20s, %.100s", report_text(of, "kernel"),
             report_text(of, "dtype"), report_text(of, "spec"));
    figure_begin(out, name, title, "first position of the band",
                 "share of the mean square error, %");
    lines any = put_bands(out, rows, of);
    fputs("set style data histograms\nset style histogram rowstacked\nset boxwidth 0.9\n"
          "set style fill solid\nset yrange [0:100]\nset xtics rotate by -45\n",
          out);
    if (any.measured || any.model)
        fputs("set y2label 'root mean square error, in u'\nset border 11\nset logscale y2 10\n"
              "set y2tics nomirror\nset format y2 '%g'\n",
              out);
    for (int s = 0; s < STAGES; s++)
        fprintf(out, "%s $bands using %d%s lc rgb '%s' title '%s'", s == 0 ? "plot" : ", \\\n    ",
                s + 2, s == 0 ? ":xtic(1)" : "", colours[s], stages[s]);
    put_lines(out, any);
    snprintf(figure_caption(figures), FIGURE_CAPTION,
             "Error by stage, %.60s, %.20s, %.200s, truth %.20s. Stacked: share of each stage in "
             "the mean square error of the band, in percent (left axis; a share below zero is "
             "drawn as none). Line: the kernel's root mean square error in u (right axis, "
             "logarithmic), with the model's in white on it.",
             report_text(of, "kernel"), report_text(of, "dtype"), report_text(of, "spec"),
             report_text(of, "truth"));
    return fclose(out) == 0;
}

bool figure_stages(const report_model *model, report_figures *figures)
{
    const report_rows *rows = &model->stages;
    bool good = true;
    for (size_t r = 0, number = 0; good && r < rows->count && number < MOST_FIGURES; r++)
        if (report_first_of_curve(rows, r) && report_has_number(rows, rows->items[r], "share"))
            good = draw(rows, rows->items[r], (int)++number, figures);
    return good;
}
