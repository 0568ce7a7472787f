/* software16: f16 and bf16 storage in portable C: every element is widened and rounded by integer
 * arithmetic, one at a time. The reference that the vector kernels are compared with; its source is
 * fixed.
 *
 * Contract: 1 u of the dtype, for any attention factor A and angles up to 2^24 and far beyond.
 *
 * Table and angle as lookup: 2^-24 A for the pair and f64's errors.
 *
 * Rotation. Four rounded products and two sums in f32: sqrt(5) 2^-24 (Brent, Percival, Zimmermann,
 * Math. Comp. 76 (2007), theorem 1). So before the last rounding y is off by less than d = 3.24
 * 2^-24 A |x|.
 *
 * Storage. Rounding to nearest costs at most u / (1 + u) |y_k| a component (Jeannerod and Rump,
 * Math. Comp. 87 (2018)), normwise u / (1 + u) (1 + d): with d it is below u, since d < u^2 / (1 +
 * 2 u), for u = 2^-11 and 2^-8. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCK = 256 }; /* pairs gathered at a time where there is more than one axis */

/* Where a pair's entries stand: in the rows of its axis, which hold that axis' pairs alone. */
typedef struct place {
    int64_t slot;
    uint32_t axis;
} place;

struct rope_plan {
    rope_geometry geometry;
    uint32_t dtype;
    size_t bytes;
    int64_t width[ROPE_MAX_AXES]; /* pairs of each axis */
    float *rows[ROPE_MAX_AXES];   /* [position - first][2][width]: A cos, then A sin */
    place *places;                /* [pairs] */
};

/* Sets width, and the floats of all tables; false where that is no size. */
static bool table_size(const rope_plan_args *args, int64_t *width, size_t *start, size_t *floats)
{
    memset(width, 0, ROPE_MAX_AXES * sizeof *width);
    for (int64_t i = 0; i < args->pairs; i++)
        width[args->axis[i]]++;
    *floats = 0;
    for (uint32_t a = 0; a < args->axis_count; a++) {
        start[a] = *floats;
        if (width[a] == 0)
            continue;
        uint64_t more = (uint64_t)args->last[a] - (uint64_t)args->first[a]; /* rows but one */
        size_t row = 2 * (size_t)width[a];
        if (more >= (SIZE_MAX / 16 - *floats) / row)
            return false;
        *floats += ((size_t)more + 1) * row;
    }
    return true;
}

static void fill(rope_plan *p, const rope_plan_args *args, uint32_t axis)
{
    int64_t first = args->first[axis], width = p->width[axis];
    uint64_t more = (uint64_t)args->last[axis] - (uint64_t)first;
    float *row = p->rows[axis];
    for (uint64_t t = 0; t <= more && width > 0; t++, row += 2 * width) {
        double position = (double)(first + (int64_t)t);
        for (int64_t i = 0; i < args->pairs; i++) {
            if (p->places[i].axis != axis)
                continue;
            double a = position * args->frequency_hi[i];
            double e = fma(position, args->frequency_hi[i], -a) + position * args->frequency_lo[i];
            double c = cos(a), s = sin(a);
            row[p->places[i].slot] = (float)(args->attention_factor * (c - e * s));
            row[width + p->places[i].slot] = (float)(args->attention_factor * (s + e * c));
        }
    }
}

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    rope_geometry geometry;
    rope_status status = rope_geometry_from(args, 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
                                            1u << ROPE_F16 | 1u << ROPE_BF16, &geometry);
    if (status != ROPE_OK)
        return status;
    int64_t width[ROPE_MAX_AXES], used[ROPE_MAX_AXES] = {0};
    size_t start[ROPE_MAX_AXES], floats, places = (size_t)args->pairs * sizeof(place);
    if (!table_size(args, width, start, &floats))
        return ROPE_NO_MEMORY;
    size_t bytes = sizeof(rope_plan) + places + floats * sizeof(float);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    p->geometry = geometry;
    p->bytes = bytes;
    p->dtype = args->dtype;
    p->places = (place *)(p + 1);
    float *table = (float *)(p->places + args->pairs);
    for (uint32_t a = 0; a < args->axis_count; a++) {
        p->width[a] = width[a];
        p->rows[a] = table + start[a];
    }
    for (int64_t i = 0; i < args->pairs; i++)
        p->places[i] = (place){used[args->axis[i]]++, args->axis[i]};
    for (uint32_t a = 0; a < args->axis_count; a++)
        fill(p, args, a);
    *out = p;
    return ROPE_OK;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31)
        return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent > 0)
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* zero and subnormals */
    return sign ? -magnitude : magnitude;
}

