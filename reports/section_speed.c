#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distinct numbers of a column in a cut, rising. */
static double *numbers(const report_rows *rows, const char *column, const report_cut *cut,
                       size_t *count)
{
    const char **texts = report_distinct(rows, column, report_in_cut, cut, count);
    double *values = calloc(*count + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < *count; i++)
        values[i] = strtod(texts[i], NULL);
    free(texts);
    if (values == NULL)
        *count = 0;
    else
        qsort(values, *count, sizeof *values, by_value);
    return values;
}

static void put_time(FILE *out, report_row row)
{
    if (row.table == NULL) {
        fputs(" – |", out);
        return;
    }
    fputc(' ', out);
    report_put_number(out, report_number(row, "ns_per_element"), 3);
    fputs(" (", out);
    report_put_number(out, report_number(row, "ratio_memcpy"), 3);
    fputs("×)", out);
    if (report_is(row, "verdict", "fail"))
        fputs(" **FAIL**", out);
    fputs(" |", out);
}

/* Kernels down, tokens across, for one dtype, pairing, mode and place, of its commonest spec. */
static void put_table(FILE *out, const report_model *model, report_cut cut)
{
    cut.spec = report_commonest(&model->bench, "spec", report_in_cut, &cut);
    const char *heads = report_commonest(&model->bench, "heads", report_in_cut, &cut);
    if (cut.spec == NULL || heads == NULL)
        return;
    cut.heads = strtod(heads, NULL);
    size_t count;
    double *tokens = numbers(&model->bench, "tokens", &cut, &count);
    fprintf(out, "**");
    report_put(out, cut.mode);
    fprintf(out, "%s**, %s heads, ",
            strcmp(cut.in_place, "yes") == 0 ? " in place" : " out of place", heads);
    report_put_code(out, cut.spec);
    fputs(", ", out);
    report_put(out, cut.dtype);
    fputs("\n\n| kernel |", out);
    for (size_t t = 0; t < count; t++)
        fprintf(out, " %.0f token%s |", tokens[t], tokens[t] == 1 ? "" : "s");
    fputs("\n|:---|", out);
    for (size_t t = 0; t < count; t++)
        fputs("---:|", out);
    fputc('\n', out);
    for (size_t k = 0; k < model->kernel_count; k++) {
        cut.kernel = model->kernels[k];
        cut.tokens = 0;
        if (report_find(&model->bench, &cut).table == NULL)
            continue;
        fputs("| ", out);
        report_put(out, cut.kernel);
        fputs(" |", out);
        for (size_t t = 0; t < count; t++) {
            cut.tokens = tokens[t];
            put_time(out, report_find(&model->bench, &cut));
        }
        fputc('\n', out);
    }
    free(tokens);
    fputc('\n', out);
}

static void put_interval(FILE *out, report_row row, const char *value, const char *low,
                         const char *high)
{
    report_put_number(out, report_number(row, value), 4);
    fputs(" | ", out);
    report_put_number(out, report_number(row, low), 4);
    fputs(" – ", out);
    report_put_number(out, report_number(row, high), 4);
    fputs(" | ", out);
}

/* Every row of the commonest specs, with its intervals. */
static void put_all(FILE *out, const report_model *model)
{
    fputs("<details>\n<summary>All figures with their intervals</summary>\n\n", out);
    report_table(out, "kernel|dtype|spec|>tokens|>heads|mode|in place|>ns / element|>95 % "
                      "interval|>GB/s|>× memcpy|>95 % interval|>× scale|>95 % interval|>error, u|"
                      "verdict");
    for (size_t r = 0; r < model->bench.count; r++) {
        report_row row = model->bench.items[r];
        static const char *const columns[] = {"kernel", "dtype", "spec",    "tokens",
                                              "heads",  "mode",  "in_place"};
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            fputs("| ", out);
            report_put(out, report_text(row, columns[i]));
            fputc(' ', out);
        }
        fputs("| ", out);
        put_interval(out, row, "ns_per_element", "ns_ci_low", "ns_ci_high");
        report_put_number(out, report_number(row, "gb_per_s"), 3);
        fputs(" | ", out);
        put_interval(out, row, "ratio_memcpy", "ratio_memcpy_low", "ratio_memcpy_high");
        put_interval(out, row, "ratio_scale", "ratio_scale_low", "ratio_scale_high");
        report_put_number(out, report_number(row, "max_error_u"), 4);
        fputs(" | ", out);
        report_put(out, report_text(row, "verdict"));
        if (*report_text(row, "reason") != '\0') {
            fputs(": ", out);
            report_put(out, report_text(row, "reason"));
        }
        fputs(" |\n", out);
    }
    fputs("\n</details>\n\n", out);
}

