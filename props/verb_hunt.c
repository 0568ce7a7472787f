/* `tightrope hunt`: the largest errors that can be found, beside random sampling's, exhaustive
 * certification's and the contract; with --stages where errors come from, with --drift how far
 * scores move when both positions do. */
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/certify_arguments.h"
#include "props/certify_out.h"
#include "props/hunt_report.h"
#include "scripts/front/environment.h"
#include "scripts/front/verbs.h"

enum { SCANNED = 1 << 20 }; /* positions certified before the search: the last of the range */

typedef struct options {
    certify_arguments shared;
    const char *evaluations, *seconds;
    bool stages, drift, no_scan;
} options;

typedef enum mode { MODE_HUNT, MODE_STAGES, MODE_DRIFT } mode;

/* What one subject gave, kept until the run's id is known. */
typedef struct finding {
    hunt_label label;
    const rope_spec *spec;
    hunt_finding hunt;
    stage_result stages;
    drift_result drift;
} finding;

typedef struct session {
    mode mode;
    certify_selection chosen;
    certify_options range;
    uint64_t evaluations;
    double seconds;
    bool scan, quiet, failed;
    int skips;
    finding *findings;
    int count;
    front_progress progress;
} session;

static bool parse(session *s, const options *o, rope_error *error)
{
    const char *csv = o->shared.csv;
    s->range = (certify_options){.seed = 1, .shard = 1, .shards = 1};
    s->evaluations = UINT64_C(1) << 24;
    s->mode = o->stages ? MODE_STAGES : o->drift ? MODE_DRIFT : MODE_HUNT;
    s->scan = !o->no_scan;
    s->quiet = certify_out_to_stdout(csv);
    if (o->stages && o->drift)
        return rope_fail(error, "--stages and --drift exclude each other");
    if (o->shared.specs.count == 0)
        return rope_fail(error, "no --spec given, see `tightrope list presets`");
    if (!certify_arguments_run(&o->shared, &s->range, error) ||
        (o->evaluations != NULL &&
         !front_uint64(o->evaluations, "--evaluations", &s->evaluations, error)) ||
        (o->seconds != NULL && !front_double(o->seconds, "--seconds", &s->seconds, error)))
        return false;
    if (s->evaluations == 0 || (o->seconds != NULL && !(s->seconds > 0)))
        return rope_fail(error, "--evaluations and --seconds must be above 0");
    if (o->seconds != NULL && o->evaluations == NULL)
        s->evaluations = UINT64_MAX;
    return certify_arguments_select(&o->shared, &s->chosen, error) &&
           (csv == NULL || s->quiet || certify_out_writable(csv, error));
}

static void show_progress(void *context, double done, double total)
{
    session *s = context;
    s->progress.total = total;
    front_progress_update(&s->progress, done);
}

/* Exhaustive certification of the last positions, and the search from its worst cases. */
static bool hunt(session *s, const certify_subject *subject, oracle *o,
                 const rope_frequencies *frequencies, finding *f, char *reason, size_t size,
                 rope_error *error)
{
    hunt_finding *h = &f->hunt;
    int64_t starts[CERTIFICATE_STAGES * CERTIFICATE_WORST];
    int start_count = 0;
    h->label = f->label;
    h->first = s->range.first;
    h->end = s->range.end;
    if (s->scan) {
        certify_options scan = s->range;
        certify_result result;
        if (scan.end - scan.first > SCANNED)
            scan.first = scan.end - SCANNED;
        scan.o = o; /* one for all kernels */
        scan.progress = show_progress;
        scan.context = s;
        front_progress_begin(&s->progress, subject->kernel->name, 1);
        bool good = certify_run(subject, 1, &scan, &result, error);
        front_progress_end(&s->progress);
        if (!good)
            return false;
        h->scan = result.certificate;
        if (result.reason[0] != '\0') {
            snprintf(reason, size, "%s", result.reason);
            return true;
        }
    }
    for (int k = 0; k < CERTIFICATE_STAGES; k++)
        for (int i = 0; i < h->scan.stage[k].worst_count; i++)
            starts[start_count++] = h->scan.stage[k].worst[i].position;
    hunt_options how = {.truth = s->range.truth,
                        .seed = s->range.seed,
                        .first = s->range.first,
                        .end = s->range.end,
                        .evaluations = s->evaluations,
                        .seconds = s->seconds,
                        .sample = true,
                        .starts = starts,
                        .start_count = start_count};
    if (!hunt_search(subject, o, frequencies, &how, &h->search, error))
        return false;
    snprintf(reason, size, "%s", h->search.reason);
    return true;
}

