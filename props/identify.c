#include "props/identify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/presets.h"
#include "props/explain_round.h"
#include "props/identify_faults.h"
#include "props/identify_outliers.h"
#include "props/identify_specs.h"

/* A share of the screened pairs that is worth the engine; outliers take the rest. */
#define NEAR 0.995
enum { MAX_FITS = 16 };

typedef struct {
    const prop_sample *sample;
    uint32_t angles;
    prop_hypotheses all;
    prop_hypothesis *fits[MAX_FITS]; /* those that explain */
    int fit_count;
    bool good; /* memory */
} inquiry;

static void try_one(inquiry *q, prop_hypothesis *h)
{
    if (!prop_try(h, q->sample))
        q->good = false;
    if (h->explains && q->fit_count < MAX_FITS)
        q->fits[q->fit_count++] = h;
}

/* Whether two hypotheses say the same of this dump: one function, and one name. */
static bool same_function(const prop_hypothesis *a, const prop_hypothesis *b)
{
    if (strcmp(a->fault, b->fault) != 0)
        return false;
    if (a->fault[0] != '\0' && !a->follows)
        return true; /* one class of fault, found in two ways */
    const prop_model *m = &a->model, *n = &b->model;
    if (m->pairing != n->pairing || m->rotary_dim != n->rotary_dim ||
        m->rotary_offset != n->rotary_offset || a->map != b->map || a->map_value != b->map_value ||
        fabs(m->attention_factor.hi / n->attention_factor.hi - 1) > 1e-6)
        return false;
    for (int64_t i = 0; i < m->pairs; i++)
        if (!(fabs(a->theta[i] - b->theta[i]) <= 1e-12 * fabs(a->theta[i])))
            return false;
    return true;
}

/* Takes from fits what an earlier one says already. */
static void remove_same(inquiry *q)
{
    int kept = 0;
    for (int i = 0; i < q->fit_count; i++) {
        bool again = false;
        for (int k = 0; k < kept; k++)
            again = again || same_function(q->fits[k], q->fits[i]);
        if (!again)
            q->fits[kept++] = q->fits[i];
    }
    q->fit_count = kept;
}

/* Screens, then tries, hypotheses [from, count). Recipes are tried where their base is near. */
static void try_all(inquiry *q, int64_t from)
{
    for (int64_t i = from; i < q->all.count && q->good; i++) {
        prop_hypothesis *h = q->all.items[i];
        prop_screen(h, q->sample);
        bool recipe = h->recipe != PROP_RECIPE_NONE && h->recipe != PROP_RECIPE_MISMATCHED;
        /* A recurrence drifts far from exact angles, but not like a wrong spec: to all sides. */
        double chord = h->median * rope_dtype_unit_roundoff(q->sample->dtype);
        if (recipe ? chord < 0.3 : h->share >= NEAR)
            try_one(q, h);
    }
}

/* A fault found in the elements, with `right` for the rest. */
static void try_outliers(inquiry *q, const prop_hypothesis *right)
{
    prop_hypothesis *h = prop_outliers(right, q->sample);
    if (h == NULL)
        return;
    if (!prop_hypotheses_add(&q->all, h)) {
        q->good = false;
        return;
    }
    h->share = right->share;
    h->residual = right->residual;
    h->median = right->median;
    if (q->fit_count < MAX_FITS)
        q->fits[q->fit_count++] = h;
}

/* NaN in the output is the fault of whatever else fits. */
static void name_nan(inquiry *q)
{
    int64_t row = 0, element = 0, count = prop_unexpected_nan(q->sample, &row, &element);
    if (count == 0)
        return;
    for (int i = 0; i < q->fit_count; i++) {
        prop_hypothesis *h = q->fits[i];
        if (h->fault[0] != '\0')
            continue;
        snprintf(h->fault, sizeof h->fault, "unexpected-nan");
        snprintf(h->detail, sizeof h->detail,
                 "%lld NaN, the first in token %lld, head %lld, element %lld", (long long)count,
                 (long long)q->sample->index[row / q->sample->heads],
                 (long long)(row % q->sample->heads), (long long)element);
    }
}

/* ---- with a declared spec ---- */

