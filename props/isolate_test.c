/* Every way in which a child can end is told apart, and the parent goes on. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "props/isolate.h"
#include "props/resources.h"

static int *shared;

static int finish(void *context)
{
    *shared = *(int *)context + 1;
    return 7;
}

static int segv(void *context)
{
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(page + 4096, 4096, PROT_NONE);
    prop_watch(0, "x", page, page + 4096);
    ((volatile char *)page)[4096 + *(int *)context] = 1;
    return 0;
}

static bool no_help(uintptr_t address)
{
    (void)address;
    return false;
}

/* The handler of faults is not asked, and the system ends the process. */
static int blocked_segv(void *context)
{
    sigset_t all;
    sigfillset(&all);
    prop_on_fault(no_help);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return segv(context);
}

static int overflow(void *context)
{
    volatile char frame[4096];
    frame[0] = *(char *)context;
    return frame[0] == 1 ? 0 : overflow((void *)frame) + frame[0];
}

static int leave(void *context)
{
    (void)context;
    exit(0);
}

static int give_up(void *context)
{
    (void)context;
    abort();
}

static int spin(void *context)
{
    volatile int *p = context;
    while (*p == 3)
        ;
    return 0;
}

static int nap(void *context)
{
    (void)context;
    pause();
    return 0;
}

static int beat(void *context)
{
    (void)context;
    for (int i = 0; i < 8; i++) {
        usleep(50000);
        prop_beat();
    }
    return 0;
}

static int hoard(void *context)
{
    (void)context;
    void *volatile held = malloc((size_t)256 << 20); /* volatile: not optimised away */
    bool refused = held == NULL;
    free(held);
    return refused;
}

static prop_end run(prop_body *body, prop_limits limits)
{
    static int three = 3;
    prop_end end;
    rope_error error;
    assert_true(prop_isolate(body, &three, &limits, &end, &error));
    return end;
}

static void test_outcomes(void **state)
{
    (void)state;
    prop_limits usual = prop_limits_default();
    prop_limits hasty = {.cpu_seconds = 0.2, .wall_seconds = 0.3};
    shared = prop_share(sizeof *shared);

    prop_end end = run(finish, usual);
    assert_int_equal(end.outcome, PROP_FINISHED);
    assert_int_equal(end.status, 7);
    assert_int_equal(*shared, 4);

    assert_int_equal(run(leave, usual).outcome, PROP_EXITED);
    end = run(give_up, usual);
    assert_int_equal(end.outcome, PROP_SIGNAL);
    assert_int_equal(end.signal, SIGABRT);
    assert_int_equal(run(spin, hasty).outcome, PROP_TIME);
    assert_int_equal(run(nap, hasty).outcome, PROP_TIME);
    assert_int_equal(run(beat, hasty).outcome, PROP_FINISHED);
    prop_unshare(shared, sizeof *shared);
}

/* Time in which nobody polled (this process was stopped) is not held against a child. */
static void test_stopped_parent(void **state)
{
    (void)state;
    prop_limits limits = {.cpu_seconds = 9, .wall_seconds = 1.5};
    prop_child child = {0};
    prop_end end;
    rope_error error;
    assert_true(prop_start(&child, nap, NULL, &limits, &error));
    assert_false(prop_poll(&child, &end));
    usleep(2000000);
    assert_false(prop_poll(&child, &end));
    while (!prop_poll(&child, &end))
        prop_nap();
    assert_int_equal(end.outcome, PROP_TIME);
}

static void test_crash_is_placed(void **state)
{
    (void)state;
    char text[128];
    prop_end end = run(segv, prop_limits_default());
    prop_end_text(&end, text, sizeof text);
    assert_string_equal(text, "SIGSEGV, 3 bytes past the end of x");
    end = run(blocked_segv, prop_limits_default());
    prop_end_text(&end, text, sizeof text);
    assert_non_null(strstr(text, "SIGSEGV, not handled"));
    assert_non_null(strstr(text, "apply blocks signals"));
    end = run(overflow, prop_limits_default());
    assert_int_equal(end.outcome, PROP_SIGNAL);
    assert_int_equal(end.signal, SIGSEGV);
    assert_true(end.has_address);
}

static void test_memory_limit(void **state)
{
    (void)state;
    if (PROP_SANITIZED) {
        print_message("# a sanitizer takes more address space than any limit: none is set\n");
        skip();
    }
    prop_limits tight = prop_limits_default();
    assert_int_equal(run(hoard, tight).status, 0);
    tight.memory_bytes = 64 << 20;
    assert_int_equal(run(hoard, tight).status, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes), cmocka_unit_test(test_stopped_parent),
        cmocka_unit_test(test_crash_is_placed), cmocka_unit_test(test_memory_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
