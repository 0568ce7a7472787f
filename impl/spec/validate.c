/* Whether a spec is complete and free of contradiction, and the defaults of its definitions. */
#include <math.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/scalings.h"

#define BIT(name) ROPE_KEY_BIT(name)

static bool check_numbers(const rope_spec *spec, rope_error *error)
{
    uint32_t present = rope_keys_present(spec);
    for (int key = 0; key < ROPE_KEYS_COUNT; key++) {
        if (!(present & UINT32_C(1) << key))
            continue;
        const char *at = (const char *)spec + rope_keys[key].offset;
        const rope_list *list = (const rope_list *)at;
        if (rope_keys[key].kind == ROPE_KEY_NUMBER &&
            !rope_key_check(key, *(const double *)at, error))
            return false;
        for (int64_t i = 0; rope_keys[key].kind == ROPE_KEY_LIST && i < list->count; i++)
            if (!rope_key_check(key, list->values[i], error))
                return false;
    }
    return true;
}

static bool check_dimensions(rope_spec *spec, rope_error *error)
{
    if (spec->head_dim == 0)
        return rope_fail(error, "head_dim is missing, expected head_dim=N, elements of a head");
    if (!rope_key_check(ROPE_KEY_head_dim, (double)spec->head_dim, error))
        return false;
    if (spec->rotary_dim == 0)
        spec->rotary_dim = spec->head_dim;
    if (spec->rotary_dim < 2 || spec->rotary_dim % 2 != 0 || spec->rotary_dim > spec->head_dim)
        return rope_fail(error,
                         "rotary_dim is %lld, expected an even number from 2 to head_dim = "
                         "%lld",
                         (long long)spec->rotary_dim, (long long)spec->head_dim);
    if (spec->rotary_offset < 0 || spec->rotary_offset > spec->head_dim - spec->rotary_dim)
        return rope_fail(error, "rotary_offset is %lld, expected 0 to head_dim - rotary_dim = %lld",
                         (long long)spec->rotary_offset,
                         (long long)(spec->head_dim - spec->rotary_dim));
    return true;
}

static bool check_enumerations(const rope_spec *spec, rope_error *error)
{
    if (rope_pairing_name(spec->pairing) == NULL)
        return rope_fail(error, "pairing is %u, expected interleaved or half", spec->pairing);
    if (rope_scaling_name(spec->scaling) == NULL)
        return rope_fail(error, "scaling is %u, which is unknown", spec->scaling);
    if (rope_axes_name(spec->axes) == NULL)
        return rope_fail(error, "axes is %u, which is unknown", spec->axes);
    if (spec->truncate > 1 || spec->exponent_by_head > 1)
        return rope_fail(error, "truncate and exponent_by_head are 0 or 1");
    return true;
}

static bool check_length(const char *name, const rope_list *list, int64_t pairs, rope_error *error)
{
    if (list->count == 0 || list->count == pairs)
        return true;
    return rope_fail(error, "%s has %lld numbers, expected rotary_dim/2 = %lld", name,
                     (long long)list->count, (long long)pairs);
}

/* Pairs that axis 1 or 2 gets of mrope-interleaved: i % 3 == axis and i < 3 section. */
static int64_t interleaved_pairs(int64_t section, int64_t axis, int64_t pairs)
{
    int64_t end = 3 * section < pairs ? 3 * section : pairs;
    return end > axis ? (end - axis + 2) / 3 : 0;
}

