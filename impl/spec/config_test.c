/* config.json: released models' files give their presets' specs, and what is wrong is named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/spec/config.h"
#include "impl/spec/keys.h"
#include "impl/spec/sources.h"
#include "impl/spec/spec.h"

static void format(const char *text, char *out, size_t size)
{
    rope_spec spec;
    rope_error error = {""};
    if (!rope_spec_parse(text, &spec, &error))
        fail_msg("%s: %s", text, error.text);
    rope_spec_format(&spec, out, size);
    rope_spec_free(&spec);
}

static void same(const char *a, const char *b)
{
    static char left[8192], right[8192];
    format(a, left, sizeof left);
    format(b, right, sizeof right);
    assert_string_equal(left, right);
}

static void files_give_their_presets(void **state)
{
    (void)state;
    static const char *const names[] = {
        "llama-2-7b",
        "llama-3-8b",
        "llama-3.1-8b",
        "llama-3.2-1b",
        "llama-4-scout",
        "mistral-7b-v0.3",
        "qwen2.5-7b",
        "qwen2.5-7b-128k",
        "qwen3-8b",
        "qwen2-vl-7b",
        "qwen2.5-vl-7b",
        "qwen3-vl-8b",
        "gemma-2-9b",
        "phi-2",
        "phi-3.5-mini",
        "phi-4",
        "gpt-neox-20b",
        "gpt-j-6b",
        "falcon-7b",
        "deepseek-v3",
        "glm-4-9b",
        "glm-4-9b-0414",
        "deepseek-coder-6.7b",
        "command-r",
        "olmo-2-7b",
        "stablelm-3b",
        "smollm3-3b",
        "gpt-oss-20b",
        "yarn-llama-2-7b-128k",
    };
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "impl/spec/fixtures/%s.json", names[i]);
        same(path, names[i]);
    }
}

static void layer_types_are_chosen(void **state)
{
    (void)state;
    static const char *const names[] = {"gemma-3-4b", "gemma-3-27b", "gemma-4-31b",
                                        "modernbert-base"};
    char path[256], preset[64];
    rope_spec spec;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int local = 0; local < 2; local++) {
            const char *layer = local ? "local" : "global";
            snprintf(path, sizeof path, "impl/spec/fixtures/%s.json:%s", names[i], layer);
            snprintf(preset, sizeof preset, "%s/%s", names[i], layer);
            same(path, preset);
            /* Without the choice the choices are named. */
            *strrchr(path, ':') = '\0';
            rope_error error = {""};
            assert_false(rope_spec_parse(path, &spec, &error));
            assert_non_null(strstr(error.text, i == 2 ? ":full_attention" : ":global"));
        }
    same("impl/spec/fixtures/gemma-4-31b.json:full_attention", "gemma-4/global");
    rope_error error = {""};
    assert_false(rope_spec_parse("impl/spec/fixtures/gemma-4-31b.json:chunked", &spec, &error));
    assert_non_null(strstr(error.text, "chunked"));
    assert_false(rope_spec_parse("impl/spec/fixtures/llama-3-8b.json:local", &spec, &error));
    assert_non_null(strstr(error.text, "local"));
}

static void overrides_fill_and_replace(void **state)
{
    (void)state;
    same("impl/spec/fixtures/llama-3-8b.json,base=10000", "head_dim=128,base=10000,pairing=half");
    same("impl/spec/fixtures/deepseek-v3.json,pairing=half,scaling=none",
         "head_dim=64,base=10000,pairing=half");
}

#define HEAD "{\"hidden_size\":64,\"num_attention_heads\":1,"

