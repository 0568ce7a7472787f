/* Tensors past the caches. Kernels change their way there: rows in the order of addresses, stores
 * around the caches, threads. What such a call gives must be what a call of a few tokens does.
 *
 * Large. A block of tokens is repeated, positions and all, until the tensor has as many elements as
 * the case's parameter says. Every block of the result is compared with the block rotated by
 * itself, whose contract other properties judge: the same bits, or, where another path rounds
 * otherwise, both within their contract, so that they differ by at most 2 E(b, |x|), E(b, n) = b u
 * A n + 2 sqrt(2) eta. Unit: u A |x|. What does not rotate is the same, bit for bit.
 *
 * Sizes: 2^18 elements and some more, past a core's own caches; on the main spec 2^23 and some
 * more, past most shared ones.
 *
 * Kills faults of the ways that only large tensors take. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "impl/registry.h"
#include "props/isolate.h"
#include "props/judge.h"

enum {
    BLOCK_TOKENS = 3,
    OWN_CACHES = (1 << 18) + 5000, /* elements */
    ALL_CACHES = (1 << 23) + 5000,
    MAIN_CASES = 4, /* the last of them past all caches */
    SHIFT = 5,      /* elements that a misaligned y is off */
    HUGE_PAGE = 2 << 20,
};

/* Kept by a child: each case would clear the pages again. */
typedef struct {
    unsigned char *data;
    size_t bytes;
} room;

static bool room_for(room *r, size_t bytes)
{
    if (r->bytes >= bytes)
        return true;
    free(r->data);
    bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    *r = (room){aligned_alloc(HUGE_PAGE, bytes), bytes};
    if (r->data == NULL)
        r->bytes = 0;
    else
        madvise(r->data, bytes, MADV_HUGEPAGE); /* faster, and no matter if refused */
    return r->data != NULL;
}

static void fill(unsigned char *to, size_t bytes, const void *block, size_t block_bytes)
{
    for (size_t done = 0; done < bytes; done += block_bytes)
        memcpy(to + done, block, bytes - done < block_bytes ? bytes - done : block_bytes);
}

/* The pairs of a row whose bits differ from those of the block's row. */
static void compare_row(const prop_subject *s, const prop_case *c, const prop_work *w, int64_t row,
                        const unsigned char *got, prop_sheet *sheet)
{
    size_t bytes = (size_t)c->x.head_dim * rope_dtype_bytes(s->dtype);
    memcpy((unsigned char *)w->y[1] + (size_t)row * bytes, got, bytes);
    prop_same_row(s, c, w, row, w->y[0], w->y[1], w->bounds[0],
                  "in a large tensor, against a small one", sheet);
}

static void compare(const prop_subject *s, const prop_case *c, const prop_work *w, int64_t tokens,
                    const unsigned char *y, prop_sheet *sheet)
{
    size_t row_bytes = (size_t)c->x.head_dim * rope_dtype_bytes(s->dtype);
    int64_t rows = tokens * c->x.heads, block_rows = c->x.tokens * c->x.heads;
    for (int64_t first = 0; first < rows; first += block_rows) {
        int64_t count = rows - first < block_rows ? rows - first : block_rows;
        const unsigned char *block = y + (size_t)first * row_bytes;
        prop_where where = prop_where_at(*prop_case_list(c, 0));
        sheet->expected++;
        prop_compare(sheet, 0, s->dtype, 0, 0, where);
        if (memcmp(block, w->y[0], (size_t)count * row_bytes) == 0)
            continue;
        for (int64_t row = 0; row < count; row++)
            if (memcmp(block + (size_t)row * row_bytes,
                       (const unsigned char *)w->y[0] + (size_t)row * row_bytes, row_bytes) != 0)
                compare_row(s, c, w, row, block + (size_t)row * row_bytes, sheet);
    }
}

