/* Known faults shrink to their known smallest cases, also where every candidate crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "props/mutants.h"
#include "props/run.h"
#include "props/shrink.h"
#include "props/suite.h"

enum { TRIALS = 400, TOKENS = 4, HEADS = 3 };

static prop_suite suite;

static int open_suite(void **state)
{
    static const char *const specs[] = {"head_dim=6,base=10000,pairing=half"};
    rope_error error;
    (void)state;
    return prop_suite_chosen(&suite, specs, 1, PROP_QUICK, ROPE_TRUTH_EXACT, &error) ? 0 : 1;
}

static int close_suite(void **state)
{
    (void)state;
    prop_suite_free(&suite);
    return 0;
}

/* A large case of the contract, in gaps and off the usual alignment. */
static void large_case(const prop_subject *s, prop_case *c)
{
    static const int64_t positions[TOKENS] = {3907, 3900, -5, 3911};
    assert_true(prop_case_new(c, &prop_contract_property, s, TOKENS, HEADS, 1));
    memcpy(c->positions, positions, sizeof positions);
    c->x.shift = 1;
    c->x.token_gap = 5;
    c->y.head_gap = 3;
    c->position_gap = 61;
    c->kind = PROP_DATA_USUAL;
    c->seed = 11;
}

/* Shrinks that case for a mutant; the text, malloc'ed. */
static char *smallest(const char *mutant, prop_sheet *sheet)
{
    const prop_mutant *m = prop_mutant_find(mutant);
    assert_non_null(m);
    assert_non_null(m->kernel);
    prop_subject s = prop_suite_subject(&suite, 0, m->kernel, ROPE_HALF, ROPE_F32, 1);
    prop_case c;
    large_case(&s, &c);
    assert_true(prop_shrink(&s, &c, TRIALS, sheet));
    char *text = prop_case_format(&s, &c);
    assert_non_null(text);
    prop_case_free(&c);
    return text;
}

#define SMALL                                                                                      \
    "contract;spec=head_dim=6,base=10000,pairing=half;dtype=f32;tokens=1;heads=1;x=start:0:0:0;"   \
    "y=start:0:0:0;"

/* Positions above 511 as 511: one pair of one token at 512, one element of it 1. Which element
 * stays is the search's choice. */
static void clamped_position(void **state)
{
    (void)state;
    prop_sheet sheet;
    const char *reason;
    char *text = smallest("position_clamped", &sheet);
    assert_true(prop_sheet_failed(&sheet, &reason));
    if (strncmp(text, SMALL "at=512;", strlen(SMALL "at=512;")) != 0)
        fail_msg("%s", text);
    const char *bits = strstr(text, ";bits=");
    assert_non_null(bits);
    assert_string_equal(strchr(bits, ':'), ":3f800000;bits2=");
    assert_int_equal(strncmp(reason, "position 512, pair ", 19), 0);
    free(text);
}

/* An identity that should be a rotation: position 1 or -1, one element. */
static void identity(void **state)
{
    (void)state;
    prop_sheet sheet;
    char *text = smallest("identity", &sheet);
    if (strncmp(text, SMALL "at=1;", strlen(SMALL "at=1;")) != 0)
        fail_msg("%s", text);
    free(text);
}

/* The second head alone is not rotated: two heads must stay. */
static void second_head(void **state)
{
    (void)state;
    prop_sheet sheet;
    char *text = smallest("first_head_only", &sheet);
    if (strstr(text, ";tokens=1;heads=2;") == NULL)
        fail_msg("%s", text);
    free(text);
}

/* Every candidate ends its process: the search goes on, a process each. */
static void crash(void **state)
{
    (void)state;
    prop_sheet sheet;
    const char *reason;
    char *text = smallest("segfaults", &sheet);
    assert_true(prop_sheet_failed(&sheet, &reason));
    assert_int_equal(strncmp(reason, "SIGSEGV", 7), 0);
    if (strcmp(text, SMALL "at=0;bits=;bits2=") != 0)
        fail_msg("%s", text);
    free(text);
}

static void correct_kernel_has_none(void **state)
{
    (void)state;
    prop_subject s =
        prop_suite_subject(&suite, 0, rope_registry_find("lookup"), ROPE_HALF, ROPE_F32, 1);
    prop_case c;
    prop_sheet sheet;
    large_case(&s, &c);
    assert_false(prop_shrink(&s, &c, TRIALS, &sheet));
    prop_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clamped_position),
        cmocka_unit_test(identity),
        cmocka_unit_test(second_head),
        cmocka_unit_test(crash),
        cmocka_unit_test(correct_kernel_has_none),
    };
    return cmocka_run_group_tests(tests, open_suite, close_suite);
}
