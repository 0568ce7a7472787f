/* The RoPE scalings in triple words. s = factor, L = original, d = the exponent's dimension.
 *
 * Error budget, E = 2^-140 for a power or a logarithm's fraction, far less for other operations.
 * Products, quotients and powers keep relative errors of a few E. Where the definition subtracts:
 *   llama3, yarn-paper: m = (L theta/(2 pi) - low)/(high - low) is off by 2E high/(high - low); the
 *     blend theta (1/s + m (1 - 1/s)) >= theta/s turns that into s times as much, relative.
 *     Validation keeps s <= 2^32 and high - low >= high 2^-8: below 2^-98.
 *   yarn: c = d log2(L/(2 pi beta)) / (2 log2 base), base >= 2, is off by E (|c| + d / log2 base);
 *     where it is rounded, the ramp is a ratio of whole numbers. Else the ramp is off by
 *     2E (|low| + |high| + d / log2 base) / span, and the blend by s times that;
 *     rope_solver_begin refuses a ratio above 2^8: below 2^-98. */
#include <math.h>

#include "impl/spec/frequencies.h"

static rope_triple of(double x)
{
    return rope_triple_of(x);
}

rope_place rope_place_of(const rope_spec *spec, int64_t pair)
{
    int64_t pairs = spec->rotary_dim / 2;
    rope_place p = {0, false, pair, spec->rotary_dim};
    const double *sections = spec->sections.values;
    switch (spec->axes) {
    case ROPE_AXES_MROPE:
        p.axis = (uint8_t)((pair >= (int64_t)sections[0]) +
                           (pair >= (int64_t)sections[0] + (int64_t)sections[1]));
        break;
    case ROPE_AXES_MROPE_INTERLEAVED:
        if (pair % 3 != 0 && pair < 3 * (int64_t)sections[pair % 3])
            p.axis = (uint8_t)(pair % 3);
        break;
    case ROPE_AXES_HEIGHT_WIDTH:
    case ROPE_AXES_WIDTH_HEIGHT: {
        /* Each axis has a RoPE of its own over its section: the exponents start again. */
        int64_t first = sections != NULL ? (int64_t)sections[0] : pairs / 2;
        bool second = pair >= first;
        p.axis = (spec->axes == ROPE_AXES_HEIGHT_WIDTH) == second;
        p.index = second ? pair - first : pair;
        p.dimension = 2 * (second ? pairs - first : first);
        break;
    }
    default:
        break;
    }
    if (spec->exponent_by_head)
        p.dimension = spec->head_dim;
    if (spec->scaling == ROPE_SCALING_PROPORTIONAL) {
        /* The product in f64, as int(share * head_dim // 2) of the released code has it. */
        p.dimension = spec->head_dim;
        p.still = pair >= (int64_t)floor(spec->share * (double)spec->head_dim / 2);
    }
    return p;
}

const rope_list *rope_longrope_factors(const rope_spec *spec)
{
    return spec->length <= spec->original ? &spec->short_factors : &spec->long_factors;
}

/* c(beta): the pair that turns beta times over L positions. */
static rope_triple turning_pair(const rope_solver *s, double beta)
{
    rope_triple turns = rope_triple_divide(of(s->spec->original),
                                           rope_triple_multiply(rope_triple_two_pi, of(beta)));
    rope_triple up = rope_triple_multiply(of((double)s->spec->rotary_dim),
                                          rope_triple_log2_sum(rope_triple_log2_of(turns)));
    rope_triple down = rope_triple_scale(rope_triple_log2_sum(s->base), 1);
    return rope_triple_divide(up, down);
}

static double floor_of(rope_triple x)
{
    double down = floor(x.w[0]);
    return down == x.w[0] && (x.w[1] < 0 || (x.w[1] == 0 && x.w[2] < 0)) ? down - 1 : down;
}

/* Rounds c down or up, and keeps the two from changing places within its error. c is never a whole
 * number: base^(2c/d) would be algebraic, L/(2 pi beta) is not. */
