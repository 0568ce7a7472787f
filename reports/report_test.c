/* From hand-made rows to a page. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/choose.h"
#include "reports/markdown.h"
#include "reports/output.h"
#include "reports/text.h"
#include "reports/tools.h"
#include "scripts/front/environment.h"

static char folder[64];

#define VERIFY_HEAD                                                                                \
    "run,kernel,pairing,dtype,spec,truth,property,arrangement,positions_checked,cases,"            \
    "max_error_u,rms_error_u,max_ulp,correctly_rounded,bound_u,worst_position,worst_pair,"         \
    "worst_x0,worst_x1,verdict,reason,replay,ratio,value\n"
#define BENCH_HEAD                                                                                 \
    "run,kernel,pairing,dtype,spec,tokens,heads,mode,bytes,ns_per_element,ns_ci_low,ns_ci_high,"   \
    "samples,gb_per_s,ratio_memcpy,ratio_scale,max_error_u,verdict,in_place,"                      \
    "memcpy_ns_per_element,scale_ns_per_element,bound_u\n"

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static void put(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *name, const char *format, ...)
{
    va_list arguments;
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

/* A run, its record, and rows of two kernels: `good` and `bad`, which fails once. */
static int make_rows(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/report_test.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    static const char record[] =
        "{\"command_line\":\"tightrope verify --seed 7\",\"seed\":\"7\","
        "\"machine\":{\"cpu_model\":\"An <odd> CPU | model\",\"governor\":\"not available\"},"
        "\"build\":{\"commit\":\"0123abc\",\"dirty\":false,\"flags\":\"-O2\",\"kernel_flags\":"
        "\"-O3\"}}\n";
    char hex[65], name[64];
    front_sha256(record, strlen(record), hex);
    snprintf(name, sizeof name, "%.16s.json", hex);
    put(name, "%s", record);
    put("verify.csv",
        VERIFY_HEAD
        "%.16s,good,half,f32,head_dim=8,exact,contract,positions 1..3,3,90,2.5,1,3,0.5,3,2,1,"
        "0x1p+0,0x1p-1,pass,,,0.83,0\n"
        "%.16s,good,half,f32,head_dim=8,exact,contract,positions 4..15,9,90,2.75,1,3,0.5,3,9,1,"
        "0x1p+0,0x1p-1,pass,,,0.92,0\n"
        "%.16s,bad,half,f32,head_dim=8,exact,contract,positions 1..3,3,90,99,1,3,0.5,3,2,1,"
        "0x1p+0,0x1p-1,fail,\"a | b <script>\",tightrope verify --replay 'x',33,0\n"
        "%.16s,bad,half,f32,head_dim=8,exact,contract,positions 4..15,9,9,,,,,,5,,,,"
        "no contract,claims no bound,,,\n",
        hex, hex, hex, hex);
    put("bench.csv",
        BENCH_HEAD
        "%.16s,good,half,f32,head_dim=8,512,4,apply,65536,0.25,0.2,0.3,12,32,1.5,2.5,2.5,pass,yes,"
        "0.17,0.1,3\n"
        "%.16s,bad,half,f32,head_dim=8,512,4,apply,65536,0.125,0.1,0.2,12,64,0.75,1.25,99,pass,"
        "yes,0.17,0.1,100\n",
        hex, hex);
    return 0;
}

