/* neon: lookup's table (cos and sin from f64 angles, rounded once to f32), the rotation in f32 with
 * NEON (aarch64), four pairs at a time, c and s in registers while the heads pass by, or row after
 * row where the tensor is past the caches.
 *
 * Contract: 2 + sqrt(2)/2 = 2.7072 u where the attention factor A is a power of two, 3 u otherwise,
 * for angles up to 2^24 and far beyond (terms below).
 *
 * Rotation. y0 = fl(x0 c - fl(x1 s)), y1 = fl(x1 c + fl(x0 s)): the outer roundings cost u |y0| and
 * u |y1|, the inner ones u |x1 s| and u |x0 s|; the norm of the sums is at most u |x| |w| + u |s|
 * |x| <= 2 u |x| |w|, w = c + i s (the bound of Jeannerod, Kornerup, Louvet, Muller, Error bounds
 * on complex multiplication with FMA, Math. Comp. 86 (2017)).
 *
 * Angle. a = fl(p hi) and e = fl(fma(p, hi, -a) + fl(p lo)); the fma is exact, |e| <= 2^-52 |a|,
 * the roundings of e cost 2^-104 |a| and the frequency 2^-98 |a|: |a + e - p theta| < 2^-97 |a|.
 * Past 2^53 the position itself is rounded: 2^-53 |a| more.
 *
 * Table. cos(a + e) = cos a - e sin a - r, |r| <= e^2 / 2 <= 2^-105 a^2. glibc's cos and sin in f64
 * are within 0.55 ulp (its s_sin.c), so .55 2^-53, and the sum's rounding costs 2^-54: before it is
 * rounded to f32 an entry is off by less than d = 2^-52 + 2^-97 |a| + 2^-105 a^2. Rounding a value
 * below 1 costs at most u/2; two of them sqrt(2)/2 u.
 *
 * A is folded into the entries: A c, A s. Where A = 2^k, the entries lie below 2^k and round to
 * within 2^k u/2: the same sqrt(2)/2 u of A. Elsewhere an entry v may lie above a power of two,
 * where half an ulp is up to u |v|: normwise at most sqrt(v0^2 + v1^2) u = A u, so 1 u. (Reached as
 * A nears a power of two from above.)
 *
 * Together (1 + 2 u)(1 + T u + sqrt(2) d) - 1; what is of second order, the f64 product by A and
 * the nearest f64 of A (2^-29 u each) stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__aarch64__)
#include <arm_neon.h>

enum { BLOCK = 256 }; /* pairs gathered at a time where there is more than one axis */

/* Where a pair's entries stand: in the rows of its axis, which hold that axis' pairs alone. */
typedef struct place {
    int64_t slot;
    uint32_t axis;
} place;

struct rope_plan {
    rope_geometry geometry;
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
                                            1u << ROPE_F32, &geometry);
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

#define INLINE static inline __attribute__((always_inline))

/* The rows of all heads of one token, at the first pair of a block; strides in elements. */
typedef struct rows {
    const float *x;
    float *y;
    int64_t heads, x_stride, y_stride, partner; /* partner: from x0 to x1 of a half pair */
} rows;

INLINE rows advance(rows r, int64_t elements)
{
    r.x += elements;
    r.y += elements;
    return r;
}

INLINE float32x4_t first_of(float32x4_t x0, float32x4_t x1, float32x4_t c, float32x4_t s)
{
    return vfmaq_f32(vnegq_f32(vmulq_f32(x1, s)), x0, c);
}

INLINE float32x4_t second_of(float32x4_t x0, float32x4_t x1, float32x4_t c, float32x4_t s)
{
    return vfmaq_f32(vmulq_f32(x0, s), x1, c);
}

/* Four half pairs. */
INLINE void half_one(rows r, int64_t at, float32x4_t c, float32x4_t s)
{
    float32x4_t x0 = vld1q_f32(r.x + at), x1 = vld1q_f32(r.x + r.partner + at);
    vst1q_f32(r.y + at, first_of(x0, x1, c, s));
    vst1q_f32(r.y + r.partner + at, second_of(x0, x1, c, s));
}

/* Four adjacent pairs. */
INLINE void adjacent_one(rows r, int64_t at, float32x4_t c, float32x4_t s)
{
    float32x4x2_t z = vld2q_f32(r.x + at), w;
    w.val[0] = first_of(z.val[0], z.val[1], c, s);
    w.val[1] = second_of(z.val[0], z.val[1], c, s);
    vst2q_f32(r.y + at, w);
}

