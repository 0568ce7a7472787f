/* A model's config.json (Hugging Face) as a spec. */
#ifndef ROPE_CONFIG_H
#define ROPE_CONFIG_H

#include "impl/spec/spec.h"

/* Reads text of `size` bytes. name stands for the file in messages. layer: the layer type where the
 * file describes several ("local", "global", or a name of the file's own), else NULL. overridden:
 * keys (ROPE_KEY_BIT) that the caller will set, so that their absence is no error. The spec is
 * filled, not validated. */
bool rope_config_parse(const char *name, const char *text, size_t size, const char *layer,
                       uint32_t overridden, rope_spec *spec, rope_error *error);

/* max_position_embeddings of such a file, as the text model states it; NaN where it states none or
 * is no config.json. */
double rope_config_stated_length(const char *text, size_t size);

#endif
