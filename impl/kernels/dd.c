/* dd: no table. cos and sin are made on the fly from a frequency in quarter turns held as two
 * doubles, rounded to f32 once a token and shared by its heads; the rotation in f32. AVX2 and FMA.
 * Takes every int64 position.
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

#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 256 }; /* pairs taken at a time, at most; their cos and sin are kept for all heads */

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    int64_t batch;   /* tokens whose cos and sin are made at a time */
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
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
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

/* clang-format off */
/* Each constant four times, as an operand that an instruction can take from memory: the loop needs
 * more of them than there are registers. */
#define FOUR(v) {v, v, v, v}
typedef double vector[4] __attribute__((aligned(32)));
static const struct constants {
    vector s[6], c[7], half_pi_hi, half_pi_lo, one;
} CONSTANTS = {
    .s = {FOUR(-0x1.4abbce625be52p-1), FOUR(0x1.466bc6775a476p-4), FOUR(-0x1.32d2cce500387p-8),
          FOUR(0x1.50783208843ebp-13), FOUR(-0x1.e3027dea82bd7p-19), FOUR(0x1.e4a9d9166f052p-25)},
    .c = {FOUR(-0x1.3bd3cc9be45dep+0), FOUR(0x1.03c1f081b5ac0p-2), FOUR(-0x1.55d3c7e3cb241p-6),
          FOUR(0x1.e1f5068688d5bp-11), FOUR(-0x1.a6d1eef479be1p-16), FOUR(0x1.f9ce245cada0bp-22),
          FOUR(-0x1.b2f3eb054afcdp-28)},
    .half_pi_hi = FOUR(0x1.921fb54442d18p+0),
    .half_pi_lo = FOUR(0x1.1a62633145c07p-54),
    .one = FOUR(1),
};
/* clang-format on */

/* A token's positions as the generator takes them: 2^32 high + low; only the first low where all
 * are the same. */
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
    PLAIN = 0, /* one axis: the same position for all pairs of a token; A = 1 */
    ONE = 1,   /* the same, any A */
    EACH = 2,  /* each pair of the only token has its own */
    WIDE = 3,  /* and they may lie past 2^50 */
} layout;

typedef struct quarter {
    __m128 c, s; /* cos and sin of pi/2 r, times A */
} quarter;

/* Of two vectors, their four chains of operations side by side. */
AVX2 INLINE void polynomials(const struct constants *k, const reduced q[2], __m256d factor,
                             quarter out[2], const layout how)
{
    __m256d z[2], s[2], c[2];
    for (int j = 0; j < 2; j++) {
        z[j] = _mm256_mul_pd(q[j].r, q[j].r);
        s[j] = _mm256_load_pd(k->s[5]);
        c[j] = _mm256_fmadd_pd(_mm256_load_pd(k->c[6]), z[j], _mm256_load_pd(k->c[5]));
    }
    for (int i = 4; i >= 0; i--)
        for (int j = 0; j < 2; j++) {
            s[j] = _mm256_fmadd_pd(s[j], z[j], _mm256_load_pd(k->s[i]));
            c[j] = _mm256_fmadd_pd(c[j], z[j], _mm256_load_pd(k->c[i]));
        }
    for (int j = 0; j < 2; j++) {
        s[j] = _mm256_fmadd_pd(s[j], z[j], _mm256_load_pd(k->half_pi_lo));
        c[j] = _mm256_fmadd_pd(c[j], z[j], _mm256_load_pd(k->one));
        s[j] = _mm256_mul_pd(q[j].r, s[j]);
        s[j] = _mm256_fmadd_pd(q[j].r, _mm256_load_pd(k->half_pi_hi), s[j]);
        if (how != PLAIN) {
            c[j] = _mm256_mul_pd(c[j], factor);
            s[j] = _mm256_mul_pd(s[j], factor);
        }
        out[j] = (quarter){_mm256_cvtpd_ps(c[j]), _mm256_cvtpd_ps(s[j])};
    }
}

AVX2 INLINE reduced reduce_at(const rope_plan *p, const spread *at, int64_t begin, int64_t i,
                              const layout how)
{
    __m256d hi = _mm256_loadu_pd(p->hi + begin + i), lo = _mm256_loadu_pd(p->lo + begin + i);
    if (how == PLAIN || how == ONE)
        return reduce(_mm256_broadcast_sd(at->low), hi, lo);
    if (how == EACH)
        return reduce(_mm256_loadu_pd(at->low + i), hi, lo);
    return reduce_wide(_mm256_loadu_pd(at->low + i), _mm256_loadu_pd(at->high + i), hi, lo);
}

