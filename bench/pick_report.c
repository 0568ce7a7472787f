#include "bench/pick_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "impl/registry.h"
#include "scripts/front/environment.h"

static void record_of(const bench_source *s, char *text, size_t size)
{
    if (s->file == NULL)
        front_here_summary(text, size);
    else if (s->run[0] == '\0' || !front_run_summary(s->file, s->run, text, size))
        snprintf(text, size, "no record of it lies beside %.100s", s->file);
}

/* Which measurement the time is of: empty where there is none. */
static void write_source(rows_writer *w, const bench_candidate *c)
{
    const bench_source *s = &c->source;
    bool timed = c->ns > 0;
    char record[256] = "";
    if (timed)
        record_of(s, record, sizeof record);
    rows_text(w, timed && s->file != NULL ? s->file : "");
    rows_number(w, timed && s->file != NULL ? (double)s->line : NAN);
    rows_text(w, s->spec);
    rows_number(w, timed ? (double)s->tokens : NAN);
    rows_number(w, timed ? (double)s->heads : NAN);
    rows_text(w, !timed ? "" : s->in_place ? "yes" : "no");
    rows_text(w, s->run);
    rows_text(w, record);
}

/* What the record of its run says of the floors: "drifted: ...", "steady: ...", or nothing. */
static void floors_of(const bench_source *s, char *text, size_t size)
{
    *text = '\0';
    if (s->file != NULL)
        front_run_fact(s->file, s->run, "notes", "floors", text, size);
}

/* Whether two times may be ranked. */
static bool can_compare(const bench_candidate *a, const bench_candidate *b)
{
    return bench_same_source(&a->source, &b->source) && !a->source.drifted;
}

bool bench_pick_write_csv(const char *path, const bench_candidate *list, size_t count, int best,
                          rope_error *error)
{
    rows_writer *w = rows_create(path,
                                 "kernel,picked,contract_u,max_error_u,ns_per_element,ns_ci_low,"
                                 "ns_ci_high,reason,file,line,spec,tokens,heads,in_place,run,"
                                 "record,faster_than_it,floors",
                                 error);
    if (w == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        rows_text(w, list[i].kernel->name);
        rows_text(w, (int)i == best ? "yes" : "no");
        rows_number(w, isinf(list[i].contract_u) ? NAN : list[i].contract_u);
        rows_number(w, list[i].max_error_u);
        rows_number(w, list[i].ns);
        rows_number(w, list[i].ns_low);
        rows_number(w, list[i].ns_high);
        rows_text(w, list[i].reason);
        write_source(w, &list[i]);
        bool other = best >= 0 && (int)i != best && list[i].reason[0] == '\0';
        bool known =
            other && bench_is_faster(&list[best], &list[i]) && can_compare(&list[best], &list[i]);
        rows_text(w, !other ? "" : known ? "yes" : "not known");
        char floors[256];
        floors_of(&list[i].source, floors, sizeof floors);
        rows_text(w, floors);
        rows_end(w);
    }
    return rows_commit(w, error);
}

static void print_source(const bench_source *s, rope_dtype dtype)
{
    printf("  %-16s ", "");
    if (s->file != NULL)
        printf("timed on %s line %zu: ", s->file, s->line);
    else
        printf("timed now: ");
    printf("%s %s %lldx%lld%s%s%s%s\n", s->spec, rope_dtype_name(dtype), (long long)s->tokens,
           (long long)s->heads, s->in_place ? " in place" : "", s->run[0] != '\0' ? ", run " : "",
           s->run, s->preferred ? ", preferred to another run's" : "");
}

static const char *run_name(const bench_source *s)
{
    return s->file == NULL ? "now" : s->run[0] != '\0' ? s->run : "without name";
}

/* Whether it is the first of the list that is timed in its run. */
static bool is_first_of_run(const bench_candidate *list, size_t i)
{
    bool first = list[i].reason[0] == '\0';
    for (size_t j = 0; j < i && first; j++)
        first = list[j].reason[0] != '\0' || !bench_same_run(&list[j].source, &list[i].source);
    return first;
}

/* Each run once: what it was made with; then what keeps its times, or those of several runs, from
 * being ranked. */
static void print_records(const bench_candidate *list, size_t count)
{
    char text[256], runs[128] = "";
    int different = 0;
    for (size_t i = 0; i < count; i++)
        if (is_first_of_run(list, i)) {
            record_of(&list[i].source, text, sizeof text);
            printf("run %s: %s\n", run_name(&list[i].source), text);
            size_t used = strlen(runs);
            snprintf(runs + used, sizeof runs - used, "%s%s", different++ ? ", " : "",
                     run_name(&list[i].source));
        }
    if (different > 1)
        printf("note: the times are of %d runs (%s): the machine may have been faster in one than "
               "in another\n",
               different, runs);
    for (size_t i = 0; i < count; i++)
        if (is_first_of_run(list, i) && list[i].source.drifted) {
            floors_of(&list[i].source, text, sizeof text);
            printf("note: run %s, floors %s\n", run_name(&list[i].source), text);
        }
}

/* What keeps the fastest from being it for certain. */
static void print_doubts(const bench_candidate *list, size_t count, int best)
{
    int next = best >= 0 ? bench_runner_up(list, count, best) : -1;
    if (next < 0)
        return;
    const bench_candidate *a = &list[best], *b = &list[next];
    if (!bench_is_faster(a, b))
        printf("note: the intervals of %s and %s overlap: which of them is faster is not known\n",
               a->kernel->name, b->kernel->name);
    if (!bench_same_source(&a->source, &b->source))
        printf("note: %s and %s were not timed on the same spec, shape, place and run: the ranking "
               "between them is uncertain\n",
               a->kernel->name, b->kernel->name);
    else if (a->source.drifted)
        printf("note: the floors of the run that timed %s and %s drifted: the ranking between them "
               "is uncertain\n",
               a->kernel->name, b->kernel->name);
}

void bench_pick_print(const bench_candidate *list, size_t count, int best, rope_dtype dtype)
{
    if (best >= 0)
        printf("%s\n", list[best].kernel->name);
    for (size_t i = 0; i < count; i++) {
        const bench_candidate *c = &list[i];
        char measured[32] = "";
        if (!isnan(c->max_error_u))
            snprintf(measured, sizeof measured, "%.6g u", c->max_error_u);
        printf("  %-16s ", c->kernel->name);
        if (*c->reason != '\0')
            printf("no: %s\n", c->reason);
        else
            printf("contract %.6g u, %s%s, %.4g ns per element [%.4g, %.4g]%s\n", c->contract_u,
                   isnan(c->max_error_u) ? "error not measured up to that position" : "measured ",
                   measured, c->ns, c->ns_low, c->ns_high, (int)i == best ? ", the fastest" : "");
        if (*c->reason == '\0')
            print_source(&c->source, dtype);
    }
    print_records(list, count);
    print_doubts(list, count, best);
}
