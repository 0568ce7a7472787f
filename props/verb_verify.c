/* `tightrope verify`. */
#include <string.h>
#include <time.h>

#include "impl/registry.h"
#include "props/verify_options.h"
#include "scripts/front/environment.h"
#include "scripts/front/machine.h"
#include "scripts/front/verbs.h"

/* Where results go. Opened first, so that an unwritable one costs no work. */
typedef struct {
    rows_writer *rows;
    bool rows_to_stdout;
    FILE *junit;
    char junit_temporary[4200];
    FILE *text;
} outputs;

static bool open_outputs(const prop_options *o, outputs *f, rope_error *error)
{
    *f = (outputs){.text = stdout};
    if (o->csv != NULL) {
        f->rows_to_stdout = *o->csv == '\0' || strcmp(o->csv, "-") == 0;
        f->rows = rows_create(o->csv, prop_verify_columns, error);
        if (f->rows == NULL)
            return false;
        if (f->rows_to_stdout)
            f->text = stderr;
    }
    if (o->junit == NULL)
        return true;
    f->junit = rows_file_create(o->junit, f->junit_temporary, sizeof f->junit_temporary, error);
    return f->junit != NULL;
}

/* Keeps the files, or removes them all. */
static bool close_outputs(const prop_options *o, outputs *f, bool good, rope_error *error)
{
    if (f->rows != NULL && good)
        good = rows_commit(f->rows, error);
    else if (f->rows != NULL)
        rows_abandon(f->rows);
    if (f->junit != NULL && good)
        return rows_file_commit(f->junit, f->junit_temporary, o->junit, error);
    if (f->junit != NULL) {
        fclose(f->junit);
        rows_remove_temporaries();
    }
    return good;
}

static void print_header(const prop_orders *p, FILE *out)
{
    static machine_fact facts[MACHINE_FACTS];
    char features[64];
    const char *model = MACHINE_UNKNOWN;
    int count = machine_facts(facts);
    for (int i = 0; i < count; i++)
        if (strcmp(facts[i].name, "cpu_model") == 0)
            model = facts[i].value;
    rope_cpu_features_text(rope_cpu_features(), features, sizeof features);
    fprintf(out, "tightrope verify: %s (%s)\n", model, features);
    fprintf(out, "level %s, seed %llu, truth %s, %d specs, %d kernels, %d processes\n",
            prop_level_name(p->level), (unsigned long long)p->v.seed,
            p->truth == ROPE_TRUTH_EXACT ? "exact" : "as-trained", p->v.suite.count,
            p->v.kernel_count + p->encodings.count, p->jobs);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool run_all(prop_orders *p, rope_error *error)
{
    prop_encodings *e = &p->encodings;
    if (!prop_encodings_prepare(e, p->v.seed, (int)p->level, error))
        return false;
    prop_suite_warm(&p->v.suite, p->v.seed, p->jobs);
    if (!prop_run(p->v.units, p->v.unit_count, e->errands, e->count, p->jobs, "verify", error))
        return false;
    prop_encodings_book(e);
    return true;
}

static bool write_results(const prop_options *o, const prop_orders *p, const outputs *f,
                          front_run *run, double elapsed, prop_sum *sum, rope_error *error)
{
    *sum = prop_verify_text(&p->v, f->text);
    prop_sum more = prop_encodings_text(&p->encodings, f->text);
    sum->passed += more.passed;
    sum->failed += more.failed + prop_plugins_text(&p->plugins, f->text).failed;
    if (f->junit != NULL)
        prop_verify_junit(&p->v, &p->encodings, &p->plugins, elapsed, f->junit);
    if (!front_run_finish(run, error))
        return false;
    if (f->rows == NULL)
        return true;
    prop_verify_rows(&p->v, run->id, f->rows);
    prop_encodings_rows(&p->encodings, run->id, f->rows);
    prop_plugins_rows(&p->plugins, run->id, f->rows);
    return f->rows_to_stdout || front_run_write_beside(run, o->csv, error);
}

static int verify(int argc, char **argv, const prop_options *o, prop_orders *p)
{
    rope_error error;
    front_run run;
    outputs f;
    prop_sum sum = {0};
    bool good = open_outputs(o, &f, &error) && prop_orders_prepare(o, p, &error) &&
                front_run_begin(&run, argc, argv, p->v.seed, &error);
    if (good) {
        print_header(p, f.text);
        double start = seconds();
        good = run_all(p, &error) && write_results(o, p, &f, &run, seconds() - start, &sum, &error);
        front_run_free(&run);
    }
    if (!close_outputs(o, &f, good, &error))
        return front_usage("verify", "%s", error.text);
    if (sum.passed == 0 && sum.failed == 0)
        fputs("nothing was judged\n", f.text);
    fprintf(f.text, "%d passed, %d failed", sum.passed, sum.failed);
    fprintf(f.text, sum.skipped > 0 ? ", %d skipped\n" : "\n", sum.skipped);
    return sum.failed == 0 && sum.passed > 0 ? FRONT_HOLDS : FRONT_FAILS;
}

int verb_verify(int argc, char **argv)
{
    prop_options o = {0};
    const front_option table[] = {
        {"kernel", "A,B", "only these kernels", &o.kernels, NULL, NULL},
        {"plugin", "F.so", "the kernels of a shared object; may be repeated", NULL, &o.plugins,
         NULL},
        {"spec", "S", "only this spec; may be repeated", NULL, &o.specs, NULL},
        {"dtype", "T,..", "only f32, f16, bf16 or f64", &o.dtypes, NULL, NULL},
        {"level", "LEVEL", "quick (usual), full or exhaustive", &o.level, NULL, NULL},
        {"truth", "TRUTH", "exact (usual) or as-trained", &o.truth, NULL, NULL},
        {"seed", "N", "of random positions and data; usually 1", &o.seed, NULL, NULL},
        {"jobs", "N", "processes; usually one a core", &o.jobs, NULL, NULL},
        {"junit", "FILE", "JUnit XML", &o.junit, NULL, NULL},
        {"replay", "CASE", "judge this case alone", &o.replay, NULL, NULL},
        {"mutants", "[NAME]", "run faulty kernels instead: all must be found out", &o.mutants, NULL,
         NULL},
        {"csv", "[FILE]", "rows as CSV, to standard output or a file", &o.csv, NULL, NULL},
        {0}};
    int status = front_parse(
        argc, argv, "verify [OPTIONS]",
        "Holds kernels against the exact rotation, their contracts and properties.", table, NULL);
    if (status != -1)
        return status;
    rope_error error;
    prop_orders p;
    if (!prop_orders_read(&o, &p, &error) || !oracle_self_test(&error))
        status = front_usage("verify", "%s", error.text);
    else if (o.mutants != NULL)
        status = prop_verify_mutants(argc, argv, &o, &p);
    else
        status = o.replay != NULL ? prop_replay(&o, &p) : verify(argc, argv, &o, &p);
    prop_orders_release(&p);
    return status;
}
