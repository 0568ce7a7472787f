#include "reports/model.h"
#include "impl/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/front/environment.h"

static const char *const verify_columns[] = {
    "run",         "kernel",  "pairing", "dtype",  "spec",     "truth",    "property",
    "arrangement", "verdict", "reason",  "replay", "worst_x0", "worst_x1", NULL};
static const char *const verify_numbers[] = {
    "positions_checked", "cases",   "max_error_u",    "rms_error_u", "max_ulp",
    "correctly_rounded", "bound_u", "worst_position", "worst_pair",  NULL};
static const char *const bench_columns[] = {"run",  "kernel", "pairing", "dtype",
                                            "spec", "mode",   "verdict", NULL};
static const char *const bench_numbers[] = {
    "tokens",  "heads",    "bytes",        "ns_per_element", "ns_ci_low",   "ns_ci_high",
    "samples", "gb_per_s", "ratio_memcpy", "ratio_scale",    "max_error_u", NULL};

static const char *const mutants_columns[] = {"run",    "mutant", "class", "mutates",
                                              "killed", "reason", NULL};
static const char *const stages_columns[] = {"run",   "kernel", "dtype", "spec",
                                             "truth", "stage",  NULL};
static const char *const stages_numbers[] = {"band_first",     "band_end", "share", "model_rms_u",
                                             "measured_rms_u", "ratio",    NULL};
static const char *const drift_columns[] = {"run", "kernel", "dtype", "spec", "truth", NULL};
static const char *const drift_numbers[] = {"magnitude", "samples", "max_drift", "rms_drift", NULL};
static const char *const papers_columns[] = {"table", "base",   "argument", "printed",
                                             "note",  "source", NULL};
static const char *const papers_numbers[] = {"head_dim",   "base",    "argument", "value_low",
                                             "value_high", "printed", NULL};
static const char *const none[] = {NULL};

/* mark: the column that only this kind has; verify is what has none of them. */
static const struct {
    const char *name, *mark;
    const char *const *texts, *const *numbers;
} kinds[REPORT_KINDS] = {
    [REPORT_VERIFY] = {"verify", NULL, verify_columns, verify_numbers},
    [REPORT_BENCH] = {"bench", "ns_per_element", bench_columns, bench_numbers},
    [REPORT_MUTANTS] = {"mutants", "mutates", mutants_columns, none},
    [REPORT_STAGES] = {"stages", "stage", stages_columns, stages_numbers},
    [REPORT_DRIFT] = {"drift", "max_drift", drift_columns, drift_numbers},
    [REPORT_PAPERS] = {"papers", "value_low", papers_columns, papers_numbers},
};

const char *report_kind_name(report_kind kind)
{
    return kinds[kind].name;
}

const char *report_text(report_row row, const char *column)
{
    return rows_field(row.table, row.index, rows_column(row.table, column));
}

double report_number(report_row row, const char *column)
{
    return rows_field_number(row.table, row.index, rows_column(row.table, column));
}

bool report_is(report_row row, const char *column, const char *value)
{
    return strcmp(report_text(row, column), value) == 0;
}

/* Whether the table has all of these columns; else *missing is one that it lacks. */
static bool has(const rows_table *table, const char *const *columns, const char **missing)
{
    for (; *columns != NULL; columns++)
        if (rows_column(table, *columns) < 0) {
            *missing = *columns;
            return false;
        }
    return true;
}

static bool check_numbers(const report_source *source, const char *const *columns,
                          rope_error *error)
{
    for (; *columns != NULL; columns++) {
        int column = rows_column(&source->table, *columns);
        for (size_t r = 0; r < source->table.rows; r++) {
            const char *text = rows_field(&source->table, r, column);
            if (*text != '\0' && isnan(rows_field_number(&source->table, r, column)))
                return rope_fail(error, "%s: line %zu: %s is '%.40s', expected a number or nothing",
                                 source->path, rows_line(&source->table, r), *columns, text);
        }
    }
    return true;
}

