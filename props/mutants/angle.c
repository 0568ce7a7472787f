/* Faults of position, angle, cos and sin: F5, F6, F7, F9, F26, F27, and frauds. */
#include "props/mutants/common.h"

#include <math.h>

static void turn_by_angle(const rope_plan *p, double angle, float *c, float *s)
{
    *c = (float)(p->args.attention_factor * cos(angle));
    *s = (float)(p->args.attention_factor * sin(angle));
}

/* The turn of a position that a format has rounded; where it has not, exactly the right one. */
static void turn_by_rounded(const rope_plan *p, int64_t position, double rounded, int64_t pair,
                            float *c, float *s)
{
    if (rounded == (double)position)
        mutant_turn(p, position, pair, c, s);
    else
        turn_by_angle(p, rounded * p->hi[pair], c, s);
}

static void turn_bf16_position(const rope_plan *p, int64_t position, int64_t pair, float *c,
                               float *s)
{
    turn_by_rounded(p, position, mutant_round((double)position, 8), pair, c, s);
}
static const mutant_hooks position_bf16_hooks = {.turn = turn_bf16_position};
MUTATION(position_bf16, "F5", "positions rounded to bf16: 257 becomes 256");

static void turn_f16_position(const rope_plan *p, int64_t position, int64_t pair, float *c,
                              float *s)
{
    turn_by_rounded(p, position, mutant_round_f16((double)position), pair, c, s);
}
static const mutant_hooks position_f16_hooks = {.turn = turn_f16_position};
MUTATION(position_f16, "F5", "positions rounded to f16: 2049 becomes 2048, 65520 infinity");

static void turn_tf32_position(const rope_plan *p, int64_t position, int64_t pair, float *c,
                               float *s)
{
    turn_by_rounded(p, position, mutant_round((double)position, 11), pair, c, s);
}
static const mutant_hooks position_tf32_hooks = {.turn = turn_tf32_position};
MUTATION(position_tf32, "F5", "positions rounded to TF32: 2049 becomes 2048");

static void turn_f16_angle(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    double theta = mutant_round_f16(p->hi[pair]), m = mutant_round_f16((double)position);
    turn_by_angle(p, mutant_round_f16(m * theta), c, s);
}
static const mutant_hooks angle_f16_hooks = {.turn = turn_f16_angle};
MUTATION(angle_f16, "F6", "frequency, position and angle in f16",
         .example = "head_dim=32,base=10000,pairing=half");

static void turn_bf16_angle(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    turn_by_angle(p, mutant_round((double)position * p->hi[pair], 8), c, s);
}
static const mutant_hooks angle_bf16_hooks = {.turn = turn_bf16_angle};
MUTATION(angle_bf16, "F6", "angle rounded to bf16");

static void turn_bf16_table(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    mutant_turn(p, position, pair, c, s);
    *c = (float)mutant_round((double)*c, 8);
    *s = (float)mutant_round((double)*s, 8);
}
static const mutant_hooks table_bf16_hooks = {.turn = turn_bf16_table};
MUTATION(table_bf16, "F6", "cos and sin rounded to bf16");

static void turn_f16_table(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    mutant_turn(p, position, pair, c, s);
    *c = (float)mutant_round_f16((double)*c);
    *s = (float)mutant_round_f16((double)*s);
}
static const mutant_hooks table_f16_hooks = {.turn = turn_f16_table};
MUTATION(table_f16, "F6", "cos and sin rounded to f16");

static void turn_f32_angle(const rope_plan *p, int64_t position, int64_t pair, float *c, float *s)
{
    turn_by_angle(p, (double)((float)position * (float)p->hi[pair]), c, s);
}
static const mutant_hooks f32_angle_hooks = {.turn = turn_f32_angle};
MUTATION(f32_angle, "F7", "frequency, position and angle in f32");

/* Fast sin and cos are made for a range (Cephes' sinf: 8192 radians). Past it, here, one f32
 * constant is all that reduces: off by n (2 pi - fl(2 pi)) = 1.75e-7 n, and by the rounding of the
 * product. */
static void turn_short_reduction(const rope_plan *p, int64_t position, int64_t pair, float *c,
                                 float *s)
{
    double angle = (double)position * p->hi[pair], turn = 2 * acos(-1);
    if (fabs(angle) <= 8192) {
        mutant_turn(p, position, pair, c, s);
        return;
    }
    float turns = (float)nearbyint(angle / turn) * (float)turn;
    turn_by_angle(p, angle - (double)turns, c, s);
}
static const mutant_hooks range_reduction_hooks = {.turn = turn_short_reduction};
MUTATION(range_reduction, "F9",
         "fast sin and cos, reduced with one f32 constant past 8192 radians");

