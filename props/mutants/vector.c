/* Faults of vector loops: F28. Widths are in pairs. The fault shows where rotary_dim / 2 is no
 * multiple of the width; the overlapping tail also needs x == y. */
#include "props/mutants/common.h"

static void leave_tail(const mutant_row *r, int64_t width, const float *x, float *y)
{
    int64_t pairs = r->plan->args.pairs, whole = pairs - pairs % width;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t a, b;
        mutant_elements(r->plan, i, &a, &b);
        if (i < whole) {
            mutant_rotate_pair(r, i, x, y);
        } else {
            y[a] = x[a];
            y[b] = x[b];
        }
    }
    mutant_copy_rest(r, x, y);
}

static void leave_tail_of_2(const mutant_row *r, const float *x, float *y)
{
    leave_tail(r, 2, x, y);
}
static const mutant_hooks vector_tail_2_hooks = {.row = leave_tail_of_2};
MUTATION(vector_tail_2, "F28", "pairs after the last whole vector of 2 are not rotated",
         .example = "head_dim=14,base=10000,pairing=half");

static void leave_tail_of_4(const mutant_row *r, const float *x, float *y)
{
    leave_tail(r, 4, x, y);
}
static const mutant_hooks vector_tail_4_hooks = {.row = leave_tail_of_4};
MUTATION(vector_tail_4, "F28", "pairs after the last whole vector of 4 are not rotated",
         .example = "head_dim=20,base=10000,pairing=half");

static void leave_tail_of_8(const mutant_row *r, const float *x, float *y)
{
    leave_tail(r, 8, x, y);
}
static const mutant_hooks vector_tail_8_hooks = {.row = leave_tail_of_8};
MUTATION(vector_tail_8, "F28", "pairs after the last whole vector of 8 are not rotated",
         .example = "head_dim=40,base=10000,pairing=half");

static void leave_tail_of_16(const mutant_row *r, const float *x, float *y)
{
    leave_tail(r, 16, x, y);
}
static const mutant_hooks vector_tail_16_hooks = {.row = leave_tail_of_16};
MUTATION(vector_tail_16, "F28", "pairs after the last whole vector of 16 are not rotated",
         .example = "head_dim=80,base=10000,pairing=half");

/* The last vector is moved back to end with the row: right out of place, turns some pairs twice in
 * place. */
static void overlap_tail(const mutant_row *r, const float *x, float *y)
{
    int64_t pairs = r->plan->args.pairs, whole = pairs - pairs % 8;
    for (int64_t i = 0; i < whole; i++)
        mutant_rotate_pair(r, i, x, y);
    if (whole < pairs)
        for (int64_t i = pairs >= 8 ? pairs - 8 : 0; i < pairs; i++)
            mutant_rotate_pair(r, i, x, y);
    mutant_copy_rest(r, x, y);
}
static const mutant_hooks vector_tail_overlap_hooks = {.row = overlap_tail};
MUTATION(vector_tail_overlap, "F28", "the last vector of 8 overlaps: in place, pairs turn twice",
         .example = "head_dim=40,base=10000,pairing=half");

/* The tail takes the first lanes' cos and sin. */
static void tail_from_first_lanes(const mutant_row *r, const float *x, float *y)
{
    int64_t pairs = r->plan->args.pairs, whole = pairs - pairs % 8;
    float cosines[MUTANT_MAX_PAIRS], sines[MUTANT_MAX_PAIRS];
    mutant_row wrong = *r;
    for (int64_t i = 0; i < pairs; i++) {
        cosines[i] = r->cosines[i < whole ? i : i - whole];
        sines[i] = r->sines[i < whole ? i : i - whole];
    }
    wrong.cosines = cosines;
    wrong.sines = sines;
    mutant_rotate_row(&wrong, x, y);
}
static const mutant_hooks vector_tail_lanes_hooks = {.row = tail_from_first_lanes};
MUTATION(vector_tail_lanes, "F28", "the tail after vectors of 8 takes the first lanes' cos and sin",
         .example = "head_dim=40,base=10000,pairing=half");

/* Loads whole vectors of 8 floats from the row, past its end too. */
static void load_whole_vectors(const mutant_row *r, const float *x, float *y)
{
    int64_t end = r->plan->spec.rotary_offset + 2 * r->plan->args.pairs;
    for (int64_t i = r->plan->spec.rotary_offset; i < end; i += 8)
        for (int64_t lane = 0; lane < 8; lane++)
            (void)((const volatile float *)x)[i + lane];
    mutant_rotate_row(r, x, y);
}
static const mutant_hooks vector_over_read_hooks = {.row = load_whole_vectors};
MUTATION(vector_over_read, "F28", "loads whole vectors of 8 floats past the row's end",
         .example = "head_dim=20,base=10000,pairing=half");

/* Masks nothing: stores the lanes past the end as they were read from there. */
static void store_whole_vectors(const mutant_row *r, const float *x, float *y)
{
    int64_t end = r->plan->spec.rotary_offset + 2 * r->plan->args.pairs;
    int64_t stop = r->plan->spec.rotary_offset + (2 * r->plan->args.pairs + 7) / 8 * 8;
    mutant_rotate_row(r, x, y);
    for (int64_t i = end; i < stop; i++)
        ((volatile float *)y)[i] = 0;
}
static const mutant_hooks vector_over_write_hooks = {.row = store_whole_vectors};
MUTATION(vector_over_write, "F28", "stores whole vectors of 8 floats: zeros past the rotated part",
         .example = "head_dim=20,base=10000,pairing=half");

/* A loop unrolled to 32 pairs, and a tail of twos after it. */
static void tail_after_block(const mutant_row *r, const float *x, float *y)
{
    int64_t pairs = r->plan->args.pairs, first, second;
    float u, v;
    mutant_elements(r->plan, pairs - 1, &first, &second);
    u = x[first];
    v = x[second];
    mutant_rotate_row(r, x, y);
    if (pairs > 32 && pairs % 2 == 1) {
        y[first] = u;
        y[second] = v;
    }
}
static const mutant_hooks vector_tail_unrolled_hooks = {.row = tail_after_block};
MUTATION(vector_tail_unrolled, "F28", "past 32 pairs, the last of an odd number is not rotated");
