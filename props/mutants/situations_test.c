/* Every mutant differs from its original in its own situation, and (where its fault has a
 * condition) is the same, bit for bit, outside it. A mutant that is in no table of these tests
 * fails. */
#include "props/mutants/testing.h"

#define PLAIN "head_dim=128,base=10000,pairing=half"
#define SMALL "head_dim=16,base=10000,pairing=half"
#define PARTIAL "head_dim=80,rotary_dim=32,base=10000,pairing=half"
#define MROPE "head_dim=32,base=10000,pairing=half,axes=mrope,sections=5:9:2"
#define YARN "head_dim=128,base=10000,pairing=half,scaling=yarn,factor=16,original=4096"
#define LLAMA3                                                                                     \
    "head_dim=128,base=500000,pairing=half,scaling=llama3,factor=8,low=1,high=4,original=8192"
#define LONGROPE                                                                                   \
    "head_dim=8,base=10000,pairing=half,scaling=longrope,original=4096,max_position=131072,"       \
    "short_factors=1:1.1:1.2:1.3,long_factors=1:2:8:32,length="
#define DYNAMIC "head_dim=64,base=1000,pairing=half,scaling=dynamic,factor=2,original=2048,length="

typedef enum data {
    DATA_USUAL = 0, /* signed, 2^-6 .. 2^6 */
    DATA_NAN,       /* a NaN in the first pair */
    DATA_TINY,      /* about 2^-126 */
    DATA_LARGE,     /* about 2^100 */
    DATA_UNIT,      /* first of every pair 1, all else 0 */
    DATA_UNEQUAL,   /* the second half 2^12 times the first */
    DATA_ZERO_REST, /* -0 in all */
    DATA_ZERO,
} data;

typedef struct situation {
    const char *spec;    /* NULL: the mutant's example */
    int64_t first, step; /* positions first, first + step, ... */
    int64_t tokens, heads, gap;
    data kind;
    int shift; /* elements off a 64-byte boundary */
    bool in_place;
    bool image;       /* positions differ between the axes */
    int calls_before; /* on the same plan, at other positions */
    int64_t y_gap;    /* beside gap, between rows of y */
} situation;

static float value(data kind, uint64_t *seed, int64_t element, int64_t dim)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    double mantissa = 1 + (double)(*seed >> 12) * 0x1p-52, sign = *seed & 1 ? -1 : 1;
    double usual = sign * ldexp(mantissa, (int)(*seed >> 1 & 7) - 4);
    switch (kind) {
    case DATA_NAN:
        return element == 0 ? NAN : (float)usual;
    case DATA_TINY:
        return (float)ldexp(usual, -126);
    case DATA_LARGE:
        return (float)ldexp(usual, 100);
    case DATA_UNIT:
        return element < dim / 2 ? 1 : 0;
    case DATA_UNEQUAL:
        return (float)ldexp(sign * mantissa, element < dim / 2 ? 0 : 12);
    case DATA_ZERO:
        return 0;
    case DATA_ZERO_REST:
        return -0.f;
    default:
        return (float)usual;
    }
}

enum { ROOM = 1 << 17 };

/* Runs one kernel; the returned buffer holds y's whole room. */
static void run(const prop_mutant *m, const rope_kernel *kernel, const situation *s, float *y)
{
    static float room[ROOM];
    static int64_t positions[1 << 14];
    problem p;
    problem_open(&p, s->spec != NULL ? s->spec : m->example);
    int64_t axes = p.frequencies.axis_count, dim = p.spec.head_dim;
    int64_t last = s->first + (s->tokens - 1) * s->step;
    int64_t spare = 2 * s->tokens + 64 + s->calls_before;
    rope_plan *plan = problem_plan(&p, kernel, (s->first < last ? s->first : last) - spare,
                                   (s->first < last ? last : s->first) + spare);
    float *x = (float *)(((uintptr_t)room + 63) / 64 * 64) + s->shift;
    float *to = s->in_place ? x : (float *)(((uintptr_t)y + 63) / 64 * 64) + s->shift;
    rope_view from = {x, s->tokens, s->heads, s->heads * (dim + s->gap), dim + s->gap};
    rope_view target = {to, s->tokens, s->heads, s->heads * (dim + s->gap + s->y_gap),
                        dim + s->gap + s->y_gap};
    if (s->in_place)
        target = from;
    assert_true(s->tokens * target.token_stride + 128 < ROOM && s->tokens * axes <= 1 << 14);

    uint64_t seed = 0x9e3779b97f4a7c15u;
    memset(y, 0x7f, ROOM * sizeof *y);
    for (int call = -s->calls_before; call <= 0; call++) {
        for (int64_t i = 0; i < s->tokens * s->heads * (dim + s->gap); i++)
            x[i] = value(s->kind, &seed, i % (dim + s->gap), dim);
        for (int64_t t = 0; t < s->tokens; t++)
            for (int64_t a = 0; a < axes; a++)
                positions[t * axes + a] =
                    s->first + t * s->step + (s->image ? a * (t + 1) : 0) + call;
        assert_int_equal(kernel->apply(plan, &from, &target, positions, axes), ROPE_OK);
    }
    if (s->in_place)
        memcpy((float *)(((uintptr_t)y + 63) / 64 * 64) + s->shift, x,
               (size_t)(s->tokens * from.token_stride) * sizeof *x);
    kernel->destroy(plan);
    problem_close(&p);
}

