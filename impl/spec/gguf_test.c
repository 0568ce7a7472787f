/* GGUF headers: built here, read back, cut at every byte, and with lengths that lie. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/spec/gguf.h"
#include "impl/spec/gguf_stream.h"
#include "impl/spec/keys.h"

/* ---- a writer of small files ---- */

typedef struct image {
    unsigned char bytes[4096];
    size_t size;
    uint64_t pairs, tensors;
} image;

static void put(image *m, const void *data, size_t count)
{
    assert_true(m->size + count <= sizeof m->bytes);
    memcpy(m->bytes + m->size, data, count);
    m->size += count;
}

static void put_number(image *m, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        put(m, &(unsigned char){(unsigned char)(value & 0xff)}, 1);
}

static void put_string(image *m, const char *text)
{
    put_number(m, strlen(text), 8);
    put(m, text, strlen(text));
}

static void key(image *m, const char *name, gguf_type type)
{
    m->pairs++;
    put_string(m, name);
    put_number(m, type, 4);
}

static void key_string(image *m, const char *name, const char *value)
{
    key(m, name, GGUF_STRING);
    put_string(m, value);
}

static void key_u32(image *m, const char *name, uint32_t value)
{
    key(m, name, GGUF_U32);
    put_number(m, value, 4);
}

static void key_f32(image *m, const char *name, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    key(m, name, GGUF_F32);
    put_number(m, bits, 4);
}

static void key_list(image *m, const char *name, int count, const uint32_t *values)
{
    key(m, name, GGUF_ARRAY);
    put_number(m, GGUF_U32, 4);
    put_number(m, (uint64_t)count, 8);
    for (int i = 0; i < count; i++)
        put_number(m, values[i], 4);
}

static void tensor(image *m, const char *name, uint64_t count, uint32_t type, uint64_t offset)
{
    m->tensors++;
    put_string(m, name);
    put_number(m, 1, 4);
    put_number(m, count, 8);
    put_number(m, type, 4);
    put_number(m, offset, 8);
}

/* Tensor data, after padding to 32 bytes. */
static void data(image *m, int count, const float *values)
{
    while (m->size % 32 != 0)
        put_number(m, 0, 1);
    put(m, values, (size_t)count * sizeof *values);
}

static void begin(image *m)
{
    *m = (image){.size = 0};
    put(m, "GGUF", 4);
    put_number(m, 3, 4);
    put_number(m, 0, 8); /* counts, set by finish */
    put_number(m, 0, 8);
}

static void finish(image *m)
{
    for (int i = 0; i < 8; i++) {
        m->bytes[8 + i] = (unsigned char)(m->tensors >> 8 * i);
        m->bytes[16 + i] = (unsigned char)(m->pairs >> 8 * i);
    }
}

static bool read_bytes(const void *bytes, size_t size, const char *layer, rope_spec *spec,
                       rope_error *error)
{
    FILE *file = size == 0 ? fopen("/dev/null", "rb") : fmemopen((void *)bytes, size, "rb");
    assert_non_null(file);
    rope_spec_init(spec);
    bool ok =
        rope_gguf_read_stream(file, "f", layer, 0, spec, error) && rope_spec_validate(spec, error);
    fclose(file);
    return ok;
}

static rope_spec good(const image *m, const char *layer)
{
    rope_spec spec;
    rope_error error = {""};
    if (!read_bytes(m->bytes, m->size, layer, &spec, &error))
        fail_msg("%s", error.text);
    return spec;
}

static void wrong(const image *m, const char *layer, const char *word)
{
    rope_spec spec;
    rope_error error = {""};
    if (read_bytes(m->bytes, m->size, layer, &spec, &error))
        fail_msg("taken, expected an error on %s", word);
    if (strstr(error.text, word) == NULL)
        fail_msg("'%s' does not name %s", error.text, word);
    rope_spec_free(&spec);
}

static void begin_model(image *m, const char *architecture)
{
    char name[96];
    begin(m);
    key_string(m, "general.architecture", architecture);
    snprintf(name, sizeof name, "%s.embedding_length", architecture);
    key_u32(m, name, 4096);
    snprintf(name, sizeof name, "%s.attention.head_count", architecture);
    key_u32(m, name, 32);
    snprintf(name, sizeof name, "%s.rope.freq_base", architecture);
    key_f32(m, name, 500000);
}

