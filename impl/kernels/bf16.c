/* bf16: bf16 storage, arithmetic in f32 with AVX2 and FMA: lookup's table (cos and sin from f64
 * angles, rounded once to f32), the rotation in f32, one rounding to bf16, to nearest even.
 *
 * Contract: 1 u of bf16 (2^-8), for any attention factor A and angles up to 2^24 and far beyond.
 *
 * Angle. a = fl(p hi) and e = fl(fma(p, hi, -a) + fl(p lo)): |a + e - p theta| < 2^-97 |a|; past
 * 2^53 the position itself is rounded, 2^-53 |a| more.
 *
 * Table. An entry is off by less than 2^-52 + 2^-97 |a| + 2^-105 a^2 before it is rounded to f32,
 * by at most 2^-24 |A c| in rounding (see lookup): 2^-24 A for the pair.
 *
 * Rotation. By a rounded product and an fma each: 2 2^-24 normwise (Jeannerod, Kornerup, Louvet,
 * Muller, Math. Comp. 86 (2017)). So before the last rounding y is off by less than d = 3.001 2^-24
 * A |x|.
 *
 * Storage. Rounding to nearest costs at most u / (1 + u) |y_k| a component (Jeannerod and Rump,
 * Math. Comp. 87 (2018)), normwise u / (1 + u) (1 + d): with d it is below u, since d < u^2 / (1 +
 * 2 u), for u = 2^-8. In ulp of the larger component d is below 0.0001: an error of at most 0.5 ulp
 * and that. */
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
                                            1u << ROPE_BF16, &geometry);
    if (status != ROPE_OK)
        return status;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
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

#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

/* The rows of all heads of one token, at the first pair of a block; strides in elements. */
typedef struct rows {
    const uint16_t *x;
    uint16_t *y;
    int64_t heads, x_stride, y_stride, partner; /* partner: from x0 to x1 of a half pair */
} rows;

INLINE rows advance(rows r, int64_t elements)
{
    r.x += elements;
    r.y += elements;
    return r;
}

/* bf16 is the upper half of f32. */
AVX2 INLINE __m256 widen(__m128i v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* To nearest, ties to even: add half an ulp less one, and one more where the kept part is odd. A
 * NaN stays one: those that arithmetic makes of bf16 operands have no bit below the kept ones. */
AVX2 INLINE __m256i rounded(__m256 v)
{
    __m256i bits = _mm256_castps_si256(v);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
}

AVX2 INLINE __m128i narrow(__m256 v)
{
    const __m256i upper =
        _mm256_setr_epi8(2, 3, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, 2, 3, 6, 7, 10,
                         11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i kept = _mm256_shuffle_epi8(rounded(v), upper);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(kept, 0x8));
}

/* Exactly 8, 4, 2 or 1 elements. */
AVX2 INLINE __m256 load(const uint16_t *p, const int lanes)
{
    if (lanes == 8)
        return widen(_mm_loadu_si128((const __m128i *)(const void *)p));
    if (lanes == 4)
        return widen(_mm_loadl_epi64((const __m128i *)(const void *)p));
    int32_t bits = *p;
    if (lanes == 2)
        memcpy(&bits, p, sizeof bits);
    return widen(_mm_cvtsi32_si128(bits));
}

AVX2 INLINE void store(uint16_t *p, __m256 v, const int lanes)
{
    __m128i narrowed = narrow(v);
    if (lanes == 8)
        _mm_storeu_si128((__m128i *)(void *)p, narrowed);
    if (lanes == 4)
        _mm_storel_epi64((__m128i *)(void *)p, narrowed);
    int32_t bits = _mm_cvtsi128_si32(narrowed);
    if (lanes == 2)
        memcpy(p, &bits, sizeof bits);
    if (lanes == 1)
        *p = (uint16_t)bits;
}

/* Sixteen elements as two vectors of f32: those at even places, and those at odd ones. Widening and
 * narrowing are then a shift, a mask or a blend, and no element changes its place. */
typedef struct wide {
    __m256 even, odd;
} wide;

AVX2 INLINE wide load_16(const uint16_t *p)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i upper = _mm256_set1_epi32((int)0xffff0000u);
    return (wide){_mm256_castsi256_ps(_mm256_slli_epi32(v, 16)),
                  _mm256_castsi256_ps(_mm256_and_si256(v, upper))};
}

