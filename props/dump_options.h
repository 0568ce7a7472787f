/* The options that verbs on dumps have in common. */
#ifndef PROPS_DUMP_OPTIONS_H
#define PROPS_DUMP_OPTIONS_H

#include <stdio.h>

#include "props/dump.h"
#include "scripts/front/front.h"

typedef struct prop_dump_arguments {
    const char *input, *output, *input_k, *output_k, *positions, *spec, *layout, *angle, *csv;
} prop_dump_arguments;

/* What each verb says of those whose meaning is its own. */
typedef struct prop_dump_helps {
    const char *positions, *spec, *angle, *input_k, *csv;
} prop_dump_helps;

/* Fills options[0 .. PROP_DUMP_OPTIONS) with them; what follows, and the end, is the verb's. */
enum { PROP_DUMP_OPTIONS = 9 };
void prop_dump_options(prop_dump_arguments *a, const prop_dump_helps *helps, front_option *options);

/* --input and --output are there, and those of k both or none; else the exit status, line printed.
 * -1 to go on. */
int prop_dump_arguments_check(const char *verb, const prop_dump_arguments *a);

/* Opens the tensors of q or of k by --layout and --positions; *angles gets what --angle admits
 * (bits 1 << prop_angle). False with a line. */
bool prop_dump_arguments_open(const prop_dump_arguments *a, bool k, prop_dump *dump,
                              uint32_t *angles, rope_error *error);

/* `tightrope VERB` with the same tensors and options (without --csv), as a shell takes it. */
void prop_dump_arguments_print(FILE *file, const char *verb, const prop_dump_arguments *a);

/* Whether --csv goes to stdout, in the place of text. */
bool prop_dump_csv_to_stdout(const prop_dump_arguments *a);

#endif