/* Text of a file, and a word that the message must have. */
static const struct {
    const char *text, *word;
} bad[] = {
    {"", "f:1:1"},
    {"{", "f:1:2"},
    {"{\"rope_theta\": 1e4, ", "f:1:"},
    {"{\n\"a\": 1,\n \"b\": tru }", "f:3:7"},
    {"{\"a\": 1} x", "f:1:10"},
    {"{\"a\": 1}\n{}", "f:2:1"},
    {"[1]", "object"},
    {"null", "object"},
    {HEAD "\"rope_theta\":1e4,\"rope_theta\":1e6}", "rope_theta"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"factor\":2,\"factor\":4,\"type\":\"linear\"}}",
     "factor"},
    {HEAD "\"rope_theta\":\"ten\"}", "rope_theta"},
    {HEAD "\"rope_theta\":1}", "base"},
    {HEAD "\"rope_theta\":1e999}", "rope_theta"},
    {HEAD "\"rope_theta\":[1e4]}", "rope_theta"},
    {HEAD "\"a\":1}", "rope_theta"},
    {HEAD "\"model_type\":\"mistral3\"}", "rope_theta"},
    {HEAD "\"model_type\":\"spiral\",\"rope_theta\":1e4}", "spiral"},
    {HEAD "\"model_type\":\"bloom\",\"rope_theta\":1e4}", "no RoPE"},
    {HEAD "\"model_type\":\"falcon\",\"alibi\":true}", "alibi"},
    {HEAD "\"rope_theta\":1e4,\"rope_twist\":1}", "rope_twist"},
    {HEAD "\"rope_theta\":1e4,\"use_mrope\":true}", "use_mrope"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"rope_type\":\"spiral\",\"factor\":2}}", "spiral"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"factor\":2}}", "rope_type"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"alpha\":1}}",
     "alpha"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"yarn\"}}",
     "contradicts"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"linear\"}}", "factor"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"linear\",\"factor\":0.5}}", "factor"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2}}",
     "original_max_position_embeddings"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}}",
     "original_max_position_embeddings"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":\"linear\"}", "rope_scaling"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"default\"},\"rope_parameters\":{}}",
     "rope_parameters"},
    {HEAD "\"rope_theta\":1e4,\"rope_parameters\":{\"rope_theta\":1e6}}", "contradicts"},
    {HEAD "\"rope_parameters\":{\"a\":{\"rope_theta\":1e6},\"b\":{\"rope_theta\":1e4}}}", ":a"},
    {HEAD "\"rope_parameters\":{\"a\":{\"rope_theta\":1e6},\"rope_theta\":1e4}}", "mixes"},
    {HEAD "\"rope_theta\":1e4,\"original_max_position_embeddings\":64,\"rope_scaling\":{\"type\":"
          "\"yarn\",\"factor\":2,\"original_max_position_embeddings\":32}}",
     "original_max_position_embeddings"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"mrope\"}}", "mrope_section"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"mrope\",\"mrope_section\":[1,\"x\"]}}",
     "mrope_section"},
    {HEAD "\"rope_theta\":1e4,\"rope_scaling\":{\"type\":\"mrope\",\"mrope_section\":[1,2,3]}}",
     "sections"},
    {HEAD "\"rope_theta\":1e4,\"original_max_position_embeddings\":64,\"max_position_embeddings\":"
          "128,\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1],\"long_factor\":[1]}}",
     "short_factors"},
    {HEAD "\"rope_theta\":1e4,\"partial_rotary_factor\":0.3}", "rotary_dim"},
    {HEAD "\"rope_theta\":1e4,\"partial_rotary_factor\":1.5}", "partial_rotary_factor"},
    {HEAD "\"rope_theta\":1e4,\"partial_rotary_factor\":0.01}", "rotary_dim"},
    {HEAD "\"rope_theta\":1e4,\"partial_rotary_factor\":0}", "partial_rotary_factor is 0"},
    {HEAD "\"rope_theta\":1e4,\"rotary_pct\":0}", "rotary_pct is 0"},
    {"{\"hidden_size\":64,\"rope_theta\":1e4}", "num_attention_heads"},
    {"{\"hidden_size\":65,\"num_attention_heads\":2,\"rope_theta\":1e4}", "hidden_size"},
    {"{\"hidden_size\":64,\"num_attention_heads\":0,\"rope_theta\":1e4}", "num_attention_heads"},
    {"{\"head_dim\":63,\"rope_theta\":1e4}", "rotary_dim"},
    {"{\"head_dim\":1e300,\"rope_theta\":1e4}", "head_dim"},
    {"{\"head_dim\":-2,\"rope_theta\":1e4}", "head_dim"},
    {"{\"text_config\":{\"head_dim\":64,\"rope_theta\":7e5},\"rope_theta\":1e4}",
     "700000 in text_config contradicts rope_theta = 10000 in the top level"},
    {"{\"text_config\":{\"head_dim\":64,\"rope_theta\":7e5},\"llm_config\":{\"rope_theta\":1e4}}",
     "10000 in llm_config contradicts rope_theta = 700000 in text_config"},
    {"{\"text_config\":{\"head_dim\":64,\"rope_parameters\":{\"rope_theta\":7e5}},\"rope_theta\":"
     "1e4}",
     "in text_config contradicts"},
    {HEAD "\"rope_theta\":1e4,\"text_config\":7}", "text_config is no dictionary"},
    {HEAD "\"rope_theta\":1e4,\"llm_config\":[]}", "llm_config is no dictionary"},
};

