/* `tightrope report`: a page from rows. */
#include <unistd.h>

#include "reports/output.h"
#include "reports/tools.h"
#include "scripts/front/verbs.h"

static const char *const usual[] = {"build/verify.csv", "build/bench.csv"};

static int write_report(const char *out, const char *const *paths, size_t count)
{
    rope_error error;
    report_model model;
    static const char *const tools[][2] = {{"gnuplot", "gnuplot-nox"}, {"pandoc", "pandoc"}};
    if (!report_load(paths, count, &model, &error))
        return front_usage("report", "%s", error.text);
    for (int t = 0; t < 2; t++)
        if (!report_tool_exists(tools[t][0])) {
            report_free(&model);
            return front_missing("report", "%s is missing; install it with `apt-get install %s`",
                                 tools[t][0], tools[t][1]);
        }
    bool good = report_write(&model, out, &error);
    report_free(&model);
    if (!good)
        return front_usage("report", "%s", error.text);
    printf("%s/index.html\n", out);
    return FRONT_HOLDS;
}

int verb_report(int argc, char **argv)
{
    const char *out = "build/report";
    front_values operands = {0};
    const front_option options[] = {
        {.name = "out", .argument = "DIR", .help = "folder; default build/report", .value = &out},
        {0}};
    int status = front_parse(
        argc, argv, "report [--out DIR] [CSV...]",
        "Makes a page (index.html, index.md, figures) from the rows of verify, "
        "bench,\nverify --mutants, hunt --stages, hunt --drift and oracle --table;\nwithout CSV: "
        "build/verify.csv and build/bench.csv.",
        options, &operands);
    if (status != -1)
        return status;
    const char *found[2];
    size_t count = 0;
    for (int i = 0; operands.count == 0 && i < 2; i++)
        if (access(usual[i], F_OK) == 0)
            found[count++] = usual[i];
    if (*out == '\0')
        status = front_usage("report", "--out is empty, expected a folder");
    else if (operands.count > 0)
        status = write_report(out, operands.items, (size_t)operands.count);
    else if (count > 0)
        status = write_report(out, found, count);
    else
        status = front_usage("report", "no rows: neither build/verify.csv nor build/bench.csv is "
                                       "there, expected CSV files of verify or bench");
    return status;
}
