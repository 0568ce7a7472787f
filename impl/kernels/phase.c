/* phase: no table. The phase is a fraction of a turn in 64 bits, position times frequency modulo
 * 2^64, exact but for the frequency's rounding; its upper 32 bits go through f32 polynomials. AVX2
 * and FMA, eight pairs at a time. For positions that a model sees: the contract grows past 2^32.
 *
 * Contract: 3.4767 u where the attention factor A is a power of two, for positions below 2^32; 1 u
 * and the rounding of A to f32 more otherwise.
 *
 * Phase. T = theta / (2 pi) modulo 1, rounded to 2^-64 turns: off by 2^-65 + 2^-96 theta, times the
 * position. The lower 32 bits are dropped: less than 2^-32 turns, 2 pi 2^-32 = 0.0246 u radians.
 * Positions in [0, 2^22) take the lower half's carry, below 2^22, from an f32 product rounded to an
 * integer: two roundings of 2^-3 and one of 2^-1, at most 3/4 of 2^-32 turns.
 *
 * cos and sin of the remainder, a multiple of 2^-32 turns within a quarter turn around 0: r = rem
 * 2^-30 quarter turns rounded to f32, sin = r (H + L) + r z S(z), cos = 1 + z C(z), z = r^2.
 * Largest sqrt(dc^2 + ds^2) over all 2^30 remainders, by exhaustion in phase_test: 1.4521 u; the
 * largest of one of them 1.1628 u, so below 1.2 u absolute with the phase. The coefficients are
 * least squares at Chebyshev nodes, rounded to f32 one after the other; what they are worth is what
 * that test finds.
 *
 * A is rounded to f32 and multiplied in: up to u |A - fl(A)| / (u A) and one rounding, u |A c|,
 * normwise u A; nothing where A is a power of two.
 *
 * Rotation. y0 = fl(x0 c - fl(x1 s)), y1 = fl(x1 c + fl(x0 s)): 2 u normwise (Jeannerod, Kornerup,
 * Louvet, Muller, Math. Comp. 86 (2017)).
 *
 * Terms of second order stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Largest error of of_turns as a vector, in u; found by exhaustion. */
static const double POLYNOMIAL = 1.4521;

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 256 }; /* pairs taken at a time, at most; their cos and sin are kept for all heads */

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    float factor;         /* A */
    bool plain;           /* one axis and A = 1 */
    uint32_t *high, *low; /* [pairs, padded to eights] a position's turn, 2^-32 and 2^-64 */
    float *part;          /* [pairs, padded] 2^-32 low */
    uint8_t *axis;        /* [pairs, padded] */
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

/* hi + lo quarter turns as a fraction of a turn in 64 bits, rounded to nearest, modulo 1. */
static uint64_t turn_fraction(double hi, double lo)
{
    double high = floor(hi * 0x1p30), rest = hi * 0x1p30 - high; /* exact: units of 2^-32 turns */
    double low = nearbyint(rest * 0x1p32 + lo * 0x1p62);
    return ((uint64_t)(int64_t)high << 32) + (uint64_t)(int64_t)low;
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
    size_t bytes = sizeof(rope_plan) + padded * (2 * sizeof(uint32_t) + sizeof(float) + 1);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    memset(p, 0, bytes);
    p->geometry = geometry;
    p->bytes = bytes;
    p->factor = (float)args->attention_factor;
    p->plain = args->axis_count == 1 && p->factor == 1;
    p->high = (uint32_t *)(p + 1);
    p->low = p->high + padded;
    p->part = (float *)(p->low + padded);
    p->axis = (uint8_t *)(p->part + padded);
    memcpy(p->axis, args->axis, (size_t)args->pairs);
    for (int64_t i = 0; i < args->pairs; i++) {
        double hi, lo;
        quarter_turns(args->frequency_hi[i], args->frequency_lo[i], &hi, &lo);
        uint64_t turn = turn_fraction(hi, lo);
        p->high[i] = (uint32_t)(turn >> 32);
        p->low[i] = (uint32_t)turn;
        p->part[i] = (float)p->low[i] * 0x1p-32f;
    }
    *out = p;
    return ROPE_OK;
}

