#include "impl/spec/gguf_stream.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH_LIMIT = 4 }; /* of arrays in arrays; writers make none */

static bool cut_off(gguf_stream *s)
{
    return rope_fail(s->error, "%s: the file ends inside its header, at byte %" PRIu64, s->name,
                     s->size);
}

bool gguf_bytes(gguf_stream *s, void *data, uint64_t count)
{
    if (count > s->size - s->at)
        return cut_off(s);
    if (fread(data, 1, (size_t)count, s->file) != count)
        return rope_fail(s->error, "%s: cannot read at byte %" PRIu64, s->name, s->at);
    s->at += count;
    return true;
}

bool gguf_seek(gguf_stream *s, uint64_t at)
{
    if (at > s->size)
        return cut_off(s);
    if (fseeko(s->file, (off_t)at, SEEK_SET) != 0)
        return rope_fail(s->error, "%s: cannot read at byte %" PRIu64, s->name, at);
    s->at = at;
    return true;
}

bool gguf_skip(gguf_stream *s, uint64_t count)
{
    char scratch[256];
    if (count > s->size - s->at)
        return cut_off(s);
    return count <= sizeof scratch ? gguf_bytes(s, scratch, count) : gguf_seek(s, s->at + count);
}

bool gguf_u64(gguf_stream *s, uint64_t *value)
{
    unsigned char b[8];
    if (!gguf_bytes(s, b, 8))
        return false;
    *value = 0;
    for (int i = 7; i >= 0; i--)
        *value = *value << 8 | b[i];
    return true;
}

bool gguf_u32(gguf_stream *s, uint32_t *value)
{
    unsigned char b[4];
    if (!gguf_bytes(s, b, 4))
        return false;
    *value = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return true;
}

bool gguf_string(gguf_stream *s, char *text, size_t size)
{
    uint64_t length;
    if (!gguf_u64(s, &length))
        return false;
    uint64_t kept = length < size - 1 ? length : size - 1;
    if (!gguf_bytes(s, text, kept) || !gguf_skip(s, length - kept))
        return false;
    text[kept] = '\0';
    return true;
}

static unsigned width(uint32_t type)
{
    static const unsigned char widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof widths ? widths[type] : 0;
}

static double narrow(uint32_t type, uint64_t bits)
{
    float f32;
    double f64;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case GGUF_I8:
        return (int8_t)bits;
    case GGUF_I16:
        return (int16_t)bits;
    case GGUF_I32:
        return (int32_t)bits;
    case GGUF_I64:
        return (double)(int64_t)bits;
    case GGUF_F32:
        memcpy(&f32, &low, sizeof f32);
        return (double)f32;
    case GGUF_F64:
        memcpy(&f64, &bits, sizeof f64);
        return f64;
    default:
        return (double)bits;
    }
}

bool gguf_number(gguf_stream *s, const char *key, uint32_t type, double *value)
{
    unsigned char b[8];
    unsigned bytes = width(type);
    if (bytes == 0)
        return rope_fail(s->error, "%s: %s has type %" PRIu32 ", expected a number", s->name, key,
                         type);
    if (!gguf_bytes(s, b, bytes))
        return false;
    uint64_t bits = 0;
    for (unsigned i = bytes; i > 0; i--)
        bits = bits << 8 | b[i - 1];
    *value = narrow(type, bits);
    /* Also true for NaN. */
    if (!(*value >= -0x1p53 && *value <= 0x1p53) && type != GGUF_F32 && type != GGUF_F64)
        return rope_fail(s->error, "%s: %s is past 2^53", s->name, key);
    return true;
}

static bool skip_value(gguf_stream *s, uint32_t type, int depth)
{
    uint64_t count, bytes;
    uint32_t inner;
    if (width(type) != 0)
        return gguf_skip(s, width(type));
    if (type == GGUF_STRING)
        return gguf_u64(s, &count) && gguf_skip(s, count);
    if (type != GGUF_ARRAY || depth == DEPTH_LIMIT)
        return rope_fail(s->error, "%s: value type %" PRIu32 " before byte %" PRIu64 " is unknown",
                         s->name, type, s->at);
    if (!gguf_u32(s, &inner) || !gguf_u64(s, &count))
        return false;
    if (width(inner) != 0)
        return __builtin_mul_overflow(count, (uint64_t)width(inner), &bytes) ? cut_off(s)
                                                                             : gguf_skip(s, bytes);
    /* Each member takes 8 bytes at least, so the file's end ends the loop. */
    for (uint64_t i = 0; i < count; i++)
        if (!skip_value(s, inner, depth + 1))
            return false;
    return true;
}

bool gguf_skip_value(gguf_stream *s, uint32_t type)
{
    return skip_value(s, type, 0);
}

bool gguf_open(gguf_stream *s, FILE *file, const char *name, rope_error *error)
{
    *s = (gguf_stream){.file = file, .name = name, .error = error};
    off_t size;
    if (fseeko(file, 0, SEEK_END) != 0 || (size = ftello(file)) < 0)
        return rope_fail(error, "%s: cannot be searched, expected a regular file", name);
    s->size = (uint64_t)size;
    char magic[4];
    uint32_t version;
    if (!gguf_seek(s, 0) || !gguf_bytes(s, magic, 4))
        return false;
    if (memcmp(magic, "GGUF", 4) != 0)
        return rope_fail(error, "%s is no GGUF file: its magic is missing", name);
    if (!gguf_u32(s, &version))
        return false;
    if (version < 2 || version > 3)
        return rope_fail(error, "%s: GGUF version %" PRIu32 " is unknown, expected 2 or 3", name,
                         version);
    return gguf_u64(s, &s->tensors) && gguf_u64(s, &s->pairs);
}