/* A polynomial in f32 on what is beyond the reduction's range: grows to infinity. */
static void turn_no_reduction(const rope_plan *p, int64_t position, int64_t pair, float *c,
                              float *s)
{
    double angle = (double)position * p->hi[pair];
    if (fabs(angle) <= 0x1p16) {
        mutant_turn(p, position, pair, c, s);
        return;
    }
    float a = (float)angle, square = a * a, term = 1, cosine = 0, sine = 0;
    for (int k = 0; k < 8; k++) {
        cosine += term;
        sine += term * a / (float)(2 * k + 1);
        term *= -square / (float)((2 * k + 1) * (2 * k + 2));
    }
    *c = cosine;
    *s = sine;
}
static const mutant_hooks range_reduction_missing_hooks = {.turn = turn_no_reduction};
MUTATION(range_reduction_missing, "F9", "a polynomial without reduction past 65536 radians");

static int64_t next(const rope_plan *p, int64_t position)
{
    (void)p;
    return position + 1;
}
static const mutant_hooks position_off_by_one_hooks = {.position = next};
MUTATION(position_off_by_one, "F26", "position + 1");

static int64_t as_unsigned(const rope_plan *p, int64_t position)
{
    (void)p;
    return (int64_t)(uint32_t)position;
}
static const mutant_hooks position_unsigned_hooks = {.position = as_unsigned};
MUTATION(position_unsigned, "F27", "positions as uint32: -1 becomes 4294967295");

static int64_t as_16_bits(const rope_plan *p, int64_t position)
{
    (void)p;
    return position < 0 ? position : position % 65536;
}
static const mutant_hooks position_wrapped_hooks = {.position = as_16_bits};
MUTATION(position_wrapped, "F27", "positions wrap at 65536");

static int64_t as_32_bits(const rope_plan *p, int64_t position)
{
    (void)p;
    return (int32_t)(uint32_t)position;
}
static const mutant_hooks position_int32_hooks = {.position = as_32_bits};
MUTATION(position_int32, "F27", "positions as int32: 2^32 + 7 becomes 7");

static int64_t without_sign(const rope_plan *p, int64_t position)
{
    (void)p;
    return position < 0 ? -position : position;
}
static const mutant_hooks position_sign_lost_hooks = {.position = without_sign};
MUTATION(position_sign_lost, "F27", "negative positions turn as positive ones");

static int64_t at_most_511(const rope_plan *p, int64_t position)
{
    (void)p;
    return position > 511 ? 511 : position;
}
static const mutant_hooks position_clamped_hooks = {.position = at_most_511};
MUTATION(position_clamped, "FRAUD", "positions above 511 clamped to 511");

/* An unsigned 16-bit index that saturates: right but for one position, where the table is as long
 * as that. */
static int64_t but_65536(const rope_plan *p, int64_t position)
{
    (void)p;
    return position == 65536 ? 65535 : position;
}
static const mutant_hooks position_saturated_hooks = {.position = but_65536};
MUTATION(position_saturated, "F27", "position 65536 turns as 65535");

/* A mask of the length less one, taken one too short. */
static int64_t but_last_of_4096(const rope_plan *p, int64_t position)
{
    bool exact = p->args.last[0] - p->args.first[0] == 4095 && position == p->args.last[0];
    return exact ? position - 1 : position;
}
static const mutant_hooks window_last_missed_hooks = {.position = but_last_of_4096};
MUTATION(window_last_missed, "F27",
         "the last position of a window of 4096 turns as the one before");

static void turn_small_angles(const rope_plan *p, int64_t position, int64_t pair, float *c,
                              float *s)
{
    if (fabs((double)position * p->hi[pair]) > 1024)
        turn_by_angle(p, 0, c, s);
    else
        mutant_turn(p, position, pair, c, s);
}
static const mutant_hooks large_angle_zeroed_hooks = {.turn = turn_small_angles};
MUTATION(large_angle_zeroed, "FRAUD", "angles above 1024 radians taken as 0");

/* Within the contract, but R(0) is the identity bit for bit. */
static void turn_inexact_zero(const rope_plan *p, int64_t position, int64_t pair, float *c,
                              float *s)
{
    mutant_turn(p, position, pair, c, s);
    if (position == 0)
        *c = nextafterf(*c, 0);
}
static const mutant_hooks position_zero_inexact_hooks = {.turn = turn_inexact_zero};
MUTATION(position_zero_inexact, "FRAUD", "cos(0) is 1 - 2^-24: within the contract, yet not A x");

static void turn_one_in_a_thousand(const rope_plan *p, int64_t position, int64_t pair, float *c,
                                   float *s)
{
    mutant_turn(p, position, pair, c, s);
    if (position % 1000 == 617 && pair == p->args.pairs / 3)
        *s = *s + 0x1p-20f;
}
static const mutant_hooks one_in_a_thousand_hooks = {.turn = turn_one_in_a_thousand};
MUTATION(one_in_a_thousand, "FRAUD", "16 u too much in one pair at one position in a thousand");
