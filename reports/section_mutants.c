/* What the verification can see: faulty kernels, and the properties that found them out. */
#include <stdlib.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

/* The comparisons with the oracle, of rotations and of other encodings; all other properties need
 * no oracle. */
static bool is_oracle(const char *property)
{
    return strcmp(property, "contract") == 0 || strcmp(property, "sum-contract") == 0;
}

/* Columns after `reason` are the properties. */
static size_t first_property(const rows_table *table)
{
    return (size_t)rows_column(table, "reason") + 1;
}

static bool is_skipped(report_row row)
{
    return report_is(row, "killed", "skipped");
}

typedef struct {
    int by_oracle, by_others;
} kills;

static kills count_kills(report_row row)
{
    kills k = {0, 0};
    for (size_t c = first_property(row.table); c < row.table->columns; c++)
        if (strcmp(rows_field(row.table, row.index, (int)c), "yes") == 0)
            *(is_oracle(row.table->names[c]) ? &k.by_oracle : &k.by_others) += 1;
    return k;
}

static void put_totals(FILE *out, const report_rows *rows)
{
    int met = 0, killed = 0, skipped = 0, by_oracle = 0, oracle_alone = 0, others_alone = 0;
    for (size_t r = 0; r < rows->count; r++) {
        kills k = count_kills(rows->items[r]);
        if (is_skipped(rows->items[r])) {
            skipped++;
            continue;
        }
        met++;
        killed += report_is(rows->items[r], "killed", "yes");
        by_oracle += k.by_oracle > 0;
        oracle_alone += k.by_oracle > 0 && k.by_others == 0;
        others_alone += k.by_oracle == 0 && k.by_others > 0;
    }
    fprintf(out,
            "**%d of %d mutants were found out**, %d of them by the oracle comparison (*contract*, "
            "*sum-contract*): %d by it alone, where no law of the rotation noticed; %d by other "
            "properties alone. ",
            killed, met, by_oracle, oracle_alone, others_alone);
    if (killed < met)
        fprintf(out, "**%d survived.** ", met - killed);
    if (skipped > 0)
        fprintf(out, "%d were not run here.", skipped);
    fputs("\n\n", out);
}

typedef struct {
    int judged, kills, alone, classes;
} property_sum;

static bool kills_here(report_row row, const void *property)
{
    return report_is(row, property, "yes");
}

static property_sum add_up(const report_rows *rows, const char *property)
{
    property_sum s = {0};
    for (size_t r = 0; r < rows->count; r++) {
        report_row row = rows->items[r];
        kills k = count_kills(row);
        bool here = report_is(row, property, "yes");
        s.judged += here || report_is(row, property, "no");
        s.kills += here;
        s.alone += here && k.by_oracle + k.by_others == 1;
    }
    size_t classes;
    free(report_distinct(rows, "class", kills_here, property, &classes));
    s.classes = (int)classes;
    return s;
}

static void put_properties(FILE *out, const report_rows *rows)
{
    const rows_table *table = rows->items[0].table;
    report_table(out, "property|>mutants met|>found out|>by it alone|>fault classes");
    for (size_t c = first_property(table); c < table->columns; c++) {
        property_sum s = add_up(rows, table->names[c]);
        fputs("| ", out);
        report_put(out, table->names[c]);
        fprintf(out, " | %d | %d | %d | %d |\n", s.judged, s.kills, s.alone, s.classes);
    }
    fputc('\n', out);
}

static void put_killers(FILE *out, report_row row)
{
    const char *separator = "";
    for (size_t c = first_property(row.table); c < row.table->columns; c++)
        if (!is_oracle(row.table->names[c]) &&
            strcmp(rows_field(row.table, row.index, (int)c), "yes") == 0) {
            fputs(separator, out);
            report_put(out, row.table->names[c]);
            separator = ", ";
        }
    if (*separator == '\0')
        fputs("–", out);
}

static void put_mutant(FILE *out, report_row row)
{
    static const char *const columns[] = {"class", "mutant", "mutates"};
    kills k = count_kills(row);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        fputs("| ", out);
        report_put(out, report_text(row, columns[i]));
        fputc(' ', out);
    }
    if (is_skipped(row)) {
        fputs("| not run | ", out);
        report_put(out, report_text(row, "reason"));
        fputs(" |\n", out);
        return;
    }
    fputs(k.by_oracle > 0 && k.by_others == 0 ? "| **alone** | "
          : k.by_oracle > 0                   ? "| yes | "
                                              : "| – | ",
          out);
    if (!report_is(row, "killed", "yes"))
        fputs("**SURVIVES**", out);
    else
        put_killers(out, row);
    fputs(" |\n", out);
}

void report_section_mutants(FILE *out, const report_model *model)
{
    const report_rows *rows = &model->mutants;
    fputs("## What the verification can see\n\n"
          "Faulty kernels (*mutants*) were made from the right ones, each with one fault that "
          "released code has had, and were put through the same checks. A property that finds "
          "nothing is no evidence; this table says what each one finds. *alone* in the column of "
          "the oracle: only the comparison with the exact value found the fault, all laws of the "
          "rotation held. Once a mutant is found out, fewer cases are tried on it: a property that "
          "is missing from a row may still be able to find the fault.\n\n",
          out);
    put_totals(out, rows);
    put_properties(out, rows);
    report_table(out, "class|mutant|mutates|oracle|other properties that found it out");
    for (size_t r = 0; r < rows->count; r++)
        put_mutant(out, rows->items[r]);
    fputc('\n', out);
}
