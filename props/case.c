#include "props/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/rotate.h"

bool prop_case_new(prop_case *c, const prop_property *property, const prop_subject *s,
                   int64_t tokens, int64_t heads, int lists)
{
    prop_shape shape = {
        .tokens = tokens, .heads = heads, .head_dim = s->spec->head_dim, .place = PROP_PLACE_END};
    *c = (prop_case){.property = property,
                     .x = shape,
                     .y = shape,
                     .axes = s->frequencies->axis_count,
                     .lists = lists};
    c->positions = calloc((size_t)(lists * tokens * c->axes), sizeof *c->positions);
    return c->positions != NULL;
}

bool prop_case_copy(const prop_case *from, prop_case *to)
{
    *to = *from;
    size_t bytes = (size_t)(from->lists * from->x.tokens * from->axes) * sizeof *from->positions;
    size_t elements = (size_t)prop_case_elements(from) * sizeof **from->bits;
    bool good = (to->positions = malloc(bytes)) != NULL;
    if (good)
        memcpy(to->positions, from->positions, bytes);
    for (int i = 0; i < PROP_STREAMS; i++) {
        to->bits[i] = NULL;
        if (good && from->bits[i] != NULL && (good = (to->bits[i] = malloc(elements)) != NULL))
            memcpy(to->bits[i], from->bits[i], elements);
    }
    if (!good)
        prop_case_free(to);
    return good;
}

void prop_case_free(prop_case *c)
{
    free(c->positions);
    for (int i = 0; i < PROP_STREAMS; i++)
        free(c->bits[i]);
    *c = (prop_case){0};
}

int64_t *prop_case_list(const prop_case *c, int list)
{
    return c->positions + list * c->x.tokens * c->axes;
}

int64_t prop_case_elements(const prop_case *c)
{
    return c->x.tokens * c->x.heads * c->x.head_dim;
}

static inline uint64_t hash(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15 * (a + 1) + 0xd1342543de82ef95 * b;
    for (int round = 0; round < 2; round++) {
        z ^= z >> 30;
        z *= 0xbf58476d1ce4e5b9;
        z ^= z >> 27;
        z *= 0x94d049bb133111eb;
        z ^= z >> 31;
    }
    return z;
}

uint64_t prop_hash(uint64_t seed, uint64_t a, uint64_t b)
{
    return hash(seed, a, b);
}

/* ---- data ---- */

typedef struct {
    int significand, exponent_bias; /* stored bits of the significand; bias */
    int total;                      /* bits */
} format;

static const format formats[] = {[ROPE_F32] = {23, 127, 32},
                                 [ROPE_F16] = {10, 15, 16},
                                 [ROPE_BF16] = {7, 127, 16},
                                 [ROPE_F64] = {52, 1023, 64}};

static void put(size_t bytes, void *packed, int64_t index, uint64_t bits)
{
    /* Little-endian; by sizes that the compiler knows, since all data come through here. */
    unsigned char *at = packed;
    switch (bytes) {
    case 2:
        memcpy(at + 2 * index, &bits, 2);
        break;
    case 4:
        memcpy(at + 4 * index, &bits, 4);
        break;
    default:
        memcpy(at + 8 * index, &bits, 8);
    }
}

static uint64_t get(rope_dtype dtype, const void *packed, int64_t index)
{
    size_t bytes = rope_dtype_bytes(dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)packed + (size_t)index * bytes, bytes);
    return bits;
}

/* A value with this exponent (of 2), random sign and significand. */
static uint64_t with_exponent(rope_dtype dtype, uint64_t random, int exponent)
{
    const format *f = &formats[dtype];
    uint64_t significand = random & (((uint64_t)1 << f->significand) - 1);
    uint64_t biased = (uint64_t)(exponent + f->exponent_bias);
    return (random >> 63) << (f->total - 1) | biased << f->significand | significand;
}

/* Exponents in [-reach, reach] for WIDE: products of two, times a score's length, stay in range. */
static int wide_reach(rope_dtype dtype)
{
    static const int reach[] = {
        [ROPE_F32] = 50, [ROPE_F16] = 6, [ROPE_BF16] = 50, [ROPE_F64] = 300};
    return reach[dtype];
}

static inline __attribute__((always_inline)) uint64_t element(rope_dtype dtype, prop_data_kind kind,
                                                              uint64_t h)
{
    const format *f = &formats[dtype];
    uint64_t more = hash(h, 1, 0),
             all = f->total == 64 ? ~(uint64_t)0 : ((uint64_t)1 << f->total) - 1;
    uint64_t infinity = (((uint64_t)1 << (f->total - 1 - f->significand)) - 1) << f->significand;
    int reach = wide_reach(dtype);
    switch (kind) {
    case PROP_DATA_WIDE:
        return with_exponent(dtype, h, (int)(more % (uint64_t)(2 * reach + 1)) - reach);
    case PROP_DATA_EDGE: {
        uint64_t sign = (uint64_t)1 << (f->total - 1), any = h & all;
        switch (more % 8) {
        case 0:
            return any & sign; /* a zero */
        case 1:
            return any & (sign | (((uint64_t)1 << f->significand) - 1)); /* subnormal */
        case 2:
            return (any & sign) | (infinity - 1 - more / 8 % 4); /* the largest */
        case 3:
            return (any & sign) | (1 + more / 8 % 4); /* the smallest */
        default:
            return (any & infinity) == infinity ? any ^ (uint64_t)1 << f->significand : any;
        }
    }
    case PROP_DATA_SPECIAL:
        if (more % 16 == 0)
            return infinity | (h >> 63) << (f->total - 1);
        if (more % 16 == 1)
            return infinity | (uint64_t)1 << (f->significand - 1); /* quiet NaN */
        return with_exponent(dtype, h, (int)(more / 16 % 13) - 6);
    case PROP_DATA_INTEGER: {
        /* -64..64, as value: exact in every dtype */
        uint64_t bits = 0;
        oracle_store((uint32_t)dtype, &bits, 0, (double)((int64_t)(h % 129) - 64));
        return bits;
    }
    default:
        return with_exponent(dtype, h, (int)(more % 13) - 6);
    }
}

