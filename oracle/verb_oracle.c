/* `tightrope oracle`: exact values of a spec, to any number of digits. */
#include <stdlib.h>
#include <string.h>

#include "impl/spec/positions.h"
#include "oracle/decimal.h"
#include "oracle/paper_tables.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

enum { MAX_POSITIONS = 1 << 24, DEFAULT_DIGITS = 20 };

typedef struct request {
    const oracle *o;
    const rope_positions *positions;
    int64_t first_pair, end_pair;
    int digits;
    char **frequency; /* [pairs] */
    char *attention_factor;
} request;

static void decimal(rows_writer *w, char *text)
{
    rows_decimal(w, text != NULL ? text : "");
    free(text);
}

static void row(rows_writer *w, const request *r, int64_t token, int64_t pair)
{
    /* Text gives one position for every axis, an array may give each its own. */
    uint32_t axis = r->positions->axes == 1 ? 0 : oracle_pair_axis(r->o, pair);
    int64_t position = r->positions->values[token * r->positions->axes + axis];
    rows_integer(w, position);
    rows_integer(w, pair);
    rows_decimal(w, r->frequency[pair]);
    decimal(w, oracle_decimal(r->o, ORACLE_ANGLE, position, pair, r->digits));
    decimal(w, oracle_decimal(r->o, ORACLE_COS, position, pair, r->digits));
    decimal(w, oracle_decimal(r->o, ORACLE_SIN, position, pair, r->digits));
    rows_decimal(w, r->attention_factor);
    rows_end(w);
}

static bool write_rows(const char *path, request *r, rope_error *error)
{
    int64_t pairs = oracle_pairs(r->o);
    r->frequency = calloc((size_t)pairs, sizeof *r->frequency);
    r->attention_factor = oracle_decimal(r->o, ORACLE_ATTENTION_FACTOR, 0, 0, r->digits);
    bool good = r->frequency != NULL && r->attention_factor != NULL;
    for (int64_t i = r->first_pair; good && i < r->end_pair; i++)
        good = (r->frequency[i] = oracle_decimal(r->o, ORACLE_FREQUENCY, 0, i, r->digits)) != NULL;
    if (!good)
        rope_fail(error, "out of memory");
    rows_writer *w =
        good ? rows_create(path, "position,pair,inverse_frequency,angle,cos,sin,attention_factor",
                           error)
             : NULL;
    if (w != NULL) {
        front_progress progress;
        front_progress_begin(&progress, "oracle", (double)r->positions->tokens);
        for (int64_t token = 0; token < r->positions->tokens && !rows_failed(w); token++) {
            for (int64_t pair = r->first_pair; pair < r->end_pair; pair++)
                row(w, r, token, pair);
            front_progress_update(&progress, (double)(token + 1));
        }
        front_progress_end(&progress);
    }
    good = w != NULL && rows_commit(w, error);
    for (int64_t i = 0; r->frequency != NULL && i < pairs; i++)
        free(r->frequency[i]);
    free(r->frequency);
    free(r->attention_factor);
    return good;
}

static bool run(const char *spec_text, const char *positions_text, const char *pair_text,
                const char *digits_text, const char *truth_text, const char *csv, rope_error *error)
{
    rope_spec spec;
    rope_positions positions = {0};
    int64_t pair = -1, digits = DEFAULT_DIGITS;
    rope_truth truth = ROPE_TRUTH_EXACT;
    if (digits_text != NULL &&
        !front_int64(digits_text, "--digits", 2, ORACLE_MAX_DIGITS, &digits, error))
        return false;
    if (truth_text != NULL && !oracle_truth_parse(truth_text, &truth, error))
        return false;
    if (!rope_spec_parse(spec_text, &spec, error))
        return false;
    int64_t pairs = spec.rotary_dim / 2;
    bool good =
        (pair_text == NULL || front_int64(pair_text, "--pair", 0, pairs - 1, &pair, error)) &&
        rope_positions_parse(positions_text, MAX_POSITIONS, &positions, error);
    oracle *o = good ? oracle_new(&spec, truth, error) : NULL;
    rope_spec_free(&spec);
    good = o != NULL;
    if (good && positions.axes != 1 && positions.axes != oracle_axis_count(o))
        good = rope_fail(error, "--positions has %u axes, the spec %u", positions.axes,
                         oracle_axis_count(o));
    if (good) {
        request r = {.o = o,
                     .positions = &positions,
                     .first_pair = pair < 0 ? 0 : pair,
                     .end_pair = pair < 0 ? pairs : pair + 1,
                     .digits = (int)digits};
        good = write_rows(csv != NULL ? csv : "-", &r, error);
    }
    oracle_free(o);
    rope_positions_free(&positions);
    return good;
}

