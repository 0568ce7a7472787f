#include "props/encoding.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "props/encoding_internal.h"

const prop_encoding_property prop_encoding_properties[] = {
    {"sum-contract", "y = x + p within the kernel's contract, p from the definition in MPFR"},
    {"sum-zero-row",
     "sinusoidal: at position 0 sines add 0 and cosines 1; ALiBi: distance 0 changes nothing"},
    {"sum-shift", "sinusoidal: p(t + k) is p(t) with every pair rotated by k w_i"},
    {"sum-norm", "sinusoidal: |p(t)| = sqrt(dim / 2)"},
    {"sum-unbounded", "sinusoidal: every int64 position has its row, within the contract"},
    {"sum-bounded", "learnt: a position past the table gives ROPE_RANGE, reads and writes nothing"},
    {"sum-linear",
     "ALiBi: the bias of a + b is the sum of theirs; exactly, where slopes are powers of two"},
    {"sum-symmetric", "ALiBi: the bias of (i, j) is that of (j, i)"},
    {NULL, NULL},
};

const int64_t prop_encoding_positions[] = {
    0,     1,      2,       255,      256,      257,      2047, 4095, 4096,  4097,     32767, 65504,
    65520, 131071, 1048575, 16777215, 16777216, 16777217, -1,   -2,   -4097, -1048577, 999983};
const int prop_encoding_position_count =
    sizeof prop_encoding_positions / sizeof prop_encoding_positions[0];

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t prop_encoding_random(prop_encoding_run *run)
{
    uint64_t z = run->random += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

float prop_encoding_value(prop_encoding_run *run)
{
    uint64_t r = prop_encoding_random(run);
    if (r % 16 == 0)
        return 0;
    double mantissa = 1 + (double)(r >> 41) * 0x1p-23;
    return (float)ldexp(r & 16 ? mantissa : -mantissa, (int)((r >> 5) % 25) - 20);
}

static void fail_at(prop_encoding_result *r, int64_t position, int64_t element, double x)
{
    r->failed = true;
    r->worst_position = position;
    r->worst_element = element;
    r->worst_x = x;
}

void prop_encoding_note(prop_encoding_result *r, double error_u, double bound_u, int64_t position,
                        int64_t element, double x)
{
    r->cases++;
    bool good = error_u <= bound_u;
    if (!good && !r->failed) {
        fail_at(r, position, element, x);
        r->max_error_u = error_u;
        r->bound_u = bound_u;
        snprintf(r->reason, sizeof r->reason,
                 "%.6g u at position %lld, element %lld, x = %a; contract %.6g u", error_u,
                 (long long)position, (long long)element, x, bound_u);
    }
    if (r->failed)
        return;
    if (bound_u > r->bound_u)
        r->bound_u = bound_u;
    if (!(error_u <= r->max_error_u)) {
        r->max_error_u = error_u;
        r->worst_position = position;
        r->worst_element = element;
        r->worst_x = x;
    }
}

void prop_encoding_require(prop_encoding_result *r, bool good, int64_t position, const char *format,
                           ...)
{
    r->cases++;
    if (good || r->failed)
        return;
    fail_at(r, position, 0, NAN);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->reason, sizeof r->reason, format, arguments);
    va_end(arguments);
}

void prop_encoding_end(prop_encoding_run *run, prop_encoding_result *r)
{
    if (r->cases == 0 && !r->failed) {
        r->failed = true;
        snprintf(r->reason, sizeof r->reason, "no comparison was made");
    }
    run->report(r, run->context);
}

void prop_encoding_check(const rope_header *kernel, uint64_t seed, int level,
                         prop_encoding_report *report, void *context)
{
    prop_encoding_run run = {kernel, seed, level, report, context};
    if (kernel->kind == ROPE_TABLE_ADD)
        prop_encoding_check_table(&run);
    else if (kernel->kind == ROPE_SCORE_BIAS)
        prop_encoding_check_bias(&run);
}
