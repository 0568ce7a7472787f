/* Triple-word arithmetic: an unevaluated sum w[0] + w[1] + w[2], each word at most an ulp of the
 * one before, about 159 bits. Inverse frequencies are wanted to 2^-98 after formulas that subtract
 * (Llama 3's and YaRN's ramps divide what is left by the factor), which two words do not bear.
 *
 * After Fabiano, Muller, Picot, "Algorithms for Triple-Word Arithmetic" (IEEE Transactions on
 * Computers 68(11), 2019): error-free sums and products, then VecSum and VecSumErrBranch. They
 * prove relative errors of some tens of u^3 (u = 2^-53) for sum and product. The products here keep
 * fewer cross terms; every operation below is taken as ROPE_TRIPLE_ERROR = 2^-145 = 2^14 u^3, which
 * is what the callers' bounds build on and what the tests hold against MPFR (2^-158 is seen).
 *
 * Range: specs bound their numbers so that every intermediate is 0 or within [2^-700, 2^700]; no
 * word that matters then underflows. */
#ifndef ROPE_TRIPLE_H
#define ROPE_TRIPLE_H

#include <stdbool.h>
#include <stdint.h>

#define ROPE_TRIPLE_ERROR 0x1p-145

typedef struct rope_triple {
    double w[3];
} rope_triple;

rope_triple rope_triple_of(double x);
rope_triple rope_triple_negative(rope_triple x);
rope_triple rope_triple_add(rope_triple x, rope_triple y);
rope_triple rope_triple_subtract(rope_triple x, rope_triple y);
rope_triple rope_triple_multiply(rope_triple x, rope_triple y);
rope_triple rope_triple_divide(rope_triple x, rope_triple y); /* y != 0 */
rope_triple rope_triple_scale(rope_triple x, int n);          /* x 2^n, exact */
rope_triple rope_triple_square_root(rope_triple x);           /* x > 0 */
int rope_triple_sign(rope_triple x);                          /* -1, 0, 1 */

/* The nearest f64, and the nearest f32 (one rounding of the exact sum, ties to even). */
double rope_triple_f64(rope_triple x);
float rope_triple_f32(rope_triple x);

/* log2 of a positive number, kept in parts, so that the whole part costs no accuracy. */
typedef struct rope_triple_log2 {
    int64_t whole;
    rope_triple fraction; /* within [-1/2, 1/2]; error 2^-141, absolute */
} rope_triple_log2;
rope_triple_log2 rope_triple_log2_of(rope_triple x);
rope_triple rope_triple_log2_sum(rope_triple_log2 x); /* whole + fraction */

/* x^(numerator / denominator) from log2 x; relative error 2^-140. |numerator| <= denominator
 * <= 2^45 and |log2 x| <= 512. */
rope_triple rope_triple_power(rope_triple_log2 x, int64_t numerator, int64_t denominator);

/* ln 2 and 2 pi to 2^-160. */
extern const rope_triple rope_triple_ln2, rope_triple_two_pi;

#endif
