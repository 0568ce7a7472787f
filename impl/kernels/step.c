/* step: no table. A rotor in f64 is made at every multiple of 16 positions (the anchor, from the
 * quarter-turn phase of dd) and stepped from there by one complex product with the rotor of 0 to 15
 * positions, which the plan holds. So consecutive positions are cheap, and cos and sin depend on
 * the position alone: any split of a batch gives the same bits. AVX2 and FMA; takes every int64
 * position.
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
 * Anchor. So its cos and sin are off by less than 2^-52 + 2^-96 |angle| each, 2^-51.5 for the pair.
 *
 * Step. The rotor of j < 16 positions is A cos a - e sin a and so on, a = fl(j hi), e what a
 * leaves, by libm's f64 functions (0.55 ulp): below 2^-51.5 A for the pair. The complex product by
 * fma adds 2 2^-53 (Jeannerod, Kornerup, Louvet, Muller, Math. Comp. 86 (2017)): before it is
 * rounded to f32 the rotor is off by less than 2^-50 A as a vector. The roundings cost at most u/2
 * each below 1: sqrt(2)/2 u.
 *
 * Where A is no power of two an entry A c may lie above one, where half an ulp is up to u |A c|:
 * normwise u A.
 *
 * Rotation. y0 = fl(x0 c - fl(x1 s)), y1 = fl(x1 c + fl(x0 s)): 2 u normwise (as above, in f32).
 *
 * Terms of second order, the f64 product by A and the nearest f64 of A stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

enum {
    SPAN = 16,   /* positions from one anchor to the next */
    BLOCK = 256, /* pairs whose cos and sin are kept for all heads of a token */
};

struct rope_plan {
    rope_geometry geometry;
    size_t bytes, padded;
    double *hi, *lo; /* [pairs, padded to eights] quarter turns a position, modulo 4, |hi| <= 2 */
    double *steps;   /* [16][2][padded] A cos, A sin of 0 to 15 positions */
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
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return ROPE_UNSUPPORTED;
    size_t padded = ((size_t)args->pairs + 7) / 8 * 8;
    size_t bytes = sizeof(rope_plan) + padded * ((2 + 2 * SPAN) * sizeof(double) + 1);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    memset(p, 0, bytes);
    p->geometry = geometry;
    p->bytes = bytes;
    p->padded = padded;
    p->hi = (double *)(p + 1);
    p->lo = p->hi + padded;
    p->steps = p->lo + padded;
    p->axis = (uint8_t *)(p->steps + 2 * SPAN * padded);
    memcpy(p->axis, args->axis, (size_t)args->pairs);
    for (int64_t i = 0; i < args->pairs; i++) {
        quarter_turns(args->frequency_hi[i], args->frequency_lo[i], &p->hi[i], &p->lo[i]);
        for (int j = 0; j < SPAN; j++) {
            double a = j * args->frequency_hi[i];
            double e = fma(j, args->frequency_hi[i], -a) + j * args->frequency_lo[i];
            double *step = p->steps + (size_t)(2 * j) * padded + i;
            step[0] = args->attention_factor * (cos(a) - e * sin(a));
            step[padded] = args->attention_factor * (sin(a) + e * cos(a));
        }
    }
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
    double low[BLOCK], high[BLOCK];
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
    __m256i n; /* quarter turns, whole, modulo 2^51, in each 64 bits' lower part */
    __m256d r; /* and the rest, |r| <= 1/2 and a little */
} reduced;

AVX2 INLINE reduced reduce(__m256d position, __m256d hi, __m256d lo)
{
    const __m256d magic = _mm256_set1_pd(0x1.8p52);
    __m256d t = _mm256_fmadd_pd(position, hi, magic);
    __m256d r = _mm256_fmsub_pd(position, hi, _mm256_sub_pd(t, magic));
    return (reduced){_mm256_castpd_si256(t), _mm256_fmadd_pd(position, lo, r)};
}