/* ---- cos and sin ---- */

static const float S[3] = {-0x1.4abbccp-1f, 0x1.4665e8p-4f, -0x1.2ee7bcp-8f};
static const float C[4] = {-0x1.3bd3cep+0f, 0x1.03c25ap-2f, -0x1.55f626p-6f, 0x1.e584e8p-11f};
static const float HALF_PI_HI = 0x1.921fb6p+0f, HALF_PI_LO = -0x1.777a5cp-25f;

typedef struct cos_sin_8 {
    __m256 c, s;
} cos_sin_8;

/* cos and sin of an angle in 2^-32 turns, modulo a turn. */
AVX2 INLINE cos_sin_8 of_turns(__m256i turns)
{
    /* The nearest quarter n in bits 30 and 31: cos is c -s -c s, sin is s c -s -c. */
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256i quarter = _mm256_add_epi32(turns, _mm256_set1_epi32(1 << 29));
    __m256 odd = _mm256_castsi256_ps(_mm256_add_epi32(quarter, quarter));
    __m256 negative = _mm256_and_ps(_mm256_castsi256_ps(quarter), sign);
    /* The lower 30 bits, signed, are what is left of the nearest quarter; shifted to the top they
     * are a multiple of 4 and round to f32 as they would without. Negated where n is odd: so is s.
     */
    __m256 scale = _mm256_xor_ps(_mm256_set1_ps(0x1p-32f), _mm256_and_ps(odd, sign));
    __m256 r = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_slli_epi32(turns, 2)), scale);
    __m256 z = _mm256_mul_ps(r, r), s = _mm256_set1_ps(S[2]), c = _mm256_set1_ps(C[3]);
    for (int k = 1; k >= 0; k--)
        s = _mm256_fmadd_ps(s, z, _mm256_set1_ps(S[k]));
    for (int k = 2; k >= 0; k--)
        c = _mm256_fmadd_ps(c, z, _mm256_set1_ps(C[k]));
    s = _mm256_mul_ps(r, _mm256_fmadd_ps(s, z, _mm256_set1_ps(HALF_PI_LO)));
    s = _mm256_fmadd_ps(r, _mm256_set1_ps(HALF_PI_HI), s);
    c = _mm256_fmadd_ps(c, z, _mm256_set1_ps(1));
    /* One blend, three operations on some CPUs, picks cos; sin is what c and s have besides. */
    __m256 first = _mm256_xor_ps(_mm256_blendv_ps(c, s, odd), negative);
    return (cos_sin_8){first, _mm256_xor_ps(_mm256_xor_ps(c, s), first)};
}

/* The upper 32 bits of (2^32 high + low) times a position modulo 2^64; the position's lower 32 bits
 * stand in each lane of low_bits, its upper ones, where they matter, in high_bits. */
AVX2 INLINE __m256i multiply(__m256i high, __m256i low, __m256i low_bits, __m256i high_bits,
                             const bool wide)
{
    __m256i even = _mm256_shuffle_epi32(_mm256_mul_epu32(low, low_bits), 0xf5);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(low, 32), _mm256_srli_epi64(low_bits, 32));
    __m256i carry = _mm256_blend_epi32(even, odd, 0xaa);
    __m256i turns = _mm256_add_epi32(_mm256_mullo_epi32(high, low_bits), carry);
    if (wide)
        turns = _mm256_add_epi32(turns, _mm256_mullo_epi32(low, high_bits));
    return turns;
}

/* What a token's positions look like. The same position always takes the same way. */
typedef enum layout {
    NEAR = 0, /* one axis, 0 <= position < 2^22, A = 1 */
    FAR = 1,  /* one axis, 2^22 <= position < 2^32, A = 1 */
    ANY = 2,  /* each pair has its own position, any int64, any A */
} layout;

