#include "props/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "impl/registry.h"
#include "props/isolate.h"

/* Canaries reach this far from the rows of START and END; a page, so that the guards are nearer on
 * their side. */
enum { PAGE = 4096, FRINGE = 2048 };

struct prop_arena {
    const char *name;
    int slot;
    unsigned char *base; /* the mapping, its first and last page unreadable */
    size_t bytes;        /* of the mapping */
    bool compact;        /* one readable stretch [base + PAGE, base + bytes - PAGE) */
    rope_dtype dtype;
    size_t element, row_bytes;
    prop_shape shape;
    unsigned char *first;              /* first element of row 0 */
    int64_t token_stride, head_stride; /* elements */
    unsigned char *low, *high;         /* compact: the poisoned stretch */
};

static const char *const place_names[PROP_PLACES] = {"start", "end", "rows", "far-tokens",
                                                     "far-heads"};

const char *prop_place_name(prop_place place)
{
    return place < PROP_PLACES ? place_names[place] : NULL;
}

prop_arena *prop_arena_new(const char *name, int slot)
{
    prop_arena *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->name = name;
        a->slot = slot;
    }
    return a;
}

static void unmap(prop_arena *a)
{
    if (a->base != NULL)
        munmap(a->base, a->bytes);
    a->base = NULL;
}

void prop_arena_free(prop_arena *a)
{
    if (a != NULL)
        unmap(a);
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
    for (; bytes >= sizeof pattern; at += sizeof pattern, bytes -= sizeof pattern)
        memcpy(at, &pattern, sizeof pattern);
    memcpy(at, &pattern, bytes);
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
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static bool map(prop_arena *a, size_t bytes, rope_error *error)
{
    unmap(a);
    a->bytes = bytes;
    void *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return rope_fail(error, "cannot map %zu bytes between guard pages: %s", bytes,
                         strerror(errno));
    a->base = base;
    return true;
}

static bool place_compact(prop_arena *a, rope_error *error)
{
    const prop_shape *s = &a->shape;
    int64_t inner_count = s->heads_first ? s->tokens : s->heads;
    int64_t outer_count = s->heads_first ? s->heads : s->tokens;
    int64_t inner = s->head_dim + s->head_gap;
    int64_t outer = inner * (inner_count - 1) + s->head_dim + s->token_gap;
    a->token_stride = s->heads_first ? inner : outer;
    a->head_stride = s->heads_first ? outer : inner;
    size_t span =
        (size_t)((outer_count - 1) * outer + (inner_count - 1) * inner + s->head_dim) * a->element;
    size_t shift = (size_t)s->shift * a->element;
    size_t readable = round_up(span + shift + FRINGE);
    /* The last mapping serves again when it is large enough and not much too large. */
    if (a->base == NULL || !a->compact || a->bytes - 2 * PAGE < readable ||
        a->bytes > 8 * (readable + 16 * PAGE)) {
        if (!map(a, (readable < 16 * PAGE ? 16 * PAGE : readable) + 2 * PAGE, error))
            return false;
        a->compact = true;
    }
    unsigned char *start = a->base + PAGE, *end = a->base + a->bytes - PAGE;
    if (mprotect(start, (size_t)(end - start), PROT_READ | PROT_WRITE) != 0)
        return rope_fail(error, "cannot make memory readable: %s", strerror(errno));
    a->first = s->place == PROP_PLACE_START ? start + shift : end - shift - span;
    a->low = a->first - start < FRINGE ? start : a->first - FRINGE;
    a->high = end - (a->first + span) < FRINGE ? end : a->first + span + FRINGE;
    poison(a->dtype, a->low, (size_t)(a->high - a->low));
    prop_watch(a->slot, a->name, a->first, a->first + span);
    return true;
}

static bool place_rows(prop_arena *a, rope_error *error)
{
    const prop_shape *s = &a->shape;
    const int64_t far_bytes = ((int64_t)1 << 31) * (int64_t)a->element;
    size_t pages = round_up(a->row_bytes);
    int64_t near = (int64_t)(pages + PAGE);
    int64_t token = near * s->heads, head = near;
    if (s->place == PROP_PLACE_FAR_TOKENS)
        token = far_bytes + near * s->heads;
    if (s->place == PROP_PLACE_FAR_HEADS) {
        head = far_bytes + near * s->tokens;
        token = near;
    }
    size_t total = (size_t)((s->tokens - 1) * token + (s->heads - 1) * head) + pages + 2 * PAGE;
    if (!map(a, total, error))
        return false;
    a->compact = false;
    a->first = a->base + PAGE + pages - a->row_bytes;
    a->token_stride = token / (int64_t)a->element;
    a->head_stride = head / (int64_t)a->element;
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t h = 0; h < s->heads; h++) {
            unsigned char *start = row(a, t, h) + a->row_bytes - pages;
            if (mprotect(start, pages, PROT_READ | PROT_WRITE) != 0)
                return rope_fail(error, "cannot make memory readable: %s", strerror(errno));
            poison(a->dtype, start, (size_t)(row(a, t, h) + a->row_bytes - start));
        }
    prop_watch(a->slot, a->name, a->first, row(a, s->tokens - 1, s->heads - 1) + a->row_bytes);
    return true;
}

