#include "props/verify_plugins.h"

#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"

/* A path as one word of a shell: in single quotes, a quote inside as '\''. */
static void put_word(const char *path, FILE *out)
{
    fputs(" --plugin '", out);
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '\'')
            fputs("'\\''", out);
        else
            fputc(*c, out);
    fputc('\'', out);
}

static char *words_of(const front_values *paths)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    for (int i = 0; i < paths->count; i++)
        put_word(paths->items[i], out);
    return fclose(out) == 0 ? text : NULL;
}

bool prop_plugins_load(const front_values *paths, prop_plugins *plugins, rope_error *error)
{
    *plugins = (prop_plugins){.items = calloc((size_t)paths->count + 1, sizeof *plugins->items),
                              .words = words_of(paths)};
    if (plugins->items == NULL || plugins->words == NULL)
        return rope_fail(error, "out of memory");
    for (int i = 0; i < paths->count; i++) {
        if (!rope_plugin_load(paths->items[i], &plugins->items[i], error))
            return false;
        plugins->count++;
    }
    return true;
}

void prop_plugins_free(prop_plugins *plugins)
{
    free(plugins->items);
    free(plugins->words);
    *plugins = (prop_plugins){0};
}

prop_sum prop_plugins_text(const prop_plugins *plugins, FILE *out)
{
    prop_sum sum = {0};
    for (size_t i = 0; i < plugins->count; i++)
        if (plugins->items[i].disturbance[0] != '\0') {
            fprintf(out, "FAIL plug-in %s\n     %s\n", plugins->items[i].path,
                    plugins->items[i].disturbance);
            sum.failed++;
        }
    return sum;
}

void prop_plugins_rows(const prop_plugins *plugins, const char *run, rows_writer *w)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const rope_plugin *p = &plugins->items[i];
        if (p->disturbance[0] == '\0')
            continue;
        const char *const texts[] = {
            run, rope_header_name(p->kernels[0]), "", "", "", "", "environment", "load"};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            rows_text(w, texts[k]);
        rows_integer(w, 0);
        rows_integer(w, 1);
        for (int k = 0; k < 9; k++) /* max_error_u to worst_x1: nothing was rotated */
            rows_empty(w);
        rows_text(w, "fail");
        rows_text(w, p->disturbance);
        rows_text(w, "");
        for (int k = 0; k < 3; k++) /* ratio, value, exact_value */
            rows_empty(w);
        rows_end(w);
    }
}

prop_sum prop_plugins_junit(const prop_plugins *plugins, FILE *out)
{
    prop_sum sum = {0};
    for (size_t i = 0; i < plugins->count; i++) {
        if (plugins->items[i].disturbance[0] == '\0')
            continue;
        sum.failed++;
        if (out == NULL)
            continue;
        fputs("  <testcase classname=\"tightrope.plugin\" name=\"", out);
        prop_junit_escape(plugins->items[i].path, out);
        fputs("\">\n    <failure message=\"", out);
        prop_junit_escape(plugins->items[i].disturbance, out);
        fputs("\"></failure>\n  </testcase>\n", out);
    }
    return sum;
}
