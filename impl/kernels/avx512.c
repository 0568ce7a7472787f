/* avx512: lookup's table (cos and sin from f64 angles, rounded once to f32), the rotation in f32
 * with AVX-512, 16 pairs at a time, c and s in registers while the heads pass by, or row after row
 * where the tensor is past the caches.
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

#if defined(__x86_64__)
#include <immintrin.h>

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
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("fma"))
        return ROPE_UNSUPPORTED;
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

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
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

/* The lowest `lanes` of 16 lanes; all where there are more. Lanes outside a mask touch no memory.
 */
AVX512 INLINE __mmask16 lowest(int64_t lanes)
{
    return (__mmask16)(lanes >= 16 ? 0xffffu : (1u << lanes) - 1);
}

/* Up to 16 half pairs. The first store stands before the second product: gcc then keeps x0 and x1
 * in registers, where it would load each twice. */
AVX512 INLINE void half_one(rows r, int64_t at, __m512 c, __m512 s, __mmask16 m)
{
    __m512 x0 = _mm512_maskz_loadu_ps(m, r.x + at);
    __m512 x1 = _mm512_maskz_loadu_ps(m, r.x + r.partner + at);
    _mm512_mask_storeu_ps(r.y + at, m, _mm512_fmsub_ps(x0, c, _mm512_mul_ps(x1, s)));
    _mm512_mask_storeu_ps(r.y + r.partner + at, m, _mm512_fmadd_ps(x1, c, _mm512_mul_ps(x0, s)));
}

/* Up to 8 adjacent pairs; c and s hold each value twice. */
AVX512 INLINE void adjacent_one(rows r, int64_t at, __m512 c, __m512 s, __mmask16 m)
{
    __m512 z = _mm512_maskz_loadu_ps(m, r.x + at), swapped = _mm512_permute_ps(z, 0xb1);
    _mm512_mask_storeu_ps(r.y + at, m, _mm512_fmaddsub_ps(z, c, _mm512_mul_ps(swapped, s)));
}

/* Up to 8 values, each twice. */
AVX512 INLINE __m512 twice(const float *values, int64_t count)
{
    const __m512i lanes = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(lanes,
                                 _mm512_maskz_loadu_ps(lowest(count < 8 ? count : 8), values));
}

/* Rows that the cache holds: c and s of 64 half pairs in registers while the heads pass by. */
AVX512 static void half_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i >= 64; i += 64) {
        rows q = advance(r, i);
        __m512 c0 = _mm512_loadu_ps(c + i), c1 = _mm512_loadu_ps(c + i + 16);
        __m512 c2 = _mm512_loadu_ps(c + i + 32), c3 = _mm512_loadu_ps(c + i + 48);
        __m512 s0 = _mm512_loadu_ps(s + i), s1 = _mm512_loadu_ps(s + i + 16);
        __m512 s2 = _mm512_loadu_ps(s + i + 32), s3 = _mm512_loadu_ps(s + i + 48);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride) {
            half_one(q, 0, c0, s0, 0xffff);
            half_one(q, 16, c1, s1, 0xffff);
            half_one(q, 32, c2, s2, 0xffff);
            half_one(q, 48, c3, s3, 0xffff);
        }
    }
    for (; i < count; i += 16) {
        rows q = advance(r, i);
        __mmask16 m = lowest(count - i);
        __m512 c0 = _mm512_maskz_loadu_ps(m, c + i), s0 = _mm512_maskz_loadu_ps(m, s + i);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride)
            half_one(q, 0, c0, s0, m);
    }
}

/* 32 adjacent pairs, as half_in_cache. */
AVX512 static void adjacent_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i >= 32; i += 32) {
        rows q = advance(r, 2 * i);
        __m512 c0 = twice(c + i, 8), c1 = twice(c + i + 8, 8);
        __m512 c2 = twice(c + i + 16, 8), c3 = twice(c + i + 24, 8);
        __m512 s0 = twice(s + i, 8), s1 = twice(s + i + 8, 8);
        __m512 s2 = twice(s + i + 16, 8), s3 = twice(s + i + 24, 8);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride) {
            adjacent_one(q, 0, c0, s0, 0xffff);
            adjacent_one(q, 16, c1, s1, 0xffff);
            adjacent_one(q, 32, c2, s2, 0xffff);
            adjacent_one(q, 48, c3, s3, 0xffff);
        }
    }
    for (; i < count; i += 8) {
        rows q = advance(r, 2 * i);
        __mmask16 m = lowest(2 * (count - i));
        __m512 c0 = twice(c + i, count - i), s0 = twice(s + i, count - i);
        for (int64_t h = 0; h < r.heads; h++, q.x += r.x_stride, q.y += r.y_stride)
            adjacent_one(q, 0, c0, s0, m);
    }
}

/* Rows that come from memory: one after the other, in the order of addresses, as prefetchers like
 * it. */
AVX512 static void half_in_order(rows r, const float *c, const float *s, int64_t count)
{
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        int64_t i = 0;
        for (; count - i >= 16; i += 16)
            half_one(r, i, _mm512_loadu_ps(c + i), _mm512_loadu_ps(s + i), 0xffff);
        __mmask16 m = lowest(count - i);
        if (i < count)
            half_one(r, i, _mm512_maskz_loadu_ps(m, c + i), _mm512_maskz_loadu_ps(m, s + i), m);
    }
}

AVX512 static void adjacent_in_order(rows r, const float *c, const float *s, int64_t count)
{
    float c2[2 * BLOCK], s2[2 * BLOCK]; /* each value twice */
    for (int64_t i = 0; i < count; i += 8) {
        _mm512_mask_storeu_ps(c2 + 2 * i, lowest(2 * (count - i)), twice(c + i, count - i));
        _mm512_mask_storeu_ps(s2 + 2 * i, lowest(2 * (count - i)), twice(s + i, count - i));
    }
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        int64_t i = 0;
        for (; 2 * count - i >= 16; i += 16)
            adjacent_one(r, i, _mm512_loadu_ps(c2 + i), _mm512_loadu_ps(s2 + i), 0xffff);
        __mmask16 m = lowest(2 * count - i);
        if (i < 2 * count)
            adjacent_one(r, i, _mm512_maskz_loadu_ps(m, c2 + i), _mm512_maskz_loadu_ps(m, s2 + i),
                         m);
    }
}

AVX512 static void rotate(uint32_t pairing, rows r, const float *c, const float *s, int64_t count,
                          bool in_order)
{
    if (pairing == ROPE_HALF && in_order)
        half_in_order(r, c, s, count);
    else if (pairing == ROPE_HALF)
        half_in_cache(r, c, s, count);
    else if (in_order)
        adjacent_in_order(r, c, s, count);
    else
        adjacent_in_cache(r, c, s, count);
}

/* Whether the tensor is past a core's own caches: measured on Zen 5, 1 MiB. */
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

const rope_kernel rope_avx512 = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "avx512",
    .summary = "table of cos and sin from f64 angles, rotation in f32 by AVX-512",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .cpu_features = ROPE_CPU_AVX512 | ROPE_CPU_FMA,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32_FMA},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
