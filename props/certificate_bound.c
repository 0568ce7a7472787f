/* Contracts that were met, and the bound on the whole rotation that follows from what a kernel
 * declares and from the measured angle stage. */
#include <math.h>
#include <string.h>

#include "impl/rope.h"
#include "props/certificate.h"

/* ---- the smallest and largest contract ---- */

certificate_bounds certificate_bounds_none(void)
{
    return (certificate_bounds){.low = NAN, .high = NAN};
}

/* Comparisons are strict, so that the first place stays; NaN gives way. */
void certificate_bounds_meet(certificate_bounds *b, double bound, int64_t position, int64_t pair)
{
    if (!(b->low <= bound)) {
        b->low = bound;
        b->low_position = position;
        b->low_pair = pair;
    }
    if (!(b->high >= bound)) {
        b->high = bound;
        b->high_position = position;
        b->high_pair = pair;
    }
}

void certificate_bounds_join(certificate_bounds *to, const certificate_bounds *from)
{
    if (isnan(from->low))
        return;
    certificate_bounds_meet(to, from->low, from->low_position, from->low_pair);
    certificate_bounds_meet(to, from->high, from->high_position, from->high_pair);
}

/* ---- declared formats and arithmetics ---- */

typedef struct declared {
    const char *name;
    double unit;   /* unit roundoff; 0: no floating-point format */
    double factor; /* of an arithmetic: the complex product's normwise error in its units */
} declared;

/* The complex product: sqrt(5) u with every operation rounded (Brent, Percival, Zimmermann, Math.
 * Comp. 76 (2007)), 2 u with one product of two inside an fma (Jeannerod, Kornerup, Louvet, Muller,
 * Math. Comp. 86 (2017)). sqrt(5) is rounded up. */
#define ROUNDED 0x1.1e3779b97f4a8p+1

static const declared arithmetics[] = {
    [ROPE_ARITHMETIC_UNDECLARED] = {"", 0, 0},
    [ROPE_ARITHMETIC_F32] = {"f32", 0x1p-24, ROUNDED},
    [ROPE_ARITHMETIC_F32_FMA] = {"f32_fma", 0x1p-24, 2},
    [ROPE_ARITHMETIC_F64] = {"f64", 0x1p-53, ROUNDED},
    [ROPE_ARITHMETIC_F64_FMA] = {"f64_fma", 0x1p-53, 2},
};

static const declared formats[] = {
    [ROPE_FORMAT_UNDECLARED] = {"", 0, 0},
    [ROPE_FORMAT_F32] = {"f32", 0x1p-24, 0},
    [ROPE_FORMAT_F64] = {"f64", 0x1p-53, 0},
    [ROPE_FORMAT_DD] = {"dd", 0x1p-104, 0},
    [ROPE_FORMAT_F32_RECURRENCE] = {"f32_recurrence", 0x1p-24, 0},
    [ROPE_FORMAT_FIXED64] = {"fixed64", 0, 0},
    [ROPE_FORMAT_F16] = {"f16", 0x1p-11, 0},
    [ROPE_FORMAT_BF16] = {"bf16", 0x1p-8, 0},
};

enum {
    ARITHMETICS = sizeof arithmetics / sizeof arithmetics[0],
    FORMATS = sizeof formats / sizeof formats[0],
};

const char *certificate_arithmetic_name(uint32_t arithmetic)
{
    return arithmetic < ARITHMETICS ? arithmetics[arithmetic].name : "";
}

const char *certificate_format_name(uint32_t format)
{
    return format < FORMATS ? formats[format].name : "";
}

static declared find(const declared *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i];
    return (declared){"", 0, 0};
}

/* ---- the derived bound ---- */

/* With z the exact A (cos + i sin) of a pair and z' = z + d what the kernel multiplies by, the
 * result is (x z')(1 + e) stored with a relative error s: off by at most
 *     |x||z| (d + (e + s)(1 + d) + e s),    d short for |d|/|z|. */
static double whole(double d, double e, double s)
{
    return (d + (e + s) * (1 + d) + e * s) * (1 + 0x1p-50);
}

/* e  The declared arithmetic's, above.
 * s  An arithmetic wider than storage rounds each component once, to nearest: u/(1 + u) of it.
 * d  The unit probes return z' itself, since products with 1 and 0 are exact, at every position of
 *    the range: d is at most the angle stage's maximum m. Where table and arithmetic are wider than
 *    storage they return z' rounded to storage instead, which alone makes an error of up to r u:
 *    sqrt(1/2) where no component exceeds 1 (A = 1), else 1. Then
 *      - by declaration, z' is the exact value to within one ulp (a faithful cos and sin) of the
 *        table's format, of unit roundoff v: d <= 2 v. That stands unless a measurement refutes it:
 *        m above r u + 2 v, or a rotation's error above the bound that follows;
 *      - by measurement alone, d <= (m + r) u. */
double certificate_derived_bound(const certificate *c)
{
    declared arithmetic = find(arithmetics, ARITHMETICS, c->arithmetic);
    double u = find(formats, FORMATS, c->dtype).unit;
    double v = find(formats, FORMATS, c->table).unit, w = arithmetic.unit;
    if (w == 0 || u == 0)
        return NAN;
    double m = c->stage[CERTIFICATE_ANGLE].total.max_error_u;
    double e = arithmetic.factor * w, s = w < u ? u / (1 + u) : 0;
    if (!(w < u) || v >= u)
        return whole(m * u, e, s) / u;
    double r = c->attention_factor == 1 ? sqrt(0.5) * (1 + 0x1p-50) : 1;
    double bound = whole(2 * v, e, s) / u;
    double found = c->stage[CERTIFICATE_ROTATION].total.max_error_u;
    if (c->search.evaluations > 0)
        found = fmax(found, c->search.worst.error_u);
    /* 2^-90 / u: what the enclosure's far side adds to a measured error. */
    if (v > 0 && m <= r + 2 * v / u + 0x1p-90 / u && found <= bound)
        return bound;
    return whole((m + r) * u, e, s) / u;
}