/* Both vectors are rounded at once, in 16-bit elements: kept, the upper halves of all 16 values, is
 * raised by the carry of rest + 0x7fff + (kept is odd), rest being the lower halves. The average is
 * that sum's upper 16 of 17 bits. */
AVX2 INLINE __m256i narrow_16(wide v)
{
    __m256i even = _mm256_castps_si256(v.even), odd = _mm256_castps_si256(v.odd);
    __m256i kept = _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
    __m256i rest = _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
    __m256i half =
        _mm256_add_epi16(_mm256_and_si256(kept, _mm256_set1_epi16(1)), _mm256_set1_epi16(0x7ffe));
    __m256i carry = _mm256_srli_epi16(_mm256_avg_epu16(rest, half), 15);
    return _mm256_add_epi16(kept, carry);
}

/* Around the caches where `around`. */
AVX2 INLINE void store_16(uint16_t *p, wide v, const bool around)
{
    if (around)
        _mm256_stream_si256((__m256i *)(void *)p, narrow_16(v));
    else
        _mm256_storeu_si256((__m256i *)(void *)p, narrow_16(v));
}

/* c or s of 16 half pairs. */
AVX2 INLINE wide sixteen(const float *values)
{
    __m256 first = _mm256_loadu_ps(values), second = _mm256_loadu_ps(values + 8);
    __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0x88));
    __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0xdd));
    return (wide){_mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8)),
                  _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8))};
}

AVX2 INLINE __m256 minus(__m256 x, __m256 c, __m256 y, __m256 s) /* x c - y s */
{
    return _mm256_fmsub_ps(x, c, _mm256_mul_ps(y, s));
}

AVX2 INLINE __m256 plus(__m256 x, __m256 c, __m256 y, __m256 s) /* x c + y s */
{
    return _mm256_fmadd_ps(x, c, _mm256_mul_ps(y, s));
}

AVX2 INLINE void half_to(uint16_t *y0, uint16_t *y1, wide x0, wide x1, wide c, wide s,
                         const bool around)
{
    wide first = {minus(x0.even, c.even, x1.even, s.even), minus(x0.odd, c.odd, x1.odd, s.odd)};
    wide second = {plus(x1.even, c.even, x0.even, s.even), plus(x1.odd, c.odd, x0.odd, s.odd)};
    store_16(y0, first, around);
    store_16(y1, second, around);
}

/* Eight adjacent pairs: their first elements are the even ones. */
AVX2 INLINE void adjacent_to(uint16_t *y, wide z, __m256 c, __m256 s, const bool around)
{
    wide turned = {minus(z.even, c, z.odd, s), plus(z.odd, c, z.even, s)};
    store_16(y, turned, around);
}

/* Sixteen half pairs. */
AVX2 INLINE void half_16(rows r, int64_t at, wide c, wide s)
{
    wide x0 = load_16(r.x + at), x1 = load_16(r.x + r.partner + at);
    half_to(r.y + at, r.y + r.partner + at, x0, x1, c, s, false);
}

AVX2 INLINE void half_one(rows r, int64_t at, __m256 c, __m256 s, const int lanes)
{
    __m256 x0 = load(r.x + at, lanes), x1 = load(r.x + r.partner + at, lanes);
    store(r.y + at, _mm256_fmsub_ps(x0, c, _mm256_mul_ps(x1, s)), lanes);
    store(r.y + r.partner + at, _mm256_fmadd_ps(x1, c, _mm256_mul_ps(x0, s)), lanes);
}

