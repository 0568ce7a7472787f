#include "props/certify_probe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_measure.h"
#include "props/fpstate.h"

struct certify_block {
    const rope_spec *spec;
    uint32_t dtype, axis_count;
    uint64_t seed;
    int64_t first, pairs;
    size_t bytes, room; /* of an element; elements in x and y */
    certify_arrangement arrangement;
    unsigned char *x, *y;
    const unsigned char *result; /* x's or y's layout after apply: see in_place */
    certify_layout result_layout;
    int64_t *positions;
    double *random0, *random1; /* [CERTIFY_BLOCK][pairs], values of the dtype */
    double *ones, *zeros;      /* [pairs] */
    double *y0, *y1;           /* [pairs] decoded */
};

/* splitmix64 (Steele, Lea, Flood 2014): a stream of its own for every counter. */
static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The most room that a layout takes: three rows a position, each with gaps of at most 8 + 7
 * elements, and 15 in front. */
static size_t room_for(int64_t head_dim)
{
    return (size_t)(CERTIFY_BLOCK * CERTIFY_PROBES * (head_dim + 15) + 15);
}

certify_block *certify_block_new(const rope_spec *spec, uint32_t dtype, uint32_t axis_count,
                                 uint64_t seed)
{
    certify_block *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    size_t pairs = (size_t)(spec->rotary_dim / 2), most = CERTIFY_BLOCK * CERTIFY_PROBES;
    b->spec = spec;
    b->dtype = dtype;
    b->axis_count = axis_count;
    b->seed = seed;
    b->pairs = spec->rotary_dim / 2;
    b->bytes = rope_dtype_bytes(dtype);
    b->room = room_for(spec->head_dim);
    b->x = malloc(b->room * b->bytes);
    b->y = malloc(b->room * b->bytes);
    b->positions = malloc(most * (ROPE_MAX_AXES + 1) * sizeof *b->positions);
    b->random0 = malloc(CERTIFY_BLOCK * pairs * sizeof(double));
    b->random1 = malloc(CERTIFY_BLOCK * pairs * sizeof(double));
    b->ones = malloc(pairs * sizeof(double));
    b->zeros = calloc(pairs, sizeof(double));
    b->y0 = malloc(pairs * sizeof(double));
    b->y1 = malloc(pairs * sizeof(double));
    if (!b->x || !b->y || !b->positions || !b->random0 || !b->random1 || !b->ones || !b->zeros ||
        !b->y0 || !b->y1) {
        certify_block_free(b);
        return NULL;
    }
    for (size_t i = 0; i < pairs; i++)
        b->ones[i] = 1;
    return b;
}

void certify_block_free(certify_block *b)
{
    if (b == NULL)
        return;
    free(b->x);
    free(b->y);
    free(b->positions);
    free(b->random0);
    free(b->random1);
    free(b->ones);
    free(b->zeros);
    free(b->y0);
    free(b->y1);
    free(b);
}

/* Strides from the bits of `draw`: packed, with gaps, or heads before tokens. */
static certify_layout lay_out(int64_t tokens, int64_t heads, int64_t head_dim, uint64_t draw)
{
    int64_t offset = (int64_t)(draw & 15), form = (int64_t)(draw >> 4 & 3);
    int64_t gap = (int64_t)(draw >> 6 & 7) + 1, token_gap = (int64_t)(draw >> 9 & 7);
    certify_layout l = {.tokens = tokens, .heads = heads, .offset = offset};
    int64_t row = form == 0 ? head_dim : head_dim + gap;
    if (form == 3) {
        l.token_stride = row;
        l.head_stride = tokens * row + token_gap;
    } else {
        l.head_stride = row;
        l.token_stride = heads * row + (form == 2 ? token_gap : 0);
    }
    l.elements = offset + (tokens - 1) * l.token_stride + (heads - 1) * l.head_stride + head_dim;
    return l;
}

