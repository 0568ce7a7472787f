/* --replay and --mutants of `tightrope verify`. */
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/case.h"
#include "props/mutants.h"
#include "props/mutation.h"
#include "props/verify_options.h"
#include "scripts/front/environment.h"

static int tell(const prop_subject *s, const prop_case *c, const prop_sheet *sheet)
{
    const char *reason;
    bool failed = prop_sheet_failed(sheet, &reason);
    bool skipped = !failed && (sheet->refused || sheet->idle || sheet->made == 0);
    printf("%s %s %s, %lld comparisons\n",
           failed    ? "FAIL"
           : skipped ? "skip"
                     : "pass",
           s->kernel->name, c->property->name, (long long)sheet->made);
    if (failed || skipped)
        printf("     %s\n", failed           ? reason
                            : sheet->refused ? sheet->reason
                                             : "there was nothing to compare");
    printf("%d passed, %d failed%s\n", !failed && !skipped, failed, skipped ? ", 1 skipped" : "");
    return failed || skipped ? FRONT_FAILS : FRONT_HOLDS;
}

/* The subject that the header of a case names. */
static bool make_subject(const prop_case_header *header, prop_orders *p, prop_subject *s,
                         rope_error *error)
{
    const char *text = header->spec_text;
    const rope_kernel *kernel = p->v.kernels[0];
    if (!prop_suite_chosen(&p->v.suite, &text, 1, p->level, header->truth, error))
        return false;
    uint32_t pairing = p->v.suite.entries[0].full_text[0] != NULL ? 0 : 1;
    if (!(kernel->pairings & 1u << pairing) || !(kernel->dtypes & 1u << header->dtype))
        return rope_fail(error, "kernel %s does not take this case's pairing or dtype",
                         kernel->name);
    if (kernel->cpu_features & ~rope_cpu_features())
        return rope_fail(error, "kernel %s needs a CPU feature that this machine lacks",
                         kernel->name);
    *s = prop_suite_subject(&p->v.suite, 0, kernel, pairing, header->dtype, p->v.seed);
    s->partner = prop_partner(kernel, pairing, header->dtype);
    s->weight = PROP_USUAL;
    return true;
}

int prop_replay(const prop_options *o, prop_orders *p)
{
    rope_error error;
    prop_case_header header;
    prop_subject s;
    prop_case c;
    prop_sheet sheet;
    int status = FRONT_USAGE;
    if (p->v.kernel_count != 1)
        return front_usage("verify", "--replay needs --kernel with the name of one rotation");
    if (!prop_case_parse_header(o->replay, &header, &error))
        return front_usage("verify", "%s", error.text);
    if (make_subject(&header, p, &s, &error) && prop_case_parse(o->replay, &s, &c, &error)) {
        if (prop_trial(&s, &c, &sheet, &error))
            status = tell(&s, &c, &sheet);
        prop_case_free(&c);
    }
    free(header.spec_text);
    return status == FRONT_USAGE ? front_usage("verify", "%s", error.text) : status;
}

int prop_verify_mutants(int argc, char **argv, const prop_options *o, prop_orders *p)
{
    rope_error error;
    front_run run;
    const char *only = *o->mutants != '\0' ? o->mutants : NULL;
    char *columns = prop_mutation_columns();
    rows_writer *w = NULL;
    prop_mutation *m = NULL;
    bool to_stdout = o->csv != NULL && (*o->csv == '\0' || strcmp(o->csv, "-") == 0);
    FILE *out = to_stdout ? stderr : stdout;
    bool good = columns != NULL || rope_fail(&error, "out of memory");
    if (good && o->csv != NULL)
        good = (w = rows_create(o->csv, columns, &error)) != NULL;
    good = good && front_run_begin(&run, argc, argv, p->v.seed, &error);
    prop_sum sum = {0};
    if (good) {
        good = prop_suite_standard(&p->v.suite, PROP_QUICK, ROPE_TRUTH_EXACT, &error);
        if (good) {
            prop_suite_warm(&p->v.suite, p->v.seed, p->jobs);
            m = prop_mutation_run(&p->v.suite, p->v.seed, p->jobs, only, &error);
        }
        good = m != NULL && front_run_finish(&run, &error);
        if (good && w != NULL)
            prop_mutation_rows(m, run.id, w);
        if (good && w != NULL && !to_stdout)
            good = front_run_write_beside(&run, o->csv, &error);
        front_run_free(&run);
    }
    if (w != NULL && good)
        good = rows_commit(w, &error);
    else if (w != NULL)
        rows_abandon(w);
    if (good)
        sum = prop_mutation_text(m, out);
    free(columns);
    prop_mutation_free(m);
    if (!good)
        return front_usage("verify", "%s", error.text);
    fprintf(out, "%d passed, %d failed", sum.passed, sum.failed);
    fprintf(out, sum.skipped > 0 ? ", %d skipped\n" : "\n", sum.skipped);
    return sum.failed == 0 && sum.passed > 0 ? FRONT_HOLDS : FRONT_FAILS;
}
