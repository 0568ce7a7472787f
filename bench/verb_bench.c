/* `tightrope bench`: times kernels beside the floors, checks what it timed, writes bench.csv. */
#include <math.h>
#include <string.h>

#include "bench/drift.h"
#include "bench/goals.h"
#include "bench/process.h"
#include "bench/rows.h"
#include "bench/session.h"
#include "impl/registry.h"
#include "scripts/front/environment.h"
#include "scripts/front/verbs.h"

enum { DEFAULT_SEED = 1 };

/* A number of the table; "-" where there is none. */
static const char *cell(char text[24], const char *format, double value)
{
    if (isnan(value))
        return "-";
    snprintf(text, 24, strcmp(format, "g") == 0 ? "%.4g" : "%.4f", value);
    return text;
}

static void print_line(const bench_row_key *key, const bench_result *r)
{
    char shape[48], interval[64], text[6][24];
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)key->tokens, (long long)key->heads);
    snprintf(interval, sizeof interval, "%s .. %s", cell(text[0], "f", r->ns.low),
             cell(text[1], "f", r->ns.high));
    printf("%-16s %-11s %-4s %9s %-12s %-3s %10s %21s %9s %9s %9s  %s%s%s\n", key->kernel,
           *key->pairing ? key->pairing : "-", key->dtype, shape, key->mode,
           key->in_place ? "yes" : "no", cell(text[2], "f", r->ns.median), interval,
           cell(text[3], "f", r->ratio_memcpy.median), cell(text[4], "f", r->ratio_scale.median),
           cell(text[5], "g", r->max_error_u), bench_verdict_name(r->verdict),
           *r->reason ? ": " : "", r->reason);
}

static void print_table(const bench_session *s)
{
    printf("%-16s %-11s %-4s %9s %-12s %-3s %10s %21s %9s %9s %9s  %s\n", "kernel", "pairing",
           "type", "shape", "mode", "in", "ns/element", "95 % interval", "x memcpy", "x scale",
           "error u", "verdict");
    for (size_t i = 0; i < s->count; i++) {
        const bench_row_key key = bench_point_key(&s->points[i]);
        print_line(&key, &s->results[i]);
    }
    for (size_t i = 0; i < s->encoding_count; i++) {
        const bench_row_key key = bench_encoding_key(&s->encodings[i]);
        print_line(&key, &s->encoding_results[i]);
    }
}

/* Where rows went to a file: one line that says so, of how many and what came of them; not
 * on standard output, which FILE may name too. */
static void print_closing(const bench_session *s, const char *csv)
{
    static const bench_verdict worst[] = {BENCH_FAIL, BENCH_NO_CONTRACT, BENCH_SKIP, BENCH_PASS};
    size_t counts[4] = {0};
    for (size_t i = 0; i < s->count; i++)
        counts[s->results[i].verdict]++;
    for (size_t i = 0; i < s->encoding_count; i++)
        counts[s->encoding_results[i].verdict]++;
    fprintf(stderr, "%zu rows written to %s", s->count + s->encoding_count, csv);
    const char *separator = ": ";
    for (int v = 0; v < 4; v++)
        if (counts[worst[v]] > 0) {
            fprintf(stderr, "%s%zu %s", separator, counts[worst[v]], bench_verdict_name(worst[v]));
            separator = ", ";
        }
    fputc('\n', stderr);
}

/* Writes the record of the run beside the rows, then the rows; w is gone afterwards. */
static bool write_rows(const bench_session *s, const bench_options *o, front_run *run,
                       rows_writer *w, rope_error *error)
{
    if (!front_run_write_beside(run, o->csv, error)) {
        rows_abandon(w);
        return false;
    }
    for (size_t i = 0; i < s->count; i++) {
        const bench_row_key key = bench_point_key(&s->points[i]);
        bench_write_row(w, run->id, &key, &s->results[i]);
    }
    for (size_t i = 0; i < s->encoding_count; i++) {
        const bench_row_key key = bench_encoding_key(&s->encodings[i]);
        bench_write_row(w, run->id, &key, &s->encoding_results[i]);
    }
    return rows_commit(w, error);
}

static bool measure(bench_session *s, const bench_options *o, front_run *run, rope_error *error)
{
    /* Opened first: what cannot be written must show before the work. */
    rows_writer *w = o->csv != NULL ? rows_create(o->csv, bench_columns, error) : NULL;
    if (o->csv != NULL && w == NULL)
        return false;
    if (!o->full)
        front_run_note(run, "grid",
                       s->request.thin ? bench_thinning : "quick: 12 samples of 0.2 to 5 ms");
    char drift[256];
    bool good = bench_session_run(s, o, error);
    if (good) {
        bench_drift(s->points, s->results, s->cold_from, drift, sizeof drift);
        front_run_note(run, "floors", drift);
        good = front_run_finish(run, error);
    }
    if (!good) {
        if (w != NULL)
            rows_abandon(w);
        return false;
    }
    if (w != NULL)
        good = write_rows(s, o, run, w, error);
    if (good && w != NULL && *o->csv != '\0' && strcmp(o->csv, "-") != 0)
        print_closing(s, o->csv);
    if (w == NULL)
        print_table(s);
    fprintf(stderr, "floors %s\n", drift);
    return good;
}

