#include "props/identify_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/presets.h"
#include "props/explain_round.h"

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
static void remove_same(prop_inquiry *q)
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

/* x of an element's partner in its pair; of the element itself where it has none. */
static double partner(const prop_model *m, const double *x, int64_t element)
{
    int64_t at = element - m->rotary_offset, distance = prop_partner_distance(m);
    if (at < 0 || at >= m->rotary_dim)
        return x[element];
    bool first = m->pairing == ROPE_HALF ? at < m->pairs : at % 2 == 0;
    return x[first ? element + distance : element - distance];
}

/* NaN in y where both elements of the pair are finite in x: how many, and the first. */
static int64_t unexpected_nan(const prop_hypothesis *h, const prop_sample *s, int64_t *row,
                              int64_t *element)
{
    int64_t count = 0, d = s->head_dim;
    for (int64_t r = 0; r < s->tokens * s->heads; r++)
        for (int64_t e = 0; e < d; e++) {
            const double *x = s->x + r * d;
            if (!isnan(s->y[r * d + e]) || !isfinite(x[e]) || !isfinite(partner(&h->model, x, e)))
                continue;
            if (count++ == 0) {
                *row = r;
                *element = e;
            }
        }
    return count;
}

/* Dynamic NTK below the trained length raises a negative number to a broken power: every pair but
 * the first, whose frequency is base^0, is NaN. */
static bool is_nan_base(const prop_hypothesis *h, const prop_sample *s)
{
    const rope_spec *spec = &h->spec;
    if (spec->scaling != ROPE_SCALING_DYNAMIC || !(spec->length < spec->original) ||
        !(spec->factor * spec->length < (spec->factor - 1) * spec->original) || h->model.pairs < 2)
        return false;
    for (int64_t row = 0; row < s->tokens * s->heads; row++)
        for (int64_t i = 1; i < h->model.pairs; i++) {
            const double *y = s->y + row * s->head_dim + prop_first_element(&h->model, i);
            if (!isnan(y[0]) || !isnan(y[prop_partner_distance(&h->model)]))
                return false;
        }
    return true;
}

/* Positions past 65504 became infinite in f16: their rows are NaN, and no others. */
static bool is_f16_overflow(const prop_hypothesis *h, const prop_sample *s)
{
    int64_t overflown = 0;
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t i = 0; i < h->model.pairs; i++) {
            double p = prop_mapped_position(h, s, t, 0, h->axis[i]);
            bool infinite = isinf(prop_round(ROPE_F16, p));
            overflown += infinite;
            for (int64_t head = 0; head < s->heads; head++) {
                const double *y =
                    s->y + (t * s->heads + head) * s->head_dim + prop_first_element(&h->model, i);
                if (isnan(y[0]) != infinite ||
                    isnan(y[prop_partner_distance(&h->model)]) != infinite)
                    return false;
            }
        }
    return overflown > 0;
}

/* NaN in the output is the fault of whatever else fits. */
static void name_nan(prop_inquiry *q)
{
    for (int i = 0; i < q->fit_count; i++) {
        prop_hypothesis *h = q->fits[i];
        int64_t row = 0, element = 0;
        int64_t count = h->fault[0] == '\0' ? unexpected_nan(h, q->sample, &row, &element) : 0;
        if (count == 0)
            continue;
        if (is_nan_base(h, q->sample)) {
            snprintf(h->fault, sizeof h->fault, "F16 dynamic-below-length");
            snprintf(h->detail, sizeof h->detail,
                     "every pair but the first is NaN: the root of a negative number");
            continue;
        }
        if (is_f16_overflow(h, q->sample)) {
            snprintf(h->fault, sizeof h->fault, "F5 low-precision-position");
            snprintf(h->detail, sizeof h->detail, "positions past 65504 are infinite in f16");
            continue;
        }
        snprintf(h->fault, sizeof h->fault, "unexpected-nan");
        snprintf(h->detail, sizeof h->detail,
                 "%lld NaN, the first in token %lld, head %lld, element %lld", (long long)count,
                 (long long)q->sample->index[row / q->sample->heads],
                 (long long)(row % q->sample->heads), (long long)element);
    }
}

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
static void what_decides(const prop_inquiry *q, prop_identity *id)
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

/* Whether the positions are given, and count the dump's tokens from 0 on. */
static bool counts_from_0(const prop_sample *s)
{
    bool counts = s->position != NULL;
    for (int64_t t = 0; counts && t < s->tokens; t++)
        for (uint32_t a = 0; a < s->axes; a++)
            counts = counts && s->position[t * s->axes + a] == s->index[t];
    return counts;
}

/* What would tell more, of what is not given yet. */
static void what_may_help(const prop_inquiry *q, const rope_spec *declared, prop_identity *id)
{
    const prop_sample *s = q->sample;
    const char *parts[3];
    int count = 0;
    if (q->unrotated != NULL) {
        snprintf(id->decide, sizeof id->decide, "%s", q->unrotated);
        return;
    }
    if (s->dtype != ROPE_F32 && s->dtype != ROPE_F64)
        parts[count++] = "a dump in f32";
    if (declared == NULL)
        parts[count++] = "--spec";
    if (!counts_from_0(s))
        parts[count++] = s->position == NULL ? "--positions, of consecutive positions from 0"
                                             : "consecutive positions from 0";
    size_t used =
        (size_t)snprintf(id->decide, sizeof id->decide, "nothing that is known explains it%s",
                         count > 0 ? "; what may help: " : "");
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(id->decide + used, sizeof id->decide - used, "%s%s",
                                 i > 0 ? ", " : "", parts[i]);
}

void prop_report(prop_inquiry *q, const rope_spec *declared, prop_identity *id)
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
        what_may_help(q, declared, id);
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
