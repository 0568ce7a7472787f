#include "props/stages_model.h"

#include <math.h>
#include <stdlib.h>

#include "impl/registry.h"
#include "oracle/measure.h"

struct stage_model {
    rope_pipeline pipeline;
    uint32_t dtype;
    int64_t pairs;
    double u;
    oracle_dd attention_factor;
    double *hi, *lo;   /* [pairs] exact frequency */
    double *frequency; /* [pairs] in its format (f32, f64), or hi */
    double *excess;    /* [pairs] the format's frequency - the exact one */
    float ratio;       /* recurrence: of two frequencies */
    float *divisor;    /* recurrence: [pairs] unscaled over scaled frequency */
};

/* theta / (2 pi) rounded to 2^-64: what the 64-bit phase has too much, in radians a position. */
static double fixed_excess(const oracle *o, int64_t pair)
{
    mpfr_t t, n, two_pi;
    mpfr_inits2(320, t, n, two_pi, (mpfr_ptr)0);
    oracle_inverse_frequency(o, pair, t);
    mpfr_const_pi(two_pi, MPFR_RNDN);
    mpfr_mul_2si(two_pi, two_pi, 1, MPFR_RNDN);
    mpfr_div(t, t, two_pi, MPFR_RNDN);
    mpfr_mul_2si(t, t, 64, MPFR_RNDN);
    mpfr_rint(n, t, MPFR_RNDN);
    mpfr_sub(t, n, t, MPFR_RNDN);
    mpfr_mul_2si(t, t, -64, MPFR_RNDN);
    mpfr_mul(t, t, two_pi, MPFR_RNDN);
    double excess = mpfr_get_d(t, MPFR_RNDN);
    mpfr_clears(t, n, two_pi, (mpfr_ptr)0);
    return excess;
}

static void set_frequency(stage_model *m, const certify_subject *s, const oracle *o, int64_t i)
{
    double hi = m->hi[i], lo = m->lo[i];
    m->frequency[i] = hi;
    m->excess[i] = 0;
    switch (m->pipeline.frequency) {
    case ROPE_FORMAT_F32:
        m->frequency[i] = (float)hi;
        m->excess[i] = (m->frequency[i] - hi) - lo;
        break;
    case ROPE_FORMAT_F64:
        m->excess[i] = -lo;
        break;
    case ROPE_FORMAT_FIXED64:
        m->excess[i] = fixed_excess(o, i);
        break;
    case ROPE_FORMAT_F32_RECURRENCE: {
        const rope_spec *spec = s->spec;
        double plain = pow(spec->base, -2.0 * (double)i / (double)spec->rotary_dim);
        bool scaled = fabs(hi / plain - 1) > 0x1p-40;
        m->divisor[i] = scaled ? (float)(plain / hi) : 1;
        m->frequency[i] = pow((double)m->ratio, (double)i) / (double)m->divisor[i];
        m->excess[i] = m->frequency[i] - hi;
        break;
    }
    default:
        break;
    }
}

stage_model *stage_model_new(const certify_subject *s, const oracle *o,
                             const rope_frequencies *frequencies, rope_error *error)
{
    const rope_pipeline *p = &s->kernel->pipeline;
    if (p->frequency == 0 || p->angle == 0 || p->table == 0 || p->arithmetic == 0) {
        rope_fail(error, "kernel %s declares no pipeline", s->kernel->name);
        return NULL;
    }
    stage_model *m = calloc(1, sizeof *m);
    size_t pairs = (size_t)frequencies->pairs;
    if (m != NULL) {
        m->hi = malloc(4 * pairs * sizeof(double));
        m->divisor = malloc(pairs * sizeof(float));
    }
    if (m == NULL || m->hi == NULL || m->divisor == NULL) {
        stage_model_free(m);
        rope_fail(error, "out of memory");
        return NULL;
    }
    m->lo = m->hi + pairs;
    m->frequency = m->lo + pairs;
    m->excess = m->frequency + pairs;
    m->pipeline = *p;
    m->dtype = s->dtype;
    m->pairs = frequencies->pairs;
    m->u = rope_dtype_unit_roundoff(s->dtype);
    m->attention_factor = oracle_attention_factor_dd(o);
    m->ratio = powf((float)s->spec->base, -2.0f / (float)s->spec->rotary_dim);
    for (int64_t i = 0; i < m->pairs; i++) {
        m->hi[i] = frequencies->hi[i];
        m->lo[i] = frequencies->lo[i];
        set_frequency(m, s, o, i);
    }
    return m;
}

void stage_model_free(stage_model *m)
{
    if (m == NULL)
        return;
    free(m->hi);
    free(m->divisor);
    free(m);
}

/* f32: the product of f32 position and frequency, exact in f64 (48 bits), rounded once. The
 * recurrence goes from pair to pair, each product rounded, as ggml does. f64: the product's own
 * rounding. The 64-bit phase multiplies exactly. */
