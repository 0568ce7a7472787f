#include "props/identify_recipe.h"

#include <math.h>
#include <stdlib.h>

#include "props/identify_try.h"

/* Steps that a recurrence may be followed over, and f32 steps that what it starts from may lie from
 * the nearest to exact. */
enum { MAX_STEPS = 1 << 17, MAX_DRIFT = 24, MAX_RATIO_DRIFT = 2 };

typedef struct {
    const prop_sample *sample;
    prop_hypothesis *h;
    oracle_cos_sin_dd *turn; /* [tokens][pairs] */
    bool *stood;             /* [arithmetics][pairs]: some drift explained the pair */
    double *position;        /* [pairs] */
} trial;

static float stepped(double x, int k)
{
    float f = (float)x;
    for (; k > 0; k--)
        f = nextafterf(f, INFINITY);
    for (; k < 0; k++)
        f = nextafterf(f, 0);
    return f;
}

static void set_turn(trial *t, int64_t token, int64_t pair, double angle)
{
    oracle_cos_sin_dd *r = &t->turn[token * t->h->model.pairs + pair];
    *r = (oracle_cos_sin_dd){{cos(angle), 0}, {sin(angle), 0}};
}

/* Recurrence over pairs, of the angle (ggml) or of the inverse frequency, by one f32 ratio; scaling
 * multiplies afterwards. */
static void over_pairs(trial *t, int drift)
{
    const prop_hypothesis *h = t->h;
    const rope_spec *spec = &h->spec;
    double exponent = -2.0 / (double)(spec->exponent_by_head ? spec->head_dim : spec->rotary_dim);
    float ratio = stepped(pow(spec->base, exponent), drift);
    for (int64_t token = 0; token < t->sample->tokens; token++) {
        float running = 0, frequency = 1;
        double unscaled = 1;
        for (int64_t i = 0; i < h->model.pairs; i++) {
            double p = prop_mapped_position(h, t->sample, token, 0, h->axis[i]);
            double scale = h->theta[i] / unscaled;
            if (i == 0)
                running = (float)p;
            float angle =
                h->recipe == PROP_RECIPE_ANGLE_RECURRENCE ? running : (float)p * frequency;
            if (fabs(scale - 1) > 1e-9)
                angle *= (float)scale;
            set_turn(t, token, i, (double)angle);
            running *= ratio;
            frequency *= ratio;
            unscaled *= pow(spec->base, exponent);
        }
    }
}

static bool rising(const trial *t)
{
    const prop_sample *s = t->sample;
    for (int64_t k = 0; k < s->tokens; k++) {
        double p = prop_mapped_position(t->h, s, k, 0, 0);
        if (p < 0 || p > MAX_STEPS || (k > 0 && p < prop_mapped_position(t->h, s, k - 1, 0, 0)))
            return false;
    }
    return true;
}

/* The sum of f, position by position, in f32. */
static void accumulate(trial *t, int drift)
{
    const prop_hypothesis *h = t->h;
    bool here = h->recipe == PROP_RECIPE_ACCUMULATION_HERE;
    for (int64_t i = 0; i < h->model.pairs; i++) {
        if (abs(drift) > h->steps[i] && drift != 0)
            continue;
        float f = stepped(h->theta[i], drift), angle = 0;
        double at = here ? prop_mapped_position(h, t->sample, 0, 0, h->axis[i]) : 0;
        if (here)
            angle = (float)at * f;
        for (int64_t token = 0; token < t->sample->tokens; token++) {
            double p = prop_mapped_position(h, t->sample, token, 0, h->axis[i]);
            for (; at < p; at++)
                angle += f;
            set_turn(t, token, i, (double)angle);
        }
    }
}

