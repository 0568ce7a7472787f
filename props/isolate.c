#include "props/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "props/resources.h"

enum { WATCHES = 16, SIGNAL_STACK = 1 << 16 };

/* What a child tells its parent. */
typedef struct prop_board {
    volatile uint64_t beat;
    volatile uint32_t finished;
    volatile uint32_t has_address;
    volatile uint32_t hooked, handled; /* a hook is set; a fault has come to the handler */
    volatile uint64_t nearest_start, nearest_end, address; /* of the faulting access */
    char nearest[24];
} prop_board;

static prop_board *board; /* this child's own; NULL in the parent */
static struct {
    const char *name;
    uintptr_t start, end;
} watches[WATCHES];

prop_limits prop_limits_default(void)
{
    double slow = PROP_SANITIZED ? 10 : 1;
    return (prop_limits){2 * slow, 30 * slow, (uint64_t)1 << 30};
}

void *prop_share(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

void prop_unshare(void *shared, size_t bytes)
{
    if (shared != NULL)
        munmap(shared, bytes);
}

void prop_beat(void)
{
    if (board != NULL)
        board->beat++;
}

void prop_watch(int slot, const char *name, const void *start, const void *end)
{
    watches[slot].name = name;
    watches[slot].start = (uintptr_t)start;
    watches[slot].end = (uintptr_t)end;
}

static prop_fault_hook *volatile fault_hook;

void prop_on_fault(prop_fault_hook *hook)
{
    fault_hook = hook;
    if (board != NULL)
        board->hooked = hook != NULL;
}

/* ---- inside the child ---- */

static uint64_t distance(uintptr_t address, uintptr_t start, uintptr_t end)
{
    return address < start ? start - address : address >= end ? address - end : 0;
}

/* On its own stack, so that an overflow of the main one is reported too. Only stores: the text is
 * made by the parent. */
static void on_fault(int signal_number, siginfo_t *information, void *context)
{
    (void)context;
    uintptr_t address = (uintptr_t)information->si_addr;
    board->handled = 1;
    /* si_addr is of the faulting access only for a fault that the machine raised (si_code > 0). */
    if (information->si_code > 0 && (signal_number == SIGSEGV || signal_number == SIGBUS)) {
        if (fault_hook != NULL && fault_hook(address))
            return;
        uint64_t best = UINT64_MAX;
        board->has_address = 1;
        board->address = address;
        for (int i = 0; i < WATCHES; i++) {
            uint64_t d = distance(address, watches[i].start, watches[i].end);
            if (watches[i].name == NULL || d >= best)
                continue;
            best = d;
            board->nearest_start = watches[i].start;
            board->nearest_end = watches[i].end;
            strncpy(board->nearest, watches[i].name, sizeof board->nearest - 1);
        }
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void set_handlers(void)
{
    static char stack[SIGNAL_STACK];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    const int faults[] = {SIGSEGV, SIGBUS};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigaction(faults[i], &action, NULL);
    const int plain[] = {SIGILL, SIGFPE, SIGABRT, SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        signal(plain[i], SIG_DFL);
}

static void silence(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!PROP_SANITIZED) /* glibc's complaint on abort; a sanitizer's report is wanted */
        dup2(null, STDERR_FILENO);
}

/* RLIMIT_DATA counts private writable memory only, so that inaccessible guard areas of any size are
 * free of charge; RLIMIT_AS would count them. */
static void limit_memory(uint64_t bytes)
{
    if (PROP_SANITIZED || bytes == 0)
        return;
    unsigned long long data_pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*u %*u %*u %*u %*u %llu", &data_pages) != 1)
            data_pages = 0;
        fclose(file);
    }
    rlim_t limit = (rlim_t)(data_pages * (uint64_t)sysconf(_SC_PAGESIZE) + bytes);
    struct rlimit old;
    if (getrlimit(RLIMIT_DATA, &old) == 0 && old.rlim_max != RLIM_INFINITY && limit > old.rlim_max)
        limit = old.rlim_max;
    setrlimit(RLIMIT_DATA, &(struct rlimit){limit, limit});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* Buffers of a case are kept for the next one: given back each time, every page of them would be
 * faulted in and cleared again. */
static void keep_memory(void)
{
    enum { LARGEST_BUFFER = 32 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGEST_BUFFER);
    mallopt(M_TRIM_THRESHOLD, 4 * LARGEST_BUFFER);
}

static _Noreturn void live(prop_child *child, prop_body *body, void *context, pid_t parent)
{
    board = child->board;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    memset(watches, 0, sizeof watches);
    silence();
    set_handlers();
    limit_memory(child->limits.memory_bytes);
    keep_memory();
    prop_holding_mark();
    int status = body(context);
    board->finished = 1;
    _exit(status & 0xff);
}

/* ---- inside the parent ---- */

static double seconds(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

static double cpu_of(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) == 0 ? seconds(clock) : 0;
}

bool prop_start(prop_child *child, prop_body *body, void *context, const prop_limits *limits,
                rope_error *error)
{
    void *owner = child->owner;
    *child = (prop_child){.owner = owner, .limits = *limits};
    child->board = prop_share(sizeof *child->board);
    if (child->board == NULL)
        return rope_fail(error, "cannot share memory with a child process: %s", strerror(errno));
    /* What stdio still holds would be written twice when a kernel calls exit(). */
    fflush(NULL);
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0)
        live(child, body, context, parent);
    if (child->pid < 0) {
        child->pid = 0;
        prop_unshare(child->board, sizeof *child->board);
        return rope_fail(error, "cannot fork a child process: %s", strerror(errno));
    }
    child->polled = seconds(CLOCK_MONOTONIC);
    return true;
}

static void describe(const prop_board *b, char *text, size_t size)
{
    *text = '\0';
    if (b->nearest[0] == '\0' || distance((uintptr_t)b->address, (uintptr_t)b->nearest_start,
                                          (uintptr_t)b->nearest_end) > 1 << 16)
        return;
    if (b->address < b->nearest_start)
        snprintf(text, size, "%llu bytes before the start of %s",
                 (unsigned long long)(b->nearest_start - b->address), b->nearest);
    else if (b->address >= b->nearest_end)
        snprintf(text, size, "%llu bytes past the end of %s",
                 (unsigned long long)(b->address - b->nearest_end), b->nearest);
    else
        snprintf(text, size, "at byte %llu of %s",
                 (unsigned long long)(b->address - b->nearest_start), b->nearest);
}

static void conclude(prop_child *child, int status, const struct rusage *usage, prop_outcome killed,
                     prop_end *end)
{
    *end = (prop_end){.outcome = killed};
    end->cpu_seconds = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                       1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
    if (killed == PROP_FINISHED && WIFSIGNALED(status)) {
        end->signal = WTERMSIG(status);
        end->outcome = end->signal == SIGKILL ? PROP_MEMORY : PROP_SIGNAL;
        end->has_address = child->board->has_address != 0;
        if (end->has_address)
            describe(child->board, end->where, sizeof end->where);
        /* The operating system ends a process that faults where it blocks the signal. */
        else if ((end->signal == SIGSEGV || end->signal == SIGBUS) && child->board->hooked &&
                 !child->board->handled)
            snprintf(
                end->where, sizeof end->where,
                "not handled where calls meet: apply blocks signals, or has replaced handlers");
    } else if (killed == PROP_FINISHED) {
        end->status = WEXITSTATUS(status);
        end->outcome = child->board->finished ? PROP_FINISHED : PROP_EXITED;
    }
    prop_unshare(child->board, sizeof *child->board);
    child->pid = 0;
}

static bool overdue(prop_child *child)
{
    /* Of the time between two polls one second counts at most: where there is more, we have been
     * stopped ourselves (Ctrl-Z, a machine put to sleep), and most likely the child with us. */
    double cpu = cpu_of(child->pid), now = seconds(CLOCK_MONOTONIC);
    child->waited += fmin(now - child->polled, 1);
    child->polled = now;
    uint64_t beat = child->board->beat;
    if (beat != child->beat_seen) {
        child->beat_seen = beat;
        child->beat_cpu = cpu;
        child->waited = 0;
        return false;
    }
    return cpu - child->beat_cpu > child->limits.cpu_seconds ||
           child->waited > child->limits.wall_seconds;
}

bool prop_poll(prop_child *child, prop_end *end)
{
    int status;
    struct rusage usage;
    pid_t got = wait4(child->pid, &status, WNOHANG, &usage);
    if (got == child->pid) {
        conclude(child, status, &usage, PROP_FINISHED, end);
        return true;
    }
    if (got == 0 && !overdue(child))
        return false;
    kill(child->pid, SIGKILL);
    wait4(child->pid, &status, 0, &usage);
    conclude(child, status, &usage, PROP_TIME, end);
    return true;
}

void prop_stop(prop_child *child)
{
    prop_end end;
    int status;
    struct rusage usage;
    if (child->pid == 0)
        return;
    kill(child->pid, SIGKILL);
    wait4(child->pid, &status, 0, &usage);
    conclude(child, status, &usage, PROP_TIME, &end);
}

void prop_nap(void)
{
    /* Blocked, SIGCHLD stays pending until sigtimedwait takes it: none is lost between poll and
     * nap. */
    static bool blocked;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (!blocked)
        sigprocmask(SIG_BLOCK, &set, NULL);
    blocked = true;
    sigtimedwait(&set, NULL, &(struct timespec){0, 5000000});
}

bool prop_isolate(prop_body *body, void *context, const prop_limits *limits, prop_end *end,
                  rope_error *error)
{
    prop_child child = {0};
    if (!prop_start(&child, body, context, limits, error))
        return false;
    while (!prop_poll(&child, end))
        prop_nap();
    return true;
}

void prop_end_text(const prop_end *end, char *text, size_t size)
{
    switch (end->outcome) {
    case PROP_FINISHED:
        snprintf(text, size, "finished");
        break;
    case PROP_SIGNAL: {
        const char *name = sigabbrev_np(end->signal);
        snprintf(text, size, "SIG%s%s%s", name ? name : "?", end->where[0] ? ", " : "", end->where);
        break;
    }
    case PROP_EXITED:
        snprintf(text, size, "called exit(%d)", end->status);
        break;
    case PROP_TIME:
        snprintf(text, size, "endless: no end within the time limit");
        break;
    case PROP_MEMORY:
        snprintf(text, size, "killed, out of memory");
        break;
    }
}