static int remove_rows(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static char *markdown_of(const char *const *paths, size_t count)
{
    rope_error error = {""};
    report_model model;
    report_figures figures;
    if (!report_load(paths, count, &model, &error))
        print_error("%s\n", error.text);
    assert_true(report_figures_make(&model, &figures, &error));
    char *text = report_markdown(&model, &figures);
    assert_non_null(text);
    report_figures_free(&figures);
    report_free(&model);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        print_error("no '%s' in:\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* Reasons that differ in numbers alone are one line; other words, kernels and verdicts are not. */
static void groups_what_was_not_judged(void **state)
{
    (void)state;
#define UNJUDGED(kernel, verdict, reason)                                                          \
    "r," kernel ",half,f32,s,exact,contract,all,9,9,,,,,,5,,,," verdict "," reason ",,,\n"
    put("unjudged.csv", "%s",
        VERIFY_HEAD UNJUDGED("a", "no contract", "up to 9.5e+02 \u00e9 u; less than 1/64 at f16")
            UNJUDGED("a", "no contract", "up to 70 \u00e9 u; less than 1/64 at f16")
                UNJUDGED("b", "no contract", "up to 70 \u00e9 u; less than 1/64 at f16")
                    UNJUDGED("a", "no contract", "up to 8000 \u00e9 u; less than 1/64 at f32")
                        UNJUDGED("a", "not run", "up to 8 \u00e9 u; less than 1/64 at f16")
                            UNJUDGED("a", "no contract",
                                     "up to 12345.5 \u00e9 u; less than 1/64 at f16"));
    const char *path = in_folder("unjudged.csv");
    char *text = markdown_of(&path, 1);
    assert_contains(
        text, "| a | no contract | up to 70 to 12345.5 \u00e9 u; less than 1/64 at f16 | 3 |");
    assert_contains(text, "| b | no contract | up to 70 \u00e9 u; less than 1/64 at f16 | 1 |");
    assert_contains(text, "| a | no contract | up to 8000 \u00e9 u; less than 1/64 at f32 | 1 |");
    assert_contains(text, "| a | not run | up to 8 \u00e9 u; less than 1/64 at f16 | 1 |");
    free(text);
}

/* Figures of the summary name mode and place, in place where both were timed, with intervals. */
static void sums_up_speed(void **state)
{
    (void)state;
    put("speed.csv", "%s",
        "ratio_memcpy_low,ratio_memcpy_high,ratio_scale_low,ratio_scale_high," BENCH_HEAD
        "2,2.5,,,r,good,half,f32,s,512,4,apply,9,0.75,0.7,0.8,12,1,2.25,3,1.5,pass,no,1,1,3\n"
        "0.5,0.55,1,1.5,r,good,half,f32,s,512,4,apply,9,0.25,0.2,0.3,12,1,0.52,1.25,1.5,pass,yes,"
        "1,1,3\n"
        ",,,,r,copies,half,f32,s,512,4,apply,9,0.5,,,12,1,1.5,2,1.5,pass,no,1,1,3\n");
    const char *path = in_folder("speed.csv");
    char *text = markdown_of(&path, 1);
    assert_contains(text, "512 tokens and 4 heads, mode apply, positions up to");
    assert_contains(text, "| good | half | f32 | yes | 1.5 | 3 | 0.25 \\[0.2, 0.3\\] | "
                          "0.52 \\[0.5, 0.55\\] | 1.25 \\[1, 1.5\\] | pass |");
    assert_contains(text, "| copies | half | f32 | no | 1.5 | 3 | 0.5 | 1.5 | 2 | pass |");
    free(text);
}

static void tells_what_the_rows_say(void **state)
{
    (void)state;
    const char *paths[] = {in_folder("verify.csv"), in_folder("bench.csv")};
    char *text = markdown_of(paths, 2);
    assert_contains(text, "Verification: 4 rows; 2 pass, 1 **fail**, 1 no contract.");
    assert_contains(text, "tightrope verify --seed 7");
    assert_contains(text, "An \\<odd\\> CPU \\| model");
    assert_contains(text, "| flags, kernels | -O3 |\n| flags, all else | -O2 |");
    assert_contains(text, "| good | f32 | pass | 12 | 180 | 2.75 | 3 | 9 | 1 | 0.92 | 50 |");
    assert_contains(text, "| bad | f32 | **FAIL** (1) |");
    assert_contains(text, "a \\| b \\<script\\>"); /* no markup out of rows */
    assert_contains(text, "tightrope verify --replay 'x'");
    assert_contains(text, "claims no bound");
    assert_contains(text, "| good | 0.25 (1.5×) |");
    assert_contains(text, "error-position-f32.svg");
    assert_contains(text, "trade-off-f32-half.svg");
    assert_contains(text, "commit 0123abc");
    free(text);
    text = markdown_of(paths + 1, 1); /* benchmarks alone */
    assert_null(strstr(text, "## Accuracy"));
    assert_contains(text, "## Speed");
    free(text);
}

/* Rows of all four encodings, and what the page makes of them; a failure shows. */
static void compares_encodings(void **state)
{
    (void)state;
    put("encodings.csv", "%s",
        VERIFY_HEAD
        "r,sinusoidal,,f32,dim=8,exact,sum-contract,all,8,20,0.75,,,,1.5,-77,1,0,,pass,,,0.5,\n"
        "r,sinusoidal,,f32,dim=8,exact,sum-unbounded,all,8,20,0.5,,,,1,9000,1,0,,pass,,,0.5,\n"
        "r,sinusoidal,,f32,dim=8,exact,sum-shift,all,8,20,3,,,,2.5,9,1,0,,fail,off,,1.2,\n"
        "r,learnt,,f32,\"dim=8,rows=37\",exact,sum-bounded,all,8,20,,,,,,36,0,0,,pass,,,,\n"
        "r,alibi,,f32,heads=1,exact,sum-linear,all,9,6,,,,,,5,0,0,,pass,,,,\n"
        "r,broken,half,f32,head_dim=8,exact,offset,all,9,6,9,,,,3,5,0,0,,fail,off,,3,\n"
        "r,slow,half,f32,head_dim=8,exact,offset,all,9,6,2,,,,3,5,0,0,,pass,,,0.66,\n"
        "r,quick,half,f32,head_dim=8,exact,offset,all,9,6,1,,,,4,5,0,0,,pass,,,0.25,\n");
    put("encodings-bench.csv", "%s",
        BENCH_HEAD
        "r,broken,half,f32,head_dim=8,512,4,apply,9,0.01,1,1,12,32,0.1,1,1,pass,yes,1,1,3\n"
        "r,other,half,f32,head_dim=8,512,4,apply,9,0.02,1,1,12,32,0.2,1,1,pass,yes,1,1,3\n"
        "r,slow,half,f32,head_dim=8,512,4,apply,9,0.75,1,1,12,32,3,1,1,pass,yes,1,1,3\n"
        "r,quick,half,f32,head_dim=8,512,4,apply,9,0.25,1,1,12,32,1.5,1,1,pass,yes,1,1,3\n"
        "r,alibi,,f32,\"heads=2,keys=8\",64,2,apply,9,0.875,1,1,12,32,4.5,1,1,pass,yes,1,1,3\n");
    const char *paths[] = {in_folder("encodings.csv"), in_folder("encodings-bench.csv")};
    char *text = markdown_of(paths, 2);
    assert_null(strstr(text, "| alibi |  | f32 |")); /* not among the rotations' figures */
    assert_contains(text, "- [Encodings compared](#encodings-compared)");
    assert_contains(text, "figures are those of the kernel <code>quick</code>");
    assert_contains(text, "| sinusoidal | learnt | ALiBi | RoPE |");
    assert_contains(
        text,
        "| <code>sum-shift</code>: 0 rows pass, **1 FAIL**; worst 120 % of the tolerance | – "
        "| <code>sum-linear</code>: 1 row pass | <code>offset</code>: 1 row pass; worst 25 % of");
    assert_contains(text, "| <code>sum-unbounded</code>: 1 row pass; worst 50 % of the tolerance | "
                          "<code>sum-bounded</code>: 1 row pass |");
    assert_contains(text, "| 0.75 of 1.5 u (f32) | – |");
    assert_contains(
        text,
        "| – | – | 0.875 ns an element of the scores, 4.5× memcpy "
        "(<code>heads=2,keys=8</code>, tokens × heads = 64 × 2) | 0.25 ns an element of q or k");
    free(text);
    paths[0] = in_folder("verify.csv");
    text = markdown_of(paths, 1);
    assert_null(strstr(text, "Encodings compared"));
    free(text);
}

#define MUTANTS_HEAD "run,mutant,class,mutates,killed,reason,contract,norm,sum-contract\n"

static void shows_what_the_mutants_show(void **state)
{
    (void)state;
    put("mutants.csv", "%s",
        MUTANTS_HEAD "r,both,F1,lookup,yes,off,yes,yes,\n"
                     "r,seen_by_oracle,F4,lookup,yes,off,yes,no,\n"
                     "r,seen_by_law,F4,lookup,yes,off,no,yes,\n"
                     "r,sum,F33,alibi,yes,off,,,yes\n"
                     "r,lives,F7,a|b,no,,no,no,\n"
                     "r,later,F8,lookup,skipped,no such CPU,,,\n");
    const char *path = in_folder("mutants.csv");
    char *text = markdown_of(&path, 1);
    assert_contains(text, "**4 of 5 mutants were found out**, 3 of them by the oracle");
    assert_contains(text, ": 2 by it alone");
    assert_contains(text, "; 1 by other properties alone. **1 survived.** 1 were not run");
    assert_contains(text, "| contract | 4 | 2 | 1 | 2 |");
    assert_contains(text, "| norm | 4 | 2 | 1 | 2 |");
    assert_contains(text, "| sum-contract | 1 | 1 | 1 | 1 |");
    assert_contains(text, "| F1 | both | lookup | yes | norm |");
    assert_contains(text, "| F4 | seen\\_by\\_oracle | lookup | **alone** | – |");
    assert_contains(text, "| F4 | seen\\_by\\_law | lookup | – | norm |");
    assert_contains(text, "| F7 | lives | a\\|b | – | **SURVIVES** |");
    assert_contains(text, "| F8 | later | lookup | not run | no such CPU |");
    assert_null(strstr(text, "## Accuracy"));
    free(text);
}

#define STAGES_HEAD                                                                                \
    "run,kernel,dtype,spec,truth,band_first,band_end,positions,stage,added_mean_square,share,"     \
    "rms_without_u,model_rms_u,measured_rms_u,ratio\n"
#define DRIFT_HEAD "run,kernel,dtype,spec,truth,magnitude,samples,max_drift,rms_drift\n"

static void shows_stages_and_drift(void **state)
{
    (void)state;
    put("stages.csv", "%s",
        STAGES_HEAD "r,k,f32,s,exact,0,1,8,frequency,0,,0,0,0,\n"
                    "r,k,f32,s,exact,1,2,8,frequency,1,-0.25,0,1.5,2,0.75\n"
                    "r,k,f32,s,exact,1,2,8,angle,1,1.25,0,1.5,2,0.75\n"
                    "r,k,f32,s,exact,4096,8192,8,frequency,1,0.75,0,21,20,1.05\n"
                    "r,k,f32,s,exact,4096,8192,8,angle,1,0.25,0,21,20,1.05\n"
                    "r,near,f32,s,exact,1,2,8,storage,1,1,0,1.2,1,1.19\n"
                    "r,none,f32,s,exact,1,2,8,evaluation,1,1,0,0,2,0\n"
                    "r,odd,f32,s,exact,1,2,8,evaluation,1,1,0,0,0,0\n"
                    "r,still,f32,s,exact,0,1,8,storage,0,,0,0,0,\n");
    put("drift.csv", "%s",
        DRIFT_HEAD "r,k,f32,s,exact,1,256,1e-08,1e-9\n"
                   "r,k,f32,s,exact,10,256,2.25e-08,1e-9\n"
                   "r,near,f32,s,exact,1,256,0.5,1e-9\n"
                   "r,zero,f16,s,exact,1,256,0,0\n"
                   "r,one,bf16,s,exact,1,256,0.5,0\n");
    const char *paths[] = {in_folder("stages.csv"), in_folder("drift.csv")};
    char *text = markdown_of(paths, 2);
    assert_contains(text, "| k | f32 | <code>s</code> | exact | 4096 | 20 | 21 | frequency, 75 % "
                          "| 25 | 1 | **NO** |");
    assert_contains(text, "| near | f32 | <code>s</code> | exact | 1 | 1 | 1.2 | storage, 100 % | "
                          "19 | 1 | yes |");
    assert_contains(text, "| still | f32 | <code>s</code> | exact | – |");
    assert_contains(text, "| kernel | dtype | spec | truth | 1 | 10 |");
    assert_contains(text, "| k | f32 | <code>s</code> | exact | 1e-08 | 2.2e-08 |");
    assert_contains(text, "| near | f32 | <code>s</code> | exact | 0.5 | – |");
    assert_contains(text, "error-stages-4.svg");
    assert_null(strstr(text, "error-stages-5.svg")); /* no band of `still` has an error */
    assert_contains(text, "| none | f32 | <code>s</code> | exact | 1 | 2 | 0 | evaluation, 100 % | "
                          "100 | 1 | **NO** |");
    assert_contains(text, "offset-drift-1.svg");
    assert_null(strstr(text, "offset-drift-3.svg")); /* zeros have no place on the axis */
    free(text);
    rope_error error;
    report_model model;
    report_figures figures;
    assert_true(report_load(paths, 2, &model, &error));
    assert_true(report_figures_make(&model, &figures, &error));
    assert_int_equal(figures.count, 6);
    assert_contains(figures.items[0].script, "4Ki 75 25 0 0 0 0 20 21\n");
    assert_contains(figures.items[0].script, "\n1 0 125 0 0 0 0 2 1.5\n");
    assert_contains(figures.items[4].script, "\n1 1e-08 0\n10 2.25e-08 0\nEOD");
    report_figures_free(&figures);
    report_free(&model);
}

/* Two papers' tables: one that prints a curve alone, one with values. */
static void shows_papers_tables(void **state)
{
    (void)state;
    static const char head[] =
        "table,head_dim,base,argument,value_low,value_high,printed,note,source\n";
    put("decay.csv",
        "%sdecay,128,10000,0,32.49999999,32.50000001,,a curve,paper A\n"
        "decay,128,10000,5,20.8453573,20.8453574,,a curve,paper A\n"
        "decay,128,500000,5,23.25,23.75,,a curve,paper A\n",
        head);
    put("base.csv",
        "%ssmallest-base,128,,1024,4293.4375,4293.4376,4300,tight,paper B\n"
        "smallest-base,128,,2048,8000,8000.001,16000,loose,paper B\n",
        head);
    const char *paths[] = {in_folder("decay.csv"), in_folder("base.csv")};
    char *text = markdown_of(paths, 2);
    assert_contains(text, "- [Papers' tables](#papers-tables)");
    assert_contains(text, "Source: paper A.");
    assert_contains(text, "| argument | base 10000 | base 500000 |");
    assert_contains(text, "| 0 | 32.5 | – |");
    assert_contains(text, "| 5 | 20.8454 | 23.25 – 23.75 |");
    assert_contains(text, "Printed: a curve.");
    assert_contains(text, "| 1024 | 128 | 4293.44 | 4300 | 1.002 | tight |");
    assert_contains(text, "| 2048 | 128 | 8000 | 16000 | 2 | loose |");
    free(text);
    put("bad.csv", "%sdecay,128,10000,0,x,32.5,,,\n", head);
    const char *path = in_folder("bad.csv");
    rope_error error;
    report_model model;
    assert_false(report_load(&path, 1, &model, &error));
    assert_non_null(strstr(error.text, "value_low"));
}

static void refuses_other_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"a,b\n1,2\n", "no column"},
        {BENCH_HEAD "r,k,half,f32,s,12x,4,apply,1,1,1,1,1,1,1,1,1,pass,yes,1,1,1\n", "12x"},
        {BENCH_HEAD "r,k\n", "number of fields"},
        {BENCH_HEAD "r,k,half,f32,s,-5,4,apply,1,1,1,1,1,1,1,1,1,pass,yes,1,1,1\n",
         "line 2: tokens is '-5', expected a whole number"},
        {BENCH_HEAD "r,k,half,f32,s,1,4,apply,1,-1,1,1,1,1,1,1,1,pass,yes,1,1,1\n",
         "line 2: ns_per_element is '-1', expected a finite number above 0"},
        {BENCH_HEAD "r,k,half,f32,s,1,4,apply,1,0,1,1,1,1,1,1,1,pass,yes,1,1,1\n",
         "line 2: ns_per_element is '0', expected a finite number above 0"},
        {BENCH_HEAD "r,k,half,f32,s,1,4,apply,1,1,1e999,1,1,1,1,1,1,pass,yes,1,1,1\n",
         "line 2: ns_ci_low is '1e999', expected a finite number"},
        {"run,mutant,class,mutates,killed\n", "no column 'reason'"},
        {DRIFT_HEAD "r,k,f32,s,exact,1x,256,1,1\n", "1x"},
        {"run,kernel,dtype,spec,truth,stage\n", "no column 'band_first'"},
        {"", "empty"},
    };
    rope_error error;
    report_model model;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put("bad.csv", "%s", bad[i].text);
        const char *path = in_folder("bad.csv");
        assert_false(report_load(&path, 1, &model, &error));
        assert_non_null(strstr(error.text, bad[i].words));
        assert_non_null(strstr(error.text, "bad.csv"));
    }
    /* A record that is not the one that the rows name. */
    put("0000000000000000.json", "{}");
    put("bad.csv", "%s",
        BENCH_HEAD "0000000000000000,k,half,f32,s,1,4,apply,1,1,1,1,1,1,1,1,1,pass,yes,1,1,1\n");
    const char *path = in_folder("bad.csv");
    assert_false(report_load(&path, 1, &model, &error));
    assert_non_null(strstr(error.text, "its hash is"));
    /* A run's name is no path: what lies elsewhere is not read. */
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    put("sub/x.json", "{}");
    put("bad.csv", "%s",
        BENCH_HEAD "sub/x,k,half,f32,s,1,4,apply,1,1,1,1,1,1,1,1,1,pass,yes,1,1,1\n");
    assert_true(report_load(&path, 1, &model, &error));
    assert_null(model.runs[0].json);
    report_free(&model);
}

