/* The checks of resources, empty calls, far positions, processor state and claims: each is seen to
 * fail on the mutant that it is there for, with its own reason, and to pass on the original. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "impl/registry.h"
#include "props/case.h"
#include "props/mutants.h"
#include "props/run.h"

static prop_suite suite;

static int open_suite(void **state)
{
    static const char *const specs[] = {
        "head_dim=64,base=10000,pairing=half",
        "head_dim=16,base=10000,pairing=half",
        "head_dim=8,base=10000,pairing=half",
        "head_dim=4,base=10000,pairing=half",
        "head_dim=18,base=10000,pairing=half",
        "head_dim=16,base=10000,pairing=half,axes=mrope,sections=2:3:3",
        "head_dim=520,base=10000,pairing=half",
        "head_dim=24,rotary_dim=16,rotary_offset=3,base=10000,pairing=half,scaling=yarn,factor=4,"
        "original=4096",
        "head_dim=48,rotary_dim=30,rotary_offset=7,base=10000,pairing=half,axes=mrope,"
        "sections=4:6:5,scaling=yarn,factor=4,original=4096"};
    enum { SPECS = sizeof specs / sizeof specs[0] };
    rope_error error;
    (void)state;
    return prop_suite_chosen(&suite, specs, SPECS, PROP_QUICK, ROPE_TRUTH_EXACT, &error) ? 0 : 1;
}

static int close_suite(void **state)
{
    (void)state;
    prop_suite_free(&suite);
    return 0;
}

/* Runs cases of a property until one fails; sheet is of the last. */
static void judge_all(const rope_kernel *kernel, const char *property, int entry, prop_sheet *sheet)
{
    prop_subject s = prop_suite_subject(&suite, entry, kernel, ROPE_HALF, ROPE_F32, 1);
    const prop_property *p = prop_property_find(property);
    assert_non_null(p);
    int64_t count = p->count(&s);
    assert_true(count > 0);
    for (int64_t i = 0; i < count; i++) {
        const char *reason;
        rope_error error;
        prop_case c = {0};
        assert_true(p->generate(&s, i, &c));
        if (!prop_trial(&s, &c, sheet, &error))
            fail_msg("%s", error.text);
        prop_case_free(&c);
        assert_false(sheet->refused);
        if (prop_sheet_failed(sheet, &reason))
            return;
        assert_int_equal(sheet->made, sheet->expected);
        assert_true(sheet->made > 0);
    }
}

