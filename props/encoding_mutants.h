/* Faulty encodings that prop_encoding_check must kill. */
#ifndef PROPS_ENCODING_MUTANTS_H
#define PROPS_ENCODING_MUTANTS_H

#include <stddef.h>

#include "impl/rope.h"

typedef struct prop_encoding_mutant {
    const char *name, *fault_class, *original_name, *summary;
    const rope_header *kernel; /* kind ROPE_TABLE_ADD or ROPE_SCORE_BIAS */
} prop_encoding_mutant;

const prop_encoding_mutant *prop_encoding_mutants(size_t *count);

#endif