static bool round_end(rope_triple *c, bool up, double doubt, rope_error *error)
{
    double below = floor_of(rope_triple_subtract(*c, of(doubt)));
    if (below != floor_of(rope_triple_add(*c, of(doubt))))
        return rope_fail(error,
                         "original: scaling=yarn cannot tell on which side of pair %.0f its "
                         "range ends",
                         below + 1);
    *c = of(below + up);
    return true;
}

static bool begin_yarn(rope_solver *s, rope_error *error)
{
    const rope_spec *spec = s->spec;
    double last = (double)spec->rotary_dim - 1;
    rope_triple low = turning_pair(s, spec->beta_fast), high = turning_pair(s, spec->beta_slow);
    /* The error of c in pairs; see the top. */
    double slope = (double)spec->rotary_dim / rope_triple_f64(rope_triple_log2_sum(s->base));
    double size = fabs(low.w[0]) + fabs(high.w[0]) + slope;
    if (spec->truncate && (!round_end(&low, false, size * 0x1p-130, error) ||
                           !round_end(&high, true, size * 0x1p-130, error)))
        return false;
    if (low.w[0] < 0)
        low = of(0);
    if (rope_triple_sign(rope_triple_subtract(high, of(last))) > 0)
        high = of(last);
    s->low = low;
    s->span = rope_triple_subtract(high, low);
    if (spec->truncate && rope_triple_sign(s->span) == 0)
        s->span = of(0.001); /* any span below 1 gives the same step for whole ends */
    if (!spec->truncate && !(size / fabs(s->span.w[0]) <= 0x1p8))
        return rope_fail(error,
                         "original: scaling=yarn has no range of pairs to blend over for "
                         "L = %.17g",
                         spec->original);
    return true;
}

/* dynamic: s L'/L - (s - 1) = (s (L' - L) + L) / L, L' = max(length, L): no cancellation. */
static rope_triple dynamic_stretch(const rope_spec *spec)
{
    rope_triple beyond =
        rope_triple_subtract(of(fmax(spec->length, spec->original)), of(spec->original));
    beyond = rope_triple_add(rope_triple_multiply(beyond, of(spec->factor)), of(spec->original));
    return rope_triple_divide(beyond, of(spec->original));
}

bool rope_solver_begin(rope_solver *s, const rope_spec *spec, rope_error *error)
{
    *s = (rope_solver){.spec = spec};
    if (spec->inv_freq.count != 0)
        return true;
    s->base = rope_triple_log2_of(of(spec->base));
    switch (spec->scaling) {
    case ROPE_SCALING_NTK:
    case ROPE_SCALING_NTK_SU:
    case ROPE_SCALING_DYNAMIC:
        s->stretch =
            spec->scaling == ROPE_SCALING_DYNAMIC ? dynamic_stretch(spec) : of(spec->factor);
        s->stretch_log2 = rope_triple_log2_of(s->stretch);
        return true;
    case ROPE_SCALING_YARN:
        return begin_yarn(s, error);
    default:
        return true;
    }
}

/* theta (1/s + m (1 - 1/s)) = theta (1 + m (s - 1)) / s */
static rope_triple blend(rope_triple theta, rope_triple m, double factor)
{
    rope_triple gain = rope_triple_multiply(m, rope_triple_subtract(of(factor), of(1)));
    gain = rope_triple_add(gain, of(1));
    return rope_triple_divide(rope_triple_multiply(theta, gain), of(factor));
}

static rope_triple clip(rope_triple x)
{
    if (rope_triple_sign(x) < 0)
        return of(0);
    return rope_triple_sign(rope_triple_subtract(x, of(1))) > 0 ? of(1) : x;
}

/* m = clip((L theta / (2 pi) - low)/(high - low), 0, 1), the share that is kept. */
static rope_triple scale_by_turns(const rope_spec *spec, double low, double high, rope_triple theta)
{
    rope_triple turns =
        rope_triple_divide(rope_triple_multiply(theta, of(spec->original)), rope_triple_two_pi);
    /* A step: theta is algebraic, so L theta/(2 pi) never lies on it. */
    if (high == low)
        return rope_triple_sign(rope_triple_subtract(turns, of(low))) > 0
                   ? theta
                   : rope_triple_divide(theta, of(spec->factor));
    rope_triple width = rope_triple_subtract(of(high), of(low));
    return blend(theta, clip(rope_triple_divide(rope_triple_subtract(turns, of(low)), width)),
                 spec->factor);
}

