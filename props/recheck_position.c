/* Re-verification of single positions: the kernel runs again, and MPFR alone measures. */
#include <inttypes.h>
#include <math.h>

#include "impl/registry.h"
#include "props/certify_measure.h"
#include "props/certify_worker.h"
#include "props/recheck_internal.h"

bool recheck_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* A stated error against MPFR's: the enclosure's far side lies at or above the true error, and
 * above it by no more than the enclosure (certify_measure.h) allows; the factor 2 covers MPFR's own
 * rounding to f64. */
bool recheck_error_holds(double stated, double exact, double u)
{
    if (!(exact < 0x1p100))
        return isinf(stated);
    double allowance = u == 0x1p-11 ? 0x1p-40 : 0;
    return stated >= exact * (1 - 0x1p-50) - allowance &&
           stated <= exact * (1 + 0x1p-48) + 0x1p-95 / u + allowance;
}

const char *const recheck_stage_names[CERTIFICATE_STAGES] = {"angle", "rotation"};
static const char *const probe_names[] = {"unit_u", "unit_v", "vector"};

static bool wrong(rope_error *error, int stage, const certificate_case *at, const char *what,
                  double stated, double found)
{
    return rope_fail(error,
                     "%s, position %" PRId64 ", pair %" PRId64 ", %s: %s is %.17g, stated %.17g",
                     recheck_stage_names[stage], at->position, at->pair, probe_names[at->probe],
                     what, found, stated);
}

/* A pair as it was found now. */
typedef struct found_pair {
    certificate_case c;
    double ulp;
    int correct; /* components that are the nearest value */
} found_pair;

static bool above_stated(double found, double stated)
{
    return !(found <= stated * (1 + 0x1p-48) + 0x1p-38);
}

/* What a listed case says of the pair. */
static bool check_listed(const certificate_case *w, int s, const certificate_case *found, double u,
                         rope_error *error)
{
    const struct {
        const char *what;
        double stated, found;
    } numbers[] = {{"x0", w->x0, found->x0},
                   {"x1", w->x1, found->x1},
                   {"y0", w->y0, found->y0},
                   {"y1", w->y1, found->y1},
                   {"the contract", w->bound_u, found->bound_u}};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!recheck_same(numbers[i].stated, numbers[i].found))
            return wrong(error, s, found, numbers[i].what, numbers[i].stated, numbers[i].found);
    return recheck_error_holds(w->error_u, found->error_u, u) ||
           wrong(error, s, found, "the error", w->error_u, found->error_u);
}

/* The worst cases: one a position, and nothing worse that is not listed. */
static bool check_worst(const certificate_stage *stage, int s, const certificate_case *found,
                        double u, rope_error *error)
{
    bool listed = false;
    for (int i = 0; i < stage->worst_count; i++) {
        const certificate_case *w = &stage->worst[i];
        if (w->position != found->position)
            continue;
        listed = true;
        if (w->pair == found->pair && w->probe == found->probe &&
            !check_listed(w, s, found, u, error))
            return false;
        if (above_stated(found->error_u, w->error_u))
            return wrong(error, s, found, "an error above the position's listed one", w->error_u,
                         found->error_u);
    }
    double least = stage->worst_count == CERTIFICATE_WORST
                       ? stage->worst[CERTIFICATE_WORST - 1].error_u
                       : -INFINITY;
    return listed || !above_stated(found->error_u, least) ||
           wrong(error, s, found, "an error that is missing from the worst cases,", least,
                 found->error_u);
}

/* The misrounded pairs: the first 32 are listed. */
static bool check_misrounded(const certificate_stage *stage, int s, const found_pair *found,
                             rope_error *error)
{
    bool listed = false, complete = stage->misrounded_count < CERTIFICATE_MISROUNDED;
    for (int i = 0; i < stage->misrounded_count; i++) {
        const certificate_place *m = &stage->misrounded[i];
        listed = listed || (m->position == found->c.position && m->pair == found->c.pair &&
                            m->probe == found->c.probe);
        complete = complete || m->position > found->c.position;
    }
    bool misrounded = found->correct < 2;
    if (listed == misrounded || (misrounded && !complete))
        return true;
    return wrong(error, s, &found->c,
                 listed ? "a pair listed as misrounded" : "a misrounded pair that is not listed", 2,
                 found->correct);
}

