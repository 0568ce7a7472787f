#include "scripts/front/list_specs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"
#include "impl/spec/presets.h"
#include "impl/spec/scalings.h"

/* Canonical text of a spec; malloc'ed, NULL when memory is out. */
static char *format(const rope_spec *spec)
{
    size_t size = (size_t)rope_spec_format(spec, NULL, 0) + 1;
    char *text = malloc(size);
    if (text != NULL)
        rope_spec_format(spec, text, size);
    return text;
}

void list_presets(rows_writer *w)
{
    size_t count;
    const rope_preset *presets = rope_presets(&count);
    for (size_t i = 0; i < count; i++) {
        rope_spec spec;
        rope_error error;
        /* Those without numbers of their own cannot be used by name alone. */
        if (presets[i].lacks_lists || !rope_spec_parse(presets[i].name, &spec, &error))
            continue;
        char *text = format(&spec);
        rows_text(w, presets[i].name);
        rows_integer(w, spec.head_dim);
        rows_integer(w, spec.rotary_dim);
        rows_number(w, spec.base);
        rows_text(w, rope_pairing_name(spec.pairing));
        rows_text(w, rope_scaling_name(spec.scaling));
        rows_integer(w, presets[i].trained);
        rows_text(w, text != NULL ? text : "");
        rows_text(w, presets[i].source);
        rows_text(w, presets[i].layers);
        rows_end(w);
        free(text);
        rope_spec_free(&spec);
    }
}

/* ---- what public code disagrees on, measured ---- */

typedef struct difference {
    double ratio; /* the larger frequency over the smaller, where the two specs differ most */
    int64_t pair;
    double attention; /* the larger attention factor over the smaller */
} difference;

static difference compare(const char *one, const char *other)
{
    rope_spec specs[2];
    rope_frequencies f[2] = {{0}, {0}};
    rope_error error;
    difference d = {NAN, 0, NAN};
    const char *texts[] = {one, other};
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        rope_spec_init(&specs[i]);
        ok = ok && rope_spec_parse(texts[i], &specs[i], &error) &&
             rope_spec_resolve(&specs[i], ROPE_TRUTH_EXACT, &f[i], &error);
    }
    for (int64_t i = 0; ok && i < f[0].pairs && i < f[1].pairs; i++) {
        double ratio = f[0].hi[i] / f[1].hi[i];
        ratio = ratio < 1 ? 1 / ratio : ratio;
        if (i == 0 || ratio > d.ratio)
            d = (difference){ratio, i, NAN};
    }
    if (ok)
        d.attention = fmax(f[0].attention_factor / f[1].attention_factor,
                           f[1].attention_factor / f[0].attention_factor);
    for (int i = 0; i < 2; i++) {
        rope_frequencies_free(&f[i]);
        rope_spec_free(&specs[i]);
    }
    return d;
}

#define D128 "head_dim=128,base=10000,pairing=half,"

