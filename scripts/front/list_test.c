/* `tightrope list kernels`: the registry's rotations, or what a plug-in has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

static char folder[] = "/tmp/list_test.XXXXXX";

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

/* Runs the verb with --csv=FILE; rows only where it holds. */
static int list(const char *topic, const char *plugin, rows_table *table)
{
    char csv[80], name[] = "list", option[128], what[32], path[64];
    rope_error error = {""};
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    snprintf(csv, sizeof csv, "--csv=%s", path);
    snprintf(what, sizeof what, "%s", topic);
    snprintf(option, sizeof option, "--plugin=%s", plugin != NULL ? plugin : "");
    char *arguments[] = {name, what, csv, plugin != NULL ? option : NULL, NULL};
    int status = verb_list(plugin != NULL ? 4 : 3, arguments);
    if (status == FRONT_HOLDS && !rows_read(path, table, &error))
        fail_msg("%s", error.text);
    unlink(path);
    return status;
}

static void registry_is_listed(void **state)
{
    (void)state;
    size_t count, rotations = 0;
    const rope_header *const *all = rope_registry(&count);
    for (size_t i = 0; i < count; i++)
        rotations += all[i]->kind == ROPE_ROTATION;
    rows_table t = {0};
    assert_int_equal(list("kernels", NULL, &t), FRONT_HOLDS);
    assert_int_equal(t.rows, rotations);
    rows_free(&t);
}

static void plugin_is_listed(void **state)
{
    (void)state;
    char command[256], path[64];
    snprintf(path, sizeof path, "%s/textbook.so", folder);
    snprintf(command, sizeof command,
             "cc -shared -fPIC -O1 -Iimpl docs/examples/textbook.c -o %s -lm", path);
    assert_int_equal(system(command), 0);
    rows_table t = {0};
    assert_int_equal(list("kernels", path, &t), FRONT_HOLDS);
    assert_int_equal(t.rows, 1);
    assert_string_equal(rows_field(&t, 0, rows_column(&t, "name")), "textbook");
    assert_string_equal(rows_field(&t, 0, rows_column(&t, "dtypes")), "f32");
    assert_string_equal(rows_field(&t, 0, rows_column(&t, "runs_here")), "yes");
    assert_true(strlen(rows_field(&t, 0, rows_column(&t, "pairings"))) > 0);
    rows_free(&t);
    /* A plug-in has kernels only, and one that is none is refused. */
    assert_int_equal(list("presets", path, &t), FRONT_USAGE);
    assert_int_equal(list("kernels", "/nowhere/none.so", &t), FRONT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(registry_is_listed),
                                       cmocka_unit_test(plugin_is_listed)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
