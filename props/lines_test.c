/* Skips: what was asked for and not judged is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/verify.h"

enum { LINE = 256 };

/* The skip of a kernel with one unit (none where `units` is 0) over those specs. */
static void skip_of(const char *kernel, int units, const char *const *specs, int count,
                    char text[LINE])
{
    rope_error error;
    prop_verification v = {.unit_count = units};
    prop_unit unit = {.kernel = rope_registry_find(kernel), .suite = &v.suite};
    v.units = &unit;
    assert_non_null(unit.kernel);
    assert_true(prop_suite_chosen(&v.suite, specs, count, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    prop_skip_no_unit(&v, unit.kernel, text, LINE);
    prop_suite_free(&v.suite);
}

static void names_what_a_kernel_lacks(void **state)
{
    (void)state;
    static const char *const specs[] = {"head_dim=8,base=10000,pairing=half",
                                        "head_dim=8,base=10000,pairing=interleaved"};
    char text[LINE];
    skip_of("interleaved", 1, specs, 1, text);
    assert_string_equal(text, "pairing half unsupported");
    skip_of("interleaved", 1, specs, 2, text);
    assert_string_equal(text, "pairing half unsupported, of 1 of 2 specs");
    skip_of("interleaved", 1, specs + 1, 1, text);
    assert_string_equal(text, "");
    skip_of("scalar", 1, specs, 2, text);
    assert_string_equal(text, "");
    skip_of("interleaved", 0, specs + 1, 1, text); /* all dtypes left out */
    assert_string_equal(text, "dtype unsupported, the kernel takes f32");
}

/* The verdict of a property of which nothing could be judged, for want of a contract. */
static bool line_without_contract(const char *property, prop_line *line)
{
    static const char *const specs[] = {"head_dim=8,base=10000,pairing=half"};
    rope_error error;
    size_t count;
    int index = 0;
    prop_verification v = {.unit_count = 1};
    prop_unit unit = {.kernel = rope_registry_find("lookup"), .suite = &v.suite};
    const prop_property *const *all = prop_properties(&count);
    v.units = &unit;
    unit.findings = calloc(count, sizeof *unit.findings);
    assert_non_null(unit.findings);
    assert_true(prop_suite_chosen(&v.suite, specs, 1, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    while (strcmp(all[index]->name, property) != 0)
        index++;
    unit.findings[index].state = PROP_DONE;
    unit.findings[index].sheet.bands[0].unjudged = 5;
    bool any = prop_line_make(&v, unit.kernel, index, line);
    prop_suite_free(&v.suite);
    free(unit.findings);
    return any;
}

static void claims_nothing(void **state)
{
    (void)state;
    prop_line line;
    assert_true(line_without_contract("contract", &line));
    assert_int_equal(line.verdict, PROP_FAIL);
    assert_string_equal(line.reason, "no contract at any position");
    assert_false(line_without_contract("far", &line)); /* f32 angles have none out there */
}

/* Of a property that is judged by sums of bounds too: which property, spec and position. */
static void names_what_has_no_contract(void **state)
{
    (void)state;
    static const char *const specs[] = {"head_dim=8,base=10000,pairing=half",
                                        "head_dim=16,base=10000,pairing=half"};
    size_t properties;
    rope_error error;
    char text[LINE];
    prop_verification v = {.unit_count = 1};
    prop_unit unit = {.kernel = rope_registry_find("scalar"), .suite = &v.suite};
    v.units = &unit;
    assert_true(prop_suite_chosen(&v.suite, specs, 2, PROP_QUICK, ROPE_TRUTH_EXACT, &error));
    prop_properties(&properties);
    unit.findings = calloc(2 * properties, sizeof *unit.findings);
    assert_non_null(unit.findings);
    prop_skip_no_contract(&v, unit.kernel, text, LINE);
    assert_string_equal(text, "");
    for (int p = 0; p < (int)properties; p++) {
        prop_tally *t = &prop_unit_finding(&unit, 1, p)->sheet.bands[0];
        bool contract = prop_properties(&properties)[p] == &prop_contract_property;
        if (contract || prop_properties(&properties)[p] == &prop_additivity_property)
            *t = (prop_tally){.unjudged = contract ? 7 : 5, .no_contract = contract ? -300 : 2};
    }
    prop_skip_no_contract(&v, unit.kernel, text, LINE);
    assert_string_equal(text, "no contract at position -300 of head_dim=16,base=10000,pairing=half "
                              "(contract) and others further from 0; comparisons not judged: "
                              "contract 7, additivity 5");
    free(unit.findings);
    prop_suite_free(&v.suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_what_a_kernel_lacks),
                                       cmocka_unit_test(claims_nothing),
                                       cmocka_unit_test(names_what_has_no_contract)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
