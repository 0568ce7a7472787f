#include "oracle/enclose.h"

bool enclose_round(mpfr_t out, mpfi_srcptr value)
{
    mpfr_t right;
    mpfr_init2(right, mpfr_get_prec(out));
    mpfr_set(out, &value->left, MPFR_RNDN);
    mpfr_set(right, &value->right, MPFR_RNDN);
    bool same = mpfr_equal_p(out, right) != 0;
    if (!same) {
        /* The exact sum of the ends, halved, may need more bits than either has. */
        mpfr_t middle;
        mpfr_init2(middle, mpfi_get_prec(value) + 1);
        mpfi_get_fr(middle, value);
        mpfr_set(out, middle, MPFR_RNDN);
        mpfr_clear(middle);
    }
    mpfr_clear(right);
    return same;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

void enclose_power(mpfi_ptr out, mpfi_srcptr base, uint64_t p, uint64_t q)
{
    uint64_t g = common_divisor(p, q);
    p /= g;
    q /= g;
    /* t -> t^p and t -> t^(1/q) increase for t > 0, so the ends map to the ends; each step rounds
     * outwards, and MPFR rounds both operations correctly, so that exact results stay points. */
    mpfr_pow_ui(&out->left, &base->left, p, MPFR_RNDD);
    mpfr_pow_ui(&out->right, &base->right, p, MPFR_RNDU);
    mpfr_rootn_ui(&out->left, &out->left, q, MPFR_RNDD);
    mpfr_rootn_ui(&out->right, &out->right, q, MPFR_RNDU);
}

void enclose_clamp(mpfi_ptr value)
{
    mpfr_ptr ends[] = {&value->left, &value->right};
    for (int i = 0; i < 2; i++) {
        if (mpfr_cmp_ui(ends[i], 0) < 0)
            mpfr_set_ui(ends[i], 0, MPFR_RNDN);
        if (mpfr_cmp_ui(ends[i], 1) > 0)
            mpfr_set_ui(ends[i], 1, MPFR_RNDN);
    }
}

bool enclose_floor(mpfi_srcptr value, int64_t *out)
{
    long left = mpfr_get_si(&value->left, MPFR_RNDD), right = mpfr_get_si(&value->right, MPFR_RNDD);
    *out = left;
    return left == right;
}

bool enclose_ceil(mpfi_srcptr value, int64_t *out)
{
    long left = mpfr_get_si(&value->left, MPFR_RNDU), right = mpfr_get_si(&value->right, MPFR_RNDU);
    *out = left;
    return left == right;
}

bool enclose_narrow(mpfi_srcptr value, mpfr_prec_t bits)
{
    if (mpfr_equal_p(&value->left, &value->right))
        return true;
    if (mpfr_sgn(&value->left) <= 0 && mpfr_sgn(&value->right) >= 0)
        return false;
    mpfr_t width, magnitude;
    mpfr_inits2(64, width, magnitude, (mpfr_ptr)0);
    mpfi_diam_abs(width, value);
    mpfi_mig(magnitude, value);
    mpfr_div_2si(magnitude, magnitude, bits + 1, MPFR_RNDD);
    bool narrow = mpfr_lessequal_p(width, magnitude) != 0;
    mpfr_clears(width, magnitude, (mpfr_ptr)0);
    return narrow;
}