/* ---- tests ---- */

static void plain_model_is_read(void **state)
{
    (void)state;
    image m;
    begin_model(&m, "llama");
    key_u32(&m, "llama.rope.dimension_count", 128);
    /* What a reader skips: strings, arrays of strings, all widths. */
    key(&m, "tokenizer.ggml.tokens", GGUF_ARRAY);
    put_number(&m, GGUF_STRING, 4);
    put_number(&m, 2, 8);
    put_string(&m, "a");
    put_string(&m, "b");
    key(&m, "x.bool", GGUF_BOOL);
    put_number(&m, 1, 1);
    key(&m, "x.f64", GGUF_F64);
    put_number(&m, 0, 8);
    finish(&m);
    rope_spec spec = good(&m, NULL);
    assert_int_equal(spec.head_dim, 128);
    assert_int_equal(spec.rotary_dim, 128);
    assert_true(spec.base == 500000);
    /* llama.cpp keeps Llama's own pairing, where config.json's checkpoints are permuted to half. */
    assert_int_equal(spec.pairing, ROPE_INTERLEAVED);
    assert_int_equal(spec.scaling, ROPE_SCALING_NONE);
    rope_spec_free(&spec);
    wrong(&m, "local", "local");
}

static void key_length_and_partial_rotary_are_read(void **state)
{
    (void)state;
    image m;
    begin_model(&m, "phi2");
    key_u32(&m, "phi2.attention.key_length", 80);
    key_u32(&m, "phi2.rope.dimension_count", 32);
    finish(&m);
    rope_spec spec = good(&m, NULL);
    assert_int_equal(spec.head_dim, 80);
    assert_int_equal(spec.rotary_dim, 32);
    assert_int_equal(spec.pairing, ROPE_HALF);
    rope_spec_free(&spec);
}

static void scalings_are_read(void **state)
{
    (void)state;
    image m;
    begin_model(&m, "qwen2");
    key_string(&m, "qwen2.rope.scaling.type", "yarn");
    key_f32(&m, "qwen2.rope.scaling.factor", 4);
    key_u32(&m, "qwen2.rope.scaling.original_context_length", 32768);
    finish(&m);
    rope_spec spec = good(&m, NULL);
    assert_int_equal(spec.scaling, ROPE_SCALING_YARN);
    assert_true(spec.factor == 4 && spec.original == 32768 && spec.beta_fast == 32);
    rope_spec_free(&spec);

    begin_model(&m, "llama");
    key_f32(&m, "llama.rope.scale_linear", 4);
    finish(&m);
    spec = good(&m, NULL);
    assert_true(spec.scaling == ROPE_SCALING_LINEAR && spec.factor == 4);
    rope_spec_free(&spec);

    begin_model(&m, "deepseek2");
    key_u32(&m, "deepseek2.attention.key_length", 192);
    key_u32(&m, "deepseek2.rope.dimension_count", 64);
    key_string(&m, "deepseek2.rope.scaling.type", "yarn");
    key_f32(&m, "deepseek2.rope.scaling.factor", 40);
    key_u32(&m, "deepseek2.rope.scaling.original_context_length", 4096);
    key_f32(&m, "deepseek2.rope.scaling.yarn_log_multiplier", 0.1f);
    finish(&m);
    spec = good(&m, NULL);
    rope_frequencies f;
    rope_error error;
    assert_int_equal(spec.head_dim, 64);
    assert_true(rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &f, &error));
    assert_true(f.attention_factor == 1);
    rope_frequencies_free(&f);
    rope_spec_free(&spec);

    begin_model(&m, "llama");
    key_string(&m, "llama.rope.scaling.type", "spiral");
    finish(&m);
    wrong(&m, NULL, "spiral");
    begin_model(&m, "llama");
    key_string(&m, "llama.rope.scaling.type", "yarn");
    finish(&m);
    wrong(&m, NULL, "llama.rope.scaling.factor");
}

