/* rope.h: all that a kernel of rotary position embedding (RoPE) needs, in plain C.
 *
 * A kernel is one file that includes this header alone, and exports one rope_kernel. The same file
 * serves in Tightrope's registry, in a plug-in (tightrope_kernels below), and in an inference
 * engine.
 *
 * The rotation: for a token at position p and pair i with inverse frequency f_i (radians a
 * position), (u, v) -> A (u cos(p f_i) - v sin(p f_i),  u sin(p f_i) + v cos(p f_i)), A the
 * attention factor. Source: Su et al., RoFormer (arXiv 2104.09864), eq. 15 and 34.
 *
 * Structs grow at the end only; each carries its size, and a kernel must answer ROPE_UNSUPPORTED to
 * a size smaller than it needs, to an unknown flag and to any argument that it does not handle.
 */
#ifndef ROPE_H
#define ROPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ROPE_ABI = 1,      /* version of everything in this header */
    ROPE_MAX_AXES = 4, /* position axes: 1 text, 2 images, 3 M-RoPE */
};

typedef enum rope_status {
    ROPE_OK = 0,          /* done */
    ROPE_UNSUPPORTED = 1, /* this kernel does not take such arguments; nothing was done */
    ROPE_RANGE = 2,       /* a position outside the plan's window; y is untouched */
    ROPE_NO_MEMORY = 3,   /* plan only: allocation failed */
    ROPE_INVALID = 4,     /* arguments contradict each other */
} rope_status;

typedef enum rope_kind {
    ROPE_ROTATION = 0,   /* rope_kernel: rotates the pairs of q or k */
    ROPE_TABLE_ADD = 1,  /* sinusoidal and learnt: a row added to the embedding */
    ROPE_SCORE_BIAS = 2, /* ALiBi: a bias added to the scores */
} rope_kind;

typedef enum rope_pairing {
    ROPE_INTERLEAVED = 0, /* pair i = elements (2i, 2i+1): Su et al., Meta's Llama */
    ROPE_HALF = 1,        /* pair i = (i, i + rotary_dim/2): GPT-NeoX, Hugging Face's rotate_half */
} rope_pairing;

typedef enum rope_dtype {
    ROPE_F32 = 0,  /* IEEE binary32, u = 2^-24 */
    ROPE_F16 = 1,  /* IEEE binary16, u = 2^-11 */
    ROPE_BF16 = 2, /* the upper half of binary32, u = 2^-8 */
    ROPE_F64 = 3,  /* IEEE binary64, u = 2^-53 */
} rope_dtype;

/* CPU features that a kernel may need; the host compares them with the machine at run time. */
enum {
    ROPE_CPU_AVX2 = 1u << 0,
    ROPE_CPU_FMA = 1u << 1,
    ROPE_CPU_F16C = 1u << 2,
    ROPE_CPU_AVX512 = 1u << 3, /* F, BW, DQ and VL */
    ROPE_CPU_NEON = 1u << 4,   /* aarch64 */
};

/* Flags of rope_kernel.header.flags. */
enum {
    ROPE_IN_PLACE = 1u << 0, /* apply takes y == x, with equal strides */
};

/* The head of every descriptor. size = sizeof of the whole descriptor as its author compiled it. */
typedef struct rope_header {
    uint32_t abi;   /* ROPE_ABI */
    uint32_t size;  /* bytes of the descriptor */
    uint32_t kind;  /* rope_kind: which struct this is the head of */
    uint32_t flags; /* see ROPE_IN_PLACE; unknown flags: the host refuses the kernel */
} rope_header;

typedef enum rope_scaling {
    ROPE_SCALING_NONE = 0,
    ROPE_SCALING_LINEAR = 1,       /* position interpolation: theta / factor */
    ROPE_SCALING_NTK = 2,          /* base * factor^(d/(d-2)) */
    ROPE_SCALING_NTK_SU = 3,       /* theta_i * factor^(-2(i+1)/d) */
    ROPE_SCALING_DYNAMIC = 4,      /* dynamic NTK, of the sequence length */
    ROPE_SCALING_YARN = 5,         /* YaRN as released code computes it */
    ROPE_SCALING_YARN_PAPER = 6,   /* YaRN as the paper defines it */
    ROPE_SCALING_LLAMA3 = 7,       /* Llama 3.1's three bands */
    ROPE_SCALING_LONGROPE = 8,     /* per-pair factor lists, chosen by length */
    ROPE_SCALING_PROPORTIONAL = 9, /* Gemma 4: a share of head_dim's frequencies, zeros after */
} rope_scaling;

