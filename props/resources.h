/* What a kernel takes from the process. malloc and its kin, and pthread_create, of this program and
 * of everything loaded into it (plug-ins, libstdc++'s operator new and std::thread), are replaced
 * by forwards to the C library's own that count while it is wanted. Memory that is mapped without
 * malloc, and what is left open or running, is read from /proc. */
#ifndef PROPS_RESOURCES_H
#define PROPS_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

/* Sanitizers have a malloc of their own, address space without end, and are slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define PROP_SANITIZED 1
#endif
#endif
#ifndef PROP_SANITIZED
#define PROP_SANITIZED 0
#endif
#if defined(__GLIBC__) && !PROP_SANITIZED
#define PROP_COUNTS 1
#endif

typedef struct prop_count {
    int64_t calls;         /* of malloc, calloc, realloc, free, ... */
    int64_t blocks, bytes; /* handed out less given back; bytes as the allocator rounds them */
    int64_t threads;       /* pthread_create */
} prop_count;

/* Whether calls are seen at all: not under a sanitizer or valgrind, which have their own malloc. */
bool prop_counts(void);

/* Counts from now on, until prop_count_stop says what there was. */
void prop_count_start(void);
prop_count prop_count_stop(void);

/* Threads that run and files that are open. -1: /proc does not say. */
typedef struct prop_holding {
    int64_t threads, files;
} prop_holding;
prop_holding prop_holding_now(void);

/* As they are when a child begins, before any code of a kernel; kept. */
void prop_holding_mark(void);
prop_holding prop_holding_marked(void);

/* Bytes of address space, but for the stack and malloc's heap. Slow: a line is read for every
 * mapping. */
int64_t prop_mapped_bytes(void);

#endif
