/* lookup: cos and sin from a table over the plan's window, made from f64 angles and rounded once to
 * f32; the rotation in f32, portable C.
 *
 * Contract: sqrt(5) + sqrt(2)/2 = 2.9432 u where the attention factor A is a power of two, sqrt(5)
 * + 1 = 3.2361 u otherwise, for angles up to 2^24 and far beyond (terms below).
 *
 * Rotation. (x0 + i x1)(c + i s) by four rounded products and two rounded sums has normwise error
 * below sqrt(5) u (Brent, Percival, Zimmermann, Error bounds on complex floating-point
 * multiplication, Math. Comp. 76 (2007), theorem 1).
 *
 * Angle. a = fl(p hi) and e = fl(fma(p, hi, -a) + fl(p lo)); the fma is exact, |e| <= 2^-52 |a|,
 * the roundings of e cost 2^-104 |a| and the frequency 2^-98 |a|: |a + e - p theta| < 2^-97 |a|.
 * Past 2^53 the position itself is rounded: 2^-53 |a| more.
 *
 * Table. cos(a + e) = cos a - e sin a - r, |r| <= e^2 / 2 <= 2^-105 a^2. glibc's cos and sin in f64
 * are within 0.55 ulp (its s_sin.c), so .55 2^-53, and the sum's rounding costs 2^-54: before it is
 * rounded to f32 an entry is off by less than d = 2^-52 + 2^-97 |a| + 2^-105 a^2. Rounding a value
 * below 1 costs at most u/2; two of them sqrt(2)/2 u.
 *
 * A is folded into the entries: A c, A s. Where A = 2^k, the entries lie below 2^k and round to
 * within 2^k u/2: the same sqrt(2)/2 u of A. Elsewhere an entry v may lie above a power of two,
 * where half an ulp is up to u |v|: normwise at most sqrt(v0^2 + v1^2) u = A u, so 1 u. (Reached as
 * A nears a power of two from above.)
 *
 * Together (1 + sqrt(5) u)(1 + T u + sqrt(2) d) - 1; what is of second order, the f64 product by A
 * and the nearest f64 of A (2^-29 u each) stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCK = 256 }; /* pairs gathered at a time where there is more than one axis */

/* Where a pair's entries stand: in the rows of its axis, which hold that axis' pairs alone. */
typedef struct place {
    int64_t slot;
    uint32_t axis;
} place;

struct rope_plan {
    rope_geometry geometry;
    size_t bytes;
    int64_t width[ROPE_MAX_AXES]; /* pairs of each axis */
    float *rows[ROPE_MAX_AXES];   /* [position - first][2][width]: A cos, then A sin */
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
        size_t row = 2 * (size_t)width[a];
        if (more >= (SIZE_MAX / 16 - *floats) / row)
            return false;
        *floats += ((size_t)more + 1) * row;
    }
    return true;
}

static void fill(rope_plan *p, const rope_plan_args *args, uint32_t axis)
{
    int64_t first = args->first[axis], width = p->width[axis];
    uint64_t more = (uint64_t)args->last[axis] - (uint64_t)first;
    float *row = p->rows[axis];
    for (uint64_t t = 0; t <= more && width > 0; t++, row += 2 * width) {
        double position = (double)(first + (int64_t)t);
        for (int64_t i = 0; i < args->pairs; i++) {
            if (p->places[i].axis != axis)
                continue;
            double a = position * args->frequency_hi[i];
            double e = fma(position, args->frequency_hi[i], -a) + position * args->frequency_lo[i];
            double c = cos(a), s = sin(a);
            row[p->places[i].slot] = (float)(args->attention_factor * (c - e * s));
            row[width + p->places[i].slot] = (float)(args->attention_factor * (s + e * c));
        }
    }
}

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    rope_geometry geometry;
    rope_status status = rope_geometry_from(args, 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
                                            1u << ROPE_F32, &geometry);
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
    for (uint32_t a = 0; a < args->axis_count; a++)
        fill(p, args, a);
    *out = p;
    return ROPE_OK;
}

/* The same C compiled for wider vectors too, and chosen when the program is loaded, where the
 * compiler offers that. (Before a sanitizer is up, the choice cannot run.) */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NO_CLONES 1
#endif
#endif
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__has_attribute) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(NO_CLONES)
#if __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef CLONES
#define CLONES
#endif

