/* Units and errands share one pool of child processes: each ends by itself, and is booked as it
 * ended. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/verify_encodings.h"

static int add_one(void *context)
{
    ++*(int *)context;
    return 7;
}

static int crash(void *context)
{
    (void)context;
    raise(SIGSEGV);
    return 0;
}

static int leave(void *context)
{
    (void)context;
    _exit(3);
}

static void check_errands(prop_unit *units, int unit_count, int jobs)
{
    rope_error error;
    int *shared = prop_share(2 * sizeof *shared);
    assert_non_null(shared);
    prop_errand errands[] = {{.body = add_one, .context = &shared[0]},
                             {.body = crash},
                             {.body = leave},
                             {.body = add_one, .context = &shared[1]}};
    assert_true(prop_run(units, unit_count, errands, 4, jobs, "test", &error));
    assert_int_equal(shared[0], 1);
    assert_int_equal(shared[1], 1);
    assert_int_equal(errands[0].end.outcome, PROP_FINISHED);
    assert_int_equal(errands[0].end.status, 7);
    assert_int_equal(errands[1].end.outcome, PROP_SIGNAL);
    assert_int_equal(errands[1].end.signal, SIGSEGV);
    assert_int_equal(errands[2].end.outcome, PROP_EXITED);
    assert_int_equal(errands[2].end.status, 3);
    assert_int_equal(errands[3].end.status, 7);
    prop_unshare(shared, 2 * sizeof *shared);
}

static void errands_end_by_themselves(void **state)
{
    (void)state;
    check_errands(NULL, 0, 1);
    check_errands(NULL, 0, 3);
}

static void units_run_beside_errands(void **state)
{
    static const char *const specs[] = {"head_dim=8,base=10000,pairing=half"};
    (void)state;
    prop_suite suite;
    rope_error error;
    size_t properties;
    prop_properties(&properties);
    assert_true(prop_suite_chosen(&suite, specs, 1, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    prop_unit unit = {.kernel = rope_registry_find("lookup"),
                      .pairing = ROPE_HALF,
                      .dtype = ROPE_F32,
                      .seed = 1,
                      .suite = &suite};
    check_errands(&unit, 1, 2);
    int done = 0;
    for (int p = 0; p < (int)properties; p++)
        done += prop_unit_finding(&unit, 0, p)->state == PROP_DONE;
    assert_true(done >= (int)properties / 2);
    assert_int_equal(unit.crashes, 0);
    prop_unit_free(&unit);
    prop_suite_free(&suite);
}

/* One of each kernel, in order; then the others, the longest first, where that is known. */
static void the_longest_are_not_left_for_the_end(void **state)
{
    (void)state;
    static const rope_kernel a, b, c;
    enum { COUNT = 6 };
    prop_unit units[COUNT] = {{.kernel = &a}, {.kernel = &a}, {.kernel = &b},
                              {.kernel = &b}, {.kernel = &c}, {.kernel = &c}};
    bool started[COUNT] = {false};
    static const struct {
        int unit;       /* that is started */
        double seconds; /* that it has taken when the next is chosen; 0: it still runs */
    } steps[COUNT] = {{0, 1}, {2, 0}, {4, 2}, {5, 0}, {1, 1}, {3, 1}};
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(prop_next_unit(units, started, COUNT), steps[i].unit);
        started[steps[i].unit] = true;
        units[steps[i].unit].cpu_seconds = steps[i].seconds;
    }
    assert_int_equal(prop_next_unit(units, started, COUNT), -1);
    assert_int_equal(prop_next_unit(units, started, 0), -1);
}

/* What a person reads of the encodings' processes. */
static prop_sum encodings_text(prop_encodings *e, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    assert_non_null(out);
    prop_encodings_book(e);
    prop_sum sum = prop_encodings_text(e, out);
    fclose(out);
    return sum;
}

static void an_encoding_that_crashes_has_failed(void **state)
{
    (void)state;
    static prop_encodings e;
    static char text[1 << 14];
    rope_error error;
    const rope_header *alibi = rope_registry_find_any("alibi");
    assert_non_null(alibi);
    assert_true(prop_encodings_add(&e, alibi, &error));
    assert_true(prop_encodings_prepare(&e, 1, PROP_QUICK, &error));
    assert_true(prop_run(NULL, 0, e.errands, e.count, 1, "test", &error));
    prop_sum sum = encodings_text(&e, text, sizeof text);
    assert_int_equal(sum.failed, 0);
    assert_true(sum.passed > 0);

    e.errands[0].body = crash;
    assert_true(prop_run(NULL, 0, e.errands, e.count, 1, "test", &error));
    sum = encodings_text(&e, text, sizeof text);
    assert_int_equal(sum.failed, 1);
    assert_non_null(strstr(text, "FAIL alibi          environment"));
    assert_non_null(strstr(text, "SIGSEGV"));
    prop_encodings_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errands_end_by_themselves),
        cmocka_unit_test(units_run_beside_errands),
        cmocka_unit_test(the_longest_are_not_left_for_the_end),
        cmocka_unit_test(an_encoding_that_crashes_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