/* Positions past 2^50: the multiple of 2^32 apart, with 2^32 F modulo 4. */
AVX2 INLINE reduced reduce_wide(__m256d low, __m256d high, __m256d hi, __m256d lo)
{
    const __m256d scale = _mm256_set1_pd(0x1p32), four = _mm256_set1_pd(4);
    const __m256d magic = _mm256_set1_pd(0x1.8p52);
    __m256d g = _mm256_mul_pd(hi, scale);
    __m256d turns =
        _mm256_round_pd(_mm256_div_pd(g, four), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    reduced a = reduce(low, hi, lo);
    reduced b = reduce(high, _mm256_fnmadd_pd(turns, four, g), _mm256_mul_pd(lo, scale));
    __m256d r = _mm256_add_pd(a.r, b.r), t = _mm256_add_pd(r, magic), n = _mm256_sub_pd(t, magic);
    __m256d split = _mm256_cmp_pd(high, _mm256_setzero_pd(), _CMP_NEQ_OQ);
    __m256i more = _mm256_add_epi64(b.n, _mm256_castpd_si256(t));
    more = _mm256_and_si256(more, _mm256_castpd_si256(split));
    return (reduced){_mm256_add_epi64(a.n, more), _mm256_sub_pd(r, _mm256_and_pd(n, split))};
}

/* What the positions of a token look like. */
typedef enum layout {
    ONE = 0,  /* one axis: the same position for all pairs */
    EACH = 1, /* each pair has its own */
    WIDE = 2, /* and they may lie past 2^50 */
} layout;

typedef struct quarter {
    __m256d c, s; /* cos and sin of pi/2 r */
} quarter;

AVX2 INLINE quarter polynomials(__m256d r)
{
    __m256d z = _mm256_mul_pd(r, r);
    __m256d s = _mm256_set1_pd(S[5]), c = _mm256_set1_pd(C[6]);
    for (int k = 4; k >= 0; k--)
        s = _mm256_fmadd_pd(s, z, _mm256_set1_pd(S[k]));
    for (int k = 5; k >= 0; k--)
        c = _mm256_fmadd_pd(c, z, _mm256_set1_pd(C[k]));
    s = _mm256_mul_pd(r, _mm256_fmadd_pd(s, z, _mm256_set1_pd(HALF_PI_LO)));
    s = _mm256_fmadd_pd(r, _mm256_set1_pd(HALF_PI_HI), s);
    c = _mm256_fmadd_pd(c, z, _mm256_set1_pd(1));
    return (quarter){c, s};
}

AVX2 INLINE reduced reduce_at(const rope_plan *p, const spread *at, int64_t begin, int64_t i,
                              const layout how)
{
    __m256d hi = _mm256_loadu_pd(p->hi + begin + i), lo = _mm256_loadu_pd(p->lo + begin + i);
    if (how == ONE)
        return reduce(_mm256_broadcast_sd(at->low), hi, lo);
    if (how == EACH)
        return reduce(_mm256_loadu_pd(at->low + i), hi, lo);
    return reduce_wide(_mm256_loadu_pd(at->low + i), _mm256_loadu_pd(at->high + i), hi, lo);
}

/* The rotors of a block of pairs at multiples of SPAN. */
typedef struct anchors {
    double c[BLOCK], s[BLOCK];
    int64_t position[ROPE_MAX_AXES];
} anchors;

AVX2 INLINE void anchor(const rope_plan *p, const spread *at, int64_t begin, int64_t padded,
                        anchors *to, const layout how)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    for (int64_t i = 0; i < padded; i += 4) {
        reduced a = reduce_at(p, at, begin, i, how);
        quarter q = polynomials(a.r);
        /* quarter turn n: cos is c -s -c s, sin is s c -s -c */
        __m256d odd = _mm256_castsi256_pd(_mm256_slli_epi64(a.n, 63));
        __m256i next = _mm256_add_epi64(a.n, _mm256_set1_epi64x(1));
        __m256d cos_sign = _mm256_and_pd(_mm256_castsi256_pd(_mm256_slli_epi64(next, 62)), sign);
        __m256d sin_sign = _mm256_and_pd(_mm256_castsi256_pd(_mm256_slli_epi64(a.n, 62)), sign);
        _mm256_storeu_pd(to->c + i, _mm256_xor_pd(_mm256_blendv_pd(q.c, q.s, odd), cos_sign));
        _mm256_storeu_pd(to->s + i, _mm256_xor_pd(_mm256_blendv_pd(q.s, q.c, odd), sin_sign));
    }
}