static void sections_are_read(void **state)
{
    (void)state;
    image m;
    begin_model(&m, "qwen2vl");
    key_list(&m, "qwen2vl.rope.dimension_sections", 4, (uint32_t[]){16, 24, 24, 0});
    finish(&m);
    rope_spec spec = good(&m, NULL);
    assert_int_equal(spec.axes, ROPE_AXES_MROPE);
    assert_true(spec.sections.count == 3 && spec.sections.values[2] == 24);
    rope_spec_free(&spec);
    begin_model(&m, "qwen3vl");
    key_list(&m, "qwen3vl.rope.dimension_sections", 4, (uint32_t[]){24, 20, 20, 0});
    finish(&m);
    spec = good(&m, NULL);
    assert_int_equal(spec.axes, ROPE_AXES_MROPE_INTERLEAVED);
    rope_spec_free(&spec);
    begin_model(&m, "llama");
    key_list(&m, "llama.rope.dimension_sections", 3, (uint32_t[]){24, 20, 20});
    finish(&m);
    wrong(&m, NULL, "dimension_sections");
}

static void layers_are_chosen(void **state)
{
    (void)state;
    image m;
    begin_model(&m, "gemma3");
    key_f32(&m, "gemma3.rope.scaling.factor", 8);
    finish(&m);
    wrong(&m, NULL, "f:local");
    wrong(&m, "middle", "f:global");
    rope_spec spec = good(&m, "local");
    assert_true(spec.base == 10000 && spec.scaling == ROPE_SCALING_NONE);
    rope_spec_free(&spec);
    spec = good(&m, "global");
    assert_true(spec.base == 500000 && spec.factor == 8);
    rope_spec_free(&spec);
}

static void build_with_tensors(image *m)
{
    begin_model(m, "llama");
    key_u32(m, "llama.attention.key_length", 8);
    tensor(m, "token_embd.weight", 4, 0, 0);
    tensor(m, "rope_freqs.weight", 4, 0, 16);
    finish(m);
    data(m, 8, (float[]){9, 9, 9, 9, 1, 1.5f, 4, 8});
}

/* Llama 3.1's factors are a tensor; without it the spec would silently be Llama 3's. */
static void divisors_are_read(void **state)
{
    (void)state;
    image m;
    build_with_tensors(&m);
    rope_spec spec = good(&m, NULL);
    assert_int_equal(spec.divisors.count, 4);
    assert_true(spec.divisors.values[1] == 1.5 && spec.divisors.values[3] == 8);
    rope_spec_free(&spec);

    begin_model(&m, "phi3");
    key_u32(&m, "phi3.attention.key_length", 4);
    key_u32(&m, "phi3.context_length", 131072);
    key_u32(&m, "phi3.rope.scaling.original_context_length", 4096);
    key_f32(&m, "phi3.rope.scaling.attn_factor", 1.25f);
    tensor(&m, "rope_factors_long.weight", 2, 0, 0);
    tensor(&m, "rope_factors_short.weight", 2, 0, 32);
    finish(&m);
    data(&m, 10, (float[]){4, 5, 0, 0, 0, 0, 0, 0, 1, 2});
    spec = good(&m, NULL);
    assert_int_equal(spec.scaling, ROPE_SCALING_LONGROPE);
    assert_true(spec.short_factors.values[1] == 2 && spec.long_factors.values[0] == 4);
    assert_true(spec.attention_factor == 1.25);
    rope_spec_free(&spec);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    image m;
    build_with_tensors(&m);
    rope_spec spec;
    rope_error error;
    for (size_t size = 0; size < m.size; size++) {
        if (read_bytes(m.bytes, size, NULL, &spec, &error))
            fail_msg("taken when cut to %zu of %zu bytes", size, m.size);
        rope_spec_free(&spec);
    }
}

