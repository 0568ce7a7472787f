/* `tightrope verify`. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "impl/registry.h"
#include "props/case.h"
#include "props/verify.h"
#include "props/verify_encodings.h"
#include "props/verify_plugins.h"
#include "scripts/front/environment.h"
#include "scripts/front/verbs.h"

typedef struct {
    const char *kernels, *dtypes, *level, *truth, *seed, *jobs, *junit, *replay, *csv;
    front_values plugins, specs;
} options;

/* What the options say. */
typedef struct {
    prop_verification v;
    prop_encodings encodings;
    prop_plugins plugins;
    uint32_t dtypes;
    prop_level level;
    rope_truth truth;
    int jobs;
} plan;

static bool add_dtype(const char *item, void *context, rope_error *error)
{
    int dtype = rope_dtype_from_name(item);
    if (dtype < 0)
        return rope_fail(error, "unknown dtype '%s', expected f32, f16, bf16 or f64", item);
    *(uint32_t *)context |= 1u << dtype;
    return true;
}

static bool append_kernel(prop_verification *v, const rope_kernel *kernel, rope_error *error)
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

static bool append(plan *p, const rope_header *kernel, rope_error *error)
{
    return kernel->kind == ROPE_ROTATION ? append_kernel(&p->v, (const rope_kernel *)kernel, error)
                                         : prop_encodings_add(&p->encodings, kernel, error);
}

static bool add_kernel(const char *item, void *context, rope_error *error)
{
    const plan *p = context;
    const rope_header *kernel = rope_plugins_find(p->plugins.items, p->plugins.count, item, NULL);
    if (kernel == NULL)
        kernel = rope_registry_find_any(item);
    if (kernel == NULL)
        return rope_fail(error, "unknown kernel '%s', see `tightrope list kernels`", item);
    return append(context, kernel, error);
}

/* All that the plug-ins bring. */
static bool add_plugins(plan *p, rope_error *error)
{
    for (size_t i = 0; i < p->plugins.count; i++)
        for (size_t k = 0; k < p->plugins.items[i].count; k++)
            if (!append(p, p->plugins.items[i].kernels[k], error))
                return false;
    return true;
}

/* All rotations, and, unless specs or dtypes narrow the run to what only rotations have, all
 * encodings. */
static bool add_all(plan *p, bool encodings, rope_error *error)
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

static bool read_options(const options *o, plan *p, rope_error *error)
{
    static const char *const levels[] = {"quick", "full", "exhaustive", NULL};
    static const char *const truths[] = {"exact", "as-trained", NULL};
    int64_t jobs = sysconf(_SC_NPROCESSORS_ONLN);
    int level = o->level != NULL ? choice(o->level, levels) : PROP_QUICK;
    int truth = o->truth != NULL ? choice(o->truth, truths) : ROPE_TRUTH_EXACT;
    if (level < 0)
        return rope_fail(error, "unknown level '%s', expected quick, full or exhaustive", o->level);
    if (truth < 0)
        return rope_fail(error, "unknown truth '%s', expected exact or as-trained", o->truth);
    p->level = (prop_level)level;
    p->truth = (rope_truth)truth;
    p->v.seed = 1;
    p->dtypes = o->dtypes != NULL ? 0 : ~0u;
    if ((o->seed != NULL && !front_uint64(o->seed, "--seed", &p->v.seed, error)) ||
        (o->jobs != NULL && !front_int64(o->jobs, "--jobs", 1, 1024, &jobs, error)) ||
        (o->dtypes != NULL && !front_split(o->dtypes, add_dtype, &p->dtypes, error)))
        return false;
    p->jobs = jobs > 0 ? (int)jobs : 1;
    if (!prop_plugins_load(&o->plugins, &p->plugins, error))
        return false;
    p->v.plugins = p->plugins.words;
    return o->kernels != NULL ? front_split(o->kernels, add_kernel, p, error)
           : o->plugins.count > 0
               ? add_plugins(p, error)
               : add_all(p, o->specs.count == 0 && (p->dtypes & 1u << ROPE_F32), error);
}

/* A kernel for the other pairing: itself, or a registered one, lookup before others. */
static const rope_kernel *partner_of(const rope_kernel *kernel, uint32_t pairing, rope_dtype dtype)
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