void stage_model_angles(const stage_model *m, int64_t position, double *by_frequency,
                        double *by_angle)
{
    double p = (double)position;
    float running = (float)position;
    for (int64_t i = 0; i < m->pairs; i++) {
        double f = m->frequency[i];
        by_frequency[i] = p * m->excess[i];
        by_angle[i] = 0;
        if (m->pipeline.frequency == ROPE_FORMAT_F32_RECURRENCE) {
            by_angle[i] = (double)(running / m->divisor[i]) - p * f;
            running *= m->ratio;
        } else if (m->pipeline.angle == ROPE_FORMAT_F32) {
            float angle = (float)position * (float)f;
            by_angle[i] = -fma(p, f, -(double)angle);
        } else if (m->pipeline.angle == ROPE_FORMAT_F64)
            by_angle[i] = -fma(p, f, -(p * f));
    }
}

static uint32_t dtype_of(uint32_t format)
{
    return format == ROPE_FORMAT_F32    ? ROPE_F32
           : format == ROPE_FORMAT_F16  ? ROPE_F16
           : format == ROPE_FORMAT_BF16 ? ROPE_BF16
                                        : ROPE_F64;
}

static oracle_dd sum(double hi, double lo)
{
    double s = hi + lo;
    return (oracle_dd){s, lo - (s - hi)};
}

static oracle_dd times(oracle_dd a, oracle_dd b)
{
    double hi = a.hi * b.hi, e = fma(a.hi, b.hi, -hi);
    return sum(hi, e + fma(a.hi, b.lo, a.lo * b.hi));
}

/* A cos and A sin of an angle that is off by `turn`, rounded to the table's format where that is
 * in force. */
static oracle_cos_sin_dd entries(const stage_model *m, uint32_t inexact, oracle_cos_sin_dd r,
                                 double turn)
{
    double half = sin(turn / 2), sine = sin(turn), less = -2 * half * half; /* cos(turn) - 1 */
    oracle_cos_sin_dd e;
    e.cos = sum(r.cos.hi, r.cos.lo + (r.cos.hi * less - r.sin.hi * sine));
    e.sin = sum(r.sin.hi, r.sin.lo + (r.sin.hi * less + r.cos.hi * sine));
    e.cos = times(e.cos, m->attention_factor);
    e.sin = times(e.sin, m->attention_factor);
    if (inexact & 1u << STAGE_TABLE) {
        uint32_t format = dtype_of(m->pipeline.table);
        e.cos = (oracle_dd){oracle_round_dd(format, e.cos), 0};
        e.sin = (oracle_dd){oracle_round_dd(format, e.sin), 0};
    }
    return e;
}

/* x0 c - x1 s as the declared arithmetic has it; the other component is the same with -s. */
static double arithmetic(uint32_t kind, double c, double s, double x0, double x1)
{
    float cf = (float)c, sf = (float)s, u = (float)x0, v = (float)x1;
    switch (kind) {
    case ROPE_ARITHMETIC_F32: {
        float p = u * cf, q = v * sf;
        return (double)(p - q);
    }
    case ROPE_ARITHMETIC_F32_FMA:
        return (double)fmaf(u, cf, -(v * sf));
    case ROPE_ARITHMETIC_F64:
        return x0 * c - x1 * s;
    default:
        return fma(x0, c, -(x1 * s));
    }
}

double stage_model_error(const stage_model *m, uint32_t inexact, oracle_cos_sin_dd r, double turn,
                         double x0, double x1)
{
    oracle_dd exact0, exact1, y0, y1;
    oracle_cos_sin_dd e = entries(m, inexact, r, turn);
    oracle_rotate(r, m->attention_factor, x0, x1, &exact0, &exact1);
    if (inexact & 1u << STAGE_ARITHMETIC) {
        uint32_t kind = m->pipeline.arithmetic;
        y0 = (oracle_dd){arithmetic(kind, e.cos.hi, e.sin.hi, x0, x1), 0};
        y1 = (oracle_dd){arithmetic(kind, e.cos.hi, -e.sin.hi, x1, x0), 0};
    } else
        oracle_rotate(e, (oracle_dd){1, 0}, x0, x1, &y0, &y1);
    if (inexact & 1u << STAGE_STORAGE) {
        y0 = (oracle_dd){oracle_round_dd(m->dtype, y0), 0};
        y1 = (oracle_dd){oracle_round_dd(m->dtype, y1), 0};
    }
    double d0 = (y0.hi - exact0.hi) + (y0.lo - exact0.lo);
    double d1 = (y1.hi - exact1.hi) + (y1.lo - exact1.lo);
    return hypot(d0, d1) / (m->attention_factor.hi * hypot(x0, x1) * m->u);
}
