/* The life of a spec, and the names of its enumerations. */
#include "impl/spec/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/keys.h"

static const char *const scaling_names[] = {"none",     "linear",      "ntk",        "ntk-su",
                                            "dynamic",  "yarn",        "yarn-paper", "llama3",
                                            "longrope", "proportional"};
static const char *const axes_names[] = {"text", "mrope", "mrope-interleaved", "hw", "wh"};
static const uint32_t axes_counts[] = {1, 3, 3, 2, 2};

const char *rope_scaling_name(uint32_t scaling)
{
    return scaling < sizeof scaling_names / sizeof scaling_names[0] ? scaling_names[scaling] : NULL;
}

const char *rope_axes_name(uint32_t axes)
{
    return axes < sizeof axes_names / sizeof axes_names[0] ? axes_names[axes] : NULL;
}

uint32_t rope_spec_axis_count(const rope_spec *spec)
{
    return rope_axes_name(spec->axes) != NULL ? axes_counts[spec->axes] : 0;
}

void rope_spec_init(rope_spec *spec)
{
    *spec = (rope_spec){.size = sizeof *spec,
                        .base = NAN,
                        .factor = NAN,
                        .low = NAN,
                        .high = NAN,
                        .original = NAN,
                        .beta_fast = NAN,
                        .beta_slow = NAN,
                        .mscale = NAN,
                        .mscale_all_dim = NAN,
                        .attention_factor = NAN,
                        .length = NAN,
                        .max_position = NAN,
                        .share = NAN,
                        .truncate = 1};
}

void rope_spec_free(rope_spec *spec)
{
    rope_keys_clear(spec, UINT32_MAX);
    rope_spec_init(spec);
}

bool rope_spec_copy(const rope_spec *from, rope_spec *to)
{
    *to = *from;
    const rope_list *source[] = {&from->short_factors, &from->long_factors, &from->sections,
                                 &from->divisors, &from->inv_freq};
    rope_list *target[] = {&to->short_factors, &to->long_factors, &to->sections, &to->divisors,
                           &to->inv_freq};
    enum { LISTS = sizeof target / sizeof target[0] };
    for (int i = 0; i < LISTS; i++)
        *target[i] = (rope_list){0};
    for (int i = 0; i < LISTS; i++) {
        if (source[i]->count == 0)
            continue;
        double *values = calloc((size_t)source[i]->count, sizeof *values);
        if (values == NULL) {
            rope_spec_free(to);
            return false;
        }
        memcpy(values, source[i]->values, (size_t)source[i]->count * sizeof *values);
        *target[i] = (rope_list){values, source[i]->count};
    }
    return true;
}

rope_plan_args rope_spec_plan_args(const rope_spec *spec, const rope_frequencies *frequencies,
                                   rope_dtype dtype, int64_t first, int64_t last)
{
    rope_plan_args args = {.size = sizeof args,
                           .spec = spec,
                           .dtype = dtype,
                           .axis_count = frequencies->axis_count,
                           .pairs = frequencies->pairs,
                           .frequency_hi = frequencies->hi,
                           .frequency_lo = frequencies->lo,
                           .axis = frequencies->axis,
                           .attention_factor = frequencies->attention_factor};
    for (uint32_t axis = 0; axis < frequencies->axis_count; axis++) {
        args.first[axis] = first;
        args.last[axis] = last;
    }
    return args;
}
