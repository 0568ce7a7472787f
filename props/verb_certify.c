/* `tightrope certify`: kernels measured at every position of a range, and certificates of it
 * verified again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "props/certify_arguments.h"
#include "props/certify_out.h"
#include "props/recheck.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

typedef struct options {
    certify_arguments shared;
    const char *shard, *out, *search, *recheck;
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

static bool parse_run(session *s, const options *o, rope_error *error)
{
    certify_options *run = &s->run;
    int64_t first, end;
    *run = (certify_options){.seed = 1, .shard = 1, .shards = 1, .search = 1 << 20};
    if (!certify_arguments_run(&o->shared, run, error) ||
        (o->search != NULL && !front_uint64(o->search, "--search", &run->search, error)) ||
        (o->shard != NULL && !parse_shard(o->shard, run, error)))
        return false;
    certificate_shard_range(run->first, run->end, run->shard, run->shards, &first, &end);
    return first < end || rope_fail(error,
                                    "shard %" PRIu64 "/%" PRIu64 " of --positions is empty, "
                                    "expected at most as many shards as positions",
                                    run->shard, run->shards);
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
                certify_arguments_select(&o->shared, &s->chosen, &error) &&
                oracle_self_test(&error);
    if (good) {
        s->run.progress = show_progress;
        s->run.context = s;
        good = certify_out_begin(&s->out, o->out, o->shared.csv, certify_select_single(&s->chosen),
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
    const front_option own[] = {{.name = "shard",
                                 .argument = "I/N",
                                 .help = "only part I of N, to be merged",
                                 .value = &o.shard},
                                {.name = "out",
                                 .argument = "FILE",
                                 .help = "where the certificate goes; several: a folder",
                                 .value = &o.out},
                                {.name = "search",
                                 .argument = "N",
                                 .help = "evaluations of the adversarial search; default 1048576",
                                 .value = &o.search},
                                {.name = "recheck",
                                 .argument = "CERT.json",
                                 .help = "verify a certificate again instead",
                                 .value = &o.recheck},
                                {.name = "other-binary",
                                 .help = "with --recheck: the kernel may be of another build",
                                 .flag = &o.other_binary},
                                {0}};
    front_option table[CERTIFY_OPTIONS];
    certify_arguments_table(&o.shared, own, table);
    int status = front_parse(
        argc, argv,
        "certify --kernel K --spec S --positions A:B [OPTION]... | certify --recheck CERT.json",
        "Measures kernels at every position of a range and writes certificates\n"
        "(docs/certificates.md); without --spec on llama-2, llama-3.1, qwen3, gpt-oss and\n"
        "deepseek-v3. Exit 1: a contract is broken, a kernel failed, or a certificate does\n"
        "not hold.",
        table, NULL);
    if (status != -1)
        return status;
    if (o.recheck == NULL) {
        if (o.other_binary)
            return front_usage("certify", "--other-binary goes with --recheck only");
        return certify(&o, argc, argv);
    }
    const certify_arguments *a = &o.shared;
    if (a->kernels || a->specs.count || a->dtypes || a->positions || o.shard || o.out || a->truth ||
        o.search || a->csv)
        return front_usage("certify",
                           "--recheck goes with --plugin, --seed, --jobs and --other-binary only");
    return recheck_file(o.recheck, &a->plugins, o.other_binary, a->seed, a->jobs);
}
