/* Pairs that arithmetic cannot judge as they stand.
 *
 * NaN and infinity in x compare by class. Component 0 is x0 c - x1 s, component 1 is x0 s + x1 c. A
 * term whose coefficient is below the contract (bound u) may have been computed as 0, and 0 times
 * infinity is NaN in IEEE arithmetic: such a component is not judged. Else a NaN makes NaN due; an
 * infinity makes an infinity of the term's sign due; two infinite terms of unlike signs leave
 * infinity or NaN, and so does an infinite one with a finite one of the other sign that overflows
 * by itself, as A > 1 lets it.
 *
 * Overflow: where |exact| is within the bound of the threshold (the largest finite plus half an
 * ulp, from where rounding gives infinity), infinity and finite are both right. With A > 1 a
 * product A x c can overflow where the sum does not: the contract speaks of no such pair (rope.h),
 * infinity is accepted. */
#include "oracle/measure_core.h"

typedef enum due {
    DUE_ANYTHING,
    DUE_NAN,
    DUE_INFINITY,        /* of a sign */
    DUE_INFINITY_OR_NAN, /* that infinity, or NaN */
    DUE_NOT_FINITE,
    DUE_FINITE,
} due;

/* What is due of p + q, p = x c and q = x' c' given by value and coefficient. least: what a
 * coefficient may be off by; most: the largest |x c| of a finite x that does not overflow. */
static due class_due(double x, double c, double other, double d, double least, double most,
                     double *sign)
{
    bool x_odd = !isfinite(x), other_odd = !isfinite(other);
    if ((x_odd && !(fabs(c) > least)) || (other_odd && !(fabs(d) > least)))
        return DUE_ANYTHING;
    if (isnan(x) || isnan(other))
        return DUE_NAN;
    double x_sign = copysign(1, x) * copysign(1, c),
           other_sign = copysign(1, other) * copysign(1, d);
    if (x_odd && other_odd && x_sign != other_sign)
        return DUE_NOT_FINITE;
    *sign = x_odd ? x_sign : other_sign;
    /* The finite term's coefficient as far as it may lie to the other side of the infinite one's.
     */
    double finite = fabs(x_odd ? other : x), size = fabs(x_odd ? d : c);
    double against = x_sign != other_sign ? least + size : least - size;
    bool overflows = against > 0 && !(finite * against < most);
    return !x_odd && !other_odd ? DUE_FINITE : overflows ? DUE_INFINITY_OR_NAN : DUE_INFINITY;
}

static bool class_agrees(due wanted, double sign, double y)
{
    switch (wanted) {
    case DUE_ANYTHING:
        return true;
    case DUE_NAN:
        return isnan(y);
    case DUE_INFINITY:
        return isinf(y) && copysign(1, y) == sign;
    case DUE_INFINITY_OR_NAN:
        return isnan(y) || (isinf(y) && copysign(1, y) == sign);
    case DUE_NOT_FINITE:
        return !isfinite(y);
    default:
        return isfinite(y);
    }
}

static oracle_pair_error by_class(const oracle_format *f, oracle_cos_sin_dd r, oracle_dd a,
                                  double x0, double x1, double y0, double y1, double bound_u)
{
    double sign0 = 0, sign1 = 0, least = bound_u * f->u + 0x1p-90;
    /* Of x c; the table's and the product's roundings are within the contract, so within least.
     * Divided, since f64 has nothing above its own largest. */
    double most = f->largest / a.hi;
    due due0 = class_due(x0, r.cos.hi, x1, -r.sin.hi, least, most, &sign0);
    due due1 = class_due(x0, r.sin.hi, x1, r.cos.hi, least, most, &sign1);
    bool agree = class_agrees(due0, sign0, y0) && class_agrees(due1, sign1, y1);
    oracle_outcome outcome = agree ? ORACLE_WITHIN : ORACLE_CLASS;
    return (oracle_pair_error){.outcome = bound_u >= 0 ? outcome : ORACLE_ABOVE};
}

/* One component of a pair whose exact value may be at the overflow threshold; all but y scaled by
 * 2^-k. largest_term: the larger of the two products that make it. */
