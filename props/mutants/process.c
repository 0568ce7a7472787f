/* Frauds that end or never end the process. Each is right until then. */
#include "props/mutants/common.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Defines NAME, whose apply runs `body` and then the original. */
#define DISASTER(NAME, SUMMARY, ...)                                                               \
    static rope_status NAME##_apply(const rope_plan *p, const rope_view *x, const rope_view *y,    \
                                    const int64_t *positions, int64_t position_stride)             \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
        return mutant_honest(p, x, y, positions, position_stride);                                 \
    }                                                                                              \
    static const mutant_hooks NAME##_hooks = {.apply = NAME##_apply};                              \
    MUTATION(NAME, "FRAUD", SUMMARY)

static void spin(void)
{
    for (volatile int go = 1; go;)
        ;
}
DISASTER(endless_loop, "apply never returns", spin());

static void spin_deaf(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    spin();
}
DISASTER(endless_deaf, "apply blocks all signals and never returns", spin_deaf());

DISASTER(aborts, "apply calls abort()", abort());
DISASTER(exits_zero, "apply calls exit(0)", exit(0));
DISASTER(exits_at_once, "apply calls _exit(0)", _exit(0));

static void claim_success(void)
{
    puts("1 passed, 0 failed");
    exit(0);
}
DISASTER(prints_success, "apply prints '1 passed, 0 failed' and exits with 0", claim_success());

/* A sanitizer would end the process in its own way first. */
__attribute__((no_sanitize("undefined", "address"))) static void write_to_null(void)
{
    int *volatile nowhere = NULL;
    *(volatile int *)nowhere = 1;
}
DISASTER(segfaults, "apply writes to address 0", write_to_null());

/* The instruction of an unknown operation; also what a kernel meets that uses a feature which the
 * CPU lacks. */
DISASTER(illegal_instruction, "apply executes an illegal instruction", raise(SIGILL));

static void divide(void)
{
#if defined(__x86_64__)
    int low = 1, high = 0, zero = 0;
    __asm__ volatile("idivl %2" : "+a"(low), "+d"(high) : "r"(zero) : "cc");
#else
    raise(SIGFPE); /* the division does not trap on this architecture */
#endif
}
DISASTER(divides_by_zero, "apply divides an integer by zero", divide());

static volatile bool descend = true; /* for compilers that refuse plain endless recursion */
static int deeper(volatile char *above)
{
    volatile char here[4096];
    here[0] = (char)(above[0] + 1);
    return descend ? deeper(here) + here[0] : 0;
}
static void overflow_stack(void)
{
    volatile char top[1] = {0};
    deeper(top);
}
DISASTER(overflows_stack, "apply recurses without end", overflow_stack());

static void crash_in_plan(rope_plan *p)
{
    (void)p;
    write_to_null();
}
static const mutant_hooks plan_segfaults_hooks = {.alter = crash_in_plan};
MUTATION(plan_segfaults, "FRAUD", "plan writes to address 0");

static void abort_in_destroy(rope_plan *p)
{
    mutant_destroy(p);
    abort();
}
static const mutant_hooks destroy_aborts_hooks = {0};
MUTATION(destroy_aborts, "FRAUD", "destroy calls abort()", .destroy = abort_in_destroy);

static double crash_in_contract(const rope_plan_args *args, int64_t position, int64_t pair)
{
    (void)args, (void)position, (void)pair;
    abort();
}
static const mutant_hooks contract_aborts_hooks = {0};
MUTATION(contract_aborts, "FRAUD", "error_bound calls abort()", .error_bound = crash_in_contract);
