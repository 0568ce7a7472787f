/* Inside of identify: faults of the base and of its exponent. */
#include <math.h>
#include <stdio.h>

#include "impl/spec/frequencies.h"
#include "impl/spec/presets.h"
#include "props/identify_maker.h"

/* Whether the frequency before scaling says how much a pair is scaled: then code that scales before
 * it takes the wrong base, or by the right bands, is another function than the spec of that base.
 */
static bool has_bands(const rope_spec *spec)
{
    return spec->scaling == ROPE_SCALING_LLAMA3 || spec->scaling == ROPE_SCALING_YARN ||
           spec->scaling == ROPE_SCALING_YARN_PAPER;
}

/* Every frequency times ratio^(2i/d): the power of another base under the scaling that is due. */
static void with_power(prop_maker *m, const char *fault, const char *detail, double ratio)
{
    prop_hypothesis *h = prop_derive(m, fault, detail);
    for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
        rope_place place = rope_place_of(&h->spec, i);
        h->theta[i] *= pow(ratio, 2.0 * (double)place.index / (double)place.dimension);
        h->theta_lo[i] = 0;
        h->steps[i] += i > 0;
    }
    prop_keep(m, h);
}

void prop_wrong_base(prop_maker *m)
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
        rope_spec changed = m->from->spec; /* shallow: prop_with_spec copies */
        changed.base = seen[k];
        char detail[96];
        snprintf(detail, sizeof detail, "base %.17g where %.17g is due", seen[k],
                 m->from->spec.base);
        prop_keep(m, prop_with_spec(m, "F20 wrong-base", detail, &changed));
        if (!has_bands(&m->from->spec))
            continue;
        snprintf(detail, sizeof detail, "base %.17g where %.17g is due, scaled as is due", seen[k],
                 m->from->spec.base);
        with_power(m, "F20 wrong-base", detail, m->from->spec.base / seen[k]);
    }
}

void prop_integer_exponent(prop_maker *m)
{
    static const char fault[] = "F21 integer-exponent";
    prop_hypothesis *h = prop_derive(m, fault, "2i/d divided as whole numbers");
    for (int64_t i = 0; h != NULL && i < h->model.pairs; i++) {
        h->theta[i] = 1;
        h->theta_lo[i] = 0;
        h->steps[i] = 0;
    }
    prop_keep(m, h);
    if (m->from->spec.scaling != ROPE_SCALING_NONE && m->from->spec.base > 1)
        with_power(m, fault, "2i/d divided as whole numbers, then scaled as is due",
                   m->from->spec.base);
}
