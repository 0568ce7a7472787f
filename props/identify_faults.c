#include "props/identify_faults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/presets.h"
#include "props/explain_round.h"

/* What a fault-maker works with. */
typedef struct {
    prop_hypotheses *list;
    const prop_hypothesis *from;
    const prop_sample *sample;
    bool good; /* memory */
} maker;

static prop_hypothesis *derive(maker *m, const char *fault, const char *detail)
{
    prop_hypothesis *h = prop_hypothesis_derive(m->from, fault, detail);
    if (h == NULL)
        m->good = false;
    return h;
}

static void keep(maker *m, prop_hypothesis *h)
{
    if (h != NULL)
        m->good = prop_hypotheses_add(m->list, h) && m->good;
}

static void mapped(maker *m, const char *fault, const char *detail, prop_map map, double value,
                   uint32_t dtype)
{
    prop_hypothesis *h = derive(m, fault, detail);
    if (h == NULL)
        return;
    h->map = map;
    h->map_value = value;
    h->map_dtype = dtype;
    bool differs = prop_map_by_head(map);
    const prop_sample *s = m->sample;
    for (int64_t t = 0; t < s->tokens && !differs; t++)
        for (uint32_t a = 0; a < s->axes && !differs; a++)
            differs =
                prop_mapped_position(h, s, t, 0, a) != prop_mapped_position(m->from, s, t, 0, a);
    if (differs)
        keep(m, h);
    else
        prop_hypothesis_free(h);
}

static bool is_narrow(uint32_t dtype)
{
    return dtype == ROPE_F16 || dtype == ROPE_BF16;
}

/* ---- arithmetic ---- */

static void arithmetic(maker *m, const char *fault, const char *detail, uint32_t arithmetics)
{
    prop_hypothesis *h = derive(m, fault, detail);
    if (h == NULL)
        return;
    h->model.arithmetics = arithmetics;
    keep(m, h);
}

static void faults_of_arithmetic(maker *m)
{
    if (is_narrow(m->sample->dtype)) {
        arithmetic(m, "truncated-rounding", "every element is cut off towards zero",
                   1u << PROP_ARITHMETIC_TRUNCATED | 1u << PROP_ARITHMETIC_TABLE_TRUNCATED);
        uint32_t moved = 0;
        for (int a = PROP_ARITHMETIC_PRODUCTS; a <= PROP_ARITHMETIC_ONLY_SIN_PRODUCT; a++)
            moved |= 1u << a;
        arithmetic(m, "F34 rounding-boundary", "roundings to storage in other places", moved);
    }
    arithmetic(m, "F23 in-place-aliasing", "the first element is overwritten before it was read",
               1u << PROP_ARITHMETIC_FIRST_OVERWRITTEN);
    arithmetic(m, "F23 in-place-aliasing", "the second element is overwritten before it was read",
               1u << PROP_ARITHMETIC_SECOND_OVERWRITTEN);
}

/* ---- precision ---- */

static void round_frequencies(prop_hypothesis *h, uint32_t dtype)
{
    for (int64_t i = 0; i < h->model.pairs; i++) {
        h->theta[i] = prop_round(dtype, h->theta[i]);
        h->theta_lo[i] = 0;
        h->steps[i] = 0;
    }
}

static void faults_of_precision(maker *m)
{
    static const uint32_t narrow[2] = {ROPE_BF16, ROPE_F16};
    for (int k = 0; k < 2; k++) {
        uint32_t t = narrow[k];
        const char *name = rope_dtype_name(t);
        char detail[96];
        snprintf(detail, sizeof detail, "inverse frequencies in %s", name);
        prop_hypothesis *h = derive(m, "F4 low-precision-frequency", detail);
        if (h != NULL)
            round_frequencies(h, t);
        keep(m, h);
        snprintf(detail, sizeof detail, "positions in %s", name);
        mapped(m, "F5 low-precision-position", detail, PROP_MAP_ROUNDED, 0, t);
        snprintf(detail, sizeof detail, "angles in %s", name);
        if ((h = derive(m, "F6 low-precision-table", detail)) != NULL) {
            h->model.angle_rounded = true;
            h->model.angle_dtype = t;
        }
        keep(m, h);
        snprintf(detail, sizeof detail, "inverse frequencies, positions and angles in %s", name);
        if ((h = derive(m, "F6 low-precision-table", detail)) != NULL) {
            round_frequencies(h, t);
            h->map = PROP_MAP_ROUNDED;
            h->map_dtype = t;
            h->model.angle_rounded = true;
            h->model.angle_dtype = t;
        }
        keep(m, h);
        snprintf(detail, sizeof detail, "cos and sin in %s", name);
        if (t != m->sample->dtype && (h = derive(m, "F6 low-precision-table", detail)) != NULL) {
            h->model.table_rounded = true;
            h->model.table_dtype = t;
            h->model.arithmetics = 1u << PROP_ARITHMETIC_TABLE;
            keep(m, h);
        }
    }
    mapped(m, "F5 low-precision-position", "positions in TF32 (11 bits)", PROP_MAP_TF32, 0, 0);
}