/* Drops the lowest `shift` bits, to nearest, ties to even. */
static uint32_t round_bits(uint32_t bits, uint32_t shift)
{
    uint32_t odd = bits >> shift & 1;
    return (bits + (1u << (shift - 1)) - 1 + odd) >> shift;
}

static uint16_t f32_to_f16(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff)); /* NaN */
    if (magnitude >= 0x47800000u)
        return (uint16_t)(sign | 0x7c00); /* 2^16 and above, infinity */
    if (magnitude >= 0x38800000u)         /* 2^-14: normal; a carry may reach infinity */
        return (uint16_t)(sign | round_bits(magnitude - 0x38000000u, 13));
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102)
        return (uint16_t)sign; /* below 2^-25: zero */
    return (uint16_t)(sign | round_bits((magnitude & 0x7fffff) | 0x800000, 126 - exponent));
}

static float bf16_to_f32(uint16_t b)
{
    return float_of((uint32_t)b << 16);
}

static uint16_t f32_to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40); /* NaN */
    return (uint16_t)round_bits(bits, 16);
}

static void rotate(const rope_plan *p, const float *cosines, const float *sines, int64_t begin,
                   int64_t count, const uint16_t *x, uint16_t *y)
{
    const rope_geometry *g = &p->geometry;
    float (*widen)(uint16_t) = p->dtype == ROPE_F16 ? f16_to_f32 : bf16_to_f32;
    uint16_t (*narrow)(float) = p->dtype == ROPE_F16 ? f32_to_f16 : f32_to_bf16;
    int64_t step = g->pairing == ROPE_HALF ? 1 : 2,
            partner = g->pairing == ROPE_HALF ? g->pairs : 1;
    x += g->rotary_offset + begin * step;
    y += g->rotary_offset + begin * step;
    for (int64_t i = 0; i < count; i++) {
        float x0 = widen(x[i * step]), x1 = widen(x[i * step + partner]);
        y[i * step] = narrow(x0 * cosines[i] - x1 * sines[i]);
        y[i * step + partner] = narrow(x0 * sines[i] + x1 * cosines[i]);
    }
}

static const float *row_of(const rope_plan *p, uint32_t axis, int64_t position)
{
    uint64_t row = (uint64_t)position - (uint64_t)p->geometry.first[axis];
    return p->rows[axis] + row * 2 * (uint64_t)p->width[axis];
}

static void gather(const rope_plan *p, const int64_t *position, int64_t begin, int64_t count,
                   float *cosines, float *sines)
{
    for (int64_t i = 0; i < count; i++) {
        place at = p->places[begin + i];
        const float *row = row_of(p, at.axis, position[at.axis]) + at.slot;
        cosines[i] = row[0];
        sines[i] = row[p->width[at.axis]];
    }
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    for (int64_t t = 0; t < x->tokens; t++) {
        const int64_t *position = positions + t * position_stride;
        const uint16_t *source = (const uint16_t *)x->data + t * x->token_stride;
        uint16_t *target = (uint16_t *)y->data + t * y->token_stride;
        for (int64_t begin = 0; begin < g->pairs; begin += BLOCK) {
            float gathered[2][BLOCK];
            const float *cosines = gathered[0], *sines = gathered[1];
            int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
            if (g->axis_count == 1) {
                cosines = row_of(p, 0, position[0]) + begin;
                sines = cosines + g->pairs;
            } else {
                gather(p, position, begin, count, gathered[0], gathered[1]);
            }
            for (int64_t h = 0; h < x->heads; h++)
                rotate(p, cosines, sines, begin, count, source + h * x->head_stride,
                       target + h * y->head_stride);
        }
        for (int64_t h = 0; h < x->heads; h++)
            rope_copy_rest(g, sizeof(uint16_t), source + h * x->head_stride,
                           target + h * y->head_stride);
    }
    return ROPE_OK;
}

static void destroy(rope_plan *p)
{
    free(p);
}

static size_t plan_bytes(const rope_plan *p)
{
    return p->bytes;
}

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    double u = args->dtype == ROPE_F16 ? 0x1p-11 : 0x1p-8;
    double magnitude = fabs((double)position), angle = magnitude * fabs(args->frequency_hi[pair]);
    double entry = 0x1p-52 + 0x1p-97 * angle + 0x1p-105 * angle * angle;
    if (magnitude >= 0x1p53)
        entry += 0x1p-53 * angle;
    double before = 3.24 * 0x1p-24 + 1.5 * entry;
    return fmax(1, (1 + before) / (1 + u) + before / u);
}

const rope_kernel rope_software16 = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "software16",
    .summary = "f16 and bf16 storage, converted in software element by element, portable C",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F16 | 1u << ROPE_BF16,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
