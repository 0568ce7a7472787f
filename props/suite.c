#include "props/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/arena.h"
#include "props/case.h"
#include "props/team.h"

/* The quick level. Each line is there for what shows in it and nowhere else. */
static const struct {
    const char *text;
    prop_weight weight;
} standard[] = {
    /* The reference of most published figures; positions past 2^20, error bands, decay. */
    {"head_dim=128,base=10000", PROP_MAIN},
    /* The sizes of released models, and their bases: a default base that was used in silence. */
    {"head_dim=8,base=10000", PROP_USUAL},
    {"head_dim=64,base=500000", PROP_USUAL},
    {"head_dim=80,base=1000000", PROP_USUAL},
    {"head_dim=256,base=1000000", PROP_LIGHT},
    {"head_dim=128,base=500000", PROP_LIGHT},
    {"head_dim=64,base=1000000000", PROP_LIGHT}, /* inverse frequencies below f16's range */
    /* Part of a row: the exponent is over rotary_dim, the partner at rotary_dim/2, the rest copied.
     */
    {"head_dim=80,rotary_dim=32,base=10000", PROP_USUAL},
    {"head_dim=96,rotary_dim=24,rotary_offset=40,base=10000", PROP_LIGHT},
    {"head_dim=192,rotary_dim=64,rotary_offset=128,base=10000", PROP_LIGHT},
    {"head_dim=7,rotary_dim=4,rotary_offset=1,base=10000", PROP_LIGHT},
    /* Scalings, each with parameters where its published mistakes differ from it. */
    {"head_dim=128,base=10000,scaling=linear,factor=4", PROP_LIGHT},
    {"head_dim=128,base=10000,scaling=ntk,factor=4", PROP_LIGHT},
    {"head_dim=64,base=10000,scaling=ntk-su,factor=4", PROP_LIGHT},
    {"head_dim=128,base=10000,scaling=dynamic,factor=4,original=4096,length=8192", PROP_LIGHT},
    {"head_dim=64,base=1000,scaling=dynamic,factor=2,original=2048,length=512", PROP_LIGHT},
    {"head_dim=128,base=10000,scaling=yarn,factor=4,original=4096", PROP_USUAL},
    {"head_dim=64,base=10000,scaling=yarn,factor=40,original=4096,mscale=1,mscale_all_dim=1",
     PROP_LIGHT},
    {"head_dim=64,base=150000,scaling=yarn,factor=32,original=4096,truncate=false", PROP_LIGHT},
    /* An attention factor below 1 here, one above 2 beside frequencies of 0 further down: scalings
     * by themselves give 1 to 1.4. */
    {"head_dim=64,base=10000,scaling=yarn,factor=4,original=131072,attention_factor=0.7",
     PROP_LIGHT},
    {"head_dim=64,base=10000,scaling=yarn,factor=16,original=4096,beta_fast=16,beta_slow=2",
     PROP_LIGHT}, /* other ends of the ramp than the usual ones */
    {"head_dim=128,base=10000,scaling=yarn-paper,factor=16,original=4096", PROP_LIGHT},
    {"head_dim=128,base=500000,scaling=llama3,factor=8,low=1,high=4,original=8192", PROP_USUAL},
    {"head_dim=8,base=10000,scaling=longrope,original=4096,max_position=131072,length=4096,"
     "short_factors=1:1.1:1.2:1.5,long_factors=1:3:10:32",
     PROP_LIGHT},
    {"head_dim=8,base=10000,scaling=longrope,original=4096,max_position=131072,length=4097,"
     "short_factors=1:1.1:1.2:1.5,long_factors=1:3:10:32",
     PROP_LIGHT},
    {"head_dim=64,base=1000000,scaling=proportional,share=0.25,attention_factor=2.5", PROP_LIGHT},
    /* Positions of several axes: sections unequal, axes not exchangeable. */
    {"head_dim=128,base=1000000,axes=mrope,sections=16:24:24", PROP_USUAL},
    {"head_dim=128,base=5000000,axes=mrope-interleaved,sections=24:20:20", PROP_LIGHT},
    {"head_dim=64,base=10000,axes=hw", PROP_LIGHT},
    {"head_dim=64,base=10000,axes=wh", PROP_LIGHT},
    /* Features together that released models have together: part of a row, an offset past 255, an
     * attention factor, and axes whose sections no vector's width divides. More pairs than a block
     * of 256. */
    {"head_dim=576,rotary_dim=64,rotary_offset=500,base=10000,scaling=yarn,factor=40,original=4096",
     PROP_LIGHT},
    {"head_dim=48,rotary_dim=30,rotary_offset=7,base=10000,axes=mrope,sections=4:6:5,scaling=yarn,"
     "factor=4,original=4096",
     PROP_LIGHT},
    {"head_dim=44,rotary_dim=28,rotary_offset=3,base=100,axes=hw", PROP_LIGHT},
    {"head_dim=520,base=10000", PROP_LIGHT},
    /* Frequencies that base and rotary_dim alone do not give, though nothing scales them. */
    {"head_dim=16,base=10000,divisors=1:1:1.25:1.5:2:3:6:8", PROP_LIGHT},
    {"head_dim=16,inv_freq=1:0.5:0.25:0.125:0.06:0.03:0.015:0", PROP_LIGHT},
    {"head_dim=48,rotary_dim=16,base=10000,exponent_by_head=1", PROP_LIGHT},
    {NULL, PROP_LIGHT},
};

