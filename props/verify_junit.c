/* JUnit XML: a test case for every line of the text output; schema as Jenkins and GitLab read it.
 */

#include "props/replay.h"
#include "props/verify_encodings.h"
#include "props/verify_plugins.h"

/* Text inside an attribute; characters that XML 1.0 forbids become '?'. */
void prop_junit_escape(const char *text, FILE *out)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        switch (*c) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*c >= 0x20 && *c < 0x7f ? *c : '?', out);
        }
}

static void test_case(const char *kernel, const char *name, FILE *out)
{
    fputs("  <testcase classname=\"tightrope.", out);
    prop_junit_escape(kernel, out);
    fputs("\" name=\"", out);
    prop_junit_escape(name, out);
    fputs("\"", out);
}

static void result(const char *kind, const char *message, const char *body, FILE *out)
{
    fprintf(out, ">\n    <%s message=\"", kind);
    prop_junit_escape(message, out);
    fputs("\">", out);
    prop_junit_escape(body, out);
    fprintf(out, "</%s>\n  </testcase>\n", kind);
}

typedef struct {
    prop_sum sum;
    FILE *out; /* NULL: count only */
} writing;

static void kernel_cases(const prop_verification *v, const rope_kernel *kernel, writing *w)
{
    size_t properties;
    prop_properties(&properties);
    for (int p = 0; p < (int)properties; p++) {
        prop_line line;
        if (!prop_line_make(v, kernel, p, &line))
            continue;
        bool pass = line.verdict == PROP_PASS;
        w->sum.passed += pass;
        w->sum.failed += !pass;
        if (w->out == NULL)
            continue;
        test_case(kernel->name, line.property->name, w->out);
        if (pass) {
            fputs("/>\n", w->out);
            continue;
        }
        const char *smallest, *replay = prop_replay_printed(v, &line, &smallest);
        result("failure", line.reason, replay != NULL ? replay : "", w->out);
    }
    void (*const skips[])(const prop_verification *, const rope_kernel *, char *,
                          size_t) = {prop_skip_no_contract, prop_skip_unsupported,
                                     prop_skip_no_unit, prop_skip_not_run, prop_skip_far};
    static const char *const names[] = {"no contract", "unsupported specs", "pairing or dtype",
                                        "not run", "far strides"};
    for (size_t i = 0; i < sizeof skips / sizeof skips[0]; i++) {
        char text[4096];
        skips[i](v, kernel, text, sizeof text);
        if (*text == '\0')
            continue;
        w->sum.skipped++;
        if (w->out == NULL)
            continue;
        test_case(kernel->name, names[i], w->out);
        result("skipped", text, "", w->out);
    }
}

void prop_verify_junit(const prop_verification *v, const prop_encodings *encodings,
                       const prop_plugins *plugins, double seconds, FILE *out)
{
    writing w = {.out = NULL};
    for (int k = 0; k < v->kernel_count; k++)
        kernel_cases(v, v->kernels[k], &w);
    prop_sum more = prop_encodings_junit(encodings, NULL);
    w.sum.passed += more.passed;
    w.sum.failed += more.failed + prop_plugins_junit(plugins, NULL).failed;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"tightrope verify\" tests=\"%d\" failures=\"%d\" skipped=\"%d\" "
            "time=\"%.3f\">\n",
            w.sum.passed + w.sum.failed + w.sum.skipped, w.sum.failed, w.sum.skipped, seconds);
    w.out = out;
    for (int k = 0; k < v->kernel_count; k++)
        kernel_cases(v, v->kernels[k], &w);
    prop_encodings_junit(encodings, out);
    prop_plugins_junit(plugins, out);
    fputs("</testsuite>\n", out);
}
