/* Mutants of memory, windows, state across plans, environment and contract, each in its situation.
 */
#include "props/mutants/testing.h"

#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPEC "head_dim=20,base=10000,pairing=half"
enum { DIM = 20, TOKENS = 3, HEADS = 2, ROWS = TOKENS * HEADS * DIM, EDGE = 32 };

/* x and y with room on both sides. */
typedef struct scene {
    problem p;
    const rope_kernel *kernel;
    rope_plan *plan;
    float x[EDGE + ROWS + EDGE], y[EDGE + ROWS + EDGE];
    int64_t positions[2 * TOKENS];
    rope_view from, to;
} scene;

static void scene_open(scene *s, const char *name, int64_t last)
{
    memset(s, 0, sizeof *s);
    problem_open(&s->p, SPEC);
    s->kernel = strcmp(name, "lookup") == 0 ? rope_registry_find(name) : mutant_of(name)->kernel;
    s->plan = problem_plan(&s->p, s->kernel, 0, last);
    for (int i = 0; i < EDGE + ROWS + EDGE; i++) {
        s->x[i] = 1 + (float)i;
        s->y[i] = -7;
    }
    for (int t = 0; t < 2 * TOKENS; t++)
        s->positions[t] = 5 + t;
    s->from = (rope_view){s->x + EDGE, TOKENS, HEADS, HEADS * DIM, DIM};
    s->to = (rope_view){s->y + EDGE, TOKENS, HEADS, HEADS * DIM, DIM};
}

static rope_status scene_apply(scene *s)
{
    return s->kernel->apply(s->plan, &s->from, &s->to, s->positions, 1);
}

static void scene_close(scene *s)
{
    s->kernel->destroy(s->plan);
    problem_close(&s->p);
}

static bool same_rows(const char *name)
{
    static scene right, wrong;
    scene_open(&right, "lookup", 20);
    scene_open(&wrong, name, 20);
    assert_int_equal(scene_apply(&right), ROPE_OK);
    assert_int_equal(scene_apply(&wrong), ROPE_OK);
    bool same = memcmp(right.y + EDGE, wrong.y + EDGE, ROWS * sizeof(float)) == 0;
    scene_close(&right);
    scene_close(&wrong);
    return same;
}

static void writes_test(void **state)
{
    (void)state;
    static scene s;
    static const struct {
        const char *name;
        int at; /* element of y counted from its first */
    } rows[] = {{"writes_past_row", ROWS}, {"writes_before_row", -1}};
    for (int i = 0; i < 2; i++) {
        assert_true(same_rows(rows[i].name));
        scene_open(&s, rows[i].name, 20);
        assert_int_equal(scene_apply(&s), ROPE_OK);
        for (int e = -EDGE; e < ROWS + EDGE; e++)
            if (e < 0 || e >= ROWS)
                assert_true((s.y[EDGE + e] != -7) == (e == rows[i].at));
        scene_close(&s);
    }

    assert_true(same_rows("edits_input"));
    scene_open(&s, "edits_input", 20);
    scene_apply(&s);
    assert_true(s.x[EDGE + ROWS - DIM] == 0);
    scene_close(&s);

    assert_true(same_rows("edits_positions"));
    scene_open(&s, "edits_positions", 20);
    scene_apply(&s);
    assert_int_equal(s.positions[0], 6);
    scene_close(&s);
}

/* Runs a body in a child; its wait status. */
static int child(void (*body)(const void *context), const void *context)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        body(context);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* One row at the end (or the start) of a page between unreadable ones. */
static void read_edge(const void *context)
{
    const prop_mutant *m = ((const void *const *)context)[0];
    bool at_start = ((const void *const *)context)[1] != NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_READ | PROT_WRITE) != 0)
        _exit(3);
    float *x = (float *)(at_start ? pages + page : pages + 2 * page - DIM * sizeof(float));
    float y[DIM];
    int64_t position = 5;
    problem p;
    problem_open(&p, SPEC);
    rope_plan *plan = problem_plan(&p, m->kernel, 0, 20);
    rope_view from = {x, 1, 1, DIM, DIM}, to = {y, 1, 1, DIM, DIM};
    if (m->kernel->apply(plan, &from, &to, &position, 1) != ROPE_OK)
        _exit(4);
}

