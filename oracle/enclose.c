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

/* r = x^(1/q) when that is a binary number: x = m 2^e, m odd, needs q to divide e and m to be the
 * q-th power of an integer. */
static bool exact_root(mpfr_srcptr x, uint64_t q, mpfr_ptr r)
{
    mpz_t m;
    mpz_init(m);
    mpfr_exp_t e = mpfr_get_z_2exp(m, x);
    mp_bitcnt_t zeros = mpz_scan1(m, 0);
    mpz_tdiv_q_2exp(m, m, zeros);
    e += (mpfr_exp_t)zeros;
    bool exact = e % (mpfr_exp_t)q == 0 && mpz_root(m, m, q) != 0;
    if (exact)
        mpfr_set_z_2exp(r, m, e / (mpfr_exp_t)q, MPFR_RNDN);
    mpz_clear(m);
    return exact;
}

void enclose_power(mpfi_ptr out, mpfi_srcptr base, uint64_t p, uint64_t q)
{
    uint64_t g = common_divisor(p, q);
    p /= g;
    q /= g;
    mpfr_t root;
    mpfr_init2(root, mpfi_get_prec(base));
    if (mpfr_equal_p(&base->left, &base->right) && exact_root(&base->left, q, root)) {
        mpfr_pow_ui(&out->left, root, p, MPFR_RNDD);
        mpfr_pow_ui(&out->right, root, p, MPFR_RNDU);
    } else {
        /* Irrational, or an enclosure anyway: base^(p/q) = exp(p ln(base) / q). */
        mpfi_log(out, base);
        mpfi_mul_ui(out, out, p);
        mpfi_div_ui(out, out, q);
        mpfi_exp(out, out);
    }
    mpfr_clear(root);
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