/* A cos and A sin of a token's pairs [begin, begin + padded), eight at a time. */
AVX2 INLINE void generate(const rope_plan *p, const spread *at, int64_t begin, int64_t padded,
                          float *cosines, float *sines, const layout how)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256d factor = _mm256_set1_pd(p->factor);
    for (int64_t i = 0; i < padded; i += 8) {
        const reduced q[2] = {reduce_at(p, at, begin, i, how), reduce_at(p, at, begin, i + 4, how)};
        /* Else gcc loads the constants before the loop and keeps most of them on the stack. */
        const struct constants *k = &CONSTANTS;
        __asm__("" : "+r"(k));
        quarter v[2];
        polynomials(k, q, factor, v, how);
        __m256 c = _mm256_set_m128(v[1].c, v[0].c), s = _mm256_set_m128(v[1].s, v[0].s);
        __m256 low =
            _mm256_shuffle_ps(_mm256_castsi256_ps(q[0].n), _mm256_castsi256_ps(q[1].n), 0x88);
        __m256i n = _mm256_permute4x64_epi64(_mm256_castps_si256(low), 0xd8);
        /* Quarter turn n: cos is c -s -c s, sin is s c -s -c. s is negated where n is odd. One
         * blend, three operations on some CPUs, picks cos; sin is what c and s have besides. */
        __m256i turn = _mm256_slli_epi32(n, 30);
        __m256 odd = _mm256_castsi256_ps(_mm256_add_epi32(turn, turn));
        __m256 negative = _mm256_and_ps(_mm256_castsi256_ps(turn), sign);
        s = _mm256_xor_ps(s, _mm256_and_ps(odd, sign));
        __m256 first = _mm256_xor_ps(_mm256_blendv_ps(c, s, odd), negative);
        _mm256_storeu_ps(cosines + i, first);
        _mm256_storeu_ps(sines + i, _mm256_xor_ps(_mm256_xor_ps(c, s), first));
    }
}

static layout layout_of(const rope_plan *p, int64_t position)
{
    if (p->geometry.axis_count > 1 || is_wide(position))
        return EACH; /* or WIDE: spread_token tells */
    return p->factor == 1 ? PLAIN : ONE;
}

