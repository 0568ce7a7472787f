/* Rows in CSV, written and read with libcsv. A file is written beside its name and renamed when
 * complete: whole or not at all. Text is always quoted, numbers are bare with 17 significant
 * digits, empty where not applicable. */
#ifndef FRONT_ROWS_H
#define FRONT_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "impl/error.h"

typedef struct rows_writer rows_writer;

/* path "" or "-" = stdout. columns: "run,kernel,..." . NULL with a line. */
rows_writer *rows_create(const char *path, const char *columns, rope_error *error);
void rows_text(rows_writer *w, const char *text);
void rows_number(rows_writer *w, double value); /* NaN: empty field */
void rows_integer(rows_writer *w, int64_t value);
void rows_decimal(rows_writer *w, const char *digits); /* a number of any precision, bare */
void rows_hex(rows_writer *w, double value);           /* a hex float; NaN: empty field */
void rows_empty(rows_writer *w);
void rows_end(rows_writer *w); /* ends the row; as many fields as columns, else the writer fails */
/* Whether a write has failed: nothing more is worth making, and rows_commit will say so. */
bool rows_failed(const rows_writer *w);
/* Flushes, checks, renames; false with a line (disk full, ...), the file is then gone. Frees w. */
bool rows_commit(rows_writer *w, rope_error *error);
void rows_abandon(rows_writer *w); /* removes the temporary file */

/* A table in memory. */
typedef struct rows_table {
    size_t columns, rows;
    char **names;  /* [columns] */
    char **fields; /* [rows * columns] */
    size_t *lines; /* [rows]: see rows_line */
} rows_table;

/* Reads a CSV with a header line. False with path and line. */
bool rows_read(const char *path, rows_table *table, rope_error *error);
void rows_free(rows_table *table);
/* Index of a column, or -1. */
int rows_column(const rows_table *table, const char *name);
/* The line of the file on which a row ends, as an editor counts: the header's is 1. For messages.
 */
size_t rows_line(const rows_table *table, size_t row);
const char *rows_field(const rows_table *table, size_t row, int column); /* "" for column -1 */
double rows_field_number(const rows_table *table, size_t row,
                         int column); /* NaN when empty or no number */

/* A text file written whole or not at all (Markdown, HTML, SVG, JSON). */
FILE *rows_file_create(const char *path, char *temporary, size_t size, rope_error *error);
bool rows_file_commit(FILE *file, const char *temporary, const char *path, rope_error *error);

void rows_file_abandon(const char *temporary); /* after the caller's fclose */

/* A folder written whole or not at all: a temporary one is made, which the caller fills. Committed,
 * it takes its name, or, where a folder of that name exists, its files move there, each whole,
 * replacing those of equal names and leaving others; the file `last` moves last. Folders above it
 * that are missing are made at once, and stay. */
bool rows_folder_create(const char *path, char *temporary, size_t size, rope_error *error);
bool rows_folder_commit(const char *temporary, const char *path, const char *last,
                        rope_error *error);
void rows_folder_abandon(const char *temporary); /* removes it and what it holds */

/* Removes every temporary file and folder that is open; for a signal handler's use, so
 * async-signal-safe. */
void rows_remove_temporaries(void);

#endif
