#include "props/verify_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl/registry.h"
#include "props/replay.h"

static const char *const level_names[] = {"quick", "full", "exhaustive", NULL};
static const char *const truth_names[] = {"exact", "as-trained", NULL};

const char *prop_level_name(prop_level level)
{
    return level_names[level];
}

static bool add_dtype(const char *item, void *context, rope_error *error)
{
    int dtype = rope_dtype_from_name(item);
    if (dtype < 0)
        return rope_fail(error, "unknown dtype '%s', expected f32, f16, bf16 or f64", item);
    *(uint32_t *)context |= 1u << dtype;
    return true;
}

static bool append_rotation(prop_verification *v, const rope_kernel *kernel, rope_error *error)
{
    for (int i = 0; i < v->kernel_count; i++)
        if (v->kernels[i] == kernel)
            return true;
    const rope_kernel **kernels =
        realloc(v->kernels, (size_t)(v->kernel_count + 1) * sizeof *kernels);
    if (kernels == NULL)
        return rope_fail(error, "out of memory");
    v->kernels = kernels;
    v->kernels[v->kernel_count++] = kernel;
    return true;
}

static bool append(prop_orders *p, const rope_header *kernel, rope_error *error)
{
    return kernel->kind == ROPE_ROTATION
               ? append_rotation(&p->v, (const rope_kernel *)kernel, error)
               : prop_encodings_add(&p->encodings, kernel, error);
}

static bool add_kernel(const char *item, void *context, rope_error *error)
{
    prop_orders *p = context;
    const rope_header *kernel = rope_plugins_find(p->plugins.items, p->plugins.count, item, NULL);
    if (kernel == NULL)
        kernel = rope_registry_find_any(item);
    if (kernel == NULL)
        return rope_fail(error, "unknown kernel '%s', see `tightrope list kernels`", item);
    return append(p, kernel, error);
}

static bool add_plugins(prop_orders *p, rope_error *error)
{
    for (size_t i = 0; i < p->plugins.count; i++)
        for (size_t k = 0; k < p->plugins.items[i].count; k++)
            if (!append(p, p->plugins.items[i].kernels[k], error))
                return false;
    return true;
}

/* All rotations, and, unless specs or dtypes narrow the run to what only rotations have, all
 * encodings. */
static bool add_all(prop_orders *p, bool encodings, rope_error *error)
{
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    for (size_t i = 0; i < count; i++)
        if ((all[i]->kind == ROPE_ROTATION || encodings) && !append(p, all[i], error))
            return false;
    return true;
}

/* The index of a word in a list that ends with NULL, or -1. */
static int choice(const char *word, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static bool read_words(const prop_options *o, prop_orders *p, rope_error *error)
{
    int level = o->level != NULL ? choice(o->level, level_names) : PROP_QUICK;
    int truth = o->truth != NULL ? choice(o->truth, truth_names) : ROPE_TRUTH_EXACT;
    int64_t jobs = sysconf(_SC_NPROCESSORS_ONLN);
    if (level < 0)
        return rope_fail(error, "unknown level '%s', expected quick, full or exhaustive", o->level);
    if (truth < 0)
        return rope_fail(error, "unknown truth '%s', expected exact or as-trained", o->truth);
    p->level = (prop_level)level;
    p->truth = (rope_truth)truth;
    p->v.seed = 1;
    p->v.dtypes = o->dtypes != NULL ? 0 : ~0u;
    if ((o->seed != NULL && !front_uint64(o->seed, "--seed", &p->v.seed, error)) ||
        (o->jobs != NULL && !front_int64(o->jobs, "--jobs", 1, 1024, &jobs, error)) ||
        (o->dtypes != NULL && !front_split(o->dtypes, add_dtype, &p->v.dtypes, error)))
        return false;
    p->jobs = jobs > 0 ? (int)jobs : 1;
    return true;
}

bool prop_orders_read(const prop_options *o, prop_orders *p, rope_error *error)
{
    *p = (prop_orders){.v.plugins = ""};
    if (!read_words(o, p, error) || !prop_plugins_load(&o->plugins, &p->plugins, error))
        return false;
    p->v.plugins = p->plugins.words;
    if (o->kernels != NULL)
        return front_split(o->kernels, add_kernel, p, error);
    if (p->plugins.count > 0)
        return add_plugins(p, error);
    return add_all(p, o->specs.count == 0 && (p->v.dtypes & 1u << ROPE_F32), error);
}

/* Units: one a kernel, pairing and dtype that this machine can run. */
static bool make_units(prop_orders *p, rope_error *error)
{
    prop_verification *v = &p->v;
    uint32_t here = rope_cpu_features();
    v->units = calloc((size_t)v->kernel_count * 8 + 1, sizeof *v->units);
    if (v->units == NULL)
        return rope_fail(error, "out of memory");
    for (int k = 0; k < v->kernel_count; k++)
        for (uint32_t i = 0; i < 8; i++) {
            const rope_kernel *kernel = v->kernels[k];
            uint32_t pairing = i % 2, dtype = i / 2;
            bool wanted = (kernel->pairings & 1u << pairing) &&
                          (kernel->dtypes & v->dtypes & 1u << dtype) &&
                          (kernel->cpu_features & ~here) == 0;
            if (!wanted)
                continue;
            v->units[v->unit_count++] =
                (prop_unit){.kernel = kernel,
                            .pairing = pairing,
                            .dtype = (rope_dtype)dtype,
                            .seed = v->seed,
                            .suite = &v->suite,
                            .partner = prop_partner(kernel, pairing, (rope_dtype)dtype)};
        }
    return true;
}

bool prop_orders_prepare(const prop_options *o, prop_orders *p, rope_error *error)
{
    prop_verification *v = &p->v;
    v->standard = o->specs.count == 0;
    v->replays = prop_replays_new();
    if (v->replays == NULL)
        return rope_fail(error, "out of memory");
    return (v->standard ? prop_suite_standard(&v->suite, p->level, p->truth, error)
                        : prop_suite_chosen(&v->suite, o->specs.items, o->specs.count, p->level,
                                            p->truth, error)) &&
           make_units(p, error);
}

void prop_orders_release(prop_orders *p)
{
    for (int u = 0; u < p->v.unit_count; u++)
        prop_unit_free(&p->v.units[u]);
    free(p->v.units);
    free(p->v.kernels);
    prop_encodings_free(&p->encodings);
    prop_suite_free(&p->v.suite);
    prop_replays_free(p->v.replays);
    prop_plugins_free(&p->plugins);
}
