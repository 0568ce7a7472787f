/* `tightrope bench`: times kernels beside the floors, checks what it timed, writes bench.csv. */
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/drift.h"
#include "bench/goals.h"
#include "bench/grid.h"
#include "bench/process.h"
#include "bench/rows.h"
#include "impl/registry.h"
#include "scripts/front/environment.h"
#include "scripts/front/verbs.h"

/* Wall-clock seconds that the in-process part of the quick level may take in all. */
static const double quick_budget = 60;
/* 12 runs: the 95 % interval of the median is the 3rd to the 10th; 6 is the least that has one. */
enum { COLD_RUNS = 12, LEAST_ROUNDS = 6, DEFAULT_SEED = 1 };

typedef struct {
    const char *kernels, *dtypes, *shapes, *level, *plugin, *csv, *seed_text;
    front_values specs;
    bool once, no_processes, goals;
    uint64_t seed;
    bool full;
} options;

typedef struct {
    bench_request request;
    const rope_kernel **kernels;
    bench_problem *problems;
    bench_shape *shapes;
    bench_point *points; /* of the grid, then the cold ones */
    bench_result *results;
    size_t count, cold_from;
    bench_effort effort;
} session;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool add_kernel(const char *name, void *context, rope_error *error)
{
    session *s = context;
    const rope_kernel *kernel = rope_registry_find(name);
    if (kernel == NULL)
        return rope_fail(error, "unknown kernel '%s', see `tightrope list kernels`", name);
    const rope_kernel **kernels =
        realloc(s->kernels, (s->request.kernel_count + 1) * sizeof *kernels);
    if (kernels == NULL)
        return rope_fail(error, "out of memory");
    s->kernels = kernels;
    s->kernels[s->request.kernel_count++] = kernel;
    return true;
}

static bool add_all_kernels(session *s, rope_error *error)
{
    size_t count;
    const rope_header *const *headers = rope_registry(&count);
    for (size_t i = 0; i < count; i++)
        if (headers[i]->kind == ROPE_ROTATION &&
            !add_kernel(((const rope_kernel *)headers[i])->name, s, error))
            return false;
    return true;
}

static bool add_dtype(const char *name, void *context, rope_error *error)
{
    int dtype = rope_dtype_from_name(name);
    if (dtype < 0)
        return rope_fail(error, "unknown dtype '%s', expected f32, f16, bf16 or f64", name);
    *(uint32_t *)context |= 1u << dtype;
    return true;
}

static bool add_problems(session *s, const options *o, rope_error *error)
{
    char texts[BENCH_MOST_SPECS][64];
    int usual = o->specs.count > 0 ? 0 : bench_usual_specs(o->full, texts);
    size_t count = (size_t)(usual > 0 ? usual : o->specs.count);
    s->problems = calloc(count, sizeof *s->problems);
    if (s->problems == NULL)
        return rope_fail(error, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!bench_problem_new(usual > 0 ? texts[i] : o->specs.items[i], !o->once, &s->problems[i],
                               error))
            return false;
        s->request.problem_count++;
    }
    return true;
}

/* Largest tensor: 4 GiB; two of them are allocated. */
static bool check_sizes(const session *s, rope_error *error)
{
    for (size_t p = 0; p < s->request.problem_count; p++)
        for (size_t i = 0; i < s->request.shape_count; i++) {
            const bench_shape *shape = &s->request.shapes[i];
            if (shape->tokens * shape->heads > ((int64_t)1 << 29) / s->problems[p].spec.head_dim)
                return rope_fail(error,
                                 "shape %lldx%lld with head_dim %lld is too large, expected at "
                                 "most 2^29 elements",
                                 (long long)shape->tokens, (long long)shape->heads,
                                 (long long)s->problems[p].spec.head_dim);
        }
    return true;
}

static bool session_new(session *s, const options *o, rope_error *error)
{
    uint32_t dtypes = 0;
    *s = (session){0};
    bool good =
        (o->kernels ? front_split(o->kernels, add_kernel, s, error) : add_all_kernels(s, error)) &&
        (o->dtypes == NULL || front_split(o->dtypes, add_dtype, &dtypes, error)) &&
        add_problems(s, o, error);
    if (!good)
        return false;
    if (o->shapes != NULL) {
        if (!bench_shapes_parse(o->shapes, &s->shapes, &s->request.shape_count, error))
            return false;
        s->request.shapes = s->shapes;
    } else {
        s->request.shapes = bench_usual_shapes;
        s->request.shape_count = BENCH_USUAL_SHAPES;
    }
    s->request.kernels = s->kernels;
    s->request.problems = s->problems;
    s->request.dtypes =
        dtypes ? dtypes : 1u << ROPE_F32 | 1u << ROPE_F16 | 1u << ROPE_BF16 | 1u << ROPE_F64;
    s->request.thin = !o->full && o->shapes == NULL;
    s->effort = (bench_effort){.rounds = o->full ? 24 : 12,
                               .seconds = 0.01,
                               .seed = o->seed,
                               .checked_tokens = o->full ? 64 : 16};
    return check_sizes(s, error);
}

