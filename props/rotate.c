#include "props/rotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/fpstate.h"
#include "props/isolate.h"

/* Lists and tensors by slot of prop_watch. */
enum { WATCH_X = 0, WATCH_Y = 1 };
enum { COPY_POSITIONS = 0, COPY_ARGS, COPY_SPEC, COPY_HI, COPY_LO, COPY_AXIS, COPY_LISTS };

void prop_disturbed(prop_sheet *sheet, const char *call, const char *text)
{
    if (!sheet->disturbed)
        snprintf(sheet->disturbance, sizeof sheet->disturbance, "%s: %s", call, text);
    sheet->disturbed = true;
}

static const char *status_name(rope_status status)
{
    static const char *const names[] = {"OK", "UNSUPPORTED", "RANGE", "NO_MEMORY", "INVALID"};
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "an unknown status";
}

static rope_plan_args window_args(const prop_subject *s, uint32_t axes, const int64_t *positions,
                                  int64_t tokens)
{
    rope_plan_args args = rope_spec_plan_args(s->spec, s->frequencies, s->dtype, 0, 0);
    for (uint32_t a = 0; a < axes; a++) {
        args.first[a] = args.last[a] = positions[a];
        for (int64_t t = 1; t < tokens; t++) {
            int64_t p = positions[t * axes + a];
            args.first[a] = p < args.first[a] ? p : args.first[a];
            args.last[a] = p > args.last[a] ? p : args.last[a];
        }
    }
    return args;
}

/* The arguments as plan sees them: read-only, unreadable beyond their ends, and gone with the call.
 * A plan that kept a pointer into them finds NaN and -1. */
static const rope_plan_args *lend(rope_plan_args args, rope_spec *spec, rope_error *error)
{
    rope_list *const lists[] = {&spec->short_factors, &spec->long_factors, &spec->sections,
                                &spec->divisors, &spec->inv_freq};
    _Static_assert(COPY_LISTS + sizeof lists / sizeof lists[0] == PROP_COPIES, "a slot for each");
    size_t bytes = (size_t)args.pairs * sizeof(double);
    bool good = true;
    for (int i = 0; good && i < PROP_COPIES - COPY_LISTS; i++)
        if (lists[i]->count > 0)
            good = (lists[i]->values =
                        prop_guarded_copy(COPY_LISTS + i, "a list of the spec", lists[i]->values,
                                          (size_t)lists[i]->count * sizeof(double), error)) != NULL;
    return good &&
                   (args.frequency_hi = prop_guarded_copy(COPY_HI, "frequency_hi",
                                                          args.frequency_hi, bytes, error)) &&
                   (args.frequency_lo = prop_guarded_copy(COPY_LO, "frequency_lo",
                                                          args.frequency_lo, bytes, error)) &&
                   (args.axis = prop_guarded_copy(COPY_AXIS, "axis", args.axis, (size_t)args.pairs,
                                                  error)) &&
                   (args.spec = prop_guarded_copy(COPY_SPEC, "spec", spec, sizeof *spec, error))
               ? prop_guarded_copy(COPY_ARGS, "args", &args, sizeof args, error)
               : NULL;
}

bool prop_plan_make(const prop_subject *s, uint32_t axes, const int64_t *positions, int64_t tokens,
                    prop_plan *p, prop_sheet *sheet)
{
    char text[PROP_FPSTATE_TEXT];
    rope_error error;
    rope_spec spec = *s->spec;
    p->plan = NULL;
    p->args = window_args(s, axes, positions, tokens);
    const rope_plan_args *lent = lend(p->args, &spec, &error);
    if (lent == NULL) {
        prop_fail(sheet, "internal: %s", error.text);
        return false;
    }
    prop_fpstate before = prop_fpstate_get();
    rope_status status = s->kernel->plan(lent, &p->plan);
    for (int slot = COPY_ARGS; slot < PROP_COPIES; slot++)
        prop_guarded_spoil(slot);
    if (!prop_fpstate_check(&before, text, sizeof text))
        prop_disturbed(sheet, "plan", text);
    if (status == ROPE_OK)
        return true;
    if (status == ROPE_UNSUPPORTED) {
        sheet->refused = true;
        snprintf(sheet->reason, sizeof sheet->reason,
                 "plan answers UNSUPPORTED for positions %lld to %lld", (long long)p->args.first[0],
                 (long long)p->args.last[0]);
        return false;
    }
    prop_fail(sheet, "plan answers %s for positions %lld to %lld, expected OK or UNSUPPORTED",
              status_name(status), (long long)p->args.first[0], (long long)p->args.last[0]);
    return false;
}

