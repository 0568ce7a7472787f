#include "oracle/paper_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/base_scan.h"
#include "scripts/front/front.h"

/* Each angle m theta_i is off by at most |m| theta_i 2^-47 (pow below 1 ulp, exponent rounding, one
 * product) and its cos and sin by 2^-53 more, so a partial sum of j terms by sum_i |m| theta_i
 * 2^-47 + j (j + 2) 2^-53; the mean of the moduli by no more. */
double oracle_decay_mean(int64_t head_dim, double base, int64_t m, double *bound)
{
    int64_t pairs = head_dim / 2;
    double real = 0, imaginary = 0, total = 0, theta_sum = 0;
    for (int64_t i = 0; i < pairs; i++) {
        double theta = pow(base, -2 * (double)i / (double)head_dim);
        theta_sum += theta;
        real += cos((double)m * theta);
        imaginary += sin((double)m * theta);
        total += hypot(real, imaginary);
    }
    double n = (double)pairs;
    *bound = fabs((double)m) * theta_sum * 0x1p-47 + n * (n + 4) * 0x1p-52;
    return total / n;
}

static void row(rows_writer *w, const char *table, double base, int64_t argument, double low,
                double high, double printed, const char *note, const char *source)
{
    rows_text(w, table);
    rows_integer(w, 128);
    rows_number(w, base);
    rows_integer(w, argument);
    rows_number(w, low);
    rows_number(w, high);
    rows_number(w, printed);
    rows_text(w, note);
    rows_text(w, source);
    rows_end(w);
}

static void decay(rows_writer *w)
{
    static const int64_t distances[] = {0,   1,    2,    5,    10,   20,    50,    100,   200,
                                        500, 1000, 2000, 4096, 5000, 10000, 20000, 50000, 131072};
    static const double bases[] = {1e4, 5e5};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
            double bound, value = oracle_decay_mean(128, bases[b], distances[i], &bound);
            row(w, "decay", bases[b], distances[i], value - bound, value + bound, NAN,
                "the figure prints a curve without numbers; it is not monotone",
                "arXiv 2104.09864, figure 2");
        }
}

static void report_base(double base, void *context)
{
    front_progress_update(context, log(base));
}

static void smallest_base(bool full, rows_writer *w)
{
    /* Men et al., table 2: context, printed base. */
    static const struct {
        int64_t context;
        double printed;
    } printed[] = {{1 << 10, 4.3e3}, {1 << 11, 1.6e4}, {1 << 12, 2.7e4}, {1 << 13, 8.4e4},
                   {1 << 14, 3.1e5}, {1 << 15, 6.4e5}, {1 << 16, 2.1e6}, {1 << 17, 7.8e6},
                   {1 << 18, 3.6e7}, {1 << 19, 6.4e7}, {1 << 20, 5.1e8}};
    for (int i = 0; i < (full ? 11 : 5); i++) {
        oracle_base found;
        front_progress progress;
        front_progress_begin(&progress, "smallest base", log(printed[i].printed));
        bool good = oracle_smallest_base(128, printed[i].context, 10, 1e12, 1e-9, report_base,
                                         &progress, &found);
        front_progress_end(&progress);
        oracle_base there;
        bool feasible = oracle_smallest_base(128, printed[i].context, printed[i].printed,
                                             printed[i].printed, 1e-9, NULL, NULL, &there);
        char digits[16], note[200];
        snprintf(digits, sizeof digits, "%.1e", found.feasible);
        bool agrees = good && strtod(digits, NULL) == printed[i].printed;
        snprintf(note, sizeof note,
                 "every base from 10 to value_low excluded, %lld gaps; binding distance %lld; the "
                 "printed "
                 "value %s, and is %s",
                 (long long)found.gaps, (long long)found.critical,
                 agrees ? "agrees to its two digits" : "is not tight",
                 feasible ? "feasible" : "infeasible itself");
        row(w, "smallest-base", NAN, printed[i].context, found.infeasible,
            good ? found.feasible : NAN, printed[i].printed, note, "arXiv 2405.14591, table 2");
    }
}

bool oracle_paper_table(const char *name, bool full, rows_writer *w, rope_error *error)
{
    bool is_decay = strcmp(name, "decay") == 0;
    if (!is_decay && strcmp(name, "smallest-base") != 0)
        return rope_fail(error, "unknown table '%s', expected decay or smallest-base", name);
    if (w != NULL && is_decay)
        decay(w);
    else if (w != NULL)
        smallest_base(full, w);
    return true;
}
