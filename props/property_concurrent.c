/* Two calls at once on one plan. rope.h: apply is reentrant, an engine calls it from all its
 * threads.
 *
 * Concurrent. Call A is stopped where it first touches a chosen row, while another thread runs call
 * B (the same plan and shape, other data, positions in reverse) from start to end; then A goes on.
 * Both give the bits that they give alone. Nothing is left to the scheduler: the row lies on pages
 * that the first access faults on, and the fault's handler lets B run. Once that is a row of x, so
 * that A has its cos and sin at hand and B makes its own; once a row of y, so that A has read its x
 * as well.
 *
 * A kernel that keeps B out by a lock is within its rights: A waits a while (less than the time
 * limit, which B may spin away) and goes on.
 *
 * Small shapes, one of many tokens and heads, and rows of many pairs: scratch memory may be on the
 * stack for some and static for others.
 *
 * Kills scratch memory that calls share, in the process or in the plan. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "impl/registry.h"
#include "props/isolate.h"
#include "props/judge.h"
#include "props/resources.h"

enum { TOKENS = 4, HEADS = 3, MANY_TOKENS = 17, MANY_HEADS = 9 };
enum { LONGEST_WAIT_S = 1, USUAL_WAIT_MS = 10 };

/* Rows apart, each from the beginning of a page. */
typedef struct {
    unsigned char *data;
    size_t slot, bytes;
} rows;

/* A call, and what is stopped in it. Static: the handler of a fault has no argument for it. */
typedef struct {
    const prop_subject *s;
    const rope_plan *plan;
    rope_view x, y;
    const int64_t *positions;
    int64_t axes;
} call;

static struct {
    call other;
    unsigned char *start, *end; /* of the row whose first access stops */
    sem_t go, done;
    volatile bool stopped, locked_out;
} stop;

static bool rows_new(const prop_subject *s, const prop_case *c, rows *r)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t row = (size_t)c->x.head_dim * rope_dtype_bytes(s->dtype);
    r->slot = (row + page - 1) / page * page;
    r->bytes = r->slot * (size_t)(c->x.tokens * c->x.heads);
    void *got = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    r->data = got == MAP_FAILED ? NULL : got;
    return r->data != NULL;
}

static void rows_free(rows *r)
{
    if (r->data != NULL)
        munmap(r->data, r->bytes);
}

static rope_view view_of(const prop_subject *s, const prop_case *c, const rows *r)
{
    int64_t stride = (int64_t)(r->slot / rope_dtype_bytes(s->dtype));
    return (rope_view){r->data, c->x.tokens, c->x.heads, c->x.heads * stride, stride};
}

static void load(const prop_case *c, const rows *r, const void *packed, size_t bytes)
{
    size_t count = (size_t)(c->x.tokens * c->x.heads), row = bytes / count;
    for (size_t i = 0; i < count; i++)
        memcpy(r->data + i * r->slot, (const char *)packed + i * row, row);
}

static void spoil(const prop_case *c, const rows *r, size_t bytes)
{
    size_t count = (size_t)(c->x.tokens * c->x.heads);
    for (size_t i = 0; i < count; i++)
        memset(r->data + i * r->slot, 0xff, bytes / count); /* NaN in every dtype */
}

static void store(const prop_case *c, const rows *r, void *packed, size_t bytes)
{
    size_t count = (size_t)(c->x.tokens * c->x.heads), row = bytes / count;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)packed + i * row, r->data + i * r->slot, row);
}

static rope_status run(const call *c)
{
    return c->s->kernel->apply(c->plan, &c->x, &c->y, c->positions, c->axes);
}

static void *run_other(void *status)
{
    while (sem_wait(&stop.go) != 0)
        ;
    *(rope_status *)status = run(&stop.other);
    sem_post(&stop.done);
    return NULL;
}

/* On A's processor, since A waits meanwhile: on another one, every later change of the process's
 * mappings would have to interrupt it, and a verification took a fifth longer. */
