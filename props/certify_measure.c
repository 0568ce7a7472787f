#include "props/certify_measure.h"

#include <math.h>
#include <string.h>

#include "impl/registry.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

certify_unit certify_unit_of(uint32_t dtype, double attention_factor)
{
    double u = rope_dtype_unit_roundoff(dtype);
    bool wide = dtype == ROPE_F64;
    /* The reciprocal of an f64 subnormal overflows; no exact value but 0 is that small. */
    double smallest = wide ? 0x1p-1000 : rope_dtype_smallest(dtype);
    return (certify_unit){attention_factor, u, smallest, 2 * u, wide};
}

/* The power of two at or below |x|: 0 for 0. */
static inline double binade(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7ff0000000000000);
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* 1 / x of a power of two between 2^-1000 and 2^1000: the exponents' fields of x and 1 / x add up
 * to 2046. */
#define RECIPROCAL_FIELDS INT64_C(0x7fe0000000000000)

static inline double reciprocal(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = RECIPROCAL_FIELDS - bits;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

typedef struct sum2 {
    double hi, lo;
} sum2;

/* c x - s z for double-doubles c, s: hi + lo, |lo| <= ulp(hi)/2.
 *
 * With A|x| for the row's norm: the products are exact (fma), t + t' is their exact difference
 * (Knuth's TwoSum), and |t|, |t'| 2^53 <= A|x| (Cauchy-Schwarz). The low parts are at most 2^-53
 * A|x| each, so that the five roundings among them cost less than 2^-102 A|x|. The inputs' own
 * errors (2^-100 + 2^-103 on c and s) add sqrt(2) 2^-99.8: below 2^-99 A|x| a component, 2^-98.5
 * for the pair. */
static inline sum2 rotate(double ch, double cl, double sh, double sl, double x, double z)
{
    double p = ch * x, pe = fma(ch, x, -p);
    double q = sh * z, qe = fma(sh, z, -q);
    double t = p - q, b = t - p;
    double rest = (p - (t - b)) - (q + b);
    double lo = rest + ((pe - qe) + (cl * x - sl * z));
    /* t may have cancelled below lo: TwoSum again. */
    double hi = t + lo, back = hi - t;
    return (sum2){hi, (t - (hi - back)) + (lo - back)};
}

typedef struct component {
    double error, ulp, correct, undecided;
} component;

/* y against the exact value v; reach = 2^-98 A|x|, how far v may be off. A v of exactly 0 comes
 * from exact data alone (a zero angle, a zero element): cos and sin of other angles stay above
 * 2^-90. */
static inline component judge(const certify_unit *unit, sum2 v, double y, double reach)
{
    double quantum = binade(v.hi) * unit->quantum_scale;
    quantum = quantum > unit->smallest ? quantum : unit->smallest;
    double scale = reciprocal(quantum);
    double t = v.hi * scale;
    double n = unit->wide ? t : rint(t);
    double d = (t - n) + v.lo * scale; /* the exact value lies d quanta from n */
    double size = fabs(d);
    n = size > 0.5 ? n + copysign(1, d) : n;
    component c;
    c.error = (y - v.hi) - v.lo;
    c.ulp = fabs(c.error) * scale;
    c.correct = y == n * quantum ? 1 : 0;
    c.undecided = fabs(size - 0.5) > reach * scale || v.hi == 0 ? 0 : 1;
    return c;
}

double certify_underflow_u(const certify_unit *unit)
{
    return 2 * unit->smallest * (1 - 0x1p-50) / (unit->attention_factor * unit->unit_roundoff);
}

/* Four partial sums and maxima: pair i goes to lane i mod 4, on every machine. */
typedef struct lanes {
    double squares_u[4], squares_ulp[4], error_u[4], ulp[4];
    double correct[4], misrounded[4], undecided[4], above[4];
} lanes;

static void measure_portable(const certify_unit *unit, const certify_row *row,
                             const certify_errors *out, int64_t from, lanes *sums)
{
    const certify_exact *r = &row->exact;
    const double in_u = 1 / (unit->attention_factor * unit->unit_roundoff);
    const double far = CERTIFY_ENCLOSURE / unit->unit_roundoff;
    const double subnormal = certify_underflow_u(unit);
    for (int64_t i = from; i < row->pairs; i++) {
        double x0 = row->x0[i], x1 = row->x1[i];
        sum2 v0 = rotate(r->cos_hi[i], r->cos_lo[i], r->sin_hi[i], r->sin_lo[i], x0, x1);
        sum2 v1 = rotate(r->sin_hi[i], r->sin_lo[i], -r->cos_hi[i], -r->cos_lo[i], x0, x1);
        double norm = sqrt(x0 * x0 + x1 * x1), inverse = 1 / norm;
        double reach = 0x1p-98 * unit->attention_factor * norm;
        component a = judge(unit, v0, row->y0[i], reach), b = judge(unit, v1, row->y1[i], reach);
        double e = sqrt(a.error * a.error + b.error * b.error) * inverse * in_u;
        e = e * (1 + 0x1p-50) + far;
        double slack = subnormal * inverse;
        out->above[i] = e <= row->limit[i] + slack ? 0 : 1; /* NaN is above */
        slack = slack > CERTIFY_UNDERFLOW_SEEN ? slack : 0;
        e = e < slack ? 0 : e - slack;
        out->error_u[i] = e;
        out->ulp[i] = a.ulp > b.ulp ? a.ulp : b.ulp;
        out->correct[i] = a.correct + b.correct;
        out->undecided[i] = a.undecided + b.undecided;
        int lane = (int)(i & 3);
        double ulp = out->ulp[i];
        sums->squares_u[lane] += e * e;
        sums->squares_ulp[lane] += ulp * ulp;
        sums->error_u[lane] = sums->error_u[lane] > e ? sums->error_u[lane] : e;
        sums->ulp[lane] = sums->ulp[lane] > ulp ? sums->ulp[lane] : ulp;
        sums->correct[lane] += out->correct[i];
        sums->misrounded[lane] += out->correct[i] < 2 ? 1 : 0;
        sums->undecided[lane] += out->undecided[i];
        sums->above[lane] += out->above[i];
    }
}

#if defined(__x86_64__)
/* The same operations in the same order, four pairs at a time; a test compares bit for bit. */
#define AVX2 __attribute__((target("avx2,fma")))

typedef struct sum2_x4 {
    __m256d hi, lo;
} sum2_x4;

AVX2 static inline __m256d absolute_x4(__m256d x)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}

