#include "props/dump_pass.h"

#include <stdlib.h>
#include <string.h>

#include "props/team.h"

/* Elements of a tensor in one unit: 4 MiB as f64. The first units are smaller, so that what is
 * refuted early costs little; one token is the least. */
enum { UNIT_ELEMENTS = 1 << 19 };

/* Tokens [first, first + count), ready to be judged. */
typedef struct {
    int64_t first, count;
    double *x, *y;            /* [count][heads][head_dim] */
    oracle_cos_sin_dd *exact; /* [count][pairs] */
    double *position;         /* [count][pairs] */
} unit;

struct prop_pass {
    prop_dump *dump;
    oracle *oracle;
    const prop_model *model;
    prop_team *team;
    prop_rows *seen;
    unit units[2]; /* at hand, and read ahead */
    int64_t most;  /* tokens in a unit */
    int64_t *axis_position;
    uint8_t *above;  /* [groups][rows of a unit] */
    prop_look *look; /* [rows of a unit] */
    double *data;    /* [groups][6][heads] */
    int groups;
    /* What the tasks of the present phase work on. */
    unit *now, *ahead;
    prop_judge *judge; /* NULL: not wanted */
    prop_explanation *explanations[2];
    rope_error errors[2]; /* of reading x and y */
    bool good[2];
};

void prop_pass_free(prop_pass *p)
{
    if (p == NULL)
        return;
    prop_team_free(p->team);
    prop_rows_free(p->seen);
    for (int i = 0; i < 2; i++) {
        free(p->units[i].x);
        free(p->units[i].y);
        free(p->units[i].exact);
        free(p->units[i].position);
    }
    free(p->axis_position);
    free(p->above);
    free(p->look);
    free(p->data);
    free(p);
}

prop_pass *prop_pass_new(prop_dump *dump, oracle *o, const prop_model *model, int jobs,
                         rope_error *error)
{
    prop_pass *p = calloc(1, sizeof *p);
    bool good = p != NULL;
    if (good) {
        int64_t row = dump->heads * dump->head_dim;
        p->dump = dump;
        p->oracle = o;
        p->model = model;
        p->most = UNIT_ELEMENTS / row < 1 ? 1 : UNIT_ELEMENTS / row;
        p->most = p->most < dump->tokens ? p->most : dump->tokens;
        p->groups = prop_groups(model);
        size_t groups = (size_t)p->groups, rows = (size_t)(p->most * dump->heads);
        size_t turns = (size_t)(p->most * model->pairs);
        p->team = prop_team_new(jobs);
        p->seen = prop_rows_new();
        p->axis_position = malloc(oracle_axis_count(o) * sizeof *p->axis_position);
        p->above = malloc(groups * rows);
        p->look = malloc(rows * sizeof *p->look);
        p->data = malloc(groups * 6 * (size_t)dump->heads * sizeof *p->data);
        good = p->team && p->seen && p->axis_position && p->above && p->look && p->data;
        for (int i = 0; i < 2; i++) {
            unit *u = &p->units[i];
            u->x = malloc((size_t)(p->most * row) * sizeof *u->x);
            u->y = malloc((size_t)(p->most * row) * sizeof *u->y);
            u->exact = malloc(turns * sizeof *u->exact);
            u->position = malloc(turns * sizeof *u->position);
            good = good && u->x && u->y && u->exact && u->position;
        }
    }
    if (good)
        return p;
    prop_pass_free(p);
    rope_fail(error, "out of memory for blocks of a dump of %lld tokens", (long long)dump->tokens);
    return NULL;
}

/* ---- tasks ---- */

static void read_tensor(prop_pass *p, bool output)
{
    unit *u = p->ahead;
    p->good[output] = prop_dump_read(p->dump, u->first, u->count, output ? NULL : u->x,
                                     output ? u->y : NULL, &p->errors[output]);
}

static void take_angles(prop_pass *p)
{
    const unit *u = p->ahead;
    int64_t pairs = p->model->pairs;
    uint32_t axes = oracle_axis_count(p->oracle);
    for (int64_t t = 0; t < u->count; t++) {
        for (uint32_t a = 0; a < axes; a++)
            p->axis_position[a] = prop_dump_position(p->dump, u->first + t, a);
        oracle_row(p->oracle, p->axis_position, u->exact + t * pairs);
        for (int64_t i = 0; i < pairs; i++)
            u->position[t * pairs + i] = (double)p->axis_position[oracle_pair_axis(p->oracle, i)];
    }
}

static void judge_group(prop_pass *p, int group)
{
    const unit *u = p->now;
    int64_t row = p->dump->heads * p->dump->head_dim, pairs = p->model->pairs,
            heads = p->dump->heads;
    int64_t first, end;
    prop_group_range(p->model, group, &first, &end);
    uint8_t *above = p->above + group * p->most * heads;
    if (p->judge != NULL)
        memset(above, 0, (size_t)(u->count * heads));
    for (int64_t t = 0; t < u->count; t++) {
        prop_row one = {.token = u->first + t,
                        .position = u->position + t * pairs,
                        .exact = u->exact + t * pairs,
                        .x = u->x + t * row,
                        .y = u->y + t * row,
                        .heads = heads};
        if (p->judge != NULL)
            prop_judge_feed_group(p->judge, group, &one, above + t * heads);
        for (int k = 0; k < 2; k++)
            if (p->explanations[k] != NULL)
                prop_explanation_feed_pairs(p->explanations[k], &one, first, end,
                                            p->data + group * 6 * heads);
    }
}

/* Tasks of the first phase: what is to come is read while what is at hand is judged. */
enum { TASK_X = 0, TASK_Y = 1, TASK_ANGLES = 2, TASKS_AHEAD = 3 };

