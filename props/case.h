/* One case: all that a judge needs beside the kernel. It has a one-line text that parses back,
 * which
 * --replay takes:
 *   contract;spec=head_dim=8,...;dtype=f32;truth=exact;tokens=1;heads=1;x=end;y=start;at=5;
 *   bits=3:3f800000
 * Fields that hold their usual value are left out. */
#ifndef PROPS_CASE_H
#define PROPS_CASE_H

#include "props/arena.h"
#include "props/property.h"

typedef enum prop_data_kind {
    PROP_DATA_USUAL = 0,  /* signed, magnitudes 2^-6..2^6 */
    PROP_DATA_WIDE = 1,   /* signed, magnitudes far apart, squares still in range */
    PROP_DATA_EDGE = 2,   /* any finite bit pattern: subnormals, zeros of both signs, the largest */
    PROP_DATA_CANCEL = 3, /* pairs whose first or second rotated component nearly vanishes */
    PROP_DATA_SPECIAL = 4, /* usual, with NaN and infinity in some elements */
    PROP_DATA_INTEGER = 5, /* small whole numbers: sums and differences are exact */
    PROP_DATA_KINDS = 6,
} prop_data_kind;

enum { PROP_STREAMS = 2, PROP_LISTS = 2 };

typedef struct prop_case {
    const prop_property *property;
    prop_shape x, y; /* same tokens, heads, head_dim */
    bool in_place;   /* y is x, with x's shape */
    uint32_t axes;
    int64_t position_gap; /* int64 elements between the positions of tokens, beside axes */
    int lists;            /* of positions: a property may want two for each token */
    int64_t *positions;   /* [lists][tokens][axes]; owned */
    int64_t parameter;    /* the property's own */
    prop_data_kind kind;
    uint64_t seed;
    uint64_t
        *bits[PROP_STREAMS]; /* [tokens][heads][head_dim] bit patterns; owned; NULL = generated */
} prop_case;

/* An empty case of that size, positions zero. False when memory is out. */
bool prop_case_new(prop_case *c, const prop_property *property, const prop_subject *s,
                   int64_t tokens, int64_t heads, int lists);
bool prop_case_copy(const prop_case *from, prop_case *to);
void prop_case_free(prop_case *c);

int64_t *prop_case_list(const prop_case *c, int list); /* [tokens][axes] */
int64_t prop_case_elements(const prop_case *c);

/* The input rows, packed [tokens][heads][head_dim] in the dtype. stream 1 is a second, independent
 * tensor. The kind CANCEL turns pairs at the positions of list 0. */
void prop_case_data(const prop_subject *s, const prop_case *c, int stream, void *packed);

/* Fixes generated data as bit patterns, so that they can be shrunk. */
bool prop_case_materialise(const prop_subject *s, prop_case *c);

/* Writes the text; malloc'ed, NULL when memory is out. */
char *prop_case_format(const prop_subject *s, const prop_case *c);

/* What a text names beside the case. */
typedef struct prop_case_header {
    char *spec_text; /* malloc'ed */
    rope_dtype dtype;
    rope_truth truth;
} prop_case_header;

/* Reads the header fields first, so that the caller can make the subject; then the case. */
bool prop_case_parse_header(const char *text, prop_case_header *header, rope_error *error);
bool prop_case_parse(const char *text, const prop_subject *s, prop_case *c, rope_error *error);

/* ---- generation ---- */

/* A number from a seed and a place: SplitMix64 (Steele, Lea, Flood 2014) over both. */
uint64_t prop_hash(uint64_t seed, uint64_t a, uint64_t b);

/* Arrangement `index`: places, gaps, alignments, in place or not, in turn; tokens and heads must be
 * set. */
void prop_case_arrange(const prop_subject *s, prop_case *c, uint64_t index);

/* Structured positions in clusters of narrow windows; count of clusters, and one of them. */
enum { PROP_CLUSTERS = 21 };
const int64_t *prop_cluster(int index, int *count);

/* A random position: sign and magnitude uniform in the logarithm, below 2^24. */
int64_t prop_random_position(uint64_t hash);

#endif