static bool check_axes(const rope_spec *spec, rope_error *error)
{
    const char *name = rope_axes_name(spec->axes);
    const rope_list *list = &spec->sections;
    int64_t pairs = spec->rotary_dim / 2, axes = rope_spec_axis_count(spec);
    if (spec->axes == ROPE_AXES_TEXT)
        return list->count == 0 ||
               rope_fail(error, "sections needs axes=mrope, mrope-interleaved, hw or wh");
    if (axes == 2 && spec->scaling != ROPE_SCALING_NONE && spec->scaling != ROPE_SCALING_LINEAR)
        return rope_fail(error, "scaling=%s is not defined for axes=%s, expected none or linear",
                         rope_scaling_name(spec->scaling), name);
    if (axes == 2 && list->count == 0)
        return pairs % 2 == 0 || rope_fail(error,
                                           "rotary_dim is %lld, axes=%s without sections "
                                           "expects a multiple of 4",
                                           (long long)spec->rotary_dim, name);
    if (list->count == 0)
        return rope_fail(error, "sections is missing, axes=%s expects pairs of each axis, t:h:w",
                         name);
    double sum = 0;
    for (int64_t i = 0; i < list->count; i++) {
        if (list->values[i] != floor(list->values[i]))
            return rope_fail(error, "sections has %.17g, expected whole numbers", list->values[i]);
        sum += list->values[i];
    }
    if (list->count != axes || sum != (double)pairs)
        return rope_fail(error,
                         "sections has %lld numbers of sum %.0f, axes=%s expects %lld of sum "
                         "rotary_dim/2 = %lld",
                         (long long)list->count, sum, name, (long long)axes, (long long)pairs);
    for (int64_t axis = 1; spec->axes == ROPE_AXES_MROPE_INTERLEAVED && axis < 3; axis++)
        if (interleaved_pairs((int64_t)list->values[axis], axis, pairs) !=
            (int64_t)list->values[axis])
            return rope_fail(error,
                             "sections gives axis %lld %.0f pairs, more than interleaving "
                             "leaves it",
                             (long long)axis, list->values[axis]);
    return true;
}

static bool check_frequencies(const rope_spec *spec, uint32_t present, rope_error *error)
{
    int64_t pairs = spec->rotary_dim / 2;
    if (!check_length("short_factors", &spec->short_factors, pairs, error) ||
        !check_length("long_factors", &spec->long_factors, pairs, error) ||
        !check_length("divisors", &spec->divisors, pairs, error) ||
        !check_length("inv_freq", &spec->inv_freq, pairs, error))
        return false;
    if (!(present & BIT(inv_freq)))
        return (present & BIT(base)) ||
               rope_fail(error, "base is missing, expected base=NUMBER (or inv_freq=)");
    if (spec->scaling != ROPE_SCALING_NONE)
        return rope_fail(error,
                         "inv_freq contradicts scaling=%s: it is used as it is; say scaling=none "
                         "(and attention_factor= where it is not 1)",
                         rope_scaling_name(spec->scaling));
    if (present & BIT(divisors))
        return rope_fail(error, "divisors contradicts inv_freq, which is used as it is");
    return spec->exponent_by_head == 0 ||
           rope_fail(error, "exponent_by_head contradicts inv_freq, which is used as it is");
}

static bool check_keys(const rope_spec *spec, uint32_t present, rope_error *error)
{
    const rope_scaling_rule *rule = rope_scaling_rule_of(spec->scaling);
    const char *name = rope_scaling_name(spec->scaling);
    uint32_t missing = rule->needs & ~present;
    if (missing != 0)
        return rope_fail(error, "%s is missing, scaling=%s needs it", rope_keys_first(missing),
                         name);
    uint32_t common =
        BIT(base) | BIT(attention_factor) | BIT(sections) | BIT(inv_freq) | BIT(exponent_by_head);
    uint32_t foreign = present & ~(rule->needs | rule->takes | common);
    if (foreign != 0)
        return rope_fail(error, "%s does not belong to scaling=%s", rope_keys_first(foreign), name);
    return true;
}

static void default_number(double *value, double number)
{
    if (isnan(*value))
        *value = number;
}

