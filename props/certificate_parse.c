/* Certificates read from JSON. What is read is written again and compared, so that a key that is
 * unknown, missing, given twice or written otherwise makes a file malformed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "props/certificate_json.h"

/* Each get_ returns whether the key holds such a value. */

static const char *get_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static bool get_copy(const cJSON *object, const char *key, char *to, size_t size)
{
    const char *text = get_text(object, key);
    if (text == NULL || strlen(text) >= size)
        return false;
    strcpy(to, text);
    return true;
}

static bool get_unsigned(const cJSON *object, const char *key, uint64_t *value)
{
    const char *text = get_text(object, key);
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool get_signed(const cJSON *object, const char *key, int64_t *value)
{
    const char *text = get_text(object, key);
    char *end;
    if (text == NULL || (*text != '-' && (*text < '0' || *text > '9')))
        return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool get_number(const cJSON *object, const char *key, double *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNull(item))
        *value = NAN;
    else if (cJSON_IsString(item) && strcmp(item->valuestring, "infinity") == 0)
        *value = INFINITY;
    else if (cJSON_IsNumber(item))
        *value = item->valuedouble;
    else
        return false;
    return true;
}

static bool get_hex(const cJSON *object, const char *key, double *value)
{
    const char *text = get_text(object, key);
    char *end;
    if (text == NULL || *text == '\0')
        return false;
    *value = strtod(text, &end);
    return *end == '\0';
}

static bool get_sum(const cJSON *object, const char *key, certificate_sum *sum)
{
    const char *text = get_text(object, key);
    return text != NULL && certificate_sum_parse(text, sum);
}

static bool get_probe(const cJSON *object, uint32_t *probe)
{
    const char *text = get_text(object, "probe");
    for (*probe = 0; text != NULL && *probe < 3; ++*probe)
        if (strcmp(text, certificate_probe_names[*probe]) == 0)
            return true;
    return false;
}

static bool get_case(const cJSON *object, certificate_case *c)
{
    return get_signed(object, "position", &c->position) && get_signed(object, "pair", &c->pair) &&
           get_probe(object, &c->probe) && get_hex(object, "x0", &c->x0) &&
           get_hex(object, "x1", &c->x1) && get_hex(object, "y0", &c->y0) &&
           get_hex(object, "y1", &c->y1) && get_number(object, "error_u", &c->error_u) &&
           get_number(object, "bound_u", &c->bound_u);
}

/* null, and NaN, where no contract was met. */
static bool get_bound(const cJSON *object, const char *key, double *bound, int64_t *position,
                      int64_t *pair)
{
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(object, key);
    *bound = NAN;
    return cJSON_IsNull(at) ||
           (get_number(at, "bound_u", bound) && get_signed(at, "position", position) &&
            get_signed(at, "pair", pair));
}

static bool get_tally(const cJSON *object, certificate_tally *t)
{
    return get_unsigned(object, "pairs", &t->pairs) &&
           get_unsigned(object, "correctly_rounded", &t->correctly_rounded) &&
           get_unsigned(object, "misrounded", &t->misrounded) &&
           get_unsigned(object, "above_contract", &t->above) &&
           get_unsigned(object, "without_contract", &t->without) &&
           get_number(object, "max_error_u", &t->max_error_u) &&
           get_number(object, "max_ulp", &t->max_ulp) &&
           get_sum(object, "squares_u", &t->squares_u) &&
           get_sum(object, "squares_ulp", &t->squares_ulp);
}

static bool get_stage(const cJSON *content, const char *key, certificate_stage *stage)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(content, key), *item;
    const cJSON *worst = cJSON_GetObjectItemCaseSensitive(object, "worst");
    const cJSON *places = cJSON_GetObjectItemCaseSensitive(object, "first_misrounded");
    if (!get_tally(object, &stage->total) || !cJSON_IsArray(worst) || !cJSON_IsArray(places))
        return false;
    cJSON_ArrayForEach(item, worst)
    {
        if (stage->worst_count == CERTIFICATE_WORST ||
            !get_case(item, &stage->worst[stage->worst_count++]))
            return false;
    }
    cJSON_ArrayForEach(item, places)
    {
        if (stage->misrounded_count == CERTIFICATE_MISROUNDED)
            return false;
        certificate_place *place = &stage->misrounded[stage->misrounded_count++];
        if (!get_signed(item, "position", &place->position) ||
            !get_signed(item, "pair", &place->pair) || !get_probe(item, &place->probe))
            return false;
    }
    return true;
}

static bool get_segments(const cJSON *content, certificate *c)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(content, "segments"), *item;
    int count = cJSON_GetArraySize(array);
    if (!cJSON_IsArray(array) || count < 1 || count > CERTIFICATE_SEGMENTS + 1)
        return false;
    c->segments = calloc((size_t)count, sizeof *c->segments);
    if (c->segments == NULL)
        return false;
    cJSON_ArrayForEach(item, array)
    {
        certificate_segment *g = &c->segments[c->segment_count++];
        if (!get_signed(item, "first", &g->first) || !get_signed(item, "end", &g->end) ||
            !get_tally(cJSON_GetObjectItemCaseSensitive(item, "angle"), &g->tally[0]) ||
            !get_tally(cJSON_GetObjectItemCaseSensitive(item, "rotation"), &g->tally[1]))
            return false;
    }
    return true;
}

