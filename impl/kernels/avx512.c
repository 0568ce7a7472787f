/* avx512: lookup's table (cos and sin from f64 angles, rounded once to f32), the rotation in f32
 * with AVX-512, 16 pairs at a time, c and s in registers while the heads pass by, or row after row
 * where the tensor is past the caches.
 *
 * Contract: 2 + sqrt(2)/2 = 2.7072 u where the attention factor A is a power of two, 3 u otherwise,
 * for angles up to 2^24 and far beyond (terms below).
 *
 * Rotation. y0 = fl(x0 c - fl(x1 s)), y1 = fl(x1 c + fl(x0 s)): the outer roundings cost u |y0| and
 * u |y1|, the inner ones u |x1 s| and u |x0 s|; the norm of the sums is at most u |x| |w| + u |s|
 * |x| <= 2 u |x| |w|, w = c + i s (the bound of Jeannerod, Kornerup, Louvet, Muller, Error bounds
 * on complex multiplication with FMA, Math. Comp. 86 (2017)).
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
 * Together (1 + 2 u)(1 + T u + sqrt(2) d) - 1; what is of second order, the f64 product by A and
 * the nearest f64 of A (2^-29 u each) stay below 2^-20 u. */
#include "impl/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    BLOCK = 256, /* pairs gathered at a time where there is more than one axis */
    VECTORS = 8, /* whose c and s stay in registers, at most */
};

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
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("fma"))
        return ROPE_UNSUPPORTED;
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

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define INLINE static inline __attribute__((always_inline))

/* The rows of all heads of one token, at the first pair of a block; strides in elements. */
typedef struct rows {
    const float *x;
    float *y;
    int64_t heads, x_stride, y_stride, partner; /* partner: from x0 to x1 of a half pair */
} rows;

INLINE rows advance(rows r, int64_t elements)
{
    r.x += elements;
    r.y += elements;
    return r;
}

/* 16 half pairs. The first store stands before the second product: gcc then keeps x0 and x1 in
 * registers, where it would load each twice. */
AVX512 INLINE void half_one(rows r, int64_t at, __m512 c, __m512 s)
{
    __m512 x0 = _mm512_loadu_ps(r.x + at), x1 = _mm512_loadu_ps(r.x + r.partner + at);
    _mm512_storeu_ps(r.y + at, _mm512_fmsub_ps(x0, c, _mm512_mul_ps(x1, s)));
    _mm512_storeu_ps(r.y + r.partner + at, _mm512_fmadd_ps(x1, c, _mm512_mul_ps(x0, s)));
}

/* 8 adjacent pairs; c and s hold each value twice. */
AVX512 INLINE void adjacent_one(rows r, int64_t at, __m512 c, __m512 s)
{
    __m512 z = _mm512_loadu_ps(r.x + at);
    __asm__("" : "+v"(z)); /* else gcc loads it twice */
    __m512 swapped = _mm512_permute_ps(z, 0xb1);
    _mm512_storeu_ps(r.y + at, _mm512_fmaddsub_ps(z, c, _mm512_mul_ps(swapped, s)));
}

