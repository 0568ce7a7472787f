/* What a run was made with: captured around it, written beside its rows as <run>.json, and named by
 * the hash of that file. */
#ifndef FRONT_ENVIRONMENT_H
#define FRONT_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#include "impl/error.h"

typedef struct front_run {
    char id[17]; /* first 16 hex digits of the SHA-256 of the JSON text, so of the file's
                    (`sha256sum`): the `run` column; set by front_run_finish */
    char *json;  /* the text; set by front_run_finish */
    void *state;
} front_run;

/* argv[0] is the verb's name, or the program's as main got it; the record's "command_line" is the
 * whole command, quoted for a shell.
 *
 * Captures commit and dirty flag (of the build), compiler and flags, library versions, CPU model,
 * features, microcode, governor, load before, seed, time, command line (64-bit values are strings:
 * JSON readers keep 53 bits), schema version. */
bool front_run_begin(front_run *run, int argc, char **argv, uint64_t seed, rope_error *error);

/* Adds a fact of the verb's own under "notes" (a tool's version, how a grid was thinned); before
 * front_run_finish. The last of equal keys wins. */
void front_run_note(front_run *run, const char *key, const char *value);

/* Adds load after and duration, and sets id and json. Rows are written after this, since they carry
 * the id. */
bool front_run_finish(front_run *run, rope_error *error);

/* Writes <directory>/<id>.json, whole or not at all. */
bool front_run_write(const front_run *run, const char *directory, rope_error *error);
/* The same in the folder of a CSV file; nothing where that is standard output ("" or "-"), a device
 * or a pipe. */
bool front_run_write_beside(const front_run *run, const char *csv, rope_error *error);
void front_run_free(front_run *run);

/* "commit HASH, CPU, time" from the record <run>.json in the folder of a file of rows. False where
 * it is not there, cannot be read, or is not what the run was named for. */
bool front_run_summary(const char *csv, const char *run, char *text, size_t size);
/* A text of that record: the member `name` of the object `group` ("notes"), or of the record itself
 * where group is NULL. False, and "", also where there is none. */
bool front_run_fact(const char *csv, const char *run, const char *group, const char *name,
                    char *text, size_t size);
/* "commit HASH, CPU" of this build on this machine. */
void front_here_summary(char *text, size_t size);

/* "tightrope VERSION, commit HASH, ABI N", and "with changes" where the tree that was built
 * differed from the commit. ABI is that of impl/rope.h, which a plug-in must have been built for.
 */
void front_version(char *text, size_t size);

/* The 64 hex digits of the SHA-256 of a text. */
void front_sha256(const char *text, size_t length, char hex[65]);

#endif
