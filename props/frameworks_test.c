/* Real frameworks in the loop: dumps that PyTorch and ONNX Runtime make must pass, and identify
 * must find no fault in them, their spec, and their pipeline. Skipped, by name, where the framework
 * is not installed. The unit test judges a third of PyTorch's dumps, in turn; TIGHTROPE_FULL all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "props/dump_check.h"
#include "props/identify.h"

static char directory[64];

/* The first of the commands that can load the framework; NULL = none, or the scripts are not here.
 */
static const char *find_command(const char *const *commands, const char *probe, const char *script)
{
    if (access(script, R_OK) != 0)
        return NULL;
    for (; *commands != NULL; commands++) {
        char text[256];
        snprintf(text, sizeof text, "%s %s >/dev/null 2>&1", *commands, probe);
        if (system(text) == 0)
            return *commands;
    }
    return NULL;
}

typedef struct {
    char name[64], positions[256], spec[256];
    char input[192], output[192]; /* directory, name and 10 more */
} framework_case;

static bool next_case(FILE *list, framework_case *c)
{
    if (fscanf(list, "%63[^\t]\t%255[^\t]\t%255[^\n]\n", c->name, c->positions, c->spec) != 3)
        return false;
    snprintf(c->input, sizeof c->input, "%s/%s_in.npy", directory, c->name);
    snprintf(c->output, sizeof c->output, "%s/%s_out.npy", directory, c->name);
    return true;
}

/* The combinations that each form computes by: f32 angles (A3), and S0, S1 or S2; a combination
 * that is tried earlier may explain as well, near position 0. */
static bool expected(const framework_case *c, const prop_combination *found)
{
    bool narrow = strstr(c->name, "f32") == NULL;
    if (strncmp(c->name, "hugging_face", 12) == 0 && narrow)
        return found->arithmetic == PROP_ARITHMETIC_STEPS;
    if (strncmp(c->name, "fused", 5) == 0)
        return found->arithmetic == PROP_ARITHMETIC_TABLE;
    return found->arithmetic == PROP_ARITHMETIC_ONE_ROUNDING;
}

/* Asks check and identify; describes what is wrong. */
static bool judged_right(const framework_case *c, bool open)
{
    rope_error error = {""};
    rope_spec spec, found;
    prop_dump dump;
    prop_verdict verdict;
    prop_sample sample;
    static prop_identity identity;
    const uint32_t all = (1u << PROP_ANGLES) - 1;
    if (!rope_spec_parse(c->spec, &spec, &error) ||
        !prop_dump_open(c->input, c->output, c->positions, PROP_LAYOUT_DEFAULT, &dump, &error) ||
        !prop_dump_check(&dump, &spec, &(prop_check_options){.angles = all}, &verdict, &error) ||
        !prop_sample_read(&dump, &sample, &error) ||
        !prop_identify(&sample, open ? NULL : &spec, all, &identity, &error)) {
        print_message("# %s: %s\n", c->name, error.text);
        return false;
    }
    bool good = verdict.pass && expected(c, &verdict.best) && identity.told &&
                strcmp(identity.answers[0].fault, "none") == 0;
    if (good && open) {
        good = rope_spec_parse(identity.answers[0].spec, &found, &error) &&
               found.pairing == spec.pairing && found.base == spec.base &&
               found.scaling == spec.scaling;
        rope_spec_free(&found);
    }
    if (!good)
        print_message("# %s (%s): check %s by A%d S%d: %s; identify %s%s, %s\n", c->name,
                      open ? "no spec given" : "spec given", verdict.pass ? "PASS" : "FAIL",
                      (int)verdict.best.angle, (int)verdict.best.arithmetic, verdict.reason,
                      identity.told ? "" : "cannot tell, ", identity.answers[0].fault,
                      identity.answers[0].spec);
    prop_sample_free(&sample);
    prop_verdict_free(&verdict);
    prop_dump_close(&dump);
    rope_spec_free(&spec);
    return good;
}

/* Has the script make its dumps, and judges them all; every open_every-th also without a spec. */
static void judge_framework(const char *name, const char *command, const char *script,
                            int expected_cases, int open_every)
{
    if (command == NULL) {
        print_message("# %s is not installed, or this is not run from the source folder\n", name);
        skip();
    }
    strcpy(directory, "/tmp/frameworks_test_XXXXXX");
    assert_non_null(mkdtemp(directory));
    char text[256], path[128];
    snprintf(text, sizeof text, "%s %s %s >&2", command, script, directory);
    assert_int_equal(system(text), 0);
    snprintf(path, sizeof path, "%s/cases.tsv", directory);
    FILE *list = fopen(path, "r");
    assert_non_null(list);
    framework_case c;
    int cases = 0, judged = 0, wrong = 0;
    bool all = getenv("TIGHTROPE_FULL") != NULL || expected_cases < 12;
    for (; next_case(list, &c); cases++) {
        bool far = strstr(c.positions, "131071") != NULL || strstr(c.positions, "8191") != NULL;
        bool open = far && cases % open_every == 1;
        /* The script's innermost loops are short: the third shifts, so that it meets each turn. */
        if (all || open || cases % 3 == cases / 3 % 3) {
            wrong += !judged_right(&c, open);
            judged++;
        }
        unlink(c.input);
        unlink(c.output);
    }
    fclose(list);
    unlink(path);
    rmdir(directory);
    print_message("# %d of %d dumps of %s, %d misjudged\n", judged, cases, name, wrong);
    assert_int_equal(cases, expected_cases);
    assert_true(judged * 3 >= cases);
    assert_int_equal(wrong, 0);
}

static void torch_dumps_pass_and_are_identified(void **state)
{
    (void)state;
    /* Debian's package belongs to /usr/bin/python3. */
    static const char *const pythons[] = {"python3", "/usr/bin/python3", NULL};
    static const char script[] = "props/frameworks/torch_dumps.py";
    /* Found, not loaded: that takes seconds. */
    static const char probe[] = "-c 'import sys, importlib.util as u; "
                                "sys.exit(not (u.find_spec(\"torch\") and "
                                "u.find_spec(\"numpy\")))'";
    judge_framework("PyTorch (Debian: python3-torch)", find_command(pythons, probe, script), script,
                    104, 12);
}

static void onnxruntime_dumps_pass_and_are_identified(void **state)
{
    (void)state;
    static const char *const nodes[] = {"node", "NODE_PATH=\"$(npm root -g 2>/dev/null)\" node",
                                        NULL};
    static const char script[] = "props/frameworks/onnx_dumps.js";
    judge_framework("onnxruntime-node (npm install -g onnxruntime-node)",
                    find_command(nodes, "-e 'require(\"onnxruntime-node\")'", script), script, 6,
                    3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_dumps_pass_and_are_identified),
        cmocka_unit_test(onnxruntime_dumps_pass_and_are_identified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
