/* Tensors past the caches. Kernels change their way there: rows in the order of addresses, stores
 * around the caches, threads. What such a call gives must be what a call of a few tokens does.
 *
 * Large. Tokens are drawn from a small block, positions and all, until the tensor has as many
 * elements as the case's parameter says: runs of the block's order, broken at random, so that no
 * part of the tensor repeats another. Every token of the result is compared with the block's,
 * rotated by itself, whose contract other properties judge: the same bits, or, where another path
 * rounds otherwise, both within their contract, so that they differ by at most 2 E(b, |x|),
 * E(b, n) = b u A n + 2 sqrt(2) eta. Unit: u A |x|. What does not rotate is the same, bit for bit.
 *
 * What other properties look at around small calls is looked at here too, since the ways of large
 * tensors have code of their own for it: x and positions are read-only and end at unreadable pages,
 * y lies beside one and its surroundings stay as they are, the processor's state is left, nothing
 * is allocated, started or left open. What is taken once, as a lazily bound symbol is, is no fault.
 *
 * Sizes: 2^18 elements and some more, past a core's own caches; more than 4 MiB, from where kernels
 * may store around the caches, in place and on specs that have several features; on the main spec
 * 2^23 elements and some more, past most shared caches.
 *
 * Kills faults of the ways that only large tensors take. */
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/fpstate.h"
#include "props/isolate.h"
#include "props/judge.h"
#include "props/resources.h"
#include "props/room.h"

enum {
    BLOCK_TOKENS = 5,
    OWN_CACHES = (1 << 18) + 5000,      /* elements */
    FOUR_MEGABYTES = (4 << 20) + 50000, /* bytes */
    ALL_CACHES = (1 << 23) + 5000,      /* elements */
    MAIN_CASES = 5,                     /* the last but one past 4 MiB, the last past all caches */
    USUAL_CASES = 2,                    /* the last past 4 MiB where the spec has a feature */
    BAD_ROWS = 8,                       /* of a token: no more are looked at after the first */
};

enum { WATCH_X = 0, WATCH_Y = 1, WATCH_POSITIONS = 15 };

/* The call: what lies where. */
typedef struct {
    const prop_subject *s;
    const prop_case *c;
    const prop_work *w;
    const int64_t *from; /* [tokens]: of the block */
    int64_t tokens;
    prop_tensor x, y; /* x unset in place */
    rope_view x_view, y_view;
    const int64_t *positions;
    int64_t position_stride;
} call;

/* Kept by a child: each case would clear the pages again. */
static prop_room x_room, y_room, position_room;

/* Which token of the block each token is. */
static int64_t *draw_tokens(const prop_case *c, int64_t tokens)
{
    int64_t *from = malloc((size_t)tokens * sizeof *from), at = 0;
    for (int64_t t = 0; from != NULL && t < tokens; t++) {
        uint64_t h = prop_hash(c->seed, (uint64_t)t, 31);
        at = (h % 4 == 0 ? (int64_t)(h >> 32) : at + 1) % c->x.tokens;
        from[t] = at;
    }
    return from;
}

static size_t row_bytes(const call *k)
{
    return (size_t)k->c->x.head_dim * rope_dtype_bytes(k->s->dtype);
}

/* A row of a packed block. */
static unsigned char *block_row(const call *k, void *block, int64_t token, int64_t head)
{
    return (unsigned char *)block + (size_t)(token * k->c->x.heads + head) * row_bytes(k);
}

static void load(const call *k, const prop_tensor *to)
{
    bool packed = prop_tensor_packed(to);
    int64_t parts = packed ? 1 : k->c->x.heads;
    size_t bytes = row_bytes(k) * (size_t)(packed ? k->c->x.heads : 1);
    for (int64_t t = 0; t < k->tokens; t++)
        for (int64_t h = 0; h < parts; h++)
            memcpy(prop_tensor_row(to, t, h), block_row(k, k->w->x[0], k->from[t], h), bytes);
}