void prop_plan_free(const prop_subject *s, prop_plan *p, prop_sheet *sheet)
{
    char text[PROP_FPSTATE_TEXT];
    prop_fpstate before = prop_fpstate_get();
    s->kernel->destroy(p->plan);
    if (!prop_fpstate_check(&before, text, sizeof text))
        prop_disturbed(sheet, "destroy", text);
    p->plan = NULL;
}

bool prop_rest_copied(const prop_subject *s, const void *from, const void *to, int64_t rows,
                      int64_t *row)
{
    const unsigned char *x = from, *y = to;
    const rope_spec *spec = s->spec;
    if (spec->head_dim == spec->rotary_dim)
        return true;
    size_t element = rope_dtype_bytes(s->dtype), bytes = (size_t)spec->head_dim * element;
    size_t before = (size_t)spec->rotary_offset * element;
    size_t after = before + (size_t)spec->rotary_dim * element;
    for (int64_t r = 0; r < rows; r++, x += bytes, y += bytes)
        if (memcmp(x, y, before) != 0 || memcmp(x + after, y + after, bytes - after) != 0) {
            *row = r;
            return false;
        }
    return true;
}

void prop_strayed(prop_sheet *sheet, const char *format, int64_t where)
{
    if (!sheet->strayed)
        snprintf(sheet->stray, sizeof sheet->stray, format, (long long)where);
    sheet->strayed = true;
}

/* x (NULL when in place), y: the arenas, after the call. done: it answered OK. */
static void look_around(const prop_subject *s, prop_arena *x, prop_arena *y, int64_t rows,
                        bool done, const void *given, const void *result, prop_sheet *sheet)
{
    int64_t where;
    sheet->calls++;
    if (x != NULL && !prop_arena_holds(x, given))
        prop_strayed(sheet, "apply has written its input x (call %lld)", sheet->calls);
    if (done && !prop_rest_copied(s, given, result, rows, &where))
        prop_strayed(sheet, "an element of row %lld outside the rotated range was not copied",
                     where);
    if (!prop_arena_clean(y, &where))
        prop_strayed(sheet,
                     "apply has written outside the rows of y, at element %lld from its first",
                     where);
}

/* x and y between guard pages, x filled and read-only unless in place. */
static bool lay_out(const prop_subject *s, const prop_case *c, int64_t tokens, const void *given,
                    prop_arena **x, prop_arena **y, rope_view *x_view, rope_view *y_view,
                    rope_error *error)
{
    static prop_arena *x_arena, *y_arena;
    if (x_arena == NULL)
        x_arena = prop_arena_new("x", WATCH_X, true);
    if (y_arena == NULL)
        y_arena = prop_arena_new("y", WATCH_Y, false);
    *x = c->in_place ? NULL : x_arena;
    *y = y_arena;
    if (x_arena == NULL || y_arena == NULL)
        return rope_fail(error, "out of memory");
    prop_shape x_shape = c->x, y_shape = c->in_place ? c->x : c->y;
    x_shape.tokens = y_shape.tokens = tokens;
    if (!prop_arena_place(y_arena, s->dtype, &y_shape, y_view, error))
        return false;
    if (c->in_place) {
        prop_arena_load(y_arena, given);
        *x_view = *y_view;
        return true;
    }
    if (!prop_arena_place(x_arena, s->dtype, &x_shape, x_view, error))
        return false;
    prop_arena_load(x_arena, given);
    return true;
}

/* The positions with the case's stride, an unreadable page after the last. */
static const int64_t *guard_positions(const prop_case *c, const int64_t *positions, int64_t tokens,
                                      rope_error *error)
{
    size_t stride = (size_t)((int64_t)c->axes + c->position_gap);
    size_t count = (size_t)(tokens - 1) * stride + c->axes;
    int64_t *spread = calloc(count, sizeof *spread);
    if (spread == NULL) {
        rope_fail(error, "out of memory");
        return NULL;
    }
    for (int64_t t = 0; t < tokens; t++)
        memcpy(spread + (size_t)t * stride, positions + t * c->axes, c->axes * sizeof *spread);
    const void *copy =
        prop_guarded_copy(COPY_POSITIONS, "positions", spread, count * sizeof *spread, error);
    free(spread);
    return copy;
}

