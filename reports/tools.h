/* The programs that make figures and pages from text. */
#ifndef REPORT_TOOLS_H
#define REPORT_TOOLS_H

#include <stdbool.h>

#include "impl/error.h"

/* Whether a program is on PATH. */
bool report_tool_exists(const char *name);

/* Runs gnuplot on a script file of `folder`, with `folder` as its working folder, without the
 * user's settings, in the C locale. */
bool report_gnuplot(const char *folder, const char *script, rope_error *error);

/* Makes one page of `folder`/index.md and all that it shows: `folder`/index.html. */
bool report_pandoc(const char *folder, const char *title, rope_error *error);

/* The style of the page (reports/style.css, part of the program). */
extern const char report_style[];

#endif