/* How the pairs are shared out between position axes; the sections of a spec say how many each
 * axis gets. M-RoPE cuts up one series of frequencies, theta_i = base^(-2i/rotary_dim); the 2-D
 * axial layouts give each axis a series of its own over its n pairs, base^(-j/n), j from 0
 * (Qwen2-VL's vision tower; Su, kexue.fm 8397). Axis 0 is t or height. */
typedef enum rope_axes {
    ROPE_AXES_TEXT = 0,              /* one axis */
    ROPE_AXES_MROPE = 1,             /* t, h, w in contiguous sections (Qwen2-VL) */
    ROPE_AXES_MROPE_INTERLEAVED = 2, /* t, h, w interleaved (Qwen3-VL) */
    ROPE_AXES_HEIGHT_WIDTH = 3,      /* 2-D axial: first half of the pairs by height */
    ROPE_AXES_WIDTH_HEIGHT = 4,      /* 2-D axial: first half of the pairs by width */
} rope_axes;

/* A list of numbers in a spec; count 0 = absent. */
typedef struct rope_list {
    const double *values;
    int64_t count;
} rope_list;

/* What to rotate by. Numbers are the nearest f64 of what the user wrote. A number that is absent is
 * NaN (scaling parameters) and its default is the definition's, filled in by validation. */
typedef struct rope_spec {
    uint32_t size;                 /* sizeof(rope_spec) */
    uint32_t pairing;              /* rope_pairing */
    int64_t head_dim;              /* elements of a row, >= 2 */
    int64_t rotary_dim;            /* elements that rotate, even, 2..head_dim */
    int64_t rotary_offset;         /* first element that rotates; usually 0 */
    double base;                   /* > 1; Hugging Face: rope_theta */
    uint32_t scaling;              /* rope_scaling */
    uint32_t axes;                 /* rope_axes */
    double factor;                 /* scaling factor s */
    double low, high;              /* llama3: low_freq_factor, high_freq_factor */
    double original;               /* trained length L before scaling, positions */
    double beta_fast, beta_slow;   /* yarn: rotations over L at the ends of the ramp */
    double mscale, mscale_all_dim; /* yarn: magnitudes (DeepSeek) */
    double attention_factor;       /* A given outright */
    double length;                 /* dynamic, longrope: current sequence length, positions */
    double max_position;           /* longrope: extended length, positions */
    double share;                  /* proportional: share of head_dim that rotates */
    uint32_t truncate;             /* yarn: round the ramp's ends to whole pairs; 1 by default */
    uint32_t exponent_by_head;     /* exponent 2i/head_dim where 2i/rotary_dim is the rule */
    rope_list short_factors, long_factors; /* longrope: rotary_dim/2 each */
    rope_list sections;                    /* axes: pairs of each axis, sum = rotary_dim/2 */
    rope_list divisors;                    /* ggml's rope_freqs: frequency divisors, rotary_dim/2 */
    rope_list inv_freq;                    /* explicit inverse frequencies, rotary_dim/2 */
} rope_spec;

/* What a plan is made from. The host resolves the frequencies; pairs = spec->rotary_dim / 2. */
typedef struct rope_plan_args {
    uint32_t size;  /* sizeof(rope_plan_args) */
    uint32_t flags; /* none defined */
    const rope_spec *spec;
    uint32_t dtype;               /* rope_dtype of x and y */
    uint32_t axis_count;          /* 1..ROPE_MAX_AXES */
    int64_t first[ROPE_MAX_AXES]; /* window of positions on every axis, both ends included */
    int64_t last[ROPE_MAX_AXES];
    int64_t pairs;
    const double *frequency_hi; /* [pairs] radians a position, scaling applied: nearest f64 ... */
    const double
        *frequency_lo;   /* [pairs] ... and what it leaves; |hi + lo - exact| <= 2^-98 |exact| */
    const uint8_t *axis; /* [pairs] position axis of each pair, < axis_count */
    double attention_factor; /* A, > 0 */
} rope_plan_args;

