#include "props/identify_specs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/presets.h"
#include "props/explain_round.h"
#include "props/identify_faults.h"
#include "props/identify_fit.h"
#include "props/identify_positions.h"

static const struct {
    uint32_t scaling;
    double factor, original, low, high;
    uint32_t truncate;
} scalings[] = {
    {ROPE_SCALING_NONE, 0, 0, 0, 0, 1},       {ROPE_SCALING_LINEAR, 2, 0, 0, 0, 1},
    {ROPE_SCALING_LINEAR, 4, 0, 0, 0, 1},     {ROPE_SCALING_LINEAR, 8, 0, 0, 0, 1},
    {ROPE_SCALING_LINEAR, 16, 0, 0, 0, 1},    {ROPE_SCALING_NTK, 2, 0, 0, 0, 1},
    {ROPE_SCALING_NTK, 4, 0, 0, 0, 1},        {ROPE_SCALING_NTK, 8, 0, 0, 0, 1},
    {ROPE_SCALING_LLAMA3, 8, 8192, 1, 4, 1},  {ROPE_SCALING_LLAMA3, 16, 8192, 1, 4, 1},
    {ROPE_SCALING_LLAMA3, 32, 8192, 1, 4, 1}, {ROPE_SCALING_YARN, 2, 32768, 0, 0, 1},
    {ROPE_SCALING_YARN, 4, 32768, 0, 0, 1},   {ROPE_SCALING_YARN, 4, 4096, 0, 0, 1},
    {ROPE_SCALING_YARN, 8, 4096, 0, 0, 1},    {ROPE_SCALING_YARN, 16, 4096, 0, 0, 1},
    {ROPE_SCALING_YARN, 32, 4096, 0, 0, 1},   {ROPE_SCALING_YARN, 32, 4096, 0, 0, 0},
    {ROPE_SCALING_YARN, 40, 4096, 0, 0, 1},   {ROPE_SCALING_YARN, 4, 8192, 0, 0, 1},
    {ROPE_SCALING_YARN, 8, 8192, 0, 0, 1},
};
enum { MAX_BASES = 64, MAX_STRUCTURES = 16 };

typedef struct {
    prop_hypotheses *list;
    const prop_sample *sample;
    uint32_t angles;
    double bases[MAX_BASES];
    int base_count;
    int64_t rotary[MAX_STRUCTURES], offset[MAX_STRUCTURES];
    int structures;
    bool good; /* memory */
} search;

/* ---- keeping what screening lets through ---- */

static void keep_if_near(search *q, prop_hypothesis *h)
{
    if (h == NULL)
        return;
    prop_screen(h, q->sample);
    if (h->share >= 0.25)
        q->good = prop_hypotheses_add(q->list, h) && q->good;
    else {
        q->list->declined++;
        prop_hypothesis_free(h);
    }
}

static void set_factor(prop_hypothesis *h, double factor)
{
    h->model.attention_factor = (oracle_dd){factor, 0};
    h->spec.attention_factor = factor;
}

/* The attention factor that the data show, where it is not the spec's: 1, a known magnitude, or as
 * measured. */
static void with_measured_factor(search *q, prop_hypothesis *h)
{
    double measured = prop_measured_factor(h, q->sample), a = h->model.attention_factor.hi;
    double u = rope_dtype_unit_roundoff(q->sample->dtype);
    if (fabs(measured / a - 1) < 4 * u + 1e-7)
        return;
    static const double factors[] = {2, 4, 8, 16, 32, 40, 64};
    double best = fabs(measured - 1) < 4 * u + 1e-7 ? 1 : measured;
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (fabs(measured / (0.1 * log(factors[i]) + 1) - 1) < 4 * u + 1e-7)
            best = 0.1 * log(factors[i]) + 1;
    set_factor(h, best);
    if (best == measured)
        h->model.contract = prop_contract(&h->model, PROP_ANGLE_UNROUNDED) + 2;
}

/* One spec, both pairings. */
static void add_spec(search *q, rope_spec *spec)
{
    rope_error error;
    if (!rope_spec_validate(spec, &error))
        return;
    for (uint32_t pairing = 0; pairing < 2; pairing++) {
        spec->pairing = pairing;
        prop_hypothesis *h = prop_hypothesis_new(q->sample, spec, q->angles);
        if (h == NULL)
            continue;
        with_measured_factor(q, h);
        if (q->sample->position != NULL) {
            keep_if_near(q, h);
            continue;
        }
        q->good = prop_place_tokens(q->list, h, q->sample) && q->good;
        prop_hypothesis_free(h);
    }
}

/* ---- what may be ---- */

static void add_base(search *q, double base)
{
    for (int i = 0; i < q->base_count; i++)
        if (q->bases[i] == base)
            return;
    if (base > 1 && q->base_count < MAX_BASES)
        q->bases[q->base_count++] = base;
}