static bool start_thread(pthread_t *thread, rope_status *status)
{
    pthread_attr_t attributes;
    cpu_set_t set;
    int cpu = sched_getcpu();
    if (pthread_attr_init(&attributes) != 0)
        return false;
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    bool started = pthread_create(thread, &attributes, run_other, status) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* In the handler of A's fault: B runs, and A's access is let through. */
static bool on_access(uintptr_t address)
{
    if (stop.stopped || address < (uintptr_t)stop.start || address >= (uintptr_t)stop.end)
        return false;
    stop.stopped = true;
    sem_post(&stop.go);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    if (stop.locked_out) /* known to take turns: no need to wait as long again */
        until.tv_nsec += USUAL_WAIT_MS * 1000000;
    else
        until.tv_sec += LONGEST_WAIT_S;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    stop.locked_out |= sem_timedwait(&stop.done, &until) != 0;
    return mprotect(stop.start, (size_t)(stop.end - stop.start), PROT_READ | PROT_WRITE) == 0;
}

/* A thread that was joined may be listed for a moment yet, and `footprint` counts them. */
static void settle(int64_t threads)
{
    for (int i = 0; i < 10000 && prop_holding_now().threads > threads; i++)
        usleep(100);
}

/* A and B at once; A stops at the row of `where` that is in the middle. False: no thread. */
static bool run_both(const prop_case *c, const call *first, const call *second, const rows *where,
                     rope_status status[2])
{
    pthread_t thread;
    int64_t threads = prop_holding_now().threads;
    size_t row = (size_t)(c->x.tokens / 2 * c->x.heads + c->x.heads / 2);
    stop.other = *second;
    stop.start = where->data + row * where->slot;
    stop.end = stop.start + where->slot;
    stop.stopped = false;
    if (sem_init(&stop.go, 0, 0) != 0 || sem_init(&stop.done, 0, 0) != 0 ||
        !start_thread(&thread, &status[1]))
        return false;
    prop_on_fault(on_access);
    /* In place, x and y are one: there the row may be read, and is first written to later. */
    bool both = first->x.data == first->y.data;
    mprotect(stop.start, where->slot, both ? PROT_READ : PROT_NONE);
    prop_beat();
    status[0] = run(first);
    prop_beat();
    prop_on_fault(NULL);
    mprotect(stop.start, where->slot, PROT_READ | PROT_WRITE);
    if (!stop.stopped) /* A never came there, and B has yet to begin */
        sem_post(&stop.go);
    pthread_join(thread, NULL);
    sem_destroy(&stop.go);
    sem_destroy(&stop.done);
    settle(threads);
    return true;
}

/* The tensors of both calls: x and y of A, x and y of B. */
enum { A_X, A_Y, B_X, B_Y, TENSORS };

static void reload(const prop_case *c, const rows *t, const prop_work *w, bool in_place)
{
    load(c, &t[in_place ? A_Y : A_X], w->x[0], w->bytes);
    load(c, &t[B_X], w->x[1], w->bytes);
    spoil(c, &t[B_Y], w->bytes);
    if (!in_place)
        spoil(c, &t[A_Y], w->bytes);
}

static void together(const prop_subject *s, const prop_case *c, prop_work *w, const rope_plan *plan,
                     const rows *t, prop_sheet *sheet)
{
    const int64_t *positions = prop_case_list(c, 0);
    call a = {s,         plan,   view_of(s, c, &t[c->in_place ? A_Y : A_X]), view_of(s, c, &t[A_Y]),
              positions, c->axes};
    call b = {s, plan, view_of(s, c, &t[B_X]), view_of(s, c, &t[B_Y]), w->positions, c->axes};
    reload(c, t, w, c->in_place);
    if (run(&a) != ROPE_OK || run(&b) != ROPE_OK) {
        prop_fail(sheet, "apply does not answer OK for positions inside the plan's window");
        return;
    }
    store(c, &t[A_Y], w->y[0], w->bytes);
    store(c, &t[B_Y], w->y[1], w->bytes);
    for (int at = c->in_place ? A_Y : A_X; at <= A_Y; at++) {
        rope_status status[2] = {ROPE_INVALID, ROPE_INVALID};
        reload(c, t, w, c->in_place);
        if (!run_both(c, &a, &b, &t[at], status)) {
            prop_fail(sheet, "internal: no thread can be started");
            return;
        }
        store(c, &t[A_Y], w->y[2], w->bytes);
        store(c, &t[B_Y], w->y[3], w->bytes);
        if (status[0] != ROPE_OK || status[1] != ROPE_OK)
            prop_fail(sheet, "of two calls at once, one does not answer OK");
        prop_same_bits(s, c, positions, w->y[0], w->y[2],
                       "calls share memory: one that another interrupts", sheet);
        prop_same_bits(s, c, w->positions, w->y[1], w->y[3],
                       "calls share memory: one that interrupts another", sheet);
    }
}

static int64_t count(const prop_subject *s)
{
    return prop_count_usual(s, 2, 1, prop_long_row(s));
}

/* Every other case, or spec, is in place where the kernel may be. */
static bool generate(const prop_subject *s, int64_t index, prop_case *c)
{
    uint64_t h = prop_hash(s->seed, (uint64_t)index, 27);
    bool many = prop_many_rows(s, index);
    if (!prop_case_new(c, &prop_concurrent_property, s, many ? MANY_TOKENS : TOKENS,
                       many ? MANY_HEADS : HEADS, 1))
        return false;
    int64_t start = prop_random_position(h);
    for (int64_t t = 0; t < c->x.tokens; t++)
        for (uint32_t a = 0; a < c->axes; a++)
            prop_case_list(c, 0)[t * c->axes + a] = start + 7 * t + (int64_t)a * 3;
    c->in_place = (index + s->spec->rotary_dim / 4) % 2 == 1 &&
                  (s->kernel == NULL || s->kernel->header.flags & ROPE_IN_PLACE);
    c->kind = PROP_DATA_USUAL;
    c->seed = h;
    return true;
}

static void judge(const prop_subject *s, const prop_case *c, prop_sheet *sheet)
{
    prop_work w;
    prop_plan plan;
    rows t[TENSORS] = {{0}};
    if (!prop_work_new(s, c, 2, &w, sheet))
        return;
    const int64_t *positions = prop_case_list(c, 0);
    for (int64_t i = 0; i < c->x.tokens; i++)
        memcpy(w.positions + i * c->axes, positions + (c->x.tokens - 1 - i) * c->axes,
               c->axes * sizeof *positions);
    bool good = true;
    for (int i = 0; i < TENSORS; i++)
        good &= rows_new(s, c, &t[i]);
    if (!good)
        prop_fail(sheet, "internal: out of memory");
    else if (prop_plan_make(s, c->axes, positions, c->x.tokens, &plan, sheet)) {
        together(s, c, &w, plan.plan, t, sheet);
        prop_plan_free(s, &plan, sheet);
    }
    for (int i = 0; i < TENSORS; i++)
        rows_free(&t[i]);
    prop_work_free(&w);
}

const prop_property prop_concurrent_property = {
    .name = "concurrent",
    .statement = "two calls at once on one plan, from two threads, give what each gives alone",
    .count = count,
    .generate = generate,
    .judge = judge,
};
