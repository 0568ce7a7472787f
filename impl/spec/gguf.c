/* What a GGUF file's metadata says of its RoPE. Names: src/llama-arch.cpp of ggml-org/llama.cpp;
 * meanings: load_hparams and ggml's rope. */
#include "impl/spec/gguf.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/gguf_stream.h"
#include "impl/spec/keys.h"
#include "impl/spec/models.h"

enum { NAME_SIZE = 128 };

/* Keys that are read, after "ARCHITECTURE.": numbers of `meta`, by index. */
enum {
    KEY_LENGTH,
    EMBEDDING_LENGTH,
    HEAD_COUNT,
    CONTEXT_LENGTH,
    DIMENSION_COUNT,
    FREQ_BASE,
    FREQ_BASE_SWA,
    SCALE_LINEAR,
    FACTOR,
    ORIGINAL,
    ATTN_FACTOR,
    BETA_FAST,
    BETA_SLOW,
    LOG_MULTIPLIER,
    EXT_FACTOR,
    YARN_ATTN_FACTOR,
    FINETUNED,
    NUMBERS
};
static const char *const number_names[NUMBERS] = {
    [KEY_LENGTH] = "attention.key_length",
    [EMBEDDING_LENGTH] = "embedding_length",
    [HEAD_COUNT] = "attention.head_count",
    [CONTEXT_LENGTH] = "context_length",
    [DIMENSION_COUNT] = "rope.dimension_count",
    [FREQ_BASE] = "rope.freq_base",
    [FREQ_BASE_SWA] = "rope.freq_base_swa",
    [SCALE_LINEAR] = "rope.scale_linear",
    [FACTOR] = "rope.scaling.factor",
    [ORIGINAL] = "rope.scaling.original_context_length",
    [ATTN_FACTOR] = "rope.scaling.attn_factor",
    [BETA_FAST] = "rope.scaling.yarn_beta_fast",
    [BETA_SLOW] = "rope.scaling.yarn_beta_slow",
    [LOG_MULTIPLIER] = "rope.scaling.yarn_log_multiplier",
    [EXT_FACTOR] = "rope.scaling.yarn_ext_factor",
    [YARN_ATTN_FACTOR] = "rope.scaling.yarn_attn_factor",
    [FINETUNED] = "rope.scaling.finetuned",
};

typedef struct meta {
    gguf_stream *s;
    char architecture[64];
    double numbers[NUMBERS]; /* NaN = absent */
    char scaling[32];        /* rope.scaling.type, "" = absent */
    double sections[4];
    uint32_t section_count;
    uint64_t alignment;
    uint32_t overridden;
    const char *layer;
    rope_spec *spec;
} meta;

static bool fail(const meta *m, const char *key, const char *what)
{
    return rope_fail(m->s->error, "%s: %s.%s %s", m->s->name, m->architecture, key, what);
}

/* ---- metadata ---- */

/* First pass: the architecture, whose name is the prefix of the keys that matter. */
static bool find_architecture(meta *m)
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

static bool read_sections(meta *m, uint32_t type)
{
    uint32_t inner;
    uint64_t count;
    if (type != GGUF_ARRAY)
        return fail(m, "rope.dimension_sections", "is no array");
    if (!gguf_u32(m->s, &inner) || !gguf_u64(m->s, &count))
        return false;
    if (count < 2 || count > 4 || m->section_count != 0)
        return fail(m, "rope.dimension_sections", "expects 2 to 4 numbers");
    for (uint64_t i = 0; i < count; i++)
        if (!gguf_number(m->s, "rope.dimension_sections", inner, &m->sections[i]))
            return false;
    m->section_count = (uint32_t)count;
    return true;
}

/* One key after the architecture's prefix. */
static bool read_value(meta *m, const char *key, uint32_t type)
{
    for (int i = 0; i < NUMBERS; i++) {
        if (strcmp(key, number_names[i]) != 0)
            continue;
        if (!isnan(m->numbers[i]))
            return fail(m, key, "is given twice");
        /* Head counts can differ by layer; then key_length must say. */
        if (type == GGUF_ARRAY && i == HEAD_COUNT)
            break;
        if (!gguf_number(m->s, key, type, &m->numbers[i]))
            return false;
        return isfinite(m->numbers[i]) || fail(m, key, "is no finite number");
    }
    if (strcmp(key, "rope.scaling.type") == 0) {
        if (type != GGUF_STRING || m->scaling[0] != '\0')
            return fail(m, key, "expects one string");
        return gguf_string(m->s, m->scaling, sizeof m->scaling);
    }
    if (strcmp(key, "rope.dimension_sections") == 0)
        return read_sections(m, type);
    if (strncmp(key, "rope.", 5) == 0)
        return fail(m, key, "is not understood");
    return gguf_skip_value(m->s, type);
}

