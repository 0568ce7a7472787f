#include "props/dump_corpus.h"

#include <math.h>
#include <stdlib.h>

#include "impl/registry.h"
#include "oracle/measure.h"

const char *prop_blunder_name(prop_blunder blunder)
{
    static const char *const names[PROP_BLUNDERS] = {
        [PROP_BLUNDER_NONE] = "none",
        [PROP_BLUNDER_PAIRING] = "F1 pairing-swapped",
        [PROP_BLUNDER_FREQUENCY_BF16] = "F4 low-precision-frequency",
        [PROP_BLUNDER_FREQUENCY_F16] = "F4 low-precision-frequency",
        [PROP_BLUNDER_POSITION_BF16] = "F5 low-precision-position",
        [PROP_BLUNDER_POSITION_F16] = "F5 low-precision-position",
        [PROP_BLUNDER_ANGLE_BF16] = "F6 low-precision-table",
        [PROP_BLUNDER_TABLE_BF16] = "F6 low-precision-table",
        [PROP_BLUNDER_ANGLE_RECURRENCE] = "F8 frequency-recurrence",
        [PROP_BLUNDER_FREQUENCY_RECURRENCE] = "F8 frequency-recurrence",
        [PROP_BLUNDER_NO_MAGNITUDE] = "F10 yarn-magnitude",
        [PROP_BLUNDER_SQUARED_MAGNITUDE] = "F10 yarn-magnitude",
        [PROP_BLUNDER_EXPONENT_BY_HEAD] = "F17 partial-exponent",
        [PROP_BLUNDER_PARTNER] = "F17 partial-exponent",
        [PROP_BLUNDER_NO_SCALING] = "F18 llama3-factors",
        [PROP_BLUNDER_INVERTED_SCALING] = "F19 linear-inverted",
        [PROP_BLUNDER_DEFAULT_BASE] = "F20 wrong-base",
        [PROP_BLUNDER_INVERSE] = "F22 inverse-rotation",
        [PROP_BLUNDER_ALIASING] = "F23 in-place-aliasing",
        [PROP_BLUNDER_HEAD_POSITION] = "F24 wrong-axis",
        [PROP_BLUNDER_ONE_MORE] = "F26 position-off-by-one",
        [PROP_BLUNDER_ONE_LESS] = "F26 position-off-by-one",
        [PROP_BLUNDER_PRODUCTS_ROUNDED] = "F34 rounding-boundary",
        [PROP_BLUNDER_ACCUMULATION] = "angle-accumulation",
        [PROP_BLUNDER_ROTOR] = "rotor-recurrence",
        [PROP_BLUNDER_STALE_ROW] = "stale",
        [PROP_BLUNDER_STALE_POSITION] = "stale",
        [PROP_BLUNDER_TAIL] = "untouched-tail",
        [PROP_BLUNDER_TWICE] = "applied-twice",
        [PROP_BLUNDER_SWAPPED] = "axes-swapped",
        [PROP_BLUNDER_TRUNCATED] = "truncated-rounding",
        [PROP_BLUNDER_CORRUPTED] = "corrupted-element",
        [PROP_BLUNDER_SLIGHTLY_CORRUPTED] = "corrupted-element",
        [PROP_BLUNDER_UNRELATED_ROW] = "stale",
        [PROP_BLUNDER_NORM_DRIFT] = "rotor-recurrence",
        [PROP_BLUNDER_NAN] = "unexpected-nan",
    };
    return names[blunder];
}

static bool narrow(uint32_t dtype)
{
    return dtype == ROPE_F16 || dtype == ROPE_BF16;
}