/* Exactly 16, 8, 4, 2 or 1 elements, or none; the rest of the vector is 0. */
AVX512 INLINE __m512 load_part(const float *p, const int lanes)
{
    if (lanes == 16)
        return _mm512_loadu_ps(p);
    if (lanes == 8)
        return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
    if (lanes == 4)
        return _mm512_zextps128_ps512(_mm_loadu_ps(p));
    if (lanes == 2)
        return _mm512_zextps128_ps512(
            _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
    return lanes == 1 ? _mm512_zextps128_ps512(_mm_load_ss(p)) : _mm512_setzero_ps();
}

AVX512 INLINE void store_part(float *p, __m512 v, const int lanes)
{
    if (lanes == 16)
        _mm512_storeu_ps(p, v);
    else if (lanes == 8)
        _mm256_storeu_ps(p, _mm512_castps512_ps256(v));
    else if (lanes == 4)
        _mm_storeu_ps(p, _mm512_castps512_ps128(v));
    else if (lanes == 2)
        _mm_storel_epi64((__m128i *)(void *)p, _mm_castps_si128(_mm512_castps512_ps128(v)));
    else if (lanes == 1)
        _mm_store_ss(p, _mm512_castps512_ps128(v));
}

/* Exactly 8, 4, 2 or 1 values, each twice. */
AVX512 INLINE __m512 twice(const float *values, const int count)
{
    const __m512i lanes = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(lanes, load_part(values, count));
}

/* `count` half pairs, as so many vectors and a last part of `more` lanes: c and s stay in registers
 * while the heads pass by. The last part may overlap what stands before it: its operands are loaded
 * before anything is stored, so that in place works too, and what it repeats gives the same bits.
 * (Masks are no help: loads wait for a masked store that is near, even where the mask keeps them
 * apart.) */
AVX512 INLINE void half_vectors(rows r, const float *cosines, const float *sines, int64_t count,
                                const int vectors, const int more)
{
    __m512 c[VECTORS], s[VECTORS];
    for (int v = 0; v < vectors; v++) {
        c[v] = _mm512_loadu_ps(cosines + 16 * v);
        s[v] = _mm512_loadu_ps(sines + 16 * v);
    }
    const int64_t last = count - more, other = r.partner + last;
    __m512 c_last = load_part(cosines + last, more), s_last = load_part(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 x0 = load_part(r.x + last, more), x1 = load_part(r.x + other, more);
        for (int v = 0; v < vectors; v++)
            half_one(r, 16 * v, c[v], s[v]);
        store_part(r.y + last, _mm512_fmsub_ps(x0, c_last, _mm512_mul_ps(x1, s_last)), more);
        store_part(r.y + other, _mm512_fmadd_ps(x1, c_last, _mm512_mul_ps(x0, s_last)), more);
    }
}

/* The same of adjacent pairs; `more` pairs. */
AVX512 INLINE void adjacent_vectors(rows r, const float *cosines, const float *sines, int64_t count,
                                    const int vectors, const int more)
{
    __m512 c[VECTORS], s[VECTORS];
    for (int v = 0; v < vectors; v++) {
        c[v] = twice(cosines + 8 * v, 8);
        s[v] = twice(sines + 8 * v, 8);
    }
    const int64_t last = count - more;
    __m512 c_last = twice(cosines + last, more), s_last = twice(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 z = load_part(r.x + 2 * last, 2 * more);
        for (int v = 0; v < vectors; v++)
            adjacent_one(r, 16 * v, c[v], s[v]);
        __m512 product = _mm512_mul_ps(_mm512_permute_ps(z, 0xb1), s_last);
        store_part(r.y + 2 * last, _mm512_fmaddsub_ps(z, c_last, product), 2 * more);
    }
}

/* `count` half pairs, fewer than a vector: the first lanes and the last `more`, loaded before
 * anything is stored. Lines are asked for so far ahead, if at all. */
AVX512 INLINE void half_few(rows r, const float *cosines, const float *sines, int64_t count,
                            const int lanes, const int more, const int64_t ahead)
{
    const int64_t last = count - more, other = r.partner + last;
    __m512 c0 = load_part(cosines, lanes), c1 = load_part(cosines + last, more);
    __m512 s0 = load_part(sines, lanes), s1 = load_part(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        if (ahead > 0)
            _mm_prefetch((const char *)(r.x + ahead), _MM_HINT_T0);
        __m512 x0 = load_part(r.x, lanes), x1 = load_part(r.x + r.partner, lanes);
        __m512 x2 = load_part(r.x + last, more), x3 = load_part(r.x + other, more);
        store_part(r.y, _mm512_fmsub_ps(x0, c0, _mm512_mul_ps(x1, s0)), lanes);
        store_part(r.y + r.partner, _mm512_fmadd_ps(x1, c0, _mm512_mul_ps(x0, s0)), lanes);
        store_part(r.y + last, _mm512_fmsub_ps(x2, c1, _mm512_mul_ps(x3, s1)), more);
        store_part(r.y + other, _mm512_fmadd_ps(x3, c1, _mm512_mul_ps(x2, s1)), more);
    }
}

/* The same of adjacent pairs; `first` pairs and `more`. */
AVX512 INLINE void adjacent_few(rows r, const float *cosines, const float *sines, int64_t count,
                                const int first, const int more)
{
    const int64_t last = count - more;
    __m512 c0 = twice(cosines, first), c1 = twice(cosines + last, more);
    __m512 s0 = twice(sines, first), s1 = twice(sines + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 z0 = load_part(r.x, 2 * first), z1 = load_part(r.x + 2 * last, 2 * more);
        __m512 product0 = _mm512_mul_ps(_mm512_permute_ps(z0, 0xb1), s0);
        __m512 product1 = _mm512_mul_ps(_mm512_permute_ps(z1, 0xb1), s1);
        store_part(r.y, _mm512_fmaddsub_ps(z0, c0, product0), 2 * first);
        store_part(r.y + 2 * last, _mm512_fmaddsub_ps(z1, c1, product1), 2 * more);
    }
}

/* So many whole vectors and what is left, less than another. A part of 8 lanes where it suffices:
 * it lies across two lines less often. */
AVX512 INLINE void half_pass(rows r, const float *c, const float *s, int64_t count,
                             const int vectors)
{
    if (count == 16 * vectors)
        half_vectors(r, c, s, count, vectors, 0);
    else if (count <= 16 * vectors + 8)
        half_vectors(r, c, s, count, vectors, 8);
    else
        half_vectors(r, c, s, count, vectors, 16);
}

AVX512 INLINE void adjacent_pass(rows r, const float *c, const float *s, int64_t count,
                                 const int vectors)
{
    if (count == 8 * vectors)
        adjacent_vectors(r, c, s, count, vectors, 0);
    else if (count <= 8 * vectors + 4)
        adjacent_vectors(r, c, s, count, vectors, 4);
    else
        adjacent_vectors(r, c, s, count, vectors, 8);
}

/* Fewer than 16 half pairs. */
AVX512 INLINE void half_part(rows r, const float *c, const float *s, int64_t count,
                             const int64_t ahead)
{
    if (count > 12)
        half_few(r, c, s, count, 8, 8, ahead);
    else if (count > 10)
        half_few(r, c, s, count, 8, 4, ahead);
    else if (count > 8)
        half_few(r, c, s, count, 8, 2, ahead);
    else if (count == 8)
        half_few(r, c, s, count, 8, 0, ahead);
    else if (count > 4)
        half_few(r, c, s, count, 4, 4, ahead);
    else if (count == 4)
        half_few(r, c, s, count, 4, 0, ahead);
    else if (count > 1)
        half_few(r, c, s, count, 2, 2, ahead);
    else
        half_few(r, c, s, count, 1, 0, ahead);
}

/* Fewer than 8 adjacent pairs. */
AVX512 INLINE void adjacent_part(rows r, const float *c, const float *s, int64_t count)
{
    if (count > 6)
        adjacent_few(r, c, s, count, 4, 4);
    else if (count > 4)
        adjacent_few(r, c, s, count, 4, 2);
    else if (count == 4)
        adjacent_few(r, c, s, count, 4, 0);
    else if (count > 1)
        adjacent_few(r, c, s, count, 2, 2);
    else
        adjacent_few(r, c, s, count, 1, 0);
}

/* At most 79 half pairs, in one pass over the heads. Inlined, since a struct that is stored in
 * parts and loaded whole waits for its stores. */
AVX512 INLINE void half_rest(rows r, const float *c, const float *s, int64_t count)
{
    if (count >= 64)
        half_pass(r, c, s, count, 4);
    else if (count >= 48)
        half_pass(r, c, s, count, 3);
    else if (count >= 32)
        half_pass(r, c, s, count, 2);
    else if (count >= 16)
        half_pass(r, c, s, count, 1);
    else
        half_part(r, c, s, count, 0);
}

/* At most 39 adjacent pairs. */
AVX512 INLINE void adjacent_rest(rows r, const float *c, const float *s, int64_t count)
{
    if (count >= 32)
        adjacent_pass(r, c, s, count, 4);
    else if (count >= 24)
        adjacent_pass(r, c, s, count, 3);
    else if (count >= 16)
        adjacent_pass(r, c, s, count, 2);
    else if (count >= 8)
        adjacent_pass(r, c, s, count, 1);
    else
        adjacent_part(r, c, s, count);
}

/* Rows that the cache holds: few passes over the heads. */
AVX512 INLINE void half_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i == 128 || count - i >= 144; i += 128)
        half_vectors(advance(r, i), c + i, s + i, 128, 8, 0);
    for (; count - i == 64 || count - i >= 80; i += 64)
        half_vectors(advance(r, i), c + i, s + i, 64, 4, 0);
    if (count - i == 32)
        half_vectors(advance(r, i), c + i, s + i, 32, 2, 0);
    else if (i < count)
        half_rest(advance(r, i), c + i, s + i, count - i);
}

