/* Specs from files: a model's config.json, its folder, a .gguf. */
#ifndef ROPE_SOURCES_H
#define ROPE_SOURCES_H

#include "impl/spec/spec.h"

/* Reads the spec that a path names, PATH or PATH:LAYER; overridden: see config.h. The spec is
 * filled, not validated. A name that is no file and looks like no path is reported as an unknown
 * preset. */
bool rope_spec_from_path(const char *path, uint32_t overridden, rope_spec *spec, rope_error *error);

/* The longest position count that the source of a spec states: a preset's, or a config.json's
 * max_position_embeddings. text: as for rope_spec_parse. NaN where none is stated. */
double rope_spec_stated_length(const char *text);

#endif