/* ---- positions ---- */

static void faults_of_positions(maker *m)
{
    const prop_sample *s = m->sample;
    mapped(m, "F22 inverse-rotation", "rotated by minus the angle", PROP_MAP_NEGATED, 0, 0);
    prop_hypothesis *twice = derive(m, "applied-twice", "rotated by twice the angle");
    if (twice != NULL) {
        double a = twice->model.attention_factor.hi;
        twice->map = PROP_MAP_SCALED;
        twice->map_value = 2;
        twice->model.attention_factor.hi = a * a;
        keep(m, twice);
    }
    if (s->heads > 1) {
        mapped(m, "F24 wrong-axis", "rotated by the head's number", PROP_MAP_HEAD, 0, 0);
        mapped(m, "F24 wrong-axis", "rotated by the position at the head's number",
               PROP_MAP_HEAD_POSITION, 0, 0);
        if (s->tokens == s->dump_tokens && s->tokens > 1) {
            mapped(m, "axes-swapped", "rows counted as [heads, tokens]", PROP_MAP_SWAPPED, 0, 0);
            prop_hypothesis *h = derive(m, "axes-swapped", "written as [heads, tokens]");
            if (h != NULL)
                h->output_transposed = true;
            keep(m, h);
        }
    }
    /* Every order of two or three axes but the right one, two bits an axis from the lowest. */
    static const uint32_t orders[] = {0x1, 0x18, 0x21, 0x9, 0x12, 0x6};
    for (size_t i = s->axes == 2 ? 0 : 1; i < (s->axes == 2 ? 1 : 6) && s->axes > 1; i++)
        mapped(m, "axes-swapped", "position axes taken in another order", PROP_MAP_AXES, orders[i],
               0);
    if (s->position == NULL)
        return;
    mapped(m, "F26 position-off-by-one", "rotated by position + 1", PROP_MAP_OFFSET, 1, 0);
    mapped(m, "F26 position-off-by-one", "rotated by position - 1", PROP_MAP_OFFSET, -1, 0);
    double first = (double)s->position[0];
    if (first != 1 && first != -1)
        mapped(m, "F25 stale-offset", "positions restart from 0", PROP_MAP_OFFSET, -first, 0);
    if (s->tokens > 1) {
        mapped(m, "stale", "every token is rotated by the first one's position", PROP_MAP_CONSTANT,
               first, 0);
        mapped(m, "stale", "every token is rotated by the position of the one before",
               PROP_MAP_PREVIOUS, 0, 0);
    }
    static const double limits[] = {65536, 32768, 4294967296.0};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char detail[96];
        snprintf(detail, sizeof detail, "positions modulo %.0f", limits[i]);
        mapped(m, "F27 position-range", detail, PROP_MAP_WRAPPED, limits[i], 0);
    }
    for (double limit = 512; limit <= 131072; limit *= 2) {
        char detail[96];
        snprintf(detail, sizeof detail, "positions clamped at %.0f", limit - 1);
        mapped(m, "F27 position-range", detail, PROP_MAP_CLAMPED, limit - 1, 0);
    }
}

/* ---- recurrences ---- */

static void recipe(maker *m, const char *fault, const char *detail, prop_recipe recipe)
{
    prop_hypothesis *h = derive(m, fault, detail);
    if (h == NULL)
        return;
    h->recipe = recipe;
    keep(m, h);
}

