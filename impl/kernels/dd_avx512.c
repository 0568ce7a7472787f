/* dd_avx512: dd with eight f64 lanes. No table. cos and sin are made on the fly from a frequency in
 * quarter turns held as two doubles, rounded to f32 once a token and shared by its heads; the
 * rotation in f32. AVX-512. Takes every int64 position.
 *
 * Contract: 2 + sqrt(2)/2 = 2.7072 u where the attention factor A is a power of two, 3 u otherwise,
 * for angles up to 2^40 and far beyond (term below).
 *
 * Frequency. F = theta / (pi/2) = Fhi + Flo: the host's theta is within 2^-98, the product by 2/pi
 * = P1 + P2 (off by 2^-109) drops lo P2 and rounds hi P2, lo P1, their sums and Flo, 2^-104 each at
 * most: below 2^-97 relative. Multiples of 4 are taken off, which changes no angle (positions are
 * integers).
 *
 * Reduction. t = fl(p Fhi + 1.5 2^52) rounds p Fhi to the integer n, for |p| <= 2^50 and |F| <= 2.
 * r = fl(p Fhi - n), r = fl(r + p Flo): |r| <= 1/2 and a little, each rounding below 2^-55 quarter
 * turns: together 2^-53.3 radians. Positions past 2^50 are split, p = 2^32 a + b, and reduced with
 * F and 2^32 F mod 4 (exact) apart: twice the roundings.
 *
 * Polynomials. sin(pi/2 r) = r (H + L) + r z S(z), z = r^2, S of degree 5 within 2^-56; cos = 1 + z
 * C(z), C of degree 6 within 2^-55 (its leading coefficient's rounding); interpolations at the
 * Chebyshev nodes of [0, 1/4], recomputed and measured by dd_test. The last rounding costs 2^-54,
 * the others below 2^-54.5 together.
 *
 * So an entry is off by less than d = 2^-52 + 2^-96 |angle| before its rounding to f32, which costs
 * at most u/2 below 1: sqrt(2)/2 u for the pair.
 *
 * Where A is no power of two an entry A c may lie above one, where half an ulp is up to u |A c|:
 * normwise u A.
 *
 * Rotation. y0 = fl(x0 c - fl(x1 s)), y1 = fl(x1 c + fl(x0 s)): the outer roundings cost u |y0| and
 * u |y1|, the inner ones u |x1 s| and u |x0 s|: normwise 2 u (Jeannerod, Kornerup, Louvet, Muller,
 * Math. Comp. 86 (2017)).
 *
 * Terms of second order, the f64 product by A and the nearest f64 of A stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK = 256,    /* pairs taken at a time, at most */
    ENTRIES = 1024, /* cos and sin made at a time, for as many tokens as fit: kept for all heads */
};

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    double factor;   /* A */
    double *hi, *lo; /* [pairs, padded to eights] quarter turns a position, modulo 4, |hi| <= 2 */
    uint8_t *axis;   /* [pairs, padded] */
};

/* theta / (pi/2) modulo 4 as hi + lo. */
static void quarter_turns(double theta_hi, double theta_lo, double *hi, double *lo)
{
    const double p1 = 0x1.45f306dc9c883p-1, p2 = -0x1.6b01ec5417056p-55; /* 2/pi */
    double h = theta_hi * p1, e = fma(theta_hi, p1, -h);
    e += fma(theta_hi, p2, theta_lo * p1);
    h -= 4 * nearbyint(h / 4);
    *hi = h + e;
    *lo = e - (*hi - h);
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
    size_t padded = ((size_t)args->pairs + 7) / 8 * 8;
    size_t bytes = sizeof(rope_plan) + padded * (2 * sizeof(double) + 1);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    memset(p, 0, bytes);
    p->geometry = geometry;
    p->bytes = bytes;
    p->factor = args->attention_factor;
    p->hi = (double *)(p + 1);
    p->lo = p->hi + padded;
    p->axis = (uint8_t *)(p->lo + padded);
    memcpy(p->axis, args->axis, (size_t)args->pairs);
    for (int64_t i = 0; i < args->pairs; i++)
        quarter_turns(args->frequency_hi[i], args->frequency_lo[i], &p->hi[i], &p->lo[i]);
    *out = p;
    return ROPE_OK;
}

/* ---- cos and sin ---- */

static const double S[6] = {-0x1.4abbce625be52p-1, 0x1.466bc6775a476p-4,   -0x1.32d2cce500387p-8,
                            0x1.50783208843ebp-13, -0x1.e3027dea82bd7p-19, 0x1.e4a9d9166f052p-25};
static const double C[7] = {-0x1.3bd3cc9be45dep+0, 0x1.03c1f081b5ac0p-2,   -0x1.55d3c7e3cb241p-6,
                            0x1.e1f5068688d5bp-11, -0x1.a6d1eef479be1p-16, 0x1.f9ce245cada0bp-22,
                            -0x1.b2f3eb054afcdp-28};
static const double HALF_PI_HI = 0x1.921fb54442d18p+0, HALF_PI_LO = 0x1.1a62633145c07p-54;

