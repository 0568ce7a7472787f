#include <string.h>

#include "reports/markdown.h"
#include "reports/text.h"

static const char *text_at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    const char *text = cJSON_GetStringValue(item);
    return text != NULL ? text : cJSON_IsTrue(item) ? "yes" : cJSON_IsFalse(item) ? "no" : "";
}

static void row(FILE *out, const char *name, const char *value)
{
    if (*value == '\0')
        return;
    fputs("| ", out);
    report_put(out, name);
    fputs(" | ", out);
    report_put(out, value);
    fputs(" |\n", out);
}

/* Members of an object as rows; names keep their spelling, with blanks for underscores. */
static void rows(FILE *out, const cJSON *object, const char *skip)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        if (item->string == NULL || strcmp(item->string, skip) == 0)
            continue;
        char name[128];
        snprintf(name, sizeof name, "%s", item->string);
        for (char *c = name; *c != '\0'; c++)
            if (*c == '_')
                *c = ' ';
        row(out, name, text_at(object, item->string));
    }
}

static void libraries(FILE *out, const cJSON *object)
{
    char text[512] = "";
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        size_t used = strlen(text);
        if (item->string != NULL)
            snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "", item->string,
                     text_at(object, item->string));
    }
    row(out, "libraries", text);
}

static bool same_machine(const report_run *a, const report_run *b)
{
    return a->root != NULL && b->root != NULL &&
           cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a->root, "machine"),
                         cJSON_GetObjectItemCaseSensitive(b->root, "machine"), true) &&
           cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a->root, "build"),
                         cJSON_GetObjectItemCaseSensitive(b->root, "build"), true);
}

static void put_machine(FILE *out, const report_run *run)
{
    const cJSON *build = cJSON_GetObjectItemCaseSensitive(run->root, "build");
    report_table(out, "machine and build|");
    rows(out, cJSON_GetObjectItemCaseSensitive(run->root, "machine"), "cpu_flags");
    row(out, "commit", text_at(build, "commit"));
    row(out, "uncommitted changes", text_at(build, "dirty"));
    row(out, "compiler", text_at(build, "compiler"));
    const char *kernel_flags = text_at(build, "kernel_flags"); /* "": a record older than the key */
    row(out, "flags, kernels", kernel_flags);
    row(out, *kernel_flags != '\0' ? "flags, all else" : "flags", text_at(build, "flags"));
    libraries(out, cJSON_GetObjectItemCaseSensitive(run->root, "libraries"));
    fputs("\n", out);
}

static void put_run(FILE *out, const report_run *run)
{
    fputs("**Run ", out);
    report_put_code(out, run->id);
    fputs("**\n\n", out);
    if (run->root == NULL) {
        fputs("There is no record of this run beside its rows: where and how it was made is not "
              "known.\n\n",
              out);
        return;
    }
    fputs("    ", out); /* a code block: one line, which report_put would escape */
    for (const char *c = text_at(run->root, "command_line"); *c != '\0'; c++)
        fputc((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? '?' : *c, out);
    fputs("\n\n", out);
    report_table(out, "run|");
    row(out, "time (UTC)", text_at(run->root, "time_utc"));
    row(out, "duration, s", text_at(run->root, "duration_s"));
    row(out, "seed", text_at(run->root, "seed"));
    row(out, "load before (1, 5, 15 min)", text_at(run->root, "load_before"));
    row(out, "load after", text_at(run->root, "load_after"));
    rows(out, cJSON_GetObjectItemCaseSensitive(run->root, "notes"), "");
    fputs("\n", out);
}

void report_section_environment(FILE *out, const report_model *model)
{
    fputs("## Environment and commands\n\n", out);
    const report_run *last = NULL;
    for (size_t i = 0; i < model->run_count; i++) {
        const report_run *run = &model->runs[i];
        if (run->root != NULL && (last == NULL || !same_machine(last, run))) {
            put_machine(out, run);
            last = run;
        }
        put_run(out, run);
    }
    if (model->run_count == 0)
        fputs("The rows name no run.\n\n", out);
    fputs("The records, with the CPU's full list of features, are the `.json` files beside this "
          "page, each named by the first 16 digits of its SHA-256. \"not available\" is what the "
          "machine does not tell: virtual machines hide the governor and the hardware "
          "counters.\n\n",
          out);
}