static const struct {
    const char *mutant, *property, *reason;
    int entry; /* of the suite */
} table[] = {
    {"apply_allocates", "footprint", "apply calls malloc or free 2 times", 0},
    {"apply_starts_thread", "footprint", "starts 1 threads", 0},
    {"thread_left", "footprint", "1 threads that the kernel started run on", 0},
    {"file_left_open", "footprint", "files are still open", 0},
    {"memory_left_mapped", "footprint", "apply leaves 65536 bytes mapped", 0},
    {"destroy_leaks", "footprint", "every plan that is destroyed leaves", 0},
    {"refusal_leaks", "footprint", "every plan that is refused leaves", 0},
    {"plan_bytes_short", "footprint", "but plan has taken", 0},
    {"plan_bytes_absurd", "footprint", "more than the process may have", 0},
    {"empty_refused", "empty", "a call with 0 tokens is answered by 4", 0},
    {"empty_read", "empty", "SIGSEGV", 0},
    {"position_int32", "far", "position 2147483653, pair 0", 0},
    {"late_call", "reuse", "the same call on the same plan", 0},
    {"position_stride_capped", "contract", "positions inside the plan's window", 0},
    {"mmx_state_left", "identity", "x87 registers in use", 0},
    {"direction_flag_left", "identity", "direction and alignment flags", 0},
    {"x87_precision_left", "identity",
     "x87 control word was 0x37f and became 0x27f: precision of 53", 0},
    {"exception_unmasked", "identity", ": exceptions unmasked: overflow", 0},
    {"rounding_mode_left", "identity", ": rounding downward, not to nearest", 0},
    {"contract_rounding_mode", "contract", "error_bound: ", 0},
    {"window_last_missed", "contract", "position 4095, pair 0", 2},
    {"tokens_capped", "contract", "pair 0", 3},
    {"consecutive_by_ends", "contract", "pair 0", 4},
    {"text_by_first_token", "contract", "pair 5", 5},
    {"attention_factor_decoding", "contract", "position 4001, pair 0", 7},
    {"heads_four_after_eight", "contract", "position 4001, pair 0", 0},
    {"decoding_drifts", "contract", "position 1", 2},
    {"attention_factor_wide", "contract", "position 0, pair 0", 8},
    {"axes_wide", "contract", "pair 4", 8},
    {"place_int16", "contract", "position 32768, pair 0", 1},
    {"range_by_first_token", "contract", "position 105615, pair 1", 1},
    {"range_of_few", "window", "lies outside the plan's window", 0},
    {"plan_by_address", "reuse", "beside a plan of other frequencies", 0},
    {"plans_share", "reuse", "another plan beside this one", 0},
    {"scratch_static", "concurrent", "one that another interrupts: row 7 at position", 0},
    {"scratch_in_plan", "concurrent", "one that another interrupts: row 8 at position", 0},
    {"large_aliasing", "large", "in a large tensor, against a small one", 0},
    {"streamed_last_missed", "large", "in a large tensor, against a small one", 0},
    {"large_factor_dropped", "large", "in a large tensor, against a small one", 8},
    {"large_rest_missed", "large", "what does not rotate is not copied", 8},
    {"large_in_place", "large", "in a large tensor, against a small one", 0},
    {"large_x_strides", "large", "in a large tensor, token 0 of", 8},
    {"large_position_stride", "large", "apply answers 2 for a tensor", 8},
    {"large_writes_past", "large", "outside the rows of y", 0},
    {"large_edits_input", "large", "SIGSEGV", 0},
    {"large_tile_positions", "large", "in a large tensor, against a small one", 0},
    {"large_starts_thread", "large", "starts 1 threads", 0},
    {"large_rounding_mode", "large", "rounding downward", 0},
    {"overlap_in_place", "batch", "x and y row by row in one tensor: apply has written its input",
     0},
    {"row_copied_to_static", "concurrent", "calls share memory", 0},
    {"scratch_static_long", "concurrent", "one that another interrupts: row 7", 6},
    {"scratch_static_many", "concurrent", "one that another interrupts: row 76", 2},
    {"allocates_long", "footprint", "apply calls malloc or free 2 times", 6},
    {"allocates_many", "footprint", "apply calls malloc or free 2 times", 2},
    {"destroy_null", "empty", "bytes past the end of what destroy(NULL) has", 0},
    {"range_by_blocks", "window", "apply answers RANGE, but has written y", 0},
    {"plans_share_geometry", "reuse", "another plan beside this one", 0},
};

static void mutants_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        static prop_sheet sheet;
        const char *reason;
        const prop_mutant *m = prop_mutant_find(table[i].mutant);
        assert_non_null(m);
        if (m->waits_for != NULL) {
            print_message("skip %s: needs %s\n", table[i].mutant, m->waits_for);
            continue;
        }
        judge_all(m->kernel, table[i].property, table[i].entry, &sheet);
        if (!prop_sheet_failed(&sheet, &reason) || strstr(reason, table[i].reason) == NULL)
            fail_msg("%s: '%s', expected '%s'", table[i].mutant, reason, table[i].reason);
    }
}

static void originals_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        static prop_sheet sheet;
        const char *reason;
        judge_all(rope_registry_find("lookup"), table[i].property, table[i].entry, &sheet);
        if (prop_sheet_failed(&sheet, &reason))
            fail_msg("%s: %s", table[i].property, reason);
        if (strcmp(table[i].property, "far") == 0)
            assert_true(sheet.bands[0].comparisons + sheet.bands[0].unjudged > 0);
    }
}

