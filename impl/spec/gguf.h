/* A GGUF model file's metadata as a spec. */
#ifndef ROPE_GGUF_H
#define ROPE_GGUF_H

#include <stdio.h>

#include "impl/spec/spec.h"

/* Reads the header of a .gguf: rope and attention keys of its architecture, and the rope_freqs
 * tensor (frequency divisors) where it has one. layer: "local" or "global" where the file has a
 * second base for sliding-window layers, else NULL. overridden: see config.h. The spec is filled,
 * not validated. Memory does not grow with lengths that the file claims. */
bool rope_gguf_read(const char *path, const char *layer, uint32_t overridden, rope_spec *spec,
                    rope_error *error);

/* The same from an open, seekable stream; name stands for the file in messages. */
bool rope_gguf_read_stream(FILE *file, const char *name, const char *layer, uint32_t overridden,
                           rope_spec *spec, rope_error *error);

#endif