AVX2 static inline sum2_x4 rotate_x4(__m256d ch, __m256d cl, __m256d sh, __m256d sl, __m256d x,
                                     __m256d z)
{
    __m256d p = ch * x, pe = _mm256_fmsub_pd(ch, x, p);
    __m256d q = sh * z, qe = _mm256_fmsub_pd(sh, z, q);
    __m256d t = p - q, b = t - p;
    __m256d rest = (p - (t - b)) - (q + b);
    __m256d lo = rest + ((pe - qe) + (cl * x - sl * z));
    __m256d hi = t + lo, back = hi - t;
    return (sum2_x4){hi, (t - (hi - back)) + (lo - back)};
}

typedef struct component_x4 {
    __m256d error, ulp, correct, undecided;
} component_x4;

AVX2 static inline component_x4 judge_x4(const certify_unit *unit, sum2_x4 v, __m256d y,
                                         __m256d reach)
{
    const __m256d one = _mm256_set1_pd(1), half = _mm256_set1_pd(0.5);
    const __m256d exponent = _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_C(0x7ff0000000000000)));
    __m256d quantum =
        _mm256_max_pd(_mm256_and_pd(v.hi, exponent) * _mm256_set1_pd(unit->quantum_scale),
                      _mm256_set1_pd(unit->smallest));
    __m256d scale = _mm256_castsi256_pd(_mm256_sub_epi64(_mm256_set1_epi64x(RECIPROCAL_FIELDS),
                                                         _mm256_castpd_si256(quantum))),
            t = v.hi * scale;
    __m256d n = unit->wide ? t : _mm256_round_pd(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d d = (t - n) + v.lo * scale, size = absolute_x4(d);
    __m256d step = _mm256_or_pd(_mm256_and_pd(d, _mm256_set1_pd(-0.0)), one);
    n += _mm256_and_pd(_mm256_cmp_pd(size, half, _CMP_GT_OQ), step);
    component_x4 c;
    c.error = (y - v.hi) - v.lo;
    c.ulp = absolute_x4(c.error) * scale;
    c.correct = _mm256_and_pd(_mm256_cmp_pd(y, n * quantum, _CMP_EQ_OQ), one);
    c.undecided =
        _mm256_and_pd(_mm256_cmp_pd(absolute_x4(size - half), reach * scale, _CMP_NGT_UQ), one);
    return c;
}