AVX512 INLINE void adjacent_in_cache(rows r, const float *c, const float *s, int64_t count)
{
    int64_t i = 0;
    for (; count - i == 64 || count - i >= 72; i += 64)
        adjacent_vectors(advance(r, 2 * i), c + i, s + i, 64, 8, 0);
    for (; count - i == 32 || count - i >= 40; i += 32)
        adjacent_vectors(advance(r, 2 * i), c + i, s + i, 32, 4, 0);
    if (i < count)
        adjacent_rest(advance(r, 2 * i), c + i, s + i, count - i);
}

/* How a tensor is walked. */
typedef enum walk {
    IN_CACHE = 0, /* it fits a core's own caches */
    IN_ORDER = 1, /* it does not, in place */
    COPIED = 2,   /* out of place */
    STREAMED = 3, /* out of place, and past all caches: stores go around them */
} walk;

/* How far ahead lines are asked for, in elements: four rows or 2 KiB. Past the end of a tensor it
 * does no harm. */
INLINE int64_t prefetch_distance(int64_t pairs)
{
    return pairs < 64 ? 512 : 8 * pairs;
}

/* Rows that come from memory: one after the other, in the order of addresses, as prefetchers like
 * it; a last part of `more` lanes as in half_vectors. The two halves of a long row confuse
 * prefetchers: lines are asked for in order, ahead of use; not where rows are copied within the
 * caches, which that slows. */