/* Moves the anchors to the multiples of SPAN at or below a token's position, where they are not. */
AVX2 static void move(const rope_plan *p, const int64_t *position, int64_t begin, int64_t padded,
                      anchors *to)
{
    const uint32_t axes = p->geometry.axis_count;
    bool there = true;
    for (uint32_t a = 0; a < axes; a++) {
        int64_t base = position[a] & ~(int64_t)(SPAN - 1);
        there &= to->position[a] == base;
        to->position[a] = base;
    }
    if (there)
        return;
    spread at;
    at.low[0] = (double)to->position[0];
    if (axes == 1 && !is_wide(to->position[0]))
        anchor(p, &at, begin, padded, to, ONE);
    else if (spread_token(p, to->position, begin, padded, &at))
        anchor(p, &at, begin, padded, to, WIDE);
    else
        anchor(p, &at, begin, padded, to, EACH);
}

/* Four rotors: the anchor's times the step's, rounded to f32. */
typedef struct rotor_4 {
    __m128 c, s;
} rotor_4;

AVX2 INLINE rotor_4 step_4(const anchors *from, int64_t i, const double *wc, const double *ws)
{
    __m256d c = _mm256_loadu_pd(from->c + i), s = _mm256_loadu_pd(from->s + i);
    __m256d step_c = _mm256_loadu_pd(wc), step_s = _mm256_loadu_pd(ws);
    return (rotor_4){
        _mm256_cvtpd_ps(_mm256_fmsub_pd(c, step_c, _mm256_mul_pd(s, step_s))),
        _mm256_cvtpd_ps(_mm256_fmadd_pd(s, step_c, _mm256_mul_pd(c, step_s))),
    };
}

/* Eight rotors, stored whole: that is how they are loaded, and a load waits for stores of its
 * parts. wc, ws: eight steps. */
AVX2 INLINE void step_8(const anchors *from, int64_t i, const double *wc, const double *ws,
                        float *cosines, float *sines)
{
    rotor_4 a = step_4(from, i, wc, ws), b = step_4(from, i + 4, wc + 4, ws + 4);
    _mm256_storeu_ps(cosines + i, _mm256_set_m128(b.c, a.c));
    _mm256_storeu_ps(sines + i, _mm256_set_m128(b.s, a.s));
}

AVX2 static void step(const rope_plan *p, const int64_t *position, int64_t begin, int64_t padded,
                      const anchors *from, float *cosines, float *sines)
{
    const double *steps = p->steps + begin;
    size_t row = 2 * p->padded, imaginary = p->padded;
    if (p->geometry.axis_count == 1) {
        const double *w = steps + (size_t)(position[0] & (SPAN - 1)) * row;
        for (int64_t i = 0; i < padded; i += 8)
            step_8(from, i, w + i, w + imaginary + i, cosines, sines);
        return;
    }
    for (int64_t i = 0; i < padded; i += 8) {
        double w[2][8];
        for (int64_t k = 0; k < 8; k++) {
            int64_t j = position[p->axis[begin + i + k]] & (SPAN - 1);
            w[0][k] = steps[(size_t)j * row + (size_t)(i + k)];
            w[1][k] = steps[(size_t)j * row + imaginary + (size_t)(i + k)];
        }
        step_8(from, i, w[0], w[1], cosines, sines);
    }
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

/* Eight half pairs. The first store stands before the second product: gcc then keeps x0 and x1 in
 * registers, where it would load each twice. */
AVX2 INLINE void half_one(rows r, int64_t at, __m256 c, __m256 s)
{
    __m256 x0 = _mm256_loadu_ps(r.x + at), x1 = _mm256_loadu_ps(r.x + r.partner + at);
    _mm256_storeu_ps(r.y + at, _mm256_fmsub_ps(x0, c, _mm256_mul_ps(x1, s)));
    _mm256_storeu_ps(r.y + r.partner + at, _mm256_fmadd_ps(x1, c, _mm256_mul_ps(x0, s)));
}

/* Four adjacent pairs; c and s hold each value twice. */
AVX2 INLINE void adjacent_one(rows r, int64_t at, __m256 c, __m256 s)
{
    __m256 z = _mm256_loadu_ps(r.x + at);
    __asm__("" : "+x"(z)); /* else gcc loads it twice */
    __m256 swapped = _mm256_permute_ps(z, 0xb1);
    _mm256_storeu_ps(r.y + at, _mm256_fmaddsub_ps(z, c, _mm256_mul_ps(swapped, s)));
}

AVX2 INLINE __m256 twice(const float *four)
{
    const __m256i lanes = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(four)), lanes);
}

