/* What the oracle's definitions rely on. */
#include <math.h>

#include "oracle/frequency.h"

static bool positive(double value)
{
    return isfinite(value) && value > 0;
}

static bool check_list(const rope_list *list, const char *key, int64_t count, rope_error *error)
{
    if (list->count == 0)
        return true;
    if (list->count != count)
        return rope_fail(error, "%s has %lld values, expected %lld, one a pair", key,
                         (long long)list->count, (long long)count);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(list->values[i]) || list->values[i] < 0)
            return rope_fail(error, "%s[%lld] is %g, expected finite and not negative", key,
                             (long long)i, list->values[i]);
    return true;
}

static bool check_divisor_list(const rope_list *list, const char *key, int64_t count,
                               rope_error *error)
{
    if (!check_list(list, key, count, error))
        return false;
    for (int64_t i = 0; i < list->count; i++)
        if (list->values[i] == 0)
            return rope_fail(error, "%s[%lld] is 0, expected more: frequencies are divided by it",
                             key, (long long)i);
    return true;
}

static bool check_scaling(const rope_spec *s, int64_t pairs, rope_error *error)
{
    if (s->scaling > ROPE_SCALING_PROPORTIONAL)
        return rope_fail(error, "scaling %u is unknown", (unsigned)s->scaling);
    bool needs_factor = s->scaling != ROPE_SCALING_NONE && s->scaling != ROPE_SCALING_LONGROPE &&
                        s->scaling != ROPE_SCALING_PROPORTIONAL;
    if (needs_factor && !positive(s->factor))
        return rope_fail(error, "factor is %g, expected more than 0", s->factor);
    if (s->scaling == ROPE_SCALING_PROPORTIONAL && !isnan(s->factor) && !positive(s->factor))
        return rope_fail(error, "factor is %g, expected more than 0", s->factor);
    bool needs_original = s->scaling >= ROPE_SCALING_DYNAMIC && s->scaling <= ROPE_SCALING_LONGROPE;
    if (needs_original && !positive(s->original))
        return rope_fail(error, "original is %g, expected the trained length", s->original);
    if ((s->scaling == ROPE_SCALING_NTK || s->scaling == ROPE_SCALING_DYNAMIC) && s->rotary_dim < 4)
        return rope_fail(error, "rotary_dim is %lld, expected 4 or more for NTK scaling",
                         (long long)s->rotary_dim);
    if (s->scaling == ROPE_SCALING_DYNAMIC && s->factor < 1)
        return rope_fail(error, "factor is %g, expected 1 or more for dynamic scaling", s->factor);
    if (s->scaling == ROPE_SCALING_LLAMA3 && !(s->low <= s->high))
        return rope_fail(error, "low is %g and high %g, expected low <= high", s->low, s->high);
    if (s->scaling == ROPE_SCALING_LONGROPE &&
        (s->short_factors.count == 0 || s->long_factors.count == 0))
        return rope_fail(error, "longrope needs short_factors and long_factors");
    return check_divisor_list(&s->short_factors, "short_factors", pairs, error) &&
           check_divisor_list(&s->long_factors, "long_factors", pairs, error) &&
           check_divisor_list(&s->divisors, "divisors", pairs, error) &&
           check_list(&s->inv_freq, "inv_freq", pairs, error);
}

static bool check_sections(const rope_spec *s, int64_t pairs, rope_error *error)
{
    if (s->axes > ROPE_AXES_WIDTH_HEIGHT)
        return rope_fail(error, "axes %u is unknown", (unsigned)s->axes);
    if (s->axes == ROPE_AXES_TEXT)
        return true;
    int64_t axes = frequency_axis_count(s);
    if (axes == 2 && s->sections.count == 0)
        return pairs % 2 == 0 ||
               rope_fail(error, "rotary_dim is %lld, expected a multiple of 4 for two image axes",
                         (long long)s->rotary_dim);
    if (s->sections.count != axes)
        return rope_fail(error, "sections has %lld values, expected %lld, one an axis",
                         (long long)s->sections.count, (long long)axes);
    double sum = 0;
    for (int64_t i = 0; i < axes; i++) {
        double value = s->sections.values[i];
        if (!(value >= (axes == 2 ? 1 : 0)) || value != floor(value) || value > (double)pairs)
            return rope_fail(error, "sections[%lld] is %g, expected a count of pairs", (long long)i,
                             value);
        sum += value;
    }
    return sum == (double)pairs ||
           rope_fail(error, "sections sum to %g, expected rotary_dim/2 = %lld", sum,
                     (long long)pairs);
}

bool frequency_check(const rope_spec *s, rope_error *error)
{
    if (s->head_dim < 2)
        return rope_fail(error, "head_dim is %lld, expected 2 or more", (long long)s->head_dim);
    if (s->rotary_dim < 2 || s->rotary_dim % 2 != 0 || s->rotary_dim > s->head_dim)
        return rope_fail(error, "rotary_dim is %lld, expected an even number from 2 to head_dim",
                         (long long)s->rotary_dim);
    if (s->inv_freq.count == 0 && (!isfinite(s->base) || s->base <= 1))
        return rope_fail(error, "base is %g, expected more than 1", s->base);
    /* The range that measure.c's bounds are derived for. */
    if (!isnan(s->attention_factor) &&
        !(s->attention_factor >= 0x1p-60 && s->attention_factor <= 0x1p60))
        return rope_fail(error, "attention_factor is %g, expected 2^-60 to 2^60",
                         s->attention_factor);
    return check_scaling(s, s->rotary_dim / 2, error) &&
           check_sections(s, s->rotary_dim / 2, error);
}
