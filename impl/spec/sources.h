/* Specs from files: a model's config.json, its folder, a .gguf. */
#ifndef ROPE_SOURCES_H
#define ROPE_SOURCES_H

#include "impl/spec/spec.h"

/* Reads and validates the spec that a path names. A name that is neither a file nor looks like a
 * path is reported as an unknown preset. */
bool rope_spec_from_path(const char *path, rope_spec *spec, rope_error *error);

#endif