/* Powers of the rotor of one position, in f32, without or with fma. */
static void rotate(trial *t, int drift)
{
    const prop_hypothesis *h = t->h;
    bool here = h->recipe == PROP_RECIPE_ROTOR_HERE || h->recipe == PROP_RECIPE_ROTOR_FMA_HERE;
    bool fused = h->recipe == PROP_RECIPE_ROTOR_FMA || h->recipe == PROP_RECIPE_ROTOR_FMA_HERE;
    for (int64_t i = 0; i < h->model.pairs; i++) {
        double f = drift == 0 ? h->theta[i] : (double)(float)h->theta[i];
        float c1 = (float)cos(f), s1 = (float)sin(f), c = 1, s = 0;
        double at = here ? prop_mapped_position(h, t->sample, 0, 0, h->axis[i]) : 0;
        if (here) {
            c = (float)cos(at * f);
            s = (float)sin(at * f);
        }
        for (int64_t token = 0; token < t->sample->tokens; token++) {
            double p = prop_mapped_position(h, t->sample, token, 0, h->axis[i]);
            for (; at < p; at++) {
                float next = fused ? fmaf(c, c1, -(s * s1)) : c * c1 - s * s1;
                s = fused ? fmaf(s, c1, c * s1) : s * c1 + c * s1;
                c = next;
            }
            t->turn[token * h->model.pairs + i] =
                (oracle_cos_sin_dd){{(double)c, 0}, {(double)s, 0}};
        }
    }
}

/* One drift: the engine, by exact angles that are those of the recipe. */
static bool attempt(trial *t, int *arithmetics)
{
    prop_hypothesis *h = t->h;
    prop_model model = h->model;
    bool narrow = model.dtype == ROPE_F16 || model.dtype == ROPE_BF16;
    model.contract = narrow ? 1.01 : 4.9;
    prop_explanation *e = prop_explanation_new(&model, 1u << PROP_ANGLE_EXACT);
    if (e == NULL)
        return false;
    for (int64_t k = 0; k < t->sample->tokens; k++) {
        prop_row row = {.token = k,
                        .position = t->position,
                        .exact = t->turn + k * model.pairs,
                        .x = t->sample->x + k * t->sample->heads * t->sample->head_dim,
                        .y = t->sample->y + k * t->sample->heads * t->sample->head_dim,
                        .heads = t->sample->heads};
        prop_explanation_feed(e, &row);
    }
    const prop_combination *results = prop_explanation_results(e, arithmetics);
    bool every_drift_counts = h->recipe >= PROP_RECIPE_ACCUMULATION; /* its own for each pair */
    for (int a = 0; a < *arithmetics; a++) {
        if (results[a].explains && !h->explains) {
            h->explains = true;
            h->best = results[a];
        }
        bool all = true;
        for (int64_t i = 0; i < model.pairs; i++) {
            bool *stood = &t->stood[a * model.pairs + i];
            *stood = *stood || prop_explanation_stands(e, a, i);
            all = all && *stood;
        }
        if (all && every_drift_counts && !h->explains) {
            h->explains = true;
            h->best = results[a];
        }
    }
    prop_explanation_free(e);
    return true;
}

bool prop_try_recipe(prop_hypothesis *h, const prop_sample *s)
{
    trial t = {.sample = s, .h = h};
    size_t pairs = (size_t)h->model.pairs;
    t.turn = calloc((size_t)s->tokens * pairs, sizeof *t.turn);
    t.stood = calloc(PROP_ARITHMETICS * pairs, sizeof *t.stood);
    t.position = calloc(pairs, sizeof *t.position);
    bool good = t.turn != NULL && t.stood != NULL && t.position != NULL;
    bool pairwise = h->recipe <= PROP_RECIPE_FREQUENCY_RECURRENCE;
    int most = pairwise                                     ? MAX_RATIO_DRIFT
               : h->recipe <= PROP_RECIPE_ACCUMULATION_HERE ? MAX_DRIFT
                                                            : 1;
    h->explains = false;
    bool walkable = pairwise || rising(&t);
    for (int k = 0; good && walkable && !h->explains && k <= 2 * most; k++) {
        int drift = (k & 1) ? -(k + 1) / 2 : k / 2, arithmetics; /* 0, -1, 1, -2 ... */
        if (pairwise)
            over_pairs(&t, drift);
        else if (h->recipe <= PROP_RECIPE_ACCUMULATION_HERE)
            accumulate(&t, drift);
        else
            rotate(&t, drift);
        good = attempt(&t, &arithmetics);
    }
    free(t.turn);
    free(t.stood);
    free(t.position);
    return good;
}
