/* Certificates: what exhaustive certification found for one kernel, spec and dtype over a range of
 * positions, in a form that merges exactly (shards, jobs) and can be re-verified.
 * docs/certificates.md describes the JSON. */
#ifndef PROPS_CERTIFICATE_H
#define PROPS_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impl/error.h"
#include "props/certificate_sum.h"

enum {
    CERTIFICATE_VERSION = 2,
    CERTIFICATE_WORST = 8,       /* worst cases kept, one a position */
    CERTIFICATE_MISROUNDED = 32, /* misrounded pairs listed, the lowest positions first */
    CERTIFICATE_SEGMENTS = 1024, /* a range has at most this many segments, plus one */
};

/* What a pair was probed with. */
typedef enum certificate_probe {
    CERTIFICATE_UNIT_U = 0, /* x = (1, 0): the kernel's A cos, A sin */
    CERTIFICATE_UNIT_V = 1, /* x = (0, 1): its -A sin, A cos */
    CERTIFICATE_VECTOR = 2, /* random x */
} certificate_probe;

typedef struct certificate_case {
    int64_t position, pair;
    uint32_t probe; /* certificate_probe */
    double x0, x1, y0, y1;
    double error_u; /* normwise, u, the enclosure's far side */
    double bound_u; /* the kernel's contract there; infinity where it has none */
} certificate_case;

typedef struct certificate_place {
    int64_t position, pair;
    uint32_t probe;
} certificate_place;

/* Sums over pairs; adding two tallies gives that of both, exactly and in any order. */
typedef struct certificate_tally {
    uint64_t pairs;             /* pairs compared, each two components */
    uint64_t correctly_rounded; /* components that are the nearest value of the dtype */
    uint64_t misrounded;        /* pairs with a component that is not */
    uint64_t above;             /* pairs above the contract (or NaN, or above 2^100 u) */
    uint64_t without;           /* pairs where the kernel claims no contract */
    double max_error_u, max_ulp;
    certificate_sum squares_u, squares_ulp; /* sums of squared errors */
} certificate_tally;

/* One stage: unit vectors (the angle stage) or random vectors (with the rotation's arithmetic). */
typedef struct certificate_stage {
    certificate_tally total;
    int worst_count, misrounded_count;
    certificate_case worst[CERTIFICATE_WORST]; /* the largest error first, then by position */
    certificate_place misrounded[CERTIFICATE_MISROUNDED];
} certificate_stage;

enum { CERTIFICATE_ANGLE = 0, CERTIFICATE_ROTATION = 1, CERTIFICATE_STAGES = 2 };

/* A part of the range, whose sums a re-verification computes again whole. */
typedef struct certificate_segment {
    int64_t first, end;
    certificate_tally tally[CERTIFICATE_STAGES];
} certificate_segment;

/* The adversarial search on the rotation stage: the same for every shard of a range. */
typedef struct certificate_search {
    uint64_t evaluations; /* pairs tried; 0 = no search */
    certificate_case worst;
} certificate_search;

/* The smallest and largest contract met, u, NaN where none was, and the first places, by position
 * and pair, where they were. */
typedef struct certificate_bounds {
    double low, high;
    int64_t low_position, low_pair, high_position, high_pair;
} certificate_bounds;

typedef struct certificate {
    char kernel[64], plugin[256]; /* plugin: the file's name, "" for the registry's */
    char binary_hash[65];         /* SHA-256 of the file that holds the kernel's code */
    char *spec;                   /* canonical text; malloc'ed */
    char truth[16], dtype[8];
    uint64_t seed;
    int64_t first, end;             /* the whole range */
    uint64_t shard, shards;         /* 1..shards */
    int64_t shard_first, shard_end; /* what this certificate covers */
    int64_t pairs;
    double attention_factor; /* A */
    certificate_bounds bounds;
    char table[16], arithmetic[16]; /* the kernel's declared table and rotation arithmetic, or "" */
    certificate_stage stage[CERTIFICATE_STAGES];
    certificate_search search;
    int64_t segment_count;
    certificate_segment *segments; /* malloc'ed */
    /* Not part of the content: who made it. */
    char *provenance; /* JSON text of an object; malloc'ed, may be NULL */
} certificate;

void certificate_free(certificate *c);

/* The order of worst cases: larger error, then lower position, pair, probe. < 0: a before b. NaN
 * counts as largest. */
int certificate_case_order(const certificate_case *a, const certificate_case *b);

/* Keeps `found` if it belongs among the worst, at most one a position. */
void certificate_keep_worst(certificate_stage *stage, const certificate_case *found);
void certificate_keep_misrounded(certificate_stage *stage, const certificate_place *found);

void certificate_tally_add(certificate_tally *to, const certificate_tally *from);
double certificate_rms(const certificate_sum *squares, uint64_t pairs);

/* Segments of a range start at multiples of this many positions: a power of two, at least 2^14. */
int64_t certificate_segment_size(int64_t first, int64_t end);
/* The start of the grid cell that holds a position: floor to a multiple of a power of two. */
int64_t certificate_grid(int64_t position, int64_t size);

/* What [first, end) of shard I/N of a range is: cuts lie on multiples of 64 where every shard holds
 * at least one of those, else anywhere. */
void certificate_shard_range(int64_t first, int64_t end, uint64_t shard, uint64_t shards,
                             int64_t *shard_first, int64_t *shard_end);

/* kept: every pair is within its contract. broken: some are not. partial: kept where there is one.
 * none: the kernel claims nothing anywhere in the range. */
const char *certificate_verdict(const certificate *c);

certificate_bounds certificate_bounds_none(void);
/* One more contract; places must come in order of position and pair, as do `to` and `from`. */
void certificate_bounds_meet(certificate_bounds *b, double bound, int64_t position, int64_t pair);
void certificate_bounds_join(certificate_bounds *to, const certificate_bounds *from);

/* The names of a rope_arithmetic and a rope_format; "" where undeclared or unknown. */
const char *certificate_arithmetic_name(uint32_t arithmetic);
const char *certificate_format_name(uint32_t format);

/* The bound on the whole rotation that follows from the declared table and arithmetic and the
 * measured stages, in u; NaN where the arithmetic is undeclared. Derived in certificate_bound.c. */
double certificate_derived_bound(const certificate *c);

/* Adds `part` to `sum`: parts of one range must come in order and touch. False with a line where
 * they do not fit: another kernel, binary, spec, dtype, seed, range; a gap or an overlap. */
bool certificate_append(certificate *sum, const certificate *part, rope_error *error);

/* Whether a certificate's numbers agree with each other: counts with the range, totals with
 * segments and worst cases, list orders. False with the first that does not. */
bool certificate_consistent(const certificate *c, rope_error *error);

/* JSON: content, its hash, provenance. Malloc'ed; NULL when memory is out. */
char *certificate_to_json(const certificate *c);

typedef enum certificate_reading {
    CERTIFICATE_READ = 0,
    CERTIFICATE_MALFORMED = 1, /* no such file, no JSON, not a certificate of this version */
    CERTIFICATE_EDITED = 2,    /* well formed, but its content does not match its hash */
} certificate_reading;

/* *c is to be freed whatever the outcome; on EDITED it holds what the file says. */
certificate_reading certificate_parse(const char *text, size_t length, certificate *c,
                                      rope_error *error);
certificate_reading certificate_read(const char *path, certificate *c, rope_error *error);

/* SHA-256 of a file, 64 hex digits. */
bool certificate_hash_file(const char *path, char hash[65], rope_error *error);

#endif
