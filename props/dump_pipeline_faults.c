/* What may be wrong with a pipeline: one function a fault, called at each stage of every pair. */
#include <math.h>
#include <string.h>

#include "props/dump_pipelines.h"

static void one_head_inverse(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE && c->head == 2)
        c->s = -c->s;
}
static void clamped(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE && c->position > 511)
        c->position = 511;
}
static void clamped_in_one_head(prop_cell *c, prop_stage at)
{
    if (c->head == 1)
        clamped(c, at);
}
static void f16_position(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->position = prop_pipeline_store(ROPE_F16, c->position);
}
static void last_heads_unrotated(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT && c->head >= 2)
        memcpy(c->y, c->x, sizeof c->y);
}
static void one_frequency_bf16(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE && c->pair == 3)
        c->theta = prop_pipeline_store(ROPE_BF16, c->theta);
}
static void all_frequencies_bf16(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta = prop_pipeline_store(ROPE_BF16, c->theta);
}
static void exponent_less_two(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta = pow(c->spec->base, -2.0 * (double)c->pair / (double)(c->spec->rotary_dim - 2));
}
static void exponent_from_one(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta = pow(c->spec->base, -2.0 * (double)(c->pair + 1) / (double)c->spec->rotary_dim);
}
static void magnitude_of_cos_only(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE)
        c->c *= 1.138629436;
}
static void a_little_too_large(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE) {
        c->c *= 1 + 0x1p-20;
        c->s *= 1 + 0x1p-20;
    }
}
static void nearly_the_base(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta = pow(c->spec->base + 1, -2.0 * (double)c->pair / (double)c->spec->rotary_dim);
}
static void one_millionth(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta *= 1 + 1e-6;
}
static void upper_pairs_inverse(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE && 2 * c->pair >= c->pairs)
        c->s = -c->s;
}
static void cos_and_sin_swapped(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE) {
        double keep = c->c;
        c->c = c->s;
        c->s = keep;
    }
}
static void no_negation(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT)
        c->y[0] = c->x[0] * c->c + c->x[1] * c->s;
}
static void first_pair_unrotated(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT && c->pair == 0)
        memcpy(c->y, c->x, sizeof c->y);
}
static void last_row_unrotated(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT && c->token == PIPELINE_TOKENS - 1 && c->head == PIPELINE_HEADS - 1)
        memcpy(c->y, c->x, sizeof c->y);
}
static void second_half_one_late(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE && c->token >= PIPELINE_TOKENS / 2)
        c->position += 1;
}
static void through_f16(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT) {
        c->y[0] = prop_pipeline_store(ROPE_F16, c->y[0]);
        c->y[1] = prop_pipeline_store(ROPE_F16, c->y[1]);
    }
}
static void table_f16(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE) {
        c->c = prop_pipeline_store(ROPE_F16, c->c);
        c->s = prop_pipeline_store(ROPE_F16, c->s);
    }
}
static void short_pi(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE) {
        double turns = floor(c->angle / 6.2831);
        c->c = (double)(float)cos(c->angle - turns * 6.2831);
        c->s = (double)(float)sin(c->angle - turns * 6.2831);
    }
}
static void table_of_4096(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE) {
        double step = 2 * M_PI / 4096, turn = rint(c->angle / step) * step;
        c->c = (double)(float)cos(turn);
        c->s = (double)(float)sin(turn);
    }
}
static void sixteen_bits(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->position = (double)(int16_t)(uint16_t)(int64_t)c->position;
}
static void unsigned_sixteen_bits(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->position = (double)(uint16_t)(int64_t)c->position;
}
static void slow_pairs_slower(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE && 4 * c->pair >= 3 * c->pairs)
        c->theta /= 2;
}
static void half_away(prop_cell *c, prop_stage at)
{
    int exponent, bits = c->dtype == ROPE_BF16 ? 8 : 11;
    for (int k = 0; at == PROP_AT_OUTPUT && k < 2; k++) {
        frexp(c->y[k], &exponent); /* one unit in the last place too far at every other value */
        double unit = ldexp(1, exponent - bits);
        c->y[k] = copysign((floor(fabs(c->y[k]) / unit) + 1) * unit, c->y[k]);
    }
}
static void scaled_by_eighth(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT) {
        c->y[0] *= 0.125;
        c->y[1] *= 0.125;
    }
}
static void f32_table(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_TABLE) {
        c->c = (double)(float)c->c;
        c->s = (double)(float)c->s;
    }
}
static void one_element_of_the_dump(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT && c->token == 7 && c->head == 1 && c->pair == 5)
        c->y[1] += 0x1p-10;
}
static void far_tokens_of_one_head(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE && c->head == 3 && c->position >= 65536)
        c->position -= 65536;
}
static void origin_by_one(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE && c->position == 0)
        c->position = 1;
}
static void linear_forgotten(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta *= c->spec->factor;
}
static void sum_in_f16(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT) {
        c->y[0] = prop_pipeline_store(ROPE_F16, c->x[0] * c->c) -
                  prop_pipeline_store(ROPE_F16, c->x[1] * c->s);
        c->y[1] = prop_pipeline_store(ROPE_F16, c->x[1] * c->c) +
                  prop_pipeline_store(ROPE_F16, c->x[0] * c->s);
    }
}
static void nothing(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT)
        memcpy(c->y, c->x, sizeof c->y);
}
static void zeros(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT)
        c->y[0] = c->y[1] = 0;
}