static void add_structure(search *q, int64_t rotary, int64_t offset)
{
    if (rotary < 2 || rotary % 2 != 0 || offset < 0 || rotary + offset > q->sample->head_dim)
        return;
    for (int i = 0; i < q->structures; i++)
        if (q->rotary[i] == rotary && q->offset[i] == offset)
            return;
    if (q->structures < MAX_STRUCTURES) {
        q->rotary[q->structures] = rotary;
        q->offset[q->structures++] = offset;
    }
}

/* Rotary ranges that cover every element that differs from the input somewhere. */
static void find_structures(search *q)
{
    const prop_sample *s = q->sample;
    int64_t d = s->head_dim, first = d, last = -1;
    for (int64_t e = 0; e < d; e++)
        for (int64_t row = 0; row < s->tokens * s->heads; row++) {
            double x = s->x[row * d + e], y = s->y[row * d + e];
            if (x == y || isnan(x) || isnan(y))
                continue;
            first = e < first ? e : first;
            last = e;
            break;
        }
    if (last < 0) {
        first = 0;
        last = d - 1;
    }
    const int64_t wanted[] = {d,  d / 2, d / 4,    d * 2 / 5, d * 3 / 4,        64,
                              32, 16,    last + 1, last + 2,  last - first + 1, last - first + 2};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (wanted[i] > last)
            add_structure(q, wanted[i], 0);
        if (first > 0 && d - wanted[i] <= first)
            add_structure(q, wanted[i], d - wanted[i]);
    }
}

static void add_presets(search *q)
{
    size_t count;
    const rope_preset *presets = rope_presets(&count);
    for (size_t i = 0; i < count; i++) {
        rope_spec spec;
        if (!rope_spec_parse(presets[i].name, &spec, NULL))
            continue;
        bool axes = rope_spec_axis_count(&spec) == q->sample->axes;
        if (spec.base > 1)
            add_base(q, spec.base);
        if (axes && spec.head_dim == q->sample->head_dim && spec.rotary_dim >= 2)
            add_spec(q, &spec);
        rope_spec_free(&spec);
    }
}

static void add_known(search *q)
{
    for (int k = 0; k < q->structures; k++)
        for (int b = 0; b < q->base_count; b++)
            for (size_t i = 0; i < sizeof scalings / sizeof scalings[0]; i++) {
                rope_spec spec;
                rope_spec_init(&spec);
                spec.head_dim = q->sample->head_dim;
                spec.rotary_dim = q->rotary[k];
                spec.rotary_offset = q->offset[k];
                spec.base = q->bases[b];
                spec.scaling = scalings[i].scaling;
                spec.truncate = scalings[i].truncate;
                if (scalings[i].factor > 0)
                    spec.factor = scalings[i].factor;
                if (scalings[i].original > 0)
                    spec.original = scalings[i].original;
                if (scalings[i].low > 0) {
                    spec.low = scalings[i].low;
                    spec.high = scalings[i].high;
                }
                add_spec(q, &spec);
            }
}

/* ---- fits ---- */

static double rounded(double x, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    return strtod(text, NULL);
}

/* Consecutive tokens alone: scattered ones let a fit settle on a wrong peak. */
static void add_fits(search *q)
{
    for (int k = 0; k < q->structures; k++)
        for (uint32_t pairing = 0; pairing < 2; pairing++) {
            rope_spec spec;
            rope_error error;
            rope_spec_init(&spec);
            spec.head_dim = q->sample->head_dim;
            spec.rotary_dim = q->rotary[k];
            spec.rotary_offset = q->offset[k];
            spec.base = 10000;
            spec.pairing = pairing;
            if (!rope_spec_validate(&spec, &error))
                continue;
            prop_hypothesis *h = prop_hypothesis_new(q->sample, &spec, q->angles);
            double base, factor;
            bool found = h != NULL && h->model.pairs > 2 && prop_fit(h, q->sample, &base, &factor);
            prop_hypothesis_free(h);
            for (int digits = 1; found && digits <= 7; digits++) {
                spec.base = rounded(base, digits);
                spec.scaling = ROPE_SCALING_NONE;
                spec.factor = NAN;
                if (fabs(factor - 1) > 1e-4) {
                    spec.scaling = ROPE_SCALING_LINEAR;
                    spec.factor = rounded(factor, digits < 3 ? digits : 3);
                }
                if (spec.base > 1)
                    add_spec(q, &spec);
            }
        }
}

bool prop_candidate_specs(prop_hypotheses *list, const prop_sample *sample, uint32_t angles)
{
    search q = {.list = list, .sample = sample, .angles = angles, .good = true};
    static const double common[] = {10000, 500000, 1000000, 160000, 150000, 5000000, 8000000};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        add_base(&q, common[i]);
    find_structures(&q);
    int64_t before = list->count;
    if (sample->axes == 1)
        add_known(&q);
    add_presets(&q);
    bool near = false;
    for (int64_t i = before; i < list->count; i++)
        near = near || list->items[i]->share > 0.999;
    if (!near && sample->axes == 1)
        add_fits(&q);
    return q.good;
}
