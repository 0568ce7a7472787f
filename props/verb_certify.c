/* `tightrope certify`: kernels measured at every position of a range, and certificates of it
 * verified again. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impl/registry.h"
#include "impl/spec/positions.h"
#include "props/certify.h"
#include "props/certify_out.h"
#include "props/recheck.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

static const char *const default_specs[] = {"llama-2-7b", "llama-3.1-8b", "qwen3-8b", "gpt-oss-20b",
                                            "deepseek-v3"};
enum { DEFAULT_SPECS = sizeof default_specs / sizeof default_specs[0], MOST_SUBJECTS = 400 };

typedef struct options {
    const char *kernels, *dtypes, *positions, *shard, *out, *jobs, *seed, *truth, *csv, *search;
    const char *recheck;
    front_values specs;
    bool other_binary;
} options;

typedef struct session {
    certify_options run;
    const char *spec_texts[64];
    int spec_count;
    rope_spec specs[64][2]; /* in each pairing, as needed */
    uint32_t dtypes;        /* bits; 0 = one for each kernel */
    bool all_kernels;
    const rope_kernel *kernels[128];
    const char *plugins[128];
    int kernel_count;
    certify_out out;
    front_progress progress;
    bool failed;
} session;

static bool add_kernel(const char *name, void *context, rope_error *error)
{
    session *s = context;
    const rope_kernel *kernel = rope_registry_find(name);
    if (kernel == NULL)
        return rope_fail(error, "unknown kernel '%s', see `tightrope list kernels`", name);
    for (int i = 0; i < s->kernel_count; i++)
        if (s->kernels[i] == kernel)
            return rope_fail(error, "kernel %s given twice", name);
    if (s->kernel_count == 128)
        return rope_fail(error, "more than 128 kernels");
    s->kernels[s->kernel_count++] = kernel;
    return true;
}

static bool add_dtype(const char *name, void *context, rope_error *error)
{
    session *s = context;
    int dtype = rope_dtype_from_name(name);
    if (strcmp(name, "all") == 0)
        s->dtypes = 0xf;
    else if (dtype >= 0)
        s->dtypes |= 1u << dtype;
    else
        return rope_fail(error, "unknown dtype '%s', expected f32, f16, bf16, f64 or all", name);
    return true;
}

static bool choose_kernels(session *s, const options *o, rope_error *error)
{
    if (o->kernels != NULL)
        return front_split(o->kernels, add_kernel, s, error);
    s->all_kernels = true;
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    for (size_t i = 0; i < count; i++)
        if (all[i]->kind == ROPE_ROTATION &&
            !add_kernel(((const rope_kernel *)all[i])->name, s, error))
            return false;
    return true;
}

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

static bool parse_specs(session *s, const options *o, rope_error *error)
{
    s->spec_count = o->specs.count > 0 ? o->specs.count : DEFAULT_SPECS;
    if (s->spec_count > 64)
        return rope_fail(error, "more than 64 specs");
    for (int i = 0; i < s->spec_count; i++) {
        s->spec_texts[i] = o->specs.count > 0 ? o->specs.items[i] : default_specs[i];
        rope_spec *given = &s->specs[i][0], *other = &s->specs[i][1];
        if (!rope_spec_parse(s->spec_texts[i], given, error))
            return false;
        if (!rope_spec_copy(given, other))
            return rope_fail(error, "out of memory");
        other->pairing = given->pairing == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
        if (!rope_spec_validate(other, error))
            return false;
    }
    return true;
}

/* The dtypes to certify of a kernel: those asked for that it takes, or f32, or its first. */
static uint32_t dtypes_of(const session *s, const rope_kernel *kernel)
{
    if (s->dtypes != 0)
        return kernel->dtypes & s->dtypes;
    return kernel->dtypes & 1u << ROPE_F32 ? 1u << ROPE_F32
                                           : kernel->dtypes & (~kernel->dtypes + 1);
}