/* Every byte of the header in turn set to 0xff and to 0: refused or read, never more. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    image m;
    rope_spec spec;
    rope_error error;
    build_with_tensors(&m);
    for (size_t at = 0; at < m.size; at++)
        for (int value = 0; value < 256; value += 255) {
            unsigned char kept = m.bytes[at];
            m.bytes[at] = (unsigned char)value;
            read_bytes(m.bytes, m.size, NULL, &spec, &error);
            rope_spec_free(&spec);
            m.bytes[at] = kept;
        }
}

static void lying_lengths_are_refused(void **state)
{
    (void)state;
    image m;
    const uint64_t huge[] = {UINT64_MAX,        UINT64_MAX - 7,    UINT64_C(1) << 63,
                             UINT64_C(1) << 61, UINT64_C(1) << 32, 4096};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        begin(&m); /* a key of such a length */
        m.pairs = 1;
        put_number(&m, huge[i], 8);
        finish(&m);
        wrong(&m, NULL, "ends inside");
        begin(&m); /* a string value */
        key(&m, "general.architecture", GGUF_STRING);
        put_number(&m, huge[i], 8);
        finish(&m);
        wrong(&m, NULL, "ends inside");
        for (uint32_t inner = 0; inner <= GGUF_F64; inner++) { /* an array of such a length */
            begin(&m);
            key(&m, "x", GGUF_ARRAY);
            put_number(&m, inner, 4);
            put_number(&m, huge[i], 8);
            finish(&m);
            wrong(&m, NULL, "f");
        }
        begin_model(&m, "llama"); /* so many pairs, then so many tensors */
        finish(&m);
        memcpy(m.bytes + 16, &huge[i], 8);
        wrong(&m, NULL, "ends inside");
        finish(&m);
        memcpy(m.bytes + 8, &huge[i], 8);
        wrong(&m, NULL, "ends inside");
        begin_model(&m, "llama"); /* a tensor of that size, and at that offset */
        tensor(&m, "rope_freqs.weight", huge[i], 0, 0);
        finish(&m);
        wrong(&m, NULL, "f: ");
        begin_model(&m, "llama");
        tensor(&m, "rope_freqs.weight", 64, 0, huge[i]);
        finish(&m);
        wrong(&m, NULL, "rope_freqs");
    }
    begin(&m); /* arrays in arrays without end */
    key(&m, "x", GGUF_ARRAY);
    for (int i = 0; i < 100; i++) {
        put_number(&m, GGUF_ARRAY, 4);
        put_number(&m, 1, 8);
    }
    finish(&m);
    wrong(&m, NULL, "unknown");
}

static void other_faults_are_named(void **state)
{
    (void)state;
    image m;
    begin(&m);
    m.bytes[0] = 'X';
    wrong(&m, NULL, "magic");
    begin(&m);
    m.bytes[4] = 1;
    wrong(&m, NULL, "version");
    begin(&m);
    finish(&m);
    wrong(&m, NULL, "general.architecture");
    begin_model(&m, "spiral");
    finish(&m);
    wrong(&m, NULL, "spiral");
    begin_model(&m, "llama");
    key_u32(&m, "llama.rope.twist", 1);
    finish(&m);
    wrong(&m, NULL, "llama.rope.twist");
    begin_model(&m, "llama");
    key_f32(&m, "llama.rope.freq_base", 1);
    finish(&m);
    wrong(&m, NULL, "twice");
    begin(&m);
    key_string(&m, "general.architecture", "llama");
    key_u32(&m, "llama.attention.key_length", 128);
    finish(&m);
    wrong(&m, NULL, "rope.freq_base"); /* no silent 10000 */
    begin(&m);
    key_string(&m, "general.architecture", "llama");
    key_f32(&m, "llama.rope.freq_base", (float)NAN);
    finish(&m);
    wrong(&m, NULL, "freq_base");
    begin(&m);
    key_string(&m, "general.architecture", "llama");
    key_f32(&m, "llama.rope.freq_base", 1e4f);
    finish(&m);
    wrong(&m, NULL, "key_length");
    begin_model(&m, "llama");
    key_u32(&m, "llama.rope.dimension_count", 127);
    finish(&m);
    wrong(&m, NULL, "dimension_count");
    begin_model(&m, "llama");
    tensor(&m, "rope_freqs.weight", 64, 1, 0); /* f16 */
    finish(&m);
    wrong(&m, NULL, "f32");
    begin_model(&m, "llama");
    key_u32(&m, "general.alignment", 0);
    finish(&m);
    wrong(&m, NULL, "alignment");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_model_is_read),
        cmocka_unit_test(key_length_and_partial_rotary_are_read),
        cmocka_unit_test(scalings_are_read),
        cmocka_unit_test(sections_are_read),
        cmocka_unit_test(layers_are_chosen),
        cmocka_unit_test(divisors_are_read),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(lying_lengths_are_refused),
        cmocka_unit_test(other_faults_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
