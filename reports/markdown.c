#include "reports/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "reports/text.h"

void report_put_figures(FILE *out, const report_figures *figures, report_topic topic)
{
    for (size_t i = 0; i < figures->count; i++) {
        const report_figure *figure = &figures->items[i];
        if (figure->topic != topic)
            continue;
        fputs("![", out);
        report_put(out, figure->caption);
        fprintf(out, "](%s.svg)\n\n", figure->name);
    }
}

static void put_contents(FILE *out, const report_model *model)
{
    fputs("## Contents\n\n"
          "- [Summary](#summary)\n"
          "- [Environment and commands](#environment-and-commands)\n"
          "- [How to read this report](#how-to-read-this-report)\n",
          out);
    if (model->verify.count > 0)
        fputs("- [Accuracy](#accuracy)\n"
              "- [Properties](#properties)\n"
              "- [Worst cases](#worst-cases)\n",
              out);
    if (model->bench.count > 0)
        fputs("- [Speed](#speed)\n", out);
    if (report_has_encodings(model))
        fputs("- [Encodings compared](#encodings-compared)\n", out);
    if (model->stages.count > 0)
        fputs("- [Error by stage](#error-by-stage)\n", out);
    if (model->drift.count > 0)
        fputs("- [Offset drift](#offset-drift)\n", out);
    if (model->mutants.count > 0)
        fputs("- [What the verification can see](#what-the-verification-can-see)\n", out);
    if (model->papers.count > 0)
        fputs("- [Papers' tables](#papers-tables)\n", out);
    fputs("- [Columns of the CSV files](#columns-of-the-csv-files)\n"
          "- [How to cite and repeat](#how-to-cite-and-repeat)\n\n",
          out);
}

char *report_markdown(const report_model *model, const report_figures *figures)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fputs("# Tightrope: accuracy and speed of RoPE kernels\n\n", out);
    report_section_summary(out, model);
    put_contents(out, model);
    report_section_environment(out, model);
    report_section_reading(out);
    if (model->verify.count > 0) {
        report_section_accuracy(out, model, figures);
        report_section_properties(out, model);
        report_section_worst(out, model);
    }
    if (model->bench.count > 0)
        report_section_speed(out, model, figures);
    if (report_has_encodings(model))
        report_section_encodings(out, model);
    if (model->stages.count > 0)
        report_section_stages(out, model, figures);
    if (model->drift.count > 0)
        report_section_drift(out, model, figures);
    if (model->mutants.count > 0)
        report_section_mutants(out, model);
    if (model->papers.count > 0)
        report_section_papers(out, model);
    report_section_columns(out);
    report_section_citing(out, model);
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good) {
        free(text);
        return NULL;
    }
    return text;
}