/* What a right RoPE of another spec is called, seen from the declared one. */
static const char *difference(const rope_spec *declared, const rope_spec *found)
{
    if (declared->pairing != found->pairing)
        return "F1 pairing-swapped";
    bool same_shape = declared->rotary_dim == found->rotary_dim &&
                      declared->rotary_offset == found->rotary_offset;
    if (same_shape && declared->scaling == found->scaling && declared->base != found->base)
        return "F20 wrong-base";
    if (same_shape && declared->scaling == ROPE_SCALING_LLAMA3)
        return "F18 llama3-factors";
    return "other-spec";
}

static void search_declared(inquiry *q, const rope_spec *declared)
{
    prop_hypothesis *right = prop_hypothesis_new(q->sample, declared, q->angles);
    if (right == NULL || !prop_hypotheses_add(&q->all, right)) {
        q->good = false;
        return;
    }
    prop_screen(right, q->sample);
    try_one(q, right);
    if (right->explains)
        return;
    if (q->sample->position == NULL) {
        int64_t placed = q->all.count;
        q->good = prop_place_tokens(&q->all, right, q->sample);
        for (int64_t i = placed; i < q->all.count; i++)
            if (q->all.items[i]->share >= NEAR)
                try_one(q, q->all.items[i]);
        if (q->fit_count > 0)
            return;
    }
    if (!(q->angles & 1u << PROP_ANGLE_PRODUCT)) { /* --angle f64: f32 angles are a fault */
        prop_hypothesis *h = prop_hypothesis_derive(right, "F7 f32-angle", "angles in f32");
        if (h != NULL) {
            h->angles = (1u << PROP_ANGLES) - 1;
            h->share = right->share;
            h->residual = right->residual;
            q->good = prop_hypotheses_add(&q->all, h);
            try_one(q, h);
        }
        if (q->fit_count > 0)
            return;
    }
    int64_t from = q->all.count;
    q->good = q->good && prop_faults_of_code(&q->all, right, q->sample) &&
              prop_faults_of_spec(&q->all, right, q->sample);
    try_all(q, from);
    if (q->fit_count == 0)
        try_outliers(q, right);
    if (q->fit_count > 0)
        return;
    from = q->all.count;
    q->good = q->good && prop_candidate_specs(&q->all, q->sample, q->angles);
    for (int64_t i = from; i < q->all.count; i++) {
        prop_hypothesis *h = q->all.items[i];
        snprintf(h->fault, sizeof h->fault, "%s", difference(declared, &h->spec));
        h->follows = true;
        if (h->share >= NEAR)
            try_one(q, h);
    }
}

/* ---- without ---- */

static int by_share(const void *a, const void *b)
{
    const prop_hypothesis *x = *(prop_hypothesis *const *)a, *y = *(prop_hypothesis *const *)b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return (x->median > y->median) - (x->median < y->median);
}

static void search_open(inquiry *q)
{
    q->good = prop_candidate_specs(&q->all, q->sample, q->angles);
    int64_t specs = q->all.count;
    for (int64_t i = 0; i < specs; i++)
        if (q->all.items[i]->share >= NEAR)
            try_one(q, q->all.items[i]);
    if (q->fit_count > 0 || specs == 0)
        return;
    prop_hypothesis **ranked = malloc((size_t)specs * sizeof(prop_hypothesis *));
    if (ranked == NULL) {
        q->good = false;
        return;
    }
    memcpy(ranked, q->all.items, (size_t)specs * sizeof(prop_hypothesis *));
    qsort(ranked, (size_t)specs, sizeof(prop_hypothesis *), by_share);
    for (int64_t i = 0; i < specs && i < 48 && q->good; i++) {
        int64_t from = q->all.count;
        q->good = prop_faults_of_code(&q->all, ranked[i], q->sample);
        try_all(q, from);
    }
    for (int64_t i = 0; i < specs && i < 8 && q->fit_count == 0; i++)
        try_outliers(q, ranked[i]);
    free(ranked);
}

/* ---- the answer ---- */