bool prop_arena_place(prop_arena *a, rope_dtype dtype, const prop_shape *shape, rope_view *view,
                      rope_error *error)
{
    a->dtype = dtype;
    a->shape = *shape;
    a->element = rope_dtype_bytes(dtype);
    a->row_bytes = (size_t)shape->head_dim * a->element;
    bool compact = shape->place == PROP_PLACE_START || shape->place == PROP_PLACE_END;
    if (!(compact ? place_compact(a, error) : place_rows(a, error)))
        return false;
    *view = (rope_view){a->first, shape->tokens, shape->heads, a->token_stride, a->head_stride};
    return true;
}

void prop_arena_load(prop_arena *a, const void *packed, bool read_only)
{
    const unsigned char *source = packed;
    for (int64_t t = 0; source != NULL && t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++, source += a->row_bytes)
            memcpy(row(a, t, h), source, a->row_bytes);
    if (!read_only)
        return;
    if (a->compact)
        mprotect(a->base + PAGE, a->bytes - 2 * PAGE, PROT_READ);
    size_t pages = round_up(a->row_bytes);
    for (int64_t t = 0; !a->compact && t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++)
            mprotect(row(a, t, h) + a->row_bytes - pages, pages, PROT_READ);
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

static bool clean_stretch(const prop_arena *a, unsigned char *low, unsigned char *high,
                          int64_t *offset)
{
    size_t bytes = (size_t)(high - low), bad = unpoisoned(a->dtype, low, bytes);
    if (bad >= bytes)
        return true;
    int64_t distance = (int64_t)(low + bad - a->first), element = (int64_t)a->element;
    *offset = distance >= 0 ? distance / element : -((-distance + element - 1) / element);
    return false;
}

bool prop_arena_clean(prop_arena *a, int64_t *offset)
{
    size_t pages = round_up(a->row_bytes);
    for (int64_t t = 0; t < a->shape.tokens; t++)
        for (int64_t h = 0; h < a->shape.heads; h++) {
            poison(a->dtype, row(a, t, h), a->row_bytes);
            unsigned char *start = row(a, t, h) + a->row_bytes - pages;
            if (!a->compact && !clean_stretch(a, start, row(a, t, h), offset))
                return false;
        }
    return !a->compact || clean_stretch(a, a->low, a->high, offset);
}

const void *prop_guarded_copy(int slot, const char *name, const void *data, size_t bytes,
                              rope_error *error)
{
    static struct {
        unsigned char *base;
        size_t bytes; /* readable */
    } areas[4];
    size_t wanted = round_up(bytes > 0 ? bytes : 1);
    if (areas[slot].bytes < wanted) {
        if (areas[slot].base != NULL)
            munmap(areas[slot].base, areas[slot].bytes + PAGE);
        areas[slot].bytes = 0;
        void *base =
            mmap(NULL, wanted + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        areas[slot].base = base == MAP_FAILED ? NULL : base;
        if (base == MAP_FAILED || mprotect(areas[slot].base + wanted, PAGE, PROT_NONE) != 0) {
            rope_fail(error, "cannot map %zu bytes before a guard page: %s", wanted,
                      strerror(errno));
            return NULL;
        }
        areas[slot].bytes = wanted;
    }
    unsigned char *copy = areas[slot].base + areas[slot].bytes - bytes;
    if (bytes > 0)
        memcpy(copy, data, bytes);
    prop_watch(4 + slot, name, copy, copy + bytes);
    return copy;
}
