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
    BLOCK = 256, /* pairs taken at a time, at most; their cos and sin are kept for all heads */
    VECTORS = 8, /* whose c and s stay in registers, at most */
};

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    double factor;   /* A */
    double *hi, *lo; /* [pairs, padded to sixteens] quarter turns a position, modulo 4, |hi| <= 2 */
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
    size_t padded = ((size_t)args->pairs + 15) / 16 * 16;
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

/* Of two vectors, their four chains of operations side by side. */
AVX512 INLINE void polynomials(const reduced q[2], __m512d factor, quarter out[2], const layout how)
{
    __m512d z[2], s[2], c[2];
    for (int j = 0; j < 2; j++) {
        z[j] = _mm512_mul_pd(q[j].r, q[j].r);
        s[j] = _mm512_set1_pd(S[5]);
        c[j] = _mm512_fmadd_pd(_mm512_set1_pd(C[6]), z[j], _mm512_set1_pd(C[5]));
    }
    for (int i = 4; i >= 0; i--)
        for (int j = 0; j < 2; j++) {
            s[j] = _mm512_fmadd_pd(s[j], z[j], _mm512_set1_pd(S[i]));
            c[j] = _mm512_fmadd_pd(c[j], z[j], _mm512_set1_pd(C[i]));
        }
    for (int j = 0; j < 2; j++) {
        s[j] = _mm512_fmadd_pd(s[j], z[j], _mm512_set1_pd(HALF_PI_LO));
        c[j] = _mm512_fmadd_pd(c[j], z[j], _mm512_set1_pd(1));
        s[j] = _mm512_mul_pd(q[j].r, s[j]);
        s[j] = _mm512_fmadd_pd(q[j].r, _mm512_set1_pd(HALF_PI_HI), s[j]);
        if (how != PLAIN) {
            c[j] = _mm512_mul_pd(c[j], factor);
            s[j] = _mm512_mul_pd(s[j], factor);
        }
        out[j] = (quarter){_mm512_cvtpd_ps(c[j]), _mm512_cvtpd_ps(s[j])};
    }
}

AVX512 INLINE reduced reduce_at(const rope_plan *p, const spread *at, int64_t begin, int64_t i,
                                const layout how)
{
    __m512d hi = _mm512_loadu_pd(p->hi + begin + i), lo = _mm512_loadu_pd(p->lo + begin + i);
    if (how == PLAIN || how == ONE)
        return reduce(_mm512_set1_pd(at->low[0]), hi, lo);
    if (how == EACH)
        return reduce(_mm512_loadu_pd(at->low + i), hi, lo);
    return reduce_wide(_mm512_loadu_pd(at->low + i), _mm512_loadu_pd(at->high + i), hi, lo);
}

AVX512 INLINE __m512 join(__m256 low, __m256 high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/* A cos and A sin of a token's pairs [begin, begin + padded), sixteen at a time. */
AVX512 INLINE void generate(const rope_plan *p, const spread *at, int64_t begin, int64_t padded,
                            float *cosines, float *sines, const layout how)
{
    const __m512 sign = _mm512_set1_ps(-0.0f);
    const __m512i lower =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512d factor = _mm512_set1_pd(p->factor);
    for (int64_t i = 0; i < padded; i += 16) {
        const reduced q[2] = {reduce_at(p, at, begin, i, how), reduce_at(p, at, begin, i + 8, how)};
        quarter v[2];
        polynomials(q, factor, v, how);
        __m512 c = join(v[0].c, v[1].c), s = join(v[0].s, v[1].s);
        __m512i n = _mm512_permutex2var_epi32(q[0].n, lower, q[1].n);
        /* quarter turn n: cos is c -s -c s, sin is s c -s -c */
        __mmask16 odd = _mm512_test_epi32_mask(n, _mm512_set1_epi32(1));
        __m512i next = _mm512_add_epi32(n, _mm512_set1_epi32(1));
        __m512 cos_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32(next, 30)), sign);
        __m512 sin_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32(n, 30)), sign);
        _mm512_storeu_ps(cosines + i, _mm512_xor_ps(_mm512_mask_blend_ps(odd, c, s), cos_sign));
        _mm512_storeu_ps(sines + i, _mm512_xor_ps(_mm512_mask_blend_ps(odd, s, c), sin_sign));
    }
}

