/* Loading plug-ins: good ones, and all that a shared object can do wrong when it is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl/controls.h"
#include "impl/plugin.h"
#include "impl/registry.h"

static char folder[] = "/tmp/plugin_test.XXXXXX";

/* Writes source to a file and makes a shared object of it; its path is static. */
static const char *build(const char *source)
{
    static int number;
    static char path[256];
    char command[1024], file[256];
    snprintf(file, sizeof file, "%s/p%d.c", folder, ++number);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fprintf(out,
            "#include <stddef.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include "
            "\"impl/rope.h\"\n%s\n",
            source);
    assert_int_equal(fclose(out), 0);
    snprintf(path, sizeof path, "%s/p%d.so", folder, number);
    snprintf(command, sizeof command, "cc -shared -fPIC -O1 -I. %s -o %s", file, path);
    assert_int_equal(system(command), 0);
    return path;
}

/* A descriptor whose functions are never called here. */
#define DESCRIPTOR                                                                                 \
    "static rope_status plan(const rope_plan_args *a, rope_plan **p) { (void)a; (void)p; return "  \
    "ROPE_UNSUPPORTED; }\n"                                                                        \
    "static rope_status apply(const rope_plan *p, const rope_view *x, const rope_view *y, const "  \
    "int64_t *q, int64_t s)\n"                                                                     \
    "{ (void)p; (void)x; (void)y; (void)q; (void)s; return ROPE_UNSUPPORTED; }\n"                  \
    "static void destroy(rope_plan *p) { (void)p; }\n"                                             \
    "static size_t plan_bytes(const rope_plan *p) { (void)p; return 0; }\n"                        \
    "static double error_bound(const rope_plan_args *a, int64_t p, int64_t i) { (void)a; "         \
    "(void)p; (void)i; return 1; }\n"                                                              \
    "#define KERNEL(v, size, kind, name) static const rope_kernel v = {{ROPE_ABI, size, kind, "    \
    "0}, name, \"\", 1, 1, 0, "                                                                    \
    "{0}, plan, apply, destroy, plan_bytes, error_bound};\n"
#define EXPORT                                                                                     \
    "const rope_header *const *tightrope_kernels(uint32_t abi, size_t *count) { *count = sizeof "  \
    "list / sizeof list[0]; "                                                                      \
    "return abi == ROPE_ABI ? list : NULL; }\n"
#define GOOD                                                                                       \
    DESCRIPTOR "KERNEL(one, sizeof(rope_kernel), ROPE_ROTATION, \"one\")\n"                        \
               "static const rope_header *const list[] = {&one.header};\n" EXPORT

static void loads(void **state)
{
    (void)state;
    rope_plugin plugin;
    rope_error error;
    if (!rope_plugin_load(build(GOOD), &plugin, &error))
        fail_msg("%s", error.text);
    assert_int_equal(plugin.count, 1);
    assert_string_equal(rope_header_name(plugin.kernels[0]), "one");
    assert_string_equal(plugin.disturbance, "");
    assert_ptr_equal(rope_plugins_find(&plugin, 1, "one", NULL), plugin.kernels[0]);
    assert_null(rope_plugins_find(&plugin, 1, "two", NULL));
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *source, *word; /* word: in the line */
    } cases[] = {
        {"int unrelated;", "tightrope_kernels"},
        {DESCRIPTOR "const rope_header *const *tightrope_kernels(uint32_t abi, size_t *count) { "
                    "(void)abi; *count = 0; return NULL; }",
         "no kernel for ABI"},
        {DESCRIPTOR "KERNEL(one, 16, ROPE_ROTATION, \"one\")\nstatic const rope_header *const "
                    "list[] = {&one.header};\n" EXPORT,
         "16 bytes"},
        {DESCRIPTOR "KERNEL(one, sizeof(rope_kernel), 9, \"one\")\nstatic const rope_header *const "
                    "list[] = {&one.header};\n" EXPORT,
         "kind 9"},
        {DESCRIPTOR "KERNEL(one, sizeof(rope_kernel), 0, \"One!\")\nstatic const rope_header "
                    "*const list[] = {&one.header};\n" EXPORT,
         "name"},
        {DESCRIPTOR "KERNEL(one, sizeof(rope_kernel), 0, \"one\")\nKERNEL(two, "
                    "sizeof(rope_kernel), 0, \"one\")\n"
                    "static const rope_header *const list[] = {&one.header, &two.header};\n" EXPORT,
         "two kernels named one"},
        {DESCRIPTOR "KERNEL(one, sizeof(rope_kernel), 0, (const char *)16)\nstatic const "
                    "rope_header *const list[] = {&one.header};\n" EXPORT,
         "crashes"},
        {GOOD "__attribute__((constructor)) static void begin(void) { abort(); }", "SIGABRT"},
        {GOOD "__attribute__((constructor)) static void begin(void) { exit(0); }",
         "ends the process"},
        {GOOD "extern int nowhere(void); int use(void) { return nowhere(); }", "nowhere"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rope_plugin plugin;
        rope_error error = {""};
        assert_false(rope_plugin_load(build(cases[i].source), &plugin, &error));
        if (strstr(error.text, cases[i].word) == NULL)
            fail_msg("case %zu: '%s' does not say '%s'", i, error.text, cases[i].word);
        assert_null(strchr(error.text, '\n'));
    }
    rope_plugin plugin;
    rope_error error;
    assert_false(rope_plugin_load("/nowhere/none.so", &plugin, &error));
    assert_false(rope_plugin_load("/dev/null", &plugin, &error));
    assert_false(rope_plugin_load("", &plugin, &error));
}