static void session_free(session *s)
{
    for (size_t i = 0; i < s->request.problem_count; i++)
        bench_problem_free(&s->problems[i]);
    free(s->problems);
    free(s->kernels);
    free(s->shapes);
    free(s->points);
    free(s->results);
}

/* A cold run of each kernel: the first of its points at 1 token and at 512 (or at each shape that
 * was asked for), out of place. */
static void add_cold_points(session *s)
{
    s->cold_from = s->count;
    size_t grid = s->count;
    for (size_t k = 0; k < s->request.kernel_count; k++)
        for (size_t i = 0; i < s->request.shape_count; i++) {
            const bench_shape *shape = &s->request.shapes[i];
            if (s->request.shapes == bench_usual_shapes && shape->tokens != 1 &&
                shape->tokens != 512)
                continue;
            for (size_t p = 0; p < grid; p++)
                if (s->points[p].kernel == s->kernels[k] && s->points[p].tokens == shape->tokens &&
                    s->points[p].heads == shape->heads) {
                    bench_point cold = s->points[p];
                    cold.mode = BENCH_COLD;
                    cold.in_place = false;
                    if ((cold.kernel->cpu_features & ~rope_cpu_features()) == 0)
                        s->points[s->count++] = cold;
                    break;
                }
        }
}

static bool make_points(session *s, bool processes, rope_error *error)
{
    s->points = bench_grid(&s->request, &s->count);
    size_t most = s->count + s->request.kernel_count * s->request.shape_count;
    bench_point *grown = s->points ? realloc(s->points, (most + 1) * sizeof *s->points) : NULL;
    if (grown != NULL)
        s->points = grown;
    s->results = calloc(most + 1, sizeof *s->results);
    if (grown == NULL || s->results == NULL)
        return rope_fail(error, "out of memory");
    s->cold_from = s->count;
    if (processes)
        add_cold_points(s);
    return true;
}

static bool measure_all(session *s, const options *o, rope_error *error)
{
    front_progress progress;
    bench_buffers kept = {0};
    bool good = true;
    front_progress_begin(&progress, "bench", (double)s->count);
    double started = now();
    for (size_t i = 0; good && i < s->count; i++) {
        bench_effort effort = s->effort;
        effort.kept = &kept;
        if (i < s->cold_from && !o->full) {
            /* What is left is shared out: rounds and two more for the calibration, 3 subjects. */
            double share = (quick_budget - (now() - started)) / (double)(s->cold_from - i);
            if (share < 0)
                effort.rounds = LEAST_ROUNDS;
            effort.seconds = fmin(5e-3, fmax(2e-4, share / (3 * (effort.rounds + 2))));
        }
        good = i < s->cold_from ? bench_measure(&s->points[i], &effort, &s->results[i], error)
                                : bench_process_measure(&s->points[i], o->plugin, COLD_RUNS,
                                                        &effort, &s->results[i], error);
        front_progress_update(&progress, (double)(i + 1));
    }
    front_progress_end(&progress);
    bench_buffers_free(&kept);
    return good;
}

/* A number of the table; "-" where there is none. */
static const char *cell(char text[24], const char *format, double value)
{
    if (isnan(value))
        return "-";
    snprintf(text, 24, strcmp(format, "g") == 0 ? "%.4g" : "%.4f", value);
    return text;
}

