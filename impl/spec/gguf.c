/* What a GGUF file's metadata says of its RoPE; meanings: load_hparams and ggml's rope in
 * ggml-org/llama.cpp. */
#include "impl/spec/gguf.h"
#include "impl/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/spec/gguf_meta.h"
#include "impl/spec/keys.h"
#include "impl/spec/models.h"

static bool needs(const gguf_meta *m, int number, uint32_t key)
{
    return !isnan(m->numbers[number]) || (m->overridden & key) ||
           gguf_fail(m, gguf_number_names[number], "is missing");
}

static bool set_dimensions(gguf_meta *m)
{
    rope_spec *spec = m->spec;
    double head = m->numbers[GGUF_KEY_LENGTH], rotary = m->numbers[GGUF_DIMENSION_COUNT];
    /* Multi-head latent attention rotates a slice of its own; that slice is the head. */
    if (strncmp(m->architecture, "deepseek2", 9) == 0)
        head = rotary;
    if (isnan(head) && m->numbers[GGUF_HEAD_COUNT] > 0)
        head = m->numbers[GGUF_EMBEDDING_LENGTH] / m->numbers[GGUF_HEAD_COUNT];
    if (isnan(head) && !(m->overridden & ROPE_KEY_BIT(head_dim)))
        return gguf_fail(m, gguf_number_names[GGUF_KEY_LENGTH], "is missing, and what derives it");
    if (isnan(rotary))
        rotary = head;
    if (!isnan(head) && !(head >= 2 && head <= 65536 && head == floor(head)))
        return gguf_fail(m, gguf_number_names[GGUF_KEY_LENGTH],
                         "expects a whole number from 2 to 65536");
    if (!isnan(rotary) && !(rotary >= 2 && rotary <= 65536 && fmod(rotary, 2) == 0))
        return gguf_fail(m, gguf_number_names[GGUF_DIMENSION_COUNT],
                         "expects an even number from 2 to 65536");
    spec->head_dim = isnan(head) ? 0 : (int64_t)head;
    spec->rotary_dim = isnan(rotary) ? 0 : (int64_t)rotary;
    return true;
}

static bool set_base(gguf_meta *m)
{
    double base = m->numbers[GGUF_FREQ_BASE], local = m->numbers[GGUF_FREQ_BASE_SWA];
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
    if (!is_local && !needs(m, GGUF_FREQ_BASE, ROPE_KEY_BIT(base) | ROPE_KEY_BIT(inv_freq)))
        return false;
    m->spec->base = is_local ? local : base;
    if (is_local) { /* the scaling is the global layers' */
        m->scaling[0] = '\0';
        m->numbers[GGUF_FACTOR] = m->numbers[GGUF_SCALE_LINEAR] = NAN;
    }
    return true;
}

static bool set_axes(gguf_meta *m)
{
    static const char *const contiguous = "qwen2vl", *const interleaved = "qwen3vl";
    if (m->section_count == 0)
        return true;
    bool mixed = strncmp(m->architecture, interleaved, strlen(interleaved)) == 0;
    if (!mixed && strcmp(m->architecture, contiguous) != 0)
        return gguf_fail(m, "rope.dimension_sections", "is not understood for this architecture");
    if (m->section_count < 3 || (m->section_count == 4 && m->sections[3] != 0))
        return gguf_fail(m, "rope.dimension_sections", "expects three sections");
    double *values = calloc(3, sizeof *values);
    if (values == NULL)
        return rope_fail(m->s->error, "%s: out of memory", m->s->name);
    memcpy(values, m->sections, 3 * sizeof *values);
    m->spec->sections = (rope_list){values, 3};
    m->spec->axes = mixed ? ROPE_AXES_MROPE_INTERLEAVED : ROPE_AXES_MROPE;
    return true;
}

static bool set_yarn(gguf_meta *m)
{
    rope_spec *spec = m->spec;
    double ext = m->numbers[GGUF_EXT_FACTOR], attn = m->numbers[GGUF_YARN_ATTN_FACTOR];
    spec->scaling = ROPE_SCALING_YARN;
    if (!needs(m, GGUF_FACTOR, ROPE_KEY_BIT(factor)) ||
        !needs(m, GGUF_ORIGINAL, ROPE_KEY_BIT(original)))
        return false;
    if (!isnan(ext) && ext != 1)
        return gguf_fail(m, gguf_number_names[GGUF_EXT_FACTOR], "other than 1 is not supported");
    if ((!isnan(attn) && attn != 1) ||
        (!isnan(m->numbers[GGUF_ATTN_FACTOR]) && m->numbers[GGUF_ATTN_FACTOR] != 1))
        return gguf_fail(m, gguf_number_names[GGUF_ATTN_FACTOR],
                         "other than 1 is not supported with yarn");
    spec->factor = m->numbers[GGUF_FACTOR];
    spec->original = m->numbers[GGUF_ORIGINAL];
    spec->beta_fast = m->numbers[GGUF_BETA_FAST];
    spec->beta_slow = m->numbers[GGUF_BETA_SLOW];
    /* Written for DeepSeek as 0.1 mscale_all_dim, where mscale is the same and A comes to 1. */
    if (m->numbers[GGUF_LOG_MULTIPLIER] > 0)
        spec->mscale = spec->mscale_all_dim = 10 * m->numbers[GGUF_LOG_MULTIPLIER];
    return true;
}

static bool set_longrope(gguf_meta *m)
{
    rope_spec *spec = m->spec;
    spec->scaling = ROPE_SCALING_LONGROPE;
    if (!needs(m, GGUF_ORIGINAL, ROPE_KEY_BIT(original)))
        return false;
    spec->original = m->numbers[GGUF_ORIGINAL];
    spec->attention_factor = m->numbers[GGUF_ATTN_FACTOR];
    if (isnan(spec->attention_factor))
        spec->max_position = m->numbers[GGUF_CONTEXT_LENGTH];
    return true;
}

static bool set_scaling(gguf_meta *m)
{
    double factor =
        isnan(m->numbers[GGUF_FACTOR]) ? m->numbers[GGUF_SCALE_LINEAR] : m->numbers[GGUF_FACTOR];
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

static bool set_pairing(gguf_meta *m)
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
    gguf_meta m = {
        .s = &s, .alignment = 32, .overridden = overridden, .layer = layer, .spec = spec};
    if (!gguf_open(&s, file, name, error))
        return false;
    return gguf_meta_read(&m) && set_dimensions(&m) && set_base(&m) && set_axes(&m) &&
           set_scaling(&m) && set_pairing(&m);
}

bool rope_gguf_read(const char *path, const char *layer, uint32_t overridden, rope_spec *spec,
                    rope_error *error)
{
    FILE *file;
    if (!rope_open_regular(path, &file, error))
        return false;
    bool ok = rope_gguf_read_stream(file, path, layer, overridden, spec, error);
    fclose(file);
    return ok;
}
