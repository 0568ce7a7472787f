/* What a kernel is and takes: the hash of its code, and whether it plans for given arguments. */
#include <string.h>

#include "impl/registry.h"
#include "props/certify.h"
#include "props/isolate.h"

bool certify_binary_hash(const certify_subject *s, char hash[65], rope_error *error)
{
    static char self[65]; /* this program does not change while it runs */
    if (s->plugin == NULL &&
        (*self != '\0' || certificate_hash_file("/proc/self/exe", self, error))) {
        memcpy(hash, self, sizeof self);
        return true;
    }
    return certificate_hash_file(s->plugin != NULL ? s->plugin : "/proc/self/exe", hash, error);
}

/* ---- whether a kernel takes the arguments, asked in a child ---- */

typedef struct question {
    const certify_subject *subject;
    const rope_frequencies *frequencies;
    int64_t first, last;
} question;

static int ask(void *context)
{
    const question *q = context;
    rope_plan_args args = rope_spec_plan_args(q->subject->spec, q->frequencies,
                                              (rope_dtype)q->subject->dtype, q->first, q->last);
    rope_plan *plan = NULL;
    rope_status status = q->subject->kernel->plan(&args, &plan);
    if (status == ROPE_OK)
        q->subject->kernel->destroy(plan);
    return (int)status & 0xff;
}

bool certify_takes(const certify_subject *s, rope_truth truth, int64_t first, int64_t last,
                   rope_error *error)
{
    const rope_kernel *kernel = s->kernel;
    if (!(kernel->pairings & 1u << s->spec->pairing))
        return rope_fail(error, "kernel %s does not take pairing %s", kernel->name,
                         rope_pairing_name(s->spec->pairing));
    if (!(kernel->dtypes & 1u << s->dtype))
        return rope_fail(error, "kernel %s does not take dtype %s", kernel->name,
                         rope_dtype_name(s->dtype));
    if (kernel->cpu_features & ~rope_cpu_features()) {
        char text[64];
        rope_cpu_features_text(kernel->cpu_features & ~rope_cpu_features(), text, sizeof text);
        return rope_fail(error, "kernel %s needs %s, which this machine lacks", kernel->name, text);
    }
    rope_frequencies frequencies;
    if (!rope_spec_resolve(s->spec, truth, &frequencies, error))
        return false;
    question q = {s, &frequencies, first, last};
    prop_limits limits = prop_limits_default();
    prop_end end;
    bool good = prop_isolate(ask, &q, &limits, &end, error);
    rope_frequencies_free(&frequencies);
    if (!good)
        return false;
    if (end.outcome != PROP_FINISHED) {
        char text[128];
        prop_end_text(&end, text, sizeof text);
        return rope_fail(error, "kernel %s: plan: %s", kernel->name, text);
    }
    return end.status == ROPE_OK ||
           rope_fail(error, "kernel %s refuses this spec and dtype %s (status %d)", kernel->name,
                     rope_dtype_name(s->dtype), end.status);
}
