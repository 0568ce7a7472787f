/* The figures: gnuplot scripts, made from rows. */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include "reports/model.h"

typedef enum report_topic {
    REPORT_ERROR_POSITION = 0, /* error against position, contract dashed */
    REPORT_TRADE_OFF = 1,      /* error against time, Pareto front marked */
    REPORT_TIME_SIZE = 2,      /* time against size, with the floors */
    REPORT_DECAY = 3,          /* mean |S_j| against distance */
    REPORT_ERROR_STAGES = 4,   /* shares of the stages, stacked, by position */
    REPORT_OFFSET_DRIFT = 5,   /* change of a score against the move of both positions */
} report_topic;

typedef struct report_figure {
    report_topic topic;
    char name[64];     /* file name without ".svg" */
    char caption[600]; /* plain text: what it shows, and of which rows */
    char *script;      /* gnuplot writes <name>.svg into its working folder */
    size_t script_size;
} report_figure;

typedef struct report_figures {
    report_figure *items;
    size_t count;
} report_figures;

/* All figures that the rows have data for. */
bool report_figures_make(const report_model *model, report_figures *figures, rope_error *error);
void report_figures_free(report_figures *figures);

#endif
