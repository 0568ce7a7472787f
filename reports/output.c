#include "reports/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/figures.h"
#include "reports/markdown.h"
#include "reports/tools.h"

enum { PATH = 4600 };

/* Opens FOLDER/NAME for writing. */
static FILE *create(const char *folder, const char *name, rope_error *error)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        rope_fail(error, "cannot write %s: %s", path, strerror(errno));
    return file;
}

/* Closes; a full disk shows here. */
static bool finish(FILE *file, const char *folder, const char *name, rope_error *error)
{
    bool good = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    int cause = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        cause = errno;
    }
    return good || rope_fail(error, "cannot write %s/%s: %s", folder, name, strerror(cause));
}

static bool put_file(const char *folder, const char *name, const char *text, rope_error *error)
{
    FILE *file = create(folder, name, error);
    if (file == NULL)
        return false;
    fputs(text, file);
    return finish(file, folder, name, error);
}

/* verify.csv, bench.csv, ...; a second one of a kind is verify-2.csv. The bytes are those that were
 * given. */
static bool copy_sources(const report_model *model, const char *folder, rope_error *error)
{
    int numbers[REPORT_KINDS] = {0};
    for (size_t i = 0; i < model->source_count; i++) {
        const report_source *source = &model->sources[i];
        const char *kind = report_kind_name(source->kind);
        int number = ++numbers[source->kind];
        char name[64];
        snprintf(name, sizeof name, number > 1 ? "%s-%d.csv" : "%s.csv", kind, number);
        FILE *from = fopen(source->path, "r");
        if (from == NULL)
            return rope_fail(error, "cannot read %s: %s", source->path, strerror(errno));
        FILE *to = create(folder, name, error);
        for (int c; to != NULL && (c = getc(from)) != EOF;)
            putc(c, to);
        bool good = !ferror(from);
        fclose(from);
        if (to == NULL || !finish(to, folder, name, error))
            return false;
        if (!good)
            return rope_fail(error, "cannot read %s", source->path);
    }
    return true;
}

static bool put_records(const report_model *model, const char *folder, rope_error *error)
{
    FILE *all = create(folder, "run.json", error);
    if (all == NULL)
        return false;
    const char *separator = "";
    fputs("{\n", all);
    bool good = true;
    for (size_t i = 0; good && i < model->run_count; i++) {
        const report_run *run = &model->runs[i];
        char name[64];
        if (run->json == NULL)
            continue;
        snprintf(name, sizeof name, "%s.json", run->id);
        good = put_file(folder, name, run->json, error);
        fprintf(all, "%s\"%s\": %.*s", separator, run->id,
                (int)strcspn(run->json, "") - (run->json[strlen(run->json) - 1] == '\n'),
                run->json);
        separator = ",\n";
    }
    fputs("\n}\n", all);
    return finish(all, folder, "run.json", error) && good;
}

/* gnuplot does not tell a full disk. */
static bool check_svg(const char *folder, const char *name, rope_error *error)
{
    char path[PATH], tail[64] = "";
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    FILE *file = fopen(path, "r");
    if (file != NULL && fseek(file, -32, SEEK_END) == 0)
        tail[fread(tail, 1, sizeof tail - 1, file)] = '\0';
    if (file != NULL)
        fclose(file);
    return strstr(tail, "</svg>") != NULL || rope_fail(error, "cannot write %s whole", path);
}

static bool draw(const report_figures *figures, const char *folder, rope_error *error)
{
    char script[PATH];
    for (size_t i = 0; i < figures->count; i++) {
        const report_figure *figure = &figures->items[i];
        if (!put_file(folder, "figure.gp", figure->script, error) ||
            !report_gnuplot(folder, "figure.gp", error) || !check_svg(folder, figure->name, error))
            return false;
    }
    snprintf(script, sizeof script, "%s/figure.gp", folder);
    return figures->count == 0 || unlink(script) == 0 ||
           rope_fail(error, "cannot remove %s: %s", script, strerror(errno));
}

static bool put_page(const report_model *model, const report_figures *figures, const char *folder,
                     rope_error *error)
{
    char style[PATH];
    char *markdown = report_markdown(model, figures);
    bool good = (markdown != NULL || rope_fail(error, "out of memory")) &&
                put_file(folder, "index.md", markdown, error) &&
                put_file(folder, "style.css", report_style, error) &&
                report_pandoc(folder, "Tightrope report", error);
    free(markdown);
    snprintf(style, sizeof style, "%s/style.css", folder);
    unlink(style);
    return good;
}

bool report_write(const report_model *model, const char *folder, rope_error *error)
{
    char temporary[4200];
    report_figures figures;
    if (!report_figures_make(model, &figures, error))
        return false;
    if (!rows_folder_create(folder, temporary, sizeof temporary, error)) {
        report_figures_free(&figures);
        return false;
    }
    bool good = copy_sources(model, temporary, error) && put_records(model, temporary, error) &&
                draw(&figures, temporary, error) && put_page(model, &figures, temporary, error);
    report_figures_free(&figures);
    if (!good) {
        rows_folder_abandon(temporary);
        return false;
    }
    return rows_folder_commit(temporary, folder, "index.html", error);
}