static void faults_of_recurrence(maker *m)
{
    recipe(m, "F8 frequency-recurrence", "angles by an f32 recurrence over pairs",
           PROP_RECIPE_ANGLE_RECURRENCE);
    recipe(m, "F8 frequency-recurrence", "inverse frequencies by an f32 recurrence over pairs",
           PROP_RECIPE_FREQUENCY_RECURRENCE);
    recipe(m, "angle-accumulation", "angles summed up from position 0 in f32",
           PROP_RECIPE_ACCUMULATION);
    recipe(m, "angle-accumulation", "angles summed up from the first token in f32",
           PROP_RECIPE_ACCUMULATION_HERE);
    static const struct {
        prop_recipe recipe;
        const char *detail;
    } rotors[] = {
        {PROP_RECIPE_ROTOR, "(cos, sin) multiplied on from position 0 in f32"},
        {PROP_RECIPE_ROTOR_HERE, "(cos, sin) multiplied on from the first token in f32"},
        {PROP_RECIPE_ROTOR_FMA, "(cos, sin) multiplied on from position 0 in f32 with fma"},
        {PROP_RECIPE_ROTOR_FMA_HERE, "(cos, sin) multiplied on from the first token, with fma"},
    };
    for (size_t i = 0; i < sizeof rotors / sizeof rotors[0]; i++)
        recipe(m, "rotor-recurrence", rotors[i].detail, rotors[i].recipe);
    if (m->from->model.pairing == ROPE_HALF && m->from->model.pairs > 1)
        recipe(m, "F3 mismatched-table",
               "half rotation, frequencies repeated for adjacent elements", PROP_RECIPE_MISMATCHED);
}

bool prop_faults_of_code(prop_hypotheses *list, const prop_hypothesis *right,
                         const prop_sample *sample)
{
    maker m = {.list = list, .from = right, .sample = sample, .good = true};
    faults_of_arithmetic(&m);
    faults_of_positions(&m);
    faults_of_precision(&m);
    faults_of_recurrence(&m);
    return m.good;
}

/* ---- a wrong spec ---- */

/* The declared spec with a change; what it yields follows another spec rightly. */
static prop_hypothesis *with_spec(maker *m, const char *fault, const char *detail,
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

static void wrong_factor(maker *m)
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
        prop_hypothesis *h = derive(m, "F10 yarn-magnitude", detail);
        if (h == NULL)
            return;
        h->model.attention_factor = (oracle_dd){factor, 0};
        if (factor == measured) /* known as well as the data tell */
            h->model.contract = prop_contract(&h->model, PROP_ANGLE_UNROUNDED) + 2;
        keep(m, h);
    }
}