/* Makes pair i of a row cancel in one component: x proportional to (sin, cos), where
 * x0 cos - x1 sin vanishes, or to (cos, -sin), where x0 sin + x1 cos does. */
static void cancel_row(const prop_subject *s, const oracle_cos_sin_dd *r, uint64_t seed,
                       void *packed, int64_t row)
{
    for (int64_t i = 0; i < s->frequencies->pairs; i++) {
        int64_t first, second;
        prop_pair(s->spec, i, &first, &second);
        uint64_t h = prop_hash(seed, (uint64_t)row, (uint64_t)i);
        double scale = 1 + (double)(h >> 12) * 0x1p-52, c = r[i].cos.hi, v = r[i].sin.hi;
        double a = h & 1 ? c : v, b = h & 1 ? -v : c;
        if (h & 2)
            scale = -scale;
        oracle_store((uint32_t)s->dtype, packed, row * s->spec->head_dim + first, a * scale);
        oracle_store((uint32_t)s->dtype, packed, row * s->spec->head_dim + second, b * scale);
    }
}

/* A row in four is 0 throughout, as padding is: its result has to be written all the same. */
static void clear_rows(const prop_subject *s, const prop_case *c, uint64_t seed, void *packed)
{
    size_t bytes = (size_t)s->spec->head_dim * rope_dtype_bytes(s->dtype);
    for (int64_t row = 0; row < c->x.tokens * c->x.heads; row++)
        if (prop_hash(seed, (uint64_t)row, 78) % 4 == 0)
            memset((unsigned char *)packed + (size_t)row * bytes, 0, bytes);
}

/* A verification makes tens of millions of elements, most of these two kinds: loops of their own.
 */
static void fill(rope_dtype dtype, prop_data_kind kind, uint64_t seed, int64_t count, void *packed)
{
    size_t bytes = rope_dtype_bytes(dtype);
    if (kind == PROP_DATA_USUAL)
        for (int64_t e = 0; e < count; e++)
            put(bytes, packed, e, element(dtype, PROP_DATA_USUAL, hash(seed, (uint64_t)e, 0)));
    else if (kind == PROP_DATA_WIDE)
        for (int64_t e = 0; e < count; e++)
            put(bytes, packed, e, element(dtype, PROP_DATA_WIDE, hash(seed, (uint64_t)e, 0)));
    else
        for (int64_t e = 0; e < count; e++)
            put(bytes, packed, e, element(dtype, kind, hash(seed, (uint64_t)e, 0)));
}

void prop_case_data(const prop_subject *s, const prop_case *c, int stream, void *packed)
{
    int64_t count = prop_case_elements(c);
    uint64_t seed = prop_hash(c->seed, (uint64_t)stream, 77);
    if (c->bits[stream] == NULL)
        fill(s->dtype, c->kind, seed, count, packed);
    for (int64_t e = 0; c->bits[stream] != NULL && e < count; e++)
        put(rope_dtype_bytes(s->dtype), packed, e, c->bits[stream][e]);
    if (c->kind == PROP_DATA_EDGE && c->bits[stream] == NULL)
        clear_rows(s, c, seed, packed);
    if (c->kind != PROP_DATA_CANCEL || c->bits[stream] != NULL)
        return;
    oracle_cos_sin_dd *r = malloc((size_t)s->frequencies->pairs * sizeof *r);
    for (int64_t t = 0; r != NULL && t < c->x.tokens; t++) {
        oracle_row(s->oracle, prop_case_list(c, 0) + t * c->axes, r);
        for (int64_t h = 0; h < c->x.heads; h++)
            cancel_row(s, r, seed, packed, t * c->x.heads + h);
    }
    free(r);
}

bool prop_case_materialise(const prop_subject *s, prop_case *c)
{
    int64_t count = prop_case_elements(c);
    void *packed = malloc((size_t)count * rope_dtype_bytes(s->dtype));
    bool good = packed != NULL;
    for (int i = 0; good && i < PROP_STREAMS; i++) {
        if (c->bits[i] != NULL)
            continue;
        uint64_t *bits = malloc((size_t)count * sizeof *bits);
        good = bits != NULL;
        if (!good)
            break;
        prop_case_data(s, c, i, packed);
        for (int64_t e = 0; e < count; e++)
            bits[e] = get(s->dtype, packed, e);
        c->bits[i] = bits;
    }
    free(packed);
    return good;
}
