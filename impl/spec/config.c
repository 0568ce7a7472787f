/* config.json: finds the dictionary that describes the text model and the one that describes its
 * RoPE, and refuses rope-related keys that are not understood. The parameters themselves are read
 * in config_scaling.c. */
#include "impl/spec/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "impl/spec/config_parts.h"
#include "impl/spec/json.h"

/* Top-level keys about RoPE that this reader understands (or knows to say nothing). */
static const char *const understood[] = {
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rope_local_base_freq",
    "global_rope_theta",
    "local_rope_theta",
    "rope_ratio",
    "rope_interleave",
    "rope_pct",
    "rotary_pct",
    "rotary_emb_base",
    "rotary_dim",
    "qk_rope_head_dim",
    "no_rope_layers",
    "no_rope_layer_interval",
    "original_rope",
    "use_dynamic_ntk",
    "partial_rotary_factor",
    "rotary",
};

/* A word of the key, between underscores, is about rotary embedding. "europe" is not. */
static bool is_about_rope(const char *key)
{
    static const char *const words[] = {"rope", "rotary", "ntk", "yarn", "mrope"};
    while (*key != '\0') {
        size_t length = strcspn(key, "_");
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strlen(words[i]) == length && strncmp(words[i], key, length) == 0)
                return true;
        key += length + (key[length] == '_');
    }
    return false;
}

static bool check_understood(const config *c, const cJSON *dictionary)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, dictionary)
    {
        if (!is_about_rope(member->string) || cJSON_IsNull(member))
            continue;
        bool known = false;
        for (size_t i = 0; i < sizeof understood / sizeof understood[0]; i++)
            known = known || strcmp(understood[i], member->string) == 0;
        if (!known)
            return rope_fail(c->error, "%s: %s is not understood", c->name, member->string);
    }
    return true;
}

/* Flags whose other value is another model. */
static bool check_flags(const config *c)
{
    if (cJSON_IsTrue(rope_json_get(c->text, "alibi")))
        return rope_fail(c->error, "%s: alibi is true: the model has ALiBi, no RoPE", c->name);
    if (cJSON_IsTrue(rope_json_get(c->text, "use_dynamic_ntk")))
        return rope_fail(c->error,
                         "%s: use_dynamic_ntk is true, which is not supported: say "
                         "scaling=dynamic with its keys",
                         c->name);
    if (cJSON_IsFalse(rope_json_get(c->text, "original_rope")))
        return rope_fail(c->error, "%s: original_rope is false, which is not supported", c->name);
    if (cJSON_IsFalse(rope_json_get(c->text, "rotary")))
        return rope_fail(c->error, "%s: rotary is false: the model has no RoPE", c->name);
    /* Files of known types say "absolute" out of an older class's default (ModernBERT). */
    const cJSON *kind = rope_json_get(c->text, "position_embedding_type");
    if (c->model == NULL && cJSON_IsString(kind) && strcmp(kind->valuestring, "rope") != 0 &&
        strcmp(kind->valuestring, "rotary") != 0)
        return rope_fail(c->error, "%s: position_embedding_type is '%s', expected rope", c->name,
                         kind->valuestring);
    return true;
}

/* rope_theta of a dictionary, or of its rope_parameters or rope_scaling; NaN where none says. */
static bool stated_theta(const config *c, const cJSON *dictionary, double *theta)
{
    static const char *const inner[] = {"rope_parameters", "rope_scaling"};
    if (!rope_json_number(c->name, dictionary, "rope_theta", theta, c->error))
        return false;
    for (int i = 0; i < 2 && isnan(*theta); i++)
        if (!rope_json_number(c->name, rope_json_get(dictionary, inner[i]), "rope_theta", theta,
                              c->error))
            return false;
    return true;
}

/* The text model of a multimodal file is a dictionary of its own: the first of these. What other
 * places say of rope_theta must be the same. */
static bool find_text(config *c, const cJSON *root)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config"};
    const char *said_by = "the top level";
    double said, theta;
    c->text = root;
    if (!stated_theta(c, root, &said))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *inner = rope_json_get(root, names[i]);
        if (inner == NULL)
            continue;
        if (!cJSON_IsObject(inner))
            return rope_fail(c->error, "%s: %s is no dictionary", c->name, names[i]);
        if (c->text == root)
            c->text = inner;
        if (!stated_theta(c, inner, &theta))
            return false;
        if (!isnan(said) && !isnan(theta) && said != theta)
            return rope_fail(c->error,
                             "%s: rope_theta = %.17g in %s contradicts rope_theta = %.17g in %s",
                             c->name, theta, names[i], said, said_by);
        if (isnan(said) && !isnan(theta)) {
            said = theta;
            said_by = names[i];
        }
    }
    return true;
}

