/* head_dim, rotary_dim, base and pairing of a config.json. */
#include <math.h>
#include <string.h>

#include "impl/spec/config_parts.h"
#include "impl/spec/json.h"
#include "impl/spec/keys.h"

bool config_number(const config *c, const char *key, double *value)
{
    return rope_json_number(c->name, c->text, key, value, c->error);
}

/* The first of keys (ended by NULL) that is present; used gets its name. */
static bool first_number(const config *c, const char *const *keys, double *value, const char **used)
{
    *value = NAN;
    *used = keys[0];
    for (; *keys != NULL; keys++) {
        if (!config_number(c, *keys, value))
            return false;
        if (!isnan(*value)) {
            *used = *keys;
            return true;
        }
    }
    return true;
}

static bool whole(const config *c, const char *key, double value)
{
    return (value == floor(value) && value >= 1 && value <= 0x1p31) ||
           rope_fail(c->error, "%s: %s is %.17g, expected a whole number >= 1", c->name, key,
                     value);
}

/* hidden_size / num_attention_heads */
static bool divide_heads(const config *c, double *head_dim)
{
    static const char *const sizes[] = {"hidden_size", "n_embd", "d_model", NULL};
    static const char *const counts[] = {"num_attention_heads", "n_head", "n_heads", NULL};
    const char *size_key, *count_key;
    double size, count;
    if (!first_number(c, sizes, &size, &size_key) || !first_number(c, counts, &count, &count_key))
        return false;
    if (isnan(size) || isnan(count))
        return rope_fail(c->error, "%s: head_dim is missing, and %s to derive it from", c->name,
                         isnan(size) ? size_key : count_key);
    if (!whole(c, size_key, size) || !whole(c, count_key, count))
        return false;
    if (fmod(size, count) != 0)
        return rope_fail(c->error,
                         "%s: head_dim is missing, and %s = %.0f is no multiple of %s = "
                         "%.0f",
                         c->name, size_key, size, count_key, count);
    *head_dim = size / count;
    return true;
}

static bool read_head_dim(const config *c, double *head_dim)
{
    /* Multi-head latent attention rotates a slice of its own (DeepSeek): that slice is the head. */
    static const char *const keys[] = {"qk_rope_head_dim", "head_dim", "kv_channels",
                                       "attention_head_dim", NULL};
    static const char *const global_keys[] = {"global_head_dim", "head_dim", NULL};
    const char *used;
    if (!first_number(c, c->global ? global_keys : keys, head_dim, &used))
        return false;
    if (!isnan(*head_dim))
        return whole(c, used, *head_dim);
    if (c->model != NULL && c->model->head_dim != 0) {
        *head_dim = c->model->head_dim;
        return true;
    }
    return divide_heads(c, head_dim);
}

/* The share of head_dim that rotates, from whichever key states it. */
static bool read_share(const config *c, double *share)
{
    static const char *const keys[] = {"partial_rotary_factor", "rotary_pct", "rope_pct", NULL};
    const char *used = keys[0];
    double inner = NAN;
    if (c->rope != NULL &&
        !rope_json_number(c->name, c->rope, "partial_rotary_factor", &inner, c->error))
        return false;
    if (!first_number(c, keys, share, &used))
        return false;
    if (!isnan(inner) && !isnan(*share) && inner != *share && !c->layered)
        return rope_fail(c->error, "%s: %s contradicts partial_rotary_factor in the dictionary",
                         c->name, used);
    if (!isnan(inner))
        *share = inner;
    if (*share == 0)
        return rope_fail(c->error, "%s: %s is 0, expected more than 0 and at most 1", c->name,
                         isnan(inner) ? used : "partial_rotary_factor");
    if (isnan(*share) && c->model == NULL)
        *share = 1;
    else if (isnan(*share))
        *share = c->model->share;
    return isnan(*share) || *share == 0 || (*share > 0 && *share <= 1) ||
           rope_fail(c->error, "%s: %s is %.17g, expected more than 0 and at most 1", c->name, used,
                     *share);
}

static bool is_proportional(const config *c)
{
    const cJSON *type = rope_json_get(c->rope, "rope_type");
    return cJSON_IsString(type) && strcmp(type->valuestring, "proportional") == 0;
}