/* One subject in the mode at hand. */
static bool study(session *s, int spec, const certify_subject *subject, oracle *o,
                  const rope_frequencies *frequencies, finding *f, rope_error *error)
{
    char reason[256] = "";
    f->spec = subject->spec;
    f->label = (hunt_label){subject->kernel->name, rope_dtype_name(subject->dtype),
                            certify_select_text(&s->chosen, spec, subject),
                            s->range.truth == ROPE_TRUTH_EXACT ? "exact" : "as-trained",
                            s->chosen.plugins.words};
    bool good = true, skip = false;
    if (s->mode == MODE_HUNT)
        good = hunt(s, subject, o, frequencies, f, reason, sizeof reason, error);
    else if (s->mode == MODE_STAGES) {
        good = stages_run(subject, o, frequencies, s->range.end, s->range.seed, &f->stages, error);
        snprintf(reason, sizeof reason, "%s", f->stages.reason);
        skip = strstr(reason, "declares no pipeline") != NULL;
    } else {
        good = drift_run(subject, frequencies, 256, s->range.seed, &f->drift, error);
        snprintf(reason, sizeof reason, "%s", f->drift.reason);
    }
    if (!good)
        return false;
    if (reason[0] != '\0') {
        fprintf(s->quiet ? stderr : stdout, "%s  %s %s %s: %s\n", skip ? "skip" : "FAIL",
                f->label.kernel, f->label.dtype, f->label.spec, reason);
        s->failed = s->failed || !skip;
        return true;
    }
    s->count++;
    s->failed = s->failed || (s->mode == MODE_HUNT && hunt_broken(&f->hunt)) ||
                (s->mode == MODE_STAGES && stages_misfit(&f->stages) > 0.2);
    if (s->quiet)
        return true;
    if (s->mode == MODE_HUNT)
        hunt_print(&f->hunt, f->spec);
    else if (s->mode == MODE_STAGES)
        stages_print(&f->label, &f->stages);
    else
        drift_print(&f->label, &f->drift);
    return true;
}

static void skip(void *context, const char *spec, const rope_error *reason)
{
    session *s = context;
    s->skips++;
    if (!s->quiet)
        printf("skip  %s: %s\n", spec, reason->text);
}

static bool study_spec(session *s, int spec, certify_subject *subjects, rope_error *error)
{
    int count;
    rope_frequencies frequencies;
    if (!certify_select_subjects(&s->chosen, spec, s->range.truth, s->range.first, skip, s,
                                 subjects, &count, error))
        return false;
    finding *more = realloc(s->findings, (size_t)(s->count + count + 1) * sizeof *more);
    if (more == NULL)
        return rope_fail(error, "out of memory");
    s->findings = more;
    if (!rope_spec_resolve(&s->chosen.specs[spec][0], s->range.truth, &frequencies, error))
        return false;
    oracle *o = oracle_new(&s->chosen.specs[spec][0], s->range.truth, error);
    bool good = o != NULL;
    if (good && s->mode != MODE_DRIFT)
        oracle_prepare(o, s->range.first, s->range.end - 1);
    for (int k = 0; good && k < count; k++) {
        s->findings[s->count] = (finding){0};
        good = study(s, spec, &subjects[k], o, &frequencies, &s->findings[s->count], error);
    }
    if (o != NULL)
        oracle_free(o);
    rope_frequencies_free(&frequencies);
    return good;
}

