#include "bench/rows.h"

#include <math.h>

#include "impl/registry.h"

const char bench_columns[] =
    "run,kernel,pairing,dtype,spec,tokens,heads,mode,bytes,ns_per_element,ns_ci_low,ns_ci_high,"
    "samples,gb_per_s,ratio_memcpy,ratio_scale,max_error_u,verdict,"
    "reason,in_place,head_dim,first_position,last_position,ratio_memcpy_low,ratio_memcpy_high,"
    "ratio_scale_low,ratio_scale_high,memcpy_ns_per_element,scale_ns_per_element,floor_spread,"
    "bound_u,plan_bytes";

bench_row_key bench_point_key(const bench_point *point)
{
    const rope_spec *spec = &point->problem->spec;
    return (bench_row_key){.kernel = point->kernel->name,
                           .pairing = rope_pairing_name(spec->pairing),
                           .dtype = rope_dtype_name(point->dtype),
                           .spec = point->problem->text,
                           .mode = bench_mode_name(point->mode),
                           .tokens = point->tokens,
                           .heads = point->heads,
                           .head_dim = spec->head_dim,
                           .in_place = point->in_place};
}

void bench_write_row(rows_writer *w, const char *run, const bench_row_key *key,
                     const bench_result *result)
{
    rows_text(w, run);
    rows_text(w, key->kernel);
    rows_text(w, key->pairing);
    rows_text(w, key->dtype);
    rows_text(w, key->spec);
    rows_integer(w, key->tokens);
    rows_integer(w, key->heads);
    rows_text(w, key->mode);
    rows_integer(w, result->bytes);
    rows_number(w, result->ns.median);
    rows_number(w, result->ns.low);
    rows_number(w, result->ns.high);
    if (result->samples > 0)
        rows_integer(w, result->samples);
    else
        rows_empty(w);
    rows_number(w, result->gigabytes_per_s);
    rows_number(w, result->ratio_memcpy.median);
    rows_number(w, result->ratio_scale.median);
    rows_number(w, result->max_error_u);
    rows_text(w, bench_verdict_name(result->verdict));
    rows_text(w, result->reason);
    rows_text(w, key->in_place ? "yes" : "no");
    rows_integer(w, key->head_dim);
    rows_integer(w, result->first_position);
    rows_integer(w, result->last_position);
    rows_number(w, result->ratio_memcpy.low);
    rows_number(w, result->ratio_memcpy.high);
    rows_number(w, result->ratio_scale.low);
    rows_number(w, result->ratio_scale.high);
    rows_number(w, result->memcpy_ns);
    rows_number(w, result->scale_ns);
    rows_number(w, result->floor_spread);
    rows_number(w, result->bound_u);
    if (result->plan_bytes > 0)
        rows_integer(w, result->plan_bytes);
    else
        rows_empty(w);
    rows_end(w);
}
