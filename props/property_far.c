/* The contract, far out. Positions are int64 and a contract is a claim for all of them: where a
 * kernel claims a bound beyond what 32 bits, or the 53 of an f64, can count, it is held to it.
 * Where it claims none, that is said and not judged.
 *
 * Kills positions kept in 32 bits or in f32, which no position below 2^31 shows. */
#include "props/judge.h"

enum { MOST = 2, CLUSTERS = 10 };
#define TWO(n) ((int64_t)1 << (n))
static const int64_t clusters[CLUSTERS][MOST] = {
    {TWO(31) + 5, TWO(31) - 1}, {-TWO(31) - 3, -TWO(31)},
    {TWO(33) - 1, TWO(33) + 1}, {TWO(32) + 7, TWO(32)},
    {TWO(27) + 1, TWO(27)},     {-TWO(40) - 1, -TWO(40) + 1},
    {TWO(53) + 1, TWO(53) - 1}, {TWO(62) - 5, TWO(62)},
    {INT64_MIN + 1, INT64_MIN}, {INT64_MAX - ROPE_MAX_AXES, INT64_MAX - ROPE_MAX_AXES - 1},
};

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, CLUSTERS, CLUSTERS, 1);
}

static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    if (!prop_case_new(c, &prop_far_property, s, MOST, 1 + index % 2, 1))
        return false;
    int64_t start = s->weight == PROP_LIGHT ? s->spec->rotary_dim / 2 : 0;
    prop_case_arrange(s, c, (uint64_t)(index + start));
    for (int64_t t = 0; t < MOST; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] =
                clusters[(index + start) % CLUSTERS][(t + a) % MOST] + (int64_t)a;
    c->seed = prop_hash(s->seed, (uint64_t)index, 27);
    return true;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_subject plain = *s;
    plain.weight = PROP_USUAL; /* all in one band */
    prop_contract_property.judge(&plain, c, sheet);
}

const prop_property prop_far_property = {
    .name = "far",
    .statement =
        "the contract holds at positions from 2^27 to the ends of int64 wherever it is claimed",
    .count = count,
    .generate = generate,
    .judge = judge,
};
