#include "impl/spec/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/npy.h"

const rope_key rope_keys[ROPE_KEYS_COUNT] = {
#define KEY(name, kind, low, high) {#name, ROPE_KEY_##kind, offsetof(rope_spec, name), low, high},
    ROPE_KEYS(KEY)
#undef KEY
};

static void *field(rope_spec *spec, int key)
{
    return (char *)spec + rope_keys[key].offset;
}

static bool is_present(const rope_spec *spec, int key)
{
    const char *at = (const char *)spec + rope_keys[key].offset;
    switch (rope_keys[key].kind) {
    case ROPE_KEY_NUMBER:
        return !isnan(*(const double *)at);
    case ROPE_KEY_LIST:
        return ((const rope_list *)at)->count != 0;
    case ROPE_KEY_FLAG:
        return *(const uint32_t *)at != (key == ROPE_KEY_truncate);
    default:
        return false;
    }
}

uint32_t rope_keys_present(const rope_spec *spec)
{
    uint32_t set = 0;
    for (int key = 0; key < ROPE_KEYS_COUNT; key++)
        if (is_present(spec, key))
            set |= UINT32_C(1) << key;
    return set;
}

const char *rope_keys_first(uint32_t set)
{
    for (int key = 0; key < ROPE_KEYS_COUNT; key++)
        if (set & UINT32_C(1) << key)
            return rope_keys[key].name;
    return "";
}

void rope_keys_clear(rope_spec *spec, uint32_t set)
{
    for (int key = 0; key < ROPE_KEYS_COUNT; key++) {
        if (!(set & UINT32_C(1) << key))
            continue;
        switch (rope_keys[key].kind) {
        case ROPE_KEY_INTEGER:
            *(int64_t *)field(spec, key) = 0;
            break;
        case ROPE_KEY_NUMBER:
            *(double *)field(spec, key) = NAN;
            break;
        case ROPE_KEY_LIST:
            free((void *)((rope_list *)field(spec, key))->values);
            *(rope_list *)field(spec, key) = (rope_list){0};
            break;
        default:
            *(uint32_t *)field(spec, key) = key == ROPE_KEY_truncate;
        }
    }
}