/* A tensor [tokens][heads][head_dim]; element stride 1, aligned to one element only. tokens or
 * heads may be 0: there is no row then, nothing is read or written, and data may be NULL. Rows of a
 * view do not overlap: strides are positive, of either order, and far enough apart. */
typedef struct rope_view {
    void *data;
    int64_t tokens, heads;
    int64_t token_stride, head_stride; /* in elements */
} rope_view;

typedef struct rope_plan rope_plan; /* the kernel's own */

/* Arithmetic that a kernel declares to go through, for error attribution. */
typedef enum rope_arithmetic {
    ROPE_ARITHMETIC_UNDECLARED = 0,
    ROPE_ARITHMETIC_F32 = 1,     /* f32, products and sum each rounded */
    ROPE_ARITHMETIC_F32_FMA = 2, /* f32, one product inside an fma */
    ROPE_ARITHMETIC_F64 = 3,     /* f64, one rounding to storage at the end */
    ROPE_ARITHMETIC_F64_FMA = 4,
} rope_arithmetic;

/* Number formats inside a kernel; 0 = undeclared. */
typedef enum rope_format {
    ROPE_FORMAT_UNDECLARED = 0,
    ROPE_FORMAT_F32 = 1,
    ROPE_FORMAT_F64 = 2,
    ROPE_FORMAT_DD = 3,             /* two f64 */
    ROPE_FORMAT_F32_RECURRENCE = 4, /* each from the one before, in f32 */
    ROPE_FORMAT_FIXED64 = 5,        /* 64-bit fraction of a turn */
    ROPE_FORMAT_F16 = 6,
    ROPE_FORMAT_BF16 = 7,
} rope_format;

typedef struct rope_pipeline {
    uint32_t frequency, angle, table; /* rope_format: inverse frequency, angle, cos and sin */
    uint32_t arithmetic;              /* rope_arithmetic of the rotation */
} rope_pipeline;

/* A rotation kernel. Plans are immutable and shared between threads; apply is reentrant, allocates
 * nothing, starts no thread, opens no file, and leaves the floating-point environment (and, on x86,
 * the x87 stack and the direction flag) as it found it. A plan that fails keeps nothing. */
typedef struct rope_kernel {
    rope_header header;     /* kind ROPE_ROTATION */
    const char *name;       /* = file name = symbol suffix; [a-z0-9_]+ */
    const char *summary;    /* one line */
    uint32_t pairings;      /* bit 1 << rope_pairing of each that is taken */
    uint32_t dtypes;        /* bit 1 << rope_dtype of each that is taken */
    uint32_t cpu_features;  /* ROPE_CPU_* that apply or plan needs */
    rope_pipeline pipeline; /* optional: all zero = undeclared */

    /* All precomputation. args, its spec and every list are the host's: read-only, and gone once
     * the call returns. On success *plan is owned by the caller until destroy. */
    rope_status (*plan)(const rope_plan_args *args, rope_plan **plan);

    /* Rotates [rotary_offset, rotary_offset + rotary_dim) of every row of x into y and copies the
     * rest. positions: int64 [tokens][axis_count] with position_stride elements (axis_count or any
     * number above) from one token to the next; any order, repeated, negative, all of int64 that
     * lies in the window. x and y have equal tokens and heads and their own strides, and are
     * identical (only with ROPE_IN_PLACE) or disjoint. x is not written. On 0 tokens or 0 heads:
     * ROPE_OK, and nothing happens (positions may be NULL where there are 0 tokens). */
    rope_status (*apply)(const rope_plan *plan, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride);

    void (*destroy)(rope_plan *plan); /* plan may be NULL */

    /* Memory that the plan holds, in bytes: all of it, down to the allocator's own rounding. */
    size_t (*plan_bytes)(const rope_plan *plan);

    /* The contract: the largest normwise error of a pair,
     *     |y - exact|_2 / (A |x pair|_2 u),
     * at this position (on the pair's axis; any int64, held to wherever it is finite) for any
     * finite x whose result neither overflows nor underflows (an underflow adds at most 2 smallest
     * subnormals a component). NaN, infinite, negative or >= sqrt(2)/u means that there is none;
     * nor is one taken for it that is 64 times what is claimed at a power of two further out.
     * Derived in a comment above the kernel. */
    double (*error_bound)(const rope_plan_args *args, int64_t position, int64_t pair);
} rope_kernel;

