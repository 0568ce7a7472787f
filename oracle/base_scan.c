/* The exclusion scan.
 *
 * Step. Let B(m) < 0 at base b. dB/db = sum_i sin(m theta_i) m theta_i (2i/d) / b, so |dB/db| <= m
 * K(b), K(b) = sum_i theta_i (2i/d) / b, which falls as b grows. Hence B(m) < 0 on [b, b + |B(m)| /
 * (m K(b))): no base there is feasible.
 *
 * Signs. B is summed in f64 over angles m theta_i, theta_i by pow (below 1 ulp; the exponent's
 * rounding, |2i/d ln b| 2^-53, is below 2^-48 for b < 2^46): the angles are off by at most m
 * theta_i 2^-47. cos and sin come from anchors every ANCHOR positions and a complex recurrence
 * between them, whose f64 product adds less than sqrt(5) 2^-53 a step (Brent, Percival, Zimmermann
 * 2007) besides the rotation constant's own angle error, which is part of the above, and its 2^-53
 * rounding: under ANCHOR 2^-51 a pair. With d/2 pairs and the sum's own d/2 * d/2 * 2^-53: |error|
 * <= m sum_i theta_i 2^-47 + d/2 (ANCHOR 2^-51 + d 2^-54). At m = 10^6, d = 128 that is about 7e-8:
 * B is negative or positive by more than that wherever a sign is used; a sign that the bound cannot
 * decide counts against the claim that is being proven. */
#include "oracle/base_scan.h"

#include <math.h>
#include <stddef.h>

enum { ANCHOR = 256, MAX_PAIRS = 2048 };

typedef struct {
    int64_t pairs, m;
    double base, theta_sum, slope;                               /* slope = K(b) */
    double theta[MAX_PAIRS], cosine[MAX_PAIRS], sine[MAX_PAIRS]; /* at position m */
    double turn_cosine[MAX_PAIRS], turn_sine[MAX_PAIRS];         /* one position on */
} walk;

static void anchor(walk *w, int64_t m)
{
    w->m = m;
    for (int64_t i = 0; i < w->pairs; i++) {
        w->cosine[i] = cos((double)m * w->theta[i]);
        w->sine[i] = sin((double)m * w->theta[i]);
    }
}

static void begin(walk *w, int64_t head_dim, double base)
{
    w->pairs = head_dim / 2;
    w->base = base;
    w->theta_sum = w->slope = 0;
    for (int64_t i = 0; i < w->pairs; i++) {
        double exponent = 2 * (double)i / (double)head_dim;
        w->theta[i] = pow(base, -exponent);
        w->theta_sum += w->theta[i];
        w->slope += w->theta[i] * exponent / base;
        w->turn_cosine[i] = cos(w->theta[i]);
        w->turn_sine[i] = sin(w->theta[i]);
    }
    anchor(w, 0);
}

/* Goes one position on and returns B there. */
static double next(walk *w)
{
    if ((w->m + 1) % ANCHOR == 0) {
        anchor(w, w->m + 1);
    } else {
        for (int64_t i = 0; i < w->pairs; i++) {
            double c = w->cosine[i], s = w->sine[i];
            w->cosine[i] = c * w->turn_cosine[i] - s * w->turn_sine[i];
            w->sine[i] = c * w->turn_sine[i] + s * w->turn_cosine[i];
        }
        w->m++;
    }
    /* Four partial sums: vector lanes; the bound holds for any order. */
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= w->pairs; i += 4)
        for (int k = 0; k < 4; k++)
            sum[k] += w->cosine[i + k];
    for (; i < w->pairs; i++)
        sum[0] += w->cosine[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double error_of(const walk *w)
{
    double pairs = (double)w->pairs;
    return (double)w->m * w->theta_sum * 0x1p-47 + pairs * (ANCHOR * 0x1p-51 + pairs * 0x1p-53);
}

double oracle_rotary_sum(int64_t head_dim, double base, int64_t m, double *error)
{
    walk w;
    begin(&w, head_dim, base);
    double sum = (double)w.pairs;
    if (m > 0) {
        anchor(&w, m - 1 - (m - 1) % ANCHOR);
        while (w.m < m)
            sum = next(&w);
    }
    *error = error_of(&w);
    return sum;
}

int64_t oracle_first_negative(int64_t head_dim, double base, int64_t limit)
{
    walk w;
    begin(&w, head_dim, base);
    while (w.m < limit)
        if (next(&w) + error_of(&w) < 0)
            return w.m;
    return 0;
}

/* What one scan of m = 1..context says of a base. */
typedef struct {
    double exclusion;  /* length of the proven infeasible interval that starts at the base; 0 = none
                          proven */
    int64_t excluder;  /* its m */
    bool feasible;     /* B(m) >= 0 proven for every m */
    int64_t undecided; /* the m of least B, when neither */
} judgement;

static judgement judge(int64_t head_dim, int64_t context, double base)
{
    walk w;
    begin(&w, head_dim, base);
    judgement j = {.feasible = true};
    double least = INFINITY;
    int64_t stop = context;
    while (w.m < stop) {
        double sum = next(&w), error = error_of(&w);
        if (sum < least) {
            least = sum;
            j.undecided = w.m;
        }
        j.feasible = j.feasible && sum - error >= 0;
        double length = -(sum + error) / ((double)w.m * w.slope * (1 + 0x1p-40));
        if (length > j.exclusion) {
            /* Deeper minima lie a little behind the first negative m; much later ones have steeper
             * slopes. */
            if (j.exclusion == 0 && 2 * w.m < stop)
                stop = 2 * w.m;
            j.exclusion = length;
            j.excluder = w.m;
        }
    }
    return j;
}

bool oracle_smallest_base(int64_t head_dim, int64_t context, double start, double limit,
                          double resolution, void (*progress)(double base, void *context),
                          void *progress_context, oracle_base *result)
{
    *result = (oracle_base){.infeasible = start};
    double base = start;
    bool in_gap = false;
    while (base <= limit) {
        judgement j = judge(head_dim, context, base);
        result->steps++;
        if (progress != NULL && result->steps % 64 == 0)
            progress(base, progress_context);
        if (j.feasible) {
            result->feasible = base;
            if (result->critical == 0)
                result->critical = j.undecided;
            return true;
        }
        /* The step before proved nothing. The bound on dB/db holds to the left as well, where K is
         * larger by less than (1 + resolution)^2: an exclusion here that is longer than the step
         * proves the step too. */
        if (in_gap && !(j.exclusion * (1 - 4 * resolution) > base * resolution))
            result->gaps++;
        /* K overestimates the slope at a root, so that steps towards one shrink geometrically. A
         * leap of `resolution` is taken only when they have become a thousandth of it: it then
         * lands behind the root. */
        in_gap = !(j.exclusion > base * resolution / 1024);
        if (j.exclusion > 0)
            result->critical = j.excluder;
        result->infeasible = base + j.exclusion * (1 - 0x1p-40);
        base = in_gap ? base * (1 + resolution) : result->infeasible;
    }
    return false;
}
