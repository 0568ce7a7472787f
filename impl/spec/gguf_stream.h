/* The GGUF container (ggml's docs/gguf.md, versions 2 and 3, little-endian): a bounds-checked walk
 * over a stream. Every length is compared with what is left of the file before it is used. */
#ifndef ROPE_GGUF_STREAM_H
#define ROPE_GGUF_STREAM_H

#include <stdint.h>
#include <stdio.h>

#include "impl/error.h"

typedef enum gguf_type {
    GGUF_U8 = 0,
    GGUF_I8 = 1,
    GGUF_U16 = 2,
    GGUF_I16 = 3,
    GGUF_U32 = 4,
    GGUF_I32 = 5,
    GGUF_F32 = 6,
    GGUF_BOOL = 7,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9,
    GGUF_U64 = 10,
    GGUF_I64 = 11,
    GGUF_F64 = 12,
} gguf_type;

typedef struct gguf_stream {
    FILE *file;
    const char *name; /* for messages */
    uint64_t size, at;
    uint64_t tensors, pairs; /* counts that the header claims */
    rope_error *error;
} gguf_stream;

/* Reads magic, version and counts. */
bool gguf_open(gguf_stream *s, FILE *file, const char *name, rope_error *error);

bool gguf_bytes(gguf_stream *s, void *data, uint64_t count);
bool gguf_skip(gguf_stream *s, uint64_t count);
bool gguf_seek(gguf_stream *s, uint64_t at);
bool gguf_u32(gguf_stream *s, uint32_t *value);
bool gguf_u64(gguf_stream *s, uint64_t *value);

/* A string, cut to size - 1 bytes; the rest is skipped. */
bool gguf_string(gguf_stream *s, char *text, size_t size);

/* A scalar of a numeric type or bool as f64; false with a line for other types and for integers
 * past 2^53. */
bool gguf_number(gguf_stream *s, const char *key, uint32_t type, double *value);

/* Skips a value of any type. */
bool gguf_skip_value(gguf_stream *s, uint32_t type);

#endif
