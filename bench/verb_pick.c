/* `tightrope pick`: the fastest kernel that keeps an error budget; exit 1 when none does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/believe.h"
#include "bench/pick.h"
#include "bench/pick_report.h"
#include "impl/registry.h"
#include "scripts/front/verbs.h"

typedef struct {
    const char *spec, *csv;
    rope_dtype dtype;
    int64_t last;
    double budget;
    front_values rows;
} question;

/* Kernels that take the spec and dtype, each with its contract judged. */
static bench_candidate *candidates_of(const question *q, const bench_problem *problem,
                                      size_t *count, rope_error *error)
{
    size_t kernels;
    const rope_header *const *headers = rope_registry(&kernels);
    bench_candidate *list = calloc(kernels + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list != NULL && i < kernels; i++) {
        const rope_kernel *kernel = (const rope_kernel *)headers[i];
        if (headers[i]->kind != ROPE_ROTATION)
            continue;
        bench_candidate *c = &list[(*count)++];
        *c = (bench_candidate){.kernel = kernel,
                               .contract_u = NAN,
                               .ns_low = NAN,
                               .ns = NAN,
                               .ns_high = NAN,
                               .max_error_u = NAN};
        uint32_t missing = kernel->cpu_features & ~rope_cpu_features();
        char text[64];
        rope_cpu_features_text(missing, text, sizeof text);
        if (!(kernel->dtypes & 1u << q->dtype))
            snprintf(c->reason, sizeof c->reason, "does not take %s", rope_dtype_name(q->dtype));
        else if (!(kernel->pairings & 1u << problem->spec.pairing))
            snprintf(c->reason, sizeof c->reason, "does not take the pairing %s",
                     rope_pairing_name(problem->spec.pairing));
        else if (missing != 0)
            snprintf(c->reason, sizeof c->reason, "this CPU lacks %s", text);
        else
            c->contract_u = bench_largest_contract(kernel, problem, q->dtype, q->last, error);
        if (c->reason[0] == '\0' && !(c->contract_u <= q->budget)) {
            if (isinf(c->contract_u))
                snprintf(c->reason, sizeof c->reason, "claims no bound up to position %lld",
                         (long long)q->last);
            else
                snprintf(c->reason, sizeof c->reason, "claims %.6g u, above the budget",
                         c->contract_u);
        }
    }
    if (list == NULL)
        rope_fail(error, "out of memory");
    return list;
}

/* Times here what no rows were given for: 512 tokens that end at the last position. */
static bool measure(const question *q, const bench_problem *problem, bench_candidate *c,
                    rope_error *error)
{
    const bench_effort effort = {.rounds = 12, .seconds = 2e-3, .seed = 1, .checked_tokens = 16};
    bench_point point = {.kernel = c->kernel,
                         .problem = problem,
                         .dtype = q->dtype,
                         .tokens = q->last < 511 ? q->last + 1 : 512,
                         .heads = 32,
                         .last_position = q->last,
                         .in_place = (c->kernel->header.flags & ROPE_IN_PLACE) &&
                                     problem->frequencies.attention_factor >= 1};
    bench_result result;
    if (!bench_measure(&point, &effort, &result, error))
        return false;
    c->ns = result.ns.median;
    c->ns_low = result.ns.low;
    c->ns_high = result.ns.high;
    c->max_error_u = result.max_error_u;
    c->source =
        (bench_source){.tokens = point.tokens, .heads = point.heads, .in_place = point.in_place};
    snprintf(c->source.spec, sizeof c->source.spec, "%s", problem->text);
    if (result.verdict != BENCH_PASS)
        snprintf(c->reason, sizeof c->reason, "%.250s", result.reason);
    return true;
}

static bool from_rows(const question *q, const bench_problem *problem, bench_candidate *list,
                      size_t count, rope_error *error)
{
    for (int f = 0; f < q->rows.count; f++) {
        rows_table table;
        if (!rows_read(q->rows.items[f], &table, error))
            return false;
        bool good = rows_column(&table, "ns_per_element") >= 0 ||
                    rope_fail(error, "%s: no column 'ns_per_element', expected rows of bench",
                              q->rows.items[f]);
        good = good && bench_believe(q->rows.items[f], &table, error);
        for (size_t i = 0; good && i < count; i++)
            if (list[i].reason[0] == '\0')
                bench_candidate_from_rows(&list[i], problem, q->dtype, q->last, q->rows.items[f],
                                          &table);
        rows_free(&table);
        if (!good)
            return false;
    }
    return true;
}

