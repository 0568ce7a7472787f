#include "impl/spec/models.h"

#include <stddef.h>
#include <string.h>

#include "impl/rope.h"

static const rope_model models[] = {
#define MODEL(type, pairing, base, local_base, share, head_dim)                                    \
    {type, ROPE_MODEL_##pairing, base, local_base, share, head_dim},
#include "impl/spec/models.def"
#undef MODEL
};

const rope_model *rope_model_find(const char *type)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].type, type) == 0)
            return &models[i];
    return NULL;
}

/* llama_model_rope_type of ggml-org/llama.cpp, src/llama-model.cpp: NORM, then NEOX. Conversion
 * permutes q and k of Llama-like checkpoints from half to interleaved, so that the same model has
 * another pairing in its config.json. */
static const char *const gguf_interleaved[] = {
    "llama",    "llama4",    "llada",   "deci",       "starcoder",     "internlm2", "minicpm",
    "xverse",   "command-r", "cohere2", "olmo",       "arctic",        "deepseek",  "deepseek2",
    "plm",      "chatglm",   "granite", "granitemoe", "granitehybrid", "chameleon", "bailingmoe",
    "neo-bert", "smollm3",   "arcee",   "ernie4_5",   "ernie4_5-moe",  "mistral3",  "glm4",
};
static const char *const gguf_half[] = {
    "falcon",          "falcon-h1",      "grok",     "dbrx",         "bert",      "modern-bert",
    "nomic-bert",      "nomic-bert-moe", "eurobert", "stablelm",     "bitnet",    "qwen",
    "qwen2",           "qwen2moe",       "qwen2vl",  "qwen3",        "qwen3moe",  "qwen3next",
    "qwen3vl",         "qwen3vlmoe",     "olmo2",    "olmoe",        "phi2",      "phi3",
    "phimoe",          "plamo",          "gemma",    "gemma2",       "gemma3",    "gemma3n",
    "gemma-embedding", "starcoder2",     "openelm",  "gptneox",      "codeshell", "orion",
    "nemotron",        "exaone",         "exaone4",  "minicpm3",     "dots1",     "hunyuan-moe",
    "hunyuan-dense",   "gpt-oss",        "lfm2",     "smallthinker", "seed_oss",  "apertus",
    "glm4moe",
};

static int contains(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

int rope_gguf_pairing(const char *architecture)
{
    if (contains(gguf_interleaved, sizeof gguf_interleaved / sizeof gguf_interleaved[0],
                 architecture))
        return ROPE_INTERLEAVED;
    if (contains(gguf_half, sizeof gguf_half / sizeof gguf_half[0], architecture))
        return ROPE_HALF;
    return -1;
}
