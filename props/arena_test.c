/* Arenas: the byte next to a tensor cannot be read or written, whatever its place; what can be is a
 * canary that is seen; an input cannot be written. Each access runs in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "props/arena.h"
#include "props/isolate.h"

enum { TOKENS = 2, HEADS = 3, DIM = 6, OUTSIDE = 1 << 20 };

static const prop_shape usual = {.tokens = TOKENS, .heads = HEADS, .head_dim = DIM};

/* One access of a float, `element` from the start of a row. */
typedef struct {
    prop_shape shape;
    bool read_only, writes;
    int64_t token, head, element;
} touching;

static volatile float seen;

static int make_touch(void *context)
{
    const touching *a = context;
    rope_view view;
    rope_error error;
    prop_arena *arena = prop_arena_new("x", 0, a->read_only);
    if (arena == NULL || !prop_arena_place(arena, ROPE_F32, &a->shape, &view, &error))
        return 1;
    volatile float *at = (volatile float *)view.data + a->token * view.token_stride +
                         a->head * view.head_stride + a->element;
    if (a->writes)
        *at = 1;
    else
        seen = *at;
    prop_arena_free(arena);
    return 0;
}

/* Expects SIGSEGV with that text, or (NULL) nothing. */
static void expect(touching a, const char *where)
{
    prop_limits limits = prop_limits_default();
    prop_end end;
    rope_error error;
    if (!prop_isolate(make_touch, &a, &limits, &end, &error))
        fail_msg("%s", error.text);
    bool as_wanted = where == NULL ? end.outcome == PROP_FINISHED && end.status == 0
                                   : end.outcome == PROP_SIGNAL && end.signal == SIGSEGV &&
                                         strcmp(end.where, where) == 0;
    char text[160];
    prop_end_text(&end, text, sizeof text);
    if (!as_wanted)
        fail_msg("place %d, row (%lld, %lld), element %lld, %s: %s, expected %s",
                 (int)a.shape.place, (long long)a.token, (long long)a.head, (long long)a.element,
                 a.writes ? "write" : "read", text, where != NULL ? where : "no fault");
}

static touching of(prop_place place, bool writes, int64_t token, int64_t head, int64_t element)
{
    touching a = {usual, false, writes, token, head, element};
    a.shape.place = place;
    return a;
}

static void ends_fault(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        expect(of(PROP_PLACE_START, writes, 0, 0, 0), NULL);
        expect(of(PROP_PLACE_START, writes, 0, 0, -1), "4 bytes before the start of x");
        expect(of(PROP_PLACE_END, writes, TOKENS - 1, HEADS - 1, DIM - 1), NULL);
        expect(of(PROP_PLACE_END, writes, TOKENS - 1, HEADS - 1, DIM), "0 bytes past the end of x");
    }
}

/* Every row has its own page: also the end of one that is not the last faults. */
static void rows_fault(void **state)
{
    (void)state;
    const prop_place places[] = {PROP_PLACE_ROWS, PROP_PLACE_FAR_TOKENS, PROP_PLACE_FAR_HEADS};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        for (int64_t token = 0; token < TOKENS; token++)
            for (int64_t head = 0; head < HEADS; head++) {
                touching inside = of(places[i], true, token, head, DIM - 1);
                touching past = of(places[i], false, token, head, DIM);
                prop_limits limits = prop_limits_default();
                prop_end end;
                rope_error error;
                expect(inside, NULL);
                assert_true(prop_isolate(make_touch, &past, &limits, &end, &error));
                assert_int_equal(end.outcome, PROP_SIGNAL);
                assert_int_equal(end.signal, SIGSEGV);
            }
}

static void inputs_are_read_only(void **state)
{
    (void)state;
    touching a = of(PROP_PLACE_START, true, 1, 1, 2);
    a.read_only = true;
    int64_t byte = ((HEADS + 1) * DIM + 2) * (int64_t)sizeof(float);
    char where[64];
    snprintf(where, sizeof where, "at byte %lld of x", (long long)byte);
    expect(a, where);
    a.writes = false;
    expect(a, NULL);
}

/* With gaps: one element anywhere outside the rows is noticed, by its place from the first. */
static void canaries_are_seen(void **state)
{
    (void)state;
    prop_shape shape = usual;
    shape.place = PROP_PLACE_START;
    shape.shift = 2;
    shape.token_gap = 5;
    shape.head_gap = 3;
    prop_arena *arena = prop_arena_new("y", 1, false);
    assert_non_null(arena);
    for (int64_t element = -2; element < HEADS * (DIM + 3) + 9; element++) {
        rope_view view;
        rope_error error;
        int64_t where = OUTSIDE, token = HEADS * (DIM + 3) - 3 + 5;
        assert_true(prop_arena_place(arena, ROPE_F32, &shape, &view, &error));
        assert_int_equal(view.token_stride, token);
        assert_int_equal(view.head_stride, DIM + 3);
        assert_true(prop_arena_poisoned(arena));
        ((float *)view.data)[element] = 1;
        int64_t in_token = element % token;
        bool inside = element >= 0 && in_token < token - 5 && in_token % (DIM + 3) < DIM;
        assert_int_equal(prop_arena_poisoned(arena), !inside);
        assert_int_equal(prop_arena_clean(arena, &where), inside);
        assert_int_equal(where, inside ? OUTSIDE : element);
    }
    prop_arena_free(arena);
}

/* What is loaded is held, until a bit of it changes. */
static void contents_are_compared(void **state)
{
    (void)state;
    static float rows[TOKENS * HEADS * DIM], back[TOKENS * HEADS * DIM];
    for (int i = 0; i < TOKENS * HEADS * DIM; i++)
        rows[i] = (float)i;
    for (int place = 0; place < PROP_PLACES; place++) {
        rope_view view;
        rope_error error;
        prop_shape shape = usual;
        shape.place = (prop_place)place;
        shape.heads_first = place % 2 == 1;
        prop_arena *arena = prop_arena_new("y", 1, false);
        assert_non_null(arena);
        assert_true(prop_arena_place(arena, ROPE_F32, &shape, &view, &error));
        prop_arena_load(arena, rows);
        assert_true(prop_arena_holds(arena, rows));
        prop_arena_store(arena, back);
        assert_memory_equal(rows, back, sizeof rows);
        float *last = (float *)view.data + (TOKENS - 1) * view.token_stride +
                      (HEADS - 1) * view.head_stride + DIM - 1;
        assert_true(*last == (float)(TOKENS * HEADS * DIM - 1));
        *last = -1;
        assert_false(prop_arena_holds(arena, rows));
        prop_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_fault),
        cmocka_unit_test(rows_fault),
        cmocka_unit_test(inputs_are_read_only),
        cmocka_unit_test(canaries_are_seen),
        cmocka_unit_test(contents_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
