/* Mutants that end or never end the process, each in a child of its own. */
#include "props/mutants/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Plans, asks for the contract, applies, destroys; exit status 77 where all went on to the end. */
static void go(const rope_kernel *kernel)
{
    problem p;
    problem_open(&p, "head_dim=8,base=10000,pairing=half");
    rope_plan_args args = rope_spec_plan_args(&p.spec, &p.frequencies, ROPE_F32, 0, 9);
    rope_plan *plan = NULL;
    float x[8] = {1}, y[8];
    int64_t position = 3;
    rope_view from = {x, 1, 1, 8, 8}, to = {y, 1, 1, 8, 8};
    if (kernel->plan(&args, &plan) != ROPE_OK)
        _exit(78);
    kernel->error_bound(&args, 3, 0);
    if (kernel->apply(plan, &from, &to, &position, 1) != ROPE_OK)
        _exit(79);
    kernel->destroy(plan);
    _exit(77);
}

static void run_child(const rope_kernel *kernel)
{
    static const int reset[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE};
    struct rlimit core = {0, 0};
    int null = open("/dev/null", O_WRONLY);
    for (size_t i = 0; i < sizeof reset / sizeof reset[0]; i++)
        signal(reset[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &core);
    dup2(null, 1);
    dup2(null, 2);
    go(kernel);
}

/* Wait status; that of SIGKILL where there was none within so many milliseconds. */
static int fate(const char *name, int milliseconds)
{
    const rope_kernel *kernel = mutant_of(name)->kernel;
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_child(kernel);
    for (int waited = 0; waited < milliseconds; waited++) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return status;
        usleep(1000);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void fates_test(void **state)
{
    (void)state;
    enum { EXIT = 1000 }; /* EXIT + status, or the signal */
    static const struct {
        const char *name;
        int fate, under_sanitizer; /* 0: the same */
    } rows[] = {
        {"pairing_swapped", EXIT + 77, 0},
        {"endless_loop", SIGKILL, 0},
        {"endless_deaf", SIGKILL, 0},
        {"aborts", SIGABRT, 0},
        {"exits_zero", EXIT + 0, 0},
        {"exits_at_once", EXIT + 0, 0},
        {"prints_success", EXIT + 0, 0},
        {"segfaults", SIGSEGV, EXIT + 1},
        {"illegal_instruction", SIGILL, 0},
        {"divides_by_zero", SIGFPE, 0},
        {"overflows_stack", SIGSEGV, EXIT + 1},
        {"plan_segfaults", SIGSEGV, EXIT + 1},
        {"destroy_aborts", SIGABRT, 0},
        {"contract_aborts", SIGABRT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* None that ends takes 20 s, however busy the machine; those that do not end have 100 ms.
         */
        int status = fate(rows[i].name, rows[i].fate == SIGKILL ? 100 : 20000);
        int got = WIFSIGNALED(status) ? WTERMSIG(status) : EXIT + WEXITSTATUS(status);
        if (got != rows[i].fate && (rows[i].under_sanitizer == 0 || got != rows[i].under_sanitizer))
            fail_msg("%s: %s %d", rows[i].name, got < EXIT ? "signal" : "exit status", got % EXIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fates_test)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