bool prop_case_possible(const prop_case *c)
{
    const rope_spec *s = c->spec;
    bool wide = !narrow(c->dtype);
    if ((c->way == PROP_WAY_TABLE || c->way == PROP_WAY_STEPS) && wide)
        return false;
    switch (c->blunder) {
    case PROP_BLUNDER_PAIRING:
        return s->rotary_dim > 2;
    case PROP_BLUNDER_TABLE_BF16:
    case PROP_BLUNDER_ACCUMULATION:
    case PROP_BLUNDER_ROTOR:
        return c->dtype == ROPE_F32 && c->way == PROP_WAY_F32;
    case PROP_BLUNDER_ANGLE_RECURRENCE:
    case PROP_BLUNDER_FREQUENCY_RECURRENCE:
        return wide && c->way == PROP_WAY_F32 && s->scaling == ROPE_SCALING_NONE &&
               s->rotary_dim >= 64; /* over fewer pairs the drift may stay below a libm's */
    case PROP_BLUNDER_NO_MAGNITUDE:
    case PROP_BLUNDER_SQUARED_MAGNITUDE:
        return s->scaling == ROPE_SCALING_YARN;
    case PROP_BLUNDER_EXPONENT_BY_HEAD:
        return s->rotary_dim < s->head_dim && s->scaling == ROPE_SCALING_NONE;
    case PROP_BLUNDER_PARTNER:
        return s->rotary_dim < s->head_dim && s->pairing == ROPE_HALF && s->rotary_offset == 0;
    case PROP_BLUNDER_NO_SCALING:
        return s->scaling == ROPE_SCALING_LLAMA3;
    case PROP_BLUNDER_INVERTED_SCALING:
        return s->scaling == ROPE_SCALING_LINEAR;
    case PROP_BLUNDER_DEFAULT_BASE:
        return s->scaling == ROPE_SCALING_NONE && s->base != 10000;
    case PROP_BLUNDER_PRODUCTS_ROUNDED:
    case PROP_BLUNDER_TRUNCATED:
        return !wide && (c->way == PROP_WAY_EXACT || c->way == PROP_WAY_F64_ANGLE);
    case PROP_BLUNDER_ALIASING:
    case PROP_BLUNDER_SLIGHTLY_CORRUPTED:
        return wide;
    case PROP_BLUNDER_NORM_DRIFT:
        return wide && s->scaling != ROPE_SCALING_YARN;
    default:
        return true;
    }
}

/* ---- numbers ---- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

static double store(uint32_t dtype, double v)
{
    double cell = 0;
    oracle_store(dtype, &cell, 0, v);
    return oracle_load(dtype, &cell, 0);
}

/* The number of the dtype next to v towards zero, or v itself. */
static double cut(uint32_t dtype, double v)
{
    int bits = dtype == ROPE_BF16 ? 8 : 11, exponent;
    frexp(v, &exponent);
    int unit = exponent - bits; /* of the last place; subnormals share the lowest one */
    if (dtype == ROPE_F16 && unit < -24)
        unit = -24;
    return ldexp(trunc(ldexp(v, -unit)), unit);
}

typedef struct {
    const prop_case *c;
    oracle *oracle;
    int64_t pairs;
    double factor; /* attention factor */
    mpfr_t frequency, angle, cos, sin;
} making;

/* The frequency of a pair after the blunders that concern it. */
static void take_frequency(making *m, int64_t pair)
{
    const rope_spec *s = m->c->spec;
    double d = (double)s->rotary_dim, i = (double)pair;
    switch (m->c->blunder) {
    case PROP_BLUNDER_EXPONENT_BY_HEAD:
        mpfr_set_d(m->frequency, pow(s->base, -2 * i / (double)s->head_dim), MPFR_RNDN);
        return;
    case PROP_BLUNDER_NO_SCALING:
        mpfr_set_d(m->frequency, pow(s->base, -2 * i / d), MPFR_RNDN);
        return;
    case PROP_BLUNDER_DEFAULT_BASE:
        mpfr_set_d(m->frequency, pow(10000, -2 * i / d), MPFR_RNDN);
        return;
    default:
        break;
    }
    oracle_inverse_frequency(m->oracle, pair, m->frequency);
    if (m->c->blunder == PROP_BLUNDER_INVERTED_SCALING)
        mpfr_mul_d(m->frequency, m->frequency, s->factor * s->factor, MPFR_RNDN);
    if (m->c->blunder == PROP_BLUNDER_FREQUENCY_BF16 ||
        m->c->blunder == PROP_BLUNDER_FREQUENCY_F16) {
        uint32_t t = m->c->blunder == PROP_BLUNDER_FREQUENCY_BF16 ? ROPE_BF16 : ROPE_F16;
        mpfr_set_d(m->frequency, store(t, mpfr_get_flt(m->frequency, MPFR_RNDN)), MPFR_RNDN);
    }
}

static int64_t used_position(const making *m, int64_t token, int64_t head)
{
    const prop_case *c = m->c;
    int64_t p = c->position[token];
    switch (c->blunder) {
    case PROP_BLUNDER_POSITION_BF16:
        return (int64_t)store(ROPE_BF16, (double)p);
    case PROP_BLUNDER_POSITION_F16:
        return (int64_t)store(ROPE_F16, (double)p);
    case PROP_BLUNDER_INVERSE:
        return -p;
    case PROP_BLUNDER_HEAD_POSITION:
        return head;
    case PROP_BLUNDER_ONE_MORE:
        return p + 1;
    case PROP_BLUNDER_ONE_LESS:
        return p - 1;
    case PROP_BLUNDER_STALE_POSITION:
        return 2 * token >= c->tokens ? c->position[token - c->tokens / 2] : p;
    case PROP_BLUNDER_TWICE:
        return 2 * p;
    case PROP_BLUNDER_SWAPPED:
        return c->position[(token * c->heads + head) % c->tokens];
    default:
        return p;
    }
}

