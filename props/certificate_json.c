/* Certificates as JSON. 64-bit numbers are strings (cJSON keeps 53 bits), inputs and outputs hex
 * floats. What is read is written again and compared, so that a key that is unknown, missing, given
 * twice or written otherwise makes a file malformed. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/file.h"
#include "props/certificate.h"

static char *slurp(const char *path, size_t limit, size_t *size, rope_error *error)
{
    FILE *file;
    if (!rope_open_regular(path, &file, error))
        return NULL;
    char *text = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (used == room) {
            room = room > 0 ? 2 * room : 1 << 16;
            char *more = room <= limit ? realloc(text, room + 1) : NULL;
            if (more == NULL) {
                rope_fail(error, "cannot read %s: larger than %zu bytes", path, limit);
                break;
            }
            text = more;
        }
        size_t got = fread(text + used, 1, room - used, file);
        used += got;
        if (got == 0) {
            if (ferror(file)) {
                rope_fail(error, "cannot read %s: %s", path, strerror(errno));
                break;
            }
            fclose(file);
            text[used] = '\0';
            *size = used;
            return text;
        }
    }
    free(text);
    fclose(file);
    return NULL;
}

bool certificate_hash_file(const char *path, char hash[65], rope_error *error)
{
    if (!rope_check_regular(path, error))
        return false;
    if (SHA256File(path, hash) == NULL)
        return rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    return true;
}

/* ---- writing ---- */

static void put_text(cJSON *object, const char *key, const char *text)
{
    cJSON_AddStringToObject(object, key, text);
}

static void put_unsigned(cJSON *object, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put_text(object, key, text);
}

static void put_signed(cJSON *object, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_text(object, key, text);
}

/* JSON has no NaN and no infinity: null, and a string. */
static void put_number(cJSON *object, const char *key, double value)
{
    if (isnan(value))
        cJSON_AddNullToObject(object, key);
    else if (isinf(value))
        put_text(object, key, "infinity");
    else {
        /* cJSON itself keeps 15 digits where that is close enough for it. */
        char text[40];
        snprintf(text, sizeof text, "%.17g", value);
        cJSON_AddRawToObject(object, key, text);
    }
}

static void put_hex(cJSON *object, const char *key, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%a", value);
    put_text(object, key, isnan(value) ? "nan" : text);
}

static void put_sum(cJSON *object, const char *key, const certificate_sum *sum)
{
    char text[97];
    certificate_sum_format(sum, text);
    put_text(object, key, text);
}

static const char *const probe_names[] = {"unit_u", "unit_v", "vector"};

static cJSON *case_json(const certificate_case *c)
{
    cJSON *object = cJSON_CreateObject();
    put_signed(object, "position", c->position);
    put_signed(object, "pair", c->pair);
    put_text(object, "probe", probe_names[c->probe]);
    put_hex(object, "x0", c->x0);
    put_hex(object, "x1", c->x1);
    put_hex(object, "y0", c->y0);
    put_hex(object, "y1", c->y1);
    put_number(object, "error_u", c->error_u);
    put_number(object, "bound_u", c->bound_u);
    return object;
}

static cJSON *tally_json(const certificate_tally *t)
{
    cJSON *object = cJSON_CreateObject();
    put_unsigned(object, "pairs", t->pairs);
    put_unsigned(object, "correctly_rounded", t->correctly_rounded);
    put_unsigned(object, "misrounded", t->misrounded);
    put_unsigned(object, "above_contract", t->above);
    put_unsigned(object, "without_contract", t->without);
    put_number(object, "max_error_u", t->max_error_u);
    put_number(object, "max_ulp", t->max_ulp);
    put_sum(object, "squares_u", &t->squares_u);
    put_sum(object, "squares_ulp", &t->squares_ulp);
    return object;
}

