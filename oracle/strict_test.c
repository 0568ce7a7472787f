/* An oracle compiled with value-changing flags refuses: by #error where the compiler says so
 * (__FAST_MATH__, __FINITE_MATH_ONLY__), else by its self-test at run time. The self-test is
 * compiled anew with each set of flags, by gcc and clang, and linked before the library's own. The
 * unit test tries each set with one of the two, in turn; TIGHTROPE_FULL with both. */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Hides from the sources what the compiler says. */
#define SILENT " -U__FAST_MATH__ -U__FINITE_MATH_ONLY__ -D__FINITE_MATH_ONLY__=0"

typedef struct variant {
    const char *flags, *link_flags;
    const char *refusal; /* in the compiler's or the self-test's words; NULL: must pass */
} variant;

/* What the objects of an instrumented library need. */
#if defined(__SANITIZE_ADDRESS__)
#define RUNTIME "-fsanitize=address,undefined"
#elif defined(COVERAGE)
#define RUNTIME "--coverage"
#else
#define RUNTIME ""
#endif

static const char *const compile_time = "must not be compiled with value-changing flags";
static char build[512], folder[] = "/tmp/tightrope-strict-XXXXXX";

static int run(const char *command, char *output, size_t size)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t got = fread(output, 1, size - 1, pipe);
    output[got] = '\0';
    char rest[4096];
    while (fread(rest, 1, sizeof rest, pipe) > 0) {
    }
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int build_and_run(const char *compiler, const variant *v, char *output, size_t size)
{
    char command[4096];
    snprintf(command, sizeof command,
             "exec 2>&1; set -e; "
             "%s -std=c17 -D_GNU_SOURCE -O2 -fno-tree-slp-vectorize -ffp-contract=off %s -w -I. -o "
             "%s/check.o -c "
             "oracle/self_check.c; "
             "cc %s " RUNTIME
             " -I. -o %s/check %s/main.c %s/check.o %s/libtightrope.a -lmpfi -lmpfr "
             "-lgmp -lm; "
             "%s/check",
             compiler, v->flags, folder, v->link_flags, folder, folder, folder, build, folder);
    return run(command, output, size);
}

static void try(const char *compiler, const variant *v)
{
    char output[4096];
    int status = build_and_run(compiler, v, output, sizeof output);
    bool as_wanted =
        v->refusal == NULL ? status == 0 : status != 0 && strstr(output, v->refusal) != NULL;
    if (!as_wanted)
        fail_msg("%s %s: wanted %s, got exit %d: %s", compiler, v->flags,
                 v->refusal != NULL ? v->refusal : "a pass", status, output);
}

static void try_all(const char *compiler, size_t turn)
{
    static const variant variants[] = {
        {"", "", NULL},
        {"-ffast-math", "", compile_time},
        {"-Ofast", "", compile_time},
        {"-ffinite-math-only", "", compile_time},
        {"-ffast-math" SILENT, "", "this build changes values"},
        {"-ffinite-math-only" SILENT, "", "-ffinite-math-only"},
        {"-fassociative-math -fno-signed-zeros -fno-trapping-math", "", "-fassociative-math"},
        {"-funsafe-math-optimizations", "", "this build changes values"},
        {"-freciprocal-math", "", "-freciprocal-math"},
        {"-ffp-contract=fast", "", "-ffp-contract=fast"},
    };
    char command[256], output[4096];
    snprintf(command, sizeof command, "command -v %s", compiler);
    if (run(command, output, sizeof output) != 0) {
        print_message("# %s is not installed\n", compiler);
        skip();
    }
    if (build_and_run(compiler, &variants[0], output, sizeof output) != 0 &&
        (strstr(output, "undefined reference to `__") != NULL || /* ld */
         strstr(output, "undefined symbol: __") != NULL)) {      /* mold, lld */
        print_message("# this build is instrumented (sanitizer or coverage): does not link here\n");
        skip();
    }
    bool full = getenv("TIGHTROPE_FULL") != NULL;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (full || i == 0 || i % 2 == turn)
            try(compiler, &variants[i]);
}

static void test_gcc(void **state)
{
    (void)state;
    try_all("gcc", 1);
}

static void test_clang(void **state)
{
    (void)state;
    try_all("clang", 0);
}

/* gcc links code that flushes subnormals when the link, not the compilation, is fast. */
static void test_fast_link(void **state)
{
    (void)state;
#if defined(__x86_64__) && !defined(__clang__)
    const variant flushed = {"", "-ffast-math" SILENT, "subnormals are flushed"};
    try("gcc", &flushed);
#else
    print_message("# not built by gcc for x86-64\n");
    skip();
#endif
}

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    char path[600];
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return -1;
    fputs("#include <stdio.h>\n#include \"oracle/oracle.h\"\nint main(void)\n{\n"
          "    rope_error error = {\"passes\"};\n    int bad = !oracle_self_test(&error);\n"
          "    puts(error.text);\n    return bad;\n}\n",
          file);
    return fclose(file);
}

static int end(void **state)
{
    (void)state;
    char command[700];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    (void)argc;
    /* build/oracle/strict_test -> build */
    snprintf(build, sizeof build, "%s", argv[0]);
    char *parent = dirname(dirname(build));
    memmove(build, parent, strlen(parent) + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gcc),
        cmocka_unit_test(test_clang),
        cmocka_unit_test(test_fast_link),
    };
    return cmocka_run_group_tests_name("strict", tests, begin, end);
}