static int run_bench(bench_session *s, const bench_options *o, int argc, char **argv)
{
    rope_error error;
    front_run run;
    bool processes = !o->no_processes;
    if (processes && !bench_process_available())
        return front_missing("bench", "hyperfine is missing; install it with `apt-get install "
                                      "hyperfine`, or give --no-processes");
    if (!oracle_self_test(&error) || !bench_session_plan(s, processes, &error) ||
        !front_run_begin(&run, argc, argv, o->seed, &error))
        return front_usage("bench", "%s", error.text);
    bool good = measure(s, o, &run, &error);
    front_run_free(&run);
    if (!good)
        return front_usage("bench", "%s", error.text);
    int status = FRONT_HOLDS;
    for (size_t i = 0; i < s->count; i++)
        if (s->results[i].verdict == BENCH_FAIL)
            status = FRONT_FAILS;
    for (size_t i = 0; i < s->encoding_count; i++)
        if (s->encoding_results[i].verdict == BENCH_FAIL)
            status = FRONT_FAILS;
    return status;
}

static int run_once(const bench_session *s, const bench_options *o)
{
    rope_error error;
    if (s->encoding_count > 0 && o->kernels != NULL)
        return front_usage("bench", "--once takes rotation kernels, see `tightrope list kernels`");
    bench_point point = {.kernel = o->kernels ? s->kernels[0] : NULL,
                         .problem = &s->problems[0],
                         .tokens = s->request.shapes[0].tokens,
                         .heads = s->request.shapes[0].heads,
                         .last_position = BENCH_LAST_POSITION};
    while (point.dtype < ROPE_F64 && !(s->request.dtypes & 1u << point.dtype))
        point.dtype++;
    if (point.kernel != NULL && (point.kernel->cpu_features & ~rope_cpu_features()) != 0)
        return front_missing("bench",
                             "%s needs a CPU that has what this one lacks, see `tightrope "
                             "list kernels`",
                             point.kernel->name);
    return bench_once(&point, o->seed, &error) ? FRONT_HOLDS
                                               : front_usage("bench", "%s", error.text);
}

static int run_goals(const bench_options *o)
{
    rope_error error;
    bool all_met;
    if (!bench_goals(o->csv != NULL ? o->csv : "", o->goals, &all_met, &error))
        return front_usage("bench", "%s", error.text);
    return all_met ? FRONT_HOLDS : FRONT_FAILS;
}

int verb_bench(int argc, char **argv)
{
    bench_options o = {.seed = DEFAULT_SEED};
    const front_option table[] = {
        {.name = "kernel", .argument = "A,B", .help = "kernels; default all", .value = &o.kernels},
        {.name = "plugin",
         .argument = "FILE.so",
         .help = "its kernels instead of this build's, or beside those that --kernel names",
         .value = &o.plugin},
        {.name = "spec",
         .argument = "S",
         .help = "a spec, repeatable; default by level",
         .values = &o.specs},
        {.name = "dtype",
         .argument = "f32,...",
         .help = "element types; default all that a kernel takes",
         .value = &o.dtypes},
        {.name = "shape",
         .argument = "TxH,...",
         .help = "tokens x heads; default 1x32,16x32,512x32,4096x32",
         .value = &o.shapes},
        {.name = "level",
         .argument = "quick|full",
         .help = "quick (about a minute) or the whole grid",
         .value = &o.level},
        {.name = "seed", .argument = "N", .help = "of the data; default 1", .value = &o.seed_text},
        {.name = "csv",
         .argument = "[FILE]",
         .help = "rows as CSV, and FILE's folder gets <run>.json",
         .value = &o.csv},
        {.name = "no-processes",
         .help = "leave out the cold starts that hyperfine times",
         .flag = &o.no_processes},
        {.name = "goals",
         .argument = "[TEXT]",
         .help = "the goals of speed alone, or those whose names contain TEXT: "
                 "goal,figure,low,high,limit,met",
         .value = &o.goals},
        {.name = "once",
         .help = "one plan and apply and no output: what the cold starts time",
         .flag = &o.once},
        {0}};
    int status = front_parse(argc, argv, "bench [OPTION]...",
                             "Times kernels beside memcpy and an in-place scale loop of the same "
                             "bytes, and checks what it timed.",
                             table, NULL);
    if (status != -1)
        return status;
    rope_error error;
    bench_session s;
    o.full = o.level != NULL && strcmp(o.level, "full") == 0;
    if (o.level != NULL && !o.full && strcmp(o.level, "quick") != 0)
        return front_usage("bench", "unknown level '%s', expected quick or full", o.level);
    if (o.seed_text != NULL && !front_uint64(o.seed_text, "seed", &o.seed, &error))
        return front_usage("bench", "%s", error.text);
    if (o.goals != NULL)
        return run_goals(&o);
    if (bench_session_new(&s, &o, &error))
        status = o.once ? run_once(&s, &o) : run_bench(&s, &o, argc, argv);
    else
        status = front_usage("bench", "%s", error.text);
    bench_session_free(&s);
    return status;
}