/* Units: one a kernel, pairing and dtype that this machine can run. */
static bool make_units(plan *p, rope_error *error)
{
    prop_verification *v = &p->v;
    uint32_t here = rope_cpu_features();
    v->units = calloc((size_t)v->kernel_count * 8, sizeof *v->units);
    if (v->units == NULL)
        return rope_fail(error, "out of memory");
    for (int k = 0; k < v->kernel_count; k++)
        for (uint32_t dtype = 0; dtype < 4; dtype++)
            for (uint32_t pairing = 0; pairing < 2; pairing++) {
                const rope_kernel *kernel = v->kernels[k];
                bool wanted = (kernel->pairings & 1u << pairing) &&
                              (kernel->dtypes & p->dtypes & 1u << dtype) &&
                              (kernel->cpu_features & ~here) == 0;
                if (wanted)
                    v->units[v->unit_count++] =
                        (prop_unit){.kernel = kernel,
                                    .pairing = pairing,
                                    .dtype = (rope_dtype)dtype,
                                    .seed = v->seed,
                                    .suite = &v->suite,
                                    .partner = partner_of(kernel, pairing, (rope_dtype)dtype)};
            }
    return true;
}

static void release(plan *p)
{
    for (int u = 0; u < p->v.unit_count; u++)
        prop_unit_free(&p->v.units[u]);
    free(p->v.units);
    free(p->v.kernels);
    prop_encodings_free(&p->encodings);
    prop_plugins_free(&p->plugins);
    prop_suite_free(&p->v.suite);
}

static int replay(const options *o, plan *p)
{
    rope_error error;
    prop_case_header header;
    if (p->v.kernel_count != 1)
        return front_usage("verify", "--replay needs --kernel with one kernel");
    if (!prop_case_parse_header(o->replay, &header, &error))
        return front_usage("verify", "%s", error.text);
    const char *text = header.spec_text;
    bool good = prop_suite_chosen(&p->v.suite, &text, 1, p->level, header.truth, &error);
    int status = FRONT_USAGE;
    prop_case c;
    if (good) {
        uint32_t pairing = p->v.suite.entries[0].full_text[0] != NULL ? 0 : 1;
        const rope_kernel *kernel = p->v.kernels[0];
        prop_subject s =
            prop_suite_subject(&p->v.suite, 0, kernel, pairing, header.dtype, p->v.seed);
        s.partner = partner_of(kernel, pairing, header.dtype);
        s.weight = PROP_USUAL;
        if (!(kernel->pairings & 1u << pairing) || !(kernel->dtypes & 1u << header.dtype))
            good = rope_fail(&error, "kernel %s does not take this case's pairing or dtype",
                             kernel->name);
        good = good && prop_case_parse(o->replay, &s, &c, &error);
        prop_sheet sheet;
        const char *reason;
        if (good && prop_trial(&s, &c, &sheet, &error)) {
            bool failed = prop_sheet_failed(&sheet, &reason);
            status = failed || sheet.refused ? FRONT_FAILS : FRONT_HOLDS;
            printf("%s %s %s, %lld comparisons\n",
                   failed          ? "FAIL"
                   : sheet.refused ? "skip"
                                   : "pass",
                   kernel->name, c.property->name, (long long)sheet.made);
            if (*reason != '\0' || sheet.refused)
                printf("     %s\n", failed ? reason : sheet.reason);
            printf("%d passed, %d failed%s\n", !failed && !sheet.refused, failed,
                   sheet.refused ? ", 1 skipped" : "");
            prop_case_free(&c);
        }
    }
    free(header.spec_text);
    return status == FRONT_USAGE ? front_usage("verify", "%s", error.text) : status;
}