static bool read_metadata(meta *m)
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

static bool read_tensor(meta *m, const char *name, uint64_t start, uint64_t count, rope_list *list)
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

static bool read_tensor_info(meta *m, wanted_tensor *wanted, size_t wanted_count)
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
static bool read_tensors(meta *m)
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

/* ---- the spec ---- */

static bool needs(const meta *m, int number, uint32_t key)
{
    return !isnan(m->numbers[number]) || (m->overridden & key) ||
           fail(m, number_names[number], "is missing");
}

static bool set_dimensions(meta *m)
{
    rope_spec *spec = m->spec;
    double head = m->numbers[KEY_LENGTH], rotary = m->numbers[DIMENSION_COUNT];
    /* Multi-head latent attention rotates a slice of its own; that slice is the head. */
    if (strncmp(m->architecture, "deepseek2", 9) == 0)
        head = rotary;
    if (isnan(head) && m->numbers[HEAD_COUNT] > 0)
        head = m->numbers[EMBEDDING_LENGTH] / m->numbers[HEAD_COUNT];
    if (isnan(head) && !(m->overridden & ROPE_KEY_BIT(head_dim)))
        return fail(m, number_names[KEY_LENGTH], "is missing, and what derives it");
    if (isnan(rotary))
        rotary = head;
    if (!isnan(head) && !(head >= 2 && head <= 65536 && head == floor(head)))
        return fail(m, number_names[KEY_LENGTH], "expects a whole number from 2 to 65536");
    if (!isnan(rotary) && !(rotary >= 2 && rotary <= 65536 && fmod(rotary, 2) == 0))
        return fail(m, number_names[DIMENSION_COUNT], "expects an even number from 2 to 65536");
    spec->head_dim = isnan(head) ? 0 : (int64_t)head;
    spec->rotary_dim = isnan(rotary) ? 0 : (int64_t)rotary;
    return true;
}

static bool set_base(meta *m)
{
    double base = m->numbers[FREQ_BASE], local = m->numbers[FREQ_BASE_SWA];
    /* llama.cpp gives the sliding-window layers of these 10000 where the file says nothing. */
    if (isnan(local) &&
        (strcmp(m->architecture, "gemma3") == 0 || strcmp(m->architecture, "modern-bert") == 0))
        local = 10000;
    bool is_local = m->layer != NULL && strcmp(m->layer, "local") == 0;
    if (isnan(local) && m->layer != NULL)
        return rope_fail(m->s->error, "%s describes one layer type, '%s' cannot be chosen",
                         m->s->name, m->layer);
    if (!isnan(local) && !is_local && (m->layer == NULL || strcmp(m->layer, "global") != 0))
        return rope_fail(m->s->error,
                         "%s has local and global layers, expected %s:local or "
                         "%s:global",
                         m->s->name, m->s->name, m->s->name);
    if (!is_local && !needs(m, FREQ_BASE, ROPE_KEY_BIT(base) | ROPE_KEY_BIT(inv_freq)))
        return false;
    m->spec->base = is_local ? local : base;
    if (is_local) { /* the scaling is the global layers' */
        m->scaling[0] = '\0';
        m->numbers[FACTOR] = m->numbers[SCALE_LINEAR] = NAN;
    }
    return true;
}

static bool set_axes(meta *m)
{
    static const char *const contiguous = "qwen2vl", *const interleaved = "qwen3vl";
    if (m->section_count == 0)
        return true;
    bool mixed = strncmp(m->architecture, interleaved, strlen(interleaved)) == 0;
    if (!mixed && strcmp(m->architecture, contiguous) != 0)
        return fail(m, "rope.dimension_sections", "is not understood for this architecture");
    if (m->section_count < 3 || (m->section_count == 4 && m->sections[3] != 0))
        return fail(m, "rope.dimension_sections", "expects three sections");
    double *values = calloc(3, sizeof *values);
    if (values == NULL)
        return rope_fail(m->s->error, "%s: out of memory", m->s->name);
    memcpy(values, m->sections, 3 * sizeof *values);
    m->spec->sections = (rope_list){values, 3};
    m->spec->axes = mixed ? ROPE_AXES_MROPE_INTERLEAVED : ROPE_AXES_MROPE;
    return true;
}

