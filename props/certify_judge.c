#include "props/certify_judge.h"

#include <math.h>

#include "impl/registry.h"

/* Errors above this, and NaN, count as above the contract and stay out of the sums. */
#define ABSURD 0x1p100

int64_t certify_judge_bounds(const certify_worker *w, int k, int64_t position)
{
    const certify_subject *s = &w->piece->subjects[k];
    certify_part *part = &w->piece->parts[k];
    int64_t pairs = oracle_pairs(w->piece->o), without = 0;
    double u = rope_dtype_unit_roundoff(s->dtype), ceiling = sqrt(2) / u;
    bool identity = position == 0 && w->args[k].attention_factor == 1;
    certificate_bounds bounds = part->bounds;
    for (int64_t i = 0; i < pairs; i++) {
        double bound = s->kernel->error_bound(&w->args[k], position, i);
        if (!(bound >= 0 && bound < ceiling)) {
            without++;
            bound = INFINITY;
        } else {
            if (!(bounds.low <= bound && bounds.high >= bound)) /* NaN before the first */
                certificate_bounds_meet(&bounds, bound, position, i);
        }
        w->bound[i] = bound;
        w->limit[i] = identity ? 2 * CERTIFY_ENCLOSURE / u : bound;
    }
    part->bounds = bounds;
    return without;
}

certificate_segment *certify_judge_segment(const certify_worker *w, certify_part *part,
                                           int64_t position)
{
    int64_t cell = certificate_grid(position, w->segment_size);
    certificate_segment *last = part->segments + part->segment_count - 1;
    if (part->segment_count > 0 && certificate_grid(last->first, w->segment_size) == cell)
        return last;
    part->segment_count++;
    *++last = (certificate_segment){.first = position, .end = position};
    return last;
}

typedef struct seen {
    int64_t position;
    uint32_t probe;
    const double *x0, *x1, *y0, *y1;
} seen;

/* A row with NaN, an absurd error or a component that the enclosure cannot decide: pair by pair. */
static certify_summary settle(const certify_worker *w, int k, const seen *row)
{
    const certify_errors *e = &w->errors;
    certify_summary sum = {0};
    for (int64_t i = 0; i < oracle_pairs(w->piece->o); i++) {
        if (e->undecided[i] != 0)
            e->correct[i] = certify_nearest(w->piece->o, w->piece->subjects[k].dtype, row->position,
                                            i, row->x0[i], row->x1[i], row->y0[i], row->y1[i]);
        sum.correct += e->correct[i];
        sum.misrounded += e->correct[i] < 2;
        if (!(e->error_u[i] < ABSURD)) {
            sum.above += 1;
            sum.max_error_u = e->error_u[i] = INFINITY;
            continue;
        }
        sum.above += e->above[i];
        sum.squares_u += e->error_u[i] * e->error_u[i];
        sum.squares_ulp += e->ulp[i] * e->ulp[i];
        sum.max_error_u = fmax(sum.max_error_u, e->error_u[i]);
        sum.max_ulp = fmax(sum.max_ulp, e->ulp[i]);
    }
    return sum;
}

static void keep_cases(const certify_worker *w, const seen *row, certificate_stage *stage)
{
    int64_t worst = 0, pairs = oracle_pairs(w->piece->o);
    const double *error_u = w->errors.error_u;
    for (int64_t i = 1; i < pairs; i++)
        if (error_u[i] > error_u[worst])
            worst = i;
    certificate_case found = {row->position,  worst,          row->probe,
                              row->x0[worst], row->x1[worst], row->y0[worst],
                              row->y1[worst], error_u[worst], w->bound[worst]};
    certificate_keep_worst(stage, &found);
}

static void keep_misrounded(const certify_worker *w, const seen *row, certificate_stage *stage)
{
    for (int64_t i = 0; i < oracle_pairs(w->piece->o); i++)
        if (w->errors.correct[i] < 2)
            certificate_keep_misrounded(stage, &(certificate_place){row->position, i, row->probe});
}

void certify_judge_row(certify_worker *w, int k, int64_t j, int64_t row_index, uint32_t probe,
                       int64_t position, int64_t without, certificate_segment *segment)
{
    const certify_subject *s = &w->piece->subjects[k];
    certify_block *block = w->blocks[s->spec->pairing][s->dtype];
    int index = probe == CERTIFICATE_VECTOR ? CERTIFICATE_ROTATION : CERTIFICATE_ANGLE;
    certificate_stage *stage = &w->piece->parts[k].stage[index];
    certificate_tally *tally = &segment->tally[index];
    seen row = {.position = position, .probe = probe};
    certify_block_row(block, j, probe, &row.x0, &row.x1, &row.y0, &row.y1);
    certify_unit unit = certify_unit_of(s->dtype, w->args[k].attention_factor);
    certify_row measured = {certify_exact_row(w->exact, row_index),
                            row.x0,
                            row.x1,
                            row.y0,
                            row.y1,
                            w->limit,
                            oracle_pairs(w->piece->o)};
    certify_summary sum = certify_measure(&unit, &measured, &w->errors);
    if (sum.above > 0 || sum.undecided > 0 || !(sum.max_error_u < ABSURD))
        sum = settle(w, k, &row);
    tally->pairs += (uint64_t)measured.pairs;
    tally->correctly_rounded += (uint64_t)sum.correct;
    tally->misrounded += (uint64_t)sum.misrounded;
    tally->above += (uint64_t)sum.above;
    tally->without += (uint64_t)without;
    tally->max_error_u = fmax(tally->max_error_u, sum.max_error_u);
    tally->max_ulp = fmax(tally->max_ulp, sum.max_ulp);
    certificate_sum_add(&tally->squares_u, sum.squares_u);
    certificate_sum_add(&tally->squares_ulp, sum.squares_ulp);
    if (stage->worst_count < CERTIFICATE_WORST || sum.above > 0 ||
        sum.max_error_u >= stage->worst[CERTIFICATE_WORST - 1].error_u)
        keep_cases(w, &row, stage);
    /* A list that is full may still be out of order within its last position. */
    if (sum.misrounded > 0 && (stage->misrounded_count < CERTIFICATE_MISROUNDED ||
                               stage->misrounded[CERTIFICATE_MISROUNDED - 1].position == position))
        keep_misrounded(w, &row, stage);
}