/* ---- Other position encodings, which RoPE is compared with ----
 *
 * Their contract: the largest |y - exact| / (u (|x| + |p|)), x the input element (embedding or
 * score), p the exact position term that is added to it, exact = x + p; a sinusoidal row is made of
 * pairs (sin, cos) of norm 1, and |p| counts as 1 there. Bounds and overflow as for rope_kernel. */

/* Where sin and cos of a sinusoidal row lie. */
typedef enum rope_layout {
    ROPE_LAYOUT_PAPER =
        0, /* p[2i] = sin(t w_i), p[2i+1] = cos(t w_i), w_i = base^(-2i/dim): Vaswani et al. */
    ROPE_LAYOUT_CONCAT =
        1, /* dim/2 sines, then dim/2 cosines, w_i = base^(-i/(dim/2-1)): tensor2tensor */
} rope_layout;

/* What a plan of a ROPE_TABLE_ADD kernel is made from. */
typedef struct rope_table_args {
    uint32_t size;   /* sizeof(rope_table_args) */
    uint32_t flags;  /* none defined */
    uint32_t dtype;  /* rope_dtype of x and y */
    uint32_t layout; /* rope_layout */
    int64_t dim;     /* elements of a row; even for sinusoidal (>= 4 for ROPE_LAYOUT_CONCAT) */
    const double *frequency_hi, *frequency_lo; /* sinusoidal: [dim/2] w_i as in rope_plan_args */
    const float *table; /* learnt: [rows][dim], owned by the caller for the plan's life */
    int64_t rows;       /* learnt: positions 0..rows-1 exist */
} rope_table_args;

/* A kernel that adds row p[position] to an embedding: y = x + p. */
typedef struct rope_table_kernel {
    rope_header header; /* kind ROPE_TABLE_ADD */
    const char *name, *summary;
    uint32_t dtypes, cpu_features;
    uint32_t layouts; /* bit 1 << rope_layout of each that is computed from frequencies; 0: learnt,
                         the table is given */
    uint32_t reserved;
    rope_status (*plan)(const rope_table_args *args, rope_plan **plan);
    /* x and y as in rope_kernel, rows of dim elements (heads is usually 1). A position that has no
     * row gives ROPE_RANGE and leaves y untouched. */
    rope_status (*apply)(const rope_plan *plan, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride);
    void (*destroy)(rope_plan *plan);
    size_t (*plan_bytes)(const rope_plan *plan);
    double (*error_bound)(const rope_table_args *args, int64_t position, int64_t element);
} rope_table_kernel;

/* What a plan of a ROPE_SCORE_BIAS kernel is made from. */
typedef struct rope_bias_args {
    uint32_t size;  /* sizeof(rope_bias_args) */
    uint32_t flags; /* none defined */
    uint32_t dtype; /* rope_dtype of the scores */
    uint32_t reserved;
    int64_t heads; /* attention heads, >= 1, any count */
} rope_bias_args;

/* Scores [heads][queries][keys]; key stride 1. */
typedef struct rope_scores {
    void *data;
    int64_t heads, queries, keys;
    int64_t head_stride, query_stride; /* in elements */
} rope_scores;

/* A kernel that adds a bias to attention scores: y = x - slope_h |query position - key position|.
 */
typedef struct rope_bias_kernel {
    rope_header header; /* kind ROPE_SCORE_BIAS */
    const char *name, *summary;
    uint32_t dtypes, cpu_features;
    rope_status (*plan)(const rope_bias_args *args, rope_plan **plan);
    /* x and y have equal shapes and are identical (with ROPE_IN_PLACE) or disjoint; positions int64
     * [queries] and [keys], |difference| < 2^53, else ROPE_RANGE and y is untouched. */
    rope_status (*apply)(const rope_plan *plan, const rope_scores *x, const rope_scores *y,
                         const int64_t *query_positions, const int64_t *key_positions);
    void (*destroy)(rope_plan *plan);
    size_t (*plan_bytes)(const rope_plan *plan);
    double (*error_bound)(const rope_bias_args *args, int64_t head, int64_t distance);
} rope_bias_kernel;