/* Sizes alone: every residue of rotary_dim modulo 64, which is twice the widest vector (32 elements
 * of f16 in AVX-512), and the sizes that released faults needed; those that leave 1 to 7 of 8 pairs
 * after a block of 32, where a tail follows an unrolled loop. Bases in turn. */
enum { WIDEST = 64 };
static const int more_sizes[] = {72, 80, 96, 112, 192, 512, 66, 76, 86, 106, 118, 126};

void prop_suite_free(prop_suite *suite)
{
    for (int i = 0; i < suite->count; i++) {
        prop_entry *e = &suite->entries[i];
        free(e->text);
        for (int p = 0; p < 2; p++) {
            free(e->full_text[p]);
            rope_spec_free(&e->spec[p]);
        }
        rope_frequencies_free(&e->frequencies);
        oracle_free(e->oracle);
    }
    free(suite->entries);
    *suite = (prop_suite){0};
}

static prop_entry *append(prop_suite *suite, const char *text, prop_weight weight)
{
    prop_entry *entries = realloc(suite->entries, (size_t)(suite->count + 1) * sizeof *entries);
    if (entries == NULL)
        return NULL;
    suite->entries = entries;
    prop_entry *e = &entries[suite->count++];
    *e = (prop_entry){.text = strdup(text), .weight = weight};
    rope_spec_init(&e->spec[0]);
    rope_spec_init(&e->spec[1]);
    return e;
}

/* Frequencies and oracle; the pairing changes neither. */
static bool resolve(prop_suite *suite, prop_entry *e, rope_error *error)
{
    const rope_spec *spec = e->full_text[0] != NULL ? &e->spec[0] : &e->spec[1];
    if (!rope_spec_resolve(spec, suite->truth, &e->frequencies, error))
        return false;
    e->oracle = oracle_new(spec, suite->truth, error);
    if (e->oracle == NULL)
        return false;
    e->attention_factor = oracle_attention_factor_dd(e->oracle);
    return true;
}

static bool add_standard(prop_suite *suite, const char *text, prop_weight weight, rope_error *error)
{
    prop_entry *e = append(suite, text, weight);
    if (e == NULL)
        return rope_fail(error, "out of memory");
    for (uint32_t p = 0; p < 2; p++) {
        const char *pairing = p == ROPE_HALF ? "half" : "interleaved";
        if (asprintf(&e->full_text[p], "%s,pairing=%s", text, pairing) < 0)
            return rope_fail(error, "out of memory");
        if (!rope_spec_parse(e->full_text[p], &e->spec[p], error))
            return false;
    }
    return resolve(suite, e, error);
}

bool prop_suite_standard(prop_suite *suite, prop_level level, rope_truth truth, rope_error *error)
{
    *suite = (prop_suite){.truth = truth, .level = level};
    bool good = true;
    for (int i = 0; good && standard[i].text != NULL; i++) {
        /* The full level runs everything of every spec. */
        prop_weight weight = standard[i].weight;
        if (level > PROP_QUICK && weight == PROP_LIGHT)
            weight = PROP_USUAL;
        good = add_standard(suite, standard[i].text, weight, error);
    }
    static const int bases[] = {10000, 500000, 1000000};
    int more = (int)(sizeof more_sizes / sizeof more_sizes[0]);
    for (int i = 0; good && i < WIDEST / 2 + more; i++) {
        int size = i < WIDEST / 2 ? 2 * (i + 1) : more_sizes[i - WIDEST / 2];
        char text[64];
        snprintf(text, sizeof text, "head_dim=%d,base=%d", size, bases[i % 3]);
        if (size == 8 || (size == 64 && i % 3 == 1) || (size == 80 && i % 3 == 2))
            continue; /* above */
        good = add_standard(suite, text, PROP_LIGHT, error);
    }
    if (!good)
        prop_suite_free(suite);
    return good;
}