AVX512 INLINE void half_in_order(rows r, const float *c, const float *s, int64_t count,
                                 const walk how, const int more)
{
    const int64_t last = count - more, other = r.partner + last, ahead = prefetch_distance(count);
    const __m512 c_last = load_part(c + last, more), s_last = load_part(s + last, more);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 x0 = load_part(r.x + last, more), x1 = load_part(r.x + other, more);
        for (int64_t i = 0; i < last; i += 16) {
            if (how != COPIED) {
                _mm_prefetch((const char *)(r.x + 2 * i + ahead), _MM_HINT_T0);
                _mm_prefetch((const char *)(r.x + 2 * i + 16 + ahead), _MM_HINT_T0);
            }
            half_one(r, i, _mm512_loadu_ps(c + i), _mm512_loadu_ps(s + i));
        }
        if (how != COPIED) {
            _mm_prefetch((const char *)(r.x + 2 * last + ahead), _MM_HINT_T0);
            if (more == 16)
                _mm_prefetch((const char *)(r.x + 2 * last + 16 + ahead), _MM_HINT_T0);
        }
        store_part(r.y + last, _mm512_fmsub_ps(x0, c_last, _mm512_mul_ps(x1, s_last)), more);
        store_part(r.y + other, _mm512_fmadd_ps(x1, c_last, _mm512_mul_ps(x0, s_last)), more);
    }
}

