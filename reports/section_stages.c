/* Where the error comes from, and how far scores drift. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

/* hunt --stages holds the model to this much in every band. */
static const double within = 0.2;

static void put_curve(FILE *out, report_row row)
{
    static const char *const columns[] = {"kernel", "dtype", "spec", "truth"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        fputs("| ", out);
        (strcmp(columns[i], "spec") == 0 ? report_put_code
                                         : report_put)(out, report_text(row, columns[i]));
        fputc(' ', out);
    }
}

typedef struct {
    report_row largest; /* of the last band that has shares: the stage of the largest one */
    double misfit;      /* largest |model / measured - 1| of any band */
    double where;       /* its first position */
} fit;

static fit fit_of(const report_rows *rows, report_row of)
{
    fit f = {.misfit = NAN, .where = NAN};
    for (size_t r = 0; r < rows->count; r++) {
        report_row row = rows->items[r];
        double share = report_number(row, "share"), ratio = report_number(row, "ratio");
        if (!report_same_curve(row, of) || isnan(share) || isnan(ratio))
            continue;
        double band = report_number(row, "band_first");
        double shown = f.largest.table != NULL ? report_number(f.largest, "band_first") : -INFINITY;
        if (band > shown || (band == shown && share > report_number(f.largest, "share")))
            f.largest = row;
        if (isnan(f.misfit) || fabs(ratio - 1) > f.misfit) {
            f.misfit = fabs(ratio - 1);
            f.where = band;
        }
    }
    return f;
}

void report_section_stages(FILE *out, const report_model *model, const report_figures *figures)
{
    const report_rows *rows = &model->stages;
    fputs("## Error by stage\n\n"
          "A model of each kernel, built from the formats that it declares, is made inexact one "
          "stage after the other: inverse frequencies, angles, table (cos and sin), arithmetic of "
          "the rotation, storage of the result. What each stage adds to the mean square error is "
          "its share; *evaluation* is the kernel's excess over the model (range reduction, cos and "
          "sin). The model must meet what was measured within 20 % in every band of "
          "positions.\n\n",
          out);
    report_table(out, "kernel|dtype|spec|truth|>last band from|>measured rms, u|>model rms, u|"
                      "largest share there|>largest misfit, %|>at band from|within 20 %");
    for (size_t r = 0; r < rows->count; r++) {
        if (!report_first_of_curve(rows, r))
            continue;
        fit f = fit_of(rows, rows->items[r]);
        put_curve(out, rows->items[r]);
        if (f.largest.table == NULL) {
            fputs("| – | – | – | – | – | – | no band has an error |\n", out);
            continue;
        }
        fputs("| ", out);
        report_put_number(out, report_number(f.largest, "band_first"), 12);
        fputs(" | ", out);
        report_put_number(out, report_number(f.largest, "measured_rms_u"), 4);
        fputs(" | ", out);
        report_put_number(out, report_number(f.largest, "model_rms_u"), 4);
        fputs(" | ", out);
        report_put(out, report_text(f.largest, "stage"));
        fprintf(out, ", %.0f %% | ", 100 * report_number(f.largest, "share"));
        report_put_number(out, 100 * f.misfit, 3);
        fputs(" | ", out);
        report_put_number(out, f.where, 12);
        fputs(f.misfit <= within ? " | yes |\n" : " | **NO** |\n", out);
    }
    fputc('\n', out);
    report_put_figures(out, figures, REPORT_ERROR_STAGES);
}

/* ---- drift ---- */

void report_section_drift(FILE *out, const report_model *model, const report_figures *figures)
{
    const report_rows *rows = &model->drift;
    fputs("## Offset drift\n\n"
          "A score depends on the distance of its two positions alone, if rotations are exact. "
          "Largest |score(m + k, n + k) − score(m, n)| / (|q| |k|), with k moved by about the "
          "number above the column: a kernel with exact angles stays at the rounding of a score, "
          "one with rounded angles drifts as positions grow.\n\n",
          out);
    size_t magnitudes;
    const char **magnitude = report_distinct(rows, "magnitude", NULL, NULL, &magnitudes);
    fputs("| kernel | dtype | spec | truth |", out);
    for (size_t m = 0; m < magnitudes; m++) {
        fputc(' ', out);
        report_put_number(out, strtod(magnitude[m], NULL), 6);
        fputs(" |", out);
    }
    fputs("\n|:---|:---|:---|:---|", out);
    for (size_t m = 0; m < magnitudes; m++)
        fputs("---:|", out);
    fputc('\n', out);
    for (size_t r = 0; r < rows->count; r++) {
        if (!report_first_of_curve(rows, r))
            continue;
        put_curve(out, rows->items[r]);
        fputc('|', out);
        for (size_t m = 0; m < magnitudes; m++) {
            double drift = NAN;
            for (size_t o = 0; o < rows->count && isnan(drift); o++)
                if (report_same_curve(rows->items[o], rows->items[r]) &&
                    report_is(rows->items[o], "magnitude", magnitude[m]))
                    drift = report_number(rows->items[o], "max_drift");
            fputc(' ', out);
            report_put_number(out, drift, 2);
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    free(magnitude);
    fputc('\n', out);
    report_put_figures(out, figures, REPORT_OFFSET_DRIFT);
}
