#include "props/mutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/case.h"
#include "props/claims.h"
#include "props/encoding.h"
#include "props/encoding_mutants.h"
#include "props/isolate.h"
#include "props/mutants.h"
#include "props/verify_encodings.h"

enum { MOST_PROPERTIES = 64 };

typedef enum { UNKNOWN = 0, PASSES = 1, KILLS = 2 } effect;

/* One mutant of either kind. */
typedef struct {
    const char *name, *fault_class, *original, *skipped; /* skipped: why, or NULL */
    effect effects[MOST_PROPERTIES]; /* rotations' properties, then encodings' */
    char reason[PROP_REASON];        /* of the first that kills */
} outcome;

struct prop_mutation {
    outcome *outcomes;
    int count;
    const char *names[MOST_PROPERTIES];
    int names_count, rotation_names;
    bool all; /* not one mutant alone: properties are judged too */
};

static void list_names(prop_mutation *m)
{
    size_t count;
    const prop_property *const *properties = prop_properties(&count);
    for (size_t i = 0; i < count; i++)
        m->names[m->names_count++] = properties[i]->name;
    m->rotation_names = m->names_count;
    for (int i = 0; prop_encoding_properties[i].name != NULL; i++)
        m->names[m->names_count++] = prop_encoding_properties[i].name;
}

static void kill(outcome *o, int property, const char *reason)
{
    bool killed = false;
    for (int i = 0; i < MOST_PROPERTIES; i++)
        killed |= o->effects[i] == KILLS;
    if (!killed)
        snprintf(o->reason, sizeof o->reason, "%s", reason);
    o->effects[property] = KILLS;
}

/* ---- rotations ---- */

/* Whether the largest claim of a tally outlies what the original claims there. */
static bool claims_more(const prop_mutant *mutant, const prop_subject *s, const prop_tally *t,
                        char *reason, size_t size)
{
    rope_plan_args args = rope_spec_plan_args(s->spec, s->frequencies, s->dtype, t->claim_position,
                                              t->claim_position);
    double most = 0;
    if (t->outlying == 0)
        return false;
    for (int64_t i = 0; i < args.pairs; i++)
        most = fmax(most, mutant->original->error_bound(&args, t->claim_position, i));
    if (t->claim <= most)
        return false;
    snprintf(reason, size,
             "claims %.4g u at position %lld and less than 1/%d of it further out; %s "
             "claims %.4g u",
             t->claim, (long long)t->claim_position, PROP_CLAIM_FACTOR, mutant->original_name,
             most);
    return true;
}

/* A bound that is none where the original has one is never a pass; so is a refusal of a spec that
 * the original takes: both would let a kernel choose what it is judged on. */
static bool claims_less(const prop_mutant *mutant, const prop_unit *unit, int entry,
                        const prop_finding *f, char *reason, size_t size)
{
    prop_subject s = prop_suite_subject(unit->suite, entry, unit->kernel, unit->pairing,
                                        unit->dtype, unit->seed);
    if (f->sheet.refused) {
        rope_plan_args args = rope_spec_plan_args(s.spec, s.frequencies, s.dtype, 0, 0);
        rope_plan *plan;
        if (mutant->original->plan(&args, &plan) != ROPE_OK)
            return false;
        mutant->original->destroy(plan);
        snprintf(reason, size, "refuses a spec that %s takes", mutant->original_name);
        return true;
    }
    for (int b = 0; b < PROP_BANDS; b++) {
        const prop_tally *t = &f->sheet.bands[b];
        if (claims_more(mutant, &s, t, reason, size))
            return true;
        if (t->unjudged == 0)
            continue;
        rope_plan_args args =
            rope_spec_plan_args(s.spec, s.frequencies, s.dtype, t->no_contract, t->no_contract);
        bool claimed = true;
        for (int64_t i = 0; i < args.pairs; i++)
            claimed &=
                prop_has_contract(s.dtype, mutant->original->error_bound(&args, t->no_contract, i));
        if (claimed) {
            snprintf(reason, size, "no contract at position %lld, where %s has one",
                     (long long)t->no_contract, mutant->original_name);
            return true;
        }
    }
    return false;
}

static void read_finding(const prop_mutant *mutant, outcome *o, const prop_unit *unit, int entry,
                         int property, int untouched, int environment)
{
    const prop_finding *f = prop_unit_finding(unit, entry, property);
    char reason[PROP_REASON];
    if (f->state == PROP_PENDING)
        return;
    if (o->effects[property] == UNKNOWN)
        o->effects[property] = PASSES;
    if (f->sheet.failed)
        kill(o, property, f->sheet.reason);
    else if (claims_less(mutant, unit, entry, f, reason, sizeof reason))
        kill(o, property, reason);
    o->effects[untouched] = o->effects[untouched] == KILLS ? KILLS : PASSES;
    o->effects[environment] = o->effects[environment] == KILLS ? KILLS : PASSES;
    if (f->sheet.strayed)
        kill(o, untouched, f->sheet.stray);
    if (f->sheet.disturbed)
        kill(o, environment, f->sheet.disturbance);
}

