#include "props/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "props/run.h"

/* The text of the best case so far, from a child. */
typedef struct {
    size_t length;
    char text[1 << 20];
} discovery;

typedef struct {
    const prop_subject *s;
    prop_case *best;
    prop_sheet *sheet; /* of the best */
    int trials;        /* left */
    bool (*judge)(const prop_subject *s, const prop_case *c, prop_sheet *sheet);
    discovery *found; /* shared, or NULL */
} search;

static void note(search *q)
{
    char *text = prop_case_format(q->s, q->best);
    size_t length = text != NULL ? strlen(text) : 0;
    if (length > 0 && length < sizeof q->found->text) {
        q->found->length = 0; /* a crash in between leaves none */
        memcpy(q->found->text, text, length + 1);
        q->found->length = length;
    }
    free(text);
}

/* ---- case to numbers ---- */

static void shape_out(const prop_shape *shape, int64_t *scalars)
{
    scalars[0] = shape->place;
    scalars[1] = shape->shift;
    scalars[2] = shape->token_gap;
    scalars[3] = shape->head_gap;
    scalars[4] = shape->heads_first;
}

static void shape_in(const int64_t *scalars, prop_shape *shape)
{
    shape->place = (prop_place)scalars[0];
    shape->shift = scalars[1];
    shape->token_gap = scalars[2];
    shape->head_gap = scalars[3];
    shape->heads_first = scalars[4] != 0;
}

/* All elements that are not 0, token by token. */
static int64_t elements_out(const prop_case *c, int64_t token, rapid_element *to)
{
    int64_t count = 0;
    for (int stream = 0; stream < PROP_STREAMS; stream++)
        for (int64_t head = 0; head < c->x.heads; head++)
            for (int64_t e = 0; e < c->x.head_dim; e++) {
                int64_t row = token * c->x.heads + head;
                uint64_t bits = c->bits[stream][row * c->x.head_dim + e];
                if (bits != 0)
                    to[count++] = (rapid_element){head, e, stream, bits};
            }
    return count;
}

typedef struct {
    rapid_token *tokens;
    int64_t *positions;
    rapid_element *elements;
} flat;

static void flat_free(flat *f)
{
    free(f->tokens);
    free(f->positions);
    free(f->elements);
}

static bool flatten(rope_dtype dtype, const prop_case *c, flat *f, rapid_case *r)
{
    int64_t per_token = c->lists * (int64_t)c->axes;
    *f = (flat){calloc((size_t)c->x.tokens, sizeof *f->tokens),
                malloc((size_t)(c->x.tokens * per_token) * sizeof *f->positions),
                malloc((size_t)(PROP_STREAMS * prop_case_elements(c)) * sizeof *f->elements)};
    *r = (rapid_case){.heads = c->x.heads,
                      .positions_per_token = per_token,
                      .tokens = c->x.tokens,
                      .token = f->tokens};
    if (f->tokens == NULL || f->positions == NULL || f->elements == NULL)
        return false;
    oracle_store((uint32_t)dtype, &r->one, 0, 1);
    shape_out(&c->x, r->scalars);
    shape_out(&c->y, r->scalars + 5);
    r->scalars[10] = c->position_gap;
    r->scalars[11] = c->in_place;
    r->scalars[12] = c->parameter;
    rapid_element *next = f->elements;
    for (int64_t t = 0; t < c->x.tokens; t++) {
        int64_t *p = f->positions + t * per_token;
        for (int list = 0; list < c->lists; list++)
            memcpy(p + list * (int64_t)c->axes, prop_case_list(c, list) + t * c->axes,
                   c->axes * sizeof *p);
        int64_t count = elements_out(c, t, next);
        f->tokens[t] = (rapid_token){p, next, count};
        next += count;
    }
    return true;
}

/* ---- and back ---- */