/* The list ends at an unreadable page, with NaN patterns between the positions of tokens. */
static bool load_positions(call *k)
{
    const prop_case *c = k->c;
    size_t list = (size_t)c->axes * sizeof(int64_t);
    k->position_stride = (int64_t)c->axes + c->position_gap;
    size_t bytes = (size_t)((k->tokens - 1) * k->position_stride) * sizeof(int64_t) + list;
    prop_room_lock(&position_room, false);
    if (!prop_room_fit(&position_room, bytes))
        return false;
    unsigned char *end = position_room.data + position_room.bytes, *first = end - bytes;
    if (c->position_gap > 0)
        memset(first, 0xff, bytes);
    for (int64_t t = 0; t < k->tokens; t++)
        memcpy(first + (size_t)(t * k->position_stride) * sizeof(int64_t),
               prop_case_list(c, 0) + k->from[t] * c->axes, list);
    prop_room_lock(&position_room, true);
    prop_watch(WATCH_POSITIONS, "positions", first, end);
    k->positions = (const int64_t *)(const void *)first;
    return true;
}

static rope_view view(const prop_tensor *a, int slot, const char *name)
{
    prop_watch(slot, name, a->first, a->first + a->span);
    return (rope_view){a->first, a->shape.tokens, a->shape.heads, a->token_stride, a->head_stride};
}

static bool lay_out(call *k)
{
    const prop_case *c = k->c;
    size_t element = rope_dtype_bytes(k->s->dtype);
    prop_shape x = c->x, y = c->in_place ? c->x : c->y;
    x.tokens = y.tokens = k->tokens;
    if (!load_positions(k) || !prop_tensor_lay(&k->y, &y_room, &y, element))
        return false;
    k->x_view = k->y_view = view(&k->y, WATCH_Y, "y");
    if (c->in_place) {
        load(k, &k->y);
        return true;
    }
    prop_room_lock(&x_room, false);
    if (!prop_tensor_lay(&k->x, &x_room, &x, element))
        return false;
    load(k, &k->x);
    prop_room_lock(&x_room, true);
    k->x_view = view(&k->x, WATCH_X, "x");
    return true;
}

static void check(const call *k, bool holds, prop_sheet *sheet)
{
    sheet->expected++;
    prop_compare(sheet, 0, k->s->dtype, holds ? 0 : 1, 0,
                 prop_where_at(prop_case_list(k->c, 0)[0]));
}

/* One row whose bits differ from those of the block's row. */
static void compare_row(const call *k, int64_t token, int64_t head, const unsigned char *got,
                        prop_sheet *sheet)
{
    const prop_work *w = k->w;
    int64_t row = k->from[token] * k->c->x.heads + head, where;
    memcpy(block_row(k, w->y[1], k->from[token], head), got, row_bytes(k));
    bool copied =
        prop_rest_copied(k->s, block_row(k, w->x[0], k->from[token], head), got, 1, &where);
    check(k, copied, sheet);
    if (!copied)
        prop_fail(sheet,
                  "in a large tensor, token %lld of %lld, head %lld: what does not rotate is not "
                  "copied",
                  (long long)token, (long long)k->tokens, (long long)head);
    prop_same_row(k->s, k->c, w, row, w->y[0], w->y[1], w->bounds[0],
                  "in a large tensor, against a small one", sheet);
}

static void compare(const call *k, prop_sheet *sheet)
{
    bool packed = prop_tensor_packed(&k->y);
    int64_t heads = k->c->x.heads;
    size_t bytes = row_bytes(k);
    for (int64_t t = 0; t < k->tokens && !sheet->failed; t++) {
        check(k, true, sheet); /* a comparison; what differs is judged by itself */
        const unsigned char *first = prop_tensor_row(&k->y, t, 0);
        if (packed &&
            memcmp(first, block_row(k, k->w->y[0], k->from[t], 0), (size_t)heads * bytes) == 0)
            continue;
        for (int64_t h = 0, bad = 0; h < heads && bad < BAD_ROWS; h++) {
            const unsigned char *got = prop_tensor_row(&k->y, t, h);
            if (memcmp(got, block_row(k, k->w->y[0], k->from[t], h), bytes) == 0)
                continue;
            compare_row(k, t, h, got, sheet);
            bad += sheet->failed;
        }
    }
}

static rope_status apply(const call *k, const prop_plan *plan)
{
    return k->s->kernel->apply(plan->plan, &k->x_view, &k->y_view, k->positions,
                               k->position_stride);
}

/* What a call takes from the process. mapped: bytes that it leaves mapped; holding: threads and
 * files that it leaves. */
typedef struct {
    prop_count took;
    int64_t mapped;
    prop_holding holding;
} large_taking;

