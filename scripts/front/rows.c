#include "scripts/front/rows.h"
#include "impl/file.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writer ---- */

enum { PATH_SIZE = 4096 };

struct rows_writer {
    FILE *file;
    bool standard_output;
    char path[PATH_SIZE], temporary[PATH_SIZE];
    int columns, field; /* fields written of the current row */
    bool wrong; /* a row with another number of fields: a defect of ours, reported at commit */
};

rows_writer *rows_create(const char *path, const char *columns, rope_error *error)
{
    rows_writer *w = calloc(1, sizeof *w);
    if (w == NULL || strlen(path) >= PATH_SIZE) {
        rope_fail(error,
                  w == NULL ? "out of memory" : "cannot write %.100s...: its name is too long",
                  path);
        free(w);
        return NULL;
    }
    w->standard_output = *path == '\0' || strcmp(path, "-") == 0;
    strcpy(w->path, path);
    w->file = w->standard_output ? stdout
                                 : rows_file_create(path, w->temporary, sizeof w->temporary, error);
    if (w->file == NULL) {
        free(w);
        return NULL;
    }
    w->columns = 1;
    for (const char *c = columns; *c != '\0'; c++)
        w->columns += *c == ',';
    fprintf(w->file, "%s\n", columns);
    return w;
}

static void separate(rows_writer *w)
{
    if (w->field++ > 0)
        fputc(',', w->file);
}

void rows_text(rows_writer *w, const char *text)
{
    separate(w);
    csv_fwrite(w->file, text, strlen(text));
}

void rows_number(rows_writer *w, double value)
{
    separate(w);
    if (!isnan(value))
        fprintf(w->file, "%.17g", value);
}

void rows_integer(rows_writer *w, int64_t value)
{
    separate(w);
    fprintf(w->file, "%lld", (long long)value);
}

void rows_decimal(rows_writer *w, const char *digits)
{
    separate(w);
    fputs(digits, w->file);
}

void rows_hex(rows_writer *w, double value)
{
    separate(w);
    if (!isnan(value))
        fprintf(w->file, "%a", value);
}

void rows_empty(rows_writer *w)
{
    separate(w);
}

void rows_end(rows_writer *w)
{
    w->wrong |= w->field != w->columns;
    w->field = 0;
    fputc('\n', w->file);
}

bool rows_failed(const rows_writer *w)
{
    return ferror(w->file) != 0;
}

bool rows_commit(rows_writer *w, rope_error *error)
{
    bool good;
    if (w->wrong) {
        rope_fail(error, "internal: a row of %s has another number of fields than its %d columns",
                  w->standard_output ? "standard output" : w->path, w->columns);
        rows_abandon(w);
        return false;
    }
    if (w->standard_output)
        good = (fflush(stdout) == 0 && !ferror(stdout)) ||
               rope_fail(error, "cannot write to standard output");
    else
        good = rows_file_commit(w->file, w->temporary, w->path, error);
    free(w);
    return good;
}

void rows_abandon(rows_writer *w)
{
    if (!w->standard_output) {
        fclose(w->file);
        rows_file_abandon(w->temporary);
    }
    free(w);
}

/* ---- reader ---- */

typedef struct {
    rows_table *table;
    char **fields;
    size_t count, capacity, in_row;
    size_t *lines; /* of the rows below the header */
    size_t rows, line_capacity;
    size_t line; /* that is being parsed, from 1 */
    const char *problem;
} reading;

static void on_field(void *data, size_t length, void *context)
{
    reading *r = context;
    if (r->problem != NULL)
        return;
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 256;
        char **fields = realloc(r->fields, capacity * sizeof *fields);
        if (fields == NULL) {
            r->problem = "out of memory";
            return;
        }
        r->fields = fields;
        r->capacity = capacity;
    }
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        r->problem = "out of memory";
        return;
    }
    if (length > 0)
        memcpy(copy, data, length);
    copy[length] = '\0';
    r->fields[r->count++] = copy;
    r->in_row++;
}