static bool get_content(const cJSON *content, certificate *c)
{
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(content, "kernel");
    const cJSON *range = cJSON_GetObjectItemCaseSensitive(content, "range");
    const cJSON *shard = cJSON_GetObjectItemCaseSensitive(content, "shard");
    const cJSON *contract = cJSON_GetObjectItemCaseSensitive(content, "contract");
    const cJSON *search = cJSON_GetObjectItemCaseSensitive(content, "search");
    const char *spec = get_text(content, "spec");
    if (spec == NULL || (c->spec = strdup(spec)) == NULL)
        return false;
    return get_copy(kernel, "name", c->kernel, sizeof c->kernel) &&
           get_copy(kernel, "plugin", c->plugin, sizeof c->plugin) &&
           get_copy(kernel, "binary_hash", c->binary_hash, sizeof c->binary_hash) &&
           get_copy(kernel, "table", c->table, sizeof c->table) &&
           get_copy(kernel, "arithmetic", c->arithmetic, sizeof c->arithmetic) &&
           get_copy(content, "truth", c->truth, sizeof c->truth) &&
           get_copy(content, "dtype", c->dtype, sizeof c->dtype) &&
           get_unsigned(content, "seed", &c->seed) && get_signed(range, "first", &c->first) &&
           get_signed(range, "end", &c->end) && get_unsigned(shard, "index", &c->shard) &&
           get_unsigned(shard, "count", &c->shards) &&
           get_signed(shard, "first", &c->shard_first) && get_signed(shard, "end", &c->shard_end) &&
           get_signed(content, "pairs", &c->pairs) &&
           get_number(content, "attention_factor", &c->attention_factor) &&
           get_bound(contract, "bound_low", &c->bounds.low, &c->bounds.low_position,
                     &c->bounds.low_pair) &&
           get_bound(contract, "bound_high", &c->bounds.high, &c->bounds.high_position,
                     &c->bounds.high_pair) &&
           get_stage(content, "angle", &c->stage[CERTIFICATE_ANGLE]) &&
           get_stage(content, "rotation", &c->stage[CERTIFICATE_ROTATION]) &&
           get_unsigned(search, "evaluations", &c->search.evaluations) &&
           (c->search.evaluations == 0 ||
            get_case(cJSON_GetObjectItemCaseSensitive(search, "worst"), &c->search.worst)) &&
           get_segments(content, c);
}

/* Values that the arithmetic of the rest of this program relies on. */
static bool sane(const certificate *c)
{
    const int64_t limit = INT64_C(1) << 48;
    return c->first < c->end && (uint64_t)c->end - (uint64_t)c->first <= (uint64_t)limit &&
           c->shards >= 1 && c->shard >= 1 && c->shard <= c->shards &&
           c->shards <= (uint64_t)limit && c->shard_first >= c->first && c->shard_end <= c->end &&
           c->shard_first < c->shard_end && c->pairs >= 1 && c->pairs <= 1 << 14;
}

static certificate_reading parse_root(const cJSON *root, certificate *c, rope_error *error)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "tightrope_certificate");
    const cJSON *content = cJSON_GetObjectItemCaseSensitive(root, "content");
    const cJSON *provenance = cJSON_GetObjectItemCaseSensitive(root, "provenance");
    const char *stated = get_text(root, "content_hash");
    char hash[65];
    if (!cJSON_IsNumber(version)) {
        rope_fail(error, "is no certificate: no \"tightrope_certificate\" with a version");
        return CERTIFICATE_MALFORMED;
    }
    if (version->valuedouble != CERTIFICATE_VERSION) {
        rope_fail(error, "is a certificate of version %g, expected %d", version->valuedouble,
                  CERTIFICATE_VERSION);
        return CERTIFICATE_MALFORMED;
    }
    if (cJSON_GetArraySize(root) != 4 || stated == NULL || strlen(stated) != 64 ||
        !cJSON_IsObject(provenance)) {
        rope_fail(error, "has other keys than tightrope_certificate, content, content_hash and "
                         "provenance");
        return CERTIFICATE_MALFORMED;
    }
    if (!get_content(content, c) || !sane(c)) {
        rope_fail(error, "has a \"content\" that lacks a key or holds a value of another form");
        return CERTIFICATE_MALFORMED;
    }
    char *text = cJSON_PrintUnformatted(provenance);
    c->provenance = text != NULL ? strdup(text) : NULL;
    cJSON_free(text);
    cJSON *again = certificate_content_json(c);
    certificate_likeness like = certificate_compare(content, again);
    bool good = certificate_content_hash(again, hash);
    cJSON_Delete(again);
    if (like == CERTIFICATE_OTHER_SHAPE) {
        rope_fail(error, "has a \"content\" with other keys or types than a certificate's");
        return CERTIFICATE_MALFORMED;
    }
    if (like == CERTIFICATE_OTHER_VALUE) {
        rope_fail(error, "states numbers that do not follow from its own sums and counts");
        return CERTIFICATE_EDITED;
    }
    if (!good || strcmp(hash, stated) != 0) {
        rope_fail(error, "has content with hash %.16s..., but states %.16s...: it was edited",
                  good ? hash : "?", stated);
        return CERTIFICATE_EDITED;
    }
    return CERTIFICATE_READ;
}

certificate_reading certificate_parse(const char *text, size_t length, certificate *c,
                                      rope_error *error)
{
    *c = (certificate){0};
    const char *end = text;
    cJSON *root = cJSON_ParseWithLengthOpts(text, length, &end, false);
    while (root != NULL && end < text + length && strchr(" \t\r\n", *end) != NULL && *end != '\0')
        end++;
    if (root == NULL || end != text + length) {
        size_t at = end >= text && end <= text + length ? (size_t)(end - text) : 0;
        rope_fail(
            error,
            root == NULL ? "is no JSON near byte %zu" : "has text after its JSON, at byte %zu", at);
        cJSON_Delete(root);
        return CERTIFICATE_MALFORMED;
    }
    certificate_reading reading = parse_root(root, c, error);
    cJSON_Delete(root);
    return reading;
}
