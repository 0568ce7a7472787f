#include "props/identify_faults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/explain_round.h"
#include "props/identify_maker.h"

static void mapped(prop_maker *m, const char *fault, const char *detail, prop_map map, double value,
                   uint32_t dtype)
{
    prop_hypothesis *h = prop_derive(m, fault, detail);
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
        prop_keep(m, h);
    else
        prop_hypothesis_free(h);
}

static bool is_narrow(uint32_t dtype)
{
    return dtype == ROPE_F16 || dtype == ROPE_BF16;
}

/* ---- arithmetic ---- */

static void arithmetic(prop_maker *m, const char *fault, const char *detail, uint32_t arithmetics)
{
    prop_hypothesis *h = prop_derive(m, fault, detail);
    if (h == NULL)
        return;
    h->model.arithmetics = arithmetics;
    prop_keep(m, h);
}

static void faults_of_arithmetic(prop_maker *m)
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

static void faults_of_precision(prop_maker *m)
{
    static const uint32_t narrow[2] = {ROPE_BF16, ROPE_F16};
    for (int k = 0; k < 2; k++) {
        uint32_t t = narrow[k];
        const char *name = rope_dtype_name(t);
        char detail[96];
        snprintf(detail, sizeof detail, "inverse frequencies in %s", name);
        prop_hypothesis *h = prop_derive(m, "F4 low-precision-frequency", detail);
        if (h != NULL)
            round_frequencies(h, t);
        prop_keep(m, h);
        snprintf(detail, sizeof detail, "positions in %s", name);
        mapped(m, "F5 low-precision-position", detail, PROP_MAP_ROUNDED, 0, t);
        snprintf(detail, sizeof detail, "angles in %s", name);
        if ((h = prop_derive(m, "F6 low-precision-table", detail)) != NULL) {
            h->model.angle_rounded = true;
            h->model.angle_dtype = t;
        }
        prop_keep(m, h);
        snprintf(detail, sizeof detail, "inverse frequencies, positions and angles in %s", name);
        if ((h = prop_derive(m, "F6 low-precision-table", detail)) != NULL) {
            round_frequencies(h, t);
            h->map = PROP_MAP_ROUNDED;
            h->map_dtype = t;
            h->model.angle_rounded = true;
            h->model.angle_dtype = t;
        }
        prop_keep(m, h);
        snprintf(detail, sizeof detail, "cos and sin in %s", name);
        if (t != m->sample->dtype &&
            (h = prop_derive(m, "F6 low-precision-table", detail)) != NULL) {
            h->model.table_rounded = true;
            h->model.table_dtype = t;
            h->model.arithmetics = 1u << PROP_ARITHMETIC_TABLE;
            prop_keep(m, h);
        }
    }
    mapped(m, "F5 low-precision-position", "positions in TF32 (11 bits)", PROP_MAP_TF32, 0, 0);
}

/* ---- positions ---- */

static void faults_of_positions(prop_maker *m)
{
    const prop_sample *s = m->sample;
    mapped(m, "F22 inverse-rotation", "rotated by minus the angle", PROP_MAP_NEGATED, 0, 0);
    prop_hypothesis *twice = prop_derive(m, "applied-twice", "rotated by twice the angle");
    if (twice != NULL) {
        oracle_dd a = twice->model.attention_factor;
        double square = a.hi * a.hi;
        twice->map = PROP_MAP_SCALED;
        twice->map_value = 2;
        twice->model.attention_factor =
            (oracle_dd){square, fma(a.hi, a.hi, -square) + 2 * a.hi * a.lo};
        prop_keep(m, twice);
    }
    if (s->heads > 1) {
        mapped(m, "F24 wrong-axis", "rotated by the head's number", PROP_MAP_HEAD, 0, 0);
        mapped(m, "F24 wrong-axis", "rotated by the position at the head's number",
               PROP_MAP_HEAD_POSITION, 0, 0);
        if (s->tokens == s->dump_tokens && s->tokens > 1) {
            mapped(m, "axes-swapped", "rows counted as [heads, tokens]", PROP_MAP_SWAPPED, 0, 0);
            prop_hypothesis *h = prop_derive(m, "axes-swapped", "written as [heads, tokens]");
            if (h != NULL)
                h->output_transposed = true;
            prop_keep(m, h);
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
    static const struct {
        double value;
        const char *detail;
    } wraps[] = {
        {65536, "positions modulo 65536"},
        {32768, "positions modulo 32768"},
        {4294967296.0, "positions modulo 2^32"},
        {-65536, "positions wrapped to 16 bits and a sign"},
        {-4294967296.0, "positions wrapped to 32 bits and a sign"},
    };
    for (size_t i = 0; i < sizeof wraps / sizeof wraps[0]; i++)
        mapped(m, "F27 position-range", wraps[i].detail, PROP_MAP_WRAPPED, wraps[i].value, 0);
    for (double limit = 512; limit <= 131072; limit *= 2) {
        char detail[96];
        snprintf(detail, sizeof detail, "positions clamped at %.0f", limit - 1);
        mapped(m, "F27 position-range", detail, PROP_MAP_CLAMPED, limit - 1, 0);
    }
}

/* ---- recurrences ---- */

static void recipe(prop_maker *m, const char *fault, const char *detail, prop_recipe recipe)
{
    prop_hypothesis *h = prop_derive(m, fault, detail);
    if (h == NULL)
        return;
    h->recipe = recipe;
    prop_keep(m, h);
}

static void faults_of_recurrence(prop_maker *m)
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
    prop_maker m = {.list = list, .from = right, .sample = sample, .good = true};
    faults_of_arithmetic(&m);
    faults_of_positions(&m);
    faults_of_precision(&m);
    faults_of_recurrence(&m);
    return m.good;
}
