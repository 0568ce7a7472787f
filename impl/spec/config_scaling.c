/* The scaling of a config.json: rope_scaling, or rope_parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/config_parts.h"
#include "impl/spec/json.h"
#include "impl/spec/keys.h"

static const struct {
    const char *key;
    int field; /* the spec's key that it sets; -1: read elsewhere, or of no effect */
} understood[] = {
    {"rope_type", -1},
    {"type", -1},
    {"rope_theta", -1},
    {"partial_rotary_factor", -1},
    {"mrope_section", -1},
    {"mrope_interleaved", -1},
    {"finetuned", -1}, /* says how the weights came about */
    {"truncate", -1},
    {"short_factor", ROPE_KEY_short_factors},
    {"long_factor", ROPE_KEY_long_factors},
    {"factor", ROPE_KEY_factor},
    {"original_max_position_embeddings", ROPE_KEY_original},
    {"attention_factor", ROPE_KEY_attention_factor},
    {"beta_fast", ROPE_KEY_beta_fast},
    {"beta_slow", ROPE_KEY_beta_slow},
    {"mscale", ROPE_KEY_mscale},
    {"mscale_all_dim", ROPE_KEY_mscale_all_dim},
    {"low_freq_factor", ROPE_KEY_low},
    {"high_freq_factor", ROPE_KEY_high},
};
enum { UNDERSTOOD = sizeof understood / sizeof understood[0] };

static const struct {
    const char *name;
    rope_scaling scaling;
} types[] = {
    {"default", ROPE_SCALING_NONE},
    {"mrope", ROPE_SCALING_NONE},
    {"linear", ROPE_SCALING_LINEAR},
    {"dynamic", ROPE_SCALING_DYNAMIC},
    {"yarn", ROPE_SCALING_YARN},
    {"llama3", ROPE_SCALING_LLAMA3},
    {"longrope", ROPE_SCALING_LONGROPE},
    {"su", ROPE_SCALING_LONGROPE}, /* Phi-3's first files */
    {"proportional", ROPE_SCALING_PROPORTIONAL},
};

static bool read_type(config *c)
{
    const cJSON *type = rope_json_get(c->rope, "rope_type");
    const cJSON *old = rope_json_get(c->rope, "type");
    if ((type != NULL && !cJSON_IsString(type)) || (old != NULL && !cJSON_IsString(old)))
        return rope_fail(c->error, "%s: rope_type is no string", c->name);
    /* Files of Qwen2-VL and Qwen3-VL say default beside mrope. */
    if (type != NULL && old != NULL && strcmp(type->valuestring, old->valuestring) != 0 &&
        strcmp(old->valuestring, "mrope") != 0)
        return rope_fail(c->error, "%s: rope_type '%s' contradicts type '%s'", c->name,
                         type->valuestring, old->valuestring);
    if (type == NULL)
        type = old;
    if (type == NULL) {
        if (rope_json_get(c->rope, "factor") != NULL)
            return rope_fail(c->error, "%s: rope_type is missing beside factor", c->name);
        return true;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, type->valuestring) == 0) {
            c->spec->scaling = types[i].scaling;
            return true;
        }
    return rope_fail(c->error,
                     "%s: rope_type '%s' is unknown, expected default, linear, dynamic, "
                     "yarn, llama3, longrope, proportional or mrope",
                     c->name, type->valuestring);
}

static bool read_list(const config *c, const char *key, int field)
{
    const cJSON *list = rope_json_get(c->rope, key), *item;
    int count = cJSON_GetArraySize(list), i = 0;
    if (!cJSON_IsArray(list) || count < 1 || count > ROPE_LIST_LIMIT)
        return rope_fail(c->error, "%s: %s is no list of 1 to %d numbers", c->name, key,
                         ROPE_LIST_LIMIT);
    double *values = calloc((size_t)count, sizeof *values);
    if (values == NULL)
        return rope_fail(c->error, "%s: out of memory for %s", c->name, key);
    rope_list *target = (rope_list *)((char *)c->spec + rope_keys[field].offset);
    *target = (rope_list){values, count};
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) &&
            !(cJSON_IsString(item) && rope_number(item->valuestring, &values[i])))
            return rope_fail(c->error, "%s: %s has an entry that is no number", c->name, key);
        if (cJSON_IsNumber(item))
            values[i] = item->valuedouble;
        if (!rope_key_check(field, values[i++], c->error))
            return false;
    }
    return true;
}