/* Of pairs [begin, begin + padded) of one token. */
AVX2 static void cos_sin(const rope_plan *p, const int64_t *position, int64_t begin, int64_t padded,
                         float *cosines, float *sines)
{
    const layout how = layout_of(p, position[0]);
    spread at;
    at.low[0] = (double)position[0];
    if (how == PLAIN)
        generate(p, &at, begin, padded, cosines, sines, PLAIN);
    else if (how == ONE)
        generate(p, &at, begin, padded, cosines, sines, ONE);
    else if (spread_token(p, position, begin, padded, &at))
        generate(p, &at, begin, padded, cosines, sines, WIDE);
    else
        generate(p, &at, begin, padded, cosines, sines, EACH);
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

/* Rotates a block of pairs of one token. */
AVX2 static void rotate_block(const rope_plan *p, rows r, const int64_t *position, int64_t begin,
                              int64_t count, walk how)
{
    float cosines[BLOCK], sines[BLOCK];
    cos_sin(p, position, begin, (count + 7) / 8 * 8, cosines, sines);
    int64_t skip = p->geometry.pairing == ROPE_HALF ? begin : 2 * begin;
    rotate(p->geometry.pairing, advance(r, skip), cosines, sines, count, how);
}

AVX2 static void rotate_token(const rope_plan *p, rows r, const int64_t *position, walk how)
{
    for (int64_t begin = 0; begin < p->geometry.pairs; begin += BLOCK) {
        int64_t left = p->geometry.pairs - begin;
        rotate_block(p, r, position, begin, left < BLOCK ? left : BLOCK, how);
    }
}

enum { CHUNK = 32 }; /* pairs whose c and s stay in registers */

typedef struct chunk {
    float c[CHUNK], s[CHUNK];
} chunk;

/* cos and sin of up to CHUNK pairs from begin on. */
AVX2 INLINE void make(const rope_plan *p, const int64_t *position, int64_t begin,
                      const int64_t pairs, chunk *made)
{
    int64_t count = pairs - begin < CHUNK ? pairs - begin : CHUNK, padded = (count + 7) / 8 * 8;
    spread at;
    at.low[0] = (double)position[0];
    if (layout_of(p, position[0]) == PLAIN)
        generate(p, &at, begin, padded, made->c, made->s, PLAIN);
    else
        cos_sin(p, position, begin, padded, made->c, made->s);
}

/* All tokens where the cache holds them. cos and sin of a chunk are made before the heads are
 * rotated by those of the chunk before it, so that the CPU, which the rotation keeps busy with
 * loads and stores, does both at once. Usual sizes are constants of a loop of their own. */
AVX2 INLINE void tokens_in_cache(const rope_plan *p, rows r, const rope_view *x, const rope_view *y,
                                 const int64_t *positions, int64_t position_stride,
                                 const uint32_t pairing, const int64_t pairs)
{
    chunk made[2];
    const int64_t chunks = (pairs + CHUNK - 1) / CHUNK;
    if (x->tokens > 0)
        make(p, positions, 0, pairs, &made[0]);
    for (int64_t t = 0; t < x->tokens; t++, r.x += x->token_stride, r.y += y->token_stride) {
        const int64_t *position = positions + t * position_stride;
#pragma GCC unroll 2
        for (int64_t i = 0; i < pairs; i += CHUNK) {
            const int64_t which = (t * chunks + i / CHUNK) & 1;
            const chunk *now = &made[which];
            chunk *next = &made[which ^ 1];
            if (i + CHUNK < pairs)
                make(p, position, i + CHUNK, pairs, next);
            else if (t + 1 < x->tokens)
                make(p, position + position_stride, 0, pairs, next);
            int64_t count = pairs - i < CHUNK ? pairs - i : CHUNK;
            if (pairing == ROPE_HALF)
                half_in_cache(advance(r, i), now->c, now->s, count);
            else
                adjacent_in_cache(advance(r, 2 * i), now->c, now->s, count);
        }
    }
}

/* Inlined, since a struct that is stored in parts and loaded whole waits for its stores. */
INLINE rows rows_of(const rope_geometry *g, const rope_view *x, const rope_view *y)
{
    return (rows){(const float *)x->data + g->rotary_offset,
                  (float *)y->data + g->rotary_offset,
                  x->heads,
                  x->head_stride,
                  y->head_stride,
                  g->pairs};
}

AVX2 static void apply_in_cache(const rope_plan *p, const rope_view *x, const rope_view *y,
                                const int64_t *positions, int64_t stride)
{
    const rows r = rows_of(&p->geometry, x, y);
    const int64_t pairs = p->geometry.pairs;
    const bool half = p->geometry.pairing == ROPE_HALF;
    if (half && pairs == 32)
        tokens_in_cache(p, r, x, y, positions, stride, ROPE_HALF, 32);
    else if (half && pairs == 64)
        tokens_in_cache(p, r, x, y, positions, stride, ROPE_HALF, 64);
    else if (half)
        tokens_in_cache(p, r, x, y, positions, stride, ROPE_HALF, pairs);
    else if (pairs == 32)
        tokens_in_cache(p, r, x, y, positions, stride, ROPE_INTERLEAVED, 32);
    else if (pairs == 64)
        tokens_in_cache(p, r, x, y, positions, stride, ROPE_INTERLEAVED, 64);
    else
        tokens_in_cache(p, r, x, y, positions, stride, ROPE_INTERLEAVED, pairs);
}

AVX2 static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                              const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    const walk how = walk_of(g, x, y);
    const bool rest = x->data != y->data && g->head_dim != 2 * g->pairs;
    if (how == IN_CACHE && !rest) {
        apply_in_cache(p, x, y, positions, position_stride);
        return ROPE_OK;
    }
    rows r = rows_of(g, x, y);
    for (int64_t t = 0; t < x->tokens; t++, r.x += x->token_stride, r.y += y->token_stride) {
        rotate_token(p, r, positions + t * position_stride, how);
        for (int64_t h = 0; h < x->heads && rest; h++)
            rope_copy_rest(g, sizeof(float), r.x - g->rotary_offset + h * x->head_stride,
                           r.y - g->rotary_offset + h * y->head_stride);
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

const rope_kernel rope_dd = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "dd",
    .summary = "no table: f64 quarter-turn phase and polynomials, correctly rounded, AVX2 and FMA",
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