static layout layout_of(const rope_plan *p, int64_t position)
{
    if (p->geometry.axis_count > 1 || is_wide(position))
        return EACH; /* or WIDE: spread_token tells */
    return p->factor == 1 ? PLAIN : ONE;
}

/* Of pairs [begin, begin + padded) of one token. */
AVX512 static void cos_sin(const rope_plan *p, const int64_t *position, int64_t begin,
                           int64_t padded, float *cosines, float *sines)
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

/* 16 half pairs. The first store stands before the second product: gcc then keeps x0 and x1 in
 * registers, where it would load each twice. */
AVX512 INLINE void half_one(rows r, int64_t at, __m512 c, __m512 s)
{
    __m512 x0 = _mm512_loadu_ps(r.x + at), x1 = _mm512_loadu_ps(r.x + r.partner + at);
    _mm512_storeu_ps(r.y + at, _mm512_fmsub_ps(x0, c, _mm512_mul_ps(x1, s)));
    _mm512_storeu_ps(r.y + r.partner + at, _mm512_fmadd_ps(x1, c, _mm512_mul_ps(x0, s)));
}

/* 8 adjacent pairs; c and s hold each value twice. */
AVX512 INLINE void adjacent_one(rows r, int64_t at, __m512 c, __m512 s)
{
    __m512 z = _mm512_loadu_ps(r.x + at);
    __asm__("" : "+v"(z)); /* else gcc loads it twice */
    __m512 swapped = _mm512_permute_ps(z, 0xb1);
    _mm512_storeu_ps(r.y + at, _mm512_fmaddsub_ps(z, c, _mm512_mul_ps(swapped, s)));
}