static void read_unit(const prop_mutation *m, const prop_mutant *mutant, outcome *o,
                      const prop_unit *unit)
{
    int untouched = 0, environment = 0;
    for (int p = 0; p < m->rotation_names; p++) {
        untouched = strcmp(m->names[p], "untouched") == 0 ? p : untouched;
        environment = strcmp(m->names[p], "environment") == 0 ? p : environment;
    }
    for (int e = 0; e < unit->suite->count; e++)
        for (int p = 0; p < m->rotation_names; p++)
            read_finding(mutant, o, unit, e, p, untouched, environment);
}

static int kills_of(const prop_mutation *m, const outcome *o)
{
    int kills = 0;
    for (int p = 0; p < m->names_count; p++)
        kills += o->effects[p] == KILLS;
    return kills;
}

/* Round 0: the first pairing and dtype of each mutant; round 1: all others of those that live. */
static bool run_round(prop_mutation *m, const prop_suite *suite, uint64_t seed, int jobs, int round,
                      rope_error *error)
{
    prop_unit *units = calloc((size_t)m->count * 8 + 1, sizeof *units);
    int *outcome_of = calloc((size_t)m->count * 8 + 1, sizeof *outcome_of), unit_count = 0;
    bool good = (units != NULL && outcome_of != NULL) || rope_fail(error, "out of memory");
    for (int i = 0; good && i < m->count; i++) {
        const rope_kernel *kernel =
            m->outcomes[i].skipped == NULL ? prop_mutant_find(m->outcomes[i].name)->kernel : NULL;
        if (kernel == NULL || (round > 0 && kills_of(m, &m->outcomes[i]) > 0))
            continue;
        int taken = 0;
        for (uint32_t u = 0; u < 8; u++) {
            uint32_t pairing = u % 2, dtype = u / 2;
            if (!(kernel->pairings >> pairing & 1) || !(kernel->dtypes >> dtype & 1))
                continue;
            if ((taken++ == 0) != (round == 0))
                continue;
            outcome_of[unit_count] = i;
            units[unit_count++] =
                (prop_unit){.kernel = kernel,
                            .pairing = pairing,
                            .dtype = (rope_dtype)dtype,
                            .seed = seed,
                            .suite = suite,
                            .partner = prop_partner(kernel, pairing, (rope_dtype)dtype),
                            .hasty = true};
        }
    }
    good = good && prop_run(units, unit_count, NULL, 0, jobs, "mutants", error);
    for (int u = 0; good && u < unit_count; u++) {
        outcome *o = &m->outcomes[outcome_of[u]];
        read_unit(m, prop_mutant_find(o->name), o, &units[u]);
    }
    for (int u = 0; u < unit_count; u++)
        prop_unit_free(&units[u]);
    free(units);
    free(outcome_of);
    return good;
}

static bool run_rotations(prop_mutation *m, const prop_suite *suite, uint64_t seed, int jobs,
                          const char *only, rope_error *error)
{
    size_t count;
    const prop_mutant *mutants = prop_mutants(&count);
    bool good = true;
    uint32_t here = rope_cpu_features();
    for (size_t i = 0; good && i < count; i++) {
        const prop_mutant *mutant = &mutants[i];
        if (only != NULL && strcmp(only, mutant->name) != 0)
            continue;
        if (mutant->header != NULL && mutant->header->kind != ROPE_ROTATION)
            continue; /* run_encodings has it */
        outcome *o = &m->outcomes[m->count++];
        *o = (outcome){.name = mutant->name,
                       .fault_class = mutant->fault_class,
                       .original = mutant->original_name};
        if (mutant->kernel == NULL)
            o->skipped = mutant->waits_for != NULL ? mutant->waits_for : "not made";
        else if (mutant->kernel->cpu_features & ~here)
            o->skipped = "needs a CPU feature that this machine lacks";
    }
    /* The other pairings and dtypes of a mutant are only of interest while it lives. */
    for (int round = 0; good && round < 2; round++)
        good = run_round(m, suite, seed, jobs, round, error);
    return good;
}

/* ---- encodings ---- */

typedef struct {
    const rope_header *kernel;
    uint64_t seed;
    outcome *shared;
    int first; /* of the encodings' properties */
} encoding_trial;

static void note_encoding(const prop_encoding_result *r, void *context)
{
    encoding_trial *t = context;
    for (int i = 0; prop_encoding_properties[i].name != NULL; i++)
        if (strcmp(prop_encoding_properties[i].name, r->property) == 0) {
            if (r->failed)
                kill(t->shared, t->first + i, r->reason);
            else if (t->shared->effects[t->first + i] == UNKNOWN)
                t->shared->effects[t->first + i] = PASSES;
        }
    prop_beat();
}