static rope_triple scale_yarn(const rope_solver *s, int64_t index, rope_triple theta)
{
    rope_triple ramp = rope_triple_subtract(of((double)index), s->low);
    ramp = clip(rope_triple_divide(ramp, s->span));
    return blend(theta, rope_triple_subtract(of(1), ramp), s->spec->factor);
}

static rope_triple scale(const rope_solver *s, int64_t pair, rope_place p, rope_triple theta)
{
    const rope_spec *spec = s->spec;
    switch (spec->scaling) {
    case ROPE_SCALING_LINEAR:
    case ROPE_SCALING_PROPORTIONAL:
        return rope_triple_divide(theta, of(spec->factor));
    case ROPE_SCALING_NTK: /* (base s^(d/(d-2)))^(-2i/d) = base^(-2i/d) s^(-2i/(d-2)) */
    case ROPE_SCALING_DYNAMIC:
        return rope_triple_multiply(
            theta, rope_triple_power(s->stretch_log2, -2 * p.index, p.dimension - 2));
    case ROPE_SCALING_NTK_SU:
        return rope_triple_multiply(
            theta, rope_triple_power(s->stretch_log2, -2 * (p.index + 1), p.dimension));
    case ROPE_SCALING_YARN:
        return scale_yarn(s, p.index, theta);
    case ROPE_SCALING_YARN_PAPER:
        return scale_by_turns(spec, spec->beta_slow, spec->beta_fast, theta);
    case ROPE_SCALING_LLAMA3:
        return scale_by_turns(spec, spec->low, spec->high, theta);
    case ROPE_SCALING_LONGROPE:
        return rope_triple_divide(theta, of(rope_longrope_factors(spec)->values[pair]));
    default:
        return theta;
    }
}

rope_triple rope_frequency_exact(const rope_solver *s, int64_t pair, rope_place p)
{
    const rope_spec *spec = s->spec;
    if (spec->inv_freq.count != 0)
        return of(spec->inv_freq.values[pair]);
    if (p.still)
        return of(0);
    rope_triple theta = rope_triple_power(s->base, -2 * p.index, p.dimension);
    if (spec->divisors.count != 0)
        theta = rope_triple_divide(theta, of(spec->divisors.values[pair]));
    return scale(s, pair, p, theta);
}

static rope_triple natural_log(rope_triple x)
{
    return rope_triple_multiply(rope_triple_log2_sum(rope_triple_log2_of(x)), rope_triple_ln2);
}

/* g(s, m) = 0.1 m ln s + 1, the tenth exact. */
static rope_triple yarn_magnitude(double factor, double m)
{
    rope_triple product = rope_triple_multiply(natural_log(of(factor)), of(m));
    return rope_triple_add(rope_triple_divide(product, of(10)), of(1));
}

/* sqrt(1 + ln s / ln L), s = max_position / L where that is given. */
static rope_triple longrope_magnitude(const rope_spec *spec)
{
    rope_triple ratio = isnan(spec->max_position)
                            ? of(spec->factor)
                            : rope_triple_divide(of(spec->max_position), of(spec->original));
    rope_triple share = rope_triple_divide(natural_log(ratio), natural_log(of(spec->original)));
    return rope_triple_square_root(rope_triple_add(share, of(1)));
}

rope_triple rope_attention_factor(const rope_spec *spec)
{
    if (!isnan(spec->attention_factor))
        return of(spec->attention_factor);
    if (spec->scaling == ROPE_SCALING_LONGROPE)
        return longrope_magnitude(spec);
    if (spec->scaling != ROPE_SCALING_YARN && spec->scaling != ROPE_SCALING_YARN_PAPER)
        return of(1);
    if (isnan(spec->mscale))
        return yarn_magnitude(spec->factor, 1);
    return rope_triple_divide(yarn_magnitude(spec->factor, spec->mscale),
                              yarn_magnitude(spec->factor, spec->mscale_all_dim));
}
