#include "reports/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char **report_distinct(const report_rows *rows, const char *column, report_filter *filter,
                             const void *context, size_t *count)
{
    const char **values = NULL;
    *count = 0;
    for (size_t r = 0; r < rows->count; r++) {
        if (filter != NULL && !filter(rows->items[r], context))
            continue;
        const char *value = report_text(rows->items[r], column);
        size_t i = 0;
        while (i < *count && strcmp(values[i], value) != 0)
            i++;
        if (i < *count)
            continue;
        const char **grown = realloc(values, (*count + 1) * sizeof *grown);
        if (grown == NULL)
            break;
        values = grown;
        values[(*count)++] = value;
    }
    return values;
}

const char *report_commonest(const report_rows *rows, const char *column, report_filter *filter,
                             const void *context)
{
    size_t count, most = 0;
    const char **values = report_distinct(rows, column, filter, context, &count);
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t here = 0;
        for (size_t r = 0; r < rows->count; r++)
            here += (filter == NULL || filter(rows->items[r], context)) &&
                    report_is(rows->items[r], column, values[i]);
        if (here > most) {
            most = here;
            best = values[i];
        }
    }
    free(values);
    return best;
}

bool report_same_curve(report_row a, report_row b)
{
    static const char *const columns[] = {"kernel", "dtype", "spec", "truth"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (!report_is(a, columns[i], report_text(b, columns[i])))
            return false;
    return true;
}

bool report_first_of_curve(const report_rows *rows, size_t r)
{
    for (size_t o = 0; o < r; o++)
        if (report_same_curve(rows->items[o], rows->items[r]))
            return false;
    return true;
}

bool report_has_number(const report_rows *rows, report_row of, const char *column)
{
    for (size_t r = 0; r < rows->count; r++)
        if (report_same_curve(rows->items[r], of) && !isnan(report_number(rows->items[r], column)))
            return true;
    return false;
}

static bool agrees(report_row row, const char *column, const char *value)
{
    return value == NULL || report_is(row, column, value);
}

bool report_in_cut(report_row row, const void *context)
{
    const report_cut *cut = context;
    return agrees(row, "dtype", cut->dtype) && agrees(row, "pairing", cut->pairing) &&
           agrees(row, "spec", cut->spec) && agrees(row, "mode", cut->mode) &&
           agrees(row, "in_place", cut->in_place) && agrees(row, "kernel", cut->kernel) &&
           (cut->tokens == 0 || report_number(row, "tokens") == cut->tokens) &&
           (cut->heads == 0 || report_number(row, "heads") == cut->heads) &&
           !isnan(report_number(row, "ns_per_element"));
}

report_row report_find(const report_rows *rows, const report_cut *cut)
{
    for (size_t r = 0; r < rows->count; r++)
        if (report_in_cut(rows->items[r], cut))
            return rows->items[r];
    return (report_row){0};
}

bool report_usual_shape(const report_rows *rows, report_cut *cut)
{
    cut->tokens = 512;
    if (report_find(rows, cut).table == NULL) {
        cut->tokens = 0;
        const char *tokens = report_commonest(rows, "tokens", report_in_cut, cut);
        if (tokens == NULL)
            return false;
        cut->tokens = strtod(tokens, NULL);
    }
    const char *heads = report_commonest(rows, "heads", report_in_cut, cut);
    cut->heads = heads != NULL ? strtod(heads, NULL) : 0;
    return true;
}

void report_mark_pareto(report_trade *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        points[i].pareto = true;
        for (size_t j = 0; j < count; j++)
            if (points[j].time <= points[i].time && points[j].error <= points[i].error &&
                (points[j].time < points[i].time || points[j].error < points[i].error))
                points[i].pareto = false;
    }
}

int report_kernel_index(const report_model *model, const char *name)
{
    for (size_t i = 0; i < model->kernel_count; i++)
        if (strcmp(model->kernels[i], name) == 0)
            return (int)i;
    return -1;
}