/* Positions as the generator takes them: 2^32 high + low, one a token or one a pair. */
typedef struct spread {
    double low[ENTRIES], high[BLOCK];
} spread;

static bool is_wide(int64_t position)
{
    return position > INT64_C(1) << 50 || position < -(INT64_C(1) << 50);
}

/* The positions of one token's pairs. True where any lies past 2^50. */
static bool spread_token(const rope_plan *p, const int64_t *position, int64_t begin, int64_t padded,
                         spread *at)
{
    bool wide = false;
    for (int64_t i = 0; i < padded; i++) {
        int64_t whole = position[p->axis[begin + i]];
        int64_t low = is_wide(whole) ? (int32_t)(uint32_t)whole : whole;
        /* whole - low is a multiple of 2^32 and may pass 2^63: halves */
        int64_t half = whole / 2 - low / 2 + (whole % 2 - low % 2) / 2;
        at->high[i] = (double)half * 0x1p-31;
        at->low[i] = (double)low;
        wide |= is_wide(whole);
    }
    return wide;
}

typedef struct reduced {
    __m512i n; /* quarter turns, whole, modulo 2^51, in each 64 bits' lower part */
    __m512d r; /* and the rest, |r| <= 1/2 and a little */
} reduced;

AVX512 INLINE reduced reduce(__m512d position, __m512d hi, __m512d lo)
{
    const __m512d magic = _mm512_set1_pd(0x1.8p52);
    __m512d t = _mm512_fmadd_pd(position, hi, magic);
    __m512d r = _mm512_fmsub_pd(position, hi, _mm512_sub_pd(t, magic));
    return (reduced){_mm512_castpd_si512(t), _mm512_fmadd_pd(position, lo, r)};
}

/* Positions past 2^50: the multiple of 2^32 apart, with 2^32 F modulo 4. */
AVX512 INLINE reduced reduce_wide(__m512d low, __m512d high, __m512d hi, __m512d lo)
{
    const __m512d scale = _mm512_set1_pd(0x1p32), four = _mm512_set1_pd(4);
    const __m512d magic = _mm512_set1_pd(0x1.8p52);
    __m512d g = _mm512_mul_pd(hi, scale);
    __m512d turns =
        _mm512_roundscale_pd(_mm512_div_pd(g, four), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    reduced a = reduce(low, hi, lo);
    reduced b = reduce(high, _mm512_fnmadd_pd(turns, four, g), _mm512_mul_pd(lo, scale));
    __m512d r = _mm512_add_pd(a.r, b.r), t = _mm512_add_pd(r, magic), n = _mm512_sub_pd(t, magic);
    __mmask8 split = _mm512_cmp_pd_mask(high, _mm512_setzero_pd(), _CMP_NEQ_OQ);
    __m512i more = _mm512_add_epi64(b.n, _mm512_castpd_si512(t));
    return (reduced){_mm512_mask_add_epi64(a.n, split, a.n, more),
                     _mm512_mask_sub_pd(r, split, r, n)};
}

/* What the positions of a token look like. */
typedef enum layout {
    PLAIN = 0, /* one axis: the same position for all pairs of a token; A = 1 */
    ONE = 1,   /* the same, any A */
    EACH = 2,  /* each pair of the only token has its own */
    WIDE = 3,  /* and they may lie past 2^50 */
} layout;

typedef struct quarter {
    __m256 c, s; /* cos and sin of pi/2 r, times A */
} quarter;

AVX512 INLINE quarter polynomials(__m512d r, __m512d factor, const layout how)
{
    __m512d z = _mm512_mul_pd(r, r);
    __m512d s = _mm512_set1_pd(S[5]), c = _mm512_set1_pd(C[6]);
    for (int k = 4; k >= 0; k--)
        s = _mm512_fmadd_pd(s, z, _mm512_set1_pd(S[k]));
    for (int k = 5; k >= 0; k--)
        c = _mm512_fmadd_pd(c, z, _mm512_set1_pd(C[k]));
    s = _mm512_mul_pd(r, _mm512_fmadd_pd(s, z, _mm512_set1_pd(HALF_PI_LO)));
    s = _mm512_fmadd_pd(r, _mm512_set1_pd(HALF_PI_HI), s);
    c = _mm512_fmadd_pd(c, z, _mm512_set1_pd(1));
    if (how != PLAIN) {
        c = _mm512_mul_pd(c, factor);
        s = _mm512_mul_pd(s, factor);
    }
    return (quarter){_mm512_cvtpd_ps(c), _mm512_cvtpd_ps(s)};
}

AVX512 INLINE reduced reduce_at(const rope_plan *p, const spread *at, int64_t token, int64_t begin,
                                int64_t i, const layout how)
{
    __m512d hi = _mm512_loadu_pd(p->hi + begin + i), lo = _mm512_loadu_pd(p->lo + begin + i);
    if (how == PLAIN || how == ONE)
        return reduce(_mm512_set1_pd(at->low[token]), hi, lo);
    if (how == EACH)
        return reduce(_mm512_loadu_pd(at->low + i), hi, lo);
    return reduce_wide(_mm512_loadu_pd(at->low + i), _mm512_loadu_pd(at->high + i), hi, lo);
}

/* A cos and A sin of pairs [begin, begin + padded) of some tokens, eight at a time. */
AVX512 INLINE void generate(const rope_plan *p, const spread *at, int64_t tokens, int64_t begin,
                            int64_t padded, float *cosines, float *sines, const layout how)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m512d factor = _mm512_set1_pd(p->factor);
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < padded; i += 8) {
            reduced a = reduce_at(p, at, t, begin, i, how);
            quarter q = polynomials(a.r, factor, how);
            __m256i n = _mm512_cvtepi64_epi32(a.n);
            /* quarter turn n: cos is c -s -c s, sin is s c -s -c */
            __mmask8 odd = _mm256_test_epi32_mask(n, _mm256_set1_epi32(1));
            __m256i next = _mm256_add_epi32(n, _mm256_set1_epi32(1));
            __m256 cos_sign = _mm256_and_ps(_mm256_castsi256_ps(_mm256_slli_epi32(next, 30)), sign);
            __m256 sin_sign = _mm256_and_ps(_mm256_castsi256_ps(_mm256_slli_epi32(n, 30)), sign);
            float *c = cosines + t * padded + i, *s = sines + t * padded + i;
            _mm256_storeu_ps(c, _mm256_xor_ps(_mm256_mask_blend_ps(odd, q.c, q.s), cos_sign));
            _mm256_storeu_ps(s, _mm256_xor_ps(_mm256_mask_blend_ps(odd, q.s, q.c), sin_sign));
        }
}