static bool find_model(config *c, const cJSON *root)
{
    const cJSON *type = rope_json_get(c->text, "model_type");
    if (type == NULL)
        type = rope_json_get(root, "model_type");
    c->type = cJSON_IsString(type) ? type->valuestring : NULL;
    c->model = c->type == NULL ? NULL : rope_model_find(c->type);
    if (c->model != NULL && c->model->pairing == ROPE_MODEL_ABSENT)
        return rope_fail(c->error, "%s: models of model_type '%s' have no RoPE", c->name, c->type);
    return true;
}

/* "local" and "global" stand for the names that the library gives to layer types. */
static const char *layer_name(const char *layer)
{
    if (strcmp(layer, "local") == 0)
        return "sliding_attention";
    return strcmp(layer, "global") == 0 ? "full_attention" : layer;
}

static bool refuse_layer(const config *c, const char *choices)
{
    if (c->layer == NULL)
        return rope_fail(c->error, "%s describes several layer types, expected one of: %s", c->name,
                         choices);
    return rope_fail(c->error, "%s has no layer type '%s', expected one of: %s", c->name, c->layer,
                     choices);
}

/* rope_parameters whose members are dictionaries, one a layer type. */
static bool choose_layer(config *c, const cJSON *parameters)
{
    char choices[256] = "";
    const cJSON *member, *chosen = NULL, *only = NULL;
    int count = 0;
    cJSON_ArrayForEach(member, parameters)
    {
        if (!cJSON_IsObject(member)) {
            if (cJSON_IsNull(member))
                continue;
            return rope_fail(c->error, "%s: rope_parameters mixes %s with layer types", c->name,
                             member->string);
        }
        only = member;
        size_t used = strlen(choices);
        snprintf(choices + used, sizeof choices - used, "%s%s:%s", count++ ? ", " : "", c->name,
                 member->string);
        if (c->layer != NULL && strcmp(layer_name(c->layer), member->string) == 0)
            chosen = member;
    }
    if (chosen == NULL && (c->layer != NULL || count != 1))
        return refuse_layer(c, choices);
    c->rope = chosen != NULL ? chosen : only;
    c->layered = true;
    c->global = strcmp(c->rope->string, "full_attention") == 0;
    return rope_json_keys_are_unique(c->name, c->rope, c->error);
}

static bool is_nested(const cJSON *parameters)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, parameters) if (cJSON_IsObject(member)) return true;
    return false;
}

static bool find_rope(config *c)
{
    const cJSON *scaling = rope_json_get(c->text, "rope_scaling");
    const cJSON *parameters = rope_json_get(c->text, "rope_parameters");
    if (scaling != NULL && !cJSON_IsObject(scaling))
        return rope_fail(c->error, "%s: rope_scaling is no dictionary", c->name);
    if (parameters != NULL && !cJSON_IsObject(parameters))
        return rope_fail(c->error, "%s: rope_parameters is no dictionary", c->name);
    if (scaling != NULL && parameters != NULL)
        return rope_fail(c->error, "%s: rope_scaling contradicts rope_parameters, expected one",
                         c->name);
    c->rope = scaling != NULL ? scaling : parameters;
    if (c->rope != NULL && !rope_json_keys_are_unique(c->name, c->rope, c->error))
        return false;
    return parameters == NULL || !is_nested(parameters) || choose_layer(c, parameters);
}

bool rope_config_parse(const char *name, const char *text, size_t size, const char *layer,
                       uint32_t overridden, rope_spec *spec, rope_error *error)
{
    cJSON *root = rope_json_parse(name, text, size, error);
    if (root == NULL)
        return false;
    config c = {
        .name = name, .layer = layer, .overridden = overridden, .spec = spec, .error = error};
    bool ok = rope_json_keys_are_unique(name, root, error) && find_text(&c, root) &&
              rope_json_keys_are_unique(name, c.text, error) && find_model(&c, root) &&
              check_flags(&c) && check_understood(&c, c.text) && find_rope(&c) &&
              config_read_dimensions(&c) && config_read_base(&c) && config_read_pairing(&c) &&
              config_read_scaling(&c);
    cJSON_Delete(root);
    return ok;
}

double rope_config_stated_length(const char *text, size_t size)
{
    rope_error ignored; /* what is wrong with the file, its reading as a spec says */
    double length = NAN;
    cJSON *root = rope_json_parse("", text, size, &ignored);
    config c = {.name = "", .error = &ignored};
    if (root != NULL && find_text(&c, root) &&
        (!config_number(&c, "max_position_embeddings", &length) || !(length >= 1)))
        length = NAN;
    cJSON_Delete(root);
    return length;
}
