#include "props/property.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/bands.h"

static const prop_property *const properties[] = {
    &prop_contract_property,      &prop_identity_property,   &prop_offset_property,
    &prop_orthogonality_property, &prop_additivity_property, &prop_permutation_property,
    &prop_decay_property,         &prop_linearity_property,  &prop_independence_property,
    &prop_nan_property,           &prop_in_place_property,   &prop_batch_property,
    &prop_reuse_property,         &prop_repeat_property,     &prop_window_property,
    &prop_arguments_property,     &prop_empty_property,      &prop_far_property,
    &prop_footprint_property,     &prop_concurrent_property, &prop_large_property,
    &prop_generated_property,     &prop_untouched_property,  &prop_environment_property,
};

const prop_property *const *prop_properties(size_t *count)
{
    *count = sizeof properties / sizeof properties[0];
    return properties;
}

const prop_property *prop_property_find(const char *name)
{
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        if (strcmp(properties[i]->name, name) == 0)
            return properties[i];
    return NULL;
}

bool prop_has_contract(rope_dtype dtype, double bound)
{
    /* bound < sqrt(2) / u without a division: u is a power of two. */
    return bound >= 0 && bound * rope_dtype_unit_roundoff(dtype) < M_SQRT2;
}

double prop_underflow(rope_dtype dtype)
{
    return 2 * M_SQRT2 * rope_dtype_smallest(dtype);
}

void prop_fail(prop_sheet *sheet, const char *format, ...)
{
    if (sheet->failed)
        return;
    sheet->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sheet->reason, sizeof sheet->reason, format, arguments);
    va_end(arguments);
}

prop_where prop_where_at(int64_t position)
{
    return (prop_where){position, PROP_NO_PAIR, NAN, NAN};
}

bool prop_compare(prop_sheet *sheet, int band, rope_dtype dtype, double deviation, double tolerance,
                  prop_where where)
{
    prop_tally *t = &sheet->bands[band];
    sheet->made++;
    if (!prop_has_contract(dtype, tolerance)) {
        if (t->unjudged++ == 0 || prop_magnitude(where.position) < prop_magnitude(t->no_contract))
            t->no_contract = where.position;
        return true;
    }
    t->comparisons++;
    if (t->comparisons == 1 || deviation > t->max_error) {
        t->max_error = deviation > 0 ? deviation : 0;
        t->largest_bound = tolerance;
        t->largest_position = where.position;
        t->largest_pair = where.pair;
        t->largest_x0 = where.x0;
        t->largest_x1 = where.x1;
    }
    t->sum_of_squares += deviation * deviation;
    t->squares++;
    double ratio = deviation > 0 || isnan(deviation) ? deviation / tolerance : 0;
    if (t->comparisons == 1 || !(ratio <= t->ratio)) {
        t->ratio = ratio;
        t->bound = tolerance;
        t->position = where.position;
        t->pair = where.pair;
        t->x0 = where.x0;
        t->x1 = where.x1;
    }
    t->failures += !(deviation <= tolerance);
    return deviation <= tolerance;
}

void prop_curve_add(prop_sheet *sheet, int64_t position, double kernel, double exact)
{
    int at = 0;
    while (at < sheet->curve_points && sheet->curve[at].position != position)
        at++;
    /* The octaves' case has a thousand: of those, what the other cases would have kept is enough.
     */
    if (at < PROP_CURVE && at == sheet->curve_points)
        sheet->curve[sheet->curve_points++] = (prop_curve_point){position, kernel, exact};
}

/* Judged on every call, see prop_apply: these two have no cases of their own. */
static int64_t no_cases(const prop_subject *s)
{
    (void)s;
    return 0;
}

const prop_property prop_untouched_property = {
    .name = "untouched",
    .statement = "elements outside [rotary_offset, rotary_offset + rotary_dim) are copied bit for "
                 "bit, x is not written, and nothing around the rows of y is",
    .every_call = true,
    .count = no_cases,
};

const prop_property prop_environment_property = {
    .name = "environment",
    .statement =
        "rounding mode, exception masks, flush-to-zero, x87 control word and stack and the "
        "direction flag are after plan, apply and destroy as they were before",
    .every_call = true,
    .count = no_cases,
};
