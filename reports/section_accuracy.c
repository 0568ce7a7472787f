#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

typedef struct {
    const char *kernel, *dtype, *property, *verdict;
} cut;

/* Points of the decay curve are a figure's; the property "decay" judges them. */
static bool is_judged(report_row row, const void *context)
{
    (void)context;
    return !report_is(row, "property", "decay-curve");
}

static bool in_cut(report_row row, const void *context)
{
    const cut *c = context;
    return (c->kernel == NULL || report_is(row, "kernel", c->kernel)) &&
           (c->dtype == NULL || report_is(row, "dtype", c->dtype)) &&
           (c->property == NULL || report_is(row, "property", c->property)) &&
           (c->verdict == NULL || report_is(row, "verdict", c->verdict));
}

/* error / tolerance of a row: its own column where there is one. */
static double ratio_of(report_row row)
{
    double ratio = report_number(row, "ratio");
    return isnan(ratio) ? report_number(row, "max_error_u") / report_number(row, "bound_u") : ratio;
}

typedef struct {
    double positions, cases, error, ratio, rounded, rounded_weight;
    int passed, failed, others;
    report_row worst; /* one that failed, else the one of the largest error */
} sum;

static sum add_up(const report_rows *rows, const cut *c)
{
    sum s = {.error = NAN, .ratio = NAN};
    for (size_t r = 0; r < rows->count; r++) {
        report_row row = rows->items[r];
        if (!in_cut(row, c))
            continue;
        bool failed = report_is(row, "verdict", "fail"), passed = report_is(row, "verdict", "pass");
        s.passed += passed;
        s.failed += failed;
        s.others += !passed && !failed;
        if (!passed && !failed)
            continue;
        double cases = report_number(row, "cases"),
               rounded = report_number(row, "correctly_rounded");
        s.positions += fmax(0, report_number(row, "positions_checked"));
        s.cases += fmax(0, cases);
        double error = report_number(row, "max_error_u");
        if (!isnan(rounded) && cases > 0) {
            s.rounded += rounded * cases;
            s.rounded_weight += cases;
        }
        s.ratio = fmax(s.ratio, ratio_of(row)); /* fmax leaves NaN out */
        bool shown = s.worst.table != NULL && report_is(s.worst, "verdict", "fail");
        if (s.worst.table == NULL || (failed && !shown) || (failed == shown && error > s.error))
            s.worst = row;
        s.error = fmax(s.error, error);
    }
    return s;
}

static void put_verdict(FILE *out, const sum *s)
{
    if (s->failed > 0)
        fprintf(out, "**FAIL** (%d)", s->failed);
    else if (s->passed > 0)
        fprintf(out, "pass%s", s->others > 0 ? " \\*" : "");
    else
        fputs(s->others > 0 ? "not judged \\*" : "–", out);
}

void report_section_accuracy(FILE *out, const report_model *model, const report_figures *figures)
{
    fputs("## Accuracy\n\n"
          "Every kernel against its contract, over all specs, pairings and positions that were "
          "checked. *Its* contract, position and pair are those of the largest error (or of a "
          "failure); *error / contract* is the largest of any case.\n\n",
          out);
    report_table(out,
                 "kernel|dtype|verdict|>positions|>comparisons|>largest error, u|>its "
                 "contract, u|>its position|>its pair|>error / contract|>correctly rounded, %");
    for (size_t k = 0; k < 2 * model->kernel_count; k++) { /* rotations, then other encodings */
        size_t kernel = k % model->kernel_count;
        cut c = {.kernel = model->kernels[kernel],
                 .property = k == kernel ? "contract" : "sum-contract"};
        size_t dtypes;
        const char **dtype = report_distinct(&model->verify, "dtype", in_cut, &c, &dtypes);
        for (size_t d = 0; d < dtypes; d++) {
            c.dtype = dtype[d];
            sum s = add_up(&model->verify, &c);
            fputs("| ", out);
            report_put(out, c.kernel);
            fputs(" | ", out);
            report_put(out, c.dtype);
            fputs(" | ", out);
            put_verdict(out, &s);
            fprintf(out, " | %.0f | %.0f | ", s.positions, s.cases);
            report_put_number(out, s.error, 5);
            fputs(" | ", out);
            bool any = s.worst.table != NULL;
            report_put_number(out, any ? report_number(s.worst, "bound_u") : NAN, 5);
            fputs(" | ", out);
            report_put_number(out, any ? report_number(s.worst, "worst_position") : NAN, 12);
            fputs(" | ", out);
            report_put_number(out, any ? report_number(s.worst, "worst_pair") : NAN, 12);
            fputs(" | ", out);
            report_put_number(out, s.ratio, 3);
            fputs(" | ", out);
            report_put_number(out, s.rounded_weight > 0 ? 100 * s.rounded / s.rounded_weight : NAN,
                              4);
            fputs(" |\n", out);
        }
        free(dtype);
    }
    fputs("\n\\* some rows were not judged; they are named under [Properties](#properties).\n\n",
          out);
    report_put_figures(out, figures, REPORT_ERROR_POSITION);
    report_put_figures(out, figures, REPORT_DECAY);
}

/* ---- properties ---- */

