#include "props/hunt_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"

const char hunt_columns[] =
    "run,kernel,dtype,spec,truth,first,end,evaluations,hunted_u,random_evaluations,random_u,"
    "scan_first,scan_end,scan_angle_u,scan_rotation_u,largest_u,bound_u,share_of_bound,"
    "worst_position,worst_pair,worst_x0,worst_x1,worst_y0,worst_y1,verdict,replay";
const char stages_columns[] = "run,kernel,dtype,spec,truth,band_first,band_end,positions,stage,"
                              "added_mean_square,share,rms_without_u,model_rms_u,measured_rms_u,"
                              "ratio";
const char drift_columns[] = "run,kernel,dtype,spec,truth,magnitude,samples,max_drift,rms_drift";

static bool worse(const certificate_case *a, const certificate_case *b)
{
    return certificate_case_order(a, b) < 0;
}

const certificate_case *hunt_largest(const hunt_finding *f)
{
    const certificate_case *largest = &f->search.worst;
    for (int s = 0; s < CERTIFICATE_STAGES; s++)
        if (f->scan.stage[s].worst_count > 0 && worse(&f->scan.stage[s].worst[0], largest))
            largest = &f->scan.stage[s].worst[0];
    return largest;
}

bool hunt_broken(const hunt_finding *f)
{
    const certificate_case *c = &f->search.worst;
    bool scanned =
        f->scan.segment_count > 0 && strcmp(certificate_verdict(&f->scan), "broken") == 0;
    return scanned || !(c->error_u <= c->bound_u);
}

/* The case as `tightrope verify --replay` reads it: the pair's two elements by their bits. */
char *hunt_replay(const hunt_label *label, const rope_spec *spec, const certificate_case *c)
{
    int dtype = rope_dtype_from_name(label->dtype);
    bool half = spec->pairing == ROPE_HALF;
    int64_t u = spec->rotary_offset + c->pair * (half ? 1 : 2);
    int64_t v = u + (half ? spec->rotary_dim / 2 : 1);
    uint64_t bits[2] = {0};
    oracle_store((uint32_t)dtype, &bits[0], 0, c->x0); /* little-endian machines alone */
    oracle_store((uint32_t)dtype, &bits[1], 0, c->x1);
    int length = rope_spec_format(spec, NULL, 0);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL, *line = NULL;
    size_t size = 0;
    FILE *out = text != NULL ? open_memstream(&line, &size) : NULL;
    if (out != NULL) {
        rope_spec_format(spec, text, (size_t)length + 1);
        fprintf(out,
                "tightrope verify%s --kernel %s --replay 'contract;spec=%s;dtype=%s;truth=%s;"
                "at=%" PRId64 ";bits=%" PRId64 ":%" PRIx64 ",%" PRId64 ":%" PRIx64 "'",
                label->plugins, label->kernel, text, label->dtype, label->truth, c->position, u,
                bits[0], v, bits[1]);
        fclose(out);
    }
    free(text);
    return line;
}

void hunt_print(const hunt_finding *f, const rope_spec *spec)
{
    const certificate_case *c = hunt_largest(f);
    printf("%s %s %s: largest known %.6g u", f->label.kernel, f->label.dtype, f->label.spec,
           c->error_u);
    if (c->bound_u < INFINITY)
        printf(" of contract %.6g u (%.1f %%)%s", c->bound_u, 100 * c->error_u / c->bound_u,
               hunt_broken(f) ? " BROKEN" : "");
    else
        printf(" (no contract there)");
    printf("; hunted %.6g u, random sampling %.6g u", f->search.worst.error_u,
           f->search.random.error_u);
    if (f->scan.segment_count > 0)
        printf(", every position of %" PRId64 ":%" PRId64 " %.6g u cos/sin, %.6g u one vector",
               f->scan.shard_first, f->scan.shard_end,
               f->scan.stage[CERTIFICATE_ANGLE].total.max_error_u,
               f->scan.stage[CERTIFICATE_ROTATION].total.max_error_u);
    printf("; position %" PRId64 ", pair %" PRId64 ", x (%a, %a) -> y (%a, %a)\n", c->position,
           c->pair, c->x0, c->x1, c->y0, c->y1);
    char *replay = hunt_replay(&f->label, spec, c);
    printf("     replay: %s\n", replay != NULL ? replay : "(out of memory)");
    free(replay);
    fflush(stdout);
}

static void row_head(rows_writer *w, const char *run, const hunt_label *label)
{
    rows_text(w, run);
    rows_text(w, label->kernel);
    rows_text(w, label->dtype);
    rows_text(w, label->spec);
    rows_text(w, label->truth);
}

