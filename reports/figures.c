#include "reports/figures.h"

#include <stdlib.h>

#include "reports/choose.h"
#include "reports/figure.h"

bool report_figures_make(const report_model *model, report_figures *figures, rope_error *error)
{
    *figures = (report_figures){0};
    bool good = true;
    size_t dtypes, pairings;
    const char **dtype = report_distinct(&model->verify, "dtype", NULL, NULL, &dtypes);
    for (size_t d = 0; good && d < dtypes; d++)
        good = figure_error_position(model, dtype[d], figures) &&
               figure_decay(model, dtype[d], figures);
    free(dtype);
    dtype = report_distinct(&model->bench, "dtype", NULL, NULL, &dtypes);
    const char **pairing = report_distinct(&model->bench, "pairing", NULL, NULL, &pairings);
    for (size_t d = 0; good && d < dtypes; d++)
        for (size_t p = 0; good && p < pairings; p++)
            good = figure_trade_off(model, dtype[d], pairing[p], figures) &&
                   figure_time_size(model, dtype[d], pairing[p], figures);
    free(dtype);
    free(pairing);
    good = good && figure_stages(model, figures) && figure_drift(model, figures);
    if (!good) {
        report_figures_free(figures);
        return rope_fail(error, "out of memory");
    }
    return true;
}

void report_figures_free(report_figures *figures)
{
    for (size_t i = 0; i < figures->count; i++)
        free(figures->items[i].script);
    free(figures->items);
    *figures = (report_figures){0};
}
