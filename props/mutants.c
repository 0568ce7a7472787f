#include "props/mutants.h"

#include <stdio.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/spec.h"
#include "props/encoding_mutants.h"
#include "props/mutants/common.h"

static const mutation *const mutations[] = {
#define PROP_MUTANT(name) &mutation_##name,
#include "props/mutants.def"
#undef PROP_MUTANT
};
enum { MUTANTS = sizeof mutations / sizeof mutations[0], ENCODING_MUTANTS = 64 };

static prop_mutant mutants[MUTANTS + ENCODING_MUTANTS];
static rope_kernel kernels[MUTANTS];
static char waits[MUTANTS][256];

const rope_kernel *mutant_original(const mutation *m)
{
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    if (m->original != NULL || m->dtypes == 0)
        return rope_registry_find(m->original != NULL ? m->original : "lookup");
    for (size_t i = 0; i < count; i++) {
        const rope_kernel *kernel = (const rope_kernel *)all[i];
        if (all[i]->kind == ROPE_ROTATION && (kernel->dtypes & m->dtypes) != 0 &&
            (kernel->cpu_features & ~rope_cpu_features()) == 0)
            return kernel;
    }
    return NULL;
}

/* The original's descriptor with the mutation's functions: what is not mutated is claimed alike. */
static rope_kernel mutate(const rope_kernel *original, const mutation *m)
{
    rope_kernel k = *original;
    k.header.size = sizeof k;
    k.name = m->name;
    k.summary = m->summary;
    k.plan = m->plan;
    k.apply = m->apply != NULL ? m->apply : mutant_apply;
    k.destroy = m->destroy != NULL ? m->destroy : mutant_destroy;
    k.plan_bytes = m->plan_bytes != NULL ? m->plan_bytes : mutant_plan_bytes;
    if (m->dtypes != 0)
        k.dtypes &= m->dtypes;
    if (m->error_bound != NULL)
        k.error_bound = m->error_bound;
    return k;
}

static const char *original_name(const mutation *m, const rope_kernel *original)
{
    if (original != NULL)
        return original->name;
    return m->original != NULL ? m->original : m->dtypes != 0 ? "of 16 bits" : "lookup";
}

/* Whether this build has the kernel that is mutated and resolves a spec in which the fault shows;
 * else `missing` says what there is not. */
static bool present(const prop_mutant *m, const rope_kernel *original, char *missing, size_t size)
{
    rope_spec spec;
    rope_frequencies frequencies;
    rope_error error;
    if (original == NULL) {
        snprintf(missing, size, "a kernel %s", m->original_name);
        return false;
    }
    bool parsed = rope_spec_parse(m->example, &spec, &error);
    if (!parsed || !rope_spec_resolve(&spec, ROPE_TRUTH_EXACT, &frequencies, &error)) {
        snprintf(missing, size, "its spec: %.200s", error.text);
        if (parsed)
            rope_spec_free(&spec);
        return false;
    }
    rope_frequencies_free(&frequencies);
    rope_spec_free(&spec);
    return true;
}

const prop_mutant *prop_mutants(size_t *count)
{
    size_t encodings;
    const prop_encoding_mutant *others = prop_encoding_mutants(&encodings);
    if (encodings > ENCODING_MUTANTS)
        encodings = ENCODING_MUTANTS; /* the list's test compares the counts */
    *count = MUTANTS + encodings;
    if (mutants[0].name != NULL)
        return mutants;
    for (size_t i = 0; i < encodings; i++)
        mutants[MUTANTS + i] = (prop_mutant){.name = others[i].name,
                                             .fault_class = others[i].fault_class,
                                             .summary = others[i].summary,
                                             .original_name = others[i].original_name,
                                             .example = "",
                                             .header = others[i].kernel};
    for (size_t i = 0; i < MUTANTS; i++) {
        const mutation *m = mutations[i];
        const rope_kernel *original = mutant_original(m);
        mutants[i] = (prop_mutant){
            .name = m->name,
            .fault_class = m->fault_class,
            .summary = m->summary,
            .original_name = original_name(m, original),
            .example = m->example != NULL ? m->example : MUTANT_PLAIN,
            .waits_for = m->waits_for,
        };
        if (m->waits_for == NULL && !present(&mutants[i], original, waits[i], sizeof waits[i]))
            mutants[i].waits_for = waits[i];
        if (mutants[i].waits_for != NULL)
            continue;
        kernels[i] = mutate(original, m);
        mutants[i].kernel = &kernels[i];
        mutants[i].header = &kernels[i].header;
        mutants[i].original = original;
    }
    return mutants;
}

const prop_mutant *prop_mutant_find(const char *name)
{
    size_t count;
    const prop_mutant *all = prop_mutants(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}