void hunt_row(rows_writer *w, const char *run, const hunt_finding *f, const rope_spec *spec)
{
    const certificate_case *c = hunt_largest(f);
    bool scanned = f->scan.segment_count > 0;
    char *replay = hunt_replay(&f->label, spec, c);
    row_head(w, run, &f->label);
    rows_integer(w, f->first);
    rows_integer(w, f->end);
    rows_integer(w, (int64_t)f->search.evaluations);
    rows_number(w, f->search.worst.error_u);
    rows_integer(w, (int64_t)f->search.sampled);
    rows_number(w, f->search.random.error_u);
    rows_integer(w, f->scan.shard_first);
    rows_integer(w, f->scan.shard_end);
    rows_number(w, scanned ? f->scan.stage[CERTIFICATE_ANGLE].total.max_error_u : NAN);
    rows_number(w, scanned ? f->scan.stage[CERTIFICATE_ROTATION].total.max_error_u : NAN);
    rows_number(w, c->error_u);
    rows_number(w, c->bound_u < INFINITY ? c->bound_u : NAN);
    rows_number(w, c->bound_u < INFINITY ? c->error_u / c->bound_u : NAN);
    rows_integer(w, c->position);
    rows_integer(w, c->pair);
    rows_hex(w, c->x0);
    rows_hex(w, c->x1);
    rows_hex(w, c->y0);
    rows_hex(w, c->y1);
    rows_text(w, hunt_broken(f) ? "broken" : c->bound_u < INFINITY ? "kept" : "none");
    rows_text(w, replay != NULL ? replay : "");
    rows_end(w);
    free(replay);
}

/* ---- stages ---- */

double stages_misfit(const stage_result *r)
{
    double misfit = 0;
    for (int k = 0; k < r->count; k++)
        if (r->bands[k].measured > 0x1p-10)
            misfit = fmax(misfit, fabs(r->bands[k].model / r->bands[k].measured - 1));
    return misfit;
}

/* Mean squares below this are the enclosure's own: no shares of them. */
#define SEEN 0x1p-40

/* The order in which a kernel goes through them. */
static const stage course[STAGES] = {STAGE_FREQUENCY, STAGE_ANGLE,      STAGE_EVALUATION,
                                     STAGE_TABLE,     STAGE_ARITHMETIC, STAGE_STORAGE};

void stages_print(const hunt_label *label, const stage_result *r)
{
    printf("%s %s %s\n%23s %11s %11s", label->kernel, label->dtype, label->spec, "positions",
           "measured u", "model u");
    for (int s = 0; s < STAGES; s++)
        printf(" %10s", stage_name(course[s]));
    putchar('\n');
    for (int k = 0; k < r->count; k++) {
        const stage_band *b = &r->bands[k];
        double square = b->measured * b->measured;
        printf("%11" PRId64 ":%-11" PRId64 " %11.4g %11.4g", b->first, b->end, b->measured,
               b->model);
        for (int s = 0; s < STAGES; s++)
            if (square > SEEN)
                printf(" %8.1f %%", 100 * b->added[course[s]] / square);
            else
                printf(" %10s", "-");
        putchar('\n');
    }
    printf("     model within %.1f %% of the kernel in every band\n", 100 * stages_misfit(r));
    fflush(stdout);
}

void stages_rows(rows_writer *w, const char *run, const hunt_label *label, const stage_result *r)
{
    for (int k = 0; k < r->count; k++)
        for (int s = 0; s < STAGES; s++) {
            const stage_band *b = &r->bands[k];
            stage which = course[s];
            double square = b->measured * b->measured;
            row_head(w, run, label);
            rows_integer(w, b->first);
            rows_integer(w, b->end);
            rows_integer(w, b->positions);
            rows_text(w, stage_name(which));
            rows_number(w, b->added[which]);
            rows_number(w, square > SEEN ? b->added[which] / square : NAN);
            rows_number(w, which < STAGES_MODELLED ? b->without[which] : b->model);
            rows_number(w, b->model);
            rows_number(w, b->measured);
            rows_number(w, square > SEEN ? b->model / b->measured : NAN);
            rows_end(w);
        }
}

/* ---- drift ---- */

void drift_print(const hunt_label *label, const drift_result *r)
{
    printf("%-12s %-5s", label->kernel, label->dtype);
    for (int j = 0; j < DRIFT_MAGNITUDES; j++)
        printf(" %9.1e", r->largest[j]);
    printf("  %s\n", label->spec);
    fflush(stdout);
}

void drift_rows(rows_writer *w, const char *run, const hunt_label *label, const drift_result *r)
{
    for (int j = 0; j < DRIFT_MAGNITUDES; j++) {
        row_head(w, run, label);
        rows_integer(w, r->magnitude[j]);
        rows_integer(w, r->samples);
        rows_number(w, r->largest[j]);
        rows_number(w, r->rms[j]);
        rows_end(w);
    }
}
