/* Walks a GGUF file's metadata and tensor list. Names: src/llama-arch.cpp of ggml-org/llama.cpp. */
#include "impl/spec/gguf_meta.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/keys.h"

enum { NAME_SIZE = 128 };

const char *const gguf_number_names[GGUF_NUMBERS] = {
    [GGUF_KEY_LENGTH] = "attention.key_length",
    [GGUF_EMBEDDING_LENGTH] = "embedding_length",
    [GGUF_HEAD_COUNT] = "attention.head_count",
    [GGUF_CONTEXT_LENGTH] = "context_length",
    [GGUF_DIMENSION_COUNT] = "rope.dimension_count",
    [GGUF_FREQ_BASE] = "rope.freq_base",
    [GGUF_FREQ_BASE_SWA] = "rope.freq_base_swa",
    [GGUF_SCALE_LINEAR] = "rope.scale_linear",
    [GGUF_FACTOR] = "rope.scaling.factor",
    [GGUF_ORIGINAL] = "rope.scaling.original_context_length",
    [GGUF_ATTN_FACTOR] = "rope.scaling.attn_factor",
    [GGUF_BETA_FAST] = "rope.scaling.yarn_beta_fast",
    [GGUF_BETA_SLOW] = "rope.scaling.yarn_beta_slow",
    [GGUF_LOG_MULTIPLIER] = "rope.scaling.yarn_log_multiplier",
    [GGUF_EXT_FACTOR] = "rope.scaling.yarn_ext_factor",
    [GGUF_YARN_ATTN_FACTOR] = "rope.scaling.yarn_attn_factor",
    [GGUF_FINETUNED] = "rope.scaling.finetuned",
};

bool gguf_fail(const gguf_meta *m, const char *key, const char *what)
{
    return rope_fail(m->s->error, "%s: %s.%s %s", m->s->name, m->architecture, key, what);
}

/* ---- metadata ---- */

/* First pass: the architecture, whose name is the prefix of the keys that matter. */
static bool find_architecture(gguf_meta *m)
{
    char key[NAME_SIZE];
    uint32_t type;
    double alignment;
    for (uint64_t i = 0; i < m->s->pairs; i++) {
        if (!gguf_string(m->s, key, sizeof key) || !gguf_u32(m->s, &type))
            return false;
        if (strcmp(key, "general.architecture") == 0 && type == GGUF_STRING) {
            if (!gguf_string(m->s, m->architecture, sizeof m->architecture))
                return false;
        } else if (strcmp(key, "general.alignment") == 0) {
            if (!gguf_number(m->s, key, type, &alignment))
                return false;
            if (!(alignment >= 1 && alignment <= 0x1p20 && alignment == floor(alignment)))
                return rope_fail(m->s->error, "%s: general.alignment is %.17g, expected 1 to 2^20",
                                 m->s->name, alignment);
            m->alignment = (uint64_t)alignment;
        } else if (!gguf_skip_value(m->s, type)) {
            return false;
        }
    }
    return m->architecture[0] != '\0' ||
           rope_fail(m->s->error, "%s: general.architecture is missing", m->s->name);
}

static bool read_sections(gguf_meta *m, uint32_t type)
{
    uint32_t inner;
    uint64_t count;
    if (type != GGUF_ARRAY)
        return gguf_fail(m, "rope.dimension_sections", "is no array");
    if (!gguf_u32(m->s, &inner) || !gguf_u64(m->s, &count))
        return false;
    if (count < 2 || count > 4 || m->section_count != 0)
        return gguf_fail(m, "rope.dimension_sections", "expects 2 to 4 numbers");
    for (uint64_t i = 0; i < count; i++)
        if (!gguf_number(m->s, "rope.dimension_sections", inner, &m->sections[i]))
            return false;
    m->section_count = (uint32_t)count;
    return true;
}

/* One key after the architecture's prefix. */
static bool read_value(gguf_meta *m, const char *key, uint32_t type)
{
    for (int i = 0; i < GGUF_NUMBERS; i++) {
        if (strcmp(key, gguf_number_names[i]) != 0)
            continue;
        if (!isnan(m->numbers[i]))
            return gguf_fail(m, key, "is given twice");
        /* Head counts can differ by layer; then key_length must say. */
        if (type == GGUF_ARRAY && i == GGUF_HEAD_COUNT)
            break;
        if (!gguf_number(m->s, key, type, &m->numbers[i]))
            return false;
        return isfinite(m->numbers[i]) || gguf_fail(m, key, "is no finite number");
    }
    if (strcmp(key, "rope.scaling.type") == 0) {
        if (type != GGUF_STRING || m->scaling[0] != '\0')
            return gguf_fail(m, key, "expects one string");
        return gguf_string(m->s, m->scaling, sizeof m->scaling);
    }
    if (strcmp(key, "rope.dimension_sections") == 0)
        return read_sections(m, type);
    if (strncmp(key, "rope.", 5) == 0)
        return gguf_fail(m, key, "is not understood");
    return gguf_skip_value(m->s, type);
}

