/* Allocations and threads are counted, of this program and of what it loads; files, threads and
 * mappings are seen from /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "props/resources.h"

static char folder[] = "/tmp/resources_test.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void own_calls_are_counted(void **state)
{
    (void)state;
    if (!prop_counts()) {
        print_message("# a sanitizer hides allocations\n");
        skip();
    }
    prop_count_start();
    char *volatile a = malloc(100);
    char *volatile b = calloc(3, 50);
    b = realloc(b, 4000);
    void *volatile c = aligned_alloc(64, 128);
    prop_count held = prop_count_stop();
    assert_int_equal(held.calls, 5); /* realloc takes and gives */
    assert_int_equal(held.blocks, 3);
    assert_true(held.bytes >= 100 + 4000 + 128 && held.bytes < 100 + 4000 + 128 + 3 * 64);
    prop_count_start();
    free(a);
    free(b);
    free(c);
    free(NULL);
    prop_count given = prop_count_stop();
    assert_int_equal(given.calls, 3);
    assert_int_equal(given.blocks, -held.blocks);
    assert_int_equal(given.bytes, -held.bytes);
    a = malloc(1);
    free(a);
    assert_int_equal(given.calls, 3);
}

/* A shared object's calls, as a plug-in's. */
static void loaded_calls_are_counted(void **state)
{
    (void)state;
    if (!prop_counts()) {
        print_message("# a sanitizer hides allocations\n");
        skip();
    }
    char path[64], source[64], command[256];
    snprintf(source, sizeof source, "%s/p.c", folder);
    snprintf(path, sizeof path, "%s/p.so", folder);
    FILE *out = fopen(source, "w");
    assert_non_null(out);
    fputs("#include <pthread.h>\n#include <stdlib.h>\n"
          "static void *nothing(void *a) { return a; }\n"
          "void *take(void) { return malloc(77); }\n"
          "void start(void) { pthread_t t; if (!pthread_create(&t, 0, nothing, 0)) pthread_join(t, "
          "0); }\n",
          out);
    assert_int_equal(fclose(out), 0);
    snprintf(command, sizeof command, "cc -shared -fPIC %s -o %s -lpthread", source, path);
    assert_int_equal(system(command), 0);
    void *library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    void *(*take)(void);
    void (*start)(void);
    *(void **)&take = dlsym(library, "take");
    *(void **)&start = dlsym(library, "start");
    assert_true(take != NULL && start != NULL);
    prop_count_start();
    void *volatile block = take();
    prop_count held = prop_count_stop();
    assert_int_equal(held.blocks, 1);
    free(block);
    for (int i = 0; i < 2; i++) { /* the second on a stack that is there already */
        prop_count_start();
        start();
        assert_int_equal(prop_count_stop().threads, 1);
    }
    dlclose(library);
}

static void holdings_are_seen(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    prop_holding_mark();
    prop_holding before = prop_holding_marked();
    assert_int_equal(before.threads, prop_holding_now().threads);
    int file = open("/dev/null", O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(prop_holding_now().files, before.files + 1);
    close(file);
    assert_int_equal(prop_holding_now().files, before.files);
    int64_t mapped = prop_mapped_bytes();
    void *memory = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(prop_mapped_bytes(), mapped + BYTES);
    munmap(memory, BYTES);
    assert_int_equal(prop_mapped_bytes(), mapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_calls_are_counted),
        cmocka_unit_test(loaded_calls_are_counted),
        cmocka_unit_test(holdings_are_seen),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