/* Exactly 16, 8, 4, 2 or 1 elements, or none; the rest of the vector is 0. */
AVX512 INLINE __m512 load_part(const float *p, const int lanes)
{
    if (lanes == 16)
        return _mm512_loadu_ps(p);
    if (lanes == 8)
        return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
    if (lanes == 4)
        return _mm512_zextps128_ps512(_mm_loadu_ps(p));
    if (lanes == 2)
        return _mm512_zextps128_ps512(
            _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
    return lanes == 1 ? _mm512_zextps128_ps512(_mm_load_ss(p)) : _mm512_setzero_ps();
}

AVX512 INLINE void store_part(float *p, __m512 v, const int lanes)
{
    if (lanes == 16)
        _mm512_storeu_ps(p, v);
    else if (lanes == 8)
        _mm256_storeu_ps(p, _mm512_castps512_ps256(v));
    else if (lanes == 4)
        _mm_storeu_ps(p, _mm512_castps512_ps128(v));
    else if (lanes == 2)
        _mm_storel_epi64((__m128i *)(void *)p, _mm_castps_si128(_mm512_castps512_ps128(v)));
    else if (lanes == 1)
        _mm_store_ss(p, _mm512_castps512_ps128(v));
}

/* Exactly 8, 4, 2 or 1 values, each twice. */
AVX512 INLINE __m512 twice(const float *values, const int count)
{
    const __m512i lanes = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(lanes, load_part(values, count));
}

/* `count` half pairs, as so many vectors and a last part of `more` lanes: c and s stay in registers
 * while the heads pass by. The last part may overlap what stands before it: its operands are loaded
 * before anything is stored, so that in place works too, and what it repeats gives the same bits.
 * (Masks are no help: loads wait for a masked store that is near, even where the mask keeps them
 * apart.) */
AVX512 INLINE void half_vectors(rows r, const float *cosines, const float *sines, int64_t count,
                                const int vectors, const int more)
{
    __m512 c[VECTORS], s[VECTORS];
    for (int v = 0; v < vectors; v++) {
        c[v] = _mm512_loadu_ps(cosines + 16 * v);
        s[v] = _mm512_loadu_ps(sines + 16 * v);
    }
    const int64_t last = count - more, other = r.partner + last;
    __m512 c_last = load_part(cosines + last, more), s_last = load_part(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 x0 = load_part(r.x + last, more), x1 = load_part(r.x + other, more);
        for (int v = 0; v < vectors; v++)
            half_one(r, 16 * v, c[v], s[v]);
        store_part(r.y + last, _mm512_fmsub_ps(x0, c_last, _mm512_mul_ps(x1, s_last)), more);
        store_part(r.y + other, _mm512_fmadd_ps(x1, c_last, _mm512_mul_ps(x0, s_last)), more);
    }
}

/* The same of adjacent pairs; `more` pairs. */
AVX512 INLINE void adjacent_vectors(rows r, const float *cosines, const float *sines, int64_t count,
                                    const int vectors, const int more)
{
    __m512 c[VECTORS], s[VECTORS];
    for (int v = 0; v < vectors; v++) {
        c[v] = twice(cosines + 8 * v, 8);
        s[v] = twice(sines + 8 * v, 8);
    }
    const int64_t last = count - more;
    __m512 c_last = twice(cosines + last, more), s_last = twice(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 z = load_part(r.x + 2 * last, 2 * more);
        for (int v = 0; v < vectors; v++)
            adjacent_one(r, 16 * v, c[v], s[v]);
        __m512 product = _mm512_mul_ps(_mm512_permute_ps(z, 0xb1), s_last);
        store_part(r.y + 2 * last, _mm512_fmaddsub_ps(z, c_last, product), 2 * more);
    }
}

/* `count` half pairs, fewer than a vector: the first lanes and the last `more`, loaded before
 * anything is stored. Lines are asked for so far ahead, if at all. */
AVX512 INLINE void half_few(rows r, const float *cosines, const float *sines, int64_t count,
                            const int lanes, const int more, const int64_t ahead)
{
    const int64_t last = count - more, other = r.partner + last;
    __m512 c0 = load_part(cosines, lanes), c1 = load_part(cosines + last, more);
    __m512 s0 = load_part(sines, lanes), s1 = load_part(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        if (ahead > 0)
            _mm_prefetch((const char *)(r.x + ahead), _MM_HINT_T0);
        __m512 x0 = load_part(r.x, lanes), x1 = load_part(r.x + r.partner, lanes);
        __m512 x2 = load_part(r.x + last, more), x3 = load_part(r.x + other, more);
        store_part(r.y, _mm512_fmsub_ps(x0, c0, _mm512_mul_ps(x1, s0)), lanes);
        store_part(r.y + r.partner, _mm512_fmadd_ps(x1, c0, _mm512_mul_ps(x0, s0)), lanes);
        store_part(r.y + last, _mm512_fmsub_ps(x2, c1, _mm512_mul_ps(x3, s1)), more);
        store_part(r.y + other, _mm512_fmadd_ps(x3, c1, _mm512_mul_ps(x2, s1)), more);
    }
}

/* The same of adjacent pairs; `first` pairs and `more`. */
AVX512 INLINE void adjacent_few(rows r, const float *cosines, const float *sines, int64_t count,
                                const int first, const int more)
{
    const int64_t last = count - more;
    __m512 c0 = twice(cosines, first), c1 = twice(cosines + last, more);
    __m512 s0 = twice(sines, first), s1 = twice(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 z0 = load_part(r.x, 2 * first), z1 = load_part(r.x + 2 * last, 2 * more);
        __m512 product0 = _mm512_mul_ps(_mm512_permute_ps(z0, 0xb1), s0);
        __m512 product1 = _mm512_mul_ps(_mm512_permute_ps(z1, 0xb1), s1);
        store_part(r.y, _mm512_fmaddsub_ps(z0, c0, product0), 2 * first);
        store_part(r.y + 2 * last, _mm512_fmaddsub_ps(z1, c1, product1), 2 * more);
    }
}

/* So many whole vectors and what is left, less than another. A part of 8 lanes where it suffices:
 * it lies across two lines less often. */
AVX512 INLINE void half_pass(rows r, const float *c, const float *s, int64_t count,
                             const int vectors)
{
    if (count == 16 * vectors)
        half_vectors(r, c, s, count, vectors, 0);
    else if (count <= 16 * vectors + 8)
        half_vectors(r, c, s, count, vectors, 8);
    else
        half_vectors(r, c, s, count, vectors, 16);
}

AVX512 INLINE void adjacent_pass(rows r, const float *c, const float *s, int64_t count,
                                 const int vectors)
{
    if (count == 8 * vectors)
        adjacent_vectors(r, c, s, count, vectors, 0);
    else if (count <= 8 * vectors + 4)
        adjacent_vectors(r, c, s, count, vectors, 4);
    else
        adjacent_vectors(r, c, s, count, vectors, 8);
}

/* Fewer than 16 half pairs. */
AVX512 INLINE void half_part(rows r, const float *c, const float *s, int64_t count,
                             const int64_t ahead)
{
    if (count > 12)
        half_few(r, c, s, count, 8, 8, ahead);
    else if (count > 10)
        half_few(r, c, s, count, 8, 4, ahead);
    else if (count > 8)
        half_few(r, c, s, count, 8, 2, ahead);
    else if (count == 8)
        half_few(r, c, s, count, 8, 0, ahead);
    else if (count > 4)
        half_few(r, c, s, count, 4, 4, ahead);
    else if (count == 4)
        half_few(r, c, s, count, 4, 0, ahead);
    else if (count > 1)
        half_few(r, c, s, count, 2, 2, ahead);
    else
        half_few(r, c, s, count, 1, 0, ahead);
}

/* Fewer than 8 adjacent pairs. */
AVX512 INLINE void adjacent_part(rows r, const float *c, const float *s, int64_t count)
{
    if (count > 6)
        adjacent_few(r, c, s, count, 4, 4);
    else if (count > 4)
        adjacent_few(r, c, s, count, 4, 2);
    else if (count == 4)
        adjacent_few(r, c, s, count, 4, 0);
    else if (count > 1)
        adjacent_few(r, c, s, count, 2, 2);
    else
        adjacent_few(r, c, s, count, 1, 0);
}

/* At most 79 half pairs, in one pass over the heads. Inlined, since a struct that is stored in
 * parts and loaded whole waits for its stores. */
AVX512 INLINE void half_rest(rows r, const float *c, const float *s, int64_t count)
{
    if (count >= 64)
        half_pass(r, c, s, count, 4);
    else if (count >= 48)
        half_pass(r, c, s, count, 3);
    else if (count >= 32)
        half_pass(r, c, s, count, 2);
    else if (count >= 16)
        half_pass(r, c, s, count, 1);
    else
        half_part(r, c, s, count, 0);
}

/* At most 39 adjacent pairs. */
AVX512 INLINE void adjacent_rest(rows r, const float *c, const float *s, int64_t count)
{
    if (count >= 32)
        adjacent_pass(r, c, s, count, 4);
    else if (count >= 24)
        adjacent_pass(r, c, s, count, 3);
    else if (count >= 16)
        adjacent_pass(r, c, s, count, 2);
    else if (count >= 8)
        adjacent_pass(r, c, s, count, 1);
    else
        adjacent_part(r, c, s, count);
}

/* Rows that the cache holds: few passes over the heads. */
AVX512 INLINE void half_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i == 128 || count - i >= 144; i += 128)
        half_vectors(advance(r, i), c + i, s + i, 128, 8, 0);
    for (; count - i == 64 || count - i >= 80; i += 64)
        half_vectors(advance(r, i), c + i, s + i, 64, 4, 0);
    if (count - i == 32)
        half_vectors(advance(r, i), c + i, s + i, 32, 2, 0);
    else if (i < count)
        half_rest(advance(r, i), c + i, s + i, count - i);
}

