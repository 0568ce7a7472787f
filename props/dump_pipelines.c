#include "props/dump_pipelines.h"

#include <math.h>
#include <string.h>

#include "oracle/measure.h"

double prop_pipeline_store(uint32_t dtype, double v)
{
    double place = 0;
    oracle_store(dtype, &place, 0, v);
    return oracle_load(dtype, &place, 0);
}

/* llama3 and yarn as the library writes them, in f32. */
static float scaled(const rope_spec *s, float f, int64_t pair)
{
    float factor = (float)s->factor;
    if (s->scaling == ROPE_SCALING_LINEAR)
        return f / factor;
    if (s->scaling == ROPE_SCALING_LLAMA3) {
        float wavelength = 6.28318530717958647692f / f, original = (float)s->original;
        if (wavelength < original / (float)s->high)
            return f;
        if (wavelength > original / (float)s->low)
            return f / factor;
        float smooth = (original / wavelength - (float)s->low) / ((float)s->high - (float)s->low);
        return (1 - smooth) * f / factor + smooth * f;
    }
    if (s->scaling == ROPE_SCALING_YARN) {
        double d = (double)s->rotary_dim, two_log = 2 * log(s->base);
        double low = floor(d * log(s->original / (32 * 2 * M_PI)) / two_log);
        double high = ceil(d * log(s->original / (1 * 2 * M_PI)) / two_log);
        low = fmax(low, 0);
        high = fmin(high, d - 1);
        float ramp = ((float)pair - (float)low) / (float)(high - low);
        float keep = 1 - fminf(fmaxf(ramp, 0), 1);
        return f / factor * (1 - keep) + f * keep;
    }
    return f;
}

/* The base of dynamic NTK at a length. */
double prop_pipeline_stretched(const rope_spec *s, double length)
{
    double d = (double)s->rotary_dim;
    double stretch = s->factor * length / s->original - (s->factor - 1);
    return s->base * pow(stretch, d / (d - 2)); /* NaN where the stretch is negative */
}

static double frequency(const prop_pipeline *p, const rope_spec *s, int64_t pair)
{
    double base = s->base;
    if (s->scaling == ROPE_SCALING_DYNAMIC)
        base = prop_pipeline_stretched(s, fmax(s->length, s->original));
    float x = (float)(2 * pair) / (float)s->rotary_dim, b = (float)base, f;
    double exact = pow(base, -2.0 * (double)pair / (double)s->rotary_dim);
    switch (p->formula) {
    case PROP_NEGATIVE:
        f = powf(b, -x);
        break;
    case PROP_EXPONENTIAL:
        f = expf((float)(2 * pair) * (-logf(b) / (float)s->rotary_dim));
        break;
    case PROP_IN_F64:
        return s->scaling == ROPE_SCALING_LINEAR ? exact / s->factor : exact;
    case PROP_F64_THEN_F32:
        f = (float)exact;
        break;
    default:
        f = 1 / powf(b, x);
    }
    return (double)scaled(s, f, pair);
}

static void take_angle(const prop_pipeline *p, prop_cell *c)
{
    if (p->formula == PROP_TIMESCALE) {
        float x = (float)(2 * c->pair) / (float)c->spec->rotary_dim;
        c->angle = (double)((float)c->position / powf((float)c->spec->base, x));
    } else if (p->angle == PROP_F32_ANGLE) {
        c->angle = (double)((float)c->position * (float)c->theta);
    } else {
        c->angle = c->position * c->theta;
        if (p->angle == PROP_F64_ANGLE_CAST)
            c->angle = (double)(float)c->angle;
    }
}

static void take_table(const prop_pipeline *p, prop_cell *c)
{
    double a = c->spec->scaling == ROPE_SCALING_YARN ? 0.1 * log(c->spec->factor) + 1 : 1;
    if (c->dtype == ROPE_F64) {
        c->c = a * cos(c->angle);
        c->s = a * sin(c->angle);
        return;
    }
    bool narrow = p->trig == PROP_COSF && p->angle != PROP_F64_ANGLE;
    float cs = narrow ? cosf((float)c->angle) : (float)cos(c->angle);
    float sn = narrow ? sinf((float)c->angle) : (float)sin(c->angle);
    c->c = (double)(a == 1 ? cs : cs * (float)a);
    c->s = (double)(a == 1 ? sn : sn * (float)a);
    if (p->table_in_storage) {
        c->c = prop_pipeline_store(c->dtype, c->c);
        c->s = prop_pipeline_store(c->dtype, c->s);
    }
}