static void matching_presets(const prop_hypothesis *h, const prop_sample *s, char *text,
                             size_t size)
{
    size_t count, used = 0;
    const rope_preset *presets = rope_presets(&count);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        rope_spec spec;
        if (!rope_spec_parse(presets[i].name, &spec, NULL))
            continue;
        prop_hypothesis *p = spec.head_dim == h->spec.head_dim && spec.rotary_dim >= 2
                                 ? prop_hypothesis_new(s, &spec, 1)
                                 : NULL;
        rope_spec_free(&spec);
        bool same = p != NULL && p->model.pairing == h->model.pairing &&
                    p->model.rotary_dim == h->model.rotary_dim &&
                    p->model.rotary_offset == h->model.rotary_offset &&
                    fabs(p->model.attention_factor.hi / h->model.attention_factor.hi - 1) < 1e-6;
        for (int64_t k = 0; same && k < p->model.pairs; k++)
            same =
                fabs(p->theta[k] - h->theta[k]) <= 1e-9 * h->theta[k] && p->axis[k] == h->axis[k];
        if (same && used + strlen(presets[i].name) + 3 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     presets[i].name);
        prop_hypothesis_free(p);
    }
}

static void fill(prop_answer *a, const prop_hypothesis *h, const rope_spec *declared,
                 const prop_sample *s)
{
    *a = (prop_answer){.residual_u = h->residual, .explains = h->explains};
    const rope_spec *spec = h->follows && declared != NULL ? declared : &h->spec;
    rope_spec_format(spec, a->spec, sizeof a->spec);
    if (h->follows && declared != NULL)
        rope_spec_format(&h->spec, a->follows, sizeof a->follows);
    snprintf(a->fault, sizeof a->fault, "%s", h->fault[0] != '\0' ? h->fault : "none");
    snprintf(a->detail, sizeof a->detail, "%s", h->detail);
    if (h->explains && h->best.bound_u >= 0 && h->recipe == PROP_RECIPE_NONE)
        snprintf(a->pipeline, sizeof a->pipeline, "%s; %s; %s", prop_angle_text(h->best.angle),
                 prop_arithmetic_text(h->best.arithmetic), rope_dtype_name(s->dtype));
    if (h->explains && (h->fault[0] == '\0' || h->follows))
        matching_presets(h, s, a->presets, sizeof a->presets);
}

static int by_residual(const void *a, const void *b)
{
    const prop_hypothesis *x = *(prop_hypothesis *const *)a, *y = *(prop_hypothesis *const *)b;
    return (x->residual > y->residual) - (x->residual < y->residual);
}

/* What would decide between the first two of the fits. */
static void what_decides(const inquiry *q, prop_identity *id)
{
    const prop_hypothesis *a = q->fits[0], *b = q->fits[1];
    size_t size = sizeof id->decide;
    if (a->model.rotary_dim == 2 && a->model.pairing != b->model.pairing)
        snprintf(id->decide, size,
                 "at rotary_dim 2 both pairings are one operation: a dump with a "
                 "rotary_dim of 4 or more decides");
    else if (q->sample->position == NULL)
        snprintf(id->decide, size,
                 "a dump whose positions are known, given by --positions, decides");
    else if (prop_map_by_head(a->map) || prop_map_by_head(b->map) || a->output_transposed ||
             b->output_transposed)
        snprintf(id->decide, size,
                 "a dump with another number of heads than tokens, and positions that are not "
                 "0, 1, 2 ..., decides");
    else
        snprintf(id->decide, size,
                 "a dump in f32 at larger and scattered positions, up to the trained length, "
                 "decides");
}

static void report(inquiry *q, const rope_spec *declared, prop_identity *id)
{
    name_nan(q);
    remove_same(q);
    id->tried = q->all.count + q->all.declined;
    id->fitting = q->fit_count;
    id->told = q->fit_count == 1;
    for (int i = 0; i < q->fit_count && id->count < PROP_MAX_ANSWERS; i++)
        fill(&id->answers[id->count++], q->fits[i], declared, q->sample);
    if (q->fit_count > 1)
        what_decides(q, id);
    else if (q->fit_count == 0)
        snprintf(id->decide, sizeof id->decide,
                 "no hypothesis explains it: a dump in f32 of consecutive positions from 0 on, "
                 "with --spec, may");
    int runners = 0;
    qsort(q->all.items, (size_t)q->all.count, sizeof *q->all.items, by_residual);
    for (int64_t i = 0; i < q->all.count && runners < 3 && id->count < PROP_MAX_ANSWERS; i++) {
        bool shown = q->all.items[i]->recipe != PROP_RECIPE_NONE; /* its residual is its base's */
        for (int k = 0; k < q->fit_count; k++)
            shown = shown || q->fits[k] == q->all.items[i];
        prop_answer *a = &id->answers[id->count];
        if (shown)
            continue;
        fill(a, q->all.items[i], declared, q->sample);
        for (int k = 0; k < id->count; k++)
            shown = shown || (strcmp(id->answers[k].spec, a->spec) == 0 &&
                              strcmp(id->answers[k].fault, a->fault) == 0);
        if (shown)
            continue;
        id->count++;
        runners++;
    }
}