static bool check_yarn(rope_spec *spec, uint32_t present, rope_error *error)
{
    default_number(&spec->beta_fast, 32);
    default_number(&spec->beta_slow, 1);
    double room = spec->scaling == ROPE_SCALING_YARN_PAPER ? 0x1p-8 : 0;
    if (!(spec->beta_fast * (1 - room) >= spec->beta_slow))
        return rope_fail(error, "beta_fast is %.17g, expected %s beta_slow = %.17g",
                         spec->beta_fast, room == 0 ? "at least" : "well above", spec->beta_slow);
    if (!(spec->base >= 2)) /* its logarithm divides the range's ends; see scale.c */
        return rope_fail(error, "base is %.17g, scaling=%s expects at least 2", spec->base,
                         rope_scaling_name(spec->scaling));
    if (spec->scaling == ROPE_SCALING_YARN && spec->exponent_by_head)
        return rope_fail(error, "exponent_by_head contradicts scaling=yarn, whose range of pairs "
                                "is over rotary_dim");
    uint32_t both = BIT(mscale) | BIT(mscale_all_dim), given = present & both;
    if (given != 0 && given != both)
        return rope_fail(error, "%s is missing, expected with %s or neither",
                         rope_keys_first(both & ~given), rope_keys_first(given));
    return true;
}

static bool check_longrope(rope_spec *spec, uint32_t present, rope_error *error)
{
    default_number(&spec->length, spec->original);
    if (!(spec->original > 1))
        return rope_fail(error, "original is %.17g, scaling=longrope expects more than 1",
                         spec->original);
    if (!(present & (BIT(factor) | BIT(max_position) | BIT(attention_factor))))
        return rope_fail(error, "max_position is missing, scaling=longrope needs it (or factor, or "
                                "attention_factor)");
    if (!(present & BIT(max_position)))
        return true;
    if (!(spec->max_position >= spec->original))
        return rope_fail(error, "max_position is %.17g, expected at least original = %.17g",
                         spec->max_position, spec->original);
    if ((present & BIT(factor)) && spec->factor != spec->max_position / spec->original)
        return rope_fail(error, "factor is %.17g, which contradicts max_position/original = %.17g",
                         spec->factor, spec->max_position / spec->original);
    return true;
}

static bool check_scaling(rope_spec *spec, uint32_t present, rope_error *error)
{
    switch (spec->scaling) {
    case ROPE_SCALING_NTK:
    case ROPE_SCALING_DYNAMIC:
        if (spec->scaling == ROPE_SCALING_DYNAMIC)
            default_number(&spec->length, spec->original);
        return spec->rotary_dim >= 4 ||
               rope_fail(error, "rotary_dim is 2, scaling=%s expects at least 4: d/(d-2)",
                         rope_scaling_name(spec->scaling));
    case ROPE_SCALING_YARN:
    case ROPE_SCALING_YARN_PAPER:
        return check_yarn(spec, present, error);
    case ROPE_SCALING_LLAMA3:
        /* Equal, as Llama 4 has them, make a step instead of a band. */
        return spec->high == spec->low || spec->high * (1 - 0x1p-8) >= spec->low ||
               rope_fail(error, "high is %.17g, expected low = %.17g or well above", spec->high,
                         spec->low);
    case ROPE_SCALING_LONGROPE:
        return check_longrope(spec, present, error);
    case ROPE_SCALING_PROPORTIONAL:
        default_number(&spec->factor, 1);
        if (spec->exponent_by_head)
            return rope_fail(error, "exponent_by_head contradicts scaling=proportional, which "
                                    "implies it");
        return spec->rotary_dim == spec->head_dim ||
               rope_fail(error,
                         "rotary_dim is %lld, scaling=proportional expects head_dim = %lld: "
                         "share says what rotates",
                         (long long)spec->rotary_dim, (long long)spec->head_dim);
    default:
        return true;
    }
}

bool rope_spec_validate(rope_spec *spec, rope_error *error)
{
    if (spec->size != sizeof *spec)
        return rope_fail(error, "spec has %u bytes, expected %zu", spec->size, sizeof *spec);
    if (!check_dimensions(spec, error) || !check_enumerations(spec, error) ||
        !check_numbers(spec, error))
        return false;
    uint32_t present = rope_keys_present(spec);
    return check_frequencies(spec, present, error) && check_axes(spec, error) &&
           check_keys(spec, present, error) && check_scaling(spec, present, error);
}