AVX512 INLINE void adjacent_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i == 64 || count - i >= 72; i += 64)
        adjacent_vectors(advance(r, 2 * i), c + i, s + i, 64, 8, 0);
    for (; count - i == 32 || count - i >= 40; i += 32)
        adjacent_vectors(advance(r, 2 * i), c + i, s + i, 32, 4, 0);
    if (i < count)
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

/* Rows that come from memory: one after the other, in the order of addresses, as prefetchers like
 * it; a last part of `more` lanes as in half_vectors. The two halves of a long row confuse
 * prefetchers: lines are asked for in order, ahead of use; not where rows are copied within the
 * caches, which that slows. */
AVX512 INLINE void half_in_order(rows r, const float *c, const float *s, int64_t count,
                                 const walk how, const int more)
{
    const int64_t last = count - more, other = r.partner + last, ahead = prefetch_distance(count);
    const __m512 c_last = load_part(c + last, more), s_last = load_part(s + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 x0 = load_part(r.x + last, more), x1 = load_part(r.x + other, more);
        for (int64_t i = 0; i < last; i += 16) {
            if (how != COPIED) {
                _mm_prefetch((const char *)(r.x + 2 * i + ahead), _MM_HINT_T0);
                _mm_prefetch((const char *)(r.x + 2 * i + 16 + ahead), _MM_HINT_T0);
            }
            half_one(r, i, _mm512_loadu_ps(c + i), _mm512_loadu_ps(s + i));
        }
        if (how != COPIED) {
            _mm_prefetch((const char *)(r.x + 2 * last + ahead), _MM_HINT_T0);
            if (more == 16)
                _mm_prefetch((const char *)(r.x + 2 * last + 16 + ahead), _MM_HINT_T0);
        }
        store_part(r.y + last, _mm512_fmsub_ps(x0, c_last, _mm512_mul_ps(x1, s_last)), more);
        store_part(r.y + other, _mm512_fmadd_ps(x1, c_last, _mm512_mul_ps(x0, s_last)), more);
    }
}