static bool read_field(const config *c, const char *key, int field)
{
    if (rope_keys[field].kind == ROPE_KEY_LIST)
        return read_list(c, key, field);
    double *target = (double *)((char *)c->spec + rope_keys[field].offset);
    if (!rope_json_number(c->name, c->rope, key, target, c->error))
        return false;
    /* The library tests these two for truth: 0 is as good as absent. */
    if ((field == ROPE_KEY_mscale || field == ROPE_KEY_mscale_all_dim) && *target == 0)
        *target = NAN;
    rope_error detail;
    return isnan(*target) || rope_key_check(field, *target, &detail) ||
           rope_fail(c->error, "%s: %s: %s", c->name, key, detail.text);
}

static bool read_members(const config *c)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, c->rope)
    {
        int i = 0;
        while (i < UNDERSTOOD && strcmp(understood[i].key, member->string) != 0)
            i++;
        if (i == UNDERSTOOD)
            return rope_fail(c->error, "%s: %s in the rope dictionary is not understood", c->name,
                             member->string);
        if (understood[i].field >= 0 && !cJSON_IsNull(member) &&
            !read_field(c, member->string, understood[i].field))
            return false;
    }
    const cJSON *truncate = rope_json_get(c->rope, "truncate");
    if (truncate != NULL && !cJSON_IsBool(truncate))
        return rope_fail(c->error, "%s: truncate is neither true nor false", c->name);
    c->spec->truncate = truncate == NULL || cJSON_IsTrue(truncate);
    return true;
}

static bool read_mrope(const config *c)
{
    const cJSON *sections = rope_json_get(c->rope, "mrope_section");
    const cJSON *interleaved = rope_json_get(c->rope, "mrope_interleaved");
    const cJSON *type = rope_json_get(c->rope, "type");
    if (interleaved != NULL && !cJSON_IsBool(interleaved))
        return rope_fail(c->error, "%s: mrope_interleaved is neither true nor false", c->name);
    if (sections == NULL && interleaved == NULL &&
        !(cJSON_IsString(type) && strcmp(type->valuestring, "mrope") == 0))
        return true;
    if (sections == NULL)
        return rope_fail(c->error, "%s: mrope_section is missing", c->name);
    c->spec->axes = cJSON_IsTrue(interleaved) ? ROPE_AXES_MROPE_INTERLEAVED : ROPE_AXES_MROPE;
    return read_list(c, "mrope_section", ROPE_KEY_sections);
}

/* Lengths that stand outside the dictionary. */
static bool read_lengths(const config *c)
{
    rope_spec *spec = c->spec;
    double original, longest;
    if (!config_number(c, "original_max_position_embeddings", &original) ||
        !config_number(c, "max_position_embeddings", &longest))
        return false;
    if (!isnan(original) && !isnan(spec->original) && original != spec->original)
        return rope_fail(c->error,
                         "%s: original_max_position_embeddings is %.17g, and %.17g in the "
                         "dictionary",
                         c->name, original, spec->original);
    bool wants = spec->scaling == ROPE_SCALING_DYNAMIC || spec->scaling == ROPE_SCALING_YARN ||
                 spec->scaling == ROPE_SCALING_LLAMA3 || spec->scaling == ROPE_SCALING_LONGROPE;
    if (!wants) {
        spec->original = NAN; /* stated, and not part of the formula */
        return true;
    }
    if (isnan(spec->original))
        spec->original = original;
    /* The library's dynamic NTK measures against max_position_embeddings. */
    if (isnan(spec->original) && spec->scaling == ROPE_SCALING_DYNAMIC)
        spec->original = longest;
    if (isnan(spec->original) && !(c->overridden & ROPE_KEY_BIT(original)))
        return rope_fail(c->error, "%s: original_max_position_embeddings is missing", c->name);
    if (spec->scaling == ROPE_SCALING_LONGROPE && isnan(spec->factor))
        spec->max_position = longest;
    return true;
}

bool config_read_scaling(config *c)
{
    /* The dictionary beside two bases is the global layers' (Gemma 3). Read all the same, so that
     * what is wrong in it is found. */
    if (c->rope == NULL)
        return true;
    if (!read_type(c) || !read_members(c) || !read_mrope(c) || !read_lengths(c))
        return false;
    if (c->local) {
        rope_keys_clear(c->spec, UINT32_MAX & ~(ROPE_KEY_BIT(head_dim) | ROPE_KEY_BIT(rotary_dim) |
                                                ROPE_KEY_BIT(base) | ROPE_KEY_BIT(pairing) |
                                                ROPE_KEY_BIT(axes) | ROPE_KEY_BIT(sections)));
        c->spec->scaling = ROPE_SCALING_NONE;
    }
    return true;
}
