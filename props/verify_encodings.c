#include "props/verify_encodings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "impl/registry.h"
#include "props/annotate.h"
#include "props/verify_options.h"

enum { MAX_RESULTS = 2048 };

struct prop_encoding_sheet {
    int count;
    bool overflow; /* more results than there is room for: a failure, since some would go unseen */
    bool crashed;
    char reason[PROP_REASON];
    prop_encoding_result results[MAX_RESULTS];
};

bool prop_encodings_add(prop_encodings *e, const rope_header *kernel, rope_error *error)
{
    if (kernel->kind == ROPE_ROTATION)
        return true;
    for (int i = 0; i < e->count; i++)
        if (e->kernels[i] == kernel)
            return true;
    if (e->count == PROP_MAX_ENCODINGS)
        return rope_fail(error, "more than %d encodings", (int)PROP_MAX_ENCODINGS);
    e->kernels[e->count++] = kernel;
    return true;
}

static void keep(const prop_encoding_result *result, void *context)
{
    struct prop_encoding_sheet *sheet = context;
    prop_beat();
    if (sheet->count == MAX_RESULTS)
        sheet->overflow = true;
    else
        sheet->results[sheet->count++] = *result;
}

static int body(void *context)
{
    const prop_encoding_work *w = context;
    prop_encoding_check(w->kernel, w->seed, w->level, keep, w->sheet);
    return 0;
}

bool prop_encodings_prepare(prop_encodings *e, uint64_t seed, int level, rope_error *error)
{
    e->seed = seed;
    e->level = level;
    for (int i = 0; i < e->count; i++) {
        e->sheets[i] = prop_share(sizeof *e->sheets[i]);
        if (e->sheets[i] == NULL)
            return rope_fail(error, "out of memory");
        e->works[i] = (prop_encoding_work){e->kernels[i], e->sheets[i], seed, level};
        e->errands[i] = (prop_errand){.body = body, .context = &e->works[i]};
    }
    return true;
}

void prop_encodings_book(prop_encodings *e)
{
    for (int i = 0; i < e->count; i++) {
        const prop_end *end = &e->errands[i].end;
        if (end->outcome == PROP_FINISHED && end->status == 0)
            continue;
        e->sheets[i]->crashed = true;
        prop_end_text(end, e->sheets[i]->reason, sizeof e->sheets[i]->reason);
    }
}

void prop_encodings_free(prop_encodings *e)
{
    for (int i = 0; i < e->count; i++)
        if (e->sheets[i] != NULL)
            prop_unshare(e->sheets[i], sizeof *e->sheets[i]);
    *e = (prop_encodings){0};
}

/* One property of one kernel over all its shapes. */
typedef struct {
    int shapes;
    int64_t cases;
    double ratio, bound;
    int64_t position;
    const prop_encoding_result *failure;
} line;

static line line_of(const struct prop_encoding_sheet *sheet, const char *property)
{
    line l = {0};
    for (int i = 0; i < sheet->count; i++) {
        const prop_encoding_result *r = &sheet->results[i];
        if (strcmp(r->property, property) != 0)
            continue;
        l.shapes++;
        l.cases += r->cases;
        if (r->failed && l.failure == NULL)
            l.failure = r;
        if (r->bound_u > 0 && r->max_error_u / r->bound_u > l.ratio) {
            l.ratio = r->max_error_u / r->bound_u;
            l.bound = r->bound_u;
            l.position = r->worst_position;
        }
    }
    return l;
}

/* The command that repeats a kernel's run. */
enum { REPLAY = 192 };
static const char *replay_of(const prop_encodings *e, int kernel, char text[REPLAY])
{
    snprintf(text, REPLAY, "tightrope verify --kernel %s%s%s --seed %" PRIu64,
             rope_header_name(e->kernels[kernel]), e->level > 0 ? " --level " : "",
             e->level > 0 ? prop_level_name((prop_level)e->level) : "", e->seed);
    return text;
}

static void print_failure(const prop_encodings *e, int kernel, const char *property,
                          const char *spec, const char *reason, FILE *out)
{
    char replay[REPLAY];
    fprintf(out, "FAIL %-14s %-14s %s\n     %s\n     replay: %s\n",
            rope_header_name(e->kernels[kernel]), property, spec, reason,
            replay_of(e, kernel, replay));
    prop_annotate(rope_header_name(e->kernels[kernel]), property, reason, out);
}

