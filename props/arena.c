#include "props/arena.h"

#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/arena_area.h"
#include "props/isolate.h"

/* Canaries reach this many bytes from the rows of START and END. */
enum { FRINGE = 2048, LEAST_PAGES = 16 };

/* Rows that a spaced grid is mapped for at least: more is asked for seldom. */
enum { USUAL_OUTER = 5, USUAL_INNER = 5 };

typedef struct {
    unsigned char *low, *high; /* poisoned, around the rows */
} stretch;

struct prop_arena {
    const char *name;
    int slot;
    bool read_only;
    area areas[PROP_PLACES]; /* START and END share the first */
    rope_dtype dtype;
    size_t element, row_bytes;
    prop_shape shape;
    bool compact;
    unsigned char *first;              /* first element of row 0, writable */
    int64_t token_stride, head_stride; /* elements */
    stretch around;                    /* compact */
    size_t slot_bytes;                 /* spaced: poisoned before each row up to this much */
};

static const char *const place_names[PROP_PLACES] = {"start", "end", "rows", "far-tokens",
                                                     "far-heads"};

const char *prop_place_name(prop_place place)
{
    return place < PROP_PLACES ? place_names[place] : NULL;
}

prop_arena *prop_arena_new(const char *name, int slot, bool read_only)
{
    prop_arena *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->name = name;
        a->slot = slot;
        a->read_only = read_only;
    }
    return a;
}

void prop_arena_free(prop_arena *a)
{
    for (int i = 0; a != NULL && i < PROP_PLACES; i++)
        area_unmap(&a->areas[i]);
    free(a);
}

/* Signalling: quiet bit clear, so that arithmetic on it raises invalid and cannot yield a number.
 */
static void poison(rope_dtype dtype, unsigned char *at, size_t bytes)
{
    static const uint64_t patterns[] = {[ROPE_F32] = 0x7fa5a5a57fa5a5a5,
                                        [ROPE_F16] = 0x7d5a7d5a7d5a7d5a,
                                        [ROPE_BF16] = 0x7fa57fa57fa57fa5,
                                        [ROPE_F64] = 0x7ff4a5a5a5a5a5a5};
    uint64_t pattern = patterns[dtype];
    size_t done = bytes < sizeof pattern ? bytes : sizeof pattern;
    memcpy(at, &pattern, done);
    for (size_t more; done < bytes; done += more) { /* doubled each time */
        more = bytes - done < done ? bytes - done : done;
        memcpy(at + done, at, more);
    }
}

/* The offset in bytes of the first byte that is not poison, or bytes. at is aligned to an element.
 */
static size_t unpoisoned(rope_dtype dtype, const unsigned char *at, size_t bytes)
{
    unsigned char wanted[512];
    poison(dtype, wanted, sizeof wanted);
    for (size_t done = 0; done < bytes; done += sizeof wanted) {
        size_t count = bytes - done < sizeof wanted ? bytes - done : sizeof wanted;
        if (memcmp(at + done, wanted, count) == 0)
            continue;
        while (at[done] == wanted[done % sizeof wanted])
            done++;
        return done;
    }
    return bytes;
}

static unsigned char *row(const prop_arena *a, int64_t token, int64_t head)
{
    return a->first + (token * a->token_stride + head * a->head_stride) * (int64_t)a->element;
}

static size_t round_up(size_t bytes)
{
    return (bytes + AREA_PAGE - 1) / AREA_PAGE * AREA_PAGE;
}

int64_t prop_shape_strides(const prop_shape *s, int64_t *token_stride, int64_t *head_stride)
{
    int64_t inner_count = s->heads_first ? s->tokens : s->heads;
    int64_t outer_count = s->heads_first ? s->heads : s->tokens;
    int64_t inner = s->head_dim + s->head_gap;
    int64_t outer = inner * (inner_count - 1) + s->head_dim + s->token_gap;
    *token_stride = s->heads_first ? inner : outer;
    *head_stride = s->heads_first ? outer : inner;
    return (outer_count - 1) * outer + (inner_count - 1) * inner + s->head_dim;
}