static certify_arrangement arrange(const certify_block *b, int64_t first, int64_t count)
{
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint64_t draw = mix(b->seed ^ mix((uint64_t)certificate_grid(first, CERTIFY_BLOCK)));
    certify_arrangement a = {.count = count, .multiplier = 1};
    a.repeated = draw % 8 == 0;
    unsigned order = (unsigned)(draw >> 3 & 3);
    if (order == 1) { /* backwards */
        a.multiplier = -1;
        a.shift = count - 1;
    } else if (order == 2 && count == CERTIFY_BLOCK) { /* an odd step visits all of 2^6 */
        a.multiplier = (int64_t)(draw >> 5 & 31) * 2 + 1;
        a.shift = (int64_t)(draw >> 10 & 63);
    }
    memcpy(a.role, orders[(draw >> 16) % 6], sizeof a.role);
    a.in_place = (draw >> 20 & 1) != 0;
    a.position_stride = b->axis_count + (int64_t)(draw >> 21 & 1);
    int64_t tokens = a.repeated ? count * CERTIFY_PROBES : count;
    int64_t heads = a.repeated ? 1 : CERTIFY_PROBES;
    a.x = lay_out(tokens, heads, b->spec->head_dim, draw >> 22);
    a.y = lay_out(tokens, heads, b->spec->head_dim, draw >> 40);
    return a;
}

static int64_t token_of(const certify_arrangement *a, int64_t j)
{
    return ((j * a->multiplier + a->shift) % a->count + a->count) % a->count;
}

static int64_t row_start(const certify_arrangement *a, const certify_layout *l, int64_t j,
                         uint32_t probe)
{
    int64_t token = token_of(a, j), role = a->role[probe];
    return a->repeated ? l->offset + (token * CERTIFY_PROBES + role) * l->token_stride
                       : l->offset + token * l->token_stride + role * l->head_stride;
}

/* A finite number of the dtype: both signs; on half of the positions all magnitudes that neither
 * overflow nor make the normwise error an underflow's, else near 1. */
