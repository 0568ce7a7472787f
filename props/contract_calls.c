/* Calls as inference engines make them: one token of as many heads as models have; a token a call,
 * on and on, on one plan; and a plan for every position of a context, of which a call takes some
 * that are near and some that are far. */
#include "props/contract_calls.h"

/* Multiples of 4 and 8, and what a loop of 8 and then 4 heads leaves. */
static const int64_t heads[] = {12, 20, 28, 32, 40, 64};
enum { HEADS = sizeof heads / sizeof heads[0] };

/* Steps of decoding. A row that is turned on from step to step has lost its contract by then. */
enum { MAIN_STEPS = 512, USUAL_STEPS = 48, FIRST_STEP = 100 };

/* On both sides of what 15, 16 and 17 bits count, and of where a reduction of f32 by three parts of
 * pi ends. Ascending. */
static const int64_t context[] = {0,      1,      32767,  32768,  40000,  65535, 65536,
                                  105613, 105614, 105615, 105616, 105617, 131071};
enum { CONTEXT = sizeof context / sizeof context[0] };

static bool scaled(const prop_subject *s)
{
    return s->attention_factor.hi != 1 || s->attention_factor.lo != 0;
}

/* All numbers of heads where a way of its own for one token could forget something. */
static int64_t count_heads(const prop_subject *s)
{
    bool partial = s->spec->head_dim != s->spec->rotary_dim;
    bool axes = s->frequencies->axis_count > 1 && s->frequencies->pairs <= 32;
    bool rich = axes || (partial && scaled(s));
    return s->weight == PROP_MAIN || rich ? HEADS : 1;
}

static int64_t count_decoding(const prop_subject *s)
{
    return s->weight == PROP_LIGHT ? 0 : 1;
}

/* Few specs of few pairs, since a kernel may hold a table of the context; not too few for a way of
 * its own through vectors. */
static int64_t count_context(const prop_subject *s)
{
    int64_t pairs = s->frequencies->pairs;
    bool chosen = s->level > PROP_QUICK || pairs == 8 || scaled(s);
    return pairs >= 8 && pairs <= 16 && chosen ? 1 : 0;
}

int64_t prop_contract_calls_count(const prop_subject *s)
{
    return count_heads(s) + count_decoding(s) + count_context(s);
}

static bool generate_heads(const prop_subject *s, int64_t index, prop_case *c)
{
    int64_t turn = count_heads(s) == HEADS ? 0 : s->spec->rotary_dim / 2 + s->spec->pairing;
    if (!prop_case_new(c, &prop_contract_property, s, 1, heads[(index + turn) % HEADS], 1))
        return false;
    prop_case_arrange(s, c, (uint64_t)(index + turn));
    for (uint32_t a = 0; a < c->axes; a++)
        prop_case_list(c, 0)[a] = 4001 + 17 * (int64_t)a;
    return true;
}

static bool generate_decoding(const prop_subject *s, prop_case *c)
{
    int64_t steps = s->weight == PROP_MAIN ? MAIN_STEPS : USUAL_STEPS;
    if (!prop_case_new(c, &prop_contract_property, s, steps, 1, 1))
        return false;
    c->parameter = 1;
    for (int64_t t = 0; t < steps; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = FIRST_STEP + t + 3 * (int64_t)a;
    return true;
}

/* A call from near to far, and one on the same plan from far to near; on every axis. */
static bool generate_context(const prop_subject *s, prop_case *c)
{
    if (!prop_case_new(c, &prop_contract_property, s, 2 * CONTEXT, 3, 1))
        return false;
    c->parameter = CONTEXT;
    for (int64_t t = 0; t < 2 * CONTEXT; t++)
        for (uint32_t a = 0; a < c->axes; a++) {
            int64_t place = t < CONTEXT ? t + a : 3 * CONTEXT - 1 - t - a;
            prop_case_list(c, 0)[t * c->axes + a] = context[place % CONTEXT];
        }
    return true;
}

bool prop_contract_calls_generate(const prop_subject *s, int64_t index, prop_case *c)
{
    int64_t decoding = index - count_heads(s), beyond = decoding - count_decoding(s);
    if (!(decoding < 0 ? generate_heads(s, index, c)
          : beyond < 0 ? generate_decoding(s, c)
                       : generate_context(s, c)))
        return false;
    c->kind = PROP_DATA_USUAL;
    c->seed = prop_hash(s->seed, (uint64_t)index, 31);
    return true;
}
