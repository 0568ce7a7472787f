/* rotate_half: x * cos + rotate_half(x) * sin over full-width tables, all in f32, as Hugging Face's
 * transformers computes it (modeling_llama.py: LlamaRotaryEmbedding and apply_rotary_pos_emb):
 * inv_freq = 1 / base^(2i/d) in f32, freqs = inv_freq * position in f32, cos and sin of that, times
 * the attention factor, each frequency twice in a row of rotary_dim entries.
 *
 * Without scaling the kernel computes its frequencies itself, from base and rotary_dim; otherwise
 * it takes the host's, rounded to f32.
 *
 * Contract: |chord of the angle's error| / u + sqrt(5) + the table's term, growing with position.
 *
 * Angle. f is the kernel's f32 frequency, p' the position in f32. The kernel's angle is fl(p' f):
 * off by |p| |f - theta| + |p' - p| f + half an ulp of the angle (nothing where f32 holds p' f).
 * The rotation by an angle that is off by e is off by the chord, 2 sin(e / 2).
 *
 * Table. glibc's sinf and cosf are within 0.5607 ulp (its s_sinf.c, s_cosf.c), an ulp below 1 is at
 * most u: sqrt(2) 0.5607 u = 0.7930 u. The attention factor is rounded to f32, and the product by
 * it is rounded: below u |A c|, normwise below u A; nothing where A is a power of two.
 *
 * Rotation. Four rounded products and two rounded sums: sqrt(5) u (Brent, Percival, Zimmermann,
 * Math. Comp. 76 (2007), theorem 1).
 *
 * Terms of second order stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCK = 128 }; /* pairs gathered at a time where there is more than one axis */

/* Where a pair's entries stand: in the rows of its axis, which hold that axis' pairs alone. */
typedef struct place {
    int64_t slot;
    uint32_t axis;
} place;

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    int64_t width[ROPE_MAX_AXES]; /* pairs of each axis */
    float *rows[ROPE_MAX_AXES];   /* [position - first][2][2][width]: A cos twice, A sin twice */
    place *places;                /* [pairs] */
};

/* Sets width, and the floats of all tables; false where that is no size. */
static bool table_size(const rope_plan_args *args, int64_t *width, size_t *start, size_t *floats)
{
    memset(width, 0, ROPE_MAX_AXES * sizeof *width);
    for (int64_t i = 0; i < args->pairs; i++)
        width[args->axis[i]]++;
    *floats = 0;
    for (uint32_t a = 0; a < args->axis_count; a++) {
        start[a] = *floats;
        if (width[a] == 0)
            continue;
        uint64_t more = (uint64_t)args->last[a] - (uint64_t)args->first[a]; /* rows but one */
        size_t row = 4 * (size_t)width[a];
        if (more >= (SIZE_MAX / 16 - *floats) / row)
            return false;
        *floats += ((size_t)more + 1) * row;
    }
    return true;
}

/* The inverse frequency in f32 of a pair. */
static float inverse_frequency(const rope_plan_args *args, int64_t pair)
{
    const rope_spec *spec = args->spec;
    bool axial = spec->axes == ROPE_AXES_HEIGHT_WIDTH || spec->axes == ROPE_AXES_WIDTH_HEIGHT;
    if (spec->scaling != ROPE_SCALING_NONE || axial || spec->exponent_by_head ||
        spec->inv_freq.count > 0 || spec->divisors.count > 0)
        return (float)args->frequency_hi[pair];
    return 1.0f / powf((float)spec->base, (float)(2 * pair) / (float)spec->rotary_dim);
}

static void fill(rope_plan *p, const rope_plan_args *args, int64_t pair)
{
    place at = p->places[pair];
    int64_t first = args->first[at.axis], width = p->width[at.axis];
    uint64_t more = (uint64_t)args->last[at.axis] - (uint64_t)first;
    float frequency = inverse_frequency(args, pair), factor = (float)args->attention_factor;
    float *row = p->rows[at.axis] + at.slot;
    for (uint64_t t = 0; t <= more; t++, row += 4 * width) {
        float angle = (float)(first + (int64_t)t) * frequency;
        row[0] = row[width] = cosf(angle) * factor;
        row[2 * width] = row[3 * width] = sinf(angle) * factor;
    }
}

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    rope_geometry geometry;
    rope_status status = rope_geometry_from(args, 1u << ROPE_HALF, 1u << ROPE_F32, &geometry);
    if (status != ROPE_OK)
        return status;
    int64_t width[ROPE_MAX_AXES], used[ROPE_MAX_AXES] = {0};
    size_t start[ROPE_MAX_AXES], floats, places = (size_t)args->pairs * sizeof(place);
    if (!table_size(args, width, start, &floats))
        return ROPE_NO_MEMORY;
    size_t bytes = sizeof(rope_plan) + places + floats * sizeof(float);
    rope_plan *p = malloc(bytes);
    if (p == NULL)
        return ROPE_NO_MEMORY;
    p->geometry = geometry;
    p->bytes = bytes;
    p->places = (place *)(p + 1);
    float *table = (float *)(p->places + args->pairs);
    for (uint32_t a = 0; a < args->axis_count; a++) {
        p->width[a] = width[a];
        p->rows[a] = table + start[a];
    }
    for (int64_t i = 0; i < args->pairs; i++)
        p->places[i] = (place){used[args->axis[i]]++, args->axis[i]};
    for (int64_t i = 0; i < args->pairs; i++)
        fill(p, args, i);
    *out = p;
    return ROPE_OK;
}