/* Times and shapes that no run of bench has, in the words of compare and pick. */
static bool check_bench(const report_source *source, rope_error *error)
{
    static const char *const columns[] = {"tokens", "heads", "ns_per_element", "ns_ci_low",
                                          "ns_ci_high"};
    enum { COUNTS = 2, TIME = 2 };
    for (size_t r = 0; r < source->table.rows; r++)
        for (int c = 0; c < (int)(sizeof columns / sizeof columns[0]); c++) {
            const char *text = report_text((report_row){&source->table, r}, columns[c]);
            double value = report_number((report_row){&source->table, r}, columns[c]);
            const char *expected = NULL;
            if (c < COUNTS && !(isfinite(value) && value >= 1 && value == floor(value)))
                expected = "a whole number >= 1";
            else if (c >= COUNTS && *text != '\0' &&
                     !(isfinite(value) && (value > 0 || (c != TIME && value == 0))))
                expected = c == TIME
                               ? "a finite number above 0, or nothing where it was not measured"
                               : "a finite number >= 0, or nothing where it was not measured";
            if (expected != NULL)
                return rope_fail(error, "%s: line %zu: %s is '%.40s', expected %s", source->path,
                                 rows_line(&source->table, r), columns[c], text, expected);
        }
    return true;
}

static bool load_source(const char *path, report_source *source, rope_error *error)
{
    const char *missing = NULL;
    source->path = strdup(path);
    if (source->path == NULL)
        return rope_fail(error, "out of memory");
    if (!rows_read(path, &source->table, error))
        return false;
    for (int k = 0; k < REPORT_KINDS; k++)
        if (kinds[k].mark != NULL && rows_column(&source->table, kinds[k].mark) >= 0)
            source->kind = (report_kind)k;
    const char *const *numbers = kinds[source->kind].numbers;
    if (!has(&source->table, kinds[source->kind].texts, &missing) ||
        !has(&source->table, numbers, &missing))
        return rope_fail(error,
                         "%s: no column '%s', expected the rows of verify, bench, verify "
                         "--mutants, hunt --stages, hunt --drift or "
                         "oracle --table",
                         path, missing);
    return check_numbers(source, numbers, error) &&
           (source->kind != REPORT_BENCH || check_bench(source, error));
}

/* ---- records ---- */

static char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t capacity;
    FILE *copy = file != NULL ? open_memstream(&text, &capacity) : NULL;
    int c;
    while (copy != NULL && (c = getc(file)) != EOF)
        putc(c, copy);
    bool good = copy != NULL && !ferror(file) && fclose(copy) == 0;
    if (file != NULL)
        fclose(file);
    if (!good) {
        free(text);
        return NULL;
    }
    *size = capacity;
    return text;
}

static bool is_id(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

/* The record <run>.json in the folder of `path`; its absence is no error. */
static bool load_record(const char *path, report_run *run, rope_error *error)
{
    char name[4096], hex[65];
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash - path) + 1 : 0;
    size_t size = 0;
    if ((size_t)snprintf(name, sizeof name, "%.*s%s.json", folder, path, run->id) >= sizeof name)
        return rope_fail(error, "%.100s...: its name is too long", path);
    if (!rope_check_regular(name, error))
        return false;
    run->json = read_whole(name, &size);
    if (run->json == NULL)
        return errno == ENOENT || rope_fail(error, "cannot read %s: %s", name, strerror(errno));
    front_sha256(run->json, size, hex);
    if (strncmp(hex, run->id, 16) != 0)
        return rope_fail(error, "%s is not the record that the rows name: its hash is %.16s", name,
                         hex);
    run->root = cJSON_ParseWithLengthOpts(run->json, size + 1, NULL, true);
    return cJSON_IsObject(run->root) || rope_fail(error, "%s is no JSON object", name);
}

static bool add_run(report_model *model, const char *path, const char *id, rope_error *error)
{
    for (size_t i = 0; i < model->run_count; i++)
        if (strcmp(model->runs[i].id, id) == 0) /* its record may lie beside another file */
            return model->runs[i].json != NULL || !is_id(id) ||
                   load_record(path, &model->runs[i], error);
    report_run *runs = realloc(model->runs, (model->run_count + 1) * sizeof *runs);
    if (runs == NULL)
        return rope_fail(error, "out of memory");
    model->runs = runs;
    report_run *run = &runs[model->run_count];
    *run = (report_run){.id = strdup(id)};
    if (run->id == NULL)
        return rope_fail(error, "out of memory");
    model->run_count++;
    /* The id becomes a file's name: only what we write ourselves is looked for. */
    return !is_id(id) || load_record(path, run, error);
}