/* Sums, of the whole and of the segment that holds the position, allow for the pair. */
static bool check_tally(const certificate_tally *t, int s, const found_pair *found,
                        rope_error *error)
{
    const certificate_case *c = &found->c;
    if (above_stated(c->error_u, t->max_error_u))
        return wrong(error, s, c, "an error above the stated maximum", t->max_error_u, c->error_u);
    if (c->error_u < 0x1p100 && above_stated(found->ulp, t->max_ulp))
        return wrong(error, s, c, "an error in ulp above the stated maximum", t->max_ulp,
                     found->ulp);
    if (found->correct < 2 && t->misrounded == 0)
        return wrong(error, s, c, "the number of nearest components", 2, found->correct);
    if (above_stated(c->error_u, c->bound_u) && t->above == 0)
        return wrong(error, s, c, "an error above the contract, of which none is stated,",
                     c->bound_u, c->error_u);
    if (isinf(c->bound_u) && t->without == 0)
        return wrong(error, s, c, "no contract, which is not stated,", 0, c->bound_u);
    return true;
}

/* Every statement that the certificate makes about one pair. */
static bool check_pair(const recheck_inspection *p, const certificate_segment *segment,
                       const found_pair *found, rope_error *error)
{
    int s = found->c.probe == CERTIFICATE_VECTOR ? CERTIFICATE_ROTATION : CERTIFICATE_ANGLE;
    const certificate_stage *stage = &p->c->stage[s];
    double u = rope_dtype_unit_roundoff(p->subject.dtype);
    return check_worst(stage, s, &found->c, u, error) && check_misrounded(stage, s, found, error) &&
           check_tally(&stage->total, s, found, error) &&
           check_tally(&segment->tally[s], s, found, error);
}

static const certificate_segment *segment_of(const certificate *c, int64_t position)
{
    int64_t i = 0;
    while (c->segments[i].end <= position) /* the certificate is consistent: one holds it */
        i++;
    return &c->segments[i];
}

/* MPFR on one pair of a row. */
static found_pair measure(const recheck_inspection *p, int64_t position, uint32_t probe, int64_t i,
                          const double *const row[4], double bound)
{
    uint32_t dtype = p->subject.dtype;
    found_pair f = {
        .c = {position, i, probe, row[0][i], row[1][i], row[2][i], row[3][i], INFINITY, bound},
        .ulp = INFINITY};
    if (!(bound >= 0 && bound < sqrt(2) / rope_dtype_unit_roundoff(dtype)))
        f.c.bound_u = INFINITY;
    if (!isfinite(f.c.y0) || !isfinite(f.c.y1))
        return f;
    certify_measure_mpfr(p->o, dtype, position, i, f.c.x0, f.c.x1, f.c.y0, f.c.y1, &f.c.error_u,
                         &f.ulp);
    f.correct = certify_nearest(p->o, dtype, position, i, f.c.x0, f.c.x1, f.c.y0, f.c.y1);
    return f;
}

bool recheck_position(const recheck_inspection *p, certify_block *block, int64_t position,
                      rope_error *error)
{
    const certify_subject *s = &p->subject;
    int64_t first, end, block_first, block_end;
    certify_window_at(&p->options, p->c->pairs, position, &first, &end);
    certify_block_at(&p->options, position, &block_first, &block_end);
    rope_plan_args args =
        rope_spec_plan_args(s->spec, &p->frequencies, (rope_dtype)s->dtype, first, end - 1);
    rope_plan *plan = NULL;
    rope_status status = s->kernel->plan(&args, &plan);
    if (status != ROPE_OK)
        return rope_fail(error, "plan returned status %d for positions %" PRId64 " to %" PRId64,
                         (int)status, first, end - 1);
    certify_block_fill(block, block_first, block_end - block_first);
    bool good = certify_block_apply(block, s->kernel, plan, error);
    const certificate_segment *segment = segment_of(p->c, position);
    for (uint32_t probe = 0; good && probe < CERTIFY_PROBES; probe++) {
        const double *row[4];
        certify_block_row(block, position - block_first, probe, &row[0], &row[1], &row[2], &row[3]);
        for (int64_t i = 0; good && i < p->c->pairs; i++) {
            found_pair found =
                measure(p, position, probe, i, row, s->kernel->error_bound(&args, position, i));
            good = recheck_bound_within(p->c, position, i, found.c.bound_u, error) &&
                   check_pair(p, segment, &found, error);
            p->answer->pairs++;
        }
    }
    s->kernel->destroy(plan);
    return good;
}