AVX512 INLINE void adjacent_in_order(rows r, const float *c, const float *s, int64_t count,
                                     const walk how)
{
    const int64_t last = count - 8, ahead = prefetch_distance(count);
    float c2[2 * BLOCK], s2[2 * BLOCK]; /* each value twice */
    for (int64_t i = 0; i < last; i += 8) {
        _mm512_storeu_ps(c2 + 2 * i, twice(c + i, 8));
        _mm512_storeu_ps(s2 + 2 * i, twice(s + i, 8));
    }
    const __m512 c_last = twice(c + last, 8), s_last = twice(s + last, 8);
    for (int64_t h = 0; h < r.heads; h++, r.x += r.x_stride, r.y += r.y_stride) {
        __m512 z_last = _mm512_loadu_ps(r.x + 2 * last);
        for (int64_t i = 0; i < 2 * last; i += 16) {
            if (how != COPIED)
                _mm_prefetch((const char *)(r.x + i + ahead), _MM_HINT_T0);
            adjacent_one(r, i, _mm512_loadu_ps(c2 + i), _mm512_loadu_ps(s2 + i));
        }
        __m512 product = _mm512_mul_ps(_mm512_permute_ps(z_last, 0xb1), s_last);
        _mm512_storeu_ps(r.y + 2 * last, _mm512_fmaddsub_ps(z_last, c_last, product));
    }
}

/* Rows of so many heads side by side, `apart` heads from one to the next, with stores around the
 * caches: a vector is a whole line of 64 bytes. */
AVX512 INLINE void half_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                     const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 16) {
        __m512 c0 = _mm512_loadu_ps(c + i), s0 = _mm512_loadu_ps(s + i);
        for (int k = 0; k < side_by_side; k++) {
            const float *x = r.x + k * apart * r.x_stride + i;
            float *y = r.y + k * apart * r.y_stride + i;
            __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + r.partner);
            _mm512_stream_ps(y, _mm512_fmsub_ps(x0, c0, _mm512_mul_ps(x1, s0)));
            _mm512_stream_ps(y + r.partner, _mm512_fmadd_ps(x1, c0, _mm512_mul_ps(x0, s0)));
        }
    }
}

AVX512 INLINE void adjacent_side_by_side(rows r, const float *c, const float *s, int64_t count,
                                         const int side_by_side, int64_t apart)
{
    for (int64_t i = 0; i < count; i += 8) {
        __m512 c0 = twice(c + i, 8), s0 = twice(s + i, 8);
        for (int k = 0; k < side_by_side; k++) {
            __m512 z = _mm512_loadu_ps(r.x + k * apart * r.x_stride + 2 * i);
            __m512 product = _mm512_mul_ps(_mm512_permute_ps(z, 0xb1), s0);
            _mm512_stream_ps(r.y + k * apart * r.y_stride + 2 * i,
                             _mm512_fmaddsub_ps(z, c0, product));
        }
    }
}

/* Rows that go from memory to memory: four at once, a quarter of the heads apart, so that four
 * pages of memory are open at a time. That is how memcpy copies as much, and row after row is a
 * fifth slower. */
AVX512 INLINE void streamed(uint32_t pairing, rows r, const float *c, const float *s, int64_t count)
{
    const int64_t apart = r.heads / 4, rest = r.heads % 4;
    for (int64_t h = 0; h < apart; h++, r.x += r.x_stride, r.y += r.y_stride) {
        if (pairing == ROPE_HALF)
            half_side_by_side(r, c, s, count, 4, apart);
        else
            adjacent_side_by_side(r, c, s, count, 4, apart);
    }
    r.x += 3 * apart * r.x_stride;
    r.y += 3 * apart * r.y_stride;
    for (int64_t h = 0; h < rest; h++, r.x += r.x_stride, r.y += r.y_stride) {
        if (pairing == ROPE_HALF)
            half_side_by_side(r, c, s, count, 1, 0);
        else
            adjacent_side_by_side(r, c, s, count, 1, 0);
    }
}

/* From how many elements on stores around the caches pay, out of place: measured, 32 MiB on Zen 5,
 * whose cores share a fast cache; on Emerald Rapids, whose third level is far, 8 MiB or less. */
static int64_t stream_from(void)
{
    return __builtin_cpu_is("intel") ? INT64_C(1) << 21 : INT64_C(1) << 23;
}