AVX2 static int64_t measure_avx2(const certify_unit *unit, const certify_row *row,
                                 const certify_errors *out, lanes *sums)
{
    const certify_exact *r = &row->exact;
    const double in_u = 1 / (unit->attention_factor * unit->unit_roundoff);
    const __m256d far = _mm256_set1_pd(CERTIFY_ENCLOSURE / unit->unit_roundoff);
    const __m256d subnormal = _mm256_set1_pd(certify_underflow_u(unit));
    const __m256d seen = _mm256_set1_pd(CERTIFY_UNDERFLOW_SEEN);
    const __m256d one = _mm256_set1_pd(1), minus = _mm256_set1_pd(-0.0);
    const __m256d reach_scale = _mm256_set1_pd(0x1p-98 * unit->attention_factor);
    const __m256d zero = _mm256_setzero_pd(), two = _mm256_set1_pd(2);
    __m256d squares_u = zero, squares_ulp = zero, max_error_u = zero, max_ulp = zero;
    __m256d correct = zero, misrounded = zero, undecided = zero, above = zero;
    int64_t i = 0;
    for (; i + 4 <= row->pairs; i += 4) {
        __m256d x0 = _mm256_loadu_pd(row->x0 + i), x1 = _mm256_loadu_pd(row->x1 + i);
        __m256d ch = _mm256_loadu_pd(r->cos_hi + i), cl = _mm256_loadu_pd(r->cos_lo + i);
        __m256d sh = _mm256_loadu_pd(r->sin_hi + i), sl = _mm256_loadu_pd(r->sin_lo + i);
        sum2_x4 v0 = rotate_x4(ch, cl, sh, sl, x0, x1);
        sum2_x4 v1 = rotate_x4(sh, sl, _mm256_xor_pd(ch, minus), _mm256_xor_pd(cl, minus), x0, x1);
        __m256d norm = _mm256_sqrt_pd(x0 * x0 + x1 * x1), inverse = one / norm;
        __m256d reach = reach_scale * norm;
        component_x4 a = judge_x4(unit, v0, _mm256_loadu_pd(row->y0 + i), reach);
        component_x4 b = judge_x4(unit, v1, _mm256_loadu_pd(row->y1 + i), reach);
        __m256d e =
            _mm256_sqrt_pd(a.error * a.error + b.error * b.error) * inverse * _mm256_set1_pd(in_u);
        e = e * _mm256_set1_pd(1 + 0x1p-50) + far;
        __m256d slack = subnormal * inverse;
        __m256d limit = _mm256_loadu_pd(row->limit + i) + slack;
        __m256d ulp = _mm256_max_pd(a.ulp, b.ulp), right = a.correct + b.correct;
        __m256d open = a.undecided + b.undecided;
        __m256d over = _mm256_and_pd(_mm256_cmp_pd(e, limit, _CMP_NLE_UQ), one);
        slack = _mm256_and_pd(_mm256_cmp_pd(slack, seen, _CMP_GT_OQ), slack);
        e = _mm256_andnot_pd(_mm256_cmp_pd(e, slack, _CMP_LT_OQ), e - slack);
        _mm256_storeu_pd(out->error_u + i, e);
        _mm256_storeu_pd(out->ulp + i, ulp);
        _mm256_storeu_pd(out->correct + i, right);
        _mm256_storeu_pd(out->undecided + i, open);
        _mm256_storeu_pd(out->above + i, over);
        squares_u += e * e;
        squares_ulp += ulp * ulp;
        max_error_u = _mm256_max_pd(max_error_u, e);
        max_ulp = _mm256_max_pd(max_ulp, ulp);
        correct += right;
        misrounded += _mm256_and_pd(_mm256_cmp_pd(right, two, _CMP_LT_OQ), one);
        undecided += open;
        above += over;
    }
    _mm256_storeu_pd(sums->squares_u, squares_u);
    _mm256_storeu_pd(sums->squares_ulp, squares_ulp);
    _mm256_storeu_pd(sums->error_u, max_error_u);
    _mm256_storeu_pd(sums->ulp, max_ulp);
    _mm256_storeu_pd(sums->correct, correct);
    _mm256_storeu_pd(sums->misrounded, misrounded);
    _mm256_storeu_pd(sums->undecided, undecided);
    _mm256_storeu_pd(sums->above, above);
    return i;
}
#endif

static double sum_of(const double lane[4])
{
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static double max_of(const double lane[4])
{
    return fmax(fmax(lane[0], lane[1]), fmax(lane[2], lane[3]));
}

certify_summary certify_measure(const certify_unit *unit, const certify_row *row,
                                const certify_errors *out)
{
    lanes sums = {0};
    int64_t done = 0;
#if defined(__x86_64__)
    if (certify_measure_vector)
        done = measure_avx2(unit, row, out, &sums);
#endif
    measure_portable(unit, row, out, done, &sums);
    return (certify_summary){sum_of(sums.squares_u), sum_of(sums.squares_ulp),
                             max_of(sums.error_u),   max_of(sums.ulp),
                             sum_of(sums.correct),   sum_of(sums.misrounded),
                             sum_of(sums.undecided), sum_of(sums.above)};
}

bool certify_measure_vector;

void certify_measure_choose(void)
{
    const uint32_t wanted = ROPE_CPU_AVX2 | ROPE_CPU_FMA;
    certify_measure_vector = (rope_cpu_features() & wanted) == wanted;
}