INLINE void one(rows r, int64_t at, const bool adjacent, float32x4_t c, float32x4_t s)
{
    if (adjacent)
        adjacent_one(r, at, c, s);
    else
        half_one(r, at, c, s);
}

/* Rows that the cache holds: c and s of 16 pairs in registers while the heads pass by. What is left
 * of a row after whole vectors is done pair by pair. */
INLINE void in_cache(rows r, const float *c, const float *s, int64_t count, const bool adjacent)
{
    const int64_t step = adjacent ? 2 : 1, partner = adjacent ? 1 : r.partner;
    int64_t i = 0;
    for (; count - i >= 16; i += 16) {
        rows q = advance(r, step * i);
        float32x4_t c0 = vld1q_f32(c + i), c1 = vld1q_f32(c + i + 4);
        float32x4_t c2 = vld1q_f32(c + i + 8), c3 = vld1q_f32(c + i + 12);
        float32x4_t s0 = vld1q_f32(s + i), s1 = vld1q_f32(s + i + 4);
        float32x4_t s2 = vld1q_f32(s + i + 8), s3 = vld1q_f32(s + i + 12);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride) {
            one(q, 0, adjacent, c0, s0);
            one(q, 4 * step, adjacent, c1, s1);
            one(q, 8 * step, adjacent, c2, s2);
            one(q, 12 * step, adjacent, c3, s3);
        }
    }
    for (; count - i >= 4; i += 4) {
        rows q = advance(r, step * i);
        float32x4_t c0 = vld1q_f32(c + i), s0 = vld1q_f32(s + i);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride)
            one(q, 0, adjacent, c0, s0);
    }
    for (; i < count; i++) {
        rows q = advance(r, step * i);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride) {
            float x0 = q.x[0], x1 = q.x[partner];
            q.y[0] = fmaf(x0, c[i], -(x1 * s[i]));
            q.y[partner] = fmaf(x1, c[i], x0 * s[i]);
        }
    }
}

/* Rows that come from memory: one after the other, in the order of addresses. */
INLINE void in_order(rows r, const float *c, const float *s, int64_t count, const bool adjacent)
{
    rows one_row = r;
    one_row.heads = 1;
    for (int64_t h = 0; h < r.heads; h++, one_row.x += r.x_stride, one_row.y += r.y_stride)
        in_cache(one_row, c, s, count, adjacent);
}

static void rotate(uint32_t pairing, rows r, const float *c, const float *s, int64_t count,
                   bool far)
{
    if (pairing == ROPE_HALF && far)
        in_order(r, c, s, count, false);
    else if (pairing == ROPE_HALF)
        in_cache(r, c, s, count, false);
    else if (far)
        in_order(r, c, s, count, true);
    else
        in_cache(r, c, s, count, true);
}

/* Whether the tensor is past a core's own caches, of the order of 1 MiB. */
static bool beyond_cache(const rope_geometry *g, const rope_view *x)
{
    return x->tokens * x->heads * 2 * g->pairs > INT64_C(1) << 18;
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
        const float *source = (const float *)x->data + t * x->token_stride;
        float *target = (float *)y->data + t * y->token_stride;
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
            int64_t skip = g->rotary_offset + (g->pairing == ROPE_HALF ? begin : 2 * begin);
            rows r = {source + skip,  target + skip,  x->heads,
                      x->head_stride, y->head_stride, g->pairs};
            rotate(g->pairing, r, cosines, sines, count, beyond_cache(g, x));
        }
        for (int64_t h = 0; h < x->heads; h++)
            rope_copy_rest(g, sizeof(float), source + h * x->head_stride,
                           target + h * y->head_stride);
    }
    return ROPE_OK;
}

#else /* another CPU: the descriptor stands, and says what is missing */

struct rope_plan {
    size_t bytes;
};

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    (void)args, (void)out;
    return ROPE_UNSUPPORTED;
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    (void)p, (void)x, (void)y, (void)positions, (void)position_stride;
    return ROPE_UNSUPPORTED;
}
#endif

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
    int exponent;
    double table = frexp(args->attention_factor, &exponent) == 0.5 ? sqrt(0.5) : 1;
    double magnitude = fabs((double)position), angle = magnitude * fabs(args->frequency_hi[pair]);
    double entry = 0x1p-97 * angle + 0x1p-105 * angle * angle;
    if (magnitude >= 0x1p53)
        entry += 0x1p-53 * angle;
    return 2 + table + 0x1p-20 + 0x1p24 * 1.5 * entry;
}

const rope_kernel rope_neon = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "neon",
    .summary = "table of cos and sin from f64 angles, rotation in f32 by NEON (aarch64)",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .cpu_features = ROPE_CPU_NEON,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32_FMA},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
