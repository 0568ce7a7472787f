#include "props/claims.h"

#include <math.h>
#include <stdlib.h>

#include "props/bands.h"

enum { EXPONENTS = 25 }; /* 2^0 to 2^24 */

/* smallest[side][k][pair]: of 2^k, 2^(k+1), ..., 2^24; of one subject, which many calls ask for. */
typedef struct {
    const rope_kernel *kernel;
    const rope_spec *spec;
    rope_dtype dtype;
    double *smallest;
} ladder;

static double *rung(const ladder *l, int64_t pairs, int side, int exponent)
{
    return l->smallest + (side * EXPONENTS + exponent) * pairs;
}

static void climb(const prop_subject *s, ladder *l, int side)
{
    int64_t pairs = s->frequencies->pairs;
    for (int k = EXPONENTS - 1; k >= 0; k--) {
        int64_t position = side == 0 ? (int64_t)1 << k : -((int64_t)1 << k);
        rope_plan_args args =
            rope_spec_plan_args(s->spec, s->frequencies, s->dtype, position, position);
        for (int64_t i = 0; i < pairs; i++) {
            double further = k + 1 < EXPONENTS ? rung(l, pairs, side, k + 1)[i] : INFINITY;
            double claim = s->kernel->error_bound(&args, position, i);
            bool smaller = prop_has_contract(s->dtype, claim) && claim < further;
            rung(l, pairs, side, k)[i] = smaller ? claim : further;
        }
    }
}

static const ladder *ladder_of(const prop_subject *s)
{
    static ladder l;
    if (l.smallest != NULL && l.kernel == s->kernel && l.spec == s->spec && l.dtype == s->dtype)
        return &l;
    free(l.smallest);
    size_t count = 2 * EXPONENTS * (size_t)s->frequencies->pairs;
    l = (ladder){s->kernel, s->spec, s->dtype, malloc(count * sizeof *l.smallest)};
    for (int side = 0; l.smallest != NULL && side < 2; side++)
        climb(s, &l, side);
    return l.smallest != NULL ? &l : NULL;
}

double prop_claim_further(const prop_subject *s, int64_t position, int64_t pair)
{
    uint64_t magnitude = prop_magnitude(position);
    const ladder *l = ladder_of(s);
    int k = 0;
    while (k < EXPONENTS && (uint64_t)1 << k < magnitude)
        k++;
    return l == NULL || k == EXPONENTS ? INFINITY
                                       : rung(l, s->frequencies->pairs, position < 0, k)[pair];
}

void prop_claims_note(const prop_subject *s, uint32_t axes, const int64_t *positions,
                      int64_t tokens, const double *bounds, prop_sheet *sheet)
{
    prop_tally *tally = &sheet->bands[0];
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < s->frequencies->pairs; i++) {
            double claim = *bounds++;
            int64_t position = positions[t * axes + s->frequencies->axis[i]];
            if (!prop_has_contract(s->dtype, claim))
                continue;
            bool outlies =
                claim > 1 && claim > PROP_CLAIM_FACTOR * prop_claim_further(s, position, i);
            tally->outlying += outlies;
            tally->claims++;
            if (!(claim <= tally->claim)) {
                tally->claim = claim;
                tally->claim_position = position;
            }
        }
}