/* The angle of a pair at a position, f32 where the way is, as f64; NaN: the exact product is wanted
 * in full. */
static double f32_angle(making *m, int64_t pair, int64_t position)
{
    const rope_spec *s = m->c->spec;
    float p = (float)position, f = mpfr_get_flt(m->frequency, MPFR_RNDN), sum = 0;
    float ratio = powf((float)s->base, -2.0f / (float)s->rotary_dim);
    switch (m->c->blunder) {
    case PROP_BLUNDER_ANGLE_RECURRENCE:
        for (int64_t i = 0; i < pair; i++)
            p *= ratio;
        return (double)p;
    case PROP_BLUNDER_FREQUENCY_RECURRENCE:
        for (f = 1; pair > 0; pair--)
            f *= ratio;
        return (double)(p * f);
    case PROP_BLUNDER_ACCUMULATION:
        for (int64_t i = 0; i < position; i++)
            sum += f;
        return (double)sum;
    case PROP_BLUNDER_ANGLE_BF16:
        return store(ROPE_BF16, (double)(p * f));
    default:
        break;
    }
    if (m->c->way == PROP_WAY_TIMESCALE)
        return (double)(p / mpfr_get_flt(m->angle, MPFR_RNDN));
    return (double)(p * f);
}

/* cos and sin with the attention factor, as the way and the blunders have them. */
static void take_turn(making *m, int64_t pair, int64_t position, double turn[2])
{
    const prop_case *c = m->c;
    bool exact = c->way == PROP_WAY_EXACT || c->way == PROP_WAY_F64_ANGLE;
    take_frequency(m, pair);
    if (c->blunder == PROP_BLUNDER_ROTOR) {
        float f = mpfr_get_flt(m->frequency, MPFR_RNDN);
        float c1 = (float)cos((double)f), s1 = (float)sin((double)f), x = 1, y = 0;
        for (int64_t i = 0; i < position; i++) {
            float next = x * c1 - y * s1;
            y = x * s1 + y * c1;
            x = next;
        }
        turn[0] = (double)(x * (float)m->factor);
        turn[1] = (double)(y * (float)m->factor);
        return;
    }
    if (c->way == PROP_WAY_F64) {
        double product = (double)position * mpfr_get_d(m->frequency, MPFR_RNDN);
        mpfr_set_d(m->angle, product, MPFR_RNDN);
    } else if (exact && c->blunder != PROP_BLUNDER_ANGLE_BF16) {
        mpfr_mul_si(m->angle, m->frequency, position, MPFR_RNDN);
    } else {
        mpfr_ui_div(m->angle, 1, m->frequency, MPFR_RNDN);
        mpfr_set_d(m->angle, f32_angle(m, pair, position), MPFR_RNDN);
    }
    mpfr_sin_cos(m->sin, m->cos, m->angle, MPFR_RNDN);
    double a = m->factor;
    turn[0] = mpfr_get_d(m->cos, MPFR_RNDN);
    turn[1] = mpfr_get_d(m->sin, MPFR_RNDN);
    for (int k = 0; k < 2; k++) {
        if (c->way == PROP_WAY_EXACT || c->way == PROP_WAY_F64) {
            turn[k] *= a;
            continue;
        }
        float value = (float)turn[k];
        if (a != 1)
            value *= (float)a;
        turn[k] = (double)value;
        if (c->way == PROP_WAY_TABLE || c->way == PROP_WAY_STEPS)
            turn[k] = store(c->dtype, turn[k]);
        if (c->blunder == PROP_BLUNDER_TABLE_BF16)
            turn[k] = store(ROPE_BF16, turn[k]);
    }
}

/* ---- rotation ---- */

