/* `tightrope check`: the verdict on a dump. */
#include <unistd.h>

#include "impl/spec/sources.h"
#include "props/check_report.h"
#include "props/dump_options.h"
#include "scripts/front/verbs.h"

static const char synopsis[] =
    "check --input X.npy --output Y.npy --positions P --spec S [--layout L] [--angle any|f64] "
    "[--input-k XK.npy --output-k YK.npy] [--jobs N] [--csv[=FILE]]";

static void on_progress(void *context, double done)
{
    front_progress_update(context, done);
}

static bool check_one(const prop_dump_arguments *a, bool k, int64_t jobs, const rope_spec *spec,
                      prop_verdict *verdict, rope_error *error)
{
    prop_dump dump;
    uint32_t angles;
    if (!prop_dump_arguments_open(a, k, &dump, &angles, error))
        return false;
    front_progress progress;
    front_progress_begin(&progress, "check", 1);
    prop_check_options options = {.angles = angles,
                                  .trained_length = rope_spec_stated_length(a->spec),
                                  .jobs = (int)jobs,
                                  .progress = on_progress,
                                  .context = &progress};
    bool good = prop_dump_check(&dump, spec, &options, verdict, error);
    front_progress_end(&progress);
    prop_dump_close(&dump);
    return good;
}

static int run(const prop_dump_arguments *a, const char *jobs_text)
{
    rope_error error;
    rope_spec spec;
    prop_verdict q = {0}, k = {0};
    int64_t jobs = sysconf(_SC_NPROCESSORS_ONLN);
    if ((jobs_text != NULL && !front_int64(jobs_text, "--jobs", 1, 256, &jobs, &error)) ||
        !oracle_self_test(&error) || !rope_spec_parse(a->spec, &spec, &error))
        return front_usage("check", "%s", error.text);
    const prop_verdict *second = a->input_k != NULL ? &k : NULL;
    bool good = check_one(a, false, jobs, &spec, &q, &error) &&
                (second == NULL || check_one(a, true, jobs, &spec, &k, &error));
    if (good && a->csv != NULL)
        good = prop_check_write_csv(a->csv, &q, second, &error);
    if (good && !prop_dump_csv_to_stdout(a))
        prop_check_print(&q, second);
    if (good && !prop_dump_csv_to_stdout(a) && !(q.pass && (second == NULL || k.pass))) {
        printf("what is wrong: try `");
        prop_dump_arguments_print(stdout, "identify", a);
        printf("`\n");
    }
    int status = !good                           ? front_usage("check", "%s", error.text)
                 : q.pass && (!second || k.pass) ? FRONT_HOLDS
                                                 : FRONT_FAILS;
    prop_verdict_free(&q);
    prop_verdict_free(&k);
    rope_spec_free(&spec);
    return status;
}

int verb_check(int argc, char **argv)
{
    prop_dump_arguments a = {0};
    const char *jobs = NULL;
    const prop_dump_helps helps = {.positions = "a:b, a:b:step, a comma list, or a .npy",
                                   .spec = "preset, config.json or key=value,...",
                                   .angle = "f64: only an exact angle passes, f32 angles do not",
                                   .input_k = "the same of k, judged together with q",
                                   .csv = "errors by pair and by position as CSV"};
    front_option options[PROP_DUMP_OPTIONS + 2] = {
        [PROP_DUMP_OPTIONS] = {.name = "jobs",
                               .argument = "N",
                               .help = "threads; default: as many as there are processors",
                               .value = &jobs}};
    prop_dump_options(&a, &helps, options);
    int status =
        front_parse(argc, argv, synopsis,
                    "Judges the dump of any implementation: PASS if one way to compute the "
                    "angle and one way to compute the rotation explain all of it.",
                    options, NULL);
    if (status == -1)
        status = prop_dump_arguments_check("check", &a);
    if (status != -1)
        return status;
    if (a.positions == NULL || a.spec == NULL)
        return front_usage("check", "%s is missing, see `tightrope check --help`",
                           a.positions == NULL ? "--positions" : "--spec");
    return run(&a, jobs);
}