bool rope_number(const char *text, double *value)
{
    /* strtod would take leading blanks, "nan" and "infinity". */
    if (text[strspn(text, "0123456789abcdefABCDEFxXpP.+-")] != '\0' || *text == '\0')
        return false;
    char *end;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

bool rope_key_check(int key, double value, rope_error *error)
{
    const rope_key *k = &rope_keys[key];
    bool zero = key == ROPE_KEY_inv_freq && value == 0; /* a pair that does not rotate */
    if (zero || (value >= k->low && value <= k->high))
        return true;
    if (key == ROPE_KEY_base)
        return rope_fail(error, "base is %.17g, expected a number > 1 and <= 2^256", value);
    return rope_fail(error, "%s is %.17g, expected %s from %.3g to %.8g", k->name, value,
                     k->kind == ROPE_KEY_NUMBER || k->kind == ROPE_KEY_LIST ? "a number"
                                                                            : "a whole number",
                     k->low, k->high);
}

static bool read_integer(int key, const char *value, rope_spec *spec, rope_error *error)
{
    double number;
    if (value[strspn(value, "0123456789")] != '\0' || !rope_number(value, &number))
        return rope_fail(error, "%s is '%s', expected a whole number from %.0f to %.0f",
                         rope_keys[key].name, value, rope_keys[key].low, rope_keys[key].high);
    if (!rope_key_check(key, number, error))
        return false;
    *(int64_t *)field(spec, key) = (int64_t)number;
    return true;
}

static bool read_number(int key, const char *value, rope_spec *spec, rope_error *error)
{
    double number;
    if (!rope_number(value, &number))
        return rope_fail(error, "%s is '%s', expected a finite number", rope_keys[key].name, value);
    if (!rope_key_check(key, number, error))
        return false;
    *(double *)field(spec, key) = number;
    return true;
}

static bool read_list_file(int key, const char *path, rope_list *list, rope_error *error)
{
    npy_array array;
    if (!npy_open(path, &array, error))
        return false;
    double *values = NULL;
    bool ok;
    if (array.dimensions != 1 || array.count < 1 || array.count > ROPE_LIST_LIMIT)
        ok = rope_fail(error, "%s: %s expects an array of one dimension, 1 to %d numbers",
                       array.path, rope_keys[key].name, ROPE_LIST_LIMIT);
    else
        ok = npy_read_f64(&array, &values, error);
    *list = (rope_list){values, ok ? array.count : 0};
    npy_close(&array);
    return ok;
}

static bool read_list_text(int key, char *value, rope_list *list, rope_error *error)
{
    int64_t count = 1;
    for (const char *c = value; *c != '\0'; c++)
        count += *c == ':';
    if (count > ROPE_LIST_LIMIT)
        return rope_fail(error, "%s has %lld numbers, expected at most %d", rope_keys[key].name,
                         (long long)count, ROPE_LIST_LIMIT);
    double *values = calloc((size_t)count, sizeof *values);
    if (values == NULL)
        return rope_fail(error, "%s: out of memory", rope_keys[key].name);
    *list = (rope_list){values, count};
    for (int64_t i = 0; i < count; i++) {
        char *item = strsep(&value, ":");
        if (!rope_number(item, &values[i]))
            return rope_fail(error, "%s has '%s' as number %lld, expected numbers as in 16:24:24",
                             rope_keys[key].name, item, (long long)i + 1);
    }
    return true;
}

static bool read_list(int key, char *value, rope_spec *spec, rope_error *error)
{
    rope_list *list = field(spec, key);
    free((void *)list->values);
    *list = (rope_list){0};
    bool ok = *value == '@' ? read_list_file(key, value + 1, list, error)
                            : read_list_text(key, value, list, error);
    for (int64_t i = 0; ok && i < list->count; i++)
        ok = rope_key_check(key, list->values[i], error);
    return ok;
}

static bool read_flag(int key, const char *value, rope_spec *spec, rope_error *error)
{
    bool yes = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
        return rope_fail(error, "%s is '%s', expected 0 or 1", rope_keys[key].name, value);
    *(uint32_t *)field(spec, key) = yes;
    return true;
}

/* A name out of those that name(0), name(1), ... yield until NULL. */
static bool read_name(int key, const char *value, const char *(*name)(uint32_t), rope_spec *spec,
                      rope_error *error)
{
    char expected[256] = "";
    for (uint32_t i = 0; name(i) != NULL; i++) {
        if (strcmp(name(i), value) == 0) {
            *(uint32_t *)field(spec, key) = i;
            return true;
        }
        if (i != 0)
            strncat(expected, ", ", sizeof expected - strlen(expected) - 1);
        strncat(expected, name(i), sizeof expected - strlen(expected) - 1);
    }
    return rope_fail(error, "%s is '%s', expected one of: %s", rope_keys[key].name, value,
                     expected);
}

/* Counts of axes stand for the usual layout of that many. */
static bool read_axes(int key, const char *value, rope_spec *spec, rope_error *error)
{
    static const uint32_t by_count[] = {ROPE_AXES_TEXT, ROPE_AXES_HEIGHT_WIDTH, ROPE_AXES_MROPE};
    if (value[0] >= '1' && value[0] <= '3' && value[1] == '\0') {
        spec->axes = by_count[value[0] - '1'];
        return true;
    }
    return read_name(key, value, rope_axes_name, spec, error);
}

static bool read_value(int key, char *value, rope_spec *spec, rope_error *error)
{
    if (*value == '\0')
        return rope_fail(error, "%s has no value, expected %s=VALUE", rope_keys[key].name,
                         rope_keys[key].name);
    switch (rope_keys[key].kind) {
    case ROPE_KEY_INTEGER:
        return read_integer(key, value, spec, error);
    case ROPE_KEY_NUMBER:
        return read_number(key, value, spec, error);
    case ROPE_KEY_LIST:
        return read_list(key, value, spec, error);
    case ROPE_KEY_FLAG:
        return read_flag(key, value, spec, error);
    case ROPE_KEY_PAIRING:
        return read_name(key, value, rope_pairing_name, spec, error);
    case ROPE_KEY_SCALING:
        return read_name(key, value, rope_scaling_name, spec, error);
    case ROPE_KEY_AXES:
        return read_axes(key, value, spec, error);
    }
    return false;
}

static int key_index(const char *name)
{
    for (int key = 0; key < ROPE_KEYS_COUNT; key++)
        if (strcmp(rope_keys[key].name, name) == 0)
            return key;
    return -1;
}

static bool read_item(char *item, rope_spec *spec, uint32_t *given, rope_error *error)
{
    char *equals = strchr(item, '=');
    if (equals == NULL)
        return rope_fail(error, "'%s' in the spec is no key=value", item);
    *equals = '\0';
    int key = key_index(item);
    if (key < 0)
        return rope_fail(error,
                         "unknown key '%s' in the spec, expected one of those in docs/specs.md"
                         " (head_dim, base, pairing, ...)",
                         item);
    if (*given & UINT32_C(1) << key)
        return rope_fail(error, "%s is given twice in the spec", item);
    *given |= UINT32_C(1) << key;
    return read_value(key, equals + 1, spec, error);
}

bool rope_keys_read(const char *text, rope_spec *spec, uint32_t *given, rope_error *error)
{
    *given = 0;
    char *copy = strdup(text);
    if (copy == NULL)
        return rope_fail(error, "out of memory for a spec of %zu bytes", strlen(text));
    bool ok = true;
    for (char *rest = copy; ok && rest != NULL;)
        ok = read_item(strsep(&rest, ","), spec, given, error);
    free(copy);
    return ok;
}
