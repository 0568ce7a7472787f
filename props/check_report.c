#include "props/check_report.h"

#include <math.h>
#include <stdio.h>

#include "impl/registry.h"
#include "scripts/front/rows.h"

static void print_worst(const prop_verdict *v)
{
    const prop_worst *w = &v->stats.worst;
    if (w->place.token < 0)
        return;
    /* A computed angle is judged by what it should give, not by this error; nor are products that
     * are rounded one by one. The figure is what a reader wants to know all the same. */
    bool judged =
        v->best.angle == PROP_ANGLE_EXACT && v->best.arithmetic == PROP_ARITHMETIC_ONE_ROUNDING;
    double share = w->error_u / v->exact_bound_u;
    printf("worst pair against the exact rotation%s: token %lld (position %.0f), head %lld, pair "
           "%lld: %.4g u, ",
           v->pass && !judged ? " (not what the PASS rests on)" : "", (long long)w->place.token,
           w->position, (long long)w->place.head, (long long)w->place.pair, w->error_u);
    printf(share < 10 ? "%.3g %% of" : "%.3g times", share < 10 ? 100 * share : share);
    printf(" the limit of an exact angle with one rounding, %.5g u; %.3g of the pair's norm\n",
           v->exact_bound_u, w->error);
    printf("  input (%.9g, %.9g), output (%.9g, %.9g), exact (%.9g, %.9g)\n", w->x0, w->x1, w->y0,
           w->y1, w->exact0, w->exact1);
}

static void print_computed(const prop_verdict *v)
{
    if (!v->pass || v->best.angle == PROP_ANGLE_EXACT)
        return;
    printf(
        "not exact: largest frequency drift %d ulp (pair %lld); error now %.3g of the pair's norm",
        v->best.max_drift, (long long)v->best.drift_pair, v->stats.worst.error);
    if (isnan(v->trained_length))
        printf(", the trained length is not known (a preset or a config.json says it)\n");
    else
        printf(", %.3g at the trained length, %.0f\n", v->error_at_trained, v->trained_length);
    if (v->moving < 2)
        printf(
            "note: fewer than two distinct non-zero positions: a recurrence over tokens or pairs "
            "is not excluded\n");
}

static void print_counts(const prop_stats *s)
{
    printf("pairs compared %lld, outside the contract of an exact angle %lld; unexpected NaN %lld; "
           "wrong infinities %lld;\n"
           "elements past rotary_dim changed %lld; rows equal to their input %lld, stale %lld, of "
           "%lld\n",
           (long long)s->all.pairs, (long long)s->all.above, (long long)s->unexpected_nan,
           (long long)s->wrong_class, (long long)s->changed_outside, (long long)s->rows_unrotated,
           (long long)s->rows_stale, (long long)s->rows);
}

static prop_bin merged(const prop_bin *bins, int64_t count)
{
    prop_bin sum = {0};
    for (int64_t i = 0; i < count; i++) {
        sum.pairs += bins[i].pairs;
        sum.above += bins[i].above;
        sum.sum_squares += bins[i].sum_squares;
        sum.max_u = bins[i].max_u > sum.max_u ? bins[i].max_u : sum.max_u;
    }
    return sum;
}

/* A bar of up to 24 characters, logarithmic from .1 u to the largest u there is, sqrt(2)/u. */
static void print_bin(const char *label, const prop_bin *bin)
{
    double share = bin->max_u > 0.1 ? log2(bin->max_u / 0.1) / 28 : 0;
    int length = share > 1 ? 24 : (int)ceil(24 * share);
    printf("  %-24s %12.4g %12.4g %10lld  %.*s\n", label, bin->max_u, prop_bin_rms(bin),
           (long long)bin->above, length, "########################");
}

static void band_label(int band, char *text, size_t size)
{
    if (band == 0)
        snprintf(text, size, "0");
    else if (band == 1)
        snprintf(text, size, "1");
    else
        snprintf(text, size, "%.0f to %.0f", ldexp(1, band - 1), ldexp(1, band) - 1);
}

