/* Specs as text: `key=value,...`, and back. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/presets.h"
#include "impl/spec/scalings.h"
#include "impl/spec/sources.h"

#define BIT(name) ROPE_KEY_BIT(name)

/* Nothing here has a default: a pairing or a base that nobody gave is the fault to prevent. */
static bool check_given(uint32_t given, rope_error *error)
{
    if (!(given & BIT(head_dim)))
        return rope_fail(error, "head_dim is missing, expected head_dim=N, elements of a head");
    if (!(given & BIT(pairing)))
        return rope_fail(error, "pairing is missing, expected pairing=half or interleaved");
    return true;
}

/* What an override makes void in the spec that it changes. */
static void drop_overridden(rope_spec *spec, const rope_spec *override, uint32_t given)
{
    if ((given & BIT(scaling)) && override->scaling != spec->scaling)
        rope_keys_clear(spec, rope_scaling_keys() & ~BIT(base));
    if ((given & BIT(head_dim)) && spec->rotary_dim == spec->head_dim)
        spec->rotary_dim = 0;
    if ((given & BIT(axes)) && override->axes != spec->axes)
        rope_keys_clear(spec, BIT(sections));
    if ((given & BIT(factor)) && !(given & BIT(max_position)))
        rope_keys_clear(spec, BIT(max_position));
    if ((given & BIT(max_position)) && !(given & BIT(factor)))
        rope_keys_clear(spec, BIT(factor));
}

static bool apply_overrides(const char *overrides, rope_spec *spec, const rope_spec *scratch,
                            uint32_t given, rope_error *error)
{
    drop_overridden(spec, scratch, given);
    return rope_keys_read(overrides, spec, &given, error);
}

static bool read_keys(const char *text, rope_spec *spec, rope_error *error)
{
    uint32_t given;
    return rope_keys_read(text, spec, &given, error) && check_given(given, error);
}

/* A first part with a key's letters before '=' is key=value text, whether or not the key exists. */
static bool is_key_value(const char *text)
{
    size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return text[name] == '=';
}

static bool read_preset(const rope_preset *preset, uint32_t overridden, rope_spec *spec,
                        rope_error *error)
{
    uint32_t given, lists = BIT(short_factors) | BIT(long_factors);
    if (preset->lacks_lists && (overridden & lists) != lists && !(overridden & BIT(scaling)))
        return rope_fail(error,
                         "preset %s has factor lists that only its file has, expected the path of "
                         "the %s (or short_factors= and long_factors=)",
                         preset->name, preset->source);
    return rope_keys_read(preset->spec, spec, &given, error);
}

/* SOURCE[,key=value,...]. The overrides are read first, alone: they tell what the source need not
 * say. */
static bool read_source(const char *text, rope_spec *spec, rope_error *error)
{
    size_t length = strcspn(text, ",");
    const char *overrides = text[length] == '\0' ? NULL : text + length + 1;
    char *source = strndup(text, length);
    if (source == NULL)
        return rope_fail(error, "out of memory for a spec of %zu bytes", strlen(text));
    rope_spec scratch;
    uint32_t given = 0;
    rope_spec_init(&scratch);
    bool ok = overrides == NULL || rope_keys_read(overrides, &scratch, &given, error);
    const rope_preset *preset = rope_preset_find(source);
    if (ok)
        ok = preset != NULL ? read_preset(preset, given, spec, error)
                            : rope_spec_from_path(source, given, spec, error);
    free(source);
    if (ok && overrides != NULL)
        ok = apply_overrides(overrides, spec, &scratch, given, error);
    rope_spec_free(&scratch);
    return ok;
}

bool rope_spec_parse(const char *text, rope_spec *spec, rope_error *error)
{
    rope_spec_init(spec);
    rope_error detail;
    bool keys = is_key_value(text), ok;
    if (*text == '\0')
        ok = rope_fail(error, "the spec is empty, expected a preset, a path, or key=value,...");
    else
        ok = keys ? read_keys(text, spec, error) : read_source(text, spec, error);
    if (ok && !rope_spec_validate(spec, &detail)) {
        int source = keys ? 0 : (int)strcspn(text, ",");
        ok = rope_fail(error, "%.*s%s%s", source, text, keys ? "" : ": ", detail.text);
    }
    if (!ok)
        rope_spec_free(spec);
    return ok;
}

typedef struct buffer {
    char *text;
    size_t size, used; /* used counts what does not fit, too */
} buffer;

static void put(buffer *b, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length && b->used + i + 1 < b->size; i++)
        b->text[b->used + i] = text[i];
    b->used += length;
    if (b->size != 0)
        b->text[b->used < b->size ? b->used : b->size - 1] = '\0';
}

/* The shortest decimal that reads back as the same f64; 17 digits always do. */
static void put_number(buffer *b, double value)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* Whole numbers up to 2^53 in full: 500000, not 5e+05. */
    if (value == floor(value) && fabs(value) <= 0x1p53)
        snprintf(text, sizeof text, "%.0f", value);
    put(b, text);
}

static void put_value(buffer *b, const rope_spec *spec, int key)
{
    const char *at = (const char *)spec + rope_keys[key].offset;
    const rope_list *list = (const rope_list *)at;
    char text[24];
    switch (rope_keys[key].kind) {
    case ROPE_KEY_INTEGER:
        snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)at);
        put(b, text);
        break;
    case ROPE_KEY_NUMBER:
        put_number(b, *(const double *)at);
        break;
    case ROPE_KEY_LIST:
        for (int64_t i = 0; i < list->count; i++) {
            put(b, i == 0 ? "" : ":");
            put_number(b, list->values[i]);
        }
        break;
    case ROPE_KEY_FLAG:
        put(b, *(const uint32_t *)at ? "1" : "0");
        break;
    case ROPE_KEY_PAIRING:
        put(b, rope_pairing_name(spec->pairing));
        break;
    case ROPE_KEY_SCALING:
        put(b, rope_scaling_name(spec->scaling));
        break;
    case ROPE_KEY_AXES:
        put(b, rope_axes_name(spec->axes));
        break;
    }
}

int rope_spec_format(const rope_spec *spec, char *text, size_t size)
{
    uint32_t shown = rope_keys_present(spec) | BIT(head_dim) | BIT(pairing);
    if (spec->rotary_dim != spec->head_dim)
        shown |= BIT(rotary_dim);
    if (spec->rotary_offset != 0)
        shown |= BIT(rotary_offset);
    if (spec->scaling != ROPE_SCALING_NONE)
        shown |= BIT(scaling);
    if (spec->axes != ROPE_AXES_TEXT)
        shown |= BIT(axes);
    buffer b = {text, size, 0};
    put(&b, "");
    for (int key = 0; key < ROPE_KEYS_COUNT; key++) {
        if (!(shown & UINT32_C(1) << key))
            continue;
        put(&b, b.used == 0 ? "" : ",");
        put(&b, rope_keys[key].name);
        put(&b, "=");
        put_value(&b, spec, key);
    }
    return (int)b.used;
}
