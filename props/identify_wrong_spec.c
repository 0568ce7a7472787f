/* Inside of identify: faults that are a wrong spec in the place of the declared one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/identify_faults.h"
#include "props/identify_maker.h"

prop_hypothesis *prop_with_spec(prop_maker *m, const char *fault, const char *detail,
                                const rope_spec *changed)
{
    rope_spec spec;
    rope_error error;
    if (!rope_spec_copy(changed, &spec)) {
        m->good = false;
        return NULL;
    }
    prop_hypothesis *h = NULL;
    if (rope_spec_validate(&spec, &error))
        h = prop_hypothesis_new(m->sample, &spec, m->from->angles);
    rope_spec_free(&spec);
    if (h == NULL)
        return NULL;
    snprintf(h->fault, sizeof h->fault, "%s", fault);
    snprintf(h->detail, sizeof h->detail, "%s", detail);
    h->follows = true;
    return h;
}

double prop_measured_factor(const prop_hypothesis *h, const prop_sample *s)
{
    enum { ROWS = 64 }; /* spread over the sample: asked for every candidate spec */
    double sum = 0, weight = 0;
    int64_t rows = s->tokens * s->heads, every = rows / ROWS + 1;
    for (int64_t row = 0; row < rows; row += every)
        for (int64_t i = 0; i < h->model.pairs; i++) {
            int64_t first = prop_first_element(&h->model, i);
            const double *x = s->x + row * s->head_dim + first;
            const double *y = s->y + row * s->head_dim + first;
            int64_t distance = prop_partner_distance(&h->model);
            double from = hypot(x[0], x[distance]), to = hypot(y[0], y[distance]);
            if (!isfinite(from) || !isfinite(to))
                continue;
            sum += from * to;
            weight += from * from;
        }
    return weight > 0 && sum > 0 ? sum / weight : 1;
}

static void wrong_factor(prop_maker *m)
{
    const rope_spec *spec = &m->from->spec;
    double s = spec->factor, a = m->from->model.attention_factor.hi;
    double g = s > 1 ? 0.1 * log(s) + 1 : 1;
    double measured = prop_measured_factor(m->from, m->sample);
    const double candidates[] = {1, g, a * a, g * g, 1 / a, sqrt(a), measured};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        double factor = candidates[i];
        /* An error of the factor below the storage's unit is none. */
        double u = rope_dtype_unit_roundoff(m->sample->dtype);
        if (!(fabs(factor / a - 1) > 4 * u) || !(fabs(measured / factor - 1) < 8 * u + 1e-6))
            continue;
        char detail[96];
        snprintf(detail, sizeof detail, "attention factor %.7g where %.7g is due", factor, a);
        prop_hypothesis *h = prop_derive(m, "F10 yarn-magnitude", detail);
        if (h == NULL)
            return;
        h->model.attention_factor = (oracle_dd){factor, 0};
        if (factor == measured) /* known as well as the data tell */
            h->model.contract = prop_contract(&h->model, PROP_ANGLE_UNROUNDED) + 2;
        prop_keep(m, h);
    }
}

/* Scaling keys go with their scaling. */
static void drop_scaling(rope_spec *spec)
{
    spec->scaling = ROPE_SCALING_NONE;
    spec->factor = spec->low = spec->high = spec->original = NAN;
    spec->beta_fast = spec->beta_slow = spec->mscale = spec->mscale_all_dim = NAN;
    spec->attention_factor = spec->length = spec->max_position = spec->share = NAN;
    spec->truncate = 1;
    spec->short_factors = spec->long_factors = (rope_list){0};
}

static void llama3_misparsed(prop_maker *m)
{
    prop_hypothesis *h =
        prop_derive(m, "F18 llama3-factors", "the middle band divided by s/(1 - m) + m");
    if (h == NULL)
        return;
    const rope_spec *spec = &h->spec;
    for (int64_t i = 0; i < h->model.pairs; i++) {
        double theta = pow(spec->base, -(double)i / (double)h->model.pairs);
        double turns = spec->original * theta / (2 * M_PI);
        if (turns < spec->low || turns > spec->high)
            continue;
        double smooth = (turns - spec->low) / (spec->high - spec->low);
        h->theta[i] = theta / (spec->factor / (1 - smooth) + smooth);
        h->theta_lo[i] = 0;
    }
    prop_keep(m, h);
}

static void scaled_frequencies(prop_maker *m, const char *fault, const char *detail, double by)
{
    prop_hypothesis *h = prop_derive(m, fault, detail);
    for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
        h->theta[i] *= by;
        h->theta_lo[i] *= by;
        h->steps[i] += 2;
    }
    prop_keep(m, h);
}

/* Frequencies of a plain RoPE of another base, which may be one that no spec allows. */
static void with_base(prop_maker *m, const char *fault, const char *detail, double base)
{
    prop_hypothesis *h = prop_derive(m, fault, detail);
    bool same = true;
    for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
        double theta = pow(base, -(double)i / (double)h->model.pairs);
        same = same && fabs(theta / h->theta[i] - 1) < 1e-9;
        h->theta[i] = theta;
        h->theta_lo[i] = 0;
        h->steps[i] += i > 0;
    }
    if (same)
        prop_hypothesis_free(h);
    else
        prop_keep(m, h);
}