rope_status prop_call(const prop_subject *s, const prop_plan *plan, const prop_case *c,
                      const int64_t *positions, int64_t tokens, const void *x, void *y,
                      bool *untouched, prop_sheet *sheet)
{
    char text[PROP_FPSTATE_TEXT];
    rope_error error = {"out of memory"};
    rope_view x_view, y_view;
    prop_arena *x_arena, *y_arena;
    int64_t rows = tokens * c->x.heads;
    size_t bytes = (size_t)(rows * s->spec->head_dim) * rope_dtype_bytes((uint32_t)s->dtype);
    void *given = malloc(bytes); /* y may be x */
    if (given != NULL)
        memcpy(given, x, bytes);
    const int64_t *guarded = guard_positions(c, positions, tokens, &error);
    if (given == NULL || guarded == NULL ||
        !lay_out(s, c, tokens, given, &x_arena, &y_arena, &x_view, &y_view, &error)) {
        free(given);
        prop_fail(sheet, "internal: %s", error.text);
        return ROPE_INVALID;
    }
    prop_fpstate before = prop_fpstate_get();
    rope_status status =
        s->kernel->apply(plan->plan, &x_view, &y_view, guarded, (int64_t)c->axes + c->position_gap);
    if (!prop_fpstate_check(&before, text, sizeof text))
        prop_disturbed(sheet, "apply", text);
    prop_beat();
    *untouched = c->in_place ? prop_arena_holds(y_arena, given) : prop_arena_poisoned(y_arena);
    prop_arena_store(y_arena, y);
    look_around(s, x_arena, y_arena, rows, status == ROPE_OK, given, y, sheet);
    free(given);
    return status;
}

bool prop_apply(const prop_subject *s, const prop_plan *plan, const prop_case *c,
                const int64_t *positions, int64_t tokens, const void *x, void *y, prop_sheet *sheet)
{
    bool untouched;
    rope_status status = prop_call(s, plan, c, positions, tokens, x, y, &untouched, sheet);
    if (status != ROPE_OK)
        prop_fail(sheet, "apply answers %s for positions inside the plan's window, expected OK",
                  status_name(status));
    return status == ROPE_OK;
}

bool prop_rotate(const prop_subject *s, const prop_case *c, const int64_t *positions, const void *x,
                 void *y, prop_sheet *sheet)
{
    prop_plan plan;
    if (!prop_plan_make(s, c->axes, positions, c->x.tokens, &plan, sheet))
        return false;
    bool good = prop_apply(s, &plan, c, positions, c->x.tokens, x, y, sheet);
    prop_plan_free(s, &plan, sheet);
    return good;
}

void prop_bounds(const prop_subject *s, uint32_t axes, const int64_t *positions, int64_t tokens,
                 double *bounds, prop_sheet *sheet)
{
    char text[PROP_FPSTATE_TEXT];
    rope_plan_args args = window_args(s, axes, positions, tokens);
    prop_fpstate before = prop_fpstate_get();
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < args.pairs; i++)
            *bounds++ = s->kernel->error_bound(&args, positions[t * axes + args.axis[i]], i);
    if (!prop_fpstate_check(&before, text, sizeof text))
        prop_disturbed(sheet, "error_bound", text);
}

void prop_pair(const rope_spec *spec, int64_t pair, int64_t *first, int64_t *second)
{
    bool half = spec->pairing == ROPE_HALF;
    *first = spec->rotary_offset + (half ? pair : 2 * pair);
    *second = *first + (half ? spec->rotary_dim / 2 : 1);
}

void prop_load_pair(const prop_subject *s, const void *packed, int64_t row, int64_t pair, double *a,
                    double *b)
{
    int64_t first, second;
    prop_pair(s->spec, pair, &first, &second);
    first += row * s->spec->head_dim;
    second += row * s->spec->head_dim;
    if (s->dtype == ROPE_F32) { /* most data: no calls */
        float each[2];
        memcpy(&each[0], (const char *)packed + 4 * first, sizeof each[0]);
        memcpy(&each[1], (const char *)packed + 4 * second, sizeof each[1]);
        *a = (double)each[0];
        *b = (double)each[1];
        return;
    }
    *a = oracle_load((uint32_t)s->dtype, packed, first);
    *b = oracle_load((uint32_t)s->dtype, packed, second);
}