static bool write_rows(session *s, const char *path, front_run *run, rope_error *error)
{
    static const char *const columns[] = {hunt_columns, stages_columns, drift_columns};
    if (!front_run_finish(run, error))
        return false;
    rows_writer *w = rows_create(path, columns[s->mode], error);
    if (w == NULL)
        return false;
    for (int k = 0; k < s->count; k++) {
        const finding *f = &s->findings[k];
        if (s->mode == MODE_HUNT)
            hunt_row(w, run->id, &f->hunt, f->spec);
        else if (s->mode == MODE_STAGES)
            stages_rows(w, run->id, &f->label, &f->stages);
        else
            drift_rows(w, run->id, &f->label, &f->drift);
    }
    if (!rows_commit(w, error))
        return false;
    if (s->quiet)
        return true;
    return front_run_write_beside(run, path, error);
}

static void print_head(const session *s)
{
    if (s->mode != MODE_DRIFT || s->quiet)
        return;
    printf("largest |score(m + k, n + k) - score(m, n)| / (|q| |k|) by the size of k\n%-18s", "");
    for (int j = 0; j < DRIFT_MAGNITUDES; j++)
        printf("      10^%d", j);
    putchar('\n');
}

static int run_all(session *s, const options *o, int argc, char **argv)
{
    rope_error error;
    front_run run;
    certify_subject *subjects = calloc(CERTIFY_SUBJECTS, sizeof *subjects);
    bool good = subjects != NULL || rope_fail(&error, "out of memory");
    good = good && parse(s, o, &error) && oracle_self_test(&error);
    bool begun = good && o->shared.csv != NULL;
    good = good && (!begun || front_run_begin(&run, argc, argv, s->range.seed, &error));
    begun = begun && good;
    if (good) {
        s->failed = prop_plugins_text(&s->chosen.plugins, s->quiet ? stderr : stdout).failed > 0;
        print_head(s);
    }
    for (int i = 0; good && i < s->chosen.spec_count; i++)
        good = study_spec(s, i, subjects, &error);
    good = good && (o->shared.csv == NULL || write_rows(s, o->shared.csv, &run, &error));
    if (begun)
        front_run_free(&run);
    free(subjects);
    if (!good)
        return front_usage("hunt", "%s", error.text);
    return s->failed ? FRONT_FAILS : FRONT_HOLDS;
}

int verb_hunt(int argc, char **argv)
{
    options o = {0};
    const front_option own[] = {
        {.name = "evaluations",
         .argument = "N",
         .help = "pairs to try by climbing; default 16777216",
         .value = &o.evaluations},
        {.name = "seconds",
         .argument = "T",
         .help = "stop climbing after so long",
         .value = &o.seconds},
        {.name = "no-scan", .help = "do not certify every position first", .flag = &o.no_scan},
        {.name = "stages",
         .help = "instead: how much of the error each stage makes",
         .flag = &o.stages},
        {.name = "drift",
         .help = "instead: how far scores move when both positions do",
         .flag = &o.drift},
        {0}};
    front_option table[CERTIFY_OPTIONS];
    certify_arguments_table(&o.shared, own, table);
    int status = front_parse(
        argc, argv, "hunt --kernel K --spec S [OPTION]...",
        "Searches for the largest error of kernels by hill climbing over positions and data.\n"
        "Exit 1: a contract is broken, a kernel failed, or (--stages) the model of a kernel\n"
        "is more than 20 % off.",
        table, NULL);
    if (status != -1)
        return status;
    session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return front_usage("hunt", "out of memory");
    status = run_all(s, &o, argc, argv);
    for (int k = 0; k < s->count; k++)
        certificate_free(&s->findings[k].hunt.scan);
    free(s->findings);
    certify_select_free(&s->chosen);
    free(s);
    return status;
}