static cJSON *stage_json(const certificate_stage *stage)
{
    const certificate_tally *t = &stage->total;
    cJSON *object = tally_json(t);
    put_number(object, "rms_u", certificate_rms(&t->squares_u, t->pairs));
    put_number(object, "rms_ulp", certificate_rms(&t->squares_ulp, t->pairs));
    put_number(object, "share_correctly_rounded",
               (double)t->correctly_rounded / (2 * (double)t->pairs));
    cJSON *worst = cJSON_AddArrayToObject(object, "worst");
    for (int i = 0; i < stage->worst_count; i++)
        cJSON_AddItemToArray(worst, case_json(&stage->worst[i]));
    cJSON *places = cJSON_AddArrayToObject(object, "first_misrounded");
    for (int i = 0; i < stage->misrounded_count; i++) {
        cJSON *place = cJSON_CreateObject();
        put_signed(place, "position", stage->misrounded[i].position);
        put_signed(place, "pair", stage->misrounded[i].pair);
        put_text(place, "probe", probe_names[stage->misrounded[i].probe]);
        cJSON_AddItemToArray(places, place);
    }
    return object;
}

static cJSON *segments_json(const certificate *c)
{
    cJSON *array = cJSON_CreateArray();
    for (int64_t i = 0; i < c->segment_count; i++) {
        cJSON *object = cJSON_CreateObject();
        put_signed(object, "first", c->segments[i].first);
        put_signed(object, "end", c->segments[i].end);
        cJSON_AddItemToObject(object, "angle", tally_json(&c->segments[i].tally[0]));
        cJSON_AddItemToObject(object, "rotation", tally_json(&c->segments[i].tally[1]));
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

static cJSON *content_json(const certificate *c)
{
    cJSON *content = cJSON_CreateObject();
    cJSON *kernel = cJSON_AddObjectToObject(content, "kernel");
    put_text(kernel, "name", c->kernel);
    put_text(kernel, "plugin", c->plugin);
    put_text(kernel, "binary_hash", c->binary_hash);
    put_text(kernel, "arithmetic", c->arithmetic);
    put_text(content, "spec", c->spec);
    put_text(content, "truth", c->truth);
    put_text(content, "dtype", c->dtype);
    put_unsigned(content, "seed", c->seed);
    cJSON *range = cJSON_AddObjectToObject(content, "range");
    put_signed(range, "first", c->first);
    put_signed(range, "end", c->end);
    cJSON *shard = cJSON_AddObjectToObject(content, "shard");
    put_unsigned(shard, "index", c->shard);
    put_unsigned(shard, "count", c->shards);
    put_signed(shard, "first", c->shard_first);
    put_signed(shard, "end", c->shard_end);
    put_signed(content, "pairs", c->pairs);
    put_number(content, "oracle_error", 0x1p-100);
    cJSON *contract = cJSON_AddObjectToObject(content, "contract");
    put_text(contract, "verdict", certificate_verdict(c));
    put_number(contract, "bound_low_u", c->bound_low);
    put_number(contract, "bound_high_u", c->bound_high);
    put_number(contract, "derived_bound_u", certificate_derived_bound(c));
    cJSON_AddItemToObject(content, "angle", stage_json(&c->stage[CERTIFICATE_ANGLE]));
    cJSON_AddItemToObject(content, "rotation", stage_json(&c->stage[CERTIFICATE_ROTATION]));
    cJSON *search = cJSON_AddObjectToObject(content, "search");
    put_unsigned(search, "evaluations", c->search.evaluations);
    if (c->search.evaluations > 0)
        cJSON_AddItemToObject(search, "worst", case_json(&c->search.worst));
    cJSON_AddItemToObject(content, "segments", segments_json(c));
    return content;
}

static bool hash_content(const cJSON *content, char hash[65])
{
    char *text = cJSON_PrintUnformatted(content);
    if (text == NULL)
        return false;
    SHA256Data((const uint8_t *)text, strlen(text), hash);
    cJSON_free(text);
    return true;
}

char *certificate_to_json(const certificate *c)
{
    cJSON *root = cJSON_CreateObject(), *content = content_json(c);
    char hash[65], *text = NULL;
    cJSON_AddNumberToObject(root, "tightrope_certificate", CERTIFICATE_VERSION);
    cJSON_AddItemToObject(root, "content", content);
    if (hash_content(content, hash)) {
        put_text(root, "content_hash", hash);
        cJSON *provenance = c->provenance != NULL ? cJSON_Parse(c->provenance) : NULL;
        cJSON_AddItemToObject(root, "provenance",
                              provenance != NULL ? provenance : cJSON_CreateObject());
        text = cJSON_Print(root);
    }
    cJSON_Delete(root);
    return text;
}

/* ---- reading: each get_ returns whether the key holds such a value ---- */

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
        if (strcmp(text, probe_names[*probe]) == 0)
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
           get_copy(kernel, "arithmetic", c->arithmetic, sizeof c->arithmetic) &&
           get_copy(content, "truth", c->truth, sizeof c->truth) &&
           get_copy(content, "dtype", c->dtype, sizeof c->dtype) &&
           get_unsigned(content, "seed", &c->seed) && get_signed(range, "first", &c->first) &&
           get_signed(range, "end", &c->end) && get_unsigned(shard, "index", &c->shard) &&
           get_unsigned(shard, "count", &c->shards) &&
           get_signed(shard, "first", &c->shard_first) && get_signed(shard, "end", &c->shard_end) &&
           get_signed(content, "pairs", &c->pairs) &&
           get_number(contract, "bound_low_u", &c->bound_low) &&
           get_number(contract, "bound_high_u", &c->bound_high) &&
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

typedef enum likeness {
    LIKE = 0,
    OTHER_VALUE = 1, /* the same keys and types */
    OTHER_SHAPE = 2,
} likeness;

/* The file's content against what we would write for what was read of it: numbers that we derive
 * (a verdict, a root mean square) may have been edited, keys added or given twice. Our numbers are
 * raw text. */
static likeness compare(const cJSON *file, const cJSON *ours)
{
    const cJSON *x = file->child, *y = ours->child;
    bool number = cJSON_IsRaw(ours);
    likeness worst = LIKE;
    if (number ? !cJSON_IsNumber(file) : (file->type & 0xff) != (ours->type & 0xff))
        return OTHER_SHAPE;
    if (number ? file->valuedouble != strtod(ours->valuestring, NULL)
               : cJSON_IsString(ours) && strcmp(file->valuestring, ours->valuestring) != 0)
        return OTHER_VALUE;
    for (; x != NULL && y != NULL && worst < OTHER_SHAPE; x = x->next, y = y->next) {
        if ((x->string != NULL) != (y->string != NULL) ||
            (x->string != NULL && strcmp(x->string, y->string) != 0))
            return OTHER_SHAPE;
        likeness here = compare(x, y);
        worst = here > worst ? here : worst;
    }
    return (x == NULL) == (y == NULL) ? worst : OTHER_SHAPE;
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
    cJSON *again = content_json(c);
    likeness like = compare(content, again);
    bool good = hash_content(again, hash);
    cJSON_Delete(again);
    if (like == OTHER_SHAPE) {
        rope_fail(error, "has a \"content\" with other keys or types than a certificate's");
        return CERTIFICATE_MALFORMED;
    }
    if (like == OTHER_VALUE) {
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

certificate_reading certificate_read(const char *path, certificate *c, rope_error *error)
{
    *c = (certificate){0};
    size_t size;
    char *text = slurp(path, (size_t)64 << 20, &size, error);
    if (text == NULL)
        return CERTIFICATE_MALFORMED;
    rope_error inner;
    certificate_reading reading = certificate_parse(text, size, c, &inner);
    if (reading != CERTIFICATE_READ)
        rope_fail(error, "%.200s: %.300s", path, inner.text);
    free(text);
    return reading;
}