/* One half of x * cos + rotate_half(x) * sin; rotate_half(x) = (-second half, first half). */
static void rotate(const rope_geometry *g, const float *const tables[4], int64_t begin,
                   int64_t count, const float *x, float *y)
{
    x += g->rotary_offset + begin;
    y += g->rotary_offset + begin;
    for (int64_t i = 0; i < count; i++) {
        float x0 = x[i], x1 = x[i + g->pairs];
        y[i] = x0 * tables[0][i] + -x1 * tables[2][i];
        y[i + g->pairs] = x1 * tables[1][i] + x0 * tables[3][i];
    }
}

static const float *row_of(const rope_plan *p, uint32_t axis, int64_t position)
{
    uint64_t row = (uint64_t)position - (uint64_t)p->geometry.first[axis];
    return p->rows[axis] + row * 4 * (uint64_t)p->width[axis];
}

static void gather(const rope_plan *p, const int64_t *position, int64_t begin, int64_t count,
                   float gathered[4][BLOCK])
{
    for (int64_t i = 0; i < count; i++) {
        place at = p->places[begin + i];
        const float *row = row_of(p, at.axis, position[at.axis]) + at.slot;
        for (int64_t k = 0; k < 4; k++)
            gathered[k][i] = row[k * p->width[at.axis]];
    }
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    for (int64_t t = 0; t < x->tokens; t++) {
        const int64_t *position = positions + t * position_stride;
        const float *source = (const float *)x->data + t * x->token_stride;
        float *target = (float *)y->data + t * y->token_stride;
        for (int64_t begin = 0; begin < g->pairs; begin += BLOCK) {
            float gathered[4][BLOCK];
            const float *tables[4];
            int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
            if (g->axis_count > 1)
                gather(p, position, begin, count, gathered);
            for (int64_t k = 0; k < 4; k++)
                tables[k] = g->axis_count > 1 ? gathered[k]
                                              : row_of(p, 0, position[0]) + k * g->pairs + begin;
            for (int64_t h = 0; h < x->heads; h++)
                rotate(g, tables, begin, count, source + h * x->head_stride,
                       target + h * y->head_stride);
        }
        for (int64_t h = 0; h < x->heads; h++)
            rope_copy_rest(g, sizeof(float), source + h * x->head_stride,
                           target + h * y->head_stride);
    }
    return ROPE_OK;
}

static void destroy(rope_plan *p)
{
    free(p);
}

static size_t plan_bytes(const rope_plan *p)
{
    return p->bytes;
}

/* Largest error of the kernel's angle, radians. */
static double angle_error(double position, double frequency, double hi, double lo)
{
    double magnitude = fabs(position), in_f32 = fabs((double)(float)position);
    double angle = in_f32 * fabs(frequency); /* exact: 24 x 24 bits */
    double error = magnitude * (fabs(frequency - hi) + fabs(lo));
    if (magnitude > 0x1p24)
        error += 0x1p-24 * magnitude * fabs(frequency);
    if ((double)(float)angle != angle)
        error += ldexp(1, ilogb(angle) - 24);
    return error * (1 + 0x1p-40);
}

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    int exponent;
    double factor = args->attention_factor, frequency = inverse_frequency(args, pair);
    double error = angle_error((double)position, frequency, args->frequency_hi[pair],
                               args->frequency_lo[pair]);
    if (!(error < 3.1415926))
        return INFINITY;
    double table = sqrt(2) * 0.5607;
    if (frexp(factor, &exponent) != 0.5)
        table += 1 + 0x1p24 * fabs((double)(float)factor - factor) / factor;
    return 0x1p24 * 2 * sin(error / 2) + sqrt(5) + table + 0x1p-20;
}

const rope_kernel rope_rotate_half = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "rotate_half",
    .summary = "x cos + rotate_half(x) sin over full-width tables, f32 angles (Hugging Face)",
    .pairings = 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_F32, ROPE_FORMAT_F32, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