/* A sentence, and the two specs whose largest difference ends it. */
static const struct {
    rope_scaling scaling;
    const char *sentence, *one, *other;
    bool attention; /* compares attention factors */
} disagreements[] = {
    {ROPE_SCALING_NTK,
     "two public definitions go by this name: the base's (bloc97) and theta_i s^(-2(i+1)/d) (Su), "
     "ntk-su here; for d 128, s 4 they differ by",
     D128 "scaling=ntk,factor=4", D128 "scaling=ntk-su,factor=4", false},
    {ROPE_SCALING_NTK_SU,
     "see ntk: the other definition keeps pair 0; for d 128, s 4 they differ by",
     D128 "scaling=ntk-su,factor=4", D128 "scaling=ntk,factor=4", false},
    {ROPE_SCALING_DYNAMIC,
     "Hugging Face follows the sequence's length; vLLM's tables take the largest length at once: "
     "for d 128, s 4, L 4096 at length 8192 they differ by",
     D128 "scaling=dynamic,factor=4,original=4096,length=8192",
     D128 "scaling=dynamic,factor=4,original=4096,length=16384", false},
    {ROPE_SCALING_YARN,
     "the paper ramps over rotations, released code over pair numbers (this): for d 128, base 1e4, "
     "L 4096, s 16 they differ by",
     D128 "scaling=yarn,factor=16,original=4096", D128 "scaling=yarn-paper,factor=16,original=4096",
     false},
    {ROPE_SCALING_YARN,
     "ends of the ramp rounded to whole pairs or not (truncate=0, gpt-oss): for gpt-oss they "
     "differ",
     "gpt-oss-20b", "gpt-oss-20b,truncate=1", false},
    {ROPE_SCALING_YARN,
     "A is the ratio of the magnitudes of mscale and mscale_all_dim where both are given "
     "(DeepSeek), "
     "other code keeps the numerator alone: for s 40 and 1, 1 they differ by",
     D128 "scaling=yarn,factor=40,original=4096,mscale=1,mscale_all_dim=1",
     D128 "scaling=yarn,factor=40,original=4096", true},
    {ROPE_SCALING_YARN_PAPER, "see yarn: for d 128, base 1e4, L 4096, s 16 they differ by",
     D128 "scaling=yarn-paper,factor=16,original=4096", D128 "scaling=yarn,factor=16,original=4096",
     false},
    {ROPE_SCALING_LONGROPE,
     "the factor list follows the sequence's length in Hugging Face (this: at L short, past it "
     "long), the allocated length in vLLM and llama.cpp: for Phi-3.5-mini below 4096 they differ "
     "by",
     "phi-3.5-mini", "phi-3.5-mini,length=4097", false},
    {ROPE_SCALING_PROPORTIONAL,
     "a share of the frequencies of head_dim (this) is not partial rotary over the share: for "
     "head_dim 512, base 1e6, share 1/4 their first 64 frequencies differ by",
     "head_dim=512,base=1000000,pairing=half,scaling=proportional,share=0.25",
     "head_dim=512,rotary_dim=128,base=1000000,pairing=half", false},
    {ROPE_SCALING_LINEAR,
     "some early code put the factor inside the power, (s base)^(-2i/d): for d 128, s 16 they "
     "differ",
     D128 "scaling=linear,factor=16", "head_dim=128,base=160000,pairing=half", false},
};

static void list_disagreement(rows_writer *w, uint32_t scaling)
{
    char text[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof disagreements / sizeof disagreements[0]; i++) {
        if (disagreements[i].scaling != scaling || used >= sizeof text)
            continue;
        difference d = compare(disagreements[i].one, disagreements[i].other);
        const char *separator = used != 0 ? "; " : "";
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 disagreements[i].attention ? "%s%s %.5gx" : "%s%s up to %.4gx",
                                 separator, disagreements[i].sentence,
                                 disagreements[i].attention ? d.attention : d.ratio);
        if (!disagreements[i].attention && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " (pair %lld)",
                                     (long long)d.pair);
    }
    rows_text(w, text);
}

void list_scalings(rows_writer *w)
{
    for (uint32_t scaling = 0; rope_scaling_name(scaling) != NULL; scaling++) {
        const rope_scaling_rule *rule = rope_scaling_rule_of(scaling);
        char keys[256] = "";
        size_t used = 0;
        for (int key = 0; key < ROPE_KEYS_COUNT && used < sizeof keys; key++) {
            uint32_t bit = UINT32_C(1) << key;
            if ((rule->needs | rule->takes) & bit)
                used += (size_t)snprintf(keys + used, sizeof keys - used,
                                         rule->needs & bit ? "%s%s" : "%s[%s]", used ? " " : "",
                                         rope_keys[key].name);
        }
        rows_text(w, rope_scaling_name(scaling));
        rows_text(w, rule->formula);
        rows_text(w, keys);
        list_disagreement(w, scaling);
        rows_end(w);
    }
}