static void marks_the_pareto_front(void **state)
{
    (void)state;
    report_trade points[] = {{"a", 1, 3, false}, {"b", 2, 2, false}, {"c", 3, 2, false},
                             {"d", 3, 1, false}, {"e", 1, 3, false}, {"f", 2, 4, false}};
    report_mark_pareto(points, 6);
    static const bool expected[] = {true, true, false, true, true, false};
    for (int i = 0; i < 6; i++)
        assert_int_equal(points[i].pareto, expected[i]);
}

static char *put_text(const char *text)
{
    char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);
    report_put(out, text);
    fclose(out);
    return written;
}

static void escapes_what_has_a_meaning(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a_b*c", "a\\_b\\*c"},      {"<b>|`$^~#[]", "\\<b\\>\\|\\`\\$\\^\\~\\#\\[\\]"},
        {"two\nlines", "two lines"}, {"\xc3\xa9\xff\xc3", "\xc3\xa9??"},
        {"\xed\xa0\x80", "???"},     {"-1.5e+3, (x)", "-1.5e+3, (x)"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char *text = put_text(pairs[i][0]);
        assert_string_equal(text, pairs[i][1]);
        free(text);
    }
}

static void same_rows_same_bytes(void **state)
{
    (void)state;
    if (!report_tool_exists("gnuplot") || !report_tool_exists("pandoc")) {
        print_message("# gnuplot or pandoc is not installed\n");
        skip();
    }
    rope_error error = {""};
    put("verify2.csv", "%s",
        VERIFY_HEAD "another,third,half,f32,head_dim=8,exact,contract,all,3,90,2.5,1,3,0.5,3,2,1,"
                    "0x1p+0,0x1p-1,pass,,,0.83,0\n");
    /* As make-report gives them; in the other order; and the copies in the folder that these made,
     * as `report *.csv` there would take them. */
    static const char *const orders[3][5] = {
        {"verify.csv", "bench.csv", "stages.csv", "drift.csv", "verify2.csv"},
        {"verify2.csv", "drift.csv", "stages.csv", "bench.csv", "verify.csv"},
        {"out0/bench.csv", "out0/drift.csv", "out0/stages.csv", "out0/verify-2.csv",
         "out0/verify.csv"}};
    for (int i = 0; i < 3; i++) {
        report_model model;
        char name[256], given[5][256];
        const char *paths[5];
        for (int p = 0; p < 5; p++) {
            snprintf(given[p], sizeof given[p], "%s", in_folder(orders[i][p]));
            paths[p] = given[p];
        }
        if (!report_load(paths, 5, &model, &error))
            print_error("%s\n", error.text);
        assert_string_equal(error.text, "");
        assert_int_equal(model.sources[0].kind, REPORT_VERIFY); /* its order of kernels is first */
        snprintf(name, sizeof name, "%s/out%d", folder, i);
        if (!report_write(&model, name, &error))
            print_error("%s\n", error.text);
        assert_string_equal(error.text, "");
        assert_false(report_write(&model, "/proc/no", &error));
        error.text[0] = '\0';
        report_free(&model);
    }
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && diff -r out0 out1 && diff -r out0 out2 && ! grep -q "
             "'src=\"http\\|href=\"http\\|<script' "
             "out0/index.html && grep -q 'data:image/svg+xml' out0/index.html && "
             "test \"$(ls out0 | grep -c svg)\" = 9 && cmp bench.csv out0/bench.csv && "
             "cmp verify.csv out0/verify.csv && cmp verify2.csv out0/verify-2.csv && "
             "! ls -A | grep tmp",
             folder);
    assert_int_equal(system(command), 0);
}

