/* The specs that a verification walks, resolved once in the parent with their oracles, so that the
 * child processes share them. */
#ifndef PROPS_SUITE_H
#define PROPS_SUITE_H

#include "props/property.h"

typedef struct prop_entry {
    char *text;         /* without pairing in the standard suite */
    char *full_text[2]; /* per pairing: parses back to spec[pairing]; NULL = not of this suite */
    prop_weight weight;
    rope_spec spec[2];
    rope_frequencies frequencies;
    oracle *oracle;
    oracle_dd attention_factor;
} prop_entry;

typedef struct prop_suite {
    prop_entry *entries;
    int count;
    rope_truth truth;
    prop_level level;
} prop_suite;

/* The standard suite of a level: every fault class has a spec where it shows (props/suite.c). */
bool prop_suite_standard(prop_suite *suite, prop_level level, rope_truth truth, rope_error *error);

/* The specs that the user names; the first is the main one. */
bool prop_suite_chosen(prop_suite *suite, const char *const *texts, int count, prop_level level,
                       rope_truth truth, rope_error *error);

void prop_suite_free(prop_suite *suite);

/* Computes ahead the exact rotations of the cases of contract, decay, far and generated, which
 * depend on no kernel: child processes inherit them. In `jobs` threads, all of which have ended
 * when it returns. */
void prop_suite_warm(const prop_suite *suite, uint64_t seed, int jobs);

/* What is under test, of an entry and a pairing that it has. */
prop_subject prop_suite_subject(const prop_suite *suite, int entry, const rope_kernel *kernel,
                                uint32_t pairing, rope_dtype dtype, uint64_t seed);

/* A kernel for the other pairing: itself, or a registered one that runs here, lookup before others;
 * NULL when there is none. */
const rope_kernel *prop_partner(const rope_kernel *kernel, uint32_t pairing, rope_dtype dtype);

#endif