/* What is read from /proc takes long: only where the call does too. */
static rope_status apply_watched(const call *k, const prop_plan *plan, large_taking *taking,
                                 prop_sheet *sheet)
{
    char text[PROP_FPSTATE_TEXT];
    bool proc = k->y.span >= FOUR_MEGABYTES;
    int64_t mapped = proc ? prop_mapped_bytes() : 0;
    prop_holding held = proc ? prop_holding_now() : (prop_holding){0};
    prop_beat();
    prop_count_start();
    prop_fpstate before = prop_fpstate_get();
    rope_status status = apply(k, plan);
    if (!prop_fpstate_check(&before, text, sizeof text))
        prop_disturbed(sheet, "apply to a large tensor", text);
    taking->took = prop_count_stop();
    prop_beat();
    sheet->calls++;
    prop_holding now = proc ? prop_holding_now() : held;
    taking->holding = (prop_holding){now.threads - held.threads, now.files - held.files};
    taking->mapped = proc ? prop_mapped_bytes() - mapped : 0;
    return status;
}

static bool quiet(const large_taking *t)
{
    return t->took.calls == 0 && t->took.threads == 0 && t->mapped <= 0 &&
           t->holding.threads <= 0 && t->holding.files <= 0;
}

/* Threads count at once, since a pool starts only once; of the rest, what a second call takes. */
static void judge_taking(const call *k, const prop_plan *plan, large_taking taking,
                         prop_sheet *sheet)
{
    if (!prop_counts()) /* a sanitizer's own doings would be seen */
        return;
    if (!quiet(&taking) && taking.took.threads == 0 && taking.holding.threads <= 0)
        apply_watched(k, plan, &taking, sheet);
    check(k, quiet(&taking), sheet);
    if (!quiet(&taking))
        prop_fail(sheet,
                  "apply to a large tensor calls malloc or free %lld times, starts %lld threads, "
                  "leaves %lld bytes mapped and %lld files open, expected none",
                  (long long)taking.took.calls, (long long)taking.took.threads,
                  (long long)taking.mapped, (long long)taking.holding.files);
}

static void apply_large(const prop_subject *s, const prop_case *c, const prop_plan *plan,
                        const prop_work *w, const int64_t *from, int64_t tokens, prop_sheet *sheet)
{
    call k = {.s = s, .c = c, .w = w, .from = from, .tokens = tokens};
    large_taking taking;
    int64_t where;
    if (!lay_out(&k)) {
        prop_fail(sheet, "internal: out of memory");
        return;
    }
    rope_status status = apply_watched(&k, plan, &taking, sheet);
    if (status != ROPE_OK) {
        prop_fail(sheet, "apply answers %d for a tensor of %lld tokens, expected OK", (int)status,
                  (long long)tokens);
        return;
    }
    compare(&k, sheet);
    if (!prop_tensor_clean(&k.y, &where))
        prop_strayed(sheet,
                     "apply to a large tensor has written outside the rows of y, at element %lld "
                     "from its first",
                     where);
    judge_taking(&k, plan, taking, sheet);
}

/* ---- cases ---- */

/* Parts of a row, an attention factor, several axes: where a way of its own may forget one. */
static int features(const prop_subject *s)
{
    return (s->spec->rotary_dim < s->spec->head_dim) +
           (s->attention_factor.hi != 1 || s->attention_factor.lo != 0) +
           (s->frequencies->axis_count > 1);
}

static int64_t count(const prop_subject *s)
{
    /* Sizes alone in one of their two pairings each, which neighbours take in turn. */
    int64_t light = (s->spec->rotary_dim / 2 + (int64_t)s->spec->pairing) % 2;
    return prop_count_usual(s, MAIN_CASES, USUAL_CASES, features(s) > 1 ? 1 : light);
}

typedef enum { PACKED, IN_PLACE, MISALIGNED, PADDED, REORDERED, PADDED_IN_PLACE, WAYS } large_way;