static double draw_value(uint32_t dtype, uint64_t draw, bool wide)
{
    static const int reach[] = {[ROPE_F32] = 20, [ROPE_F16] = 6, [ROPE_BF16] = 20, [ROPE_F64] = 60};
    int range = wide ? 2 * reach[dtype] + 1 : 4;
    int exponent = (int)(draw >> 53 & 0x3ff) % range - (wide ? reach[dtype] : 2);
    /* 1.fraction with as many bits as the dtype holds, so that no rounding is needed. */
    static const unsigned kept[] = {
        [ROPE_F32] = 23, [ROPE_F16] = 10, [ROPE_BF16] = 7, [ROPE_F64] = 52};
    uint64_t fraction = draw & ((UINT64_C(1) << 52) - 1);
    fraction &= ~((UINT64_C(1) << (52 - kept[dtype])) - 1);
    uint64_t bits = (draw >> 63) << 63 | (uint64_t)(1023 + exponent) << 52 | fraction;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void draw_rows(certify_block *b, int64_t count)
{
    for (int64_t j = 0; j < count; j++) {
        uint64_t state = mix(b->seed + mix((uint64_t)(b->first + j)));
        bool wide = (state & 1) != 0;
        double *x0 = b->random0 + j * b->pairs, *x1 = b->random1 + j * b->pairs;
        for (int64_t i = 0; i < b->pairs; i++) {
            x0[i] = draw_value(b->dtype, mix(state + 2 * (uint64_t)i + 1), wide);
            x1[i] = draw_value(b->dtype, mix(state + 2 * (uint64_t)i + 2), wide);
        }
    }
}

/* Where pair 0's two elements lie in a row, and the step to the next pair. */
static void pair_places(const rope_spec *spec, int64_t *u, int64_t *v, int64_t *step)
{
    bool half = spec->pairing == ROPE_HALF;
    *u = spec->rotary_offset;
    *v = *u + (half ? spec->rotary_dim / 2 : 1);
    *step = half ? 1 : 2;
}

static void inputs_of(const certify_block *b, int64_t j, uint32_t probe, const double **x0,
                      const double **x1)
{
    *x0 = probe == CERTIFICATE_VECTOR   ? b->random0 + j * b->pairs
          : probe == CERTIFICATE_UNIT_U ? b->ones
                                        : b->zeros;
    *x1 = probe == CERTIFICATE_VECTOR   ? b->random1 + j * b->pairs
          : probe == CERTIFICATE_UNIT_V ? b->ones
                                        : b->zeros;
}

void certify_block_fill(certify_block *b, int64_t first, int64_t count)
{
    b->first = first;
    b->arrangement = arrange(b, first, count);
    const certify_arrangement *a = &b->arrangement;
    draw_rows(b, count);
    memset(b->x, 0, b->room * b->bytes);
    int64_t u, v, step;
    pair_places(b->spec, &u, &v, &step);
    for (int64_t j = 0; j < count; j++)
        for (uint32_t probe = 0; probe < CERTIFY_PROBES; probe++) {
            const double *x0, *x1;
            int64_t start = row_start(a, &a->x, j, probe);
            inputs_of(b, j, probe, &x0, &x1);
            certify_encode(b->dtype, b->x, start + u, step, b->pairs, x0);
            certify_encode(b->dtype, b->x, start + v, step, b->pairs, x1);
            int64_t token = token_of(a, j);
            token = a->repeated ? token * CERTIFY_PROBES + a->role[probe] : token;
            for (uint32_t axis = 0; axis < b->axis_count; axis++)
                b->positions[token * a->position_stride + axis] = first + j;
        }
}

static rope_view view_of(unsigned char *data, const certify_layout *l, size_t bytes)
{
    return (rope_view){data + (size_t)l->offset * bytes, l->tokens, l->heads, l->token_stride,
                       l->head_stride};
}

bool certify_block_apply(certify_block *b, const rope_kernel *kernel, const rope_plan *plan,
                         rope_error *error)
{
    const certify_arrangement *a = &b->arrangement;
    bool in_place = a->in_place && (kernel->header.flags & ROPE_IN_PLACE) != 0;
    b->result_layout = in_place ? a->x : a->y;
    rope_view x = view_of(b->x, &a->x, b->bytes), y = view_of(b->y, &b->result_layout, b->bytes);
    if (in_place) {
        memcpy(b->y, b->x, (size_t)a->x.elements * b->bytes);
        x = y;
    } else
        memset(b->y, 0xff, (size_t)a->y.elements * b->bytes); /* NaN in every dtype */
    prop_fpstate before = prop_fpstate_get();
    rope_status status = kernel->apply(plan, &x, &y, b->positions, a->position_stride);
    char changed[PROP_FPSTATE_TEXT];
    if (!prop_fpstate_check(&before, changed, sizeof changed))
        return rope_fail(error, "%s at positions %" PRId64 " to %" PRId64, changed, b->first,
                         b->first + a->count - 1);
    if (status != ROPE_OK)
        return rope_fail(error, "apply returned status %d at positions %" PRId64 " to %" PRId64,
                         (int)status, b->first, b->first + a->count - 1);
    return true;
}

void certify_block_row(certify_block *b, int64_t j, uint32_t probe, const double **x0,
                       const double **x1, const double **y0, const double **y1)
{
    int64_t u, v, step, start = row_start(&b->arrangement, &b->result_layout, j, probe);
    pair_places(b->spec, &u, &v, &step);
    inputs_of(b, j, probe, x0, x1);
    certify_decode(b->dtype, b->y, start + u, step, b->pairs, b->y0);
    certify_decode(b->dtype, b->y, start + v, step, b->pairs, b->y1);
    *y0 = b->y0;
    *y1 = b->y1;
}