static int answer(const question *q)
{
    rope_error error;
    bench_problem problem;
    size_t count;
    if (!oracle_self_test(&error) || !bench_problem_new(q->spec, true, &problem, &error))
        return front_usage("pick", "%s", error.text);
    bench_candidate *list = candidates_of(q, &problem, &count, &error);
    bool good = list != NULL;
    if (good && q->rows.count > 0)
        good = from_rows(q, &problem, list, count, &error);
    for (size_t i = 0; good && q->rows.count == 0 && i < count; i++)
        if (list[i].reason[0] == '\0')
            good = measure(q, &problem, &list[i], &error);
    for (size_t i = 0; good && i < count; i++)
        bench_candidate_judge(&list[i], q->budget);
    int best = good ? bench_pick(list, count) : -1;
    if (good && q->csv != NULL)
        good = bench_pick_write_csv(q->csv, list, count, best, &error);
    else if (good)
        bench_pick_print(list, count, best, q->dtype);
    free(list);
    bench_problem_free(&problem);
    if (!good)
        return front_usage("pick", "%s", error.text);
    if (best < 0)
        fprintf(stderr, "tightrope pick: no kernel keeps %g u up to position %lld\n", q->budget,
                (long long)q->last);
    return best >= 0 ? FRONT_HOLDS : FRONT_FAILS;
}

int verb_pick(int argc, char **argv)
{
    question q = {0};
    const char *dtype = NULL, *last = NULL, *budget = NULL;
    const front_option options[] = {
        {.name = "spec", .argument = "S", .help = "what to rotate by", .value = &q.spec},
        {.name = "dtype", .argument = "T", .help = "f32, f16, bf16 or f64", .value = &dtype},
        {.name = "max-position",
         .argument = "N",
         .help = "positions 0..N are rotated",
         .value = &last},
        {.name = "max-error",
         .argument = "U",
         .help = "budget: normwise error of a pair, in u",
         .value = &budget},
        {.name = "csv", .argument = "[FILE]", .help = "all candidates as CSV", .value = &q.csv},
        {0}};
    int status = front_parse(
        argc, argv, "pick --spec S --dtype T --max-position N --max-error U [BENCH.csv...]",
        "The fastest kernel whose contract keeps an error budget; times from "
        "rows of bench, or measured here and now.\n"
        "Where several runs time a kernel, the row nearest the question counts (spec, then 512 "
        "tokens,\nthen in place); among equals one of a run whose floors did not drift, then of "
        "the newest run,\nthen of the first file. Notes say where times must not be ranked.",
        options, &q.rows);
    rope_error error;
    if (status == -1) {
        int type = dtype != NULL ? rope_dtype_from_name(dtype) : -1;
        if (q.spec == NULL || dtype == NULL || last == NULL || budget == NULL)
            status = front_usage("pick",
                                 "--%s is missing, expected --spec, --dtype, "
                                 "--max-position and --max-error",
                                 q.spec == NULL  ? "spec"
                                 : dtype == NULL ? "dtype"
                                 : last == NULL  ? "max-position"
                                                 : "max-error");
        else if (type < 0)
            status =
                front_usage("pick", "unknown dtype '%s', expected f32, f16, bf16 or f64", dtype);
        else if (!front_int64(last, "max-position", 0, (int64_t)1 << 40, &q.last, &error) ||
                 !front_double(budget, "max-error", &q.budget, &error))
            status = front_usage("pick", "%s", error.text);
        else if (!(q.budget > 0))
            status = front_usage("pick", "max-error %s is no positive number", budget);
        q.dtype = type < 0 ? ROPE_F32 : (rope_dtype)type;
    }
    if (status == -1)
        status = answer(&q);
    return status;
}
