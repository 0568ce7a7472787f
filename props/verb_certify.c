/* `tightrope certify`: kernels measured at every position of a range, and certificates of it
 * verified again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl/spec/positions.h"
#include "props/certify.h"
#include "props/certify_out.h"
#include "props/certify_select.h"
#include "props/recheck.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

typedef struct options {
    const char *kernels, *dtypes, *positions, *shard, *out, *jobs, *seed, *truth, *csv, *search;
    const char *recheck;
    front_values specs, plugins;
    bool other_binary;
} options;

typedef struct session {
    certify_options run;
    certify_selection chosen;
    certify_out out;
    front_progress progress;
} session;

static bool parse_shard(const char *text, certify_options *run, rope_error *error)
{
    const char *slash = strchr(text, '/');
    char index[24];
    int64_t n, i;
    if (slash == NULL || (size_t)(slash - text) >= sizeof index)
        return rope_fail(error, "--shard '%s' is malformed, expected I/N", text);
    memcpy(index, text, (size_t)(slash - text));
    index[slash - text] = '\0';
    if (!front_int64(slash + 1, "the number of shards", 1, CERTIFY_LONGEST, &n, error) ||
        !front_int64(index, "shard", 1, n, &i, error))
        return false;
    run->shard = (uint64_t)i;
    run->shards = (uint64_t)n;
    return true;
}

static bool parse_range(const char *text, certify_options *run, rope_error *error)
{
    if (!rope_range_parse(text, &run->first, &run->end, error))
        return false;
    if ((uint64_t)run->end - (uint64_t)run->first > (uint64_t)CERTIFY_LONGEST)
        return rope_fail(error, "--positions %s holds more than 2^48 positions", text);
    int64_t first, end;
    certificate_shard_range(run->first, run->end, run->shard, run->shards, &first, &end);
    return first < end || rope_fail(error,
                                    "shard %" PRIu64 "/%" PRIu64 " of --positions %s is empty, "
                                    "expected at most as many shards as positions",
                                    run->shard, run->shards, text);
}

static bool parse_run(session *s, const options *o, rope_error *error)
{
    certify_options *run = &s->run;
    int64_t jobs = sysconf(_SC_NPROCESSORS_ONLN);
    *run = (certify_options){.seed = 1, .shard = 1, .shards = 1, .search = 1 << 20};
    if (o->truth != NULL && strcmp(o->truth, "as-trained") == 0)
        run->truth = ROPE_TRUTH_AS_TRAINED;
    else if (o->truth != NULL && strcmp(o->truth, "exact") != 0)
        return rope_fail(error, "unknown truth '%s', expected exact or as-trained", o->truth);
    if ((o->jobs != NULL && !front_int64(o->jobs, "--jobs", 1, 256, &jobs, error)) ||
        (o->seed != NULL && !front_uint64(o->seed, "--seed", &run->seed, error)) ||
        (o->search != NULL && !front_uint64(o->search, "--search", &run->search, error)) ||
        (o->shard != NULL && !parse_shard(o->shard, run, error)))
        return false;
    run->jobs = (int)jobs;
    return parse_range(o->positions != NULL ? o->positions : "0:1048576", run, error);
}

static void skip(void *context, const char *spec, const rope_error *reason)
{
    certify_out_skip(context, spec, reason);
}

static void show_progress(void *context, double done, double total)
{
    session *s = context;
    s->progress.total = total;
    front_progress_update(&s->progress, done);
}

static bool certify_spec(session *s, int spec, rope_error *error)
{
    certify_subject *subjects = calloc(CERTIFY_SUBJECTS, sizeof *subjects);
    certify_result *results = calloc(CERTIFY_SUBJECTS, sizeof *results);
    const char *text = s->chosen.spec_texts[spec];
    int count = 0;
    bool good = (subjects && results) || rope_fail(error, "out of memory");
    good = good && certify_select_subjects(&s->chosen, spec, s->run.truth, s->run.first, skip,
                                           &s->out, subjects, &count, error);
    if (good && count > 0) {
        char label[80];
        snprintf(label, sizeof label, "certify %.60s", text);
        front_progress_begin(&s->progress, label, 1);
        good = certify_run(subjects, count, &s->run, results, error);
        front_progress_end(&s->progress);
    }
    for (int k = 0; good && k < count; k++)
        good =
            certify_out_result(&s->out, text, certify_select_text(&s->chosen, spec, &subjects[k]),
                               &subjects[k], &results[k], error);
    for (int k = 0; results != NULL && k < count; k++)
        certificate_free(&results[k].certificate);
    free(subjects);
    free(results);
    return good;
}

static int certify(const options *o, int argc, char **argv)
{
    rope_error error;
    session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return front_usage("certify", "out of memory");
    s->run.progress = NULL;
    bool good = parse_run(s, o, &error) &&
                certify_select(&s->chosen, o->kernels, &o->plugins, &o->specs, o->dtypes, &error) &&
                oracle_self_test(&error);
    if (good) {
        s->run.progress = show_progress;
        s->run.context = s;
        good = certify_out_begin(&s->out, o->out, o->csv, certify_select_single(&s->chosen),
                                 s->run.seed, argc, argv, &error);
    }
    if (good && prop_plugins_text(&s->chosen.plugins, s->out.quiet ? stderr : stdout).failed > 0)
        s->out.broken = true;
    for (int i = 0; good && i < s->chosen.spec_count; i++)
        good = certify_spec(s, i, &error);
    int status = good && certify_out_finish(&s->out, &error)
                     ? s->out.broken ? FRONT_FAILS : FRONT_HOLDS
                     : front_usage("certify", "%s", error.text);
    certify_out_free(&s->out);
    certify_select_free(&s->chosen);
    free(s);
    return status;
}

int verb_certify(int argc, char **argv)
{
    options o = {0};
    const front_option table[] = {
        {.name = "kernel",
         .argument = "A,B",
         .help = "kernels; default: the whole registry",
         .value = &o.kernels},
        {.name = "plugin",
         .argument = "F.so",
         .help = "the kernels of a shared object; may be repeated",
         .values = &o.plugins},
        {.name = "spec",
         .argument = "S",
         .help = "what to rotate by, repeatable; default: five presets",
         .values = &o.specs},
        {.name = "dtype",
         .argument = "f32,..",
         .help = "dtypes, or all; default: f32, or a kernel's first",
         .value = &o.dtypes},
        {.name = "positions",
         .argument = "A:B",
         .help = "range, B excluded; default 0:1048576",
         .value = &o.positions},
        {.name = "shard",
         .argument = "I/N",
         .help = "only part I of N, to be merged",
         .value = &o.shard},
        {.name = "out",
         .argument = "FILE",
         .help = "where the certificate goes; several: a folder",
         .value = &o.out},
        {.name = "truth",
         .argument = "T",
         .help = "exact (default) or as-trained",
         .value = &o.truth},
        {.name = "search",
         .argument = "N",
         .help = "evaluations of the adversarial search; default 1048576",
         .value = &o.search},
        {.name = "seed",
         .argument = "N",
         .help = "of random vectors and layouts; default 1",
         .value = &o.seed},
        {.name = "jobs",
         .argument = "N",
         .help = "processes; default: one a processor",
         .value = &o.jobs},
        {.name = "csv", .argument = "[FILE]", .help = "rows as CSV", .value = &o.csv},
        {.name = "recheck",
         .argument = "CERT.json",
         .help = "verify a certificate again instead",
         .value = &o.recheck},
        {.name = "other-binary",
         .help = "with --recheck: the kernel may be of another build",
         .flag = &o.other_binary},
        {0}};
    int status = front_parse(
        argc, argv,
        "certify --kernel K --spec S --positions A:B [OPTION]... | certify --recheck CERT.json",
        "Measures kernels at every position of a range and writes certificates\n"
        "(docs/certificates.md). Exit 1: a contract is broken, a kernel failed, or a\n"
        "certificate does not hold.",
        table, NULL);
    if (status != -1)
        return status;
    if (o.recheck == NULL) {
        if (o.other_binary)
            return front_usage("certify", "--other-binary goes with --recheck only");
        return certify(&o, argc, argv);
    }
    if (o.kernels || o.specs.count || o.dtypes || o.positions || o.shard || o.out || o.truth ||
        o.search || o.csv)
        return front_usage("certify",
                           "--recheck goes with --plugin, --seed, --jobs and --other-binary only");
    return recheck_file(o.recheck, &o.plugins, o.other_binary, o.seed, o.jobs);
}
