/* Properties of a kernel under test: what each states, how its cases are made, and how one case is
 * judged. A case is complete in itself (props/case.h), so the same judge serves the sweep, the
 * search for the smallest counter-example, and --replay. */
#ifndef PROPS_PROPERTY_H
#define PROPS_PROPERTY_H

#include <stdbool.h>
#include <stdint.h>

#include "impl/rope.h"
#include "impl/spec/spec.h"
#include "oracle/measure.h"
#include "oracle/oracle.h"

typedef enum prop_level {
    PROP_QUICK = 0,      /* each fault class has a spec and a position where it shows */
    PROP_FULL = 1,       /* more specs, positions and cases, for a nightly run */
    PROP_EXHAUSTIVE = 2, /* and every position in [-2^16, 2^16] of the first spec */
} prop_level;

/* How much work a spec gets at a level. */
typedef enum prop_weight {
    PROP_MAIN = 0,  /* >= 10^4 distinct positions, error bands, the decay curve */
    PROP_USUAL = 1, /* all properties */
    PROP_LIGHT = 2, /* one of many sizes: what a size can break */
} prop_weight;

/* What is under test. */
typedef struct prop_subject {
    const rope_kernel *kernel;
    const rope_kernel *partner; /* takes the other pairing, for permutation equivalence; or NULL */
    const char *spec_text;      /* parses back to spec */
    const rope_spec *spec;
    const rope_frequencies *frequencies;
    oracle *oracle;
    oracle_dd attention_factor; /* exact */
    rope_dtype dtype;
    rope_truth truth;
    prop_level level;
    prop_weight weight;
    bool halved; /* the kernel's other pairing takes the other half of the main windows */
    uint64_t seed;
} prop_subject;

enum { PROP_BANDS = 17, PROP_REASON = 320 };

/* What was measured in one band of positions. Units are u A |x| of the pair, or what the property's
 * head comment says. */
typedef struct prop_tally {
    int64_t positions;   /* distinct ones */
    int64_t comparisons; /* judged: deviation against tolerance */
    int64_t failures;    /* of those, above the tolerance, or of another class */
    int64_t unjudged;    /* made where the kernel has no contract */
    int64_t no_contract; /* of those: a position nearest to 0, meaningful when unjudged > 0 */
    double ratio;        /* largest deviation / tolerance; what follows belongs to it: */
    double bound, x0, x1;
    int64_t position, pair;
    double max_error, sum_of_squares, max_ulp; /* of all */
    /* The case of max_error: another one where the tolerance differs between positions and pairs.
     */
    double largest_bound, largest_x0, largest_x1;
    int64_t largest_position, largest_pair;
    int64_t squares, components, correctly_rounded;
    /* Contract alone, in band 0 for all: bounds that were claimed (one a token and pair), those
     * that outlie what is claimed further out (props/claims.h), the largest, and where. */
    int64_t claims, outlying;
    double claim;
    int64_t claim_position;
} prop_tally;

enum { PROP_CURVE = 72 };
typedef struct prop_curve_point {
    int64_t position;
    double kernel, exact;
} prop_curve_point;

/* The findings on one subject and property. */
typedef struct prop_sheet {
    prop_tally bands[PROP_BANDS];
    int64_t cases, expected, made; /* comparisons that there should be, and that there were */
    bool refused; /* the kernel answered UNSUPPORTED to a plan: reason says to which */
    bool idle;    /* there was nothing to compare with */
    bool failed;
    char reason[PROP_REASON];
    prop_curve_point curve[PROP_CURVE]; /* decay: mean |S_j| against position */
    int curve_points;
    /* What is looked at in every call, whatever the property, and belongs to two others: */
    int64_t calls;
    bool strayed; /* untouched */
    char stray[PROP_REASON];
    bool disturbed; /* environment */
    char disturbance[PROP_REASON];
} prop_sheet;

struct prop_case;

typedef struct prop_property {
    const char *name;
    const char *statement; /* one line */
    bool every_call;       /* judged on the calls of all others: no cases of its own */
    /* Number of cases for this subject; 0 when the property says nothing about it. */
    int64_t (*count)(const prop_subject *s);
    /* Case `index` of them. False when memory is out. */
    bool (*generate)(const prop_subject *s, int64_t index, struct prop_case *c);
    void (*judge)(const prop_subject *s, const struct prop_case *c, prop_sheet *sheet);
} prop_property;

extern const prop_property prop_contract_property, prop_identity_property, prop_offset_property,
    prop_orthogonality_property, prop_additivity_property, prop_permutation_property,
    prop_decay_property, prop_linearity_property, prop_independence_property, prop_nan_property,
    prop_in_place_property, prop_batch_property, prop_reuse_property, prop_repeat_property,
    prop_window_property, prop_arguments_property, prop_empty_property, prop_far_property,
    prop_footprint_property, prop_concurrent_property, prop_large_property, prop_generated_property,
    prop_untouched_property, prop_environment_property;

/* All, in the order in which they are run and listed. */
const prop_property *const *prop_properties(size_t *count);
const prop_property *prop_property_find(const char *name);

/* A bound that is NaN, infinite, negative or >= sqrt(2)/u is none. */
bool prop_has_contract(rope_dtype dtype, double bound);

/* ---- for judges ---- */

/* Records the first failure; later ones are kept out. */
void prop_fail(prop_sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One comparison: deviation <= tolerance, both in units of the property. Returns whether it holds;
 * true also where the tolerance is no contract, which is counted apart. */
typedef struct prop_where {
    int64_t position, pair; /* pair PROP_NO_PAIR: the figure is not one pair's */
    double x0, x1;
} prop_where;
enum { PROP_NO_PAIR = -1 };
/* Of a sum over pairs, of whole rows, of a call: it has no pair, and no input to show. */
prop_where prop_where_at(int64_t position);
bool prop_compare(prop_sheet *sheet, int band, rope_dtype dtype, double deviation, double tolerance,
                  prop_where where);

/* Keeps a point of the decay curve; positions that are there already, and more than fit, are not.
 */
void prop_curve_add(prop_sheet *sheet, int64_t position, double kernel, double exact);

/* Rounding errors of a component that underflows: at most 2 eta each, so 2 sqrt(2) eta a pair. */
double prop_underflow(rope_dtype dtype);

#endif