static void reads_test(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool past, before;
    } rows[] = {{"reads_past_row", true, false},
                {"reads_before_row", false, true},
                {"vector_over_read", true, false},
                {"pairing_swapped", false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const prop_mutant *m = mutant_of(rows[i].name);
        const void *end[2] = {m, NULL}, *start[2] = {m, m};
        int past = child(read_edge, end), before = child(read_edge, start);
        if ((past != 0) != rows[i].past || (before != 0) != rows[i].before)
            fail_msg("%s: status %d at the end, %d at the start", m->name, past, before);
        if (strcmp(m->name, "pairing_swapped") != 0)
            assert_true(same_rows(m->name));
    }
}

static void windows_test(void **state)
{
    (void)state;
    static scene s;
    static const struct {
        const char *name;
        rope_status status;
        bool written;
    } rows[] = {{"lookup", ROPE_RANGE, false},
                {"window_ignored", ROPE_OK, true},
                {"range_after_writing", ROPE_RANGE, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(same_rows(rows[i].name));
        scene_open(&s, rows[i].name, 20);
        s.positions[TOKENS - 1] = 21;
        assert_int_equal(scene_apply(&s), rows[i].status);
        assert_true((s.y[EDGE] != -7) == rows[i].written);
        scene_close(&s);
    }
    scene_open(&s, "refuses_positions", 20);
    assert_int_equal(scene_apply(&s), ROPE_RANGE);
    scene_close(&s);
    scene_open(&s, "position_stride_ignored", 20);
    s.positions[1] = 9;
    s.positions[2] = 6;
    assert_int_equal(s.kernel->apply(s.plan, &s.from, &s.to, s.positions, 2), ROPE_OK);
    float second = s.y[EDGE + HEADS * DIM];
    scene_close(&s);
    scene_open(&s, "lookup", 20);
    s.positions[0] = 9;
    scene_apply(&s);
    assert_true(second != 0 && second != s.y[EDGE + HEADS * DIM]);
    scene_close(&s);
}

static void arguments_test(void **state)
{
    (void)state;
    problem p;
    rope_plan *plan = NULL;
    problem_open(&p, SPEC);
    rope_plan_args args = rope_spec_plan_args(&p.spec, &p.frequencies, ROPE_F32, 0, 9);
    assert_int_equal(mutant_of("refuses_everything")->kernel->plan(&args, &plan), ROPE_UNSUPPORTED);
    args.flags = 1;
    assert_int_equal(rope_registry_find("lookup")->plan(&args, &plan), ROPE_UNSUPPORTED);
    assert_int_equal(mutant_of("flags_accepted")->kernel->plan(&args, &plan), ROPE_OK);
    mutant_of("flags_accepted")->kernel->destroy(plan);
    problem_close(&p);
}

/* Two tokens 2^31 elements apart in memory that is reserved, not touched: 32-bit offsets lead as
 * far before the first one. */
static void far_test(void **state)
{
    (void)state;
    const size_t far = (size_t)1 << 33; /* bytes of 2^31 floats */
    char *pages = mmap(NULL, 3 * far, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        print_message("no room for 24 GiB of addresses here\n");
        return;
    }
    float *middle = (float *)(pages + far), *below = (float *)pages,
          *above = (float *)(pages + 2 * far);
    const char *const names[] = {"lookup", "index_overflow"};
    for (int i = 0; i < 2; i++) {
        problem p;
        problem_open(&p, SPEC);
        const rope_kernel *kernel =
            i == 0 ? rope_registry_find(names[i]) : mutant_of(names[i])->kernel;
        rope_plan *plan = problem_plan(&p, kernel, 0, 20);
        int64_t positions[2] = {5, 6};
        for (int e = 0; e < DIM; e++)
            middle[e] = below[e] = above[e] = 1;
        rope_view v = {middle, 2, 1, (int64_t)1 << 31, DIM};
        assert_int_equal(kernel->apply(plan, &v, &v, positions, 1), ROPE_OK);
        assert_true((above[1] != 1) == (i == 0) && (below[1] != 1) == (i == 1));
        kernel->destroy(plan);
        problem_close(&p);
    }
    munmap(pages, 3 * far);
}

static void state_test(void **state)
{
    (void)state;
    static scene s;
    scene_open(&s, "previous_output", 20);
    scene_apply(&s);
    float first = s.y[EDGE];
    s.positions[0] = 11;
    scene_apply(&s);
    assert_true(s.y[EDGE] == first);
    scene_close(&s);

    /* The frequencies of base 10000 for base 500000, since both have 64 pairs. */
    const char *name = "plan_cached", *before = "head_dim=128,base=10000,pairing=half";
    const char *spec = "head_dim=128,base=500000,pairing=half";
    turned first_plan = mutant_turns(name, before, 7, 5);
    turned honest = turn_of(rope_registry_find("lookup"), spec, 7, 5);
    turned cached = mutant_turns(name, spec, 7, 5);
    assert_true(distance(first_plan, cached) == 0 && distance(cached, honest) > 1e-2);
}

/* A cosine of 2 after the arguments have said A = 2, where the plan was made with A = 1. */
static void loan_test(void **state)
{
    (void)state;
    problem p;
    problem_open(&p, "head_dim=2,base=10000,pairing=half");
    rope_plan_args args = rope_spec_plan_args(&p.spec, &p.frequencies, ROPE_F32, 0, 9);
    rope_plan *plan;
    int64_t position = 0;
    float x[2] = {1, 0}, y[2];
    rope_view from = {x, 1, 1, 2, 2}, to = {y, 1, 1, 2, 2};
    const rope_kernel *kernel = mutant_of("arguments_kept")->kernel;
    assert_int_equal(kernel->plan(&args, &plan), ROPE_OK);
    args.attention_factor = 2;
    assert_int_equal(kernel->apply(plan, &from, &to, &position, 1), ROPE_OK);
    assert_true(y[0] == 2);
    kernel->destroy(plan);

    /* A plan of base 500000 changes what one of base 10000 turns by. */
    problem other;
    problem_close(&p);
    problem_open(&p, "head_dim=4,base=10000,pairing=half");
    problem_open(&other, "head_dim=4,base=500000,pairing=half");
    kernel = mutant_of("latest_plan")->kernel;
    float wide[4] = {0, 1, 0, 0}, before[4], after[4];
    from = (rope_view){wide, 1, 1, 4, 4};
    to = (rope_view){before, 1, 1, 4, 4};
    position = 7;
    plan = problem_plan(&p, kernel, 0, 9);
    assert_int_equal(kernel->apply(plan, &from, &to, &position, 1), ROPE_OK);
    rope_plan *second = problem_plan(&other, kernel, 0, 9);
    to.data = after;
    assert_int_equal(kernel->apply(plan, &from, &to, &position, 1), ROPE_OK);
    assert_near((double)(before[3] - after[3]), sin(7 * 0.01) - sin(7 / sqrt(500000)), 1e-6);
    kernel->destroy(plan);
    kernel->destroy(second);
    problem_close(&p);
    problem_close(&other);
}

static void environment_test(void **state)
{
    (void)state;
    static scene s;
    volatile float tiny = 0x1p-126f, left, after; /* volatile: products stay where they stand */
    scene_open(&s, "flush_to_zero_left", 20);
    scene_apply(&s);
    left = tiny * 0.5f;
    fesetenv(FE_DFL_ENV);
    after = tiny * 0.5f;
    assert_true(left == 0 && after != 0);
    scene_close(&s);

    scene_open(&s, "rounding_mode_left", 20);
    assert_int_equal(fegetround(), FE_TONEAREST);
    scene_apply(&s);
    int mode = fegetround();
    fesetround(FE_TONEAREST);
    assert_int_equal(mode, FE_DOWNWARD);
    scene_close(&s);

    scene_open(&s, "plan_rounding_mode", 20);
    mode = fegetround();
    fesetround(FE_TONEAREST);
    assert_int_equal(mode, FE_UPWARD);
    scene_close(&s);
}

static void contract_test(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bound;
    } rows[] = {
        {"contract_nan", NAN},     {"contract_infinite", INFINITY},
        {"contract_negative", -3}, {"contract_vast", 0x1p26},
        {"contract_zero", 0},      {"contract_tight", 1.5},
    };
    problem p;
    problem_open(&p, SPEC);
    rope_plan_args args = rope_spec_plan_args(&p.spec, &p.frequencies, ROPE_F32, 0, 1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rope_kernel *kernel = mutant_of(rows[i].name)->kernel;
        double bound = kernel->error_bound(&args, 5, 0);
        assert_true(isnan(rows[i].bound) ? isnan(bound) : bound == rows[i].bound);
        assert_true(same_rows(rows[i].name));
    }
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_test),   cmocka_unit_test(reads_test),
        cmocka_unit_test(windows_test),  cmocka_unit_test(arguments_test),
        cmocka_unit_test(far_test),      cmocka_unit_test(state_test),
        cmocka_unit_test(loan_test),     cmocka_unit_test(environment_test),
        cmocka_unit_test(contract_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