static bool parse(const char *text, rope_spec *spec, rope_error *error)
{
    rope_spec_init(spec);
    return rope_config_parse("f", text, strlen(text), NULL, 0, spec, error) &&
           rope_spec_validate(spec, error);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rope_spec spec;
        rope_error error = {""};
        if (parse(bad[i].text, &spec, &error))
            fail_msg("%s is taken, expected an error on %s", bad[i].text, bad[i].word);
        if (strstr(error.text, bad[i].word) == NULL)
            fail_msg("%s: '%s' does not name %s", bad[i].text, error.text, bad[i].word);
        rope_spec_free(&spec);
    }
}

/* Every prefix of a file is refused or read, never a crash; and a byte out of place neither. */
static void cut_files_are_refused(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "\"rope_theta\":1e4,\"original_max_position_embeddings\":64,"
             "\"max_position_embeddings\":128,\"rope_scaling\":{\"type\":\"longrope\","
             "\"short_factor\":[1,2],\"long_factor\":[1,2]},\"model_type\":\"llama\"}";
    rope_spec spec;
    rope_error error;
    for (size_t size = 0; size + 1 < sizeof text; size++) {
        char copy[sizeof text];
        memcpy(copy, text, size);
        rope_spec_init(&spec);
        assert_false(rope_config_parse("f", copy, size, NULL, 0, &spec, &error));
        rope_spec_free(&spec);
        memcpy(copy, text, sizeof text);
        copy[size] = '\x80';
        rope_spec_init(&spec);
        rope_config_parse("f", copy, sizeof text - 1, NULL, 0, &spec, &error);
        rope_spec_free(&spec);
    }
}

/* 8 MB that would take 20 times as much when parsed. */
static void too_many_items_are_refused(void **state)
{
    (void)state;
    enum { SIZE = 8 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memcpy(text, "{\"a\":[", 6);
    for (size_t i = 6; i < SIZE; i++)
        text[i] = i % 2 ? ',' : '1';
    rope_spec spec;
    rope_error error = {""};
    rope_spec_init(&spec);
    assert_false(rope_config_parse("f", text, SIZE, NULL, 0, &spec, &error));
    assert_non_null(strstr(error.text, "more than 1000000 commas"));
    free(text);
}

static void good_traps_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double base;
    } cases[] = {
        {HEAD "\"model_type\":\"llama\"}", 10000}, /* that class's documented default */
        {HEAD "\"rope_theta\":\"500000.0\"}", 500000},
        {HEAD "\"rope_theta\":1e4,\"europe\":1,\"rope_scaling\":{\"rope_type\":\"default\"}}", 1e4},
        {HEAD "\"rope_parameters\":{\"rope_theta\":1e6,\"rope_type\":\"default\"}}", 1e6},
        {HEAD "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e6}}}", 1e6},
        {"\xEF\xBB\xBF" HEAD "\"rope_theta\":1e6,\"rope_scaling\":{}}\n", 1e6},
        {"{\"text_config\":{\"head_dim\":64,\"rope_theta\":7e5},\"rope_theta\":7e5}", 7e5},
        {"{\"text_config\":{\"head_dim\":64,\"rope_theta\":7e5},\"llm_config\":null}", 7e5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rope_spec spec;
        rope_error error = {""};
        if (!parse(cases[i].text, &spec, &error))
            fail_msg("%s: %s", cases[i].text, error.text);
        assert_true(spec.base == cases[i].base && spec.head_dim == 64);
        rope_spec_free(&spec);
    }
}

static void the_stated_length_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double length;
    } cases[] = {
        {"llama-3.1-8b", 131072},
        {"llama-3.1-8b,base=10000", 131072},
        {"impl/spec/fixtures/yarn-llama-2-7b-128k.json", 131072},
        {"impl/spec/fixtures/llama-4-scout.json,base=1e5", 10485760}, /* nested; 8192 * 8 else */
        {"impl/spec/fixtures/gemma-4-31b.json:full_attention", 262144},
        {"impl/spec/fixtures/gpt-j-6b.json", NAN}, /* n_positions is no RoPE's */
        {"impl/spec/fixtures", NAN},               /* a folder without a config.json */
        {"head_dim=64,base=10000,pairing=half", NAN},
        {"", NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double length = rope_spec_stated_length(cases[i].text);
        if (isnan(cases[i].length) ? !isnan(length) : length != cases[i].length)
            fail_msg("%s: %g", cases[i].text, length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_give_their_presets),   cmocka_unit_test(layer_types_are_chosen),
        cmocka_unit_test(overrides_fill_and_replace), cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(cut_files_are_refused),      cmocka_unit_test(good_traps_are_read),
        cmocka_unit_test(too_many_items_are_refused), cmocka_unit_test(the_stated_length_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
