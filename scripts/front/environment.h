/* What a run was made with: captured around it, written beside its rows as <run>.json, and named by
 * the hash of that file. */
#ifndef FRONT_ENVIRONMENT_H
#define FRONT_ENVIRONMENT_H

#include <stdint.h>

#include "impl/error.h"

typedef struct front_run {
    char id[17]; /* first 16 hex digits of the hash of the JSON text: the `run` column; set by
                    front_run_finish */
    char *json;  /* the text; set by front_run_finish */
    void *state;
} front_run;

/* Captures commit and dirty flag (of the build), compiler and flags, library versions, CPU model,
 * features, microcode, governor, load before, seed, time, command line (argv as main got it),
 * schema version. */
bool front_run_begin(front_run *run, int argc, char **argv, uint64_t seed, rope_error *error);

/* Adds load after and duration, and sets id and json. Rows are written after this, since they carry
 * the id. */
bool front_run_finish(front_run *run, rope_error *error);

/* Writes <directory>/<id>.json, whole or not at all. */
bool front_run_write(const front_run *run, const char *directory, rope_error *error);
void front_run_free(front_run *run);

#endif