static void print_table(const session *s)
{
    printf("%-16s %-11s %-4s %9s %-12s %-3s %10s %21s %9s %9s %9s  %s\n", "kernel", "pairing",
           "type", "shape", "mode", "in", "ns/element", "95 % interval", "x memcpy", "x scale",
           "error u", "verdict");
    for (size_t i = 0; i < s->count; i++) {
        const bench_point *p = &s->points[i];
        const bench_result *r = &s->results[i];
        char shape[48], interval[64], text[6][24];
        snprintf(shape, sizeof shape, "%lldx%lld", (long long)p->tokens, (long long)p->heads);
        snprintf(interval, sizeof interval, "%s .. %s", cell(text[0], "f", r->ns.low),
                 cell(text[1], "f", r->ns.high));
        printf("%-16s %-11s %-4s %9s %-12s %-3s %10s %21s %9s %9s %9s  %s%s%s\n", p->kernel->name,
               rope_pairing_name(p->problem->spec.pairing), rope_dtype_name(p->dtype), shape,
               bench_mode_name(p->mode), p->in_place ? "yes" : "no",
               cell(text[2], "f", r->ns.median), interval,
               cell(text[3], "f", r->ratio_memcpy.median),
               cell(text[4], "f", r->ratio_scale.median), cell(text[5], "g", r->max_error_u),
               bench_verdict_name(r->verdict), *r->reason ? ": " : "", r->reason);
    }
}

/* Rows to --csv, the record of the run beside them. */
static bool write_rows(const session *s, const options *o, front_run *run, rope_error *error)
{
    if (!front_run_finish(run, error))
        return false;
    rows_writer *w = rows_create(o->csv, bench_columns, error);
    if (w == NULL)
        return false;
    for (size_t i = 0; i < s->count; i++)
        bench_write_row(w, run->id, &s->points[i], &s->results[i]);
    if (*o->csv != '\0' && strcmp(o->csv, "-") != 0) {
        char *copy = strdup(o->csv);
        bool good = copy != NULL && front_run_write(run, dirname(copy), error);
        free(copy);
        if (!good) {
            rows_abandon(w);
            return false;
        }
    }
    return rows_commit(w, error);
}

static int run_bench(session *s, const options *o, int argc, char **argv)
{
    rope_error error;
    front_run run;
    bool processes = !o->no_processes;
    if (processes && !bench_process_available())
        return front_missing("bench", "hyperfine is missing; install it with `apt-get install "
                                      "hyperfine`, or give --no-processes");
    if (!oracle_self_test(&error) || !make_points(s, processes, &error) ||
        !front_run_begin(&run, argc, argv, o->seed, &error))
        return front_usage("bench", "%s", error.text);
    if (!o->full)
        front_run_note(&run, "grid",
                       s->request.thin ? bench_thinning : "quick: 12 samples of 0.2 to 5 ms");
    char drift[256];
    bool good = measure_all(s, o, &error);
    if (good) {
        bench_drift(s->points, s->results, s->cold_from, drift, sizeof drift);
        front_run_note(&run, "floors", drift);
        if (o->csv != NULL)
            good = write_rows(s, o, &run, &error);
        else
            print_table(s);
    }
    front_run_free(&run);
    if (!good)
        return front_usage("bench", "%s", error.text);
    fprintf(stderr, "floors %s\n", drift);
    int status = FRONT_HOLDS;
    for (size_t i = 0; i < s->count; i++)
        if (s->results[i].verdict == BENCH_FAIL)
            status = FRONT_FAILS;
    return status;
}

static int run_once(const session *s, const options *o)
{
    rope_error error;
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

static int run_goals(const options *o)
{
    rope_error error;
    bool all_met;
    if (!bench_goals(o->csv != NULL ? o->csv : "", &all_met, &error))
        return front_usage("bench", "%s", error.text);
    return all_met ? FRONT_HOLDS : FRONT_FAILS;
}

int verb_bench(int argc, char **argv)
{
    options o = {.seed = DEFAULT_SEED};
    const front_option table[] = {
        {.name = "kernel", .argument = "A,B", .help = "kernels; default all", .value = &o.kernels},
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
         .help = "the goals of speed alone: goal,figure,low,high,limit,met",
         .flag = &o.goals},
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
    session s;
    o.full = o.level != NULL && strcmp(o.level, "full") == 0;
    if (o.level != NULL && !o.full && strcmp(o.level, "quick") != 0)
        return front_usage("bench", "unknown level '%s', expected quick or full", o.level);
    if (o.seed_text != NULL && !front_uint64(o.seed_text, "seed", &o.seed, &error))
        return front_usage("bench", "%s", error.text);
    if (o.goals)
        return run_goals(&o);
    if (session_new(&s, &o, &error))
        status = o.once ? run_once(&s, &o) : run_bench(&s, &o, argc, argv);
    else
        status = front_usage("bench", "%s", error.text);
    session_free(&s);
    free(o.specs.items);
    return status;
}
