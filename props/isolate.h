/* Runs code of a kernel in a child process, forked from the single-threaded parent, so that a
 * crash, an endless loop, exit() or abort() in it ends that child alone. Results come back through
 * shared memory (prop_share). A child has its own signal stack, /dev/null for standard input and
 * output (a kernel that prints must not write into our rows), and dies with its parent. */
#ifndef PROPS_ISOLATE_H
#define PROPS_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "impl/error.h"

typedef enum prop_outcome {
    PROP_FINISHED = 0, /* the body returned */
    PROP_SIGNAL = 1,   /* ended by a signal: SIGSEGV, SIGILL, SIGFPE, SIGABRT, ... */
    PROP_EXITED = 2,   /* exit() or _exit() was called inside */
    PROP_TIME = 3,     /* no prop_beat within the time limit: killed */
    PROP_MEMORY = 4,   /* killed by the kernel of the operating system, out of memory */
} prop_outcome;

typedef struct prop_limits {
    double cpu_seconds;    /* of processor time between two calls of prop_beat */
    double wall_seconds;   /* the same on the clock, for a child that sleeps */
    uint64_t memory_bytes; /* private writable memory beyond the parent's; 0 = no limit.
                              Not applied under AddressSanitizer, which reserves terabytes. */
} prop_limits;

/* 2 s of processor time, 30 s on the clock, 1 GiB; ten times the seconds under a sanitizer. */
prop_limits prop_limits_default(void);

typedef struct prop_end {
    prop_outcome outcome;
    int signal; /* PROP_SIGNAL: which */
    int status; /* PROP_EXITED: exit status. PROP_FINISHED: what the body returned, 0..255 */
    double cpu_seconds; /* that the child used */
    bool has_address;   /* the signal came with an address, and where that is: */
    char where[96];     /* "4 bytes past the end of x", from prop_watch; "" when unknown */
} prop_end;

/* One line: "SIGSEGV, 4 bytes past the end of x"; "called exit(3)"; "no end within 2 s". */
void prop_end_text(const prop_end *end, char *text, size_t size);

typedef int prop_body(void *context);

/* Memory that parent and children share, zeroed; NULL when out of memory. */
void *prop_share(size_t bytes);
void prop_unshare(void *shared, size_t bytes);

/* Blocking: forks, runs body(context), waits. False with a line when no child could be made. */
bool prop_isolate(prop_body *body, void *context, const prop_limits *limits, prop_end *end,
                  rope_error *error);

/* The same in parallel. Start; then poll until true: *end is set and the slot is free again.
 * child->owner is the caller's own. */
typedef struct prop_child {
    pid_t pid; /* 0 = free */
    void *owner;
    prop_limits limits;
    struct prop_board *board; /* shared */
    uint64_t beat_seen;
    double beat_cpu;       /* processor time at the latest beat */
    double polled, waited; /* clock at the latest poll; seconds since the beat, seen by polls */
} prop_child;

bool prop_start(prop_child *child, prop_body *body, void *context, const prop_limits *limits,
                rope_error *error);
bool prop_poll(prop_child *child, prop_end *end);
/* Kills and reaps a started child (Ctrl-C, or no more wanted). */
void prop_stop(prop_child *child);
/* Sleeps until a child of ours may have ended, at most some milliseconds. */
void prop_nap(void);

/* Inside a child: progress was made, the time limit starts again. Elsewhere: nothing. */
void prop_beat(void);

/* Inside a child: names memory for the reasons of crashes; data in [start, end). At most 16, by
 * slot. An address is described against the nearest one, when within 2^20 bytes. */
void prop_watch(int slot, const char *name, const void *start, const void *end);

/* Inside a child: asked first when an access of memory faults, on the signal stack, in the thread
 * that faulted. True: the access can be tried again. NULL: nobody is asked. */
typedef bool prop_fault_hook(uintptr_t address);
void prop_on_fault(prop_fault_hook *hook);

#endif