static int check_encoding(void *context)
{
    encoding_trial *t = context;
    prop_encoding_check(t->kernel, t->seed, 0, note_encoding, t);
    return 0;
}

static bool run_encodings(prop_mutation *m, uint64_t seed, const char *only, rope_error *error)
{
    size_t count;
    const prop_encoding_mutant *mutants = prop_encoding_mutants(&count);
    prop_limits limits = prop_limits_default();
    outcome *shared = prop_share(sizeof *shared);
    bool good = shared != NULL || rope_fail(error, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        if (only != NULL && strcmp(only, mutants[i].name) != 0)
            continue;
        *shared = (outcome){.name = mutants[i].name,
                            .fault_class = mutants[i].fault_class,
                            .original = mutants[i].original_name};
        encoding_trial t = {mutants[i].kernel, seed, shared, m->rotation_names};
        prop_end end;
        good = prop_isolate(check_encoding, &t, &limits, &end, error);
        if (good && end.outcome != PROP_FINISHED) {
            char how[160];
            prop_end_text(&end, how, sizeof how);
            kill(shared, m->rotation_names, how);
        }
        m->outcomes[m->count++] = *shared;
    }
    prop_unshare(shared, sizeof *shared);
    return good;
}

prop_mutation *prop_mutation_run(const prop_suite *suite, uint64_t seed, int jobs, const char *only,
                                 rope_error *error)
{
    size_t rotations, encodings;
    prop_mutants(&rotations);
    prop_encoding_mutants(&encodings);
    prop_mutation *m = calloc(1, sizeof *m);
    if (m != NULL)
        m->outcomes = calloc(rotations + encodings, sizeof *m->outcomes);
    if (m == NULL || m->outcomes == NULL) {
        prop_mutation_free(m);
        rope_fail(error, "out of memory");
        return NULL;
    }
    m->all = only == NULL;
    list_names(m);
    bool good =
        run_rotations(m, suite, seed, jobs, only, error) && run_encodings(m, seed, only, error);
    if (good && m->count == 0)
        good = rope_fail(error, "unknown mutant '%s', see `tightrope list mutants`", only);
    if (good)
        return m;
    prop_mutation_free(m);
    return NULL;
}

void prop_mutation_free(prop_mutation *m)
{
    if (m != NULL)
        free(m->outcomes);
    free(m);
}

/* ---- what comes out ---- */

static void print_outcome(const prop_mutation *m, const outcome *o, prop_sum *sum, FILE *out)
{
    if (o->skipped != NULL) {
        fprintf(out, "skip     %-5s %-24s %s\n", o->fault_class, o->name, o->skipped);
        sum->skipped++;
        return;
    }
    bool killed = kills_of(m, o) > 0;
    fprintf(out, "%s %-5s %-24s", killed ? "killed  " : "SURVIVES", o->fault_class, o->name);
    for (int p = 0; p < m->names_count; p++)
        if (o->effects[p] == KILLS)
            fprintf(out, " %s", m->names[p]);
    fputc('\n', out);
    if (killed)
        sum->passed++;
    else
        sum->failed++;
}

prop_sum prop_mutation_text(const prop_mutation *m, FILE *out)
{
    prop_sum sum = {0};
    for (int i = 0; i < m->count; i++)
        print_outcome(m, &m->outcomes[i], &sum, out);
    for (int p = 0; m->all && p < m->names_count; p++) {
        int kills = 0, alone = 0;
        for (int i = 0; i < m->count; i++)
            if (m->outcomes[i].effects[p] == KILLS) {
                kills++;
                alone += kills_of(m, &m->outcomes[i]) == 1;
            }
        fprintf(out, "%s %-20s kills %d mutants, %d of them alone\n",
                kills > 0 ? "property" : "FAIL    ", m->names[p], kills, alone);
        if (kills > 0)
            sum.passed++;
        else
            sum.failed++;
    }
    return sum;
}

char *prop_mutation_columns(void)
{
    prop_mutation m = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL)
        return NULL;
    list_names(&m);
    fprintf(f, "run,mutant,class,mutates,killed,reason");
    for (int p = 0; p < m.names_count; p++)
        fprintf(f, ",%s", m.names[p]);
    return fclose(f) == 0 ? text : NULL;
}

void prop_mutation_rows(const prop_mutation *m, const char *run, rows_writer *w)
{
    static const char *const effects[] = {"", "no", "yes"};
    for (int i = 0; i < m->count; i++) {
        const outcome *o = &m->outcomes[i];
        rows_text(w, run);
        rows_text(w, o->name);
        rows_text(w, o->fault_class);
        rows_text(w, o->original);
        rows_text(w, o->skipped != NULL ? "skipped" : kills_of(m, o) > 0 ? "yes" : "no");
        rows_text(w, o->skipped != NULL ? o->skipped : o->reason);
        for (int p = 0; p < m->names_count; p++)
            rows_text(w, effects[o->effects[p]]);
        rows_end(w);
    }
}