static void print_header(const char *what)
{
    printf("  %-24s %12s %12s %10s\n", what, "largest", "rms", "outside");
}

static void print_histograms(const prop_verdict *v)
{
    enum { LINES = 16 };
    char label[64];
    int64_t group = (v->pairs + LINES - 1) / LINES;
    printf("error against the exact rotation, in u of %s (%.3g of the pair's norm):\n",
           rope_dtype_name(v->dtype), rope_dtype_unit_roundoff(v->dtype));
    print_header("pair");
    for (int64_t i = 0; i < v->pairs; i += group) {
        int64_t count = v->pairs - i < group ? v->pairs - i : group;
        prop_bin bin = merged(v->stats.by_pair + i, count);
        snprintf(label, sizeof label, count > 1 ? "%lld to %lld" : "%lld", (long long)i,
                 (long long)(i + count - 1));
        print_bin(label, &bin);
    }
    print_header("|position|");
    for (int b = 0; b < PROP_BANDS; b++)
        if (v->stats.by_position[b].pairs > 0) {
            band_label(b, label, sizeof label);
            print_bin(label, &v->stats.by_position[b]);
        }
}

static void print_verdict(const char *name, const prop_verdict *v)
{
    if (name != NULL)
        printf("%s: %s: %s\n", name, v->pass ? "PASS" : "FAIL", v->reason);
    print_worst(v);
    print_computed(v);
    print_counts(&v->stats);
    print_histograms(v);
}

void prop_check_print(const prop_verdict *q, const prop_verdict *k)
{
    bool pass = q->pass && (k == NULL || k->pass);
    if (k == NULL) {
        printf("%s: %s\n", pass ? "PASS" : "FAIL", q->reason);
        print_verdict(NULL, q);
        return;
    }
    printf("%s: q and k: %s\n", pass ? "PASS" : "FAIL",
           pass                   ? "both explained"
           : !q->pass && !k->pass ? "neither is explained"
           : q->pass              ? "q is explained, k is not"
                                  : "k is explained, q is not");
    print_verdict("q", q);
    print_verdict("k", k);
}

/* ---- CSV ---- */

static void write_bin(rows_writer *w, const char *tensor, const char *kind, double first,
                      double last, const prop_bin *bin)
{
    rows_text(w, tensor);
    rows_text(w, kind);
    rows_number(w, first);
    rows_number(w, last);
    rows_integer(w, bin->pairs);
    rows_integer(w, bin->above);
    rows_number(w, bin->max_u);
    rows_number(w, prop_bin_rms(bin));
    rows_empty(w);
    rows_empty(w);
    rows_end(w);
}

static void write_verdict(rows_writer *w, const char *tensor, const prop_verdict *v)
{
    rows_text(w, tensor);
    rows_text(w, "all");
    rows_empty(w);
    rows_empty(w);
    rows_integer(w, v->stats.all.pairs);
    rows_integer(w, v->stats.all.above);
    rows_number(w, v->stats.all.max_u);
    rows_number(w, prop_bin_rms(&v->stats.all));
    rows_text(w, v->pass ? "PASS" : "FAIL");
    rows_text(w, v->reason);
    rows_end(w);
    for (int64_t i = 0; i < v->pairs; i++)
        write_bin(w, tensor, "pair", (double)i, (double)i, &v->stats.by_pair[i]);
    for (int b = 0; b < PROP_BANDS; b++)
        if (v->stats.by_position[b].pairs > 0)
            write_bin(w, tensor, "position", b == 0 ? 0 : ldexp(1, b - 1),
                      b == 0 ? 0 : ldexp(1, b) - 1, &v->stats.by_position[b]);
}

bool prop_check_write_csv(const char *path, const prop_verdict *q, const prop_verdict *k,
                          rope_error *error)
{
    rows_writer *w = rows_create(
        path, "tensor,kind,first,last,pairs,outside,max_error_u,rms_error_u,verdict,reason", error);
    if (w == NULL)
        return false;
    write_verdict(w, "q", q);
    if (k != NULL)
        write_verdict(w, "k", k);
    return rows_commit(w, error);
}