static void arrange(const prop_subject *s, prop_case *c, large_way way)
{
    static const struct {
        prop_shape x, y;
        bool in_place;
        int64_t position_gap;
    } ways[WAYS] = {
        [PACKED] = {{.place = PROP_PLACE_END}, {.place = PROP_PLACE_END}, false, 0},
        [IN_PLACE] = {{.place = PROP_PLACE_END}, {.place = PROP_PLACE_END}, true, 0},
        [MISALIGNED] = {{.place = PROP_PLACE_START},
                        {.place = PROP_PLACE_END, .shift = 1},
                        false,
                        1},
        [PADDED] = {{.place = PROP_PLACE_END, .token_gap = 5, .head_gap = 3, .shift = 1},
                    {.place = PROP_PLACE_END, .token_gap = 1, .head_gap = 8},
                    false,
                    2},
        [REORDERED] = {{.place = PROP_PLACE_END, .heads_first = true},
                       {.place = PROP_PLACE_START},
                       false,
                       0},
        [PADDED_IN_PLACE] = {{.place = PROP_PLACE_START, .token_gap = 4, .head_gap = 5, .shift = 5},
                             {.place = PROP_PLACE_START},
                             true,
                             1},
    };
    prop_shape size = c->x;
    c->x = ways[way].x;
    c->y = ways[way].y;
    c->x.tokens = c->y.tokens = size.tokens;
    c->x.heads = c->y.heads = size.heads;
    c->x.head_dim = c->y.head_dim = size.head_dim;
    c->in_place =
        ways[way].in_place && s->kernel != NULL && (s->kernel->header.flags & ROPE_IN_PLACE);
    c->position_gap = ways[way].position_gap;
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    static const int64_t heads[] = {32, 35, 8, 33};
    uint64_t h = prop_hash(s->seed, (uint64_t)index, 28);
    bool main = s->weight == PROP_MAIN;
    bool all_caches = main && index % MAIN_CASES == MAIN_CASES - 1;
    bool four = main                      ? index % MAIN_CASES == MAIN_CASES - 2
                : s->weight == PROP_USUAL ? features(s) > 0 && index % USUAL_CASES == 1
                                          : features(s) > 1;
    int64_t turn = index + s->spec->rotary_dim / 4 + (s->spec->pairing == ROPE_HALF);
    large_way way = (large_way)(turn % WAYS);
    if (all_caches)
        way = PACKED;
    else if (four && main)
        way = IN_PLACE;
    else if (four && s->weight == PROP_USUAL && s->level == PROP_QUICK)
        way = s->frequencies->axis_count > 1             ? PADDED
              : s->spec->rotary_dim == s->spec->head_dim ? MISALIGNED
                                                         : PACKED;
    if (!prop_case_new(c, &prop_large_property, s, BLOCK_TOKENS, heads[(h >> 8 & 3)], 1))
        return false;
    arrange(s, c, way);
    /* Consecutive, or not; axes apart. */
    int64_t start = prop_random_position(h), step = h >> 16 & 1 ? 1 : 7;
    for (int64_t t = 0; t < BLOCK_TOKENS; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = start + step * t + (int64_t)a * (3 + 2 * t);
    c->parameter = all_caches ? ALL_CACHES
                   : four     ? FOUR_MEGABYTES / (int64_t)rope_dtype_bytes(s->dtype)
                              : OWN_CACHES;
    c->kind = PROP_DATA_USUAL;
    c->seed = h;
    return true;
}

/* The block as any small call has it. */
static prop_case small_case(const prop_case *c)
{
    prop_case small = *c;
    small.in_place = false;
    small.position_gap = 0;
    small.x = small.y = (prop_shape){.tokens = c->x.tokens,
                                     .heads = c->x.heads,
                                     .head_dim = c->x.head_dim,
                                     .place = PROP_PLACE_END};
    return small;
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
    int64_t *from = draw_tokens(c, tokens = tokens < 1 ? 1 : tokens);
    prop_case small = small_case(c);
    if (from == NULL)
        prop_fail(sheet, "internal: out of memory");
    else if (prop_plan_make(s, c->axes, positions, c->x.tokens, &plan, sheet)) {
        if (prop_apply(s, &plan, &small, positions, c->x.tokens, w.x[0], w.y[0], sheet)) {
            prop_bounds(s, c->axes, positions, c->x.tokens, w.bounds[0], sheet);
            apply_large(s, c, &plan, &w, from, tokens, sheet);
        }
        prop_plan_free(s, &plan, sheet);
    }
    free(from);
    prop_work_free(&w);
}

const prop_property prop_large_property = {
    .name = "large",
    .statement = "a tensor past the caches gives what a few of its tokens do",
    .count = count,
    .generate = generate,
    .judge = judge,
};