/* In and out of place apart, so that the compiler can vectorise both: nothing overlaps what
 * restrict says does not. */
CLONES static void half(const float *restrict cosines, const float *restrict sines, int64_t count,
                        int64_t partner, const float *restrict x, float *restrict y)
{
    for (int64_t i = 0; i < count; i++) {
        float x0 = x[i], x1 = x[i + partner];
        y[i] = x0 * cosines[i] - x1 * sines[i];
        y[i + partner] = x0 * sines[i] + x1 * cosines[i];
    }
}

CLONES static void half_in_place(const float *restrict cosines, const float *restrict sines,
                                 int64_t count, float *restrict first, float *restrict second)
{
    for (int64_t i = 0; i < count; i++) {
        float x0 = first[i], x1 = second[i];
        first[i] = x0 * cosines[i] - x1 * sines[i];
        second[i] = x0 * sines[i] + x1 * cosines[i];
    }
}

CLONES static void adjacent(const float *restrict cosines, const float *restrict sines,
                            int64_t count, const float *restrict x, float *restrict y)
{
    for (int64_t i = 0; i < count; i++) {
        float x0 = x[2 * i], x1 = x[2 * i + 1];
        y[2 * i] = x0 * cosines[i] - x1 * sines[i];
        y[2 * i + 1] = x0 * sines[i] + x1 * cosines[i];
    }
}

CLONES static void adjacent_in_place(const float *restrict cosines, const float *restrict sines,
                                     int64_t count, float *restrict x)
{
    for (int64_t i = 0; i < count; i++) {
        float x0 = x[2 * i], x1 = x[2 * i + 1];
        x[2 * i] = x0 * cosines[i] - x1 * sines[i];
        x[2 * i + 1] = x0 * sines[i] + x1 * cosines[i];
    }
}

static void rotate(const rope_geometry *g, const float *cosines, const float *sines, int64_t begin,
                   int64_t count, const float *x, float *y)
{
    int64_t skip = g->rotary_offset + (g->pairing == ROPE_HALF ? begin : 2 * begin);
    if (g->pairing == ROPE_HALF && x == y)
        half_in_place(cosines, sines, count, y + skip, y + skip + g->pairs);
    else if (g->pairing == ROPE_HALF)
        half(cosines, sines, count, g->pairs, x + skip, y + skip);
    else if (x == y)
        adjacent_in_place(cosines, sines, count, y + skip);
    else
        adjacent(cosines, sines, count, x + skip, y + skip);
}

static const float *row_of(const rope_plan *p, uint32_t axis, int64_t position)
{
    uint64_t row = (uint64_t)position - (uint64_t)p->geometry.first[axis];
    return p->rows[axis] + row * 2 * (uint64_t)p->width[axis];
}

static void gather(const rope_plan *p, const int64_t *position, int64_t begin, int64_t count,
                   float *cosines, float *sines)
{
    for (int64_t i = 0; i < count; i++) {
        place at = p->places[begin + i];
        const float *row = row_of(p, at.axis, position[at.axis]) + at.slot;
        cosines[i] = row[0];
        sines[i] = row[p->width[at.axis]];
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
            float gathered[2][BLOCK];
            const float *cosines = gathered[0], *sines = gathered[1];
            int64_t count = g->pairs - begin < BLOCK ? g->pairs - begin : BLOCK;
            if (g->axis_count == 1) {
                cosines = row_of(p, 0, position[0]) + begin;
                sines = cosines + g->pairs;
            } else {
                gather(p, position, begin, count, gathered[0], gathered[1]);
            }
            for (int64_t h = 0; h < x->heads; h++)
                rotate(g, cosines, sines, begin, count, source + h * x->head_stride,
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

static double error_bound(const rope_plan_args *args, int64_t position, int64_t pair)
{
    int exponent;
    double table = frexp(args->attention_factor, &exponent) == 0.5 ? sqrt(0.5) : 1;
    double magnitude = fabs((double)position), angle = magnitude * fabs(args->frequency_hi[pair]);
    double entry = 0x1p-97 * angle + 0x1p-105 * angle * angle;
    if (magnitude >= 0x1p53)
        entry += 0x1p-53 * angle;
    return sqrt(5) + table + 0x1p-20 + 0x1p24 * 1.5 * entry;
}

const rope_kernel rope_lookup = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "lookup",
    .summary = "table of cos and sin from f64 angles, rotation in f32, portable C",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