static void put_failures(FILE *out, const report_model *model)
{
    const cut c = {.verdict = "fail"};
    bool any = false;
    for (size_t r = 0; r < model->verify.count; r++) {
        report_row row = model->verify.items[r];
        if (!in_cut(row, &c))
            continue;
        if (!any) {
            fputs("**What failed**\n\n", out);
            report_table(out, "kernel|property|spec|pairing|dtype|reason|replay");
        }
        any = true;
        static const char *const columns[] = {"kernel",  "property", "spec",
                                              "pairing", "dtype",    "reason"};
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            fputs("| ", out);
            (strcmp(columns[i], "spec") == 0 ? report_put_code
                                             : report_put)(out, report_text(row, columns[i]));
            fputc(' ', out);
        }
        fputs("| ", out);
        report_put_code(out, report_text(row, "replay"));
        fputs(" |\n", out);
    }
    fputs(any ? "\n" : "Nothing failed.\n\n", out);
}

/* Kernels across, properties down. */
static void put_matrix(FILE *out, const report_model *model)
{
    size_t properties, kernels;
    const char **property =
        report_distinct(&model->verify, "property", is_judged, NULL, &properties);
    const char **kernel = report_distinct(&model->verify, "kernel", is_judged, NULL, &kernels);
    fputs("| property | comparisons |", out);
    for (size_t k = 0; k < kernels; k++) {
        fputc(' ', out);
        report_put(out, kernel[k]);
        fputs(" |", out);
    }
    fputs("\n|:---|---:|", out);
    for (size_t k = 0; k < kernels; k++)
        fputs(":---|", out);
    fputc('\n', out);
    for (size_t p = 0; p < properties; p++) {
        cut c = {.property = property[p]};
        fputs("| ", out);
        report_put(out, property[p]);
        fprintf(out, " | %.0f |", add_up(&model->verify, &c).cases);
        for (size_t k = 0; k < kernels; k++) {
            c.kernel = kernel[k];
            sum s = add_up(&model->verify, &c);
            fputc(' ', out);
            put_verdict(out, &s);
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    free(property);
    free(kernel);
    fputc('\n', out);
}

void report_section_properties(FILE *out, const report_model *model)
{
    fputs("## Properties\n\nWhat must hold, with the number of comparisons made over all kernels; "
          "`tightrope list properties` states each. An en dash: the property says nothing about "
          "the kernel.\n\n",
          out);
    put_matrix(out, model);
    put_failures(out, model);
    report_put_unjudged(out, model);
}

/* ---- worst cases ---- */

/* Some figures have no input: sums over a row of ones, comparisons of bits. */
static void put_inputs(FILE *out, report_row row)
{
    const char *x0 = report_text(row, "worst_x0"), *x1 = report_text(row, "worst_x1");
    bool both_zero = strcmp(x0, "0x0p+0") == 0 && (*x1 == '\0' || strcmp(x1, "0x0p+0") == 0);
    if (*x0 == '\0' || both_zero) {
        fputs("–", out);
        return;
    }
    report_put_code(out, x0);
    if (*x1 != '\0') {
        fputs(" ", out);
        report_put_code(out, x1);
    }
}

/* A figure to show, or a failure: where bits were compared and agree there is none. */
static bool is_worth_showing(report_row row)
{
    if (row.table == NULL || isnan(report_number(row, "max_error_u")))
        return false;
    return report_number(row, "max_error_u") > 0 ||
           strcmp(report_text(row, "verdict"), "pass") != 0;
}

void report_section_worst(FILE *out, const report_model *model)
{
    size_t properties;
    const char **property =
        report_distinct(&model->verify, "property", is_judged, NULL, &properties);
    fputs(
        "## Worst cases\n\nFor each kernel and property, the case that failed, or else the one of "
        "the largest error (in the unit of the property); where all results agreed there is no "
        "line. "
        "Inputs are hex floats; a replay line repeats what failed.\n\n",
        out);
    report_table(out, "kernel|property|dtype|spec|pairing|>position|>pair|x0, x1|>error|>tolerance|"
                      "replay");
    for (size_t k = 0; k < model->kernel_count; k++)
        for (size_t p = 0; p < properties; p++) {
            const cut c = {.kernel = model->kernels[k], .property = property[p]};
            report_row row = add_up(&model->verify, &c).worst;
            if (!is_worth_showing(row))
                continue;
            static const char *const columns[] = {"kernel", "property", "dtype", "spec", "pairing"};
            for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
                fputs("| ", out);
                (strcmp(columns[i], "spec") == 0 ? report_put_code
                                                 : report_put)(out, report_text(row, columns[i]));
                fputc(' ', out);
            }
            fputs("| ", out);
            report_put(out, report_text(row, "worst_position"));
            fputs(" | ", out);
            const char *pair = report_text(row, "worst_pair");
            report_put(out, *pair != '\0' ? pair : "–");
            fputs(" | ", out);
            put_inputs(out, row);
            fputs(" | ", out);
            report_put_number(out, report_number(row, "max_error_u"), 5);
            fputs(" | ", out);
            report_put_number(out, report_number(row, "bound_u"), 5);
            fputs(" | ", out);
            if (*report_text(row, "replay") != '\0')
                report_put_code(out, report_text(row, "replay"));
            else
                fputs("–", out);
            fputs(" |\n", out);
        }
    free(property);
    fputc('\n', out);
}
