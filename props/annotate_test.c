#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "props/annotate.h"

static void assert_written(const char *expected)
{
    char text[200] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    assert_non_null(f);
    prop_annotate("a,b:c", "contract", "100 % wrong: 1, 2\nand more", f);
    fclose(f);
    assert_string_equal(text, expected);
}

static void annotation_is_escaped(void **state)
{
    (void)state;
    setenv("GITHUB_ACTIONS", "true", 1);
    assert_written("::error title=tightrope verify%3A a%2Cb%3Ac contract::"
                   "100 %25 wrong: 1, 2%0Aand more\n");
    unsetenv("GITHUB_ACTIONS");
    assert_written("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(annotation_is_escaped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
