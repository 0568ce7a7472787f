#include "props/certificate_sum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_at(certificate_sum *sum, int limb, uint64_t value)
{
    for (; limb < CERTIFICATE_LIMBS && value != 0; limb++) {
        sum->limb[limb] += value;
        value = sum->limb[limb] < value; /* the carry */
    }
}

void certificate_sum_add(certificate_sum *sum, double value)
{
    if (!(value > 0 && value < 0x1p256))
        return;
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), 53);
    int shift = exponent - 53 + 64; /* value = mantissa 2^shift units */
    if (shift < 0) {
        add_at(sum, 0, shift > -64 ? mantissa >> -shift : 0);
        return;
    }
    int limb = shift / 64, bits = shift % 64;
    add_at(sum, limb, mantissa << bits);
    if (bits != 0)
        add_at(sum, limb + 1, mantissa >> (64 - bits));
}

void certificate_sum_join(certificate_sum *sum, const certificate_sum *other)
{
    for (int i = 0; i < CERTIFICATE_LIMBS; i++)
        add_at(sum, i, other->limb[i]);
}

bool certificate_sum_equal(const certificate_sum *a, const certificate_sum *b)
{
    return memcmp(a->limb, b->limb, sizeof a->limb) == 0;
}

double certificate_sum_value(const certificate_sum *sum)
{
    double value = 0;
    for (int i = CERTIFICATE_LIMBS - 1; i >= 0; i--)
        value = value * 0x1p64 + (double)sum->limb[i];
    return value * 0x1p-64;
}

void certificate_sum_format(const certificate_sum *sum, char text[97])
{
    int top = CERTIFICATE_LIMBS - 1;
    while (top > 0 && sum->limb[top] == 0)
        top--;
    int used = snprintf(text, 97, "%llx", (unsigned long long)sum->limb[top]);
    while (--top >= 0)
        used +=
            snprintf(text + used, 97 - (size_t)used, "%016llx", (unsigned long long)sum->limb[top]);
}

bool certificate_sum_parse(const char *text, certificate_sum *sum)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = strlen(text);
    *sum = (certificate_sum){{0}};
    if (length == 0 || length > 16 * CERTIFICATE_LIMBS || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++) {
        const char *digit = memchr(digits, text[i], 16);
        if (digit == NULL)
            return false;
        size_t place = length - 1 - i;
        sum->limb[place / 16] |= (uint64_t)(digit - digits) << (place % 16 * 4);
    }
    return true;
}
