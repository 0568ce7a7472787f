/* RapidCheck's cases: one seed gives one case, and together they meet every place, order, size,
 * sign and class of number that they should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "oracle/measure.h"
#include "props/case.h"
#include "props/suite.h"

static prop_suite suite;

static int open_suite(void **state)
{
    static const char *const specs[] = {
        "head_dim=20,base=10000,pairing=half",
        "head_dim=12,base=10000,pairing=half,axes=mrope,sections=2:3:1"};
    rope_error error;
    (void)state;
    return prop_suite_chosen(&suite, specs, 2, PROP_QUICK, ROPE_TRUTH_EXACT, &error) ? 0 : 1;
}

static int close_suite(void **state)
{
    (void)state;
    prop_suite_free(&suite);
    return 0;
}

static prop_subject subject(int entry, uint64_t seed)
{
    return prop_suite_subject(&suite, entry, rope_registry_find("lookup"), ROPE_HALF, ROPE_F32,
                              seed);
}

static char *text_of(int entry, uint64_t seed, int64_t index)
{
    prop_subject s = subject(entry, seed);
    prop_case c;
    assert_true(prop_generated_property.generate(&s, index, &c));
    char *text = prop_case_format(&s, &c);
    assert_non_null(text);
    prop_case_free(&c);
    return text;
}

static void one_seed_one_case(void **state)
{
    (void)state;
    for (int64_t index = 0; index < 20; index++)
        for (int entry = 0; entry < 2; entry++) {
            char *a = text_of(entry, 7, index), *b = text_of(entry, 7, index);
            char *other = text_of(entry, 8, index), *next = text_of(entry, 7, index + 1);
            assert_string_equal(a, b);
            assert_string_not_equal(a, other);
            assert_string_not_equal(a, next);
            free(a);
            free(b);
            free(other);
            free(next);
        }
}

/* The text of a case gives the case back: what fails can be replayed. */
static void text_gives_the_case_back(void **state)
{
    (void)state;
    for (int64_t index = 0; index < 20; index++) {
        prop_subject s = subject((int)(index % 2), 3);
        char *text = text_of((int)(index % 2), 3, index);
        prop_case c;
        rope_error error;
        if (!prop_case_parse(text, &s, &c, &error))
            fail_msg("%s: %s", text, error.text);
        char *again = prop_case_format(&s, &c);
        assert_string_equal(text, again);
        prop_case_free(&c);
        free(again);
        free(text);
    }
}

typedef struct {
    int places[2][PROP_PLACES], shifts[2][4], tokens[10], heads[10];
    int heads_first, in_place, gap, negative, far, near, repeated, descending;
    int zero, subnormal, infinite, nan, one, largest, usual;
} tally;

static void count_number(double x, tally *n)
{
    double size = fabs(x);
    n->zero += x == 0;
    n->subnormal += size > 0 && size < 0x1p-126;
    n->infinite += isinf(x) != 0;
    n->nan += isnan(x) != 0;
    n->one += size == 1;
    n->largest += size > 0x1.fffff0p127 && !isinf(x);
    n->usual += size >= 0x1p-6 && size < 0x1p7;
}

static void count_case(const prop_subject *s, const prop_case *c, tally *n)
{
    assert_in_range(c->x.tokens, 1, 9);
    assert_in_range(c->x.heads, 1, 9);
    n->tokens[c->x.tokens]++;
    n->heads[c->x.heads]++;
    n->places[0][c->x.place]++;
    n->places[1][c->y.place]++;
    n->shifts[0][c->x.shift % 4]++;
    n->shifts[1][c->y.shift % 4]++;
    n->heads_first += c->x.heads_first;
    n->in_place += c->in_place;
    n->gap += c->position_gap > 2;
    for (int64_t t = 0; t < c->x.tokens; t++) {
        int64_t p = c->positions[t * c->axes];
        n->negative += p < 0;
        n->far += llabs(p) > (int64_t)1 << 31;
        n->near += llabs(p) < 64;
        n->repeated += t > 0 && p == c->positions[(t - 1) * c->axes];
        n->descending += t > 0 && p < c->positions[(t - 1) * c->axes];
    }
    int64_t count = prop_case_elements(c);
    float *data = malloc((size_t)count * sizeof *data);
    assert_non_null(data);
    prop_case_data(s, c, 0, data);
    for (int64_t e = 0; e < count; e++)
        count_number((double)data[e], n);
    free(data);
}

static void all_kinds_are_met(void **state)
{
    (void)state;
    static tally n;
    prop_subject s = subject(0, 1);
    for (int64_t index = 0; index < 600; index++) {
        prop_case c;
        assert_true(prop_generated_property.generate(&s, index, &c));
        count_case(&s, &c, &n);
        prop_case_free(&c);
    }
    for (int i = 0; i < PROP_PLACES; i++)
        assert_true(n.places[0][i] >= 60 && n.places[1][i] >= 60);
    for (int i = 0; i < 4; i++)
        assert_true(n.shifts[0][i] >= 60 && n.shifts[1][i] >= 60);
    for (int i = 1; i <= 9; i++) /* of 9 each, where the places are 6 */
        assert_true(n.tokens[i] >= 40 && n.heads[i] >= 40);
    const int others[] = {n.heads_first, n.in_place,   n.gap,  n.negative,  n.far,
                          n.near,        n.repeated,   n.zero, n.subnormal, n.infinite,
                          n.nan,         n.descending, n.one,  n.largest,   n.usual};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] < 10)
            fail_msg("count %zu is %d, expected 10 or more", i, others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_seed_one_case),
        cmocka_unit_test(text_gives_the_case_back),
        cmocka_unit_test(all_kinds_are_met),
    };
    return cmocka_run_group_tests(tests, open_suite, close_suite);
}