/* Whether mutant and original give different bits. */
static bool differs(const char *name, const situation *s)
{
    static float mutant[ROOM], original[ROOM];
    const prop_mutant *m = mutant_of(name);
    run(m, m->original, s, original);
    run(m, m->kernel, s, mutant);
    size_t offset = (size_t)((((uintptr_t)mutant + 63) / 64 * 64 - (uintptr_t)mutant) / 4);
    size_t same = (size_t)((((uintptr_t)original + 63) / 64 * 64 - (uintptr_t)original) / 4);
    return memcmp(mutant + offset, original + same, (ROOM - 64) * sizeof *mutant) != 0;
}

#define USUAL .first = 0, .step = 1, .tokens = 40, .heads = 3

static const struct {
    const char *name;
    situation shows;
    situation hidden; /* tokens 0: it has no condition, or none that is this simple */
} table[] = {
    {"pairing_swapped", {USUAL}, {.spec = "head_dim=2,base=10000,pairing=half", USUAL}},
    {"mixed_q_k_calls", {USUAL, .calls_before = 1}, {USUAL}},
    {"mixed_q_k_heads", {USUAL}, {.step = 1, .tokens = 40, .heads = 1}},
    {"mismatched_table", {USUAL}, {.spec = "head_dim=2,base=10000,pairing=half", USUAL}},
    {"frequency_bf16", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"frequency_f16", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"position_bf16", {.first = 257, .step = 2, .tokens = 9, .heads = 2}, {USUAL}},
    {"position_f16", {.first = 2049, .step = 2, .tokens = 9, .heads = 2}, {USUAL}},
    {"position_tf32", {.first = 2049, .step = 2, .tokens = 9, .heads = 2}, {USUAL}},
    {"angle_f16", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"angle_bf16", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"table_bf16", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"table_f16", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"f32_angle",
     {.first = 4096, .step = 1, .tokens = 9, .heads = 2},
     {.step = 1, .tokens = 1, .heads = 3}},
    {"frequency_recurrence",
     {.first = 4096, .step = 1, .tokens = 9, .heads = 2},
     {.step = 1, .tokens = 1, .heads = 3}},
    {"range_reduction",
     {.first = 131000, .step = 1, .tokens = 9, .heads = 2},
     {.first = 8000, .step = 1, .tokens = 20, .heads = 2}},
    {"range_reduction_missing",
     {.first = 70000, .step = 1, .tokens = 9, .heads = 2},
     {.first = 60000, .step = 1, .tokens = 20, .heads = 2}},
    {"yarn_magnitude", {USUAL}, {.spec = YARN, USUAL}},
    {"yarn_magnitude_squared", {.spec = YARN, USUAL}, {.spec = LLAMA3, USUAL}},
    {"yarn_range_rounding", {USUAL}, {.spec = LLAMA3, USUAL}},
    {"yarn_clamp", {USUAL}, {.spec = YARN, USUAL}},
    {"scale_inside_power", {USUAL}, {.spec = YARN, USUAL}},
    {"ntk_base", {USUAL}, {.spec = YARN, USUAL}},
    {"dynamic_constant", {USUAL}, {.spec = DYNAMIC "4096", USUAL}},
    {"dynamic_below_length", {USUAL}, {.spec = DYNAMIC "3000", USUAL}},
    {"partial_exponent", {USUAL}, {.spec = PLAIN, USUAL}},
    {"partial_partner", {USUAL}, {.spec = PLAIN, USUAL}},
    {"llama3_factors_dropped", {USUAL}, {.spec = YARN, USUAL}},
    {"llama3_factors", {USUAL}, {.spec = YARN, USUAL}},
    {"linear_inverted", {USUAL}, {.spec = YARN, USUAL}},
    {"wrong_base", {USUAL}, {.spec = PLAIN, USUAL}},
    {"integer_exponent", {USUAL}, {.spec = "head_dim=2,base=10000,pairing=half", USUAL}},
    {"inverse_rotation", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"in_place_aliasing", {USUAL, .in_place = true}, {USUAL}},
    {"wrong_axis", {USUAL}, {.step = 1, .tokens = 1, .heads = 1}},
    {"first_position", {USUAL}, {.first = 7, .step = 0, .tokens = 40, .heads = 3}},
    {"first_token_only", {USUAL}, {.first = 7, .step = 0, .tokens = 1, .heads = 3}},
    {"stale_offset", {USUAL, .calls_before = 1}, {USUAL}},
    {"position_off_by_one", {USUAL}, {0}},
    {"position_unsigned", {.first = -3, .step = 1, .tokens = 3, .heads = 2}, {USUAL}},
    {"position_wrapped", {.first = 65530, .step = 1, .tokens = 9, .heads = 2}, {USUAL}},
    {"position_int32",
     {.first = (int64_t)1 << 31, .step = 1, .tokens = 3, .heads = 2},
     {.first = -7, .step = 1, .tokens = 40, .heads = 2}},
    {"position_sign_lost", {.first = -3, .step = 1, .tokens = 3, .heads = 2}, {USUAL}},
    {"vector_tail_2", {USUAL}, {.spec = SMALL, USUAL}},
    {"vector_tail_4", {USUAL}, {.spec = SMALL, USUAL}},
    {"vector_tail_8", {USUAL}, {.spec = SMALL, USUAL}},
    {"vector_tail_16", {USUAL}, {.spec = PLAIN, USUAL}},
    {"vector_tail_overlap", {USUAL, .in_place = true}, {USUAL}},
    {"vector_tail_lanes", {USUAL}, {.spec = SMALL, USUAL}},
    {"vector_over_write", {USUAL}, {.spec = SMALL, USUAL}},
    {"vector_tail_unrolled",
     {.spec = "head_dim=70,base=10000,pairing=half", USUAL},
     {.spec = "head_dim=72,base=10000,pairing=half", USUAL}},
    {"head_block", {.step = 1, .tokens = 9, .heads = 8}, {.step = 1, .tokens = 9, .heads = 9}},
    {"heads_capped", {.step = 1, .tokens = 9, .heads = 65}, {.step = 1, .tokens = 9, .heads = 64}},
    {"tokens_capped",
     {.spec = "head_dim=8,base=10000,pairing=half", .step = 1, .tokens = 8193, .heads = 1},
     {.spec = "head_dim=8,base=10000,pairing=half", .step = 1, .tokens = 8192, .heads = 1}},
    {"position_saturated",
     {.first = 65536, .step = 1, .tokens = 1, .heads = 1},
     {.first = 65537, .step = 1, .tokens = 40, .heads = 1}},
    {"sections_by_eight", {.spec = MROPE, USUAL, .image = true}, {.spec = MROPE, USUAL}},
    {"attention_factor_partial", {USUAL}, {.spec = YARN, USUAL}},
    {"attention_factor_on_rest", {USUAL}, {.spec = PARTIAL, USUAL}},
    {"offset_with_axes", {USUAL}, {.spec = MROPE, USUAL}},
    {"rest_of_few_tokens",
     {.step = 1, .tokens = 17, .heads = 1},
     {.step = 1, .tokens = 16, .heads = 2}},
    {"pairs_capped",
     {.step = 1, .tokens = 3, .heads = 1},
     {.spec = "head_dim=512,base=10000,pairing=half", .step = 1, .tokens = 3, .heads = 1}},
    {"position_power",
     {.first = 1 << 18, .step = 1, .tokens = 1, .heads = 1},
     {.first = (1 << 18) + 1, .step = 1, .tokens = 9, .heads = 1}},
    {"divisors_ignored", {USUAL}, {.spec = SMALL, USUAL}},
    {"inv_freq_ignored", {USUAL}, {.spec = SMALL, USUAL}},
    {"exponent_by_head_ignored", {USUAL}, {.spec = PARTIAL, USUAL}},
    {"zero_rows_skipped", {USUAL, .kind = DATA_ZERO}, {USUAL}},
    {"wrong_stride", {USUAL, .y_gap = 3}, {USUAL, .gap = 5}},
    {"contiguous_assumed", {USUAL, .gap = 3}, {USUAL}},
    {"section_order", {.spec = MROPE, USUAL, .image = true}, {.spec = MROPE, USUAL}},
    {"section_layout", {.spec = MROPE, USUAL, .image = true}, {.spec = MROPE, USUAL}},
    {"section_ignored", {.spec = MROPE, USUAL, .image = true}, {.spec = MROPE, USUAL}},
    {"longrope_threshold", {USUAL}, {.spec = LONGROPE "4095", USUAL}},
    {"longrope_allocated", {USUAL}, {.spec = LONGROPE "4097", USUAL}},
    {"position_clamped", {.first = 500, .step = 1, .tokens = 20, .heads = 2}, {USUAL}},
    {"large_angle_zeroed", {.first = 1020, .step = 1, .tokens = 20, .heads = 2}, {USUAL}},
    {"position_zero_inexact", {USUAL}, {.first = 1, .step = 1, .tokens = 40, .heads = 2}},
    {"one_in_a_thousand",
     {.first = 617, .step = 1, .tokens = 1, .heads = 2},
     {.first = 618, .step = 1, .tokens = 300, .heads = 1}},
    {"frequency_f32", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"base_ignored",
     {USUAL},
     {.spec = "head_dim=128,base=500000,pairing=half", .step = 1, .tokens = 1, .heads = 2}},
    {"frequency_stretched", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"attention_factor_dropped", {USUAL}, {.spec = PLAIN, USUAL}},
    {"attention_factor_raised", {USUAL}, {.spec = YARN, USUAL}},
    {"still_pairs_copied", {USUAL}, {.spec = YARN, USUAL}},
    {"yarn_betas_ignored", {USUAL}, {.spec = YARN, USUAL}},
    {"first_head_only", {USUAL}, {.step = 1, .tokens = 40, .heads = 1}},
    {"small_shapes_only",
     {.step = 1, .tokens = 32, .heads = 2},
     {.step = 1, .tokens = 31, .heads = 2}},
    {"out_of_place_only", {USUAL, .in_place = true}, {USUAL}},
    {"aligned_only", {USUAL, .shift = 1}, {USUAL}},
    {"pointer_aligned_down", {USUAL, .shift = 1}, {USUAL, .shift = 4}},
    {"writes_gap", {USUAL, .gap = 4}, {USUAL}},
    {"hundredth_call",
     {.step = 1, .tokens = 2, .heads = 2, .calls_before = 99},
     {.step = 1, .tokens = 2, .heads = 2, .calls_before = 98}},
    {"late_call",
     {.step = 1, .tokens = 2, .heads = 2, .calls_before = 299},
     {.step = 1, .tokens = 2, .heads = 2, .calls_before = 298}},
    {"batch_dependent", {.step = 2, .tokens = 5, .heads = 3}, {USUAL}},
    {"non_deterministic", {USUAL, .calls_before = 1}, {0}},
    {"identity", {USUAL}, {.step = 1, .tokens = 1, .heads = 3}},
    {"zeros", {USUAL}, {0}},
    {"constant", {USUAL}, {0}},
    {"nan_returned", {USUAL}, {0}},
    {"nan_seldom", {.first = 60, .step = 1, .tokens = 4, .heads = 1}, {USUAL}},
    {"writes_nothing", {USUAL}, {0}},
    {"nan_spreads", {USUAL, .kind = DATA_NAN}, {USUAL}},
    {"nan_swallowed", {USUAL, .kind = DATA_NAN}, {USUAL}},
    {"saturates", {USUAL, .kind = DATA_LARGE}, {USUAL}},
    {"rest_not_copied", {USUAL}, {.spec = PLAIN, USUAL}},
    {"rest_cleared", {USUAL}, {.spec = PLAIN, USUAL}},
    {"rest_not_bitwise", {USUAL, .kind = DATA_ZERO_REST}, {.spec = PLAIN, USUAL}},
    {"unit_vectors_only", {USUAL}, {USUAL, .kind = DATA_UNIT}},
    {"term_dropped", {USUAL, .kind = DATA_UNEQUAL}, {USUAL}},
    {"flush_to_zero", {USUAL, .kind = DATA_TINY}, {USUAL}},
    {"attention_factor_decoding", {.tokens = 1, .heads = 16}, {.tokens = 1, .heads = 15}},
    {"heads_four_after_eight",
     {.first = 5, .step = 1, .tokens = 3, .heads = 12},
     {.first = 5, .step = 1, .tokens = 3, .heads = 19}},
    {"decoding_drifts",
     {.first = 500, .tokens = 1, .heads = 2, .calls_before = 40},
     {.first = 500, .step = 1, .tokens = 2, .heads = 2, .calls_before = 40}},
    {"attention_factor_wide", {.step = 5000, .tokens = 3, .heads = 2}, {USUAL}},
    {"axes_wide", {.step = 5000, .tokens = 3, .heads = 2, .image = true}, {USUAL, .image = true}},
    {"place_int16",
     {.step = 40000, .tokens = 2, .heads = 1},
     {.step = 15000, .tokens = 3, .heads = 1}},
    {"range_by_first_token",
     {.first = 100000, .step = 10000, .tokens = 2, .heads = 1},
     {.first = 110000, .step = -10000, .tokens = 2, .heads = 1}},
};
enum { ROWS = sizeof table / sizeof table[0] };