/* 32 half pairs: c and s stay in registers while the heads pass by. */
AVX2 INLINE void half_32(rows r, const float *c, const float *s)
{
    __m256 c0 = _mm256_loadu_ps(c), c1 = _mm256_loadu_ps(c + 8);
    __m256 c2 = _mm256_loadu_ps(c + 16), c3 = _mm256_loadu_ps(c + 24);
    __m256 s0 = _mm256_loadu_ps(s), s1 = _mm256_loadu_ps(s + 8);
    __m256 s2 = _mm256_loadu_ps(s + 16), s3 = _mm256_loadu_ps(s + 24);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        half_one(r, 0, c0, s0);
        half_one(r, 8, c1, s1);
        half_one(r, 16, c2, s2);
        half_one(r, 24, c3, s3);
    }
}

AVX2 INLINE void half_8(rows r, const float *c, const float *s)
{
    __m256 c0 = _mm256_loadu_ps(c), s0 = _mm256_loadu_ps(s);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride)
        half_one(r, 0, c0, s0);
}

/* 16 adjacent pairs, as half_32. */
AVX2 INLINE void adjacent_16(rows r, const float *c, const float *s)
{
    __m256 c0 = twice(c), c1 = twice(c + 4), c2 = twice(c + 8), c3 = twice(c + 12);
    __m256 s0 = twice(s), s1 = twice(s + 4), s2 = twice(s + 8), s3 = twice(s + 12);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        adjacent_one(r, 0, c0, s0);
        adjacent_one(r, 8, c1, s1);
        adjacent_one(r, 16, c2, s2);
        adjacent_one(r, 24, c3, s3);
    }
}

AVX2 INLINE void adjacent_4(rows r, const float *c, const float *s)
{
    __m256 c0 = twice(c), s0 = twice(s);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride)
        adjacent_one(r, 0, c0, s0);
}

/* Exactly 4, 2 or 1 elements. */
AVX2 INLINE __m128 load_few(const float *p, const int lanes)
{
    if (lanes == 4)
        return _mm_loadu_ps(p);
    if (lanes == 2)
        return _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
    return _mm_load_ss(p);
}

AVX2 INLINE void store_few(float *p, __m128 v, const int lanes)
{
    if (lanes == 4)
        _mm_storeu_ps(p, v);
    else if (lanes == 2)
        _mm_storel_epi64((__m128i *)(void *)p, _mm_castps_si128(v));
    else
        _mm_store_ss(p, v);
}

/* The rest: 4, 2 or 1 half pairs; never an element beyond them is touched. */
AVX2 INLINE void half_few(rows r, const float *cosines, const float *sines, const int lanes)
{
    __m128 c = load_few(cosines, lanes), s = load_few(sines, lanes);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m128 x0 = load_few(r.x, lanes), x1 = load_few(r.x + r.partner, lanes);
        store_few(r.y, _mm_fmsub_ps(x0, c, _mm_mul_ps(x1, s)), lanes);
        store_few(r.y + r.partner, _mm_fmadd_ps(x1, c, _mm_mul_ps(x0, s)), lanes);
    }
}

/* The rest: 2 or 1 adjacent pairs. */
AVX2 INLINE void adjacent_few(rows r, const float *cosines, const float *sines, const int pairs)
{
    __m128 c = load_few(cosines, pairs), s = load_few(sines, pairs);
    c = _mm_unpacklo_ps(c, c);
    s = _mm_unpacklo_ps(s, s);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m128 z = load_few(r.x, 2 * pairs), swapped = _mm_permute_ps(z, 0xb1);
        store_few(r.y, _mm_fmaddsub_ps(z, c, _mm_mul_ps(swapped, s)), 2 * pairs);
    }
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
AVX2 INLINE void half_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i >= 32; i += 32)
        half_32(advance(r, i), c + i, s + i);
    for (; count - i >= 8; i += 8)
        half_8(advance(r, i), c + i, s + i);
    half_rest(advance(r, i), c + i, s + i, count - i);
}

AVX2 INLINE void adjacent_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i >= 16; i += 16)
        adjacent_16(advance(r, 2 * i), c + i, s + i);
    for (; count - i >= 4; i += 4)
        adjacent_4(advance(r, 2 * i), c + i, s + i);
    adjacent_rest(advance(r, 2 * i), c + i, s + i, count - i);
}