static void refuses_no_rows(void **state)
{
    (void)state;
    put("empty.csv", BENCH_HEAD);
    put("empty2.csv", VERIFY_HEAD);
    const char *paths[] = {in_folder("empty.csv"), in_folder("empty2.csv"),
                           in_folder("verify.csv")};
    report_model model;
    rope_error error = {""};
    for (size_t count = 1; count <= 2; count++) {
        assert_false(report_load(paths, count, &model, &error));
        assert_non_null(strstr(error.text, "no rows"));
    }
    assert_true(report_load(paths, 3, &model, &error));
    report_free(&model);
    unlink(paths[0]);
    unlink(paths[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_the_rows_say), cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(compares_encodings),      cmocka_unit_test(shows_papers_tables),
        cmocka_unit_test(marks_the_pareto_front),  cmocka_unit_test(shows_what_the_mutants_show),
        cmocka_unit_test(shows_stages_and_drift),  cmocka_unit_test(escapes_what_has_a_meaning),
        cmocka_unit_test(sums_up_speed),           cmocka_unit_test(groups_what_was_not_judged),
        cmocka_unit_test(same_rows_same_bytes),    cmocka_unit_test(refuses_no_rows),
    };
    return cmocka_run_group_tests(tests, make_rows, remove_rows);
}
