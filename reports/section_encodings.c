/* The four encodings side by side. What an encoding is stands here, from the papers; what was
 * measured comes from rows. */
#include <math.h>
#include <string.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/text.h"

enum { ENCODINGS = 4, ROPE = 3 };

typedef struct {
    const char *name, *source;
    const char *enters, *relativity, *parameters, *end, *work;
    const char *contract, *extrapolation, *relative; /* properties of verify.csv; NULL: none */
    const char *unit;                                /* what an element is */
} encoding;

static const encoding encodings[ENCODINGS] = {
    {"sinusoidal", "Vaswani et al. 2017, arXiv 1706.03762, section 3.5",
     "a row is added to the embedding, once, below the first layer",
     "absolute; a shift of the position is a fixed rotation of the row", "none", "none",
     "tokens × dim, once", "sum-contract", "sum-unbounded", "sum-shift", "of the embedding"},
    {"learnt", "Gehring et al. 2017, arXiv 1705.03122, section 3.1; GPT-2, BERT",
     "a row is added to the embedding, once, below the first layer", "absolute",
     "positions × dim, trained", "the table's last row; past it there is nothing to add",
     "tokens × dim, once", "sum-contract", "sum-bounded", NULL, "of the embedding"},
    {"alibi", "Press et al. 2022, arXiv 2108.12409, section 3",
     "a bias is added to the scores, in every layer",
     "relative: the bias depends on the distance alone", "none", "none",
     "heads × queries × keys, in every layer", "sum-contract", NULL, "sum-linear", "of the scores"},
    {NULL, "Su et al. 2021, arXiv 2104.09864, section 3.4",
     "pairs of q and k are rotated, in every layer",
     "relative: the score depends on the distance alone", "none", "none",
     "tokens × heads × head\\_dim, q and k, in every layer", "contract", NULL, "offset",
     "of q or k"},
};

static bool is_rotation(report_row row)
{
    return *report_text(row, "pairing") != '\0';
}

/* Whether a kernel may stand for RoPE: no row of its fails and, where there are verified rotations
 * at all, it is one of them. */
static bool stands(const report_model *model, const char *kernel)
{
    bool any = false, own = false;
    for (size_t r = 0; r < model->verify.count; r++) {
        report_row row = model->verify.items[r];
        bool here = report_is(row, "kernel", kernel);
        if (here && report_is(row, "verdict", "fail"))
            return false;
        any |= is_rotation(row);
        own |= here;
    }
    return own || !any;
}

/* A kernel's time: f32, apply, the most tokens up to 512, the faster place. Its table is NULL where
 * nothing was timed. */
static report_row time_of(const report_model *model, const char *kernel)
{
    const report_cut cut = {.kernel = kernel, .dtype = "f32", .mode = "apply"};
    report_row best = {0};
    for (size_t r = 0; r < model->bench.count; r++) {
        report_row row = model->bench.items[r];
        double tokens = report_number(row, "tokens");
        if (!report_in_cut(row, &cut) || tokens > 512)
            continue;
        if (best.table == NULL || tokens > report_number(best, "tokens") ||
            (tokens == report_number(best, "tokens") &&
             report_number(row, "ns_per_element") < report_number(best, "ns_per_element")))
            best = row;
    }
    return best;
}

/* The kernel that stands for RoPE: of those of which no row failed, the fastest; without times the
 * first. NULL: no rotation was run. */
static const char *rope_kernel(const report_model *model)
{
    const char *chosen = NULL;
    double fastest = INFINITY;
    const report_rows *kinds[] = {&model->verify, &model->bench};
    for (int i = 0; i < 2; i++)
        for (size_t r = 0; r < kinds[i]->count; r++) {
            report_row row = kinds[i]->items[r];
            const char *kernel = report_text(row, "kernel");
            if (!is_rotation(row) || (chosen != NULL && strcmp(kernel, chosen) == 0))
                continue;
            report_row timed = i == 1 ? time_of(model, kernel) : (report_row){0};
            bool good = timed.table != NULL && report_is(timed, "verdict", "pass");
            double ns = good ? report_number(timed, "ns_per_element") : INFINITY;
            if ((chosen == NULL || ns < fastest) && stands(model, kernel)) {
                chosen = kernel;
                fastest = ns;
            }
        }
    return chosen;
}

/* A property's rows of one kernel. */
typedef struct {
    int passed, failed, others;
    report_row worst; /* largest error / tolerance */
} tally;

static double ratio_of(report_row row)
{
    double ratio = report_number(row, "ratio");
    return isnan(ratio) ? report_number(row, "max_error_u") / report_number(row, "bound_u") : ratio;
}

static tally count(const report_model *model, const char *kernel, const char *property)
{
    tally t = {0};
    double worst = -1;
    for (size_t r = 0; property != NULL && r < model->verify.count; r++) {
        report_row row = model->verify.items[r];
        if (!report_is(row, "kernel", kernel) || !report_is(row, "property", property))
            continue;
        bool passed = report_is(row, "verdict", "pass"), failed = report_is(row, "verdict", "fail");
        t.passed += passed;
        t.failed += failed;
        t.others += !passed && !failed;
        if ((passed || failed) && ratio_of(row) > worst) {
            worst = ratio_of(row);
            t.worst = row;
        }
    }
    return t;
}