/* How a tensor is walked. */
typedef enum walk {
    IN_CACHE = 0, /* it fits a core's own caches */
    IN_ORDER = 1, /* it does not, in place */
    COPIED = 2,   /* out of place */
    STREAMED = 3, /* out of place, and past all caches: stores go around them */
} walk;

/* How far ahead lines are asked for, in elements: four rows or 2 KiB. Past the end of a tensor it
 * does no harm. */
INLINE int64_t prefetch_distance(int64_t pairs)
{
    return pairs < 64 ? 512 : 8 * pairs;
}

/* Rows of 10 half pairs that come from memory (rotary_dim 20): a vector and two pairs take a tenth
 * less time there than two vectors that overlap, which half_in_order makes of other tails. */
AVX2 INLINE void half_10_in_order(rows r, const float *c, const float *s, int64_t ahead)
{
    const __m256 c0 = _mm256_loadu_ps(c), s0 = _mm256_loadu_ps(s);
    const __m128 c1 = load_few(c + 8, 2), s1 = load_few(s + 8, 2);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        _mm_prefetch((const char *)(r.x + ahead), _MM_HINT_T0);
        half_one(r, 0, c0, s0);
        __m128 x0 = load_few(r.x + 8, 2), x1 = load_few(r.x + r.partner + 8, 2);
        store_few(r.y + 8, _mm_fmsub_ps(x0, c1, _mm_mul_ps(x1, s1)), 2);
        store_few(r.y + r.partner + 8, _mm_fmadd_ps(x1, c1, _mm_mul_ps(x0, s1)), 2);
    }
}

/* Rows that come from memory: one after the other, in the order of addresses, as prefetchers like
 * it. What is left of a row after whole vectors is done by a last one that overlaps them: its
 * operands are loaded before anything is stored, so that in place works too, and what it repeats
 * gives the same bits. At least one vector a row. The two halves of a long row confuse prefetchers:
 * lines are asked for in order, ahead of use; not where rows are copied within the caches, which
 * that slows. */
AVX2 INLINE void half_in_order(rows r, const float *c, const float *s, int64_t count,
                               const walk how)
{
    const int64_t last = count - 8, ahead = prefetch_distance(count);
    if (how != COPIED && count == 10) {
        half_10_in_order(r, c, s, ahead);
        return;
    }
    const __m256 c_last = _mm256_loadu_ps(c + last), s_last = _mm256_loadu_ps(s + last);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m256 x0 = _mm256_loadu_ps(r.x + last), x1 = _mm256_loadu_ps(r.x + r.partner + last);
        for (int64_t i = 0; i < last; i += 8) {
            if (how != COPIED)
                _mm_prefetch((const char *)(r.x + 2 * i + ahead), _MM_HINT_T0);
            half_one(r, i, _mm256_loadu_ps(c + i), _mm256_loadu_ps(s + i));
        }
        if (how != COPIED)
            _mm_prefetch((const char *)(r.x + 2 * last + ahead), _MM_HINT_T0);
        _mm256_storeu_ps(r.y + last, _mm256_fmsub_ps(x0, c_last, _mm256_mul_ps(x1, s_last)));
        _mm256_storeu_ps(r.y + r.partner + last,
                         _mm256_fmadd_ps(x1, c_last, _mm256_mul_ps(x0, s_last)));
    }
}

AVX2 INLINE void adjacent_in_order(rows r, const float *c, const float *s, int64_t count,
                                   const walk how)
{
    const int64_t last = count - 4, ahead = prefetch_distance(count);
    float c2[2 * BLOCK], s2[2 * BLOCK]; /* each value twice */
    for (int64_t i = 0; i < last; i += 4) {
        _mm256_storeu_ps(c2 + 2 * i, twice(c + i));
        _mm256_storeu_ps(s2 + 2 * i, twice(s + i));
    }
    const __m256 c_last = twice(c + last), s_last = twice(s + last);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m256 z_last = _mm256_loadu_ps(r.x + 2 * last);
        for (int64_t i = 0; i < 2 * last; i += 8) {
            if (how != COPIED)
                _mm_prefetch((const char *)(r.x + i + ahead), _MM_HINT_T0);
            adjacent_one(r, i, _mm256_loadu_ps(c2 + i), _mm256_loadu_ps(s2 + i));
        }
        __m256 product = _mm256_mul_ps(_mm256_permute_ps(z_last, 0xb1), s_last);
        _mm256_storeu_ps(r.y + 2 * last, _mm256_fmaddsub_ps(z_last, c_last, product));
    }
}

