/* What the figures share: pieces of gnuplot's language, colours, points. */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include <stdio.h>

#include "reports/figures.h"

enum { FIGURE_CAPTION = sizeof(((report_figure *)NULL)->caption), FIGURE_NAME = 64 };

/* bound: a second value at the same place, where the figure has one. */
typedef struct figure_point {
    double x, y, bound;
} figure_point;

/* Starts a figure; its script goes to the returned stream, to be closed before the next one. */
FILE *figure_add(report_figures *figures, report_topic topic, const char *name);
/* The caption of the last one, FIGURE_CAPTION bytes. */
char *figure_caption(report_figures *figures);

/* Terminal, output file, title and names of the axes. */
void figure_begin(FILE *out, const char *name, const char *title, const char *x, const char *y);

/* Labelled tics at 1, 2 and 5 times powers of ten: a logarithmic axis of less than a decade would
 * have none otherwise. */
void figure_tics(FILE *out, char axis);

/* Text in single quotes, where gnuplot interprets nothing; a quote is doubled. */
void figure_string(FILE *out, const char *text);

/* The data block $k<index>: x, y, bound. */
void figure_block(FILE *out, int index, const figure_point *points, size_t count);

/* Of a kernel by its index in the model: colours that stay apart for most eyes (Okabe and Ito, then
 * darker ones), and gnuplot's markers. */
const char *figure_colour(int kernel);
int figure_marker(int kernel);

/* Whether a dtype or pairing may be part of a file's name. */
bool figure_plain(const char *text);

/* For qsort. */
int figure_by_x(const void *a, const void *b);

/* The figures of one dtype (and pairing); true also when the rows have no data for it. */
bool figure_error_position(const report_model *model, const char *dtype, report_figures *figures);
bool figure_decay(const report_model *model, const char *dtype, report_figures *figures);
bool figure_trade_off(const report_model *model, const char *dtype, const char *pairing,
                      report_figures *figures);
bool figure_time_size(const report_model *model, const char *dtype, const char *pairing,
                      report_figures *figures);

/* All figures of the hunts' rows. */
bool figure_stages(const report_model *model, report_figures *figures);
bool figure_drift(const report_model *model, report_figures *figures);

#endif