AVX512 INLINE void adjacent_in_order(rows r, const float *c, const float *s, int64_t count,
                                     const walk how)
{
    const int64_t last = count - 8, ahead = prefetch_distance(count);
    float c2[2 * BLOCK], s2[2 * BLOCK]; /* each value twice */
    for (int64_t i = 0; i < last; i += 8) {
        _mm512_storeu_ps(c2 + 2 * i, twice(c + i, 8));
        _mm512_storeu_ps(s2 + 2 * i, twice(s + i, 8));
    }
    const __m512 c_last = twice(c + last, 8), s_last = twice(s + last, 8);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 z_last = _mm512_loadu_ps(r.x + 2 * last);
        for (int64_t i = 0; i < 2 * last; i += 16) {
            if (how != COPIED)
                _mm_prefetch((const char *)(r.x + i + ahead), _MM_HINT_T0);
            adjacent_one(r, i, _mm512_loadu_ps(c2 + i), _mm512_loadu_ps(s2 + i));
        }
        __m512 product = _mm512_mul_ps(_mm512_permute_ps(z_last, 0xb1), s_last);
        _mm512_storeu_ps(r.y + 2 * last, _mm512_fmaddsub_ps(z_last, c_last, product));
    }
}

/* Rows of so many heads side by side, `apart` heads from one to the next, with stores around the
 * caches: a vector is a whole line of 64 bytes. */
