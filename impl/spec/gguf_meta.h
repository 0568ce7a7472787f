/* The metadata of a GGUF file that a spec is made of. Internal to gguf.c and gguf_meta.c. */
#ifndef ROPE_GGUF_META_H
#define ROPE_GGUF_META_H

#include "impl/spec/gguf_stream.h"
#include "impl/spec/spec.h"

/* Keys that are read, after "ARCHITECTURE.": `numbers` of gguf_meta, by index. */
enum {
    GGUF_KEY_LENGTH,
    GGUF_EMBEDDING_LENGTH,
    GGUF_HEAD_COUNT,
    GGUF_CONTEXT_LENGTH,
    GGUF_DIMENSION_COUNT,
    GGUF_FREQ_BASE,
    GGUF_FREQ_BASE_SWA,
    GGUF_SCALE_LINEAR,
    GGUF_FACTOR,
    GGUF_ORIGINAL,
    GGUF_ATTN_FACTOR,
    GGUF_BETA_FAST,
    GGUF_BETA_SLOW,
    GGUF_LOG_MULTIPLIER,
    GGUF_EXT_FACTOR,
    GGUF_YARN_ATTN_FACTOR,
    GGUF_FINETUNED,
    GGUF_NUMBERS
};
extern const char *const gguf_number_names[GGUF_NUMBERS];

typedef struct gguf_meta {
    gguf_stream *s;
    char architecture[64];
    double numbers[GGUF_NUMBERS]; /* NaN = absent */
    char scaling[32];             /* rope.scaling.type, "" = absent */
    double sections[4];
    uint32_t section_count;
    uint64_t alignment;
    uint32_t overridden;
    const char *layer;
    rope_spec *spec;
} gguf_meta;

/* "FILE: ARCHITECTURE.key what" */
bool gguf_fail(const gguf_meta *m, const char *key, const char *what);

/* Fills architecture, numbers, scaling, sections, and the lists of spec that tensors hold, from a
 * stream that gguf_open has opened. */
bool gguf_meta_read(gguf_meta *m);

#endif