/* Adjacent pairs, half as many as lanes; c and s hold each value twice. */
AVX2 INLINE void adjacent_one(rows r, int64_t at, __m256 c, __m256 s, const int lanes)
{
    __m256 z = load(r.x + at, lanes), swapped = _mm256_permute_ps(z, 0xb1);
    store(r.y + at, _mm256_fmaddsub_ps(z, c, _mm256_mul_ps(swapped, s)), lanes);
}

/* Four, two or one values, each twice. */
AVX2 INLINE __m256 twice(const float *values, const int count)
{
    const __m256i lanes = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    __m128 v;
    if (count == 4)
        v = _mm_loadu_ps(values);
    else if (count == 2)
        v = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)values));
    else
        v = _mm_load_ss(values);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(v), lanes);
}

/* Eight, four, two or one values. */
AVX2 INLINE __m256 some(const float *values, const int count)
{
    if (count == 8)
        return _mm256_loadu_ps(values);
    if (count == 4)
        return _mm256_castps128_ps256(_mm_loadu_ps(values));
    if (count == 2)
        return _mm256_castps128_ps256(
            _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)values)));
    return _mm256_castps128_ps256(_mm_load_ss(values));
}

/* Up to 32 half pairs: c and s stay in registers while the heads pass by. */
AVX2 INLINE void half_wide(rows r, const float *cosines, const float *sines, const int count)
{
    wide c[2], s[2];
    for (int v = 0; v < count; v++) {
        c[v] = sixteen(cosines + 16 * v);
        s[v] = sixteen(sines + 16 * v);
    }
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride)
        for (int v = 0; v < count; v++)
            half_16(r, 16 * v, c[v], s[v]);
}

AVX2 INLINE void half_few(rows r, const float *c, const float *s, const int lanes)
{
    __m256 c0 = some(c, lanes), s0 = some(s, lanes);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride)
        half_one(r, 0, c0, s0, lanes);
}

/* Up to 32 adjacent pairs, as half_wide. */
AVX2 INLINE void adjacent_wide(rows r, const float *cosines, const float *sines, const int count)
{
    __m256 c[4], s[4];
    for (int v = 0; v < count; v++) {
        c[v] = _mm256_loadu_ps(cosines + 8 * v);
        s[v] = _mm256_loadu_ps(sines + 8 * v);
    }
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride)
        for (int v = 0; v < count; v++)
            adjacent_to(r.y + 16 * v, load_16(r.x + 16 * v), c[v], s[v], false);
}

AVX2 INLINE void adjacent_few(rows r, const float *c, const float *s, const int pairs)
{
    __m256 c0 = twice(c, pairs), s0 = twice(s, pairs);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride)
        adjacent_one(r, 0, c0, s0, 2 * pairs);
}

AVX2 INLINE void half_rest(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    if (count & 4)
        half_few(r, c, s, 4);
    i += count & 4;
    if (count & 2)
        half_few(advance(r, i), c + i, s + i, 2);
    i += count & 2;
    if (count & 1)
        half_few(advance(r, i), c + i, s + i, 1);
}

AVX2 INLINE void adjacent_rest(rows r, const float *c, const float *s, int64_t count)
{
    if (count & 2)
        adjacent_few(r, c, s, 2);
    if (count & 1)
        adjacent_few(advance(r, 2 * (count & 2)), c + (count & 2), s + (count & 2), 1);
}

/* Rows that the cache holds: c and s in registers. */
AVX2 static void half_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i >= 32; i += 32)
        half_wide(advance(r, i), c + i, s + i, 2);
    for (; count - i >= 16; i += 16)
        half_wide(advance(r, i), c + i, s + i, 1);
    for (; count - i >= 8; i += 8)
        half_few(advance(r, i), c + i, s + i, 8);
    half_rest(advance(r, i), c + i, s + i, count - i);
}