bool prop_suite_chosen(prop_suite *suite, const char *const *texts, int count, prop_level level,
                       rope_truth truth, rope_error *error)
{
    *suite = (prop_suite){.truth = truth, .level = level};
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        prop_entry *e = append(suite, texts[i], i == 0 ? PROP_MAIN : PROP_USUAL);
        rope_spec spec;
        good =
            e != NULL ? rope_spec_parse(texts[i], &spec, error) : rope_fail(error, "out of memory");
        if (!good)
            break;
        e->spec[spec.pairing] = spec;
        /* A text with the separator of a case's fields in it is written out instead. */
        bool plain = strpbrk(texts[i], ";'\n\r") == NULL;
        int length = rope_spec_format(&spec, NULL, 0);
        char *full = plain ? strdup(texts[i]) : malloc((size_t)length + 1);
        if (full != NULL && !plain)
            rope_spec_format(&spec, full, (size_t)length + 1);
        e->full_text[spec.pairing] = full;
        good = full != NULL ? resolve(suite, e, error) : rope_fail(error, "out of memory");
    }
    if (!good)
        prop_suite_free(suite);
    return good;
}

static void warm(const prop_subject *s, const prop_property *property, oracle_cos_sin_dd *row)
{
    for (int64_t i = 0; row != NULL && i < property->count(s); i++) {
        prop_case c = {0};
        if (property->generate(s, i, &c))
            for (int64_t t = 0; t < c.x.tokens; t++)
                oracle_row_at(s->oracle, prop_case_list(&c, 0) + t * c.axes, row);
        prop_case_free(&c);
    }
}

typedef struct {
    const prop_suite *suite;
    uint64_t seed;
} warming;

static void warm_entry(void *context, int entry)
{
    const warming *w = context;
    uint32_t pairing = w->suite->entries[entry].full_text[0] != NULL ? 0 : 1;
    prop_subject s = prop_suite_subject(w->suite, entry, NULL, pairing, ROPE_F32, w->seed);
    oracle_cos_sin_dd *row = malloc((size_t)s.frequencies->pairs * sizeof *row);
    warm(&s, &prop_contract_property, row);
    warm(&s, &prop_decay_property, row);
    warm(&s, &prop_far_property, row);
    warm(&s, &prop_generated_property, row);
    free(row);
}

void prop_suite_warm(const prop_suite *suite, uint64_t seed, int jobs)
{
    warming w = {suite, seed};
    prop_arena_far_fits(); /* asked for by cases; remembers the answer */
    /* Each spec has an oracle of its own. Without memory for a team, the children compute rows. */
    prop_team *team = prop_team_new(jobs < suite->count ? jobs : suite->count);
    if (team != NULL)
        prop_team_run(team, warm_entry, &w, suite->count);
    prop_team_free(team);
}

prop_subject prop_suite_subject(const prop_suite *suite, int entry, const rope_kernel *kernel,
                                uint32_t pairing, rope_dtype dtype, uint64_t seed)
{
    const prop_entry *e = &suite->entries[entry];
    const uint32_t both = 1u << ROPE_INTERLEAVED | 1u << ROPE_HALF;
    bool halved = suite->level == PROP_QUICK && e->full_text[0] != NULL &&
                  e->full_text[1] != NULL && kernel != NULL && (kernel->pairings & both) == both;
    return (prop_subject){.kernel = kernel,
                          .spec_text = e->full_text[pairing],
                          .spec = &e->spec[pairing],
                          .frequencies = &e->frequencies,
                          .oracle = e->oracle,
                          .attention_factor = e->attention_factor,
                          .dtype = dtype,
                          .truth = suite->truth,
                          .level = suite->level,
                          .weight = e->weight,
                          .halved = halved,
                          .seed = seed};
}

const rope_kernel *prop_partner(const rope_kernel *kernel, uint32_t pairing, rope_dtype dtype)
{
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    const rope_kernel *best = NULL;
    uint32_t other = 1u << (1 - pairing), here = rope_cpu_features();
    if (kernel->pairings & other)
        return kernel;
    for (size_t i = 0; i < count; i++) {
        const rope_kernel *k = (const rope_kernel *)all[i];
        if (all[i]->kind == ROPE_ROTATION && (k->pairings & other) && (k->dtypes & 1u << dtype) &&
            (k->cpu_features & ~here) == 0 && (best == NULL || strcmp(k->name, "lookup") == 0))
            best = k;
    }
    return best;
}
