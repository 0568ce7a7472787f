/* Judges what the aarch64 driver wrote, by the oracle: every rotated pair within its kernel's
 * contract, what does not rotate copied bit for bit, in place the same bits as out of place. The
 * last line is "N passed, N failed"; exit 1 where one failed.
 *
 *   judge FILE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "oracle/oracle.h"
#include "scripts/aarch64/record.h"

static void *must_read(FILE *in, size_t bytes)
{
    void *data = malloc(bytes);
    if (data == NULL || fread(data, bytes, 1, in) != 1) {
        fprintf(stderr, "judge: the file ends early\n");
        exit(2);
    }
    return data;
}

typedef struct figures {
    int64_t judged, above, differing; /* pairs; pairs above the contract; elements or rows */
    double worst;                     /* largest error over contract */
} figures;

static void judge_row(const record *r, const char *x, const char *y,
                      const oracle_cos_sin_dd *rotors, oracle_dd factor, const double *bounds,
                      figures *f)
{
    int64_t pairs = r->rotary_dim / 2, end = r->rotary_offset + r->rotary_dim;
    size_t size = r->element_bytes;
    f->differing += memcmp(x, y, (size_t)r->rotary_offset * size) != 0;
    f->differing += memcmp(x + (size_t)end * size, y + (size_t)end * size,
                           (size_t)(r->head_dim - end) * size) != 0;
    for (int64_t i = 0; i < pairs; i++) {
        if (!(bounds[i] >= 0 && bounds[i] < sqrt(2) / rope_dtype_unit_roundoff(r->dtype)))
            continue; /* no contract there */
        int64_t e0 = r->rotary_offset + (r->pairing == ROPE_HALF ? i : 2 * i);
        int64_t e1 = e0 + (r->pairing == ROPE_HALF ? pairs : 1);
        oracle_pair_error e = oracle_measure_pair(
            r->dtype, rotors[i], factor, oracle_load(r->dtype, x, e0), oracle_load(r->dtype, x, e1),
            oracle_load(r->dtype, y, e0), oracle_load(r->dtype, y, e1), bounds[i]);
        f->judged++;
        f->above += e.outcome != ORACLE_WITHIN;
        if (e.normwise_u / bounds[i] > f->worst)
            f->worst = e.normwise_u / bounds[i];
    }
}

static bool judge(const record *r, FILE *in, bool *passed, rope_error *error)
{
    char text[160];
    rope_spec spec;
    snprintf(text, sizeof text,
             "head_dim=%lld,rotary_dim=%lld,rotary_offset=%lld,base=%.17g,pairing=%s",
             (long long)r->head_dim, (long long)r->rotary_dim, (long long)r->rotary_offset, r->base,
             rope_pairing_name(r->pairing));
    if (!rope_spec_parse(text, &spec, error))
        return false;
    oracle *o = oracle_new(&spec, ROPE_TRUTH_EXACT, error);
    if (o == NULL)
        return false;
    int64_t pairs = r->rotary_dim / 2;
    size_t row = (size_t)r->head_dim * r->element_bytes;
    size_t bytes = row * (size_t)(r->tokens * r->heads);
    int64_t *positions = must_read(in, (size_t)r->tokens * sizeof *positions);
    char *x = must_read(in, bytes), *y = must_read(in, bytes), *z = must_read(in, bytes);
    double *bounds = must_read(in, (size_t)(r->tokens * pairs) * sizeof *bounds);
    oracle_cos_sin_dd *rotors = malloc((size_t)pairs * sizeof *rotors);
    figures f = {0};
    f.differing = memcmp(y, z, bytes) != 0;
    for (int64_t t = 0; t < r->tokens; t++) {
        oracle_row(o, &positions[t], rotors);
        for (int64_t h = 0; h < r->heads; h++) {
            size_t at = (size_t)(t * r->heads + h) * row;
            judge_row(r, x + at, y + at, rotors, oracle_attention_factor_dd(o), bounds + t * pairs,
                      &f);
        }
    }
    *passed = f.above == 0 && f.differing == 0 && f.judged > 0;
    printf("%s %-12s %-11s %-4s head_dim %4lld rotary %4lld: %lld pairs, %.3f of contract%s\n",
           *passed ? "ok  " : "FAIL", r->kernel, rope_pairing_name(r->pairing),
           rope_dtype_name(r->dtype), (long long)r->head_dim, (long long)r->rotary_dim,
           (long long)f.judged, f.worst, f.differing ? ", bits differ" : "");
    free(positions), free(x), free(y), free(z), free(bounds), free(rotors);
    oracle_free(o);
    rope_spec_free(&spec);
    return true;
}

int main(int argc, char **argv)
{
    rope_error error = {{0}};
    FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (in == NULL || !oracle_self_test(&error)) {
        fprintf(stderr, "judge: %s\n", in == NULL ? "usage: judge FILE, readable" : error.text);
        return 2;
    }
    int64_t passed = 0, failed = 0;
    record r;
    while (fread(&r, sizeof r, 1, in) == 1) {
        bool good;
        if (r.magic != RECORD_MAGIC || !judge(&r, in, &good, &error)) {
            fprintf(stderr, "judge: %s\n", r.magic != RECORD_MAGIC ? "not a dump" : error.text);
            return 2;
        }
        passed += good;
        failed += !good;
    }
    fclose(in);
    printf("%lld passed, %lld failed\n", (long long)passed, (long long)failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