/* Rows of so many heads side by side, `apart` heads from one to the next, with stores around the
 * caches: whole lines of 64 bytes, one after the other. A line that is left half written while
 * others begin goes to memory in parts, on some CPUs, at a fourth of the speed. */
AVX2 INLINE void half_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                   const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 16) {
        __m256 c0 = _mm256_loadu_ps(c + i), c1 = _mm256_loadu_ps(c + i + 8);
        __m256 s0 = _mm256_loadu_ps(s + i), s1 = _mm256_loadu_ps(s + i + 8);
        for (int k = 0; k < side_by_side; k++) {
            const float *x = r.x + k * apart * r.x_stride + i;
            float *y = r.y + k * apart * r.y_stride + i;
            __m256 x0 = _mm256_loadu_ps(x), x2 = _mm256_loadu_ps(x + 8);
            __m256 x1 = _mm256_loadu_ps(x + r.partner), x3 = _mm256_loadu_ps(x + r.partner + 8);
            _mm256_stream_ps(y, _mm256_fmsub_ps(x0, c0, _mm256_mul_ps(x1, s0)));
            _mm256_stream_ps(y + 8, _mm256_fmsub_ps(x2, c1, _mm256_mul_ps(x3, s1)));
            _mm256_stream_ps(y + r.partner, _mm256_fmadd_ps(x1, c0, _mm256_mul_ps(x0, s0)));
            _mm256_stream_ps(y + r.partner + 8, _mm256_fmadd_ps(x3, c1, _mm256_mul_ps(x2, s1)));
        }
    }
}

AVX2 INLINE void adjacent_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                       const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 8) {
        __m256 c0 = twice(c + i), c1 = twice(c + i + 4);
        __m256 s0 = twice(s + i), s1 = twice(s + i + 4);
        for (int k = 0; k < side_by_side; k++) {
            const float *x = r.x + k * apart * r.x_stride + 2 * i;
            float *y = r.y + k * apart * r.y_stride + 2 * i;
            __m256 z0 = _mm256_loadu_ps(x), z1 = _mm256_loadu_ps(x + 8);
            __m256 product0 = _mm256_mul_ps(_mm256_permute_ps(z0, 0xb1), s0);
            __m256 product1 = _mm256_mul_ps(_mm256_permute_ps(z1, 0xb1), s1);
            _mm256_stream_ps(y, _mm256_fmaddsub_ps(z0, c0, product0));
            _mm256_stream_ps(y + 8, _mm256_fmaddsub_ps(z1, c1, product1));
        }
    }
}

/* Rows that go from memory to memory: four at once, a quarter of the heads apart, so that four
 * pages of memory are open at a time. That is how memcpy copies as much, and row after row is a
 * fifth slower. */
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

/* From how many elements on stores around the caches pay, out of place: measured, 32 MiB on Zen 5,
 * whose cores share a fast cache; on Emerald Rapids, whose third level is far, 8 MiB or less. */
static int64_t stream_from(void)
{
    return __builtin_cpu_is("intel") ? INT64_C(1) << 21 : INT64_C(1) << 23;
}

/* Own caches of 1 MiB and more. Stores around the caches need rows of whole lines of 64 bytes. */
static walk walk_of(const rope_geometry *g, const rope_view *x, const rope_view *y)
{
    int64_t elements = x->tokens * x->heads * 2 * g->pairs;
    int64_t partner = g->pairing == ROPE_HALF ? g->pairs : 2 * g->pairs;
    int64_t odd = y->token_stride | y->head_stride | g->rotary_offset | partner;
    bool aligned = (uintptr_t)y->data % 64 == 0 && odd % 16 == 0;
    if (x->data != y->data && aligned && elements >= stream_from())
        return STREAMED;
    if (elements <= INT64_C(1) << 18)
        return IN_CACHE;
    return x->data == y->data ? IN_ORDER : COPIED;
}