/* Whether this build resolves a spec. */
static bool resolves(const char *text)
{
    problem p;
    rope_error error;
    if (text == NULL)
        return true;
    if (!rope_spec_parse(text, &p.spec, &error))
        fail_msg("%s", error.text);
    bool resolved = rope_spec_resolve(&p.spec, ROPE_TRUTH_EXACT, &p.frequencies, &error);
    if (resolved)
        rope_frequencies_free(&p.frequencies);
    rope_spec_free(&p.spec);
    return resolved;
}

static void table_test(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        if (prop_mutant_find(table[i].name)->waits_for != NULL || !resolves(table[i].shows.spec) ||
            !resolves(table[i].hidden.spec))
            continue;
        if (!differs(table[i].name, &table[i].shows))
            fail_msg("%s equals its original where its fault should show", table[i].name);
        if (table[i].hidden.tokens != 0 && differs(table[i].name, &table[i].hidden))
            fail_msg("%s differs from its original where its fault should not show", table[i].name);
    }
}

/* Those that other tests prove: memory_test, process_test, property_test. */
static const char *const elsewhere[] = {
    "rounding_doubled",
    "rounding_table",
    "rounding_truncated",
    "index_overflow",
    "vector_over_read",
    "position_stride_ignored",
    "position_stride_capped",
    "mmx_state_left",
    "direction_flag_left",
    "x87_precision_left",
    "exception_unmasked",
    "apply_allocates",
    "apply_starts_thread",
    "thread_left",
    "file_left_open",
    "memory_left_mapped",
    "destroy_leaks",
    "refusal_leaks",
    "plan_bytes_short",
    "plan_bytes_absurd",
    "empty_refused",
    "empty_read",
    "contract_spiked",
    "plan_cached",
    "latest_plan",
    "consecutive_by_ends",
    "text_by_first_token",
    "plan_by_address",
    "plans_share",
    "range_of_few",
    "range_by_blocks",
    "plans_share_geometry",
    "scratch_static_long",
    "scratch_static_many",
    "allocates_long",
    "allocates_many",
    "destroy_null",
    "arguments_kept",
    "previous_output",
    "writes_past_row",
    "writes_before_row",
    "reads_past_row",
    "reads_before_row",
    "edits_input",
    "edits_positions",
    "window_ignored",
    "range_after_writing",
    "refuses_everything",
    "refuses_positions",
    "flags_accepted",
    "flush_to_zero_left",
    "rounding_mode_left",
    "plan_rounding_mode",
    "contract_nan",
    "contract_rounding_mode",
    "window_last_missed",
    "scratch_static",
    "overlap_in_place",
    "large_aliasing",
    "streamed_last_missed",
    "large_factor_dropped",
    "large_rest_missed",
    "large_in_place",
    "large_x_strides",
    "large_position_stride",
    "large_writes_past",
    "large_edits_input",
    "large_tile_positions",
    "large_starts_thread",
    "large_rounding_mode",
    "scratch_in_plan",
    "row_copied_to_static",
    "contract_infinite",
    "contract_negative",
    "contract_vast",
    "contract_zero",
    "contract_tight",
    "endless_loop",
    "endless_deaf",
    "aborts",
    "exits_zero",
    "exits_at_once",
    "prints_success",
    "segfaults",
    "illegal_instruction",
    "divides_by_zero",
    "overflows_stack",
    "plan_segfaults",
    "destroy_aborts",
    "contract_aborts",
};

static void coverage_test(void **state)
{
    (void)state;
    size_t count;
    const prop_mutant *all = prop_mutants(&count);
    for (size_t i = 0; i < count; i++) {
        int found = 0;
        if (all[i].header != NULL && all[i].header->kind != ROPE_ROTATION)
            continue; /* judged by encoding_test */
        for (size_t k = 0; k < ROWS; k++)
            found += strcmp(table[k].name, all[i].name) == 0;
        for (size_t k = 0; k < sizeof elsewhere / sizeof elsewhere[0]; k++)
            found += strcmp(elsewhere[k], all[i].name) == 0;
        if (found != 1)
            fail_msg("mutant %s is in %d tables of tests, expected 1", all[i].name, found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table_test),
                                       cmocka_unit_test(coverage_test)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