static void put_cold(FILE *out, const report_model *model)
{
    const report_cut cut = {.mode = "process-cold"};
    bool any = false;
    for (size_t r = 0; r < model->bench.count; r++) {
        report_row row = model->bench.items[r];
        if (!report_in_cut(row, &cut))
            continue;
        if (!any) {
            fputs("**Cold start**: a whole process that plans and applies once.\n\n", out);
            report_table(out,
                         "kernel|dtype|spec|>tokens|>heads|>ms a process|>95 % interval|>× the "
                         "same with a copy|>90 % interval");
        }
        any = true;
        double ms = report_number(row, "bytes") / 1e6;
        const char *dtype = report_text(row, "dtype");
        ms /= strcmp(dtype, "f64") == 0 ? 8 : strcmp(dtype, "f32") == 0 ? 4 : 2;
        fputs("| ", out);
        report_put(out, report_text(row, "kernel"));
        fputs(" | ", out);
        report_put(out, dtype);
        fputs(" | ", out);
        report_put(out, report_text(row, "spec"));
        fprintf(out, " | %.0f | %.0f | ", report_number(row, "tokens"),
                report_number(row, "heads"));
        report_put_number(out, ms * report_number(row, "ns_per_element"), 3);
        fputs(" | ", out);
        report_put_number(out, ms * report_number(row, "ns_ci_low"), 3);
        fputs(" – ", out);
        report_put_number(out, ms * report_number(row, "ns_ci_high"), 3);
        fputs(" | ", out);
        report_put_number(out, report_number(row, "ratio_memcpy"), 3);
        fputs(" | ", out);
        report_put_number(out, report_number(row, "ratio_memcpy_low"), 3);
        fputs(" – ", out);
        report_put_number(out, report_number(row, "ratio_memcpy_high"), 3);
        fputs(" |\n", out);
    }
    if (any)
        fputc('\n', out);
}

/* Encodings that do not rotate, which have no pairing, are compared in a section of their own. */
void report_section_speed(FILE *out, const report_model *model, const report_figures *figures)
{
    fputs("## Speed\n\nCells: ns per element (times the time of memcpy on the same bytes, in the "
          "same rounds).\n\n",
          out);
    size_t dtypes, pairings;
    const char **dtype = report_distinct(&model->bench, "dtype", NULL, NULL, &dtypes);
    const char **pairing = report_distinct(&model->bench, "pairing", NULL, NULL, &pairings);
    static const char *const modes[] = {"apply", "plan+apply"};
    static const char *const places[] = {"yes", "no"};
    for (size_t d = 0; d < dtypes; d++)
        for (size_t p = 0; p < pairings; p++)
            for (int m = 0; m < 2 && *pairing[p] != '\0'; m++)
                for (int i = 0; i < 2; i++)
                    put_table(out, model,
                              (report_cut){.dtype = dtype[d],
                                           .pairing = pairing[p],
                                           .mode = modes[m],
                                           .in_place = places[i]});
    free(dtype);
    free(pairing);
    report_put_figures(out, figures, REPORT_TRADE_OFF);
    report_put_figures(out, figures, REPORT_TIME_SIZE);
    put_cold(out, model);
    put_all(out, model);
}

/* ---- summary ---- */

static void put_counts(FILE *out, const report_rows *rows, const char *what)
{
    size_t count;
    const char **verdicts = report_distinct(rows, "verdict", NULL, NULL, &count);
    fprintf(out, "- %s: %zu rows", what, rows->count);
    for (size_t v = 0; v < count; v++) {
        size_t here = 0;
        for (size_t r = 0; r < rows->count; r++)
            here += report_is(rows->items[r], "verdict", verdicts[v]);
        fprintf(out, "%s %zu ", v == 0 ? ";" : ",", here);
        if (strcmp(verdicts[v], "fail") == 0)
            fputs("**fail**", out);
        else
            report_put(out, verdicts[v]);
    }
    fputs(".\n", out);
    free(verdicts);
}