static void with_base(prop_cell *c, double base)
{
    c->theta = pow(base, -2.0 * (double)c->pair / (double)c->spec->rotary_dim);
}
/* The scaling of a pair stays what it is. */
static void default_base_scaled(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta *= pow(c->spec->base / 10000, 2.0 * (double)c->pair / (double)c->spec->rotary_dim);
}
static void no_exponent_scaled(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        c->theta *= pow(c->spec->base, 2.0 * (double)c->pair / (double)c->spec->rotary_dim);
}
static void longest_stretch(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        with_base(c, prop_pipeline_stretched(c->spec, c->spec->factor * c->spec->original));
}
static void never_stretched(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        with_base(c, c->spec->base);
}
static void negative_root(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        with_base(c, prop_pipeline_stretched(c->spec, c->spec->length));
}
static void largest_base(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_ANGLE)
        with_base(c, 1e38);
}
static void llama3_parentheses(prop_cell *c, prop_stage at)
{
    const rope_spec *s = c->spec;
    double theta = pow(s->base, -2.0 * (double)c->pair / (double)s->rotary_dim);
    double smooth = (s->original * theta / (2 * M_PI) - s->low) / (s->high - s->low);
    if (at == PROP_AT_ANGLE && smooth > 0 && smooth < 1)
        c->theta = theta / (s->factor / (1 - smooth) + smooth);
}
static void first_token_only(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT && c->token > 0)
        memcpy(c->y, c->x, sizeof c->y);
}
static void first_head_only(prop_cell *c, prop_stage at)
{
    if (at == PROP_AT_OUTPUT && c->head > 0)
        memcpy(c->y, c->x, sizeof c->y);
}

enum {
    PLAIN = 0,
    INTERLEAVED = 1,
    PARTIAL = 2,
    LLAMA3 = 4,
    YARN = 5,
    LINEAR = 6,
    DYNAMIC = 7,
    BELOW = 8
};
enum { F32 = 1 << ROPE_F32, F16 = 1 << ROPE_F16, BF16 = 1 << ROPE_BF16, F64 = 1 << ROPE_F64 };

