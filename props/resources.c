#include "props/resources.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool counting;
static atomic_int_least64_t calls, blocks, bytes, threads;

/* What is in the place of the C library's, it calls under these names (The GNU C Library, 3.2.5,
 * Replacing malloc). */
#ifdef PROP_COUNTS
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);
/* Declared by <stdlib.h> and <malloc.h>, the old ones only with some macros. */
void *valloc(size_t size);
void *pvalloc(size_t size);

static void *given(void *block)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed) && block != NULL) {
        atomic_fetch_add(&calls, 1);
        atomic_fetch_add(&blocks, 1);
        atomic_fetch_add(&bytes, (int_least64_t)malloc_usable_size(block));
    }
    return block;
}

static void *taken(void *block)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed) && block != NULL) {
        atomic_fetch_add(&calls, 1);
        atomic_fetch_sub(&blocks, 1);
        atomic_fetch_sub(&bytes, (int_least64_t)malloc_usable_size(block));
    }
    return block;
}

void *malloc(size_t size)
{
    return given(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return given(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    void *now = __libc_realloc(taken(block), size);
    /* A failure leaves the old block where it is. */
    given(now == NULL && size > 0 ? block : now);
    return now;
}

void free(void *block)
{
    __libc_free(taken(block));
}

void *memalign(size_t alignment, size_t size)
{
    return given(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return given(__libc_memalign(alignment, size));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
        return EINVAL;
    void *got = given(__libc_memalign(alignment, size));
    if (got == NULL)
        return ENOMEM;
    *block = got;
    return 0;
}

enum { PAGE = 4096 };

void *valloc(size_t size)
{
    return given(__libc_memalign(PAGE, size));
}

void *pvalloc(size_t size)
{
    return given(__libc_memalign(PAGE, (size + PAGE - 1) / PAGE * PAGE));
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    create *original;
    memcpy(&original, &found, sizeof original); /* ISO C has no such cast */
    if (original == NULL)
        return EAGAIN;
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add(&threads, 1);
    return original(thread, attributes, body, argument);
}
#endif

void prop_count_start(void)
{
    calls = blocks = bytes = threads = 0;
    counting = true;
}

prop_count prop_count_stop(void)
{
    counting = false;
    return (prop_count){calls, blocks, bytes, threads};
}

bool prop_counts(void)
{
    prop_count_start();
    void *volatile block = malloc(1); /* volatile: the pair must not be optimised away */
    free(block);
    return prop_count_stop().calls == 2;
}

/* ---- from /proc ---- */

static int64_t entries(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return -1;
    int64_t count = 0;
    for (const struct dirent *e; (e = readdir(directory)) != NULL;)
        count += e->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* A line is "START-END PERMISSIONS ... NAME", in hexadecimal. */
static int64_t line_bytes(const char *line)
{
    char *at;
    uint64_t start = strtoull(line, &at, 16), end = strtoull(at + (*at == '-'), NULL, 16);
    bool counted = strstr(line, "[stack]") == NULL && strstr(line, "[heap]") == NULL;
    return counted && *at == '-' ? (int64_t)(end - start) : 0;
}

int64_t prop_mapped_bytes(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    if (file == NULL)
        return -1;
    static char line[512], buffer[1 << 14];
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    int64_t sum = 0;
    while (fgets(line, sizeof line, file) != NULL)
        sum += line_bytes(line);
    fclose(file);
    return sum;
}

prop_holding prop_holding_now(void)
{
    return (prop_holding){entries("/proc/self/task"), entries("/proc/self/fd")};
}

static prop_holding marked = {-1, -1};

void prop_holding_mark(void)
{
    marked = prop_holding_now();
}

prop_holding prop_holding_marked(void)
{
    return marked;
}
