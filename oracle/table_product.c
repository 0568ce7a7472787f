/* The product whose error table.c derives; the operations and their order are those. */
#include "oracle/table_product.h"

#include "oracle/dd.h"

/* p + e of a b, the low parts' product dropped. */
DD_INLINE oracle_dd product(oracle_dd a, double b_hi, double b_lo)
{
    double p = a.hi * b_hi, e = __builtin_fma(a.hi, b_hi, -p);
    return (oracle_dd){p, __builtin_fma(a.lo, b_hi, __builtin_fma(a.hi, b_lo, e))};
}

DD_INLINE oracle_dd join(oracle_dd p, oracle_dd q)
{
    oracle_dd s = dd_two_sum(p.hi, q.hi);
    return dd_fast_two_sum(s.hi, s.lo + (p.lo + q.lo));
}

DD_INLINE void product_one(oracle_cos_sin_dd base, const double *const from[4], int64_t j,
                           double *const to[4])
{
    double ch = from[0][j], cl = from[1][j], sh = from[2][j], sl = from[3][j];
    oracle_dd minus_sin = {-base.sin.hi, -base.sin.lo};
    oracle_dd c = join(product(base.cos, ch, cl), product(minus_sin, sh, sl));
    oracle_dd s = join(product(base.sin, ch, cl), product(base.cos, sh, sl));
    to[0][j] = c.hi;
    to[1][j] = c.lo;
    to[2][j] = s.hi;
    to[3][j] = s.lo;
}

void table_product_portable(oracle_cos_sin_dd base, const double *const from[4], int64_t count,
                            double *const to[4])
{
    for (int64_t j = 0; j < count; j++)
        product_one(base, from, j, to);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2_FMA __attribute__((target("avx2,fma")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,fma")))

typedef struct wide {
    __m256d hi, lo;
} wide;

AVX2_INLINE wide wide_product(wide a, wide b)
{
    __m256d p = _mm256_mul_pd(a.hi, b.hi), e = _mm256_fmsub_pd(a.hi, b.hi, p);
    return (wide){p, _mm256_fmadd_pd(a.lo, b.hi, _mm256_fmadd_pd(a.hi, b.lo, e))};
}

AVX2_INLINE wide wide_join(wide p, wide q)
{
    __m256d s = _mm256_add_pd(p.hi, q.hi), t = _mm256_sub_pd(s, p.hi);
    __m256d rest = _mm256_add_pd(_mm256_sub_pd(p.hi, _mm256_sub_pd(s, t)), _mm256_sub_pd(q.hi, t));
    __m256d h = _mm256_add_pd(rest, _mm256_add_pd(p.lo, q.lo)), hi = _mm256_add_pd(s, h);
    return (wide){hi, _mm256_sub_pd(h, _mm256_sub_pd(hi, s))};
}

AVX2_FMA static void product_avx2(oracle_cos_sin_dd base, const double *const from[4],
                                  int64_t count, double *const to[4])
{
    wide cosine = {_mm256_set1_pd(base.cos.hi), _mm256_set1_pd(base.cos.lo)};
    wide sine = {_mm256_set1_pd(base.sin.hi), _mm256_set1_pd(base.sin.lo)};
    wide minus_sine = {_mm256_set1_pd(-base.sin.hi), _mm256_set1_pd(-base.sin.lo)};
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {
        wide c = {_mm256_loadu_pd(from[0] + j), _mm256_loadu_pd(from[1] + j)};
        wide s = {_mm256_loadu_pd(from[2] + j), _mm256_loadu_pd(from[3] + j)};
        wide out_c = wide_join(wide_product(cosine, c), wide_product(minus_sine, s));
        wide out_s = wide_join(wide_product(sine, c), wide_product(cosine, s));
        _mm256_storeu_pd(to[0] + j, out_c.hi);
        _mm256_storeu_pd(to[1] + j, out_c.lo);
        _mm256_storeu_pd(to[2] + j, out_s.hi);
        _mm256_storeu_pd(to[3] + j, out_s.lo);
    }
    for (; j < count; j++)
        product_one(base, from, j, to);
}
#endif

void table_product(oracle_cos_sin_dd base, const double *const from[4], int64_t count,
                   double *const to[4])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        product_avx2(base, from, count, to);
        return;
    }
#endif
    table_product_portable(base, from, count, to);
}