static bool read_metadata(gguf_meta *m)
{
    char key[NAME_SIZE];
    uint32_t type;
    size_t prefix = strlen(m->architecture);
    for (uint64_t i = 0; i < m->s->pairs; i++) {
        if (!gguf_string(m->s, key, sizeof key) || !gguf_u32(m->s, &type))
            return false;
        bool ours = strncmp(key, m->architecture, prefix) == 0 && key[prefix] == '.';
        if (!(ours ? read_value(m, key + prefix + 1, type) : gguf_skip_value(m->s, type)))
            return false;
    }
    return true;
}

/* ---- tensors that hold per-pair numbers ---- */

static bool read_tensor(gguf_meta *m, const char *name, uint64_t start, uint64_t count,
                        rope_list *list)
{
    if (count < 1 || count > ROPE_LIST_LIMIT || list->count != 0)
        return rope_fail(m->s->error, "%s: tensor %s expects 1 to %d numbers, once", m->s->name,
                         name, ROPE_LIST_LIMIT);
    double *values = calloc((size_t)count, sizeof *values);
    if (values == NULL)
        return rope_fail(m->s->error, "%s: out of memory for tensor %s", m->s->name, name);
    *list = (rope_list){values, (int64_t)count};
    if (!gguf_seek(m->s, start))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!gguf_number(m->s, name, GGUF_F32, &values[i]))
            return false;
    return true;
}

typedef struct wanted_tensor {
    const char *name;
    rope_list *list;
    bool found;
    uint64_t offset, count;
} wanted_tensor;

static bool read_tensor_info(gguf_meta *m, wanted_tensor *wanted, size_t wanted_count)
{
    char name[NAME_SIZE];
    uint32_t dimensions, type;
    uint64_t extent = 0, count = 1, offset;
    if (!gguf_string(m->s, name, sizeof name) || !gguf_u32(m->s, &dimensions))
        return false;
    if (dimensions > 8)
        return rope_fail(m->s->error, "%s: tensor %s has %" PRIu32 " dimensions", m->s->name, name,
                         dimensions);
    for (uint32_t i = 0; i < dimensions; i++) {
        if (!gguf_u64(m->s, &extent))
            return false;
        if (__builtin_mul_overflow(count, extent, &count))
            count = UINT64_MAX; /* refused if it is one that is wanted */
    }
    if (!gguf_u32(m->s, &type) || !gguf_u64(m->s, &offset))
        return false;
    for (size_t i = 0; i < wanted_count; i++) {
        if (strcmp(name, wanted[i].name) != 0)
            continue;
        if (type != 0 || wanted[i].found)
            return rope_fail(m->s->error, "%s: tensor %s expects f32, once", m->s->name, name);
        wanted[i] = (wanted_tensor){wanted[i].name, wanted[i].list, true, offset, count};
    }
    return true;
}

/* Llama 3's factors are not in the metadata: conversion writes them as the tensor rope_freqs. */
static bool read_tensors(gguf_meta *m)
{
    wanted_tensor wanted[] = {
        {.name = "rope_freqs.weight", .list = &m->spec->divisors},
        {.name = "rope_factors_short.weight", .list = &m->spec->short_factors},
        {.name = "rope_factors_long.weight", .list = &m->spec->long_factors},
    };
    enum { WANTED = sizeof wanted / sizeof wanted[0] };
    for (uint64_t i = 0; i < m->s->tensors; i++)
        if (!read_tensor_info(m, wanted, WANTED))
            return false;
    uint64_t data = (m->s->at + m->alignment - 1) / m->alignment * m->alignment;
    for (size_t i = 0; i < WANTED; i++) {
        if (!wanted[i].found)
            continue;
        if (wanted[i].offset > m->s->size || data > m->s->size - wanted[i].offset)
            return rope_fail(m->s->error, "%s: tensor %s lies past the end of the file", m->s->name,
                             wanted[i].name);
        if (!read_tensor(m, wanted[i].name, data + wanted[i].offset, wanted[i].count,
                         wanted[i].list))
            return false;
    }
    return true;
}

bool gguf_meta_read(gguf_meta *m)
{
    for (int i = 0; i < GGUF_NUMBERS; i++)
        m->numbers[i] = NAN;
    uint64_t start = m->s->at;
    return find_architecture(m) && gguf_seek(m->s, start) && read_metadata(m) && read_tensors(m);
}