AVX2 INLINE void rotate(uint32_t pairing, rows r, const float *c, const float *s, int64_t count,
                        walk how)
{
    if (how != IN_CACHE && count < 8) /* no whole vector to overlap */
        how = IN_CACHE;
    if (pairing == ROPE_HALF && how == IN_CACHE)
        half_in_cache(r, c, s, count);
    else if (pairing == ROPE_HALF && how == IN_ORDER)
        half_in_order(r, c, s, count, IN_ORDER);
    else if (pairing == ROPE_HALF && how == COPIED)
        half_in_order(r, c, s, count, COPIED);
    else if (how == STREAMED)
        streamed(pairing, r, c, s, count);
    else if (how == IN_CACHE)
        adjacent_in_cache(r, c, s, count);
    else if (how == IN_ORDER)
        adjacent_in_order(r, c, s, count, IN_ORDER);
    else
        adjacent_in_order(r, c, s, count, COPIED);
}

/* Inlined, since a struct that is stored in parts and loaded whole waits for its
 * stores. */
INLINE rows rows_of(const rope_geometry *g, const rope_view *x, const rope_view *y, int64_t token,
                    int64_t skip)
{
    return (rows){(const float *)x->data + token * x->token_stride + skip,
                  (float *)y->data + token * y->token_stride + skip,
                  x->heads,
                  x->head_stride,
                  y->head_stride,
                  g->pairs};
}

AVX2 static void rotate_in_cache(const rope_geometry *g, const rope_view *x, const rope_view *y,
                                 int64_t token, int64_t skip, const float *c, const float *s,
                                 int64_t count)
{
    const rows r = rows_of(g, x, y, token, skip);
    const bool half = g->pairing == ROPE_HALF;
    if (half && count == 32)
        half_in_cache(r, c, s, 32);
    else if (half && count == 64)
        half_in_cache(r, c, s, 64);
    else if (half)
        half_in_cache(r, c, s, count);
    else if (count == 32)
        adjacent_in_cache(r, c, s, 32);
    else if (count == 64)
        adjacent_in_cache(r, c, s, 64);
    else
        adjacent_in_cache(r, c, s, count);
}

/* Rotates a block of pairs of a token. */
AVX2 static void rotate_block(const rope_geometry *g, const rope_view *x, const rope_view *y,
                              walk how, int64_t token, int64_t begin, int64_t count,
                              const float *cosines, const float *sines)
{
    const bool rest =
        begin + count == g->pairs && x->data != y->data && g->head_dim != 2 * g->pairs;
    int64_t skip = g->rotary_offset + (g->pairing == ROPE_HALF ? begin : 2 * begin);
    if (how == IN_CACHE)
        rotate_in_cache(g, x, y, token, skip, cosines, sines, count);
    else
        rotate(g->pairing, rows_of(g, x, y, token, skip), cosines, sines, count, how);
    const float *source = (const float *)x->data + token * x->token_stride;
    float *target = (float *)y->data + token * y->token_stride;
    for (int64_t h = 0; h < x->heads && rest; h++)
        rope_copy_rest(g, sizeof(float), source + h * x->head_stride, target + h * y->head_stride);
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    const walk how = walk_of(g, x, y);
    for (int64_t begin = 0; begin < g->pairs; begin += BLOCK) {
        int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
        int64_t padded = (count + 7) / 8 * 8;
        anchors from;
        for (uint32_t a = 0; a < ROPE_MAX_AXES; a++)
            from.position[a] = 1; /* no multiple of SPAN: made at the first token */
        for (int64_t t = 0; t < x->tokens; t++) {
            const int64_t *position = positions + t * position_stride;
            float cosines[BLOCK], sines[BLOCK];
            move(p, position, begin, padded, &from);
            step(p, position, begin, padded, &from, cosines, sines);
            rotate_block(g, x, y, how, t, begin, count, cosines, sines);
        }
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
    int exponent;
    double table = frexp(args->attention_factor, &exponent) == 0.5 ? sqrt(0.5) : 1;
    double angle = fabs((double)position * args->frequency_hi[pair]);
    return 2 + table + 0x1p-20 + 0x1p24 * 1.5 * 0x1p-96 * angle;
}

const rope_kernel rope_step = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "step",
    .summary = "no table: f64 complex step from an anchor every 16 positions, AVX2 and FMA",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .cpu_features = ROPE_CPU_AVX2 | ROPE_CPU_FMA,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32_FMA},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