/* The 16-bit dtype whose numbers all of an f32 output are, or -1. */
static int narrower_output(const prop_sample *s)
{
    static const uint32_t narrow[] = {ROPE_BF16, ROPE_F16};
    if (s->dtype != ROPE_F32)
        return -1;
    for (int k = 0; k < 2; k++) {
        bool all = true;
        for (int64_t i = 0; all && i < s->tokens * s->heads * s->head_dim; i++)
            all = isnan(s->y[i]) || prop_round(narrow[k], s->y[i]) == s->y[i];
        if (all)
            return (int)narrow[k];
    }
    return -1;
}

/* An f32 output whose numbers are all of 16 bits: as a dump of that dtype. */
static void search_narrower(inquiry *q, const rope_spec *declared)
{
    int dtype = narrower_output(q->sample);
    if (dtype < 0 || !q->good || q->fit_count > 0)
        return;
    prop_sample narrow = *q->sample;
    const prop_sample *whole = q->sample;
    narrow.dtype = (uint32_t)dtype;
    q->sample = &narrow;
    if (declared != NULL)
        search_declared(q, declared);
    else
        search_open(q);
    q->sample = whole;
    for (int i = 0; i < q->fit_count; i++) {
        prop_hypothesis *h = q->fits[i];
        if (h->fault[0] == '\0')
            snprintf(h->fault, sizeof h->fault, "other-dtype");
        size_t used = strlen(h->detail);
        snprintf(h->detail + used, sizeof h->detail - used, "%sthe output holds %s numbers as f32",
                 used > 0 ? "; " : "", rope_dtype_name((uint32_t)dtype));
    }
}

bool prop_identify(const prop_sample *sample, const rope_spec *declared, uint32_t angles,
                   prop_identity *identity, rope_error *error)
{
    *identity = (prop_identity){0};
    bool seen = false;
    for (int64_t i = 0; i < sample->tokens * sample->heads * sample->head_dim && !seen; i++)
        seen = isfinite(sample->x[i]) && sample->x[i] != 0;
    if (!seen)
        return rope_fail(error, "no element of the input is finite and non-zero: nothing to see");
    if (declared != NULL && declared->head_dim != sample->head_dim)
        return rope_fail(error, "rows of %lld elements, but the spec's head_dim is %lld",
                         (long long)sample->head_dim, (long long)declared->head_dim);
    inquiry q = {.sample = sample, .angles = angles, .good = true};
    if (declared != NULL)
        search_declared(&q, declared);
    else
        search_open(&q);
    search_narrower(&q, declared);
    if (q.good)
        report(&q, declared, identity);
    else
        rope_fail(error, "out of memory, or the spec does not resolve");
    prop_hypotheses_free(&q.all);
    return q.good;
}

/* The text of a spec's value of a key, up to the comma; "" where it has none. */
static void value_of(const char *spec, const char *key, char *text, size_t size)
{
    size_t length = strlen(key);
    text[0] = '\0';
    for (const char *at = spec; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            snprintf(text, size, "%.*s", (int)strcspn(at + length + 1, ","), at + length + 1);
            return;
        }
    }
}

const char *prop_joint_fault(const prop_identity *q, const prop_identity *k)
{
    if (!q->told || !k->told)
        return NULL;
    const prop_answer *a = &q->answers[0], *b = &k->answers[0];
    char x[40], y[40];
    value_of(a->follows[0] ? a->follows : a->spec, "pairing", x, sizeof x);
    value_of(b->follows[0] ? b->follows : b->spec, "pairing", y, sizeof y);
    if (strcmp(x, y) != 0)
        return "F2 mixed-q-k-pairing";
    bool q_off = strncmp(a->fault, "F26", 3) == 0, k_off = strncmp(b->fault, "F26", 3) == 0;
    if (q_off != k_off || (q_off && strcmp(a->detail, b->detail) != 0))
        return "F26 position-off-by-one";
    return NULL;
}
