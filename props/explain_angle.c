/* The ways to compute an angle, as changes of the exact one. */
#include <math.h>

#include "props/explain_internal.h"
#include "props/explain_round.h"

double prop_nearest(uint32_t format, double x)
{
    return format == ROPE_F32 ? (double)(float)x : x;
}

/* x moved by k numbers of the format; x > 0. */
double prop_move(uint32_t format, double x, int64_t k)
{
    if (format == ROPE_F32) {
        float narrow = (float)x;
        int32_t bits;
        memcpy(&bits, &narrow, 4);
        bits += (int32_t)k;
        memcpy(&narrow, &bits, 4);
        return (double)narrow;
    }
    int64_t bits;
    memcpy(&bits, &x, 8);
    bits += k;
    memcpy(&x, &bits, 8);
    return x;
}

bool prop_one_frequency(prop_angle angle)
{
    return angle == PROP_ANGLE_EXACT || angle == PROP_ANGLE_ROUNDED;
}

/* How far the set's angle for candidate k lies from position * theta. Both products are exact as
 * hi + lo: 53 + 53 bits through fma; positions below 2^53. */
double prop_angle_change(const angle_set *set, const prop_model *m, int64_t pair, int64_t k,
                         double position)
{
    double theta = m->theta[pair], theta_lo = m->theta_lo[pair];
    if (set->angle == PROP_ANGLE_EXACT || position == 0 || !(theta > 0))
        return 0;
    double exact = position * theta;
    double exact_lo = fma(position, theta, -exact) + position * theta_lo;
    double angle, f = set->centre[pair];
    if (!prop_one_frequency(set->angle) && set->first[pair + 1] - set->first[pair] > 1)
        f = prop_move(set->format, f, k - m->steps[pair]);
    double narrow = prop_nearest(set->format, position);
    switch (set->angle) {
    case PROP_ANGLE_UNROUNDED:
        return position * ((f - theta) - theta_lo);
    case PROP_ANGLE_ROUNDED:
        angle = prop_nearest(set->format, exact);
        if (set->format == ROPE_F32) { /* a tie in exact is decided by what exact leaves */
            float other = nextafterf((float)angle, exact_lo > 0 ? INFINITY : -INFINITY);
            if (fabs((exact - (double)other) + exact_lo) < fabs((exact - angle) + exact_lo))
                angle = (double)other;
        } else {
            angle = exact + exact_lo;
        }
        break;
    case PROP_ANGLE_PRODUCT:
        angle = prop_nearest(set->format, narrow * f); /* 24 + 24 bits: one rounding */
        break;
    default:
        angle = prop_nearest(set->format, narrow / f); /* 53 >= 2 * 24 + 2: rounds as f32 would */
        break;
    }
    if (m->angle_rounded)
        angle = prop_round(m->angle_dtype, angle);
    return (angle - exact) - exact_lo;
}

/* cos and sin of an angle that lies `change` from the exact one. */
oracle_cos_sin_dd prop_turned(oracle_cos_sin_dd exact, double change)
{
    if (change == 0)
        return exact;
    double half_sin, half_cos;
    sincos(change / 2, &half_sin, &half_cos);
    double sin_change = 2 * half_sin * half_cos, cos_less_1 = -2 * half_sin * half_sin;
    double by_cos = exact.cos.hi * cos_less_1 - exact.sin.hi * sin_change;
    double by_sin = exact.sin.hi * cos_less_1 + exact.cos.hi * sin_change;
    oracle_cos_sin_dd r;
    /* Two-sums: what the leading double cannot hold stays in lo. */
    r.cos.hi = exact.cos.hi + by_cos;
    double t = r.cos.hi - exact.cos.hi;
    r.cos.lo = ((exact.cos.hi - (r.cos.hi - t)) + (by_cos - t)) + exact.cos.lo;
    r.sin.hi = exact.sin.hi + by_sin;
    t = r.sin.hi - exact.sin.hi;
    r.sin.lo = ((exact.sin.hi - (r.sin.hi - t)) + (by_sin - t)) + exact.sin.lo;
    return r;
}

const char *prop_angle_text(prop_angle angle)
{
    static const char *const texts[PROP_ANGLES] = {
        "A0, the exact angle",
        "A1, position times one rounded frequency for each pair, not rounded",
        "A2, position times the exact frequency, rounded",
        "A3, position times one rounded frequency for each pair, rounded",
        "A4, position over one rounded timescale for each pair, rounded",
    };
    return angle < PROP_ANGLES ? texts[angle] : "?";
}