/* Into cosines and sines [tokens][padded]. */
AVX512 static void cos_sin(const rope_plan *p, const int64_t *positions, int64_t position_stride,
                           int64_t tokens, int64_t begin, int64_t padded, float *cosines,
                           float *sines)
{
    spread at;
    bool narrow = p->geometry.axis_count == 1;
    for (int64_t t = 0; t < tokens && narrow; t++) {
        narrow = !is_wide(positions[t * position_stride]);
        at.low[t] = (double)positions[t * position_stride];
    }
    if (narrow && p->factor == 1) {
        generate(p, &at, tokens, begin, padded, cosines, sines, PLAIN);
        return;
    }
    if (narrow) {
        generate(p, &at, tokens, begin, padded, cosines, sines, ONE);
        return;
    }
    for (int64_t t = 0; t < tokens; t++, cosines += padded, sines += padded)
        if (spread_token(p, positions + t * position_stride, begin, padded, &at))
            generate(p, &at, 1, begin, padded, cosines, sines, WIDE);
        else
            generate(p, &at, 1, begin, padded, cosines, sines, EACH);
}

/* ---- rotation ---- */

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

/* Rotates a block of pairs of some tokens. */
static void rotate_tokens(const rope_geometry *g, const rope_view *x, const rope_view *y,
                          int64_t first, int64_t tokens, int64_t begin, int64_t count,
                          const float *cosines, const float *sines)
{
    int64_t skip = g->rotary_offset + (g->pairing == ROPE_HALF ? begin : 2 * begin);
    for (int64_t t = 0; t < tokens; t++) {
        int64_t row = t * ((count + 7) / 8 * 8);
        rows r = {(const float *)x->data + (first + t) * x->token_stride + skip,
                  (float *)y->data + (first + t) * y->token_stride + skip,
                  x->heads,
                  x->head_stride,
                  y->head_stride,
                  g->pairs};
        rotate(g->pairing, r, cosines + row, sines + row, count, beyond_cache(g, x));
        if (begin + count < g->pairs)
            continue;
        for (int64_t h = 0; h < x->heads; h++)
            rope_copy_rest(g, sizeof(float),
                           (const float *)x->data + (first + t) * x->token_stride +
                               h * x->head_stride,
                           (float *)y->data + (first + t) * y->token_stride + h * y->head_stride);
    }
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    for (int64_t begin = 0; begin < g->pairs; begin += BLOCK) {
        int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
        int64_t padded = (count + 7) / 8 * 8, batch = ENTRIES / padded;
        for (int64_t t = 0; t < x->tokens; t += batch) {
            float cosines[ENTRIES], sines[ENTRIES];
            int64_t tokens = x->tokens - t < batch ? x->tokens - t : batch;
            cos_sin(p, positions + t * position_stride, position_stride, tokens, begin, padded,
                    cosines, sines);
            rotate_tokens(g, x, y, t, tokens, begin, count, cosines, sines);
        }
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
    double angle = fabs((double)position * args->frequency_hi[pair]);
    return 2 + table + 0x1p-20 + 0x1p24 * 1.5 * 0x1p-96 * angle;
}

const rope_kernel rope_dd_avx512 = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "dd_avx512",
    .summary = "no table: f64 quarter-turn phase and polynomials, correctly rounded, AVX-512",
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