static void add_line(reading *r)
{
    if (r->rows == r->line_capacity) {
        size_t capacity = r->line_capacity ? 2 * r->line_capacity : 64;
        size_t *lines = realloc(r->lines, capacity * sizeof *lines);
        if (lines == NULL) {
            r->problem = "out of memory";
            return;
        }
        r->lines = lines;
        r->line_capacity = capacity;
    }
    r->lines[r->rows++] = r->line;
}

static void on_row(int terminator, void *context)
{
    (void)terminator;
    reading *r = context;
    if (r->problem != NULL)
        return;
    if (r->table->columns == 0)
        r->table->columns = r->in_row;
    else if (r->in_row != r->table->columns)
        r->problem = "has another number of fields than the header";
    else
        add_line(r);
    r->in_row = 0;
}

/* What spreadsheets write before UTF-8; its length. */
static size_t byte_order_mark(const char *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Line by line, so that on_row knows where it is; libcsv itself does not count, and passes over
 * empty lines. */
static void parse(reading *r, struct csv_parser *parser, FILE *file)
{
    char buffer[1 << 16];
    size_t got;
    bool ended = false; /* the last line was whole */
    bool begun = false;
    r->line = 1;
    while (r->problem == NULL && (got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        size_t from = begun ? 0 : byte_order_mark(buffer, got);
        begun = true;
        for (size_t length; r->problem == NULL && from < got; from += length) {
            const char *end = memchr(buffer + from, '\n', got - from);
            length = end != NULL ? (size_t)(end - buffer) + 1 - from : got - from;
            r->line += ended;
            ended = end != NULL;
            if (memchr(buffer + from, '\0', length) != NULL) /* /dev/zero would never end */
                r->problem = "holds a NUL byte, expected text";
            else if (csv_parse(parser, buffer + from, length, on_field, on_row, r) != length &&
                     r->problem == NULL)
                r->problem = "is no CSV (a stray quote)";
        }
    }
    if (r->problem == NULL && ferror(file))
        r->problem = "cannot be read";
    if (r->problem == NULL && csv_fini(parser, on_field, on_row, r) != 0)
        r->problem = "is no CSV (an open quote at the end)";
}

bool rows_read(const char *path, rows_table *table, rope_error *error)
{
    *table = (rows_table){0};
    /* What the shell made a stream on purpose, /dev/stdin or a <(...), is read as one. */
    bool stream = strncmp(path, "/dev/", 5) == 0;
    FILE *file = stream ? fopen(path, "r") : NULL;
    if (stream && file == NULL)
        return rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    if (!stream && !rope_open_regular(path, &file, error))
        return false;
    struct csv_parser parser;
    reading r = {.table = table};
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        r.problem = "out of memory";
    else
        parse(&r, &parser, file);
    csv_free(&parser);
    fclose(file);
    if (r.problem == NULL && table->columns == 0)
        r.problem = "is empty, expected a header";
    if (r.problem != NULL) {
        for (size_t i = 0; i < r.count; i++)
            free(r.fields[i]);
        free(r.fields);
        free(r.lines);
        *table = (rows_table){0};
        return rope_fail(error, "%s: line %zu %s", path, r.line, r.problem);
    }
    table->names = r.fields;
    table->fields = r.fields + table->columns;
    table->lines = r.lines;
    table->rows = r.count / table->columns - 1;
    return true;
}

void rows_free(rows_table *table)
{
    for (size_t i = 0; i < table->columns * (table->rows + 1); i++)
        free(table->names[i]);
    free(table->names);
    free(table->lines);
    *table = (rows_table){0};
}

int rows_column(const rows_table *table, const char *name)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0)
            return (int)i;
    return -1;
}

size_t rows_line(const rows_table *table, size_t row)
{
    return table->lines[row];
}

const char *rows_field(const rows_table *table, size_t row, int column)
{
    return column < 0 ? "" : table->fields[row * table->columns + (size_t)column];
}

double rows_field_number(const rows_table *table, size_t row, int column)
{
    const char *text = rows_field(table, row, column);
    char *end;
    double value = strtod(text, &end);
    return end == text || *end != '\0' ? NAN : value;
}