/* What a plug-in exports under the name "tightrope_kernels": *count descriptors, each a struct that
 * begins with a rope_header. NULL = none for this host_abi (ROPE_ABI of the host). */
typedef const rope_header *const *rope_plugin_entry(uint32_t host_abi, size_t *count);

/* ---- For authors of kernels: the checks and the copying that every kernel needs. A host calls
 * none of these. ---- */

/* What apply needs to know of the plan's arguments. */
typedef struct rope_geometry {
    int64_t head_dim, rotary_offset, pairs;
    uint32_t pairing, axis_count;
    int64_t first[ROPE_MAX_AXES], last[ROPE_MAX_AXES];
} rope_geometry;

/* Checks plan arguments against what a kernel takes (bits as in rope_kernel) and keeps what apply
 * needs. ROPE_UNSUPPORTED: not for this kernel; ROPE_INVALID: they contradict each other. */
static inline rope_status rope_geometry_from(const rope_plan_args *args, uint32_t pairings,
                                             uint32_t dtypes, rope_geometry *geometry)
{
    if (args->size < sizeof(rope_plan_args) || args->flags != 0 || args->spec == NULL ||
        args->spec->size < sizeof(rope_spec))
        return ROPE_UNSUPPORTED;
    const rope_spec *spec = args->spec;
    if (args->dtype > 31 || !(dtypes & 1u << args->dtype) || spec->pairing > 31 ||
        !(pairings & 1u << spec->pairing))
        return ROPE_UNSUPPORTED;
    if (args->axis_count < 1 || args->axis_count > ROPE_MAX_AXES || args->pairs < 1 ||
        args->pairs > INT64_MAX / 64 || spec->rotary_dim != 2 * args->pairs ||
        spec->rotary_offset < 0 || spec->rotary_dim > spec->head_dim ||
        spec->rotary_offset > spec->head_dim - spec->rotary_dim || !(args->attention_factor > 0))
        return ROPE_INVALID;
    if (!(args->attention_factor >= 0x1p-60 && args->attention_factor <= 0x1p60))
        return ROPE_UNSUPPORTED; /* a table of A cos and A sin in f32 would run out of exponents */
    geometry->head_dim = spec->head_dim;
    geometry->rotary_offset = spec->rotary_offset;
    geometry->pairs = args->pairs;
    geometry->pairing = spec->pairing;
    geometry->axis_count = args->axis_count;
    for (uint32_t a = 0; a < args->axis_count; a++) {
        if (args->first[a] > args->last[a])
            return ROPE_INVALID;
        geometry->first[a] = args->first[a];
        geometry->last[a] = args->last[a];
    }
    for (int64_t i = 0; i < args->pairs; i++)
        if (args->axis[i] >= args->axis_count)
            return ROPE_INVALID;
    return ROPE_OK;
}

/* Checks apply's arguments: every position of every axis, before anything is written. */
static inline rope_status rope_geometry_check(const rope_geometry *geometry, const rope_view *x,
                                              const rope_view *y, const int64_t *positions,
                                              int64_t position_stride)
{
    if (x->tokens != y->tokens || x->heads != y->heads)
        return ROPE_INVALID;
    for (int64_t t = 0; t < x->tokens; t++)
        for (uint32_t a = 0; a < geometry->axis_count; a++) {
            int64_t position = positions[t * position_stride + a];
            if (position < geometry->first[a] || position > geometry->last[a])
                return ROPE_RANGE;
        }
    return ROPE_OK;
}

/* Copies what does not rotate of one row; nothing where y is x. */
static inline void rope_copy_rest(const rope_geometry *geometry, size_t element_bytes,
                                  const void *x, void *y)
{
    if (x == y || geometry->head_dim == 2 * geometry->pairs)
        return;
    size_t head = (size_t)geometry->rotary_offset * element_bytes;
    size_t end = head + 2 * (size_t)geometry->pairs * element_bytes;
    memcpy(y, x, head);
    memcpy((char *)y + end, (const char *)x + end,
           (size_t)geometry->head_dim * element_bytes - end);
}

#ifdef __cplusplus
}
#endif

#endif
