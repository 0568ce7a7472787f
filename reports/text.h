/* Pieces of Markdown (pandoc's and GitHub's), with everything from rows and records escaped. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

/* Plain text: punctuation is escaped, control characters become spaces. */
void report_put(FILE *out, const char *text);

/* The same set in the typewriter face; fit for a table's cell. */
void report_put_code(FILE *out, const char *text);

/* A number with so many significant digits, "0.1234", "1.3e+05"; an en dash for NaN. */
void report_put_number(FILE *out, double value, int digits);

/* Bytes: "16 KiB". */
void report_put_bytes(FILE *out, double bytes);

/* A table's head: names separated by '|', a leading '>' of a name aligns its column to the right.
 */
void report_table(FILE *out, const char *names);

#endif