static void wrong_base(maker *m)
{
    size_t count;
    const rope_preset *presets = rope_presets(&count);
    double seen[64];
    int known = 0;
    seen[known++] = 10000;
    for (size_t i = 0; i < count && known < 64; i++) {
        rope_spec preset;
        if (!rope_spec_parse(presets[i].name, &preset, NULL))
            continue;
        bool new_one = preset.base > 1;
        for (int k = 0; k < known; k++)
            new_one = new_one && seen[k] != preset.base;
        if (new_one)
            seen[known++] = preset.base;
        rope_spec_free(&preset);
    }
    for (int k = 0; k < known; k++) {
        if (seen[k] == m->from->spec.base)
            continue;
        rope_spec changed = m->from->spec; /* shallow: with_spec copies */
        changed.base = seen[k];
        char detail[96];
        snprintf(detail, sizeof detail, "base %.17g where %.17g is due", seen[k],
                 m->from->spec.base);
        keep(m, with_spec(m, "F20 wrong-base", detail, &changed));
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

static void llama3_misparsed(maker *m)
{
    prop_hypothesis *h =
        derive(m, "F18 llama3-factors", "the middle band divided by s/(1 - m) + m");
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
    keep(m, h);
}

static void scaled_frequencies(maker *m, const char *fault, const char *detail, double by)
{
    prop_hypothesis *h = derive(m, fault, detail);
    for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
        h->theta[i] *= by;
        h->theta_lo[i] *= by;
        h->steps[i] += 2;
    }
    keep(m, h);
}

static void wrong_scaling(maker *m)
{
    const rope_spec *spec = &m->from->spec;
    if (spec->scaling == ROPE_SCALING_NONE)
        return;
    rope_spec changed = *spec;
    drop_scaling(&changed);
    keep(m, with_spec(m, spec->scaling == ROPE_SCALING_LLAMA3 ? "F18 llama3-factors" : "other-spec",
                      "the scaling is ignored", &changed));
    if (spec->scaling == ROPE_SCALING_LLAMA3) {
        llama3_misparsed(m);
        for (double s = 2; s <= 64; s *= 2) {
            changed = *spec;
            changed.factor = s;
            char detail[96];
            snprintf(detail, sizeof detail, "factor %.17g where %.17g is due", s, spec->factor);
            if (s != spec->factor)
                keep(m, with_spec(m, "F18 llama3-factors", detail, &changed));
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
        keep(m, with_spec(m, "F13 scale-inside-power", "(factor * base)^(-2i/d)", &changed));
    }
    if (spec->scaling == ROPE_SCALING_NTK) {
        changed = *spec;
        drop_scaling(&changed);
        double d = (double)spec->rotary_dim;
        changed.base = pow(spec->base * spec->factor, d / (d - 2));
        keep(m, with_spec(m, "F14 ntk-base", "(base * factor)^(d/(d-2))", &changed));
    }
    if (spec->scaling == ROPE_SCALING_YARN) {
        changed = *spec;
        changed.truncate = !spec->truncate;
        keep(m, with_spec(m, "F11 yarn-range-rounding",
                          spec->truncate ? "the range is not rounded" : "the range is rounded",
                          &changed));
        changed = *spec;
        changed.scaling = ROPE_SCALING_YARN_PAPER;
        keep(m, with_spec(m, "other-spec", "yarn as in the paper", &changed));
    }
    if (spec->scaling == ROPE_SCALING_LONGROPE) {
        changed = *spec;
        changed.short_factors = spec->long_factors;
        changed.long_factors = spec->short_factors;
        keep(m, with_spec(m, "F32 longrope-threshold", "the other list of factors", &changed));
    }
}

static void wrong_shape(maker *m)
{
    const rope_spec *spec = &m->from->spec;
    if (spec->rotary_dim > 2) {
        rope_spec changed = *spec;
        changed.pairing = spec->pairing == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
        char detail[96];
        snprintf(detail, sizeof detail, "pairs are %s where %s is due",
                 rope_pairing_name(changed.pairing), rope_pairing_name(spec->pairing));
        keep(m, with_spec(m, "F1 pairing-swapped", detail, &changed));
    }
    if (spec->rotary_dim < spec->head_dim) {
        prop_hypothesis *h = derive(m, "F17 partial-exponent", "exponents over head_dim");
        for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
            double wrong = pow(spec->base, -2.0 * (double)i / (double)spec->head_dim);
            double right = pow(spec->base, -2.0 * (double)i / (double)spec->rotary_dim);
            h->theta[i] *= wrong / right;
            h->theta_lo[i] = 0;
            h->steps[i] += 1;
        }
        keep(m, h);
        if (spec->pairing == ROPE_HALF && spec->rotary_offset == 0) {
            h = derive(m, "F17 partial-exponent", "the partner at head_dim/2");
            if (h != NULL)
                h->model.partner = spec->head_dim / 2;
            keep(m, h);
            h = derive(m, "F17 partial-exponent",
                       "exponents over head_dim, the partner at head_dim/2");
            for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
                h->model.partner = spec->head_dim / 2;
                h->theta[i] = pow(spec->base, -2.0 * (double)i / (double)spec->head_dim);
                h->theta_lo[i] = 0;
            }
            keep(m, h);
        }
    }
    prop_hypothesis *h = derive(m, "F21 integer-exponent", "2i/d divided as whole numbers");
    for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
        h->theta[i] = 1;
        h->theta_lo[i] = 0;
        h->steps[i] = 0;
    }
    keep(m, h);
}

bool prop_faults_of_spec(prop_hypotheses *list, const prop_hypothesis *declared,
                         const prop_sample *sample)
{
    maker m = {.list = list, .from = declared, .sample = sample, .good = true};
    wrong_shape(&m);
    wrong_scaling(&m);
    wrong_factor(&m);
    wrong_base(&m);
    return m.good;
}