static bool place_compact(prop_arena *a, rope_error *error)
{
    const prop_shape *s = &a->shape;
    area *m = &a->areas[PROP_PLACE_START];
    size_t span = (size_t)prop_shape_strides(s, &a->token_stride, &a->head_stride) * a->element;
    size_t shift = (size_t)s->shift * a->element;
    size_t wanted = round_up(span + shift + FRINGE);
    if (wanted < LEAST_PAGES * AREA_PAGE)
        wanted = LEAST_PAGES * AREA_PAGE;
    if (m->bytes < wanted && !area_map(m, wanted, 1, 1, 0, 0, a->read_only, error))
        return false;
    unsigned char *start = m->writable, *end = start + m->bytes;
    a->first = s->place == PROP_PLACE_START ? start + shift : end - shift - span;
    a->around.low = a->first - start < FRINGE ? start : a->first - FRINGE;
    a->around.high = end - (a->first + span) < FRINGE ? end : a->first + span + FRINGE;
    poison(a->dtype, a->around.low, (size_t)(a->around.high - a->around.low));
    return true;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool prop_arena_far_fits(void)
{
    /* Two places, of x in two views and of y, USUAL_OUTER rows of f64 2^31 elements apart. */
    static int fits = -1;
    if (fits < 0)
        fits = area_reservable((size_t)6 * USUAL_OUTER * 8 << 31);
    return fits;
}

static bool place_spaced(prop_arena *a, rope_error *error)
{
    const prop_shape *s = &a->shape;
    area *m = &a->areas[s->place];
    const int64_t far_bytes = ((int64_t)1 << 31) * (int64_t)a->element;
    bool heads_out = s->place == PROP_PLACE_FAR_HEADS;
    int64_t outer = heads_out ? s->heads : s->tokens, inner = heads_out ? s->tokens : s->heads;
    size_t bytes = round_up(a->row_bytes);
    int64_t least = s->place == PROP_PLACE_ROWS ? 0 : far_bytes;
    if (m->bytes != bytes || m->outer < outer || m->inner < inner || m->outer_stride < least) {
        /* Grows only: cases of many tokens and of many heads take turns. */
        outer = larger(outer, larger(m->outer, USUAL_OUTER));
        inner = larger(inner, larger(m->inner, USUAL_INNER));
        int64_t step = (int64_t)bytes + AREA_PAGE;
        if (!area_map(m, bytes, outer, inner, least + inner * step, step, a->read_only, error))
            return false;
    }
    a->slot_bytes = bytes;
    a->first = m->writable + bytes - a->row_bytes;
    int64_t element = (int64_t)a->element;
    a->token_stride = (heads_out ? m->inner_stride : m->outer_stride) / element;
    a->head_stride = (heads_out ? m->outer_stride : m->inner_stride) / element;
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t h = 0; h < s->heads; h++)
            poison(a->dtype, row(a, t, h) + a->row_bytes - bytes, bytes);
    return true;
}

bool prop_arena_place(prop_arena *a, rope_dtype dtype, const prop_shape *shape, rope_view *view,
                      rope_error *error)
{
    a->dtype = dtype;
    a->shape = *shape;
    a->element = rope_dtype_bytes((uint32_t)dtype);
    a->row_bytes = (size_t)shape->head_dim * a->element;
    a->compact = shape->place == PROP_PLACE_START || shape->place == PROP_PLACE_END;
    if (!(a->compact ? place_compact(a, error) : place_spaced(a, error)))
        return false;
    const area *m = &a->areas[a->compact ? PROP_PLACE_START : shape->place];
    unsigned char *seen = m->view + (a->first - m->writable);
    *view = (rope_view){seen, shape->tokens, shape->heads, a->token_stride, a->head_stride};
    /* The last row, wherever it lies in memory. */
    prop_watch(a->slot, a->name, seen,
               seen + (row(a, shape->tokens - 1, shape->heads - 1) - a->first) + a->row_bytes);
    return true;
}

void prop_arena_load(prop_arena *a, const void *packed)
{
    const unsigned char *source = packed;
    for (int64_t t = 0; t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++, source += a->row_bytes)
            memcpy(row(a, t, h), source, a->row_bytes);
}

void prop_arena_store(const prop_arena *a, void *packed)
{
    unsigned char *target = packed;
    for (int64_t t = 0; t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++, target += a->row_bytes)
            memcpy(target, row(a, t, h), a->row_bytes);
}

bool prop_arena_poisoned(const prop_arena *a)
{
    for (int64_t t = 0; t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++)
            if (unpoisoned(a->dtype, row(a, t, h), a->row_bytes) < a->row_bytes)
                return false;
    return true;
}

bool prop_arena_holds(const prop_arena *a, const void *packed)
{
    const unsigned char *wanted = packed;
    for (int64_t t = 0; t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++, wanted += a->row_bytes)
            if (memcmp(row(a, t, h), wanted, a->row_bytes) != 0)
                return false;
    return true;
}

static bool clean_stretch(const prop_arena *a, stretch s, int64_t *offset)
{
    size_t bytes = (size_t)(s.high - s.low), bad = unpoisoned(a->dtype, s.low, bytes);
    if (bad >= bytes)
        return true;
    int64_t distance = (int64_t)(s.low + bad - a->first), element = (int64_t)a->element;
    *offset = distance >= 0 ? distance / element : -((-distance + element - 1) / element);
    return false;
}

bool prop_arena_clean(prop_arena *a, int64_t *offset)
{
    for (int64_t t = 0; t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++) {
            unsigned char *at = row(a, t, h);
            stretch before = {at + a->row_bytes - a->slot_bytes, at};
            poison(a->dtype, at, a->row_bytes);
            if (!a->compact && !clean_stretch(a, before, offset))
                return false;
        }
    return !a->compact || clean_stretch(a, a->around, offset);
}

static area copies[PROP_COPIES];

void prop_guarded_spoil(int slot)
{
    if (copies[slot].bytes > 0)
        memset(copies[slot].writable, 0xff, copies[slot].bytes);
}

const void *prop_guarded_copy(int slot, const char *name, const void *data, size_t bytes,
                              rope_error *error)
{
    area *m = &copies[slot];
    size_t wanted = round_up(bytes > 0 ? bytes : 1);
    if (m->bytes < wanted && !area_map(m, wanted, 1, 1, 0, 0, true, error))
        return NULL;
    if (bytes > 0)
        memcpy(m->writable + m->bytes - bytes, data, bytes);
    unsigned char *copy = m->view + m->bytes - bytes;
    prop_watch(4 + slot, name, copy, copy + bytes);
    return copy;
}