bool config_read_dimensions(config *c)
{
    double head_dim, share, rotary_dim;
    rope_spec *spec = c->spec;
    if (c->overridden & ROPE_KEY_BIT(head_dim))
        head_dim = 0;
    else if (!read_head_dim(c, &head_dim) || !rope_key_check(ROPE_KEY_head_dim, head_dim, c->error))
        return false;
    spec->head_dim = (int64_t)head_dim;
    if (c->overridden & ROPE_KEY_BIT(rotary_dim))
        return true;
    if (!config_number(c, "rotary_dim", &rotary_dim) || !read_share(c, &share))
        return false;
    if (is_proportional(c)) {
        spec->share = share;
        return true;
    }
    if (isnan(rotary_dim) && (isnan(share) || share == 0))
        return rope_fail(c->error,
                         "%s: rotary_dim is missing, model_type '%s' has no default for "
                         "it",
                         c->name, c->type);
    /* int(head_dim * share), as the library has it; with head_dim overridden the override rules. */
    if (isnan(rotary_dim))
        rotary_dim =
            rope_json_get(c->text, "qk_rope_head_dim") != NULL ? head_dim : trunc(head_dim * share);
    spec->rotary_dim = (int64_t)rotary_dim;
    if (head_dim != 0 && (rotary_dim < 2 || fmod(rotary_dim, 2) != 0 || rotary_dim > head_dim))
        return rope_fail(c->error,
                         "%s: rotary_dim comes out as %.17g, expected an even number from 2 to "
                         "head_dim = %.0f",
                         c->name, rotary_dim, head_dim);
    return true;
}

/* A file with a second base for its local layers: which one is meant must be said. */
static bool choose_base(config *c, double global, double local, double *base)
{
    if (c->layer == NULL)
        return rope_fail(c->error,
                         "%s has local and global layers with bases %.17g and %.17g, expected "
                         "%s:local or %s:global",
                         c->name, local, global, c->name, c->name);
    c->local = strcmp(c->layer, "local") == 0 || strcmp(c->layer, "sliding_attention") == 0;
    if (!c->local && strcmp(c->layer, "global") != 0 && strcmp(c->layer, "full_attention") != 0)
        return rope_fail(c->error, "%s has no layer type '%s', expected local or global", c->name,
                         c->layer);
    *base = c->local ? local : global;
    return true;
}

static bool stated_base(const config *c, double *base)
{
    static const char *const keys[] = {"rope_theta", "rotary_emb_base", "global_rope_theta", NULL};
    const char *used;
    double inner = NAN;
    if (!first_number(c, keys, base, &used))
        return false;
    if (c->rope != NULL && !rope_json_number(c->name, c->rope, "rope_theta", &inner, c->error))
        return false;
    if (!isnan(inner) && !isnan(*base) && inner != *base && !c->layered)
        return rope_fail(c->error,
                         "%s: %s = %.17g contradicts rope_theta = %.17g in rope_parameters",
                         c->name, used, *base, inner);
    if (!isnan(inner))
        *base = inner;
    return true;
}

bool config_read_base(config *c)
{
    static const char *const local_keys[] = {"rope_local_base_freq", "local_rope_theta", NULL};
    double base, local, ratio;
    const char *used;
    if (!stated_base(c, &base) || !first_number(c, local_keys, &local, &used) ||
        !config_number(c, "rope_ratio", &ratio))
        return false;
    if (isnan(base) && c->model != NULL && c->model->base != 0)
        base = c->model->base;
    if (!isnan(ratio))
        base *= ratio;
    if (isnan(local) && c->model != NULL && c->model->local_base != 0)
        local = c->model->local_base;
    if (!c->layered && !isnan(local) && !choose_base(c, base, local, &base))
        return false;
    if (!c->layered && isnan(local) && c->layer != NULL)
        return rope_fail(c->error, "%s describes one layer type, '%s' cannot be chosen", c->name,
                         c->layer);
    if (c->overridden & (ROPE_KEY_BIT(base) | ROPE_KEY_BIT(inv_freq)))
        return true;
    if (isnan(base))
        return rope_fail(c->error, "%s: rope_theta is missing%s%s%s", c->name,
                         c->type == NULL ? "" : ", and no default of model_type '",
                         c->type == NULL ? "" : c->type, c->type == NULL ? "" : "' is known");
    c->spec->base = base;
    return rope_key_check(ROPE_KEY_base, base, c->error);
}

bool config_read_pairing(config *c)
{
    const cJSON *interleave = rope_json_get(c->text, "rope_interleave");
    if (interleave != NULL && !cJSON_IsBool(interleave))
        return rope_fail(c->error, "%s: rope_interleave is neither true nor false", c->name);
    if (interleave != NULL) {
        c->spec->pairing = cJSON_IsTrue(interleave) ? ROPE_INTERLEAVED : ROPE_HALF;
        return true;
    }
    if (c->type != NULL && c->model == NULL && !(c->overridden & ROPE_KEY_BIT(pairing)))
        return rope_fail(c->error,
                         "%s: the pairing of model_type '%s' is unknown, say %s,pairing=half or "
                         "interleaved",
                         c->name, c->type, c->name);
    /* Without a model_type: rotate_half, which the library's shared code uses. */
    c->spec->pairing = c->model != NULL && c->model->pairing == ROPE_MODEL_INTERLEAVED
                           ? ROPE_INTERLEAVED
                           : ROPE_HALF;
    return true;
}