static void rotate(const prop_pipeline *p, prop_cell *c)
{
    double a = c->x[0] * c->c, b = c->x[1] * c->s, e = c->x[1] * c->c, f = c->x[0] * c->s;
    uint32_t t = c->dtype;
    float x0 = (float)c->x[0], x1 = (float)c->x[1], cs = (float)c->c, sn = (float)c->s;
    if (t == ROPE_F64 || p->sum == PROP_DOUBLE) {
        c->y[0] = a - b;
        c->y[1] = e + f;
    } else if (p->sum == PROP_STEPS) {
        c->y[0] = prop_pipeline_store(t, a) - prop_pipeline_store(t, b);
        c->y[1] = prop_pipeline_store(t, e) + prop_pipeline_store(t, f);
    } else if (p->sum == PROP_FUSED) {
        c->y[0] = (double)fmaf(x0, cs, -(x1 * sn));
        c->y[1] = (double)fmaf(x0, sn, x1 * cs);
    } else {
        c->y[0] = (double)(x0 * cs - x1 * sn);
        c->y[1] = (double)(x1 * cs + x0 * sn);
    }
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

void prop_pipeline_make(const rope_spec *spec, uint32_t dtype, const prop_pipeline *p,
                        prop_spoil *spoil, uint64_t seed, prop_tensors *t)
{
    int64_t d = spec->head_dim;
    uint64_t state = seed;
    for (int64_t i = 0; i < PIPELINE_TOKENS * PIPELINE_HEADS * d; i++)
        t->x[i] = t->y[i] =
            prop_pipeline_store(dtype, ((double)draw(&state) + (double)draw(&state) -
                                        (double)draw(&state) - (double)draw(&state)) *
                                           0x1.8p-53);
    bool half = spec->pairing == ROPE_HALF;
    for (int64_t row = 0; row < PIPELINE_TOKENS * PIPELINE_HEADS; row++)
        for (int64_t i = 0; i < spec->rotary_dim / 2; i++) {
            int64_t first = row * d + spec->rotary_offset + (half ? i : 2 * i);
            int64_t second = first + (half ? spec->rotary_dim / 2 : 1);
            prop_cell c = {.token = row / PIPELINE_HEADS,
                           .head = row % PIPELINE_HEADS,
                           .pair = i,
                           .pairs = spec->rotary_dim / 2,
                           .spec = spec,
                           .dtype = dtype,
                           .position = (double)t->position[row / PIPELINE_HEADS],
                           .theta = frequency(p, spec, i),
                           .x = {t->x[first], t->x[second]}};
            if (spoil != NULL)
                spoil(&c, PROP_AT_ANGLE);
            take_angle(p, &c);
            take_table(p, &c);
            if (spoil != NULL)
                spoil(&c, PROP_AT_TABLE);
            rotate(p, &c);
            if (spoil != NULL)
                spoil(&c, PROP_AT_OUTPUT);
            t->y[first] = prop_pipeline_store(dtype, c.y[0]);
            t->y[second] = prop_pipeline_store(dtype, c.y[1]);
        }
}

void prop_pipeline_place(prop_tensors *t, int which)
{
    static const int64_t lists[3][PIPELINE_TOKENS] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
        {0, 1, 511, 512, 513, 1023, 2047, 4095, 4097, 8191, 16383, 32767},
        {5, 65535, 65536, 65537, 70001, 80021, 90001, 100003, 110001, 120011, 131070, 131071}};
    memcpy(t->position, lists[which], sizeof lists[which]);
}

const char *const prop_pipeline_specs[PIPELINE_SPECS] = {
    "head_dim=64,base=10000,pairing=half",
    "head_dim=128,base=500000,pairing=interleaved",
    "head_dim=80,rotary_dim=32,base=10000,pairing=half",
    "head_dim=96,base=1000000,pairing=half",
    "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=32,low=1,high=4,original=8192",
    "head_dim=128,base=1000000,pairing=half,scaling=yarn,factor=4,original=32768",
    "head_dim=64,base=10000,pairing=interleaved,scaling=linear,factor=8",
    "head_dim=128,base=10000,pairing=half,scaling=dynamic,factor=4,original=4096,length=8192",
    "head_dim=64,base=1000,pairing=half,scaling=dynamic,factor=2,original=2048,length=512",
};
const prop_pipeline prop_pipelines[PIPELINE_WAYS] = {
    {PROP_RECIPROCAL, PROP_F32_ANGLE, PROP_COSF, PROP_SEPARATE, false},
    {PROP_RECIPROCAL, PROP_F32_ANGLE, PROP_COS_CAST, PROP_FUSED, false},
    {PROP_NEGATIVE, PROP_F32_ANGLE, PROP_COSF, PROP_FUSED, false},
    {PROP_NEGATIVE, PROP_F64_ANGLE, PROP_COS_CAST, PROP_SEPARATE, false},
    {PROP_EXPONENTIAL, PROP_F32_ANGLE, PROP_COSF, PROP_SEPARATE, false},
    {PROP_EXPONENTIAL, PROP_F64_ANGLE_CAST, PROP_COSF, PROP_DOUBLE, false},
    {PROP_TIMESCALE, PROP_F32_ANGLE, PROP_COSF, PROP_SEPARATE, false},
    {PROP_IN_F64, PROP_F64_ANGLE, PROP_COS_CAST, PROP_SEPARATE, false},
    {PROP_IN_F64, PROP_F64_ANGLE, PROP_COS_CAST, PROP_FUSED, false},
    {PROP_IN_F64, PROP_F64_ANGLE_CAST, PROP_COSF, PROP_SEPARATE, false},
    {PROP_F64_THEN_F32, PROP_F32_ANGLE, PROP_COS_CAST, PROP_FUSED, false},
    {PROP_F64_THEN_F32, PROP_F64_ANGLE, PROP_COS_CAST, PROP_DOUBLE, false},
    {PROP_RECIPROCAL, PROP_F32_ANGLE, PROP_COSF, PROP_SEPARATE, true},
    {PROP_RECIPROCAL, PROP_F32_ANGLE, PROP_COSF, PROP_STEPS, true},
    {PROP_TIMESCALE, PROP_F32_ANGLE, PROP_COSF, PROP_FUSED, true},
    {PROP_IN_F64, PROP_F64_ANGLE, PROP_COS_CAST, PROP_STEPS, true},
    {PROP_EXPONENTIAL, PROP_F32_ANGLE, PROP_COSF, PROP_STEPS, true},
    {PROP_F64_THEN_F32, PROP_F32_ANGLE, PROP_COS_CAST, PROP_DOUBLE, true},
};
