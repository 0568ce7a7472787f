/* What writing and reading certificates share. */
#ifndef PROPS_CERTIFICATE_JSON_H
#define PROPS_CERTIFICATE_JSON_H

#include <cjson/cJSON.h>

#include "props/certificate.h"

/* The "content" of a certificate; cJSON_Delete. Numbers are raw text. */
cJSON *certificate_content_json(const certificate *c);

/* SHA-256 of a content as unformatted JSON; false when memory is out. */
bool certificate_content_hash(const cJSON *content, char hash[65]);

/* The names of certificate_probe's values. */
extern const char *const certificate_probe_names[3];

#endif
