/* The verdict does not depend on how many threads there are, nor on when the exact angle was
 * refuted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "oracle/measure.h"
#include "props/dump_check.h"
#include "props/dump_corpus.h"
#include "props/team.h"

enum { TOKENS = 300, HEADS = 2, D = 20, ROW = HEADS * D, PAIRS = 9 };
static const char spec_text[] = "head_dim=20,rotary_dim=18,base=10000,pairing=half";
static char directory[] = "/tmp/dump_pass_XXXXXX";
static char input[64], output[64], where[64];

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(input, sizeof input, "%s/x.npy", directory);
    snprintf(output, sizeof output, "%s/y.npy", directory);
    snprintf(where, sizeof where, "%s/p.npy", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(input);
    unlink(output);
    unlink(where);
    return rmdir(directory);
}

static void write_f32(const char *path, const double *values)
{
    const int64_t shape[3] = {TOKENS, HEADS, D};
    rope_error error;
    float *data = malloc(TOKENS * ROW * sizeof *data);
    assert_non_null(data);
    for (int i = 0; i < TOKENS * ROW; i++)
        data[i] = (float)values[i];
    assert_true(npy_write(path, NPY_F32, 3, shape, data, &error));
    free(data);
}

/* Tokens before `turn` by one way, the rest by another; positions far out, out of order. */
static void make(prop_way before, prop_way after, int64_t turn, prop_blunder blunder)
{
    static double x[TOKENS * ROW], y[TOKENS * ROW];
    int64_t position[TOKENS];
    const int64_t shape[1] = {TOKENS};
    rope_spec spec;
    rope_error error = {""};
    assert_true(rope_spec_parse(spec_text, &spec, &error));
    for (int64_t t = 0; t < TOKENS; t++)
        position[t] = t * 7919 % 100003;
    for (int part = 0; part < 2; part++) {
        int64_t first = part ? turn : 0, count = part ? TOKENS - turn : turn;
        prop_case c = {.spec = &spec,
                       .way = part ? after : before,
                       .blunder = blunder,
                       .tokens = count,
                       .heads = HEADS,
                       .position = position + first,
                       .seed = 5 + (uint64_t)part};
        if (count > 0 && !prop_case_make(&c, x + first * ROW, y + first * ROW, &error))
            fail_msg("%s", error.text);
    }
    write_f32(input, x);
    write_f32(output, y);
    assert_true(npy_write(where, NPY_I64, 1, shape, position, &error));
    rope_spec_free(&spec);
}

static void check(int jobs, prop_verdict *verdict)
{
    rope_error error = {""};
    rope_spec spec;
    prop_dump dump;
    assert_true(rope_spec_parse(spec_text, &spec, &error));
    if (!prop_dump_open(input, output, where, PROP_LAYOUT_DEFAULT, &dump, &error) ||
        !prop_dump_check(&dump, &spec, &(prop_check_options){.jobs = jobs}, verdict, &error))
        fail_msg("%s", error.text);
    prop_dump_close(&dump);
    rope_spec_free(&spec);
}

static void same_bin(const prop_bin *a, const prop_bin *b)
{
    assert_true(a->pairs == b->pairs && a->above == b->above && a->max_u == b->max_u &&
                a->sum_squares == b->sum_squares);
}

static void same(const prop_verdict *a, const prop_verdict *b)
{
    assert_true(a->pass == b->pass);
    assert_string_equal(a->reason, b->reason);
    assert_true(a->stats.rows == b->stats.rows && a->stats.rows_wrong == b->stats.rows_wrong &&
                a->stats.rows_stale == b->stats.rows_stale &&
                a->stats.unexpected_nan == b->stats.unexpected_nan);
    assert_true(a->stats.worst.place.token == b->stats.worst.place.token &&
                a->stats.worst.place.head == b->stats.worst.place.head &&
                a->stats.worst.place.pair == b->stats.worst.place.pair &&
                a->stats.worst.error_u == b->stats.worst.error_u);
    same_bin(&a->stats.all, &b->stats.all);
    for (int i = 0; i < PROP_BANDS; i++)
        same_bin(&a->stats.by_position[i], &b->stats.by_position[i]);
    for (int i = 0; i < PAIRS; i++)
        same_bin(&a->stats.by_pair[i], &b->stats.by_pair[i]);
}

static void any_number_of_threads_gives_the_same(void **state)
{
    (void)state;
    static const struct {
        prop_way before, after;
        int64_t turn;
        prop_blunder blunder;
        bool pass;
    } cases[] = {
        {PROP_WAY_EXACT, PROP_WAY_EXACT, 0, PROP_BLUNDER_NONE, true},
        {PROP_WAY_F32, PROP_WAY_F32, 0, PROP_BLUNDER_NONE, true},
        {PROP_WAY_F32, PROP_WAY_F32, 0, PROP_BLUNDER_NAN, false},
        {PROP_WAY_F32, PROP_WAY_F32, 0, PROP_BLUNDER_STALE_ROW, false},
        {PROP_WAY_F32, PROP_WAY_F32, 0, PROP_BLUNDER_ONE_MORE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prop_verdict one, more;
        make(cases[i].before, cases[i].after, cases[i].turn, cases[i].blunder);
        check(1, &one);
        assert_int_equal(one.pass, cases[i].pass);
        assert_int_equal(one.stats.rows, TOKENS * HEADS);
        assert_int_equal(one.stats.all.pairs + one.stats.unexpected_nan, TOKENS * HEADS * PAIRS);
        for (int jobs = 2; jobs <= 5; jobs++) {
            check(jobs, &more);
            same(&one, &more);
            prop_verdict_free(&more);
        }
        prop_verdict_free(&one);
    }
}

/* What came before the exact angle was refuted is put to the computed ones too. */
static void one_way_must_explain_all_tokens(void **state)
{
    (void)state;
    static const int64_t turns[] = {1, 64, 200, TOKENS - 1};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++)
        for (int swapped = 0; swapped < 2; swapped++) {
            prop_verdict v;
            make(swapped ? PROP_WAY_F32 : PROP_WAY_EXACT, swapped ? PROP_WAY_EXACT : PROP_WAY_F32,
                 turns[i], PROP_BLUNDER_NONE);
            check(2, &v);
            /* Position 0 alone is alike in all ways. */
            assert_int_equal(v.pass, turns[i] == 1);
            prop_verdict_free(&v);
        }
}

typedef struct {
    int done[1000];
} tally;

static void count_task(void *context, int task)
{
    ((tally *)context)->done[task]++;
}

static void a_team_runs_every_task_once(void **state)
{
    (void)state;
    for (int jobs = 1; jobs <= 8; jobs++) {
        tally t = {{0}};
        prop_team *team = prop_team_new(jobs);
        assert_non_null(team);
        for (int round = 1; round <= 20; round++) {
            prop_team_run(team, count_task, &t, 1000);
            for (int i = 0; i < 1000; i++)
                assert_int_equal(t.done[i], round);
        }
        prop_team_run(team, count_task, &t, 0);
        prop_team_free(team);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same),
        cmocka_unit_test(one_way_must_explain_all_tokens),
        cmocka_unit_test(a_team_runs_every_task_once),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
