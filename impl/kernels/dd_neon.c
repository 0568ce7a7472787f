/* dd_neon: dd with NEON. No table. cos and sin are made on the fly from a frequency in quarter
 * turns held as two doubles, rounded to f32 once a token and shared by its heads; the rotation in
 * f32. NEON (aarch64). Takes every int64 position.
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

#if defined(__aarch64__)
#include <arm_neon.h>

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
    int64x2_t n;   /* quarter turns, whole, modulo 2^51 */
    float64x2_t r; /* and the rest, |r| <= 1/2 and a little */
} reduced;

INLINE reduced reduce(float64x2_t position, float64x2_t hi, float64x2_t lo)
{
    const float64x2_t magic = vdupq_n_f64(0x1.8p52);
    float64x2_t t = vfmaq_f64(magic, position, hi);
    float64x2_t r = vfmaq_f64(vnegq_f64(vsubq_f64(t, magic)), position, hi);
    return (reduced){vreinterpretq_s64_f64(t), vfmaq_f64(r, position, lo)};
}

/* Positions past 2^50: the multiple of 2^32 apart, with 2^32 F modulo 4. */
INLINE reduced reduce_wide(float64x2_t low, float64x2_t high, float64x2_t hi, float64x2_t lo)
{
    const float64x2_t magic = vdupq_n_f64(0x1.8p52);
    float64x2_t g = vmulq_n_f64(hi, 0x1p32);
    float64x2_t turns = vrndnq_f64(vmulq_n_f64(g, 0.25));
    reduced a = reduce(low, hi, lo);
    reduced b = reduce(high, vfmsq_f64(g, turns, vdupq_n_f64(4)), vmulq_n_f64(lo, 0x1p32));
    float64x2_t r = vaddq_f64(a.r, b.r), t = vaddq_f64(r, magic), n = vsubq_f64(t, magic);
    uint64x2_t whole = vceqzq_f64(high); /* nothing to add there: as reduce alone */
    int64x2_t more = vaddq_s64(b.n, vreinterpretq_s64_f64(t));
    more = vbslq_s64(whole, vdupq_n_s64(0), more);
    return (reduced){vaddq_s64(a.n, more), vbslq_f64(whole, r, vsubq_f64(r, n))};
}

/* What the positions of a token look like. */
typedef enum layout {
    ONE = 0,  /* one axis: the same position for all pairs of a token */
    EACH = 1, /* each pair of the only token has its own */
    WIDE = 2, /* and they may lie past 2^50 */
} layout;

typedef struct quarter {
    float32x2_t c, s; /* cos and sin of pi/2 r, times A */
} quarter;

INLINE quarter polynomials(float64x2_t r, float64x2_t factor)
{
    float64x2_t z = vmulq_f64(r, r);
    float64x2_t s = vdupq_n_f64(S[5]), c = vdupq_n_f64(C[6]);
    for (int k = 4; k >= 0; k--)
        s = vfmaq_f64(vdupq_n_f64(S[k]), s, z);
    for (int k = 5; k >= 0; k--)
        c = vfmaq_f64(vdupq_n_f64(C[k]), c, z);
    s = vmulq_f64(r, vfmaq_f64(vdupq_n_f64(HALF_PI_LO), s, z));
    s = vfmaq_f64(s, r, vdupq_n_f64(HALF_PI_HI));
    c = vfmaq_f64(vdupq_n_f64(1), c, z);
    return (quarter){vcvt_f32_f64(vmulq_f64(c, factor)), vcvt_f32_f64(vmulq_f64(s, factor))};
}

INLINE reduced reduce_at(const rope_plan *p, const spread *at, int64_t token, int64_t begin,
                         int64_t i, const layout how)
{
    float64x2_t hi = vld1q_f64(p->hi + begin + i), lo = vld1q_f64(p->lo + begin + i);
    if (how == ONE)
        return reduce(vdupq_n_f64(at->low[token]), hi, lo);
    if (how == EACH)
        return reduce(vld1q_f64(at->low + i), hi, lo);
    return reduce_wide(vld1q_f64(at->low + i), vld1q_f64(at->high + i), hi, lo);
}

INLINE float32x4_t with_sign(float32x4_t v, int32x4_t n)
{
    uint32x4_t sign = vandq_u32(vreinterpretq_u32_s32(vshlq_n_s32(n, 30)), vdupq_n_u32(1u << 31));
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(v), sign));
}

/* A cos and A sin of pairs [begin, begin + padded) of some tokens, four at a time. */
INLINE void generate(const rope_plan *p, const spread *at, int64_t tokens, int64_t begin,
                     int64_t padded, float *cosines, float *sines, const layout how)
{
    const float64x2_t factor = vdupq_n_f64(p->factor);
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < padded; i += 4) {
            reduced a = reduce_at(p, at, t, begin, i, how);
            reduced b = reduce_at(p, at, t, begin, i + 2, how);
            quarter qa = polynomials(a.r, factor), qb = polynomials(b.r, factor);
            float32x4_t c = vcombine_f32(qa.c, qb.c), s = vcombine_f32(qa.s, qb.s);
            int32x4_t n = vcombine_s32(vmovn_s64(a.n), vmovn_s64(b.n));
            /* quarter turn n: cos is c -s -c s, sin is s c -s -c */
            uint32x4_t odd = vtstq_s32(n, vdupq_n_s32(1));
            vst1q_f32(cosines + t * padded + i,
                      with_sign(vbslq_f32(odd, s, c), vaddq_s32(n, vdupq_n_s32(1))));
            vst1q_f32(sines + t * padded + i, with_sign(vbslq_f32(odd, c, s), n));
        }
}

/* Into cosines and sines [tokens][padded]. */
static void cos_sin(const rope_plan *p, const int64_t *positions, int64_t position_stride,
                    int64_t tokens, int64_t begin, int64_t padded, float *cosines, float *sines)
{
    spread at;
    bool narrow = p->geometry.axis_count == 1;
    for (int64_t t = 0; t < tokens && narrow; t++) {
        narrow = !is_wide(positions[t * position_stride]);
        at.low[t] = (double)positions[t * position_stride];
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

const rope_kernel rope_dd_neon = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "dd_neon",
    .summary = "no table: f64 quarter-turn phase and polynomials, correctly rounded, NEON",
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
