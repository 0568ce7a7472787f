#include "oracle/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/enclose.h"
#include "oracle/internal.h"

static void enclose(const oracle *o, oracle_quantity quantity, int64_t position, int64_t pair,
                    mpfi_ptr out)
{
    mpfi_t other;
    mpfi_init2(other, mpfi_get_prec(out));
    switch (quantity) {
    case ORACLE_FREQUENCY:
        oracle_enclose_frequency(o, pair, out);
        break;
    case ORACLE_ANGLE:
        oracle_enclose_angle(o, position, pair, out);
        break;
    case ORACLE_COS:
        oracle_enclose_cos_sin(o, position, pair, out, other);
        break;
    case ORACLE_SIN:
        oracle_enclose_cos_sin(o, position, pair, other, out);
        break;
    default:
        oracle_enclose_attention_factor(o, out);
    }
    mpfi_clear(other);
}

/* Digits ("-81461..." without a point) and decimal exponent, as mpfr_get_str gives them. */
typedef struct significand {
    char *digits; /* of mpfr_free_str */
    mpfr_exp_t exponent;
} significand;

static bool is_zero(significand s)
{
    const char *digits = s.digits + (s.digits[0] == '-');
    return strspn(digits, "0") == strlen(digits);
}

/* MPFI writes an exact zero as [0, -0]. */
static bool same(significand a, significand b)
{
    if (is_zero(a) && is_zero(b))
        return true;
    return a.exponent == b.exponent && strcmp(a.digits, b.digits) == 0;
}

/* An enclosure that no precision decides is that of a decimal tie, such as an angle of 100 * 0.01
 * where 0.01 = 10000^(-1/2) is no binary number. Rounding its middle first to thousands of digits
 * recovers the tie (9999... becomes 0000...), and the second rounding takes it to even. */
static significand of_tie(mpfi_srcptr value, int digits)
{
    mpfr_t middle;
    mpfr_init2(middle, mpfi_get_prec(value));
    mpfi_get_fr(middle, value);
    char text[ORACLE_MAX_DIGITS + 1100];
    mpfr_snprintf(text, sizeof text, "%.*Re", digits + 1000, middle);
    significand s;
    mpfr_t wide;
    mpfr_init2(wide, 4 * (mpfr_prec_t)strlen(text) + 64);
    /* The decimal itself is no binary number either; it is exact to far more digits than the
     * second rounding looks at, and a digit 5 followed by 1000 zeros is made an exact tie by
     * scaling to a whole number. */
    mpfr_exp_t exponent = strtol(strchr(text, 'e') + 1, NULL, 10);
    char *point = strchr(text, '.');
    *strchr(text, 'e') = '\0';
    if (point != NULL)
        memmove(point, point + 1, strlen(point));
    mpfr_set_str(wide, text, 10, MPFR_RNDN);
    s.digits = mpfr_get_str(NULL, &s.exponent, 10, (size_t)digits, wide, MPFR_RNDN);
    s.exponent += exponent - (digits + 1000);
    mpfr_clears(middle, wide, (mpfr_ptr)0);
    return s;
}

static significand round_once(const oracle *o, oracle_quantity quantity, int64_t position,
                              int64_t pair, int digits)
{
    for (mpfr_prec_t bits = 64 + (mpfr_prec_t)digits * 7 / 2;; bits *= 2) {
        mpfi_t value;
        mpfi_init2(value, bits);
        enclose(o, quantity, position, pair, value);
        significand left, right;
        left.digits =
            mpfr_get_str(NULL, &left.exponent, 10, (size_t)digits, &value->left, MPFR_RNDN);
        right.digits =
            mpfr_get_str(NULL, &right.exponent, 10, (size_t)digits, &value->right, MPFR_RNDN);
        bool decided = same(left, right);
        mpfr_free_str(right.digits);
        if (!decided && bits > ENCLOSE_MAX_BITS / 2) {
            mpfr_free_str(left.digits);
            left = of_tie(value, digits);
            decided = true;
        }
        mpfi_clear(value);
        if (decided)
            return left;
        mpfr_free_str(left.digits);
    }
}

/* Plain notation where it stays short, else d.ddde-xx. */
static char *lay_out(significand s, int digits)
{
    size_t size = (size_t)digits + 64;
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    const char *sign = s.digits[0] == '-' ? "-" : "", *d = s.digits + (s.digits[0] == '-');
    int e = (int)s.exponent; /* value = 0.ddd 10^e */
    if (is_zero(s))
        snprintf(text, size, "0");
    else if (e > 0 && e < digits)
        snprintf(text, size, "%s%.*s.%s", sign, e, d, d + e);
    else if (e == digits)
        snprintf(text, size, "%s%s", sign, d);
    else if (e <= 0 && e > -5)
        snprintf(text, size, "%s0.%.*s%s", sign, -e, "00000", d);
    else
        snprintf(text, size, "%s%c.%se%d", sign, d[0], d + 1, e - 1);
    return text;
}

char *oracle_decimal(const oracle *o, oracle_quantity quantity, int64_t position, int64_t pair,
                     int digits)
{
    significand s = round_once(o, quantity, position, pair, digits);
    char *text = lay_out(s, digits);
    mpfr_free_str(s.digits);
    return text;
}