bool prop_shrink_rebuild(const prop_subject *s, const prop_case *like, const rapid_case *r,
                         prop_case *c)
{
    if (!prop_case_new(c, like->property, s, r->tokens, r->heads, like->lists))
        return false;
    shape_in(r->scalars, &c->x);
    shape_in(r->scalars + 5, &c->y);
    c->position_gap = r->scalars[10];
    c->in_place = r->scalars[11] != 0;
    c->parameter = r->scalars[12];
    for (int i = 0; i < PROP_STREAMS; i++) {
        c->bits[i] = calloc((size_t)prop_case_elements(c), sizeof **c->bits);
        if (c->bits[i] == NULL) {
            prop_case_free(c);
            return false;
        }
    }
    for (int64_t t = 0; t < r->tokens; t++) {
        const rapid_token *token = &r->token[t];
        for (int list = 0; list < c->lists; list++)
            memcpy(prop_case_list(c, list) + t * c->axes,
                   token->positions + list * (int64_t)c->axes, c->axes * sizeof(int64_t));
        for (int64_t k = 0; k < token->count; k++) {
            const rapid_element *e = &token->elements[k];
            int64_t row = t * c->x.heads + e->head;
            c->bits[e->stream][row * c->x.head_dim + e->element] = e->bits;
        }
    }
    return true;
}

/* ---- the search ---- */

/* A failure of another kind (a refusal, our own trouble) is not this one made smaller. */
static bool same_failure(const prop_sheet *sheet, const prop_sheet *wanted)
{
    const char *reason;
    return !sheet->refused && prop_sheet_failed(sheet, &reason) &&
           strncmp(reason, "internal", 8) != 0 &&
           (sheet->failed == wanted->failed || sheet->strayed == wanted->strayed);
}

static rapid_answer judge(const rapid_case *r, void *context)
{
    search *q = context;
    prop_case c = {0};
    static prop_sheet sheet;
    if (q->trials-- <= 0)
        return RAPID_STOP;
    if (!prop_shrink_rebuild(q->s, q->best, r, &c))
        return RAPID_PASSES;
    if (!q->judge(q->s, &c, &sheet) || !same_failure(&sheet, q->sheet)) {
        prop_case_free(&c);
        return RAPID_PASSES;
    }
    prop_case_free(q->best);
    *q->best = c;
    *q->sheet = sheet;
    if (q->found != NULL)
        note(q);
    return RAPID_FAILS;
}

static void walk(search *q)
{
    flat f;
    rapid_case start;
    if (flatten(q->s->dtype, q->best, &f, &start))
        rapid_shrink(&start, judge, q);
    flat_free(&f);
}

/* A process for every candidate: any may crash. */
static bool judge_apart(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    rope_error error;
    return prop_trial(s, c, sheet, &error);
}

static bool judge_here(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    *sheet = (prop_sheet){0};
    c->property->judge(s, c, sheet);
    prop_beat();
    return true;
}

static int walk_here(void *context)
{
    walk(context);
    return 0;
}

enum { FASTER = 20 };

/* The same in one process, which a fork a candidate costs a hundred times: as far as it comes. What
 * it found counts when it fails in a process of its own too. Returns whether that is the end. */
static bool walk_fast(search *q)
{
    prop_limits limits = prop_limits_default();
    prop_end end;
    rope_error error;
    prop_case c;
    prop_sheet sheet;
    search inside = *q;
    inside.judge = judge_here;
    inside.trials = FASTER * q->trials;
    inside.found = prop_share(sizeof *inside.found);
    if (inside.found == NULL)
        return false;
    bool finished =
        prop_isolate(walk_here, &inside, &limits, &end, &error) && end.outcome == PROP_FINISHED;
    bool found = inside.found->length > 0 && prop_case_parse(inside.found->text, q->s, &c, &error);
    prop_unshare(inside.found, sizeof *inside.found);
    if (!found)
        return finished;
    if (!prop_case_materialise(q->s, &c) || !judge_apart(q->s, &c, &sheet) ||
        !same_failure(&sheet, q->sheet)) {
        prop_case_free(&c);
        return false;
    }
    prop_case_free(q->best);
    *q->best = c;
    *q->sheet = sheet;
    return finished;
}

bool prop_shrink(const prop_subject *s, prop_case *c, int trials, prop_sheet *sheet)
{
    const char *reason;
    search q = {s, c, sheet, trials, judge_apart, NULL};
    if (!prop_case_materialise(s, c) || !judge_apart(s, c, sheet) ||
        !prop_sheet_failed(sheet, &reason))
        return false;
    if (!walk_fast(&q))
        walk(&q);
    return true;
}
