/* Certificates written as JSON. 64-bit numbers are strings (cJSON keeps 53 bits), inputs and
 * outputs hex floats. */
#include "props/certificate_json.h"

#include <inttypes.h>
#include <math.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const char *const certificate_probe_names[3] = {"unit_u", "unit_v", "vector"};

static cJSON *case_json(const certificate_case *c)
{
    cJSON *object = cJSON_CreateObject();
    put_signed(object, "position", c->position);
    put_signed(object, "pair", c->pair);
    put_text(object, "probe", certificate_probe_names[c->probe]);
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
        put_text(place, "probe", certificate_probe_names[stage->misrounded[i].probe]);
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

/* A contract and the place where it is met; null where none is. */
static void put_bound(cJSON *object, const char *key, double bound, int64_t position, int64_t pair)
{
    if (isnan(bound)) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    cJSON *at = cJSON_AddObjectToObject(object, key);
    put_number(at, "bound_u", bound);
    put_signed(at, "position", position);
    put_signed(at, "pair", pair);
}

cJSON *certificate_content_json(const certificate *c)
{
    cJSON *content = cJSON_CreateObject();
    cJSON *kernel = cJSON_AddObjectToObject(content, "kernel");
    put_text(kernel, "name", c->kernel);
    put_text(kernel, "plugin", c->plugin);
    put_text(kernel, "binary_hash", c->binary_hash);
    put_text(kernel, "table", c->table);
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
    put_number(content, "attention_factor", c->attention_factor);
    put_number(content, "oracle_error", 0x1p-100);
    cJSON *contract = cJSON_AddObjectToObject(content, "contract");
    put_text(contract, "verdict", certificate_verdict(c));
    put_bound(contract, "bound_low", c->bounds.low, c->bounds.low_position, c->bounds.low_pair);
    put_bound(contract, "bound_high", c->bounds.high, c->bounds.high_position, c->bounds.high_pair);
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

bool certificate_content_hash(const cJSON *content, char hash[65])
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
    cJSON *root = cJSON_CreateObject(), *content = certificate_content_json(c);
    char hash[65], *text = NULL;
    cJSON_AddNumberToObject(root, "tightrope_certificate", CERTIFICATE_VERSION);
    cJSON_AddItemToObject(root, "content", content);
    if (certificate_content_hash(content, hash)) {
        put_text(root, "content_hash", hash);
        cJSON *provenance = c->provenance != NULL ? cJSON_Parse(c->provenance) : NULL;
        cJSON_AddItemToObject(root, "provenance",
                              provenance != NULL ? provenance : cJSON_CreateObject());
        text = cJSON_Print(root);
    }
    cJSON_Delete(root);
    return text;
}

certificate_likeness certificate_compare(const cJSON *file, const cJSON *ours)
{
    const cJSON *x = file->child, *y = ours->child;
    bool number = cJSON_IsRaw(ours);
    certificate_likeness worst = CERTIFICATE_LIKE;
    if (number ? !cJSON_IsNumber(file) : (file->type & 0xff) != (ours->type & 0xff))
        return CERTIFICATE_OTHER_SHAPE;
    if (number ? file->valuedouble != strtod(ours->valuestring, NULL)
               : cJSON_IsString(ours) && strcmp(file->valuestring, ours->valuestring) != 0)
        return CERTIFICATE_OTHER_VALUE;
    for (; x != NULL && y != NULL && worst < CERTIFICATE_OTHER_SHAPE; x = x->next, y = y->next) {
        if ((x->string != NULL) != (y->string != NULL) ||
            (x->string != NULL && strcmp(x->string, y->string) != 0))
            return CERTIFICATE_OTHER_SHAPE;
        certificate_likeness here = certificate_compare(x, y);
        worst = here > worst ? here : worst;
    }
    return (x == NULL) == (y == NULL) ? worst : CERTIFICATE_OTHER_SHAPE;
}