/* A sum over pairs, a whole row, a call: no pair is named, which would be any, with x = (0, 0). */
static void sums_name_no_pair(void **state)
{
    (void)state;
    static const struct {
        const char *mutant, *property, *reason;
    } cases[] = {
        {"frequency_bf16", "decay", "mean |S_j(m)| is the oracle's: position 1: deviation"},
        {"angle_bf16", "offset", "score(m + t, n + t) = score(m, n): position "},
        {"non_deterministic", "independence", "position "},
        {"latest_plan", "reuse", "beside a plan of other frequencies: row "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static prop_sheet sheet;
        const char *reason;
        const prop_mutant *m = prop_mutant_find(cases[i].mutant);
        assert_non_null(m);
        judge_all(m->kernel, cases[i].property, 0, &sheet);
        assert_true(prop_sheet_failed(&sheet, &reason));
        if (strncmp(reason, cases[i].reason, strlen(cases[i].reason)) != 0 ||
            strstr(reason, "pair ") != NULL || strstr(reason, "x = ") != NULL)
            fail_msg("%s: '%s'", cases[i].mutant, reason);
        const prop_tally *t = &sheet.bands[0];
        assert_true(t->failures > 0 && t->pair == PROP_NO_PAIR && isnan(t->x0) && isnan(t->x1));
    }
}

/* A claim that outlies those further out is counted, with the largest and its place. */
static void spikes_are_counted(void **state)
{
    (void)state;
    static prop_sheet sheet;
    rope_error error;
    const rope_kernel *kernels[] = {prop_mutant_find("contract_spiked")->kernel,
                                    rope_registry_find("lookup")};
    for (int k = 0; k < 2; k++) {
        prop_subject s = prop_suite_subject(&suite, 1, kernels[k], ROPE_HALF, ROPE_F32, 1);
        prop_case c = {0};
        assert_true(prop_case_new(&c, &prop_contract_property, &s, 3, 1, 1));
        c.positions[0] = 5;
        c.positions[1] = 1617;
        c.positions[2] = 40000;
        assert_true(prop_trial(&s, &c, &sheet, &error));
        prop_case_free(&c);
        assert_false(sheet.failed);
        assert_int_equal(sheet.bands[0].claims, 3 * 8);
        assert_int_equal(sheet.bands[0].outlying, k == 0 ? 8 : 0);
        if (k == 0) {
            assert_true(sheet.bands[0].claim == 0x1p22);
            assert_int_equal(sheet.bands[0].claim_position, 1617);
        }
    }
}

/* A kernel may keep other calls out: then the second waits for the first, and nothing is lost. */
static const rope_kernel *unlocked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rope_status apply_locked(const rope_plan *plan, const rope_view *x, const rope_view *y,
                                const int64_t *positions, int64_t position_stride)
{
    pthread_mutex_lock(&lock);
    rope_status status = unlocked->apply(plan, x, y, positions, position_stride);
    pthread_mutex_unlock(&lock);
    return status;
}

static void locks_are_allowed(void **state)
{
    (void)state;
    static prop_sheet sheet;
    const char *reason;
    unlocked = prop_mutant_find("scratch_static")->kernel;
    rope_kernel locked = *unlocked;
    locked.apply = apply_locked;
    judge_all(&locked, "concurrent", 1, &sheet);
    if (prop_sheet_failed(&sheet, &reason))
        fail_msg("%s", reason);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutants_fail),      cmocka_unit_test(originals_pass),
        cmocka_unit_test(sums_name_no_pair), cmocka_unit_test(spikes_are_counted),
        cmocka_unit_test(locks_are_allowed),
    };
    return cmocka_run_group_tests(tests, open_suite, close_suite);
}