static int verify(int argc, char **argv, const options *o, plan *p)
{
    static const char *const levels[] = {"quick", "full", "exhaustive"};
    rope_error error;
    front_run run;
    prop_verification *v = &p->v;
    bool csv_out = o->csv != NULL && (*o->csv == '\0' || strcmp(o->csv, "-") == 0);
    FILE *out = csv_out ? stderr : stdout;
    char junit_temporary[4200];
    /* Outputs first, so that an unwritable one costs no work. */
    rows_writer *w = NULL;
    FILE *junit = NULL;
    bool good = o->csv == NULL || (w = rows_create(o->csv, prop_verify_columns, &error)) != NULL;
    good = good &&
           (o->junit == NULL || (junit = rows_file_create(o->junit, junit_temporary,
                                                          sizeof junit_temporary, &error)) != NULL);
    v->standard = o->specs.count == 0;
    good = good && (v->standard ? prop_suite_standard(&v->suite, p->level, p->truth, &error)
                                : prop_suite_chosen(&v->suite, o->specs.items, o->specs.count,
                                                    p->level, p->truth, &error));
    good = good && make_units(p, &error) && front_run_begin(&run, argc, argv, v->seed, &error);
    prop_sum sum = {0};
    if (good) {
        char features[64];
        rope_cpu_features_text(rope_cpu_features(), features, sizeof features);
        fprintf(out, "tightrope verify: features %s, level %s, seed %llu, truth %s, %d specs\n",
                features, levels[p->level], (unsigned long long)v->seed,
                p->truth == ROPE_TRUTH_EXACT ? "exact" : "as-trained", v->suite.count);
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        prop_suite_warm(&v->suite, v->seed);
        good = prop_run(v->units, v->unit_count, p->jobs, "verify", &error) &&
               prop_encodings_run(&p->encodings, v->seed, p->level, &error);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double seconds =
            (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        if (good) {
            sum = prop_verify_text(v, out);
            prop_sum more = prop_encodings_text(&p->encodings, out);
            sum.passed += more.passed;
            sum.failed += more.failed + prop_plugins_text(&p->plugins, out).failed;
        }
        if (good && junit != NULL)
            prop_verify_junit(v, &p->encodings, &p->plugins, seconds, junit);
        good = good && front_run_finish(&run, &error);
        if (good && w != NULL) {
            prop_verify_rows(v, run.id, w);
            prop_encodings_rows(&p->encodings, run.id, w);
            prop_plugins_rows(&p->plugins, run.id, w);
        }
        if (good && w != NULL && !csv_out)
            good = front_run_write_beside(&run, o->csv, &error);
        front_run_free(&run);
    }
    if (w != NULL && !good)
        rows_abandon(w);
    else if (w != NULL)
        good = rows_commit(w, &error);
    if (junit != NULL && good)
        good = rows_file_commit(junit, junit_temporary, o->junit, &error);
    else if (junit != NULL) {
        fclose(junit);
        rows_remove_temporaries();
    }
    if (!good)
        return front_usage("verify", "%s", error.text);
    fprintf(out, "%d passed, %d failed", sum.passed, sum.failed);
    fprintf(out, sum.skipped > 0 ? ", %d skipped\n" : "\n", sum.skipped);
    return sum.failed == 0 && sum.passed > 0 ? FRONT_HOLDS : FRONT_FAILS;
}

int verb_verify(int argc, char **argv)
{
    options o = {0};
    const front_option table[] = {
        {"kernel", "A,B", "only these kernels", &o.kernels, NULL, NULL},
        {"plugin", "FILE.so", "kernels of a plug-in; may be repeated", NULL, &o.plugins, NULL},
        {"spec", "S", "only this spec; may be repeated", NULL, &o.specs, NULL},
        {"dtype", "T,..", "only f32, f16, bf16 or f64", &o.dtypes, NULL, NULL},
        {"level", "LEVEL", "quick (usual), full or exhaustive", &o.level, NULL, NULL},
        {"truth", "TRUTH", "exact (usual) or as-trained", &o.truth, NULL, NULL},
        {"seed", "N", "of random positions and data; usually 1", &o.seed, NULL, NULL},
        {"jobs", "N", "processes; usually one a core", &o.jobs, NULL, NULL},
        {"junit", "FILE", "JUnit XML", &o.junit, NULL, NULL},
        {"replay", "CASE", "judge this case alone", &o.replay, NULL, NULL},
        {"csv", "[FILE]", "rows as CSV, to standard output or a file", &o.csv, NULL, NULL},
        {0}};
    int status = front_parse(
        argc, argv, "verify [OPTIONS]",
        "Holds kernels against the exact rotation, their contracts and properties.", table, NULL);
    if (status != -1)
        return status;
    rope_error error;
    plan p = {0};
    if (!oracle_self_test(&error) || !read_options(&o, &p, &error))
        status = front_usage("verify", "%s", error.text);
    else
        status = o.replay != NULL ? replay(&o, &p) : verify(argc, argv, &o, &p);
    release(&p);
    free(o.specs.items);
    free(o.plugins.items);
    return status;
}
