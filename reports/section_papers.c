/* Tables that papers print, recomputed, beside what they print. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

typedef struct {
    const char *table, *base, *argument; /* NULL: any */
} cut;

static bool in_cut(report_row row, const void *context)
{
    const cut *c = context;
    return (c->table == NULL || report_is(row, "table", c->table)) &&
           (c->base == NULL || report_is(row, "base", c->base)) &&
           (c->argument == NULL || report_is(row, "argument", c->argument));
}

/* Six digits where the enclosure is narrower than that, else both of its ends. */
static void put_value(FILE *out, report_row row)
{
    double low = report_number(row, "value_low"), high = report_number(row, "value_high");
    if (high - low <= 1e-6 * fabs(low)) {
        report_put_number(out, low, 6);
        return;
    }
    report_put_number(out, low, 9);
    fputs(" – ", out);
    report_put_number(out, high, 9);
}

/* What rows of a table have in common, each once. */
static void put_distinct(FILE *out, const report_model *model, const cut *c, const char *column,
                         const char *head)
{
    size_t count;
    const char **texts = report_distinct(&model->papers, column, in_cut, c, &count);
    for (size_t i = 0; i < count; i++)
        if (*texts[i] != '\0') {
            fputs(i == 0 ? head : "; ", out);
            report_put(out, texts[i]);
        }
    if (count > 0)
        fputs(".\n\n", out);
    free(texts);
}

/* Arguments down, bases across: for a table that has no printed values. */
static void put_curves(FILE *out, const report_model *model, const cut *c)
{
    size_t bases, arguments;
    const char **base = report_distinct(&model->papers, "base", in_cut, c, &bases);
    const char **argument = report_distinct(&model->papers, "argument", in_cut, c, &arguments);
    fputs("| argument |", out);
    for (size_t b = 0; b < bases; b++) {
        fputs(" base ", out);
        report_put(out, base[b]);
        fputs(" |", out);
    }
    fputs("\n|---:|", out);
    for (size_t b = 0; b < bases; b++)
        fputs("---:|", out);
    for (size_t a = 0; a < arguments; a++) {
        fputs("\n| ", out);
        report_put(out, argument[a]);
        fputs(" |", out);
        for (size_t b = 0; b < bases; b++) {
            const cut one = {c->table, base[b], argument[a]};
            size_t r = 0;
            while (r < model->papers.count && !in_cut(model->papers.items[r], &one))
                r++;
            fputc(' ', out);
            if (r < model->papers.count)
                put_value(out, model->papers.items[r]);
            else
                fputs("–", out);
            fputs(" |", out);
        }
    }
    fputs("\n\n", out);
    free(base);
    free(argument);
    put_distinct(out, model, c, "note", "Printed: ");
}

static void put_list(FILE *out, const report_model *model, const cut *c)
{
    report_table(out, ">argument|>head\\_dim|>computed|>printed|>printed / computed|note");
    for (size_t r = 0; r < model->papers.count; r++) {
        report_row row = model->papers.items[r];
        if (!in_cut(row, c))
            continue;
        fputs("| ", out);
        report_put_number(out, report_number(row, "argument"), 12);
        fputs(" | ", out);
        report_put_number(out, report_number(row, "head_dim"), 6);
        fputs(" | ", out);
        put_value(out, row);
        fputs(" | ", out);
        report_put(out, report_text(row, "printed"));
        fputs(" | ", out);
        report_put_number(out, report_number(row, "printed") / report_number(row, "value_low"), 4);
        fputs(" | ", out);
        report_put(out, report_text(row, "note"));
        fputs(" |\n", out);
    }
    fputc('\n', out);
}

void report_section_papers(FILE *out, const report_model *model)
{
    fputs("## Papers' tables\n\n"
          "What papers print, recomputed with certified enclosures (`tightrope oracle --table`): "
          "six digits where the enclosure is narrower, else its ends.\n\n",
          out);
    size_t count;
    const char **tables = report_distinct(&model->papers, "table", NULL, NULL, &count);
    for (size_t t = 0; t < count; t++) {
        cut c = {.table = tables[t]};
        fputs("**", out);
        report_put(out, tables[t]);
        fputs("**", out);
        if (strcmp(tables[t], "decay") == 0)
            fputs(": mean of abs(S\\_j) over j at a distance (the argument)", out);
        else if (strcmp(tables[t], "smallest-base") == 0)
            fputs(": the smallest base with B(m) ≥ 0 for every distance m up to a context (the "
                  "argument)",
                  out);
        put_distinct(out, model, &c, "source", ". Source: ");
        size_t printed;
        const char **values = report_distinct(&model->papers, "printed", in_cut, &c, &printed);
        bool curves = printed == 1 && *values[0] == '\0';
        free(values);
        if (curves)
            put_curves(out, model, &c);
        else
            put_list(out, model, &c);
    }
    free(tables);
}