static oracle_outcome near_overflow(double exact, double largest_term, double other_term,
                                    double tolerance, double threshold, double y, double scaled_y)
{
    if (isnan(y))
        return other_term + tolerance >= threshold ? ORACLE_WITHIN : ORACLE_CLASS;
    if (isinf(y)) {
        bool sum_may = fabs(exact) + tolerance >= threshold && (exact < 0) == (y < 0);
        return sum_may || largest_term + tolerance >= threshold ? ORACLE_WITHIN : ORACLE_CLASS;
    }
    if (!(fabs(exact) - tolerance <= threshold))
        return ORACLE_CLASS;
    /* Beyond the largest finite, rounding to it is within half an ulp: no error to speak of. */
    return fabs(scaled_y - exact) <= tolerance ? ORACLE_WITHIN : ORACLE_ABOVE;
}

static oracle_pair_error at_overflow(const oracle_format *f, int k, oracle_cos_sin_dd r,
                                     oracle_dd a, double x0, double x1, oracle_dd e0, oracle_dd e1,
                                     double y0, double y1, double bound_u)
{
    double size = a.hi * sqrt(x0 * x0 + x1 * x1);
    double tolerance = bound_u * f->u * size + ldexp(2 * f->eta, -k) + 0x1p-95 * size;
    double threshold = ldexp(f->largest, -k) * (1 + f->u / 2);
    double terms[4] = {fabs(a.hi * x0 * r.cos.hi), fabs(a.hi * x1 * r.sin.hi),
                       fabs(a.hi * x0 * r.sin.hi), fabs(a.hi * x1 * r.cos.hi)};
    oracle_outcome first = near_overflow(e0.hi, fmax(terms[0], terms[1]), fmin(terms[0], terms[1]),
                                         tolerance, threshold, y0, ldexp(y0, -k));
    oracle_outcome second = near_overflow(e1.hi, fmax(terms[2], terms[3]), fmin(terms[2], terms[3]),
                                          tolerance, threshold, y1, ldexp(y1, -k));
    return (oracle_pair_error){.outcome = first > second ? first : second};
}

static oracle_pair_error of_zero(const oracle_format *f, double y0, double y1, double bound_u)
{
    bool zero = y0 == 0 && y1 == 0;
    bool within = hypot(y0, y1) <= 2 * f->eta && bound_u >= 0;
    oracle_pair_error result = {.outcome = within ? ORACLE_WITHIN : ORACLE_ABOVE,
                                .has_error = true,
                                .normwise_u = within ? 0 : INFINITY,
                                .absolute = hypot(y0, y1),
                                .correctly_rounded = (y0 == 0) + (y1 == 0)};
    if (!zero) {
        result.ulp_larger = fmax(fabs(y0), fabs(y1)) / f->eta;
        result.ulp_component = result.ulp_larger;
    }
    return result;
}

oracle_pair_error measure_edge(const oracle_format *f, oracle_cos_sin_dd r, oracle_dd a, double x0,
                               double x1, double y0, double y1, double bound_u)
{
    if (!isfinite(x0) || !isfinite(x1))
        return by_class(f, r, a, x0, x1, y0, y1, bound_u);
    if (x0 == 0 && x1 == 0)
        return isfinite(y0) && isfinite(y1) ? of_zero(f, y0, y1, bound_u)
                                            : (oracle_pair_error){.outcome = ORACLE_CLASS};
    /* Scaled by a power of two to |x| near 1 / A: exact, but for a component so much smaller than
     * the other that it does not matter. */
    int k = ilogb(fmax(fabs(x0), fabs(x1))) + ilogb(a.hi);
    double scale0 = ldexp(x0, -k), scale1 = ldexp(x1, -k);
    oracle_dd e0, e1;
    measure_rotate(r, a, scale0, scale1, &e0, &e1);
    bool far_from_overflow = a.hi * (fabs(scale0) + fabs(scale1)) <= ldexp(f->largest, -k) / 4;
    if (far_from_overflow && !(isfinite(y0) && isfinite(y1)))
        return (oracle_pair_error){.outcome = ORACLE_CLASS};
    oracle_pair_error result =
        measure_scaled(f, k, r, a, scale0, scale1, e0, e1, ldexp(y0, -k), ldexp(y1, -k), bound_u);
    result.absolute = ldexp(result.absolute, k);
    double edge = ldexp(f->largest, -k);
    bool overflows = !(isfinite(y0) && isfinite(y1)) || fabs(e0.hi) > edge || fabs(e1.hi) > edge;
    if (far_from_overflow || !overflows)
        return result;
    return at_overflow(f, k, r, a, scale0, scale1, e0, e1, y0, y1, bound_u);
}
