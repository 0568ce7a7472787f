/* cJSON, with what it leaves to its callers: where a syntax error is, text after the value, and
 * keys given twice. */
#ifndef ROPE_JSON_H
#define ROPE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "impl/error.h"

/* Parses size bytes as one JSON object; NULL with "name:line:column: ...". Free with cJSON_Delete.
 */
cJSON *rope_json_parse(const char *name, const char *text, size_t size, rope_error *error);

/* False with a line where an object has a key twice. */
bool rope_json_keys_are_unique(const char *name, const cJSON *object, rope_error *error);

/* Member of an object; NULL where it is absent or null. */
const cJSON *rope_json_get(const cJSON *object, const char *key);

/* A number, or a string that holds one. NaN where absent or null. */
bool rope_json_number(const char *name, const cJSON *object, const char *key, double *value,
                      rope_error *error);

#endif