static bool run_table(const char *table, const char *level, const char *csv, rope_error *error)
{
    bool full = level != NULL && strcmp(level, "full") == 0;
    if (level != NULL && !full && strcmp(level, "quick") != 0)
        return rope_fail(error, "unknown --level '%s', expected quick or full", level);
    if (!oracle_paper_table(table, full, NULL, error))
        return false;
    rows_writer *w = rows_create(csv != NULL ? csv : "-", ORACLE_PAPER_COLUMNS, error);
    if (w == NULL)
        return false;
    oracle_paper_table(table, full, w, error);
    return rows_commit(w, error);
}

int verb_oracle(int argc, char **argv)
{
    const char *spec = NULL, *positions = NULL, *pair = NULL, *digits = NULL, *truth = NULL,
               *csv = NULL, *table = NULL, *level = NULL;
    const front_option options[] = {{.name = "spec",
                                     .argument = "S",
                                     .help = "preset, config.json or key=value,...",
                                     .value = &spec},
                                    {.name = "positions",
                                     .argument = "P",
                                     .help = "a:b, a:b:step, a,b,c or a .npy file",
                                     .value = &positions},
                                    {.name = "pair",
                                     .argument = "I",
                                     .help = "one pair, from 0; all by default",
                                     .value = &pair},
                                    {.name = "digits",
                                     .argument = "N",
                                     .help = "significant decimal digits, 20 by default",
                                     .value = &digits},
                                    {.name = "truth",
                                     .argument = "T",
                                     .help = "exact (default) or as-trained",
                                     .value = &truth},
                                    {.name = "table",
                                     .argument = "NAME",
                                     .help = "instead: a paper's table, decay or smallest-base",
                                     .value = &table},
                                    {.name = "level",
                                     .argument = "L",
                                     .help = "of --table: quick (default), or full (hours)",
                                     .value = &level},
                                    {.name = "csv",
                                     .argument = "[FILE]",
                                     .help = "where the rows go, stdout by default",
                                     .value = &csv},
                                    {0}};
    int status = front_parse(
        argc, argv, "oracle --spec S --positions P [--pair I] [--digits N] [--csv[=FILE]]",
        "Exact inverse frequency, angle, cos, sin and attention factor, each rounded once to the\n"
        "digits asked for; cos and sin without the attention factor.",
        options, NULL);
    if (status != -1)
        return status;
    rope_error error;
    if (table != NULL && (spec != NULL || positions != NULL))
        return front_usage("oracle", "--table takes neither --spec nor --positions");
    if (table != NULL)
        return run_table(table, level, csv, &error) ? FRONT_HOLDS
                                                    : front_usage("oracle", "%s", error.text);
    if (level != NULL)
        return front_usage("oracle", "--level goes with --table");
    if (spec == NULL || positions == NULL)
        return front_usage("oracle", "--%s is missing", spec == NULL ? "spec" : "positions");
    if (!oracle_self_test(&error))
        return front_usage("oracle", "%s", error.text);
    return run(spec, positions, pair, digits, truth, csv, &error)
               ? FRONT_HOLDS
               : front_usage("oracle", "%s", error.text);
}