/* Subjects of one spec. Of the whole registry, a kernel that lacks the spec's pairing is certified
 * in the other one (the angles are the same), and what it refuses is a named skip; a kernel that
 * was named must take what was asked. */
static bool choose_subjects(session *s, int spec, certify_subject *subjects, int *count,
                            rope_error *error)
{
    *count = 0;
    for (int k = 0; k < s->kernel_count; k++) {
        const rope_kernel *kernel = s->kernels[k];
        uint32_t dtypes = dtypes_of(s, kernel);
        bool turn = s->all_kernels && !(kernel->pairings & 1u << s->specs[spec][0].pairing);
        if (dtypes == 0 && !s->all_kernels)
            return rope_fail(error, "kernel %s takes none of the dtypes asked for", kernel->name);
        for (uint32_t dtype = 0; dtype < 4; dtype++) {
            certify_subject subject = {kernel, s->plugins[k], &s->specs[spec][turn], dtype};
            rope_error reason;
            if (!(dtypes & 1u << dtype))
                continue;
            if (*count == MOST_SUBJECTS)
                return rope_fail(error, "more than %d certificates of one spec", MOST_SUBJECTS);
            if (certify_takes(&subject, s->run.truth, s->run.first, s->run.first, &reason))
                subjects[(*count)++] = subject;
            else if (s->all_kernels)
                certify_out_skip(&s->out, s->spec_texts[spec], &reason);
            else {
                *error = reason;
                return false;
            }
        }
    }
    return *count > 0 || s->all_kernels || rope_fail(error, "nothing to certify");
}

static void show_progress(void *context, double done, double total)
{
    session *s = context;
    s->progress.total = total;
    front_progress_update(&s->progress, done);
}

static bool certify_spec(session *s, int spec, rope_error *error)
{
    certify_subject *subjects = calloc(MOST_SUBJECTS, sizeof *subjects);
    certify_result *results = calloc(MOST_SUBJECTS, sizeof *results);
    int count = 0;
    bool good = (subjects && results) || rope_fail(error, "out of memory");
    good = good && choose_subjects(s, spec, subjects, &count, error);
    if (good && count > 0) {
        char label[80];
        snprintf(label, sizeof label, "certify %.60s", s->spec_texts[spec]);
        front_progress_begin(&s->progress, label, 1);
        good = certify_run(subjects, count, &s->run, results, error);
        front_progress_end(&s->progress);
    }
    for (int k = 0; good && k < count; k++)
        good = certify_out_result(&s->out, s->spec_texts[spec], &subjects[k], &results[k], error);
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
    bool good = parse_run(s, o, &error) && choose_kernels(s, o, &error) &&
                (o->dtypes == NULL || front_split(o->dtypes, add_dtype, s, &error)) &&
                parse_specs(s, o, &error) && oracle_self_test(&error);
    if (good) {
        s->run.progress = show_progress;
        s->run.context = s;
        uint32_t dtypes = s->kernel_count == 1 ? dtypes_of(s, s->kernels[0]) : 0;
        bool single = s->kernel_count == 1 && s->spec_count == 1 && (dtypes & (dtypes - 1)) == 0;
        good = certify_out_begin(&s->out, o->out, o->csv, single, s->run.seed, argc, argv, &error);
    }
    for (int i = 0; good && i < s->spec_count; i++)
        good = certify_spec(s, i, &error);
    int status = good && certify_out_finish(&s->out, &error)
                     ? s->out.broken ? FRONT_FAILS : FRONT_HOLDS
                     : front_usage("certify", "%s", error.text);
    certify_out_free(&s->out);
    for (int i = 0; i < s->spec_count && i < 64; i++)
        for (int k = 0; k < 2; k++)
            rope_spec_free(&s->specs[i][k]);
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
        return front_usage("certify", "--recheck goes with --seed, --jobs and --other-binary only");
    return recheck_file(o.recheck, o.other_binary, o.seed, o.jobs);
}