static void apply_large(const prop_subject *s, const prop_case *c, const prop_plan *plan,
                        const prop_work *w, int64_t tokens, prop_sheet *sheet)
{
    static room x_room, y_room, position_room;
    size_t element = rope_dtype_bytes(s->dtype);
    int64_t token_elements = c->x.heads * c->x.head_dim;
    size_t bytes = (size_t)(tokens * token_elements) * element;
    size_t list = (size_t)c->axes * sizeof(int64_t);
    if (!room_for(&y_room, bytes + SHIFT * element) ||
        !room_for(&position_room, (size_t)tokens * list) ||
        (!c->in_place && !room_for(&x_room, bytes))) {
        prop_fail(sheet, "internal: out of memory");
        return;
    }
    unsigned char *y = y_room.data + (size_t)c->y.shift * element;
    fill(c->in_place ? y : x_room.data, bytes, w->x[0], w->bytes);
    if (!c->in_place)
        memset(y, 0xff, bytes); /* NaN in every dtype */
    fill(position_room.data, (size_t)tokens * list, prop_case_list(c, 0),
         (size_t)c->x.tokens * list);
    rope_view to = {y, tokens, c->x.heads, token_elements, c->x.head_dim}, from = to;
    if (!c->in_place)
        from.data = x_room.data;
    prop_beat();
    rope_status status =
        s->kernel->apply(plan->plan, &from, &to, (const int64_t *)position_room.data, c->axes);
    prop_beat();
    if (status != ROPE_OK)
        prop_fail(sheet, "apply answers %d for a tensor of %lld tokens, expected OK", (int)status,
                  (long long)tokens);
    else
        compare(s, c, w, tokens, y, sheet);
}

static int64_t count(const prop_subject *s)
{
    /* Sizes alone in one of their two pairings each, which neighbours take in turn. */
    int64_t light = (s->spec->rotary_dim / 2 + (int64_t)s->spec->pairing) % 2;
    return prop_count_usual(s, MAIN_CASES, 2, light);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    static const int64_t heads[] = {32, 35, 8, 33};
    uint64_t h = prop_hash(s->seed, (uint64_t)index, 28);
    bool all_caches = s->weight == PROP_MAIN && index % MAIN_CASES == MAIN_CASES - 1;
    int64_t turn = index + s->spec->rotary_dim / 4 + (s->spec->pairing == ROPE_HALF);
    if (!prop_case_new(c, &prop_large_property, s, BLOCK_TOKENS, heads[(h >> 8 & 3)], 1))
        return false;
    int64_t start = prop_random_position(h);
    for (int64_t t = 0; t < BLOCK_TOKENS; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = start + 7 * t + (int64_t)a * 3;
    c->parameter = all_caches ? ALL_CACHES : OWN_CACHES;
    c->in_place = !all_caches && turn % 2 == 1 && s->kernel != NULL &&
                  (s->kernel->header.flags & ROPE_IN_PLACE);
    c->y.shift = !all_caches && turn % 4 == 2 ? SHIFT : 0;
    c->kind = PROP_DATA_USUAL;
    c->seed = h;
    return true;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    prop_plan plan;
    if (!prop_work_new(s, c, 1, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    int64_t token_elements = c->x.heads * c->x.head_dim;
    int64_t tokens = (c->parameter + token_elements - 1) / token_elements;
    prop_case small = *c;
    small.in_place = false;
    if (prop_plan_make(s, c->axes, positions, c->x.tokens, &plan, sheet)) {
        if (prop_apply(s, &plan, &small, positions, c->x.tokens, w.x[0], w.y[0], sheet)) {
            prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
            apply_large(s, c, &plan, &w, tokens, sheet);
        }
        prop_plan_free(s, &plan, sheet);
    }
    prop_work_free(&w);
}

const prop_property prop_large_property = {
    .name = "large",
    .statement = "a tensor past the caches gives what a few of its tokens do",
    .count = count,
    .generate = generate,
    .judge = judge,
};
