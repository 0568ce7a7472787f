#include "props/certify_select.h"

#include <stdlib.h>
#include <string.h>

#include "impl/registry.h"

static const char *const default_specs[] = {"llama-2", "llama-3.1", "qwen3", "gpt-oss",
                                            "deepseek-v3"};
enum { DEFAULT_SPECS = sizeof default_specs / sizeof default_specs[0] };

static bool append(certify_selection *s, const rope_header *header, const char *path,
                   rope_error *error)
{
    const rope_kernel *kernel = (const rope_kernel *)header;
    for (int i = 0; i < s->kernel_count; i++)
        if (s->kernels[i] == kernel)
            return rope_fail(error, "kernel %s given twice", kernel->name);
    if (s->kernel_count == CERTIFY_KERNELS)
        return rope_fail(error, "more than %d kernels", CERTIFY_KERNELS);
    s->paths[s->kernel_count] = path;
    s->kernels[s->kernel_count++] = kernel;
    return true;
}

static bool add_kernel(const char *name, void *context, rope_error *error)
{
    certify_selection *s = context;
    const rope_plugin *from = NULL;
    const rope_header *header = rope_plugins_find(s->plugins.items, s->plugins.count, name, &from);
    if (header == NULL) {
        const rope_kernel *kernel = rope_registry_find(name);
        header = kernel != NULL ? &kernel->header : NULL;
        from = NULL;
    }
    if (header == NULL || header->kind != ROPE_ROTATION)
        return rope_fail(error, "unknown kernel '%s', see `tightrope list kernels`", name);
    return append(s, header, from != NULL ? from->path : NULL, error);
}

static bool add_dtype(const char *name, void *context, rope_error *error)
{
    certify_selection *s = context;
    int dtype = rope_dtype_from_name(name);
    if (strcmp(name, "all") == 0)
        s->dtypes = 0xf;
    else if (dtype >= 0)
        s->dtypes |= 1u << dtype;
    else
        return rope_fail(error, "unknown dtype '%s', expected f32, f16, bf16, f64 or all", name);
    return true;
}

static bool append_all(certify_selection *s, const rope_header *const *all, size_t count,
                       const char *path, rope_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (all[i]->kind == ROPE_ROTATION && !append(s, all[i], path, error))
            return false;
    return true;
}

static bool choose_kernels(certify_selection *s, const char *kernels, rope_error *error)
{
    if (kernels != NULL)
        return front_split(kernels, add_kernel, s, error);
    s->all_kernels = true;
    size_t count;
    const rope_header *const *all = rope_registry(&count);
    if (s->plugins.count == 0)
        return append_all(s, all, count, NULL, error);
    for (size_t i = 0; i < s->plugins.count; i++) {
        const rope_plugin *p = &s->plugins.items[i];
        if (!append_all(s, p->kernels, p->count, p->path, error))
            return false;
    }
    return s->kernel_count > 0 || rope_fail(error, "the plug-ins hold no rotation kernel");
}

static bool choose_specs(certify_selection *s, const front_values *specs, rope_error *error)
{
    int count = specs->count > 0 ? specs->count : DEFAULT_SPECS;
    if (count > CERTIFY_SPECS)
        return rope_fail(error, "more than %d specs", CERTIFY_SPECS);
    for (int i = 0; i < count; i++) {
        rope_spec *given = &s->specs[i][0], *other = &s->specs[i][1];
        s->spec_texts[i] = specs->count > 0 ? specs->items[i] : default_specs[i];
        rope_spec_init(given);
        rope_spec_init(other);
        s->spec_count = i + 1;
        if (!rope_spec_parse(s->spec_texts[i], given, error))
            return false;
        if (!rope_spec_copy(given, other))
            return rope_fail(error, "out of memory");
        other->pairing = given->pairing == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
        int length = rope_spec_format(other, NULL, 0);
        s->turned_texts[i] = length >= 0 ? malloc((size_t)length + 1) : NULL;
        if (s->turned_texts[i] == NULL)
            return rope_fail(error, "out of memory");
        rope_spec_format(other, s->turned_texts[i], (size_t)length + 1);
    }
    return true;
}

const char *certify_select_text(const certify_selection *s, int spec,
                                const certify_subject *subject)
{
    return subject->spec == &s->specs[spec][1] ? s->turned_texts[spec] : s->spec_texts[spec];
}

bool certify_select(certify_selection *s, const char *kernels, const front_values *plugins,
                    const front_values *specs, const char *dtypes, rope_error *error)
{
    *s = (certify_selection){0};
    return prop_plugins_load(plugins, &s->plugins, error) && choose_kernels(s, kernels, error) &&
           (dtypes == NULL || front_split(dtypes, add_dtype, s, error)) &&
           choose_specs(s, specs, error);
}

void certify_select_free(certify_selection *s)
{
    prop_plugins_free(&s->plugins);
    for (int i = 0; i < s->spec_count; i++) {
        for (int k = 0; k < 2; k++)
            rope_spec_free(&s->specs[i][k]);
        free(s->turned_texts[i]);
    }
}

/* The dtypes of a kernel that are meant: those asked for that it takes, or f32, or its first. */
static uint32_t dtypes_of(const certify_selection *s, const rope_kernel *kernel)
{
    if (s->dtypes != 0)
        return kernel->dtypes & s->dtypes;
    return kernel->dtypes & 1u << ROPE_F32 ? 1u << ROPE_F32
                                           : kernel->dtypes & (~kernel->dtypes + 1);
}

bool certify_select_single(const certify_selection *s)
{
    uint32_t dtypes = s->kernel_count == 1 ? dtypes_of(s, s->kernels[0]) : 0;
    return s->kernel_count == 1 && s->spec_count == 1 && (dtypes & (dtypes - 1)) == 0;
}

bool certify_select_subjects(
    const certify_selection *s, int spec, rope_truth truth, int64_t position,
    void (*skip)(void *context, const char *spec, const rope_error *reason), void *context,
    certify_subject *subjects, int *count, rope_error *error)
{
    *count = 0;
    for (int k = 0; k < s->kernel_count; k++) {
        const rope_kernel *kernel = s->kernels[k];
        uint32_t dtypes = dtypes_of(s, kernel);
        bool turn = s->all_kernels && !(kernel->pairings & 1u << s->specs[spec][0].pairing);
        if (dtypes == 0 && !s->all_kernels)
            return rope_fail(error, "kernel %s takes none of the dtypes asked for", kernel->name);
        for (uint32_t dtype = 0; dtype < 4; dtype++) {
            certify_subject subject = {kernel, s->paths[k], &s->specs[spec][turn], dtype};
            rope_error reason;
            if (!(dtypes & 1u << dtype))
                continue;
            if (*count == CERTIFY_SUBJECTS)
                return rope_fail(error, "more than %d kernels and dtypes", CERTIFY_SUBJECTS);
            if (certify_takes(&subject, truth, position, position, &reason))
                subjects[(*count)++] = subject;
            else if (s->all_kernels)
                skip(context, s->spec_texts[spec], &reason);
            else {
                *error = reason;
                return false;
            }
        }
    }
    return true;
}
