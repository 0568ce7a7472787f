/* What a model's type implies about its RoPE. */
#ifndef ROPE_MODELS_H
#define ROPE_MODELS_H

typedef enum rope_model_pairing {
    ROPE_MODEL_INTERLEAVED = 0,
    ROPE_MODEL_HALF = 1,
    ROPE_MODEL_ABSENT = 2, /* no RoPE: absolute positions, ALiBi */
} rope_model_pairing;

typedef struct rope_model {
    const char *type; /* model_type */
    rope_model_pairing pairing;
    double base, local_base; /* defaults; 0 = the file must say */
    double share;            /* default of partial_rotary_factor; 0 = the file must say */
    double head_dim;         /* default; 0 = hidden_size / num_attention_heads */
} rope_model;

/* The model of exactly that model_type, or NULL. */
const rope_model *rope_model_find(const char *type);

/* The pairing that llama.cpp uses for a GGUF architecture: ROPE_INTERLEAVED, ROPE_HALF, or -1 where
 * it is unknown or has no RoPE. */
int rope_gguf_pairing(const char *architecture);

#endif