/* The same for a position below 2^22, also as a float; part: 2^-32 low. */
AVX2 INLINE __m256i multiply_near(__m256i high, __m256 part, __m256i position, __m256 real)
{
    __m256i carry = _mm256_cvtps_epi32(_mm256_mul_ps(part, real));
    return _mm256_add_epi32(_mm256_mullo_epi32(high, position), carry);
}

/* A token's positions, in halves of 32 bits. NEAR and FAR: the first one's lower half alone. */
typedef struct spread {
    uint32_t low[BLOCK], high[BLOCK];
} spread;

AVX2 INLINE __m256i load_8(const uint32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* A cos and A sin of a token's pairs [begin, begin + padded), eight at a time. */
AVX2 INLINE void generate(const rope_plan *p, const spread *at, int64_t begin, int64_t padded,
                          float *cosines, float *sines, const layout how)
{
    const __m256 factor = _mm256_set1_ps(p->factor);
    const __m256i position = _mm256_set1_epi32((int)at->low[0]);
    const __m256 real = _mm256_cvtepi32_ps(position);
    for (int64_t i = 0; i < padded; i += 8) {
        __m256i high = load_8(p->high + begin + i), low = load_8(p->low + begin + i), turns;
        if (how == NEAR)
            turns = multiply_near(high, _mm256_loadu_ps(p->part + begin + i), position, real);
        else if (how == FAR)
            turns = multiply(high, low, position, position, false);
        else
            turns = multiply(high, low, load_8(at->low + i), load_8(at->high + i), true);
        cos_sin_8 w = of_turns(turns);
        if (how == ANY) {
            w.c = _mm256_mul_ps(w.c, factor);
            w.s = _mm256_mul_ps(w.s, factor);
        }
        _mm256_storeu_ps(cosines + i, w.c);
        _mm256_storeu_ps(sines + i, w.s);
    }
}

INLINE layout layout_of(const rope_plan *p, int64_t position)
{
    const uint64_t bits = (uint64_t)position;
    if (p->plain && bits < UINT64_C(1) << 22)
        return NEAR;
    return p->plain && bits < UINT64_C(1) << 32 ? FAR : ANY;
}

/* Of pairs [begin, begin + padded) of one token. */
AVX2 static void cos_sin(const rope_plan *p, const int64_t *position, int64_t begin, int64_t padded,
                         float *cosines, float *sines)
{
    const layout how = layout_of(p, position[0]);
    spread at;
    at.low[0] = (uint32_t)position[0];
    for (int64_t i = 0; i < padded && how == ANY; i++) {
        uint64_t bits = (uint64_t)position[p->axis[begin + i]];
        at.low[i] = (uint32_t)bits;
        at.high[i] = (uint32_t)(bits >> 32);
    }
    if (how == NEAR)
        generate(p, &at, begin, padded, cosines, sines, NEAR);
    else if (how == FAR)
        generate(p, &at, begin, padded, cosines, sines, FAR);
    else
        generate(p, &at, begin, padded, cosines, sines, ANY);
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
    at.low[0] = (uint32_t)position[0];
    if (layout_of(p, position[0]) == NEAR)
        generate(p, &at, begin, padded, made->c, made->s, NEAR);
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
    double factor = args->attention_factor, table = POLYNOMIAL;
    if (frexp(factor, &exponent) != 0.5)
        table = table * (1 + 0x1p-24) + 1 + 0x1p24 * fabs((double)(float)factor - factor) / factor;
    double magnitude = fabs((double)position);
    double angle = 6.2832 * (0x1p-32 + 0x1p-64 * magnitude) +
                   0x1p-96 * fabs(magnitude * args->frequency_hi[pair]);
    return 2 + table + 0x1p-20 + 0x1p24 * angle;
}

const rope_kernel rope_phase = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "phase",
    .summary = "no table: 64-bit fixed-point phase and f32 polynomials, AVX2 and FMA",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .cpu_features = ROPE_CPU_AVX2 | ROPE_CPU_FMA,
    .pipeline = {ROPE_FORMAT_FIXED64, ROPE_FORMAT_FIXED64, ROPE_FORMAT_F32,
                 ROPE_ARITHMETIC_F32_FMA},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