static void first_phase(void *context, int task)
{
    prop_pass *p = context;
    if (task >= TASKS_AHEAD)
        judge_group(p, task - TASKS_AHEAD);
    else if (p->ahead == NULL)
        return;
    else if (task == TASK_ANGLES)
        take_angles(p);
    else
        read_tensor(p, task == TASK_Y);
}

static void group_phase(void *context, int task)
{
    judge_group(context, task);
}

/* Tokens of one task of the second phase. */
static int64_t slice(const prop_pass *p)
{
    return (p->now->count + 15) / 16;
}

static void row_phase(void *context, int task)
{
    prop_pass *p = context;
    int64_t size = slice(p), heads = p->dump->heads, d = p->dump->head_dim;
    int64_t end = (task + 1) * size < p->now->count ? (task + 1) * size : p->now->count;
    for (int64_t row = task * size * heads; row < end * heads; row++)
        p->look[row] = prop_rows_look(p->model, p->now->x + row * d, p->now->y + row * d);
}

/* ---- units ---- */

static void take_rows(prop_pass *p, prop_stats *rows)
{
    int64_t heads = p->dump->heads, size = slice(p);
    prop_team_run(p->team, row_phase, p, (int)((p->now->count + size - 1) / size));
    for (int64_t row = 0; row < p->now->count * heads; row++) {
        bool above = false;
        for (int g = 0; g < p->groups; g++)
            above = above || p->above[g * p->most * heads + row];
        prop_rows_take(p->seen, p->now->first + row / heads, row % heads, above, &p->look[row],
                       rows);
    }
}

/* Makes *u the unit that follows after `size` tokens; false: there is none before `end`. */
static bool plan_unit(const prop_pass *p, unit *u, int64_t first, int64_t end)
{
    int64_t size = first < p->most ? (first > 0 ? first : 1) : p->most; /* 1 1 2 4 8 ... */
    u->first = first;
    u->count = end - first < size ? end - first : size;
    return u->count > 0;
}

/* Judges the unit at hand, reads the one ahead. */
static bool step(prop_pass *p, rope_error *error)
{
    p->good[0] = p->good[1] = true;
    prop_team_run(p->team, first_phase, p, TASKS_AHEAD + (p->now != NULL ? p->groups : 0));
    for (int i = 0; i < 2; i++)
        if (!p->good[i]) {
            *error = p->errors[i];
            return false;
        }
    for (int k = 0; p->now != NULL && k < 2; k++)
        if (p->explanations[k] != NULL)
            prop_explanation_sync(p->explanations[k]);
    return true;
}

typedef struct {
    prop_progress *call;
    void *context;
    double total; /* tokens, those to be read again too */
} reporting;

/* Which explanations are at work: the exact one rests while a computed one stands. */
static void choose(prop_pass *p, prop_explanation *exact, prop_explanation *computed)
{
    bool rests = computed != NULL && !prop_explanation_refuted(computed);
    p->explanations[0] = rests ? NULL : exact;
    p->explanations[1] = computed;
}

/* A computed explanation that has seen the unit at hand. */
static prop_explanation *begin_computed(prop_pass *p, uint32_t angles)
{
    prop_explanation *computed = prop_explanation_new(p->model, angles);
    if (computed == NULL)
        return NULL;
    prop_judge *judge = p->judge;
    p->judge = NULL; /* has had this unit */
    p->explanations[0] = NULL;
    p->explanations[1] = computed;
    prop_team_run(p->team, group_phase, p, p->groups);
    p->judge = judge;
    prop_explanation_sync(computed);
    return computed;
}

/* Tokens before `end` again, for `computed` alone. */
static bool again(prop_pass *p, prop_explanation *computed, int64_t end, reporting *r,
                  rope_error *error)
{
    p->judge = NULL;
    p->now = NULL;
    p->explanations[0] = NULL;
    p->explanations[1] = computed;
    double before = r->total - (double)end;
    for (int64_t first = 0; !prop_explanation_refuted(computed);) {
        unit *next = p->now == &p->units[0] ? &p->units[1] : &p->units[0];
        p->ahead = plan_unit(p, next, first, end) ? next : NULL;
        if (p->ahead == NULL && p->now == NULL)
            break;
        if (!step(p, error))
            return false;
        p->now = p->ahead;
        first += p->ahead != NULL ? p->ahead->count : 0;
        if (r->call != NULL)
            r->call(r->context, (before + (double)first) / r->total);
    }
    return true;
}

bool prop_pass_run(prop_pass *p, prop_judge *judge, prop_stats *rows, prop_explanation *exact,
                   uint32_t angles, prop_explanation **computed, prop_progress *progress,
                   void *context, rope_error *error)
{
    reporting r = {progress, context, (double)p->dump->tokens};
    int64_t first = 0, left = 0; /* left: tokens that `computed` has not seen */
    *computed = NULL;
    p->judge = judge;
    p->now = NULL;
    for (;;) {
        unit *next = p->now == &p->units[0] ? &p->units[1] : &p->units[0];
        p->ahead = plan_unit(p, next, first, p->dump->tokens) ? next : NULL;
        if (p->ahead == NULL && p->now == NULL)
            break;
        choose(p, exact, *computed);
        if (!step(p, error))
            return false;
        if (p->now != NULL && *computed == NULL && angles != 0 && prop_explanation_refuted(exact)) {
            left = p->now->first;
            r.total += (double)left;
            *computed = begin_computed(p, angles);
            if (*computed == NULL)
                return rope_fail(error, "out of memory");
        }
        if (p->now != NULL)
            take_rows(p, rows);
        p->now = p->ahead;
        first += p->ahead != NULL ? p->ahead->count : 0;
        if (r.call != NULL)
            r.call(r.context, (double)first / r.total);
    }
    return *computed == NULL || again(p, *computed, left, &r, error);
}