AVX2 static void adjacent_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i >= 32; i += 32)
        adjacent_wide(advance(r, 2 * i), c + i, s + i, 4);
    for (; count - i >= 8; i += 8)
        adjacent_wide(advance(r, 2 * i), c + i, s + i, 1);
    for (; count - i >= 4; i += 4)
        adjacent_few(advance(r, 2 * i), c + i, s + i, 4);
    adjacent_rest(advance(r, 2 * i), c + i, s + i, count - i);
}

/* Rows that come from memory: one after the other, in the order of addresses, as prefetchers like
 * it. What is left of a row after whole vectors is done by a last one that overlaps them: its
 * operands are loaded before anything is stored, so that in place works too, and what it repeats
 * gives the same bits. At least one vector a row. */
AVX2 static void half_in_order(rows r, const float *c, const float *s, int64_t count)
{
    const int64_t last = count - 16;
    const wide c_last = sixteen(c + last), s_last = sixteen(s + last);
    wide cosines[BLOCK / 16], sines[BLOCK / 16];
    for (int64_t i = 0; i < last; i += 16) {
        cosines[i / 16] = sixteen(c + i);
        sines[i / 16] = sixteen(s + i);
    }
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        wide x0 = load_16(r.x + last), x1 = load_16(r.x + r.partner + last);
        for (int64_t i = 0; i < last; i += 16)
            half_16(r, i, cosines[i / 16], sines[i / 16]);
        half_to(r.y + last, r.y + r.partner + last, x0, x1, c_last, s_last, false);
    }
}

AVX2 static void adjacent_in_order(rows r, const float *c, const float *s, int64_t count)
{
    const int64_t last = count - 8;
    const __m256 c_last = _mm256_loadu_ps(c + last), s_last = _mm256_loadu_ps(s + last);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        wide z = load_16(r.x + 2 * last);
        for (int64_t i = 0; i < last; i += 8)
            adjacent_to(r.y + 2 * i, load_16(r.x + 2 * i), _mm256_loadu_ps(c + i),
                        _mm256_loadu_ps(s + i), false);
        adjacent_to(r.y + 2 * last, z, c_last, s_last, false);
    }
}

/* Rows of so many heads side by side, `apart` heads from one to the next, with stores around the
 * caches: whole lines of 64 bytes, one after the other. A line that is left half written while
 * others begin goes to memory in parts. */
AVX2 INLINE void half_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                   const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 32) {
        const wide c0 = sixteen(c + i), c1 = sixteen(c + i + 16);
        const wide s0 = sixteen(s + i), s1 = sixteen(s + i + 16);
        for (int k = 0; k < side_by_side; k++) {
            const uint16_t *x = r.x + k * apart * r.x_stride + i;
            uint16_t *y = r.y + k * apart * r.y_stride + i;
            half_to(y, y + r.partner, load_16(x), load_16(x + r.partner), c0, s0, true);
            half_to(y + 16, y + r.partner + 16, load_16(x + 16), load_16(x + r.partner + 16), c1,
                    s1, true);
        }
    }
}

AVX2 INLINE void adjacent_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                       const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 16) {
        const __m256 c0 = _mm256_loadu_ps(c + i), c1 = _mm256_loadu_ps(c + i + 8);
        const __m256 s0 = _mm256_loadu_ps(s + i), s1 = _mm256_loadu_ps(s + i + 8);
        for (int k = 0; k < side_by_side; k++) {
            const uint16_t *x = r.x + k * apart * r.x_stride + 2 * i;
            uint16_t *y = r.y + k * apart * r.y_stride + 2 * i;
            adjacent_to(y, load_16(x), c0, s0, true);
            adjacent_to(y + 16, load_16(x + 16), c1, s1, true);
        }
    }
}

/* Rows that go from memory to memory: four at once, a quarter of the heads apart, so that four
 * pages of memory are open at a time. */
