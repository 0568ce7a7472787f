/* The report's text: Markdown that pandoc and GitHub read, from rows alone. */
#ifndef REPORT_MARKDOWN_H
#define REPORT_MARKDOWN_H

#include "reports/figures.h"

/* malloc'ed; NULL when memory is out. */
char *report_markdown(const report_model *model, const report_figures *figures);

/* Sections, in this order; each begins with a heading of level 2. */
void report_section_summary(FILE *out, const report_model *model);
void report_section_environment(FILE *out, const report_model *model);
void report_section_reading(FILE *out);
void report_section_accuracy(FILE *out, const report_model *model, const report_figures *figures);
void report_section_properties(FILE *out, const report_model *model);
/* Part of the properties: rows that were neither passed nor failed. */
void report_put_unjudged(FILE *out, const report_model *model);
void report_section_worst(FILE *out, const report_model *model);
void report_section_speed(FILE *out, const report_model *model, const report_figures *figures);
/* Whether there are rows of an encoding other than RoPE. */
bool report_has_encodings(const report_model *model);
void report_section_encodings(FILE *out, const report_model *model);
void report_section_stages(FILE *out, const report_model *model, const report_figures *figures);
void report_section_drift(FILE *out, const report_model *model, const report_figures *figures);
void report_section_mutants(FILE *out, const report_model *model);
void report_section_papers(FILE *out, const report_model *model);
void report_section_columns(FILE *out);
void report_section_citing(FILE *out, const report_model *model);

/* Figures of a topic, with captions. */
void report_put_figures(FILE *out, const report_figures *figures, report_topic topic);

#endif
