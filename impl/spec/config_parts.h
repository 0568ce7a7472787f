/* Between config.c, which finds the dictionaries, and config_dimensions.c and config_scaling.c,
 * which read them. */
#ifndef ROPE_CONFIG_PARTS_H
#define ROPE_CONFIG_PARTS_H

#include <cjson/cJSON.h>

#include "impl/spec/models.h"
#include "impl/spec/spec.h"

typedef struct config {
    const char *name;        /* of the file */
    const char *layer;       /* asked for, or NULL */
    uint32_t overridden;     /* keys that the caller will set */
    const cJSON *text;       /* the text model's dictionary */
    const cJSON *rope;       /* rope_scaling or rope_parameters (of the layer type), or NULL */
    bool layered, global;    /* rope is of one layer type; of full_attention */
    bool local;              /* of the local layers of a file with two bases: no scaling */
    const char *type;        /* model_type, or NULL */
    const rope_model *model; /* of it, or NULL */
    rope_spec *spec;
    rope_error *error;
} config;

/* Each fills its part of the spec; false with a line. In this order. */
bool config_read_dimensions(config *c);
bool config_read_base(config *c);
bool config_read_pairing(config *c);
bool config_read_scaling(config *c);

/* A number of the text dictionary; NaN where absent. */
bool config_number(const config *c, const char *key, double *value);

#endif