AVX2 INLINE void streamed(uint32_t pairing, rows r, const float *c, const float *s, int64_t count)
{
    const int64_t apart = r.heads / 4, rest = r.heads % 4;
    for (int64_t h = 0; h < apart; h++, r.x += r.x_stride, r.y += r.y_stride) {
        if (pairing == ROPE_HALF)
            half_side_by_side(r, c, s, count, 4, apart);
        else
            adjacent_side_by_side(r, c, s, count, 4, apart);
    }
    r.x += 3 * apart * r.x_stride;
    r.y += 3 * apart * r.y_stride;
    for (int64_t h = 0; h < rest; h++, r.x += r.x_stride, r.y += r.y_stride) {
        if (pairing == ROPE_HALF)
            half_side_by_side(r, c, s, count, 1, 0);
        else
            adjacent_side_by_side(r, c, s, count, 1, 0);
    }
}

/* How a tensor is walked. */
typedef enum walk {
    IN_CACHE = 0, /* it fits a core's own caches */
    IN_ORDER = 1, /* it does not */
    STREAMED = 2, /* out of place, and past them by far: stores go around the caches */
} walk;

/* Measured: own caches of 1 MiB and more. Stores around the caches pay on Emerald Rapids, whose
 * third level is far, from 8 MiB on; not on Zen 5, to 32 MiB. They need rows of whole lines of 64
 * bytes. */
static walk walk_of(const rope_geometry *g, const rope_view *x, const rope_view *y)
{
    int64_t elements = x->tokens * x->heads * 2 * g->pairs;
    int64_t partner = g->pairing == ROPE_HALF ? g->pairs : 2 * g->pairs;
    int64_t odd = y->token_stride | y->head_stride | g->rotary_offset | partner;
    bool aligned = (uintptr_t)y->data % 64 == 0 && odd % 32 == 0;
    if (x->data != y->data && aligned && elements >= INT64_C(1) << 22 && __builtin_cpu_is("intel"))
        return STREAMED;
    return elements > INT64_C(1) << 19 ? IN_ORDER : IN_CACHE;
}

AVX2 static void rotate(uint32_t pairing, rows r, const float *c, const float *s, int64_t count,
                        walk how)
{
    /* In order, a row has a last vector of 16 elements. */
    if (how == STREAMED)
        streamed(pairing, r, c, s, count);
    else if (pairing == ROPE_HALF && how == IN_ORDER && count >= 16)
        half_in_order(r, c, s, count);
    else if (pairing == ROPE_HALF)
        half_in_cache(r, c, s, count);
    else if (how == IN_ORDER && count >= 8)
        adjacent_in_order(r, c, s, count);
    else
        adjacent_in_cache(r, c, s, count);
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
    const walk how = walk_of(g, x, y);
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
            int64_t skip = g->rotary_offset + (g->pairing == ROPE_HALF ? begin : 2 * begin);
            rows r = {source + skip,  target + skip,  x->heads,
                      x->head_stride, y->head_stride, g->pairs};
            rotate(g->pairing, r, cosines, sines, count, how);
        }
        for (int64_t h = 0; h < x->heads; h++)
            rope_copy_rest(g, sizeof(uint16_t), source + h * x->head_stride,
                           target + h * y->head_stride);
    }
    if (how == STREAMED)
        _mm_sfence(); /* streamed stores are seen before what follows */
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
    const double u = 0x1p-8;
    double magnitude = fabs((double)position), angle = magnitude * fabs(args->frequency_hi[pair]);
    double entry = 0x1p-52 + 0x1p-97 * angle + 0x1p-105 * angle * angle;
    if (magnitude >= 0x1p53)
        entry += 0x1p-53 * angle;
    double before = 3.001 * 0x1p-24 + 1.5 * entry;
    return fmax(1, (1 + before) / (1 + u) + before / u);
}

const rope_kernel rope_bf16 = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "bf16",
    .summary = "bf16 storage, table of cos and sin, rotation in f32 by AVX2 and FMA",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_BF16,
    .cpu_features = ROPE_CPU_AVX2 | ROPE_CPU_FMA,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32_FMA},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
