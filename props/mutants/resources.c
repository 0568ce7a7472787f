/* Frauds on the process: memory, threads and files that apply takes, plans that do not give back
 * what they have got, sizes that are made up. The results are right. */
#include "props/mutants/common.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "props/resources.h"

/* What only a count of malloc shows. */
#ifdef PROP_COUNTS
#define COUNTED NULL
#else
#define COUNTED "the C library's malloc: a sanitizer has its own"
#endif

/* Defines NAME, whose apply runs `body` and then the original. */
#define TAKES(NAME, SUMMARY, WAITS, ...)                                                           \
    static rope_status NAME##_apply(const rope_plan *p, const rope_view *x, const rope_view *y,    \
                                    const int64_t *positions, int64_t position_stride)             \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
        return mutant_honest(p, x, y, positions, position_stride);                                 \
    }                                                                                              \
    static const mutant_hooks NAME##_hooks = {.apply = NAME##_apply};                              \
    MUTATION(NAME, "FRAUD", SUMMARY, .waits_for = WAITS)

static void use_scratch(const rope_plan *p)
{
    char *volatile scratch = malloc((size_t)p->args.pairs * 8);
    free(scratch);
}
TAKES(apply_allocates, "apply allocates scratch memory, and frees it", COUNTED, use_scratch(p));
TAKES(allocates_long, "apply allocates scratch memory for more than 64 pairs", COUNTED,
      if (p->args.pairs > 64) use_scratch(p));
TAKES(allocates_many, "apply allocates scratch memory for more than 5 tokens", COUNTED,
      if (x->tokens > 5) use_scratch(p));

static void *nothing(void *argument)
{
    return argument;
}
static void start_and_join(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0)
        pthread_join(thread, NULL);
}
TAKES(apply_starts_thread, "apply starts a thread, and joins it", COUNTED, start_and_join());

static void *wait_for_work(void *argument)
{
    for (;;)
        pause();
    return argument;
}
static void start_pool(void)
{
    static bool started;
    pthread_t thread;
    if (!started)
        started = pthread_create(&thread, NULL, wait_for_work, NULL) == 0;
}
TAKES(thread_left, "the first apply of the process starts a thread that stays", NULL, start_pool());

static void open_file(void)
{
    (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
}
TAKES(file_left_open, "apply leaves a file open", NULL, open_file());

static void map_memory(void)
{
    (void)mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
TAKES(memory_left_mapped, "apply maps memory and leaves it", COUNTED, map_memory());

static void destroy_nothing(rope_plan *p)
{
    (void)p;
}
static const mutant_hooks destroy_leaks_hooks = {0};
MUTATION(destroy_leaks, "FRAUD", "destroy frees nothing", .waits_for = COUNTED,
         .destroy = destroy_nothing);

static rope_status plan_late_refusal(const rope_plan_args *args, rope_plan **plan);
const mutation mutation_refusal_leaks = {.name = "refusal_leaks",
                                         .fault_class = "FRAUD",
                                         .summary = "a plan that is refused leaves its memory",
                                         .waits_for = COUNTED,
                                         .plan = plan_late_refusal};
static rope_status plan_late_refusal(const rope_plan_args *args, rope_plan **plan)
{
    static const mutant_hooks honest = {0};
    void *volatile forgotten = malloc(64);
    rope_status status = mutant_plan(&mutation_refusal_leaks, &honest, args, plan);
    if (status == ROPE_OK)
        free(forgotten);
    return status;
}

static size_t only_the_struct(const rope_plan *p)
{
    return sizeof *p;
}
static const mutant_hooks plan_bytes_short_hooks = {0};
MUTATION(plan_bytes_short, "FRAUD", "plan_bytes leaves out the tables", .waits_for = COUNTED,
         .plan_bytes = only_the_struct);

static size_t absurd(const rope_plan *p)
{
    (void)p;
    return SIZE_MAX;
}
static const mutant_hooks plan_bytes_absurd_hooks = {0};
MUTATION(plan_bytes_absurd, "FRAUD", "plan_bytes answers (size_t)-1", .plan_bytes = absurd);

/* ---- calls on nothing ---- */

/* The processor's fault, not a sanitizer's report. */
__attribute__((no_sanitize("undefined", "address"))) static void destroy_by_calls(rope_plan *p)
{
    p->calls = 0;
    mutant_destroy(p);
}
static const mutant_hooks destroy_null_hooks = {0};
MUTATION(destroy_null, "FRAUD", "destroy looks into the plan before it asks whether there is one",
         .destroy = destroy_by_calls);

static rope_status apply_refusing_empty(const rope_plan *p, const rope_view *x, const rope_view *y,
                                        const int64_t *positions, int64_t position_stride)
{
    if (x->tokens == 0 || x->heads == 0)
        return ROPE_INVALID;
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks empty_refused_hooks = {.apply = apply_refusing_empty};
MUTATION(empty_refused, "FRAUD", "a call on 0 tokens or 0 heads is refused");

static rope_status apply_first(const rope_plan *p, const rope_view *x, const rope_view *y,
                               const int64_t *positions, int64_t position_stride)
{
    volatile int64_t first = positions[0]; /* to choose a path by */
    (void)first;
    return mutant_honest(p, x, y, positions, position_stride);
}
static const mutant_hooks empty_read_hooks = {.apply = apply_first};
MUTATION(empty_read, "FRAUD", "reads the first position though there are 0 tokens");
