/* Conversion between dtypes and f64. */
#include "oracle/format.h"

#include <math.h>
#include <string.h>

#include "impl/rope.h"
#include "oracle/measure.h"

const oracle_format oracle_formats[4] = {
    [ROPE_F32] = {24, -126, 0x1p-24, 0x1p-149, 0x1.fffffep127},
    [ROPE_F16] = {11, -14, 0x1p-11, 0x1p-24, 0x1.ffcp15},
    [ROPE_BF16] = {8, -126, 0x1p-8, 0x1p-133, 0x1.fep127},
    [ROPE_F64] = {53, -1022, 0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023},
};

double oracle_format_round(const oracle_format *format, double x, double tail)
{
    if (!isfinite(x) || (x == 0 && tail == 0))
        return x;
    if (format->precision == 53)
        return x + tail;
    int exponent = oracle_exponent(x);
    if (exponent < format->min_exponent)
        exponent = format->min_exponent;
    /* x / quantum is exact, and below 2^precision. All midpoints of a narrower format are f64
     * numbers, so x + tail lies on the side of a midpoint that x lies on, unless x is the midpoint:
     * then tail decides. No calls of libm: data of pairs that cancel all come through here. */
    int last = exponent - format->precision + 1;
    double scaled = x * oracle_power_of_two(-last);
    int64_t below = (int64_t)scaled;
    below -= scaled < (double)below; /* the floor */
    double rest = scaled - (double)below;
    bool up = rest > 0.5; /* not a branch: either is as likely */
    if (rest == 0.5)
        up = tail > 0 || (tail == 0 && below % 2 != 0);
    below += up;
    double rounded = copysign((double)below * oracle_power_of_two(last), x);
    return fabs(rounded) > format->largest ? copysign(INFINITY, x) : rounded;
}

static double from_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                       : exponent == 0 ? mantissa * 0x1p-24
                                       : (mantissa + 1024) * oracle_power_of_two(exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

static double from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* x is a value of the format. */
static uint16_t to_f16(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double magnitude = fabs(x);
    if (isnan(x))
        return (uint16_t)(sign | 0x7e00);
    if (isinf(x))
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)(magnitude * 0x1p24));
    int exponent = oracle_exponent(magnitude);
    int bits = (exponent + 14) * 1024 + (int)(magnitude * oracle_power_of_two(10 - exponent));
    return (uint16_t)(sign | bits);
}

static uint16_t to_bf16(double x)
{
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(isnan(x) ? (bits >> 16 | 0x40) : bits >> 16);
}

double oracle_load(uint32_t dtype, const void *data, int64_t index)
{
    const char *at = data;
    uint16_t half;
    float single;
    double wide;
    switch (dtype) {
    case ROPE_F32:
        memcpy(&single, at + 4 * index, sizeof single);
        return (double)single;
    case ROPE_F64:
        memcpy(&wide, at + 8 * index, sizeof wide);
        return wide;
    case ROPE_F16:
        memcpy(&half, at + 2 * index, sizeof half);
        return from_f16(half);
    case ROPE_BF16:
        memcpy(&half, at + 2 * index, sizeof half);
        return from_bf16(half);
    default:
        return NAN;
    }
}

void oracle_store(uint32_t dtype, void *data, int64_t index, double x)
{
    char *at = data;
    if (dtype > ROPE_F64)
        return;
    double rounded = oracle_format_round(&oracle_formats[dtype], x, 0);
    uint16_t half;
    float single;
    switch (dtype) {
    case ROPE_F32:
        single = (float)rounded;
        memcpy(at + 4 * index, &single, sizeof single);
        break;
    case ROPE_F64:
        memcpy(at + 8 * index, &rounded, sizeof rounded);
        break;
    default:
        half = dtype == ROPE_F16 ? to_f16(rounded) : to_bf16(rounded);
        memcpy(at + 2 * index, &half, sizeof half);
    }
}

double oracle_round_dd(uint32_t dtype, oracle_dd x)
{
    double hi = x.hi + x.lo;
    if (!isfinite(hi) || dtype > ROPE_F64)
        return hi;
    return oracle_format_round(&oracle_formats[dtype], hi, x.lo - (hi - x.hi));
}
