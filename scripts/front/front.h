/* What every verb of the `tightrope` command shares: exit statuses, one-line errors, option
 * parsing, progress. */
#ifndef FRONT_H
#define FRONT_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "impl/error.h"

enum front_exit {
    FRONT_HOLDS = 0, /* all checks hold */
    FRONT_FAILS = 1, /* a check fell short, or there is no answer */
    FRONT_USAGE = 2, /* wrong usage, unreadable input, unwritable output: one line on stderr */
    FRONT_MISSING =
        3, /* something is missing on this machine: what, and the command that installs it */
};

/* A verb: argv[0] is the verb's name; returns an exit status, prints results to stdout, errors by
 * front_usage. */
typedef int front_verb(int argc, char **argv);

typedef struct front_entry {
    const char *name, *summary;
    front_verb *run;
} front_entry;

/* The table of verbs (scripts/front/verbs.c), ended by a NULL name. */
extern const front_entry front_verbs[];

/* Prints "tightrope VERB: message" as one line to stderr; returns FRONT_USAGE. */
int front_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for something that this machine lacks; returns FRONT_MISSING. */
int front_missing(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One option of a verb. */
typedef struct front_option {
    const char *name;     /* long name without dashes */
    const char *argument; /* what --help calls its argument, "FILE"; "[FILE]" = optional
                             (--csv[=FILE]); NULL = none */
    const char *help;     /* one line */
    const char **value;   /* receives the argument ("" for a bare optional one); NULL with values */
    struct front_values *values; /* a repeatable option collects here */
    bool *flag;                  /* an option without argument sets this */
} front_option;

/* Freed when the process ends. */
typedef struct front_values {
    const char **items;
    int count;
} front_values;

/* Parses argv with getopt_long, without abbreviations, all options after the verb, no positional
 * arguments unless operands is given (then they collect there). options ends with a NULL name. Each
 * non-repeatable option may be given once; an empty value or operand is refused. --help and -h are
 * every verb's. Returns -1 to go on, else the exit status to return at
 * once (help printed: 0; wrong: 2, line printed). */
int front_parse(int argc, char **argv, const char *synopsis, const char *description,
                const front_option *options, front_values *operands);

/* "A,B,C" -> calls each(item, context) per item; empty items are an error. */
bool front_split(const char *list, bool (*each)(const char *item, void *context, rope_error *error),
                 void *context, rope_error *error);

/* Whole-string numbers; false with a line naming `what`. */
bool front_int64(const char *text, const char *what, int64_t low, int64_t high, int64_t *value,
                 rope_error *error);
bool front_uint64(const char *text, const char *what, uint64_t *value, rope_error *error);
bool front_double(const char *text, const char *what, double *value, rope_error *error);

/* Progress on stderr: a bar with an estimate once a run has taken two seconds and stderr is a
 * terminal; else nothing (or, without a terminal, one line a minute). */
typedef struct front_progress {
    const char *label;
    double total, started, shown;
    bool terminal;
} front_progress;
void front_progress_begin(front_progress *p, const char *label, double total);
void front_progress_update(front_progress *p, double done);
void front_progress_end(front_progress *p);

#endif