static bool set_yarn(meta *m)
{
    rope_spec *spec = m->spec;
    double ext = m->numbers[EXT_FACTOR], attn = m->numbers[YARN_ATTN_FACTOR];
    spec->scaling = ROPE_SCALING_YARN;
    if (!needs(m, FACTOR, ROPE_KEY_BIT(factor)) || !needs(m, ORIGINAL, ROPE_KEY_BIT(original)))
        return false;
    if (!isnan(ext) && ext != 1)
        return fail(m, number_names[EXT_FACTOR], "other than 1 is not supported");
    if ((!isnan(attn) && attn != 1) ||
        (!isnan(m->numbers[ATTN_FACTOR]) && m->numbers[ATTN_FACTOR] != 1))
        return fail(m, number_names[ATTN_FACTOR], "other than 1 is not supported with yarn");
    spec->factor = m->numbers[FACTOR];
    spec->original = m->numbers[ORIGINAL];
    spec->beta_fast = m->numbers[BETA_FAST];
    spec->beta_slow = m->numbers[BETA_SLOW];
    /* Written for DeepSeek as 0.1 mscale_all_dim, where mscale is the same and A comes to 1. */
    if (m->numbers[LOG_MULTIPLIER] > 0)
        spec->mscale = spec->mscale_all_dim = 10 * m->numbers[LOG_MULTIPLIER];
    return true;
}

static bool set_longrope(meta *m)
{
    rope_spec *spec = m->spec;
    spec->scaling = ROPE_SCALING_LONGROPE;
    if (!needs(m, ORIGINAL, ROPE_KEY_BIT(original)))
        return false;
    spec->original = m->numbers[ORIGINAL];
    spec->attention_factor = m->numbers[ATTN_FACTOR];
    if (isnan(spec->attention_factor))
        spec->max_position = m->numbers[CONTEXT_LENGTH];
    return true;
}

static bool set_scaling(meta *m)
{
    double factor = isnan(m->numbers[FACTOR]) ? m->numbers[SCALE_LINEAR] : m->numbers[FACTOR];
    if (strcmp(m->scaling, "yarn") == 0)
        return set_yarn(m);
    if (strcmp(m->scaling, "longrope") == 0 || m->spec->long_factors.count != 0)
        return set_longrope(m);
    if (m->scaling[0] != '\0' && strcmp(m->scaling, "linear") != 0 &&
        strcmp(m->scaling, "none") != 0)
        return rope_fail(m->s->error,
                         "%s: %s.rope.scaling.type '%s' is unknown, expected none, "
                         "linear, yarn or longrope",
                         m->s->name, m->architecture, m->scaling);
    /* llama.cpp takes a factor without a type as linear, and 0 as absent. */
    if (strcmp(m->scaling, "none") == 0 || isnan(factor) || factor == 0 || factor == 1)
        return true;
    m->spec->scaling = ROPE_SCALING_LINEAR;
    m->spec->factor = factor;
    return true;
}

static bool set_pairing(meta *m)
{
    int pairing = rope_gguf_pairing(m->architecture);
    if (pairing < 0 && !(m->overridden & ROPE_KEY_BIT(pairing)))
        return rope_fail(m->s->error,
                         "%s: the pairing of architecture '%s' is unknown, say "
                         "%s,pairing=half or interleaved",
                         m->s->name, m->architecture, m->s->name);
    m->spec->pairing = pairing < 0 ? 0 : (uint32_t)pairing;
    return true;
}

bool rope_gguf_read_stream(FILE *file, const char *name, const char *layer, uint32_t overridden,
                           rope_spec *spec, rope_error *error)
{
    gguf_stream s;
    meta m = {.s = &s, .alignment = 32, .overridden = overridden, .layer = layer, .spec = spec};
    for (int i = 0; i < NUMBERS; i++)
        m.numbers[i] = NAN;
    if (!gguf_open(&s, file, name, error))
        return false;
    uint64_t start = s.at;
    return find_architecture(&m) && gguf_seek(&s, start) && read_metadata(&m) && read_tensors(&m) &&
           set_dimensions(&m) && set_base(&m) && set_axes(&m) && set_scaling(&m) && set_pairing(&m);
}

bool rope_gguf_read(const char *path, const char *layer, uint32_t overridden, rope_spec *spec,
                    rope_error *error)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return rope_fail(error, "cannot read %s: %s", path, strerror(errno));
    bool ok = rope_gguf_read_stream(file, path, layer, overridden, spec, error);
    fclose(file);
    return ok;
}
