#include "props/identify_positions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/identify_fit.h"

/* ---- in a row ---- */

/* Whether the second token is turned against the first as one position turns it. */
static bool turns_alike(const prop_hypothesis *h, const prop_sample *s, bool negative)
{
    if (s->tokens < 2)
        return false;
    for (int64_t i = 0; i < h->model.pairs; i++) {
        double complex z = prop_ratio(h, s, 1, i) * conj(prop_ratio(h, s, 0, i));
        double off = carg(z) - (negative ? -h->theta[i] : h->theta[i]);
        if (cabs(z) > 0 && fabs(remainder(off, 2 * M_PI)) > 0.05)
            return false;
    }
    return true;
}

/* Offsets that put unknown positions right: the dump is taken as consecutive, from p0 up. */
static bool find_start(const prop_hypothesis *h, const prop_sample *s, bool negative, double *start)
{
    enum { LIMIT = 1 << 17 };
    if (!turns_alike(h, s, negative))
        return false;
    prop_hypothesis trial = *h;
    trial.map = negative ? PROP_MAP_NEGATED : PROP_MAP_OFFSET;
    for (int64_t p = negative ? 1 : 0; p < LIMIT; p++) {
        trial.map_value = (double)p;
        bool good = true;
        for (int64_t i = 0; i < h->model.pairs && good; i++)
            for (int64_t k = 0; k < 2 && good; k++) {
                int64_t token = k == 0 ? 0 : s->tokens - 1;
                double tolerance, error = prop_error(&trial, s, token, 0, i, &tolerance);
                good = isnan(error) || error <= tolerance;
            }
        if (good) {
            *start = (double)p;
            return true;
        }
    }
    return false;
}

static bool add_placed(prop_hypotheses *list, const prop_hypothesis *h, const prop_sample *sample,
                       const char *fault, prop_map map, double start, char sign)
{
    prop_hypothesis *placed = prop_hypothesis_derive(h, fault, "");
    if (placed == NULL)
        return false;
    placed->map = map;
    placed->map_value = start;
    int used = snprintf(placed->detail, sizeof placed->detail, "positions ");
    used += snprintf(placed->detail + used, sizeof placed->detail - (size_t)used,
                     sign == '-' ? "-%.0f, -%.0f, ..." : "%.0f, %.0f, ...", start, start + 1);
    if (*fault != '\0')
        snprintf(placed->detail + used, sizeof placed->detail - (size_t)used,
                 ", rotated by minus the angle");
    prop_screen(placed, sample);
    return prop_hypotheses_add(list, placed);
}

bool prop_place_tokens(prop_hypotheses *list, const prop_hypothesis *h, const prop_sample *sample)
{
    double start;
    bool good = true;
    if (find_start(h, sample, false, &start))
        good = add_placed(list, h, sample, "", PROP_MAP_OFFSET, start, '+');
    if (good && find_start(h, sample, true, &start))
        good = add_placed(list, h, sample, "", PROP_MAP_NEGATED, start, '-') &&
               add_placed(list, h, sample, "F22 inverse-rotation", PROP_MAP_NEGATED, start, '+');
    return good;
}

/* ---- one by one ---- */

enum { FARTHEST = 1 << 20, CERTAIN_BITS = 20 };

/* The angles of fewer pairs come near to those of some position of 2^21 by chance: 41 bits are
 * wanted, and far out an f32 angle has some 10, a bf16 one 7. */
enum { FEWEST_PAIRS = 4 };

/* Whether every row of the token comes out right at position p, and how much that says: bits by
 * which it is no coincidence among 2^21 positions. */