static bool add_kernel(report_model *model, const char *name, rope_error *error)
{
    for (size_t i = 0; i < model->kernel_count; i++)
        if (strcmp(model->kernels[i], name) == 0)
            return true;
    const char **kernels = realloc(model->kernels, (model->kernel_count + 1) * sizeof *kernels);
    if (kernels == NULL)
        return rope_fail(error, "out of memory");
    model->kernels = kernels;
    model->kernels[model->kernel_count++] = name;
    return true;
}

static bool add_rows(report_model *model, const report_source *source, rope_error *error)
{
    report_rows *const of_kind[REPORT_KINDS] = {&model->verify, &model->bench, &model->mutants,
                                                &model->stages, &model->drift, &model->papers};
    report_rows *to = of_kind[source->kind];
    report_row *items = realloc(to->items, (to->count + source->table.rows + 1) * sizeof *items);
    if (items == NULL)
        return rope_fail(error, "out of memory");
    to->items = items;
    for (size_t r = 0; r < source->table.rows; r++) {
        report_row row = {&source->table, r};
        to->items[to->count++] = row;
        if (source->kind == REPORT_PAPERS)
            continue; /* of no kernel and no run */
        if ((source->kind != REPORT_MUTANTS &&
             !add_kernel(model, report_text(row, "kernel"), error)) ||
            !add_run(model, source->path, report_text(row, "run"), error))
            return false;
    }
    return true;
}

/* By kind, then by what the files hold (their first column is the run), so that the page is the
 * same in whatever order they are given; a name tells only files apart that hold the same. */
static int by_content(const void *a, const void *b)
{
    const report_source *x = a, *y = b;
    const rows_table *s = &x->table, *t = &y->table;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (s->columns != t->columns)
        return s->columns < t->columns ? -1 : 1;
    int order = 0;
    for (size_t c = 0; order == 0 && c < s->columns; c++)
        order = strcmp(s->names[c], t->names[c]);
    size_t rows = s->rows < t->rows ? s->rows : t->rows;
    for (size_t f = 0; order == 0 && f < rows * s->columns; f++)
        order = strcmp(s->fields[f], t->fields[f]);
    if (order == 0 && s->rows != t->rows)
        order = s->rows < t->rows ? -1 : 1;
    return order != 0 ? order : strcmp(x->path, y->path);
}

bool report_load(const char *const *paths, size_t count, report_model *model, rope_error *error)
{
    *model = (report_model){0};
    model->sources = calloc(count + 1, sizeof *model->sources);
    size_t rows = 0;
    bool good = model->sources != NULL || rope_fail(error, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        good = load_source(paths[i], &model->sources[model->source_count++], error);
        if (good)
            rows += model->sources[i].table.rows;
    }
    if (good && count > 1)
        qsort(model->sources, count, sizeof *model->sources, by_content);
    for (size_t i = 0; good && i < count; i++) /* never moved from here on: rows point there */
        good = add_rows(model, &model->sources[i], error);
    if (good && rows == 0)
        good = rope_fail(error, "no rows: %s%s", count > 0 ? paths[0] : "no file is given",
                         count > 1 ? " and the other files have header lines only"
                         : count   ? " has a header line only"
                                   : "");
    if (!good)
        report_free(model);
    return good;
}

void report_free(report_model *model)
{
    for (size_t i = 0; i < model->source_count; i++) {
        if (model->sources[i].table.names != NULL)
            rows_free(&model->sources[i].table);
        free(model->sources[i].path);
    }
    for (size_t i = 0; i < model->run_count; i++) {
        cJSON_Delete(model->runs[i].root);
        free(model->runs[i].json);
        free(model->runs[i].id);
    }
    free(model->sources);
    free(model->verify.items);
    free(model->bench.items);
    free(model->mutants.items);
    free(model->stages.items);
    free(model->drift.items);
    free(model->papers.items);
    free(model->runs);
    free(model->kernels);
    *model = (report_model){0};
}