/* The base grows with (s L'/L - (s - 1))^(d/(d-2)), L' the length, at least L. */
static void wrong_dynamic(prop_maker *m)
{
    const rope_spec *spec = &m->from->spec;
    double s = spec->factor, length = isnan(spec->length) ? spec->original : spec->length;
    double d = (double)spec->rotary_dim, power = d / (d - 2);
    with_base(m, "F15 dynamic-constant", "the base as for factor * original, whatever the length",
              spec->base * pow(s * s - (s - 1), power));
    with_base(m, "F15 dynamic-constant", "the base multiplied for the factor, whatever the length",
              spec->base * pow(s, power));
    double stretch = s * length / spec->original - (s - 1);
    if (!(length < spec->original) || stretch == 0)
        return;
    with_base(m, "F16 dynamic-below-length", "the base shrinks below the trained length",
              spec->base * pow(fabs(stretch), power));
    with_base(m, "F16 dynamic-below-length", "a base of 1e38", 1e38);
    with_base(m, "F16 dynamic-below-length", "a base of the largest f32", 0x1.fffffep127);
}

static void wrong_scaling(prop_maker *m)
{
    const rope_spec *spec = &m->from->spec;
    if (spec->scaling == ROPE_SCALING_NONE)
        return;
    rope_spec changed = *spec;
    drop_scaling(&changed);
    prop_keep(m, prop_with_spec(m,
                                spec->scaling == ROPE_SCALING_LLAMA3    ? "F18 llama3-factors"
                                : spec->scaling == ROPE_SCALING_DYNAMIC ? "F15 dynamic-constant"
                                                                        : "other-spec",
                                "the scaling is ignored", &changed));
    if (spec->scaling == ROPE_SCALING_LLAMA3) {
        llama3_misparsed(m);
        for (double s = 2; s <= 64; s *= 2) {
            changed = *spec;
            changed.factor = s;
            char detail[96];
            snprintf(detail, sizeof detail, "factor %.17g where %.17g is due", s, spec->factor);
            if (s != spec->factor)
                prop_keep(m, prop_with_spec(m, "F18 llama3-factors", detail, &changed));
        }
        scaled_frequencies(m, "F18 llama3-factors", "every frequency divided by the factor again",
                           1 / spec->factor);
    }
    if (spec->scaling == ROPE_SCALING_LINEAR) {
        scaled_frequencies(m, "F19 linear-inverted", "multiplied by the factor, not divided",
                           spec->factor * spec->factor);
        changed = *spec;
        drop_scaling(&changed);
        changed.base = spec->base * spec->factor;
        prop_keep(m,
                  prop_with_spec(m, "F13 scale-inside-power", "(factor * base)^(-2i/d)", &changed));
    }
    if (spec->scaling == ROPE_SCALING_NTK) {
        changed = *spec;
        drop_scaling(&changed);
        double d = (double)spec->rotary_dim;
        changed.base = pow(spec->base * spec->factor, d / (d - 2));
        prop_keep(m, prop_with_spec(m, "F14 ntk-base", "(base * factor)^(d/(d-2))", &changed));
    }
    if (spec->scaling == ROPE_SCALING_DYNAMIC)
        wrong_dynamic(m);
    if (spec->scaling == ROPE_SCALING_YARN) {
        changed = *spec;
        changed.truncate = !spec->truncate;
        prop_keep(
            m, prop_with_spec(m, "F11 yarn-range-rounding",
                              spec->truncate ? "the range is not rounded" : "the range is rounded",
                              &changed));
        changed = *spec;
        changed.scaling = ROPE_SCALING_YARN_PAPER;
        prop_keep(m, prop_with_spec(m, "other-spec", "yarn as in the paper", &changed));
    }
    if (spec->scaling == ROPE_SCALING_LONGROPE) {
        changed = *spec;
        changed.short_factors = spec->long_factors;
        changed.long_factors = spec->short_factors;
        prop_keep(
            m, prop_with_spec(m, "F32 longrope-threshold", "the other list of factors", &changed));
    }
}

static void wrong_shape(prop_maker *m)
{
    const rope_spec *spec = &m->from->spec;
    if (spec->rotary_dim > 2) {
        rope_spec changed = *spec;
        changed.pairing = spec->pairing == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
        char detail[96];
        snprintf(detail, sizeof detail, "pairs are %s where %s is due",
                 rope_pairing_name(changed.pairing), rope_pairing_name(spec->pairing));
        prop_keep(m, prop_with_spec(m, "F1 pairing-swapped", detail, &changed));
    }
    if (spec->rotary_dim < spec->head_dim) {
        prop_hypothesis *h = prop_derive(m, "F17 partial-exponent", "exponents over head_dim");
        for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
            double wrong = pow(spec->base, -2.0 * (double)i / (double)spec->head_dim);
            double right = pow(spec->base, -2.0 * (double)i / (double)spec->rotary_dim);
            h->theta[i] *= wrong / right;
            h->theta_lo[i] = 0;
            h->steps[i] += 1;
        }
        prop_keep(m, h);
        if (spec->pairing == ROPE_HALF && spec->rotary_offset == 0) {
            h = prop_derive(m, "F17 partial-exponent", "the partner at head_dim/2");
            if (h != NULL)
                h->model.partner = spec->head_dim / 2;
            prop_keep(m, h);
            h = prop_derive(m, "F17 partial-exponent",
                            "exponents over head_dim, the partner at head_dim/2");
            for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
                h->model.partner = spec->head_dim / 2;
                h->theta[i] = pow(spec->base, -2.0 * (double)i / (double)spec->head_dim);
                h->theta_lo[i] = 0;
            }
            prop_keep(m, h);
        }
    }
    prop_integer_exponent(m);
}

bool prop_faults_of_spec(prop_hypotheses *list, const prop_hypothesis *declared,
                         const prop_sample *sample)
{
    prop_maker m = {.list = list, .from = declared, .sample = sample, .good = true};
    wrong_shape(&m);
    wrong_scaling(&m);
    wrong_factor(&m);
    prop_wrong_base(&m);
    return m.good;
}
