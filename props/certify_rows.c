/* The CSV rows of certificates. */
#include "props/certify_out.h"
#include "scripts/front/rows.h"

static const char columns[] =
    "run,kernel,dtype,spec,truth,first,end,stage,pairs_compared,max_error_u,rms_error_u,max_ulp,"
    "rms_ulp,correctly_rounded,misrounded,above_contract,without_contract,bound_low_u,bound_high_u,"
    "derived_bound_u,worst_position,worst_pair,worst_x0,worst_x1,worst_y0,worst_y1,verdict";

static void stage_row(rows_writer *w, const char *run, const certificate *c, const char *stage,
                      const certificate_tally *t, const certificate_case *worst)
{
    rows_text(w, run);
    rows_text(w, c->kernel);
    rows_text(w, c->dtype);
    rows_text(w, c->spec);
    rows_text(w, c->truth);
    rows_integer(w, c->shard_first);
    rows_integer(w, c->shard_end);
    rows_text(w, stage);
    if (t != NULL) {
        rows_integer(w, (int64_t)t->pairs);
        rows_number(w, t->max_error_u);
        rows_number(w, certificate_rms(&t->squares_u, t->pairs));
        rows_number(w, t->max_ulp);
        rows_number(w, certificate_rms(&t->squares_ulp, t->pairs));
        rows_number(w, (double)t->correctly_rounded / (2 * (double)t->pairs));
        rows_integer(w, (int64_t)t->misrounded);
        rows_integer(w, (int64_t)t->above);
        rows_integer(w, (int64_t)t->without);
    } else {
        rows_integer(w, (int64_t)c->search.evaluations);
        rows_number(w, worst->error_u);
        for (int i = 0; i < 7; i++)
            rows_empty(w);
    }
    rows_number(w, c->bounds.low);
    rows_number(w, c->bounds.high);
    rows_number(w, certificate_derived_bound(c));
    rows_integer(w, worst->position);
    rows_integer(w, worst->pair);
    rows_hex(w, worst->x0);
    rows_hex(w, worst->x1);
    rows_hex(w, worst->y0);
    rows_hex(w, worst->y1);
    rows_text(w, certificate_verdict(c));
    rows_end(w);
}

bool certify_rows_write(const certify_out *out, rope_error *error)
{
    rows_writer *w = rows_create(out->csv, columns, error);
    if (w == NULL)
        return false;
    for (int i = 0; i < out->kept_count; i++) {
        const certificate *c = &out->kept[i];
        const certificate_stage *angle = &c->stage[CERTIFICATE_ANGLE];
        const certificate_stage *rotation = &c->stage[CERTIFICATE_ROTATION];
        stage_row(w, out->run.id, c, "angle", &angle->total, &angle->worst[0]);
        stage_row(w, out->run.id, c, "rotation", &rotation->total, &rotation->worst[0]);
        if (c->search.evaluations > 0)
            stage_row(w, out->run.id, c, "search", NULL, &c->search.worst);
    }
    return rows_commit(w, error);
}