/* "sum-shift: 13 rows pass"; an error where the property has one. */
static void put_tally(FILE *out, const report_model *model, const char *kernel,
                      const char *property)
{
    tally t = count(model, kernel, property);
    if (t.passed + t.failed + t.others == 0) {
        fputs("–", out);
        return;
    }
    report_put_code(out, property);
    fprintf(out, ": %d row%s pass", t.passed, t.passed == 1 ? "" : "s");
    if (t.failed > 0)
        fprintf(out, ", **%d FAIL**", t.failed);
    if (t.others > 0)
        fprintf(out, ", %d not judged", t.others);
    if (t.worst.table != NULL) {
        fputs("; worst ", out);
        report_put_number(out, 100 * ratio_of(t.worst), 3);
        fputs(" % of the tolerance", out);
    }
}

static void put_error(FILE *out, const report_model *model, const char *kernel, const char *name)
{
    tally t = count(model, kernel, name);
    if (t.worst.table == NULL) {
        fputs("–", out);
        return;
    }
    report_put_number(out, report_number(t.worst, "max_error_u"), 4);
    fputs(" of ", out);
    report_put_number(out, report_number(t.worst, "bound_u"), 4);
    fputs(" u (", out);
    report_put(out, report_text(t.worst, "dtype"));
    fputs(t.failed > 0 ? "), **FAIL**" : ")", out);
}

static void put_cost(FILE *out, const report_model *model, const char *kernel, const char *unit)
{
    report_row row = time_of(model, kernel);
    if (row.table == NULL) {
        fputs("–", out);
        return;
    }
    report_put_number(out, report_number(row, "ns_per_element"), 3);
    fprintf(out, " ns an element %s, ", unit);
    report_put_number(out, report_number(row, "ratio_memcpy"), 3);
    fputs("× memcpy (", out);
    report_put_code(out, report_text(row, "spec"));
    fprintf(out, ", tokens × heads = %.0f × %.0f)", report_number(row, "tokens"),
            report_number(row, "heads"));
    if (!report_is(row, "verdict", "pass")) {
        fputs(", ", out);
        report_put(out, report_text(row, "verdict"));
    }
}

/* The farthest position of a row that passed: what worst_position names, or the bench's last one.
 */
static void put_farthest(FILE *out, const report_model *model, const char *kernel)
{
    double far = NAN;
    for (size_t r = 0; r < model->verify.count; r++) {
        report_row row = model->verify.items[r];
        if (report_is(row, "kernel", kernel) && report_is(row, "verdict", "pass"))
            far = fmax(far, fabs(report_number(row, "worst_position")));
    }
    report_put_number(out, far, 4);
}

enum line {
    SOURCE,
    ENTERS,
    RELATIVITY,
    RELATIVE_ROWS,
    PARAMETERS,
    END,
    END_ROWS,
    FARTHEST,
    ERROR,
    WORK,
    COST,
    LINES
};

static const char *const heads[LINES] = {"source",
                                         "where position enters",
                                         "absolute or relative",
                                         "… as verified",
                                         "parameters",
                                         "last position",
                                         "… as verified",
                                         "farthest position named by a row that passed",
                                         "error that comes closest to its contract",
                                         "work",
                                         "time"};

static void put_cell(FILE *out, const report_model *model, enum line line, const encoding *e,
                     const char *kernel)
{
    const char *const words[LINES] = {
        [SOURCE] = e->source,         [ENTERS] = e->enters, [RELATIVITY] = e->relativity,
        [PARAMETERS] = e->parameters, [END] = e->end,       [WORK] = e->work};
    if (words[line] != NULL)
        fputs(words[line], out);
    else if (kernel == NULL)
        fputs("–", out);
    else if (line == RELATIVE_ROWS)
        put_tally(out, model, kernel, e->relative);
    else if (line == END_ROWS)
        put_tally(out, model, kernel, e->extrapolation != NULL ? e->extrapolation : e->contract);
    else if (line == FARTHEST)
        put_farthest(out, model, kernel);
    else if (line == ERROR)
        put_error(out, model, kernel, e->contract);
    else
        put_cost(out, model, kernel, e->unit);
}

static bool knows(const report_model *model, const char *kernel)
{
    for (size_t k = 0; k < model->kernel_count; k++)
        if (strcmp(model->kernels[k], kernel) == 0)
            return true;
    return false;
}

bool report_has_encodings(const report_model *model)
{
    for (int i = 0; i < ROPE; i++)
        if (knows(model, encodings[i].name))
            return true;
    return false;
}

void report_section_encodings(FILE *out, const report_model *model)
{
    const char *kernels[ENCODINGS];
    for (int i = 0; i < ROPE; i++)
        kernels[i] = knows(model, encodings[i].name) ? encodings[i].name : NULL;
    kernels[ROPE] = rope_kernel(model);
    fputs("## Encodings compared\n\n"
          "RoPE beside the encodings that its papers compare it with. Source, place, parameters "
          "and work are the definitions; the rest was measured in these runs. ",
          out);
    if (kernels[ROPE] != NULL) {
        fputs("RoPE's figures are those of the kernel ", out);
        report_put_code(out, kernels[ROPE]);
        fputs(", the fastest one in f32 of which no row failed. ", out);
    }
    fputs("That an encoding has no last position says that every position is defined and computed "
          "within the contract, not that a model trained on short texts works on long ones.\n\n",
          out);
    fputs("| | sinusoidal | learnt | ALiBi | RoPE |\n|:---|:---|:---|:---|:---|\n", out);
    for (int line = 0; line < LINES; line++) {
        fprintf(out, "| %s |", heads[line]);
        for (int i = 0; i < ENCODINGS; i++) {
            fputc(' ', out);
            put_cell(out, model, (enum line)line, &encodings[i], kernels[i]);
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    fputs("\nErrors of sums are |y − exact| / (u (|x| + |p|)), p the position's term; of "
          "rotations normwise, as above. An element is one number of the tensor that the encoding "
          "changes, so that times compare only together with the work.\n\n",
          out);
}