AVX512 INLINE void half_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                     const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 16) {
        __m512 c0 = _mm512_loadu_ps(c + i), s0 = _mm512_loadu_ps(s + i);
        for (int k = 0; k < side_by_side; k++) {
            const float *x = r.x + k * apart * r.x_stride + i;
            float *y = r.y + k * apart * r.y_stride + i;
            __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + r.partner);
            _mm512_stream_ps(y, _mm512_fmsub_ps(x0, c0, _mm512_mul_ps(x1, s0)));
            _mm512_stream_ps(y + r.partner, _mm512_fmadd_ps(x1, c0, _mm512_mul_ps(x0, s0)));
        }
    }
}

AVX512 INLINE void adjacent_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                         const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 8) {
        __m512 c0 = twice(c + i, 8), s0 = twice(s + i, 8);
        for (int k = 0; k < side_by_side; k++) {
            __m512 z = _mm512_loadu_ps(r.x + k * apart * r.x_stride + 2 * i);
            __m512 product = _mm512_mul_ps(_mm512_permute_ps(z, 0xb1), s0);
            _mm512_stream_ps(r.y + k * apart * r.y_stride + 2 * i,
                             _mm512_fmaddsub_ps(z, c0, product));
        }
    }
}

/* Rows that go from memory to memory: four at once, a quarter of the heads apart, so that four
 * pages of memory are open at a time. That is how memcpy copies as much, and row after row is a
 * fifth slower. */
AVX512 INLINE void streamed(uint32_t pairing, rows r, const float *c, const float *s, int64_t count)
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

AVX512 INLINE void rotate(uint32_t pairing, rows r, const float *c, const float *s, int64_t count,
                          walk how)
{
    if (pairing == ROPE_HALF && how == IN_ORDER && count < 16) {
        half_part(r, c, s, count, prefetch_distance(count));
        return;
    }
    if (how != IN_CACHE && count < 16) /* no whole vector */
        how = IN_CACHE;
    const bool narrow = count % 16 != 0 && count % 16 <= 8;
    if (how == STREAMED)
        streamed(pairing, r, c, s, count);
    else if (pairing == ROPE_HALF && how == IN_CACHE)
        half_in_cache(r, c, s, count);
    else if (pairing == ROPE_HALF && how == IN_ORDER && narrow)
        half_in_order(r, c, s, count, IN_ORDER, 8);
    else if (pairing == ROPE_HALF && how == IN_ORDER)
        half_in_order(r, c, s, count, IN_ORDER, 16);
    else if (pairing == ROPE_HALF && narrow)
        half_in_order(r, c, s, count, COPIED, 8);
    else if (pairing == ROPE_HALF)
        half_in_order(r, c, s, count, COPIED, 16);
    else if (how == IN_CACHE)
        adjacent_in_cache(r, c, s, count);
    else if (how == IN_ORDER)
        adjacent_in_order(r, c, s, count, IN_ORDER);
    else
        adjacent_in_order(r, c, s, count, COPIED);
}

/* Rotates a block of pairs of one token. */
AVX512 static void rotate_block(const rope_plan *p, rows r, const int64_t *position, int64_t begin,
                                int64_t count, walk how)
{
    float cosines[BLOCK], sines[BLOCK];
    cos_sin(p, position, begin, (count + 15) / 16 * 16, cosines, sines);
    int64_t skip = p->geometry.pairing == ROPE_HALF ? begin : 2 * begin;
    rotate(p->geometry.pairing, advance(r, skip), cosines, sines, count, how);
}

AVX512 static void rotate_token(const rope_plan *p, rows r, const int64_t *position, walk how)
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
AVX512 INLINE void make(const rope_plan *p, const int64_t *position, int64_t begin,
                        const int64_t pairs, chunk *made)
{
    int64_t count = pairs - begin < CHUNK ? pairs - begin : CHUNK, padded = (count + 15) / 16 * 16;
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
AVX512 INLINE void tokens_in_cache(const rope_plan *p, rows r, const rope_view *x,
                                   const rope_view *y, const int64_t *positions,
                                   int64_t position_stride, const uint32_t pairing,
                                   const int64_t pairs)
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

AVX512 static void apply_in_cache(const rope_plan *p, const rope_view *x, const rope_view *y,
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

AVX512 static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
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
