/* A report as files. */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

#include "reports/model.h"

/* Writes index.html, index.md, the figures (.svg), the rows (.csv), the records (<run>.json) and
 * all of them in one (run.json) into a folder, whole or not at all. */
bool report_write(const report_model *model, const char *folder, rope_error *error);

#endif
