#include "impl/spec/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/keys.h"

static bool fail_at(const char *name, const char *text, size_t at, const char *what,
                    rope_error *error)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    return rope_fail(error, "%s:%zu:%zu: %s", name, line, at - start + 1, what);
}

/* Where cJSON stopped. It steps back to the last byte where the text ends too early. */
static size_t stop_of(const char *text, size_t size, const char *end)
{
    size_t at = end == NULL ? 0 : (size_t)(end - text);
    return at + 1 >= size ? size : at;
}

cJSON *rope_json_parse(const char *name, const char *text, size_t size, rope_error *error)
{
    /* cJSON takes some 80 bytes an item, and there is at most one more than commas a nesting level;
     * files of models have a few hundred. */
    enum { COMMAS_LIMIT = 1000000 };
    size_t commas = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i] == ',' && ++commas > COMMAS_LIMIT) {
            fail_at(name, text, i, "more than 1000000 commas, expected a model's config.json",
                    error);
            return NULL;
        }
    const char *end = NULL;
    cJSON *root = size == 0 ? NULL : cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (root == NULL) {
        size_t at = stop_of(text, size, end);
        fail_at(name, text, at, at == size ? "the JSON ends too early" : "malformed JSON", error);
        return NULL;
    }
    size_t at = (size_t)(end - text);
    while (at < size && memchr(" \t\r\n", text[at], 4) != NULL)
        at++;
    bool ok = at == size || fail_at(name, text, at, "text after the JSON value", error);
    if (ok && !cJSON_IsObject(root))
        ok = fail_at(name, text, 0, "expected a JSON object", error);
    if (!ok) {
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool rope_json_keys_are_unique(const char *name, const cJSON *object, rope_error *error)
{
    size_t count = 0;
    const cJSON *member;
    cJSON_ArrayForEach(member, object) count++;
    const char **keys = calloc(count + 1, sizeof *keys);
    if (keys == NULL)
        return rope_fail(error, "%s: out of memory for %zu keys", name, count);
    count = 0;
    cJSON_ArrayForEach(member, object) keys[count++] = member->string;
    qsort(keys, count, sizeof *keys, compare);
    bool ok = true;
    for (size_t i = 1; ok && i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            ok = rope_fail(error, "%s: key '%s' is given twice", name, keys[i]);
    free(keys);
    return ok;
}

const cJSON *rope_json_get(const cJSON *object, const char *key)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNull(member) ? NULL : member;
}

bool rope_json_number(const char *name, const cJSON *object, const char *key, double *value,
                      rope_error *error)
{
    const cJSON *member = rope_json_get(object, key);
    *value = NAN;
    if (member == NULL)
        return true;
    if (cJSON_IsNumber(member) && isfinite(member->valuedouble)) {
        *value = member->valuedouble;
        return true;
    }
    if (cJSON_IsString(member) && rope_number(member->valuestring, value))
        return true;
    *value = NAN;
    return rope_fail(error, "%s: %s is no finite number", name, key);
}
