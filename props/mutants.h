/* Mutants: deliberately faulty kernels that the verification must kill. Each claims all that the
 * kernel which it mutates claims (pairings, dtypes, abilities, contract) unless that claim is the
 * fault. They are never in the registry: only the mutation run, `dump` and tests reach them.
 *
 * Classes: "F1".."F34" are classes of faults that released RoPE code has had (docs/faults.md), and
 * "FRAUD" is what a harness could be fooled by. */
#ifndef PROP_MUTANTS_H
#define PROP_MUTANTS_H

#include <stddef.h>

#include "impl/rope.h"

typedef struct prop_mutant {
    const char *name;          /* [a-z0-9_]+, also the kernel's name */
    const char *fault_class;   /* "F1".."F34" or "FRAUD" */
    const char *summary;       /* one line: what it does wrong, and where */
    const char *original_name; /* the kernel that it mutates */
    const char *example;       /* a spec in which the fault shows (notation of rope_spec_parse); ""
                                  for another encoding */
    const char *waits_for;     /* NULL, or what must land first: a named skip until then */
    /* What is judged; NULL while waiting. Of kind ROPE_ROTATION: = &kernel->header, judged by the
     * properties. Other kinds (kernel and original are NULL then): by prop_encoding_check. */
    const rope_header *header;
    const rope_kernel *kernel;
    const rope_kernel *original;
} prop_mutant;

/* All mutants in the order of props/mutants.def. The array is made at the first call (not
 * thread-safe then) and lives for the whole run. */
const prop_mutant *prop_mutants(size_t *count);

/* The mutant of that name, or NULL. */
const prop_mutant *prop_mutant_find(const char *name);

#endif