/* A value and, where the row has them, the ends of its interval. */
static void put_with_interval(FILE *out, report_row row, const char *value, const char *low,
                              const char *high)
{
    report_put_number(out, report_number(row, value), 3);
    if (isnan(report_number(row, low)) || isnan(report_number(row, high)))
        return;
    fputs(" \\[", out);
    report_put_number(out, report_number(row, low), 3);
    fputs(", ", out);
    report_put_number(out, report_number(row, high), 3);
    fputs("\\]", out);
}

static void put_overview_caption(FILE *out, const report_cut *cut, report_row row)
{
    fprintf(out, "\nAt %.0f tokens and %.0f heads, mode apply, positions up to ", cut->tokens,
            cut->heads);
    report_put_number(out, report_number(row, "last_position"), 12);
    fputs(
        "; in brackets 95 % intervals. In place, y is x: the scale loop moves the same bytes, "
        "while memcpy has a second buffer to fill, so that less than 1× memcpy is not faster than "
        "moving the data.\n\n",
        out);
    report_table(out, "kernel|pairing|dtype|in place|>error, u|>contract, u|>ns / "
                      "element|>× memcpy|>× scale|verdict");
}

/* One line a rotation kernel and pairing, in place where it was timed so: the error and time that a
 * reader picks a kernel by. */
static void put_overview(FILE *out, const report_model *model)
{
    report_cut cut = {.mode = "apply", .in_place = "yes"};
    size_t dtypes, pairings;
    const char **dtype = report_distinct(&model->bench, "dtype", NULL, NULL, &dtypes);
    const char **pairing = report_distinct(&model->bench, "pairing", NULL, NULL, &pairings);
    bool any = false;
    for (size_t d = 0; d < dtypes; d++)
        for (size_t p = 0; p < pairings; p++)
            for (size_t k = 0; k < model->kernel_count && *pairing[p] != '\0'; k++) {
                cut = (report_cut){.dtype = dtype[d], .pairing = pairing[p], .mode = "apply"};
                cut.spec = report_commonest(&model->bench, "spec", report_in_cut, &cut);
                if (!report_usual_shape(&model->bench, &cut))
                    continue;
                cut.kernel = model->kernels[k];
                cut.in_place = "yes";
                report_row row = report_find(&model->bench, &cut);
                cut.in_place = NULL;
                if (row.table == NULL)
                    row = report_find(&model->bench, &cut);
                if (row.table == NULL)
                    continue;
                if (!any)
                    put_overview_caption(out, &cut, row);
                any = true;
                fputs("| ", out);
                report_put(out, cut.kernel);
                fputs(" | ", out);
                report_put(out, cut.pairing);
                fputs(" | ", out);
                report_put(out, cut.dtype);
                fputs(" | ", out);
                report_put(out, report_text(row, "in_place"));
                static const char *const columns[][3] = {
                    {"max_error_u", "", ""},
                    {"bound_u", "", ""},
                    {"ns_per_element", "ns_ci_low", "ns_ci_high"},
                    {"ratio_memcpy", "ratio_memcpy_low", "ratio_memcpy_high"},
                    {"ratio_scale", "ratio_scale_low", "ratio_scale_high"}};
                for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
                    fputs(" | ", out);
                    put_with_interval(out, row, columns[c][0], columns[c][1], columns[c][2]);
                }
                fputs(" | ", out);
                report_put(out, report_text(row, "verdict"));
                fputs(" |\n", out);
            }
    free(dtype);
    free(pairing);
    fputc('\n', out);
}

void report_section_summary(FILE *out, const report_model *model)
{
    fputs("## Summary\n\n", out);
    if (model->verify.count > 0)
        put_counts(out, &model->verify, "Verification");
    if (model->bench.count > 0)
        put_counts(out, &model->bench, "Benchmarks");
    put_overview(out, model);
}