static void restores_controls(void **state)
{
    (void)state;
    rope_plugin plugin;
    rope_error error;
    assert_true(rope_plugin_load(build(GOOD "#include <fenv.h>\n__attribute__((constructor)) "
                                            "static void begin(void) { fesetround(FE_UPWARD); }"),
                                 &plugin, &error));
    assert_non_null(strstr(plugin.disturbance, "floating-point controls: "));
#if defined(__x86_64__)
    assert_non_null(strstr(plugin.disturbance, "0x1f80 and became 0x5f80: rounding upward, not to "
                                               "nearest; x87 control word was 0x37f and became "
                                               "0xb7f: rounding upward, not to nearest"));
#endif
    assert_int_equal(fegetround(), FE_TONEAREST);
}

/* Every bit by its name, whatever this machine has. */
static void controls_in_words(void **state)
{
    (void)state;
    static const struct {
        rope_control which;
        uint64_t before, after;
        const char *text;
    } cases[] = {
        {ROPE_CONTROL_MXCSR, 0x1f80, 0x9fc0,
         "MXCSR control bits were 0x1f80 and became 0x9fc0: flush-to-zero on, denormals-are-zero "
         "on"},
        {ROPE_CONTROL_MXCSR, 0x9fc0, 0x1f80,
         "MXCSR control bits were 0x9fc0 and became 0x1f80: flush-to-zero off, denormals-are-zero "
         "off"},
        {ROPE_CONTROL_MXCSR, 0x1f80, 0x7f80,
         "MXCSR control bits were 0x1f80 and became 0x7f80: rounding towards zero, not to nearest"},
        {ROPE_CONTROL_MXCSR, 0x5f80, 0x3f80,
         "MXCSR control bits were 0x5f80 and became 0x3f80: rounding downward, not upward"},
        {ROPE_CONTROL_MXCSR, 0x1e80, 0x9980,
         "MXCSR control bits were 0x1e80 and became 0x9980: flush-to-zero on, exceptions "
         "unmasked: divide-by-zero overflow, exceptions masked: denormal"},
        {ROPE_CONTROL_MXCSR, 0x1f80, 0xe040,
         "MXCSR control bits were 0x1f80 and became 0xe040: flush-to-zero on, denormals-are-zero "
         "on, rounding towards zero, not to nearest, exceptions unmasked: invalid denormal "
         "divide-by-zero overflow underflow inexact"},
        {ROPE_CONTROL_X87, 0x37f, 0x27e,
         "x87 control word was 0x37f and became 0x27e: precision of 53 bits, not of 64 bits, "
         "exceptions unmasked: invalid"},
        {ROPE_CONTROL_X87, 0x37f, 0x137f,
         "x87 control word was 0x37f and became 0x137f: bits without a name here"},
        {ROPE_CONTROL_FPCR, 0, 0x1400200,
         "FPCR control bits were 0 and became 0x1400200: flush-to-zero on, rounding upward, not "
         "to nearest, exceptions unmasked: divide-by-zero"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[ROPE_CONTROL_TEXT];
        rope_control_change(cases[i].which, cases[i].before, cases[i].after, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    char little[16]; /* cut off, never past the end */
    rope_control_change(ROPE_CONTROL_MXCSR, 0x1f80, 0xe040, little, sizeof little);
    assert_string_equal(little, "MXCSR control b");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loads), cmocka_unit_test(refuses),
                                       cmocka_unit_test(restores_controls),
                                       cmocka_unit_test(controls_in_words)};
    return cmocka_run_group_tests_name("plugin", tests, make_folder, remove_folder);
}