static const prop_pipeline_fault faults[] = {
    {"one head inverse", one_head_inverse, PLAIN, 1, F32 | BF16, "F22 inverse-rotation"},
    {"clamped at 511", clamped, PLAIN, 1, F32 | F16 | BF16, "F27 position-range"},
    {"clamped in one head", clamped_in_one_head, PLAIN, 1, F32, "F27 position-range"},
    {"f16 positions past their range", f16_position, PLAIN, 2, F32 | F16,
     "F5 low-precision-position"},
    {"the last heads unrotated", last_heads_unrotated, INTERLEAVED, 1, F32 | BF16, NULL},
    {"one frequency in bf16", one_frequency_bf16, PLAIN, 1, F32 | F16, NULL},
    {"frequencies in bf16", all_frequencies_bf16, PLAIN, 2, F32 | BF16,
     "F4 low-precision-frequency"},
    {"frequencies in bf16, llama3", all_frequencies_bf16, LLAMA3, 1, F32 | BF16,
     "F4 low-precision-frequency"},
    {"exponent over d - 2", exponent_less_two, PLAIN, 1, F32 | F16 | BF16, NULL},
    {"exponent from 1", exponent_from_one, PARTIAL, 1, F32 | BF16, NULL},
    {"magnitude of cos only", magnitude_of_cos_only, YARN, 1, F32 | BF16, NULL},
    {"2^-20 too large", a_little_too_large, PLAIN, 1, F32, "F10 yarn-magnitude"},
    {"base 10001", nearly_the_base, PLAIN, 2, F32 | BF16, NULL},
    {"theta (1 + 1e-6)", one_millionth, PLAIN, 2, F32, NULL},
    {"upper pairs inverse", upper_pairs_inverse, PLAIN, 1, F32 | BF16, NULL},
    {"cos and sin swapped", cos_and_sin_swapped, PLAIN, 1, F32 | F16, NULL},
    {"no negation", no_negation, PLAIN, 1, F32 | BF16, NULL},
    {"first pair unrotated", first_pair_unrotated, INTERLEAVED, 1, F32 | BF16, NULL},
    {"last row unrotated", last_row_unrotated, PLAIN, 1, F32 | F16 | BF16, NULL},
    {"second half one late", second_half_one_late, PLAIN, 1, F32 | BF16, "F26 position-off-by-one"},
    {"output through f16", through_f16, PLAIN, 1, F32, "other-dtype"},
    {"tables in f16", table_f16, PLAIN, 1, F32, "F6 low-precision-table"},
    {"a short pi", short_pi, PLAIN, 1, F32 | BF16, NULL},
    {"a table of 4096 angles", table_of_4096, PLAIN, 0, F32 | F16, NULL},
    {"positions in int16", sixteen_bits, INTERLEAVED, 2, F32 | BF16, "F27 position-range"},
    {"positions in uint16", unsigned_sixteen_bits, INTERLEAVED, 2, F32 | BF16,
     "F27 position-range"},
    {"slow pairs slower", slow_pairs_slower, LLAMA3, 1, F32 | BF16, NULL},
    {"rounded away from zero", half_away, PLAIN, 1, BF16 | F16, NULL},
    {"scaled by an eighth", scaled_by_eighth, PLAIN, 1, F32 | BF16, "F10 yarn-magnitude"},
    {"f32 tables in f64", f32_table, PLAIN, 1, F64, NULL},
    {"one element", one_element_of_the_dump, PLAIN, 1, F32, "corrupted-element"},
    {"far tokens of one head", far_tokens_of_one_head, PLAIN, 2, F32 | BF16, NULL},
    {"position 0 turned by 1", origin_by_one, PLAIN, 1, F32 | BF16, NULL},
    {"linear forgotten", linear_forgotten, LINEAR, 1, F32 | BF16, NULL},
    {"products in f16", sum_in_f16, PLAIN, 1, F32, NULL},
    {"dynamic, as for the longest", longest_stretch, DYNAMIC, 1, F32 | BF16,
     "F15 dynamic-constant"},
    {"dynamic, never stretched", never_stretched, DYNAMIC, 1, F32 | F16, "F15 dynamic-constant"},
    {"dynamic, a negative root", negative_root, BELOW, 1, F32 | BF16, "F16 dynamic-below-length"},
    {"dynamic, a base of 1e38", largest_base, BELOW, 1, F32 | BF16, "F16 dynamic-below-length"},
    {"llama3, other parentheses", llama3_parentheses, LLAMA3, 1, F32 | BF16, "F18 llama3-factors"},
    {"base 10000, llama3", default_base_scaled, LLAMA3, 1, F32 | BF16, "F20 wrong-base"},
    {"base 10000, yarn", default_base_scaled, YARN, 1, F32 | BF16, "F20 wrong-base"},
    {"no exponent, llama3", no_exponent_scaled, LLAMA3, 1, F32 | BF16, "F21 integer-exponent"},
    {"no exponent, yarn", no_exponent_scaled, YARN, 1, F32 | BF16, "F21 integer-exponent"},
    {"the first token only", first_token_only, PLAIN, 2, F32 | BF16, "F24 wrong-axis"},
    {"the first head only", first_head_only, PLAIN, 2, F32 | BF16, "F24 wrong-axis"},
    {"nothing done", nothing, PLAIN, 1, F32 | BF16 | F16, "stale"},
    {"zeros", zeros, PLAIN, 1, F32 | BF16, "stale"},
};

const prop_pipeline_fault *prop_pipeline_faults_all(int *count)
{
    *count = (int)(sizeof faults / sizeof faults[0]);
    return faults;
}
