/* Elements of a dtype to f64 and back, by the array. */
#include <math.h>
#include <string.h>

#include "props/certify_measure.h"

static double half_to_double(uint16_t half)
{
    /* The 15 magnitude bits, seen as an f32 of the same fields, times 2^112 is the value, for
     * subnormals too; the top exponent means infinity or NaN. */
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    if ((half & 0x7c00) == 0x7c00)
        value = (half & 0x3ff) != 0 ? NAN : INFINITY;
    return (half & 0x8000) != 0 ? -(double)value : (double)value;
}

void certify_decode(uint32_t dtype, const void *data, int64_t first, int64_t step, int64_t n,
                    double *out)
{
    const float *f32 = (const float *)data + first;
    const double *f64 = (const double *)data + first;
    const uint16_t *u16 = (const uint16_t *)data + first;
    switch (dtype) {
    case ROPE_F32:
        for (int64_t i = 0; i < n; i++)
            out[i] = f32[i * step];
        break;
    case ROPE_F64:
        for (int64_t i = 0; i < n; i++)
            out[i] = f64[i * step];
        break;
    case ROPE_F16:
        for (int64_t i = 0; i < n; i++)
            out[i] = half_to_double(u16[i * step]);
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)u16[i * step] << 16;
            float value;
            memcpy(&value, &bits, sizeof value);
            out[i] = value;
        }
    }
}

/* A value that f16 holds: a subnormal is its own multiple of 2^-24, else the fields move. */
static uint16_t half_from_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    double size = fabs(value);
    if (size < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)(size * 0x1p24));
    if (!(size <= 65504))
        return (uint16_t)(sign | (isnan(value) ? 0x7e00 : 0x7c00));
    uint64_t exponent = (bits >> 52 & 0x7ff) - 1023 + 15;
    return (uint16_t)(sign | exponent << 10 | (bits >> 42 & 0x3ff));
}

static uint16_t bf16_from_double(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (uint16_t)(bits >> 16);
}

void certify_encode(uint32_t dtype, void *data, int64_t first, int64_t step, int64_t n,
                    const double *values)
{
    float *f32 = (float *)data + first;
    double *f64 = (double *)data + first;
    uint16_t *u16 = (uint16_t *)data + first;
    if (dtype == ROPE_F32)
        for (int64_t i = 0; i < n; i++)
            f32[i * step] = (float)values[i];
    else if (dtype == ROPE_F64)
        for (int64_t i = 0; i < n; i++)
            f64[i * step] = values[i];
    else if (dtype == ROPE_F16)
        for (int64_t i = 0; i < n; i++)
            u16[i * step] = half_from_double(values[i]);
    else
        for (int64_t i = 0; i < n; i++)
            u16[i * step] = bf16_from_double(values[i]);
}