static void rotate(const making *m, int64_t pair, const double turn[2], const double x[2],
                   double y[2])
{
    const prop_case *c = m->c;
    uint32_t t = c->dtype;
    double cs = turn[0], sn = turn[1];
    if (c->blunder == PROP_BLUNDER_NORM_DRIFT) { /* alike for all tokens, another for each pair */
        cs *= 1 + 1e-5 * (double)(pair + 1);
        sn *= 1 + 1e-5 * (double)(pair + 1);
    }
    double a = x[0] * cs, b = x[1] * sn, e = x[1] * cs, f = x[0] * sn;
    if (c->blunder == PROP_BLUNDER_ALIASING) {
        y[0] = store(t, (double)((float)a - (float)b));
        y[1] = store(t, (double)((float)e + (float)(y[0] * sn)));
    } else if (c->blunder == PROP_BLUNDER_TRUNCATED) {
        y[0] = cut(t, a - b);
        y[1] = cut(t, e + f);
    } else if (c->way == PROP_WAY_STEPS || c->blunder == PROP_BLUNDER_PRODUCTS_ROUNDED) {
        y[0] = store(t, store(t, a) - store(t, b));
        y[1] = store(t, store(t, e) + store(t, f));
    } else if (c->way == PROP_WAY_EXACT || c->way == PROP_WAY_F64) {
        y[0] = store(t, a - b); /* f64 products and sum: 2^-29 u of f32 off */
        y[1] = store(t, e + f);
    } else {
        float p = (float)a, q = (float)b, r = (float)e, s = (float)f;
        y[0] = store(t, (double)(p - q));
        y[1] = store(t, (double)(r + s));
    }
}

static void fill_row(making *m, int64_t token, int64_t head, const double *x, double *y)
{
    const prop_case *c = m->c;
    const rope_spec *s = c->spec;
    for (int64_t i = 0; i < s->head_dim; i++)
        y[i] = x[i];
    bool half = (s->pairing == ROPE_HALF) != (c->blunder == PROP_BLUNDER_PAIRING);
    int64_t distance = half ? m->pairs : 1;
    if (c->blunder == PROP_BLUNDER_PARTNER)
        distance = s->head_dim / 2;
    int64_t pairs = m->pairs;
    if (c->blunder == PROP_BLUNDER_TAIL)
        pairs -= pairs > 4 ? 4 : 1;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t first = s->rotary_offset + (half ? i : 2 * i);
        double turn[2], from[2] = {x[first], x[first + distance]}, to[2];
        take_turn(m, i, used_position(m, token, head), turn);
        rotate(m, i, turn, from, to);
        y[first] = to[0];
        y[first + distance] = to[1];
    }
}

static void spoil(const prop_case *c, double *y)
{
    int64_t d = c->spec->head_dim, row = c->heads * d, last = c->tokens - 1;
    int64_t element = (c->tokens / 2 * c->heads + c->heads - 1) * d + c->spec->rotary_offset + 1;
    if (c->blunder == PROP_BLUNDER_NAN)
        y[element] = NAN;
    if (c->blunder == PROP_BLUNDER_CORRUPTED)
        y[element] = -2 * y[element] + 1;
    if (c->blunder == PROP_BLUNDER_SLIGHTLY_CORRUPTED)
        y[element] = store(c->dtype, y[element] * (1 + 0x1p-12) + 0x1p-12);
    if (c->blunder == PROP_BLUNDER_UNRELATED_ROW)
        for (int64_t i = 0; i < d; i++)
            y[row + i] = store(c->dtype, sin((double)(i + 1)));
    if (c->blunder == PROP_BLUNDER_STALE_ROW)
        for (int64_t i = 0; i < row; i++)
            y[last * row + i] = y[(last - 1) * row + i];
}

bool prop_case_make(const prop_case *c, double *x, double *y, rope_error *error)
{
    making m = {.c = c, .oracle = oracle_new(c->spec, ROPE_TRUTH_EXACT, error)};
    if (m.oracle == NULL)
        return false;
    m.pairs = oracle_pairs(m.oracle);
    m.factor = oracle_attention_factor_dd(m.oracle).hi;
    if (c->blunder == PROP_BLUNDER_NO_MAGNITUDE)
        m.factor = 1;
    if (c->blunder == PROP_BLUNDER_SQUARED_MAGNITUDE || c->blunder == PROP_BLUNDER_TWICE)
        m.factor *= m.factor;
    mpfr_inits2(160, m.frequency, m.angle, m.cos, m.sin, NULL);
    uint64_t state = c->seed;
    int64_t d = c->spec->head_dim;
    for (int64_t row = 0; row < c->tokens * c->heads; row++) {
        for (int64_t i = 0; i < d; i++) /* about normal: the sum of four uniform numbers */
            x[row * d + i] = store(c->dtype, ((double)draw(&state) + (double)draw(&state) -
                                              (double)draw(&state) - (double)draw(&state)) *
                                                 0x1.8p-53);
        fill_row(&m, row / c->heads, row % c->heads, x + row * d, y + row * d);
    }
    spoil(c, y);
    mpfr_clears(m.frequency, m.angle, m.cos, m.sin, NULL);
    oracle_free(m.oracle);
    return true;
}
