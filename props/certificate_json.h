/* What writing and reading certificates share. */
#ifndef PROPS_CERTIFICATE_JSON_H
#define PROPS_CERTIFICATE_JSON_H

#include <cjson/cJSON.h>

#include "props/certificate.h"

/* The "content" of a certificate; cJSON_Delete. Numbers are raw text. */
cJSON *certificate_content_json(const certificate *c);

/* SHA-256 of a content as unformatted JSON; false when memory is out. */
bool certificate_content_hash(const cJSON *content, char hash[65]);

typedef enum certificate_likeness {
    CERTIFICATE_LIKE = 0,
    CERTIFICATE_OTHER_VALUE = 1, /* the same keys and types */
    CERTIFICATE_OTHER_SHAPE = 2,
} certificate_likeness;

/* The file's content against what we would write for what was read of it: numbers that we derive
 * (a verdict, a root mean square) may have been edited, keys added or given twice. Our numbers are
 * raw text. */
certificate_likeness certificate_compare(const cJSON *file, const cJSON *ours);

/* The names of certificate_probe's values. */
extern const char *const certificate_probe_names[3];

#endif
