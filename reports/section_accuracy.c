#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

typedef struct {
    const char *kernel, *dtype, *property, *verdict;
} cut;

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
    report_row worst; /* of the largest ratio */
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
        s.error = fmax(s.error, report_number(row, "max_error_u"));
        if (!isnan(rounded) && cases > 0) {
            s.rounded += rounded * cases;
            s.rounded_weight += cases;
        }
        if (s.worst.table == NULL || ratio_of(row) > s.ratio || isnan(s.ratio)) {
            s.ratio = ratio_of(row);
            s.worst = row;
        }
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
          "checked. *closest case*: where error / contract was largest.\n\n",
          out);
    report_table(out, "kernel|dtype|verdict|>positions|>comparisons|>largest error, u|>error / "
                      "contract|>its contract, u|>its position|>its pair|>correctly rounded, %");
    for (size_t k = 0; k < model->kernel_count; k++) {
        cut c = {.kernel = model->kernels[k], .property = "contract"};
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
            report_put_number(out, s.ratio, 3);
            fputs(" | ", out);
            bool any = s.worst.table != NULL;
            report_put_number(out, any ? report_number(s.worst, "bound_u") : NAN, 5);
            fputs(" | ", out);
            report_put_number(out, any ? report_number(s.worst, "worst_position") : NAN, 12);
            fputs(" | ", out);
            report_put_number(out, any ? report_number(s.worst, "worst_pair") : NAN, 12);
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

/* Rows that were neither passed nor failed: one line for equal kernel, verdict and reason. */
static void put_unjudged(FILE *out, const report_model *model)
{
    bool any = false;
    for (size_t r = 0; r < model->verify.count; r++) {
        report_row row = model->verify.items[r];
        if (report_is(row, "verdict", "pass") || report_is(row, "verdict", "fail"))
            continue;
        int equal = 0;
        bool first = true;
        for (size_t o = 0; o < model->verify.count && first; o++) {
            report_row other = model->verify.items[o];
            if (report_is(other, "kernel", report_text(row, "kernel")) &&
                report_is(other, "verdict", report_text(row, "verdict")) &&
                report_is(other, "reason", report_text(row, "reason"))) {
                first = o >= r;
                equal++;
            }
        }
        if (!first)
            continue;
        if (!any) {
            fputs("**What was not judged** (never counted as a pass)\n\n", out);
            report_table(out, "kernel|verdict|reason|>rows");
        }
        any = true;
        fputs("| ", out);
        report_put(out, report_text(row, "kernel"));
        fputs(" | ", out);
        report_put(out, report_text(row, "verdict"));
        fputs(" | ", out);
        report_put(out, report_text(row, "reason"));
        fprintf(out, " | %d |\n", equal);
    }
    if (any)
        fputs("\n", out);
}

void report_section_properties(FILE *out, const report_model *model)
{
    size_t properties;
    const char **property = report_distinct(&model->verify, "property", NULL, NULL, &properties);
    fputs("## Properties\n\nWhat must hold for any kernel beside its contract, with the number of "
          "comparisons made.\n\n| kernel |",
          out);
    for (size_t p = 0; p < properties; p++) {
        fputc(' ', out);
        report_put(out, property[p]);
        fputs(" |", out);
    }
    fputs("\n|:---|", out);
    for (size_t p = 0; p < properties; p++)
        fputs(":---|", out);
    fputc('\n', out);
    for (size_t k = 0; k < model->kernel_count; k++) {
        const cut kernel = {.kernel = model->kernels[k]};
        size_t count;
        free(report_distinct(&model->verify, "kernel", in_cut, &kernel, &count));
        if (count == 0)
            continue;
        fputs("| ", out);
        report_put(out, model->kernels[k]);
        fputs(" |", out);
        for (size_t p = 0; p < properties; p++) {
            const cut c = {.kernel = model->kernels[k], .property = property[p]};
            sum s = add_up(&model->verify, &c);
            fputc(' ', out);
            put_verdict(out, &s);
            if (s.cases > 0)
                fprintf(out, " %.0f", s.cases);
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    free(property);
    fputc('\n', out);
    put_failures(out, model);
    put_unjudged(out, model);
}

/* ---- worst cases ---- */

void report_section_worst(FILE *out, const report_model *model)
{
    size_t properties;
    const char **property = report_distinct(&model->verify, "property", NULL, NULL, &properties);
    fputs("## Worst cases\n\nFor each kernel and property, the case that came closest to its "
          "tolerance. Inputs are hex floats; a replay line repeats what failed.\n\n",
          out);
    report_table(out, "kernel|property|dtype|spec|pairing|>position|>pair|x0, x1|>tolerance, u|"
                      ">error / tolerance|replay");
    for (size_t k = 0; k < model->kernel_count; k++)
        for (size_t p = 0; p < properties; p++) {
            const cut c = {.kernel = model->kernels[k], .property = property[p]};
            report_row row = add_up(&model->verify, &c).worst;
            if (row.table == NULL || isnan(ratio_of(row)))
                continue;
            static const char *const columns[] = {"kernel", "property", "dtype", "spec", "pairing"};
            for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
                fputs("| ", out);
                (strcmp(columns[i], "spec") == 0 ? report_put_code
                                                 : report_put)(out, report_text(row, columns[i]));
                fputc(' ', out);
            }
            fputs("| ", out);
            report_put_number(out, report_number(row, "worst_position"), 12);
            fputs(" | ", out);
            report_put_number(out, report_number(row, "worst_pair"), 12);
            fputs(" | ", out);
            report_put_code(out, report_text(row, "worst_x0"));
            fputs(" ", out);
            report_put_code(out, report_text(row, "worst_x1"));
            fputs(" | ", out);
            report_put_number(out, report_number(row, "bound_u"), 5);
            fputs(" | ", out);
            report_put_number(out, ratio_of(row), 4);
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
