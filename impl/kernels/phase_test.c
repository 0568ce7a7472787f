/* phase's table term, by exhaustion over the remainders of its 32-bit phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "impl/kernels/phase.c"
#include "impl/kernels/testing.h"

#if defined(__x86_64__)

typedef struct largest {
    double vector, single; /* u */
} largest;

AVX2 static void eight(const void *phases, float *c, float *s)
{
    cos_sin_8 w = of_turns(_mm256_loadu_si256((const __m256i *)phases));
    _mm256_storeu_ps(c, w.c);
    _mm256_storeu_ps(s, w.s);
}

/* The errors of of_turns for every step-th phase of a turn. Phase and its negative, and the phases
 * a quarter apart, give the same bits but for sign and order (checked below), so an eighth of a
 * turn is all of it. The f64 cos and sin that it is compared with are within 2^-53. */
static largest sweep(int64_t step)
{
    largest worst = {0, 0};
    for (int64_t first = 0; first <= 1 << 29; first += 8 * step) {
        int32_t turns[8];
        float c[8], s[8];
        for (int64_t k = 0; k < 8; k++)
            turns[k] = (int32_t)(first + k * step);
        eight(turns, c, s);
        for (int k = 0; k < 8; k++) {
            double angle = turns[k] * 0x1p-31 * M_PI; /* off by 2^-53 relative */
            double dc = fabs(c[k] - cos(angle)) * 0x1p24, ds = fabs(s[k] - sin(angle)) * 0x1p24;
            worst.vector = fmax(worst.vector, hypot(dc, ds));
            worst.single = fmax(worst.single, fmax(dc, ds));
        }
    }
    return worst;
}

/* The full sweep (step 1) takes half a minute: TIGHTROPE_EXHAUSTIVE=1. */
static void polynomials_keep_their_bound(void **state)
{
    (void)state;
    bool all = getenv("TIGHTROPE_EXHAUSTIVE") != NULL;
    largest worst = sweep(all ? 1 : 61);
    print_message("# cos and sin as a vector %.5f u, singly %.5f u\n", worst.vector, worst.single);
    assert_true(worst.vector <= POLYNOMIAL && worst.vector > POLYNOMIAL - (all ? 0.0001 : 0.06));
    assert_true(worst.single <= 1.1628);
}

static void quarters_are_symmetric(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int n = 0; n < 100000; n++) {
        uint32_t at = (uint32_t)next_random(&seed), phases[8];
        float c[8], s[8];
        for (uint32_t k = 0; k < 8; k++)
            phases[k] = (k < 4 ? at : 0u - at) + (k << 30);
        eight(phases, c, s);
        if ((at & ((1u << 30) - 1)) == 1u << 29)
            continue; /* an odd eighth: either neighbour's quarter is right */
        for (int k = 0; k < 4; k++) {
            assert_true(c[(k + 1) % 4] == -s[k] && s[(k + 1) % 4] == c[k]);
            assert_true(c[4 + k] == c[(4 - k) % 4] && s[4 + k] == -s[(4 - k) % 4]);
        }
    }
}

AVX2 static void near_eight(const uint32_t *high, const uint32_t *low, uint32_t position,
                            uint32_t *turns)
{
    float part[8];
    for (int k = 0; k < 8; k++)
        part[k] = (float)low[k] * 0x1p-32f;
    __m256i at = _mm256_set1_epi32((int)position);
    __m256i made = multiply_near(load_8(high), _mm256_loadu_ps(part), at, _mm256_cvtepi32_ps(at));
    _mm256_storeu_si256((__m256i *)(void *)turns, made);
}

/* Near positions round the carry: within 3/4 of 2^-32 turns of the product, whose upper half the
 * others take. */
static void near_phases_keep_their_bound(void **state)
{
    (void)state;
    uint64_t seed = 5;
    double worst = 0;
    for (int n = 0; n < 200000; n++) {
        uint32_t position = (uint32_t)next_random(&seed) & ((1u << 22) - 1);
        if (n < 1000)
            position = (1u << 22) - 1 - (uint32_t)n;
        uint32_t high[8], low[8], turns[8];
        for (int k = 0; k < 8; k++) {
            uint64_t turn = next_random(&seed);
            high[k] = (uint32_t)(turn >> 32);
            low[k] = k == 0 ? UINT32_MAX - (uint32_t)n : (uint32_t)turn;
        }
        near_eight(high, low, position, turns);
        for (int k = 0; k < 8; k++) {
            uint64_t exact = (((uint64_t)high[k] << 32) + low[k]) * position;
            worst = fmax(worst, fabs((double)(int64_t)(((uint64_t)turns[k] << 32) - exact)));
        }
    }
    print_message("# near phases within %.3f of 2^-32 turns\n", worst * 0x1p-32);
    assert_true(worst <= 0x1.8p31 && worst > 0x1.6p31);
}

/* The fraction of a turn against MPFR: within 2^-65 turns and what the frequency is off. */
static void fractions_are_rounded(void **state)
{
    (void)state;
    problem p;
    problem_init(&p, (shape){256, 256, 0}, ROPE_HALF, ROPE_F32, 10000, 1, 0, 0);
    mpfr_t f, pi;
    mpfr_inits2(300, f, pi, (mpfr_ptr)0);
    mpfr_const_pi(pi, MPFR_RNDN);
    for (int64_t i = 0; i < p.args.pairs; i++) {
        double hi, lo;
        quarter_turns(p.hi[i], p.lo[i], &hi, &lo);
        mpfr_set_d(f, p.hi[i], MPFR_RNDN);
        mpfr_add_d(f, f, p.lo[i], MPFR_RNDN);
        mpfr_div(f, f, pi, MPFR_RNDN);
        mpfr_mul_2ui(f, f, 63, MPFR_RNDN);
        assert_int_equal(turn_fraction(hi, lo), mpfr_get_uj(f, MPFR_RNDN));
    }
    mpfr_clears(f, pi, (mpfr_ptr)0);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_keep_their_bound),
        cmocka_unit_test(quarters_are_symmetric),
        cmocka_unit_test(near_phases_keep_their_bound),
        cmocka_unit_test(fractions_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0;
}
#endif