/* Own caches of 1 MiB and more. Stores around the caches need rows of whole lines of 64 bytes. */
static walk walk_of(const rope_geometry *g, const rope_view *x, const rope_view *y)
{
    int64_t elements = x->tokens * x->heads * 2 * g->pairs;
    int64_t partner = g->pairing == ROPE_HALF ? g->pairs : 2 * g->pairs;
    int64_t odd = y->token_stride | y->head_stride | g->rotary_offset | partner;
    bool aligned = (uintptr_t)y->data % 64 == 0 && odd % 16 == 0;
    if (x->data != y->data && aligned && elements >= stream_from())
        return STREAMED;
    if (elements <= INT64_C(1) << 18)
        return IN_CACHE;
    return x->data == y->data ? IN_ORDER : COPIED;
}

AVX512 INLINE void rotate(uint32_t pairing, rows r, const float *c, const float *s, int64_t count,
                          walk how)
{
    if (pairing == ROPE_HALF && how == IN_ORDER && count < 16) {
        half_part(r, c, s, count, prefetch_distance(count));
        return;
    }
    if (how != IN_CACHE && count < 16) /* no whole vector */
        how = IN_CACHE;
    const bool narrow = count % 16 != 0 && count % 16 <= 8;
    if (how == STREAMED)
        streamed(pairing, r, c, s, count);
    else if (pairing == ROPE_HALF && how == IN_CACHE)
        half_in_cache(r, c, s, count);
    else if (pairing == ROPE_HALF && how == IN_ORDER && narrow)
        half_in_order(r, c, s, count, IN_ORDER, 8);
    else if (pairing == ROPE_HALF && how == IN_ORDER)
        half_in_order(r, c, s, count, IN_ORDER, 16);
    else if (pairing == ROPE_HALF && narrow)
        half_in_order(r, c, s, count, COPIED, 8);
    else if (pairing == ROPE_HALF)
        half_in_order(r, c, s, count, COPIED, 16);
    else if (how == IN_CACHE)
        adjacent_in_cache(r, c, s, count);
    else if (how == IN_ORDER)
        adjacent_in_order(r, c, s, count, IN_ORDER);
    else
        adjacent_in_order(r, c, s, count, COPIED);
}

static const float *row_of(const rope_plan *p, uint32_t axis, int64_t position)
{
    uint64_t row = (uint64_t)position - (uint64_t)p->geometry.first[axis];
    return p->rows[axis] + row * 2 * (uint64_t)p->width[axis];
}

