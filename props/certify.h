/* Exhaustive certification: kernels measured at every position of a range. Each subject runs in
 * child processes (isolate.h); positions outside, kernels inside, so that the exact values are
 * computed once for all. The result does not depend on the number of jobs. */
#ifndef PROPS_CERTIFY_H
#define PROPS_CERTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/error.h"
#include "impl/rope.h"
#include "impl/spec/spec.h"
#include "oracle/oracle.h"
#include "props/certificate.h"

/* Ranges are at most this long, so that no count overflows. */
#define CERTIFY_LONGEST (INT64_C(1) << 48)

/* One kernel, dtype and pairing: one certificate. */
typedef struct certify_subject {
    const rope_kernel *kernel;
    const char *plugin;    /* path of the plug-in, or NULL for the registry's */
    const rope_spec *spec; /* the run's spec, its pairing perhaps changed to one the kernel takes */
    uint32_t dtype;
} certify_subject;

typedef struct certify_options {
    rope_truth truth;
    uint64_t seed;
    int64_t first, end; /* the whole range, b excluded */
    uint64_t shard, shards;
    int64_t part_first, part_end; /* only these positions, of the whole range's shard 1/1; first =
                                     end: all */
    oracle *o; /* of the subjects' spec and truth, whose tables are used again; NULL: one is made */
    int jobs;
    uint64_t search; /* evaluations of the adversarial search; 0 = none */
    void (*progress)(void *context, double done, double total); /* may be NULL */
    void *context;
} certify_options;

/* What became of a subject. */
typedef struct certify_result {
    certificate certificate; /* filled when reason is empty; certificate_free */
    char reason[256];        /* why there is none: a crash, a refusal, a changed environment */
} certify_result;

/* Whether a kernel takes a spec, dtype and window: by its own plan. False with the reason. */
bool certify_takes(const certify_subject *s, rope_truth truth, int64_t first, int64_t last,
                   rope_error *error);

/* All subjects must share everything of their specs but the pairing. Fills results[count]; false
 * only where nothing could be run at all (memory, no process, the spec does not resolve). */
bool certify_run(const certify_subject *subjects, int count, const certify_options *options,
                 certify_result *results, rope_error *error);

/* SHA-256 of the file that holds the kernel's code: the plug-in, or this program. */
bool certify_binary_hash(const certify_subject *s, char hash[65], rope_error *error);

#endif
