#include "props/identify_fit.h"

#include <math.h>

double complex prop_ratio(const prop_hypothesis *h, const prop_sample *s, int64_t token,
                          int64_t pair)
{
    double complex z = 0;
    int64_t first = prop_first_element(&h->model, pair);
    int64_t distance = prop_partner_distance(&h->model);
    for (int64_t head = 0; head < s->heads; head++) {
        const double *x = s->x + (token * s->heads + head) * s->head_dim + first;
        const double *y = s->y + (token * s->heads + head) * s->head_dim + first;
        double complex a = x[0] + x[distance] * I, b = y[0] + y[distance] * I;
        if (isfinite(cabs(a)) && isfinite(cabs(b)))
            z += b * conj(a);
    }
    return z;
}

/* The angle a position of one pair, from tokens that follow each other; refined by doubling the
 * distance between tokens as long as the turn is known to less than half. NaN where no two tokens
 * are neighbours. *reach: the largest distance used, *coherence: 1 where all agree. */
static double slope(const prop_hypothesis *h, const prop_sample *s, int64_t pair, double *reach,
                    double *coherence)
{
    double f = NAN;
    for (int64_t lag = 1; lag < s->tokens; lag *= 2) {
        double complex sum = 0;
        double size = 0;
        for (int64_t t = 0; t + lag < s->tokens; t++) {
            double apart =
                prop_mapped_position(h, s, t + lag, 0, 0) - prop_mapped_position(h, s, t, 0, 0);
            if (apart != (double)lag)
                continue;
            double complex z = prop_ratio(h, s, t + lag, pair) * conj(prop_ratio(h, s, t, pair));
            sum += z;
            size += cabs(z);
        }
        if (!(size > 0))
            break;
        double angle = carg(sum), distance = (double)lag;
        if (lag == 1)
            *coherence = cabs(sum) / size;
        f = isnan(f) ? angle
                     : (angle + 2 * M_PI * rint((f * distance - angle) / (2 * M_PI))) / distance;
        *reach = distance;
    }
    return f;
}

/* ln f_i = -ln(factor) - (2i/d) ln(base), by least squares weighted with f^2, the precision of
 * ln f where f itself is known to a fixed error. */
bool prop_fit(const prop_hypothesis *h, const prop_sample *s, double *base, double *factor)
{
    double w = 0, wi = 0, wii = 0, wl = 0, wil = 0;
    for (int64_t i = 0; i < h->model.pairs; i++) {
        double reach = 0, coherence = 0, f = slope(h, s, i, &reach, &coherence);
        if (isnan(f) || coherence < 0.98)
            return false;
        if (!(f > 0))
            continue;
        double x = (double)i / (double)h->model.pairs, l = log(f), weight = f * f;
        w += weight;
        wi += weight * x;
        wii += weight * x * x;
        wl += weight * l;
        wil += weight * x * l;
    }
    double determinant = w * wii - wi * wi;
    if (!(determinant > 1e-12 * w * wii))
        return false;
    *base = exp(-(w * wil - wi * wl) / determinant);
    *factor = exp(-(wl * wii - wi * wil) / determinant);
    return *base > 1 && isfinite(*base) && *factor > 0;
}