/* The next token's entries, while this one's heads are rotated. */
static void prefetch_row(const rope_plan *p, const int64_t *position)
{
    if (p->geometry.axis_count > 1)
        return;
    const float *row = row_of(p, 0, position[0]);
    for (int64_t i = 0; i < 2 * p->width[0]; i += 16)
        _mm_prefetch((const char *)(row + i), _MM_HINT_T0);
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

/* All tokens where the cache holds them, positions have one axis and nothing is to be copied. Usual
 * sizes are constants of a loop of their own: between two tokens then stand a few instructions,
 * where the general way takes some 30 cycles, a third of the time of 8 heads of 64. */
AVX512 INLINE void tokens_in_cache(const rope_plan *p, rows r, const rope_view *x,
                                   const rope_view *y, const int64_t *positions,
                                   int64_t position_stride, const uint32_t pairing,
                                   const int64_t pairs)
{
    const float *table = p->rows[0];
    const int64_t first = p->geometry.first[0], tokens = x->tokens;
    const int64_t x_step = x->token_stride, y_step = y->token_stride;
    for (int64_t t = 0; t < tokens;
         t++, r.x += x_step, r.y += y_step, positions += position_stride) {
        const float *row = table + ((uint64_t)positions[0] - (uint64_t)first) * 2 * (uint64_t)pairs;
        if (pairing == ROPE_HALF)
            half_in_cache(r, row, row + pairs, pairs);
        else
            adjacent_in_cache(r, row, row + pairs, pairs);
    }
}

/* rotary_dim 20, 24, 32, 40, 64, 80, 96, 128 and 256 are constants; short rows are a quarter faster
 * for it. */
AVX512 INLINE void sizes_in_cache(const rope_plan *p, rows r, const rope_view *x,
                                  const rope_view *y, const int64_t *positions, int64_t stride,
                                  const uint32_t pairing)
{
#define SIZE(pairs)                                                                                \
    case pairs:                                                                                    \
        tokens_in_cache(p, r, x, y, positions, stride, pairing, pairs);                            \
        break
    switch (p->geometry.pairs) {
        SIZE(10);
        SIZE(12);
        SIZE(16);
        SIZE(20);
        SIZE(32);
        SIZE(40);
        SIZE(48);
        SIZE(64);
        SIZE(128);
    default:
        tokens_in_cache(p, r, x, y, positions, stride, pairing, p->geometry.pairs);
    }
#undef SIZE
}

AVX512 static void apply_in_cache(const rope_plan *p, const rope_view *x, const rope_view *y,
                                  const int64_t *positions, int64_t stride)
{
    const rope_geometry *g = &p->geometry;
    rows r = {(const float *)x->data + g->rotary_offset,
              (float *)y->data + g->rotary_offset,
              x->heads,
              x->head_stride,
              y->head_stride,
              g->pairs};
    if (g->pairing == ROPE_HALF)
        sizes_in_cache(p, r, x, y, positions, stride, ROPE_HALF);
    else
        sizes_in_cache(p, r, x, y, positions, stride, ROPE_INTERLEAVED);
}

AVX512 static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                                const int64_t *positions, int64_t position_stride)
{
    const rope_geometry *g = &p->geometry;
    rope_status status = rope_geometry_check(g, x, y, positions, position_stride);
    if (status != ROPE_OK)
        return status;
    const walk how = walk_of(g, x, y);
    const bool rest = x->data != y->data && g->head_dim != 2 * g->pairs;
    if (how == IN_CACHE && g->axis_count == 1 && !rest) {
        apply_in_cache(p, x, y, positions, position_stride);
        return ROPE_OK;
    }
    for (int64_t t = 0; t < x->tokens; t++) {
        const int64_t *position = positions + t * position_stride;
        const float *source = (const float *)x->data + t * x->token_stride;
        float *target = (float *)y->data + t * y->token_stride;
        if (t + 1 < x->tokens && how != IN_CACHE)
            prefetch_row(p, position + position_stride);
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
            int64_t skip = g->rotary_offset + (g->pairing == ROPE_HALF ? begin : 2 * begin);
            rows r = {source + skip,  target + skip,  x->heads,
                      x->head_stride, y->head_stride, g->pairs};
            rotate(g->pairing, r, cosines, sines, count, how);
        }
        for (int64_t h = 0; h < x->heads && rest; h++)
            rope_copy_rest(g, sizeof(float), source + h * x->head_stride,
                           target + h * y->head_stride);
    }
    if (how == STREAMED)
        _mm_sfence(); /* streamed stores are seen before what follows */
    return ROPE_OK;
}

#else /* another CPU: the descriptor stands, and says what is missing */

struct rope_plan {
    size_t bytes;
};

static rope_status plan(const rope_plan_args *args, rope_plan **out)
{
    (void)args, (void)out;
    return ROPE_UNSUPPORTED;
}

static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y,
                         const int64_t *positions, int64_t position_stride)
{
    (void)p, (void)x, (void)y, (void)positions, (void)position_stride;
    return ROPE_UNSUPPORTED;
}
#endif

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
    return 2 + table + 0x1p-20 + 0x1p24 * 1.5 * entry;
}

const rope_kernel rope_avx512 = {
    .header = {ROPE_ABI, sizeof(rope_kernel), ROPE_ROTATION, ROPE_IN_PLACE},
    .name = "avx512",
    .summary = "table of cos and sin from f64 angles, rotation in f32 by AVX-512",
    .pairings = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF,
    .dtypes = 1u << ROPE_F32,
    .cpu_features = ROPE_CPU_AVX512 | ROPE_CPU_FMA,
    .pipeline = {ROPE_FORMAT_DD, ROPE_FORMAT_F64, ROPE_FORMAT_F32, ROPE_ARITHMETIC_F32_FMA},
    .plan = plan,
    .apply = apply,
    .destroy = destroy,
    .plan_bytes = plan_bytes,
    .error_bound = error_bound,
};