prop_sum prop_encodings_text(const prop_encodings *e, FILE *out)
{
    prop_sum sum = {0};
    for (int k = 0; k < e->count; k++) {
        const struct prop_encoding_sheet *sheet = e->sheets[k];
        for (const prop_encoding_property *p = prop_encoding_properties; p->name != NULL; p++) {
            line l = line_of(sheet, p->name);
            if (l.shapes == 0)
                continue;
            if (l.failure != NULL) {
                print_failure(e, k, p->name, l.failure->spec, l.failure->reason, out);
                sum.failed++;
                continue;
            }
            fprintf(out, "pass %-14s %-14s %3d specs %9" PRId64 " cases",
                    rope_header_name(e->kernels[k]), p->name, l.shapes, l.cases);
            if (l.bound > 0)
                fprintf(out, "  worst %.5g of %.5g u (%.3g %%) at position %" PRId64,
                        l.ratio * l.bound, l.bound, 100 * l.ratio, l.position);
            fputc('\n', out);
            sum.passed++;
        }
        if (sheet->crashed || sheet->overflow || sheet->count == 0) {
            print_failure(e, k, "environment", "",
                          sheet->crashed    ? sheet->reason
                          : sheet->overflow ? "more results than there is room for"
                                            : "no property was judged",
                          out);
            sum.failed++;
        }
    }
    return sum;
}

static void row(const char *run, const rope_header *kernel, const prop_encoding_result *r,
                const char *replay, rows_writer *w)
{
    bool figures = r->bound_u > 0;
    rows_text(w, run);
    rows_text(w, rope_header_name(kernel));
    rows_text(w, "");
    rows_text(w, "f32");
    rows_text(w, r->spec);
    rows_text(w, "exact");
    rows_text(w, r->property);
    rows_text(w, "all");
    rows_integer(w, r->positions);
    rows_integer(w, r->cases);
    rows_number(w, figures ? r->max_error_u : NAN);
    rows_number(w, NAN); /* RMS, ulp and shares are measured for rotations only */
    rows_number(w, NAN);
    rows_number(w, NAN);
    rows_number(w, figures ? r->bound_u : NAN);
    rows_integer(w, r->worst_position);
    rows_integer(w, r->worst_element);
    rows_hex(w, r->worst_x);
    rows_empty(w);
    rows_text(w, r->failed ? "fail" : "pass");
    rows_text(w, r->failed ? r->reason : "");
    rows_text(w, r->failed ? replay : "");
    rows_number(w, figures ? r->max_error_u / r->bound_u : NAN);
    rows_number(w, NAN);
    rows_number(w, NAN); /* exact_value: of the decay curve */
    rows_end(w);
}

void prop_encodings_rows(const prop_encodings *e, const char *run, rows_writer *w)
{
    for (int k = 0; k < e->count; k++) {
        char text[REPLAY];
        const struct prop_encoding_sheet *sheet = e->sheets[k];
        const char *replay = replay_of(e, k, text);
        for (int i = 0; i < sheet->count; i++)
            row(run, e->kernels[k], &sheet->results[i], replay, w);
        if (sheet->crashed || sheet->overflow || sheet->count == 0) {
            prop_encoding_result lost = {.property = "environment", .failed = true};
            snprintf(lost.reason, sizeof lost.reason, "%.190s",
                     sheet->crashed ? sheet->reason : "not every property was judged");
            row(run, e->kernels[k], &lost, replay, w);
        }
    }
}

static void test_case(const char *kernel, const char *name, const char *failure, FILE *out)
{
    if (out == NULL)
        return;
    fprintf(out, "  <testcase classname=\"tightrope.%s\" name=\"%s\"", kernel, name);
    if (failure == NULL) {
        fputs("/>\n", out);
        return;
    }
    fputs(">\n    <failure message=\"", out);
    prop_junit_escape(failure, out);
    fputs("\"></failure>\n  </testcase>\n", out);
}

prop_sum prop_encodings_junit(const prop_encodings *e, FILE *out)
{
    prop_sum sum = {0};
    for (int k = 0; k < e->count; k++) {
        const struct prop_encoding_sheet *sheet = e->sheets[k];
        const char *name = rope_header_name(e->kernels[k]);
        for (const prop_encoding_property *p = prop_encoding_properties; p->name != NULL; p++) {
            line l = line_of(sheet, p->name);
            if (l.shapes == 0)
                continue;
            test_case(name, p->name, l.failure != NULL ? l.failure->reason : NULL, out);
            sum.failed += l.failure != NULL;
            sum.passed += l.failure == NULL;
        }
        if (sheet->crashed || sheet->overflow || sheet->count == 0) {
            test_case(name, "environment",
                      sheet->crashed ? sheet->reason : "not every property was judged", out);
            sum.failed++;
        }
    }
    return sum;
}
