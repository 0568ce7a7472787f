/* The encodings of the registry hold; every faulty one is killed; every property kills something.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "impl/registry.h"
#include "props/encoding.h"
#include "props/encoding_mutants.h"

enum { MAX_PROPERTIES = 16 };
static int kills[MAX_PROPERTIES];

static int property_index(const char *name)
{
    for (int i = 0; prop_encoding_properties[i].name != NULL; i++)
        if (strcmp(prop_encoding_properties[i].name, name) == 0)
            return i;
    fail_msg("'%s' is not in the table of properties", name);
    return -1;
}

typedef struct {
    int failed, results;
    bool print;
} tally;

static void count(const prop_encoding_result *r, void *context)
{
    tally *t = context;
    t->results++;
    assert_true(r->cases > 0 || r->failed);
    if (r->failed) {
        t->failed++;
        kills[property_index(r->property)]++;
        if (t->print)
            print_message("%s %s: %s\n", r->property, r->spec, r->reason);
    }
}

static void registry_holds(void **state)
{
    (void)state;
    size_t n;
    int encodings = 0;
    const rope_header *const *kernels = rope_registry(&n);
    for (size_t i = 0; i < n; i++) {
        if (kernels[i]->kind == ROPE_ROTATION)
            continue;
        encodings++;
        for (uint64_t seed = 1; seed <= 3; seed++) {
            tally t = {.print = true};
            prop_encoding_check(kernels[i], seed, 0, count, &t);
            assert_int_equal(t.failed, 0);
            assert_true(t.results >= 8);
        }
    }
    assert_true(encodings >= 3);
}

static void mutants_die(void **state)
{
    (void)state;
    memset(kills, 0, sizeof kills);
    size_t n;
    const prop_encoding_mutant *mutants = prop_encoding_mutants(&n);
    for (size_t i = 0; i < n; i++) {
        tally t = {0};
        prop_encoding_check(mutants[i].kernel, 7, 0, count, &t);
        if (t.failed == 0)
            fail_msg("%s survives", mutants[i].name);
    }
    for (int i = 0; prop_encoding_properties[i].name != NULL; i++)
        if (kills[i] == 0)
            fail_msg("%s kills no mutant", prop_encoding_properties[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(registry_holds),
                                       cmocka_unit_test(mutants_die)};
    return cmocka_run_group_tests_name("encodings", tests, NULL, NULL);
}