static bool comes_out(prop_hypothesis *trial, const prop_sample *s, int64_t token, int64_t p,
                      double *bits)
{
    double u = rope_dtype_unit_roundoff(s->dtype);
    trial->map_value = (double)p;
    *bits = -log2(2.0 * FARTHEST);
    for (int64_t i = 0; i < trial->model.pairs; i++) {
        double least = INFINITY, tolerance;
        for (int64_t head = 0; head < s->heads; head++) {
            double error = prop_error(trial, s, token, head, i, &tolerance);
            if (isnan(error))
                continue;
            if (!(error <= tolerance))
                return false;
            least = tolerance;
        }
        if (least * u < 1) /* chance puts an angle within the tolerance in this share of cases */
            *bits -= log2(least * u / M_PI);
    }
    return true;
}

/* From the slowest pair that turns, whose angle tells the position up to whole turns, through ever
 * faster ones, which tell it ever more finely. */
static double refined(const prop_hypothesis *h, const double *angle, int64_t slowest, int64_t turns)
{
    double p = NAN;
    for (int64_t i = slowest; i >= 0; i--) {
        if (isnan(angle[i]) || !(h->theta[i] > 0))
            continue;
        double n = isnan(p) ? (double)turns : rint((p * h->theta[i] - angle[i]) / (2 * M_PI));
        p = (angle[i] + 2 * M_PI * n) / h->theta[i];
    }
    return rint(p);
}

static bool infer(prop_hypothesis *trial, const prop_sample *s, int64_t token, double *angle,
                  int64_t *position)
{
    int64_t slowest = -1;
    for (int64_t i = 0; i < trial->model.pairs; i++) {
        double complex z = prop_ratio(trial, s, token, i);
        angle[i] = cabs(z) > 0 ? carg(z) : NAN;
        if (!isnan(angle[i]) && trial->theta[i] > 0 &&
            (slowest < 0 || trial->theta[i] < trial->theta[slowest]))
            slowest = i;
    }
    double bits;
    int64_t informative = 0;
    for (int64_t i = 0; i < trial->model.pairs; i++)
        informative += !isnan(angle[i]);
    if (slowest < 0 || informative < FEWEST_PAIRS)
        return false;
    int64_t most = (int64_t)(FARTHEST * trial->theta[slowest] / (2 * M_PI)) + 1;
    for (int64_t k = 0; k <= 2 * most; k++) { /* 0 1 -1 2 -2 ... turns of the slowest */
        double p = refined(trial, angle, slowest, k & 1 ? (k + 1) / 2 : -(k / 2));
        if (fabs(p) <= FARTHEST && comes_out(trial, s, token, (int64_t)p, &bits) &&
            bits >= CERTAIN_BITS) {
            *position = (int64_t)p;
            return true;
        }
    }
    return false;
}

int64_t prop_infer_positions(const prop_hypothesis *h, const prop_sample *s, int64_t *position)
{
    enum { GIVE_UP = 8 }; /* the first tokens: where they show nothing, the rest will not */
    int64_t found = 0;
    prop_hypothesis trial = *h; /* borrows the arrays */
    trial.map = PROP_MAP_CONSTANT;
    double *angle = malloc((size_t)h->model.pairs * sizeof *angle);
    for (int64_t t = 0; t < s->tokens; t++) {
        position[t] = 0;
        if (angle != NULL && (t < GIVE_UP || found > 0))
            found += infer(&trial, s, t, angle, &position[t]);
    }
    free(angle);
    return found;
}

void prop_told_positions(prop_hypothesis *h, const prop_sample *s)
{
    enum { SHOWN = 8 };
    size_t used = strlen(h->detail), size = sizeof h->detail;
    used += (size_t)snprintf(
        h->detail + used, size - used,
        "%snot given, but the angles tell them: ", used > 0 ? "; positions " : "positions ");
    for (int64_t t = 0; t < s->tokens && t < SHOWN && used < size; t++)
        used += (size_t)snprintf(h->detail + used, size - used, "%s%lld", t > 0 ? ", " : "",
                                 (long long)s->position[t]);
    if (s->tokens > SHOWN && used < size)
        snprintf(h->detail + used, size - used, ", ...");
}
