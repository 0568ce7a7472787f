/* The encodings' part of `tightrope verify`: kernels that add a row or a bias instead of rotating.
 */
#ifndef PROPS_VERIFY_ENCODINGS_H
#define PROPS_VERIFY_ENCODINGS_H

#include "props/encoding.h"
#include "props/verify.h"

enum { PROP_MAX_ENCODINGS = 64 };

/* What the child process of one kernel is given. */
typedef struct prop_encoding_work {
    const rope_header *kernel;
    struct prop_encoding_sheet *sheet;
    uint64_t seed;
    int level;
} prop_encoding_work;

typedef struct prop_encodings {
    const rope_header *kernels[PROP_MAX_ENCODINGS];
    int count;
    struct prop_encoding_sheet
        *sheets[PROP_MAX_ENCODINGS]; /* shared with the children; prop_encodings_free */
    prop_encoding_work works[PROP_MAX_ENCODINGS];
    prop_errand errands[PROP_MAX_ENCODINGS]; /* for prop_run */
    uint64_t seed;
    int level;
} prop_encodings;

/* Adds a kernel once; rotations are ignored. False with a line when there are too many. */
bool prop_encodings_add(prop_encodings *e, const rope_header *kernel, rope_error *error);

/* Makes an errand of each kernel that runs all properties. False with a line when memory is out. */
bool prop_encodings_prepare(prop_encodings *e, uint64_t seed, int level, rope_error *error);
/* How their processes ended. */
void prop_encodings_book(prop_encodings *e);

/* One line a kernel and property. */
prop_sum prop_encodings_text(const prop_encodings *e, FILE *out);
/* Rows with the columns of verify.csv: pairing and worst_x1 empty, spec and worst_pair the
 * encoding's own. */
void prop_encodings_rows(const prop_encodings *e, const char *run, rows_writer *w);
/* JUnit test cases, without the suite around them; NULL: counts only. */
prop_sum prop_encodings_junit(const prop_encodings *e, FILE *out);

void prop_encodings_free(prop_encodings *e);

#endif
