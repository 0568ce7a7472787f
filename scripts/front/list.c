/* `tightrope list`: what this build knows. First column = name. */
#include <string.h>

#include "impl/registry.h"
#include "props/encoding.h"
#include "props/mutants.h"
#include "props/property.h"
#include "props/verify_plugins.h"
#include "scripts/front/list_specs.h"
#include "scripts/front/rows.h"
#include "scripts/front/verbs.h"

static void bits_text(uint32_t bits, const char *(*name)(uint32_t), char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < 32; i++)
        if ((bits & 1u << i) && name(i) != NULL && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "+" : "", name(i));
}

/* One kernel; what only rotations have is empty for other kinds. */
static void kernel_row(const rope_header *header, rows_writer *w)
{
    const rope_kernel *r = (const rope_kernel *)header;
    const rope_table_kernel *t = (const rope_table_kernel *)header;
    const rope_bias_kernel *b = (const rope_bias_kernel *)header;
    uint32_t kind = header->kind, here = rope_cpu_features();
    uint32_t dtypes = kind == ROPE_ROTATION    ? r->dtypes
                      : kind == ROPE_TABLE_ADD ? t->dtypes
                                               : b->dtypes;
    uint32_t needs = kind == ROPE_ROTATION    ? r->cpu_features
                     : kind == ROPE_TABLE_ADD ? t->cpu_features
                                              : b->cpu_features;
    char text[64];
    rows_text(w, rope_header_name(header));
    bits_text(kind == ROPE_ROTATION ? r->pairings : 0, rope_pairing_name, text, sizeof text);
    rows_text(w, text);
    bits_text(dtypes, rope_dtype_name, text, sizeof text);
    rows_text(w, text);
    rope_cpu_features_text(needs, text, sizeof text);
    rows_text(w, text);
    rows_text(w, (needs & ~here) == 0 ? "yes" : "no");
    rows_text(w, kind == ROPE_ROTATION    ? r->summary
                 : kind == ROPE_TABLE_ADD ? t->summary
                                          : b->summary);
    rows_end(w);
}

/* The rotations of the registry: `list encodings` has the other kinds. */
static void list_kernels(rows_writer *w)
{
    size_t count;
    const rope_header *const *kernels = rope_registry(&count);
    for (size_t i = 0; i < count; i++)
        if (kernels[i]->kind == ROPE_ROTATION)
            kernel_row(kernels[i], w);
}

/* All kernels of plug-ins, of whatever kind. */
static void list_plugins(const prop_plugins *plugins, rows_writer *w)
{
    for (size_t i = 0; i < plugins->count; i++)
        for (size_t k = 0; k < plugins->items[i].count; k++)
            kernel_row(plugins->items[i].kernels[k], w);
}

static void list_properties(rows_writer *w)
{
    size_t count;
    const prop_property *const *properties = prop_properties(&count);
    for (size_t i = 0; i < count; i++) {
        rows_text(w, properties[i]->name);
        rows_text(w, properties[i]->statement);
        rows_end(w);
    }
    for (const prop_encoding_property *p = prop_encoding_properties; p->name != NULL; p++) {
        rows_text(w, p->name);
        rows_text(w, p->statement);
        rows_end(w);
    }
}

static void list_encodings(rows_writer *w)
{
    static const char *const kinds[] = {"rotation", "table-add", "score-bias"};
    static const char *const enters[] = {"rotates q and k", "added to the embedding",
                                         "added to the scores"};
    rows_text(w, "rope");
    rows_text(w, kinds[ROPE_ROTATION]);
    rows_text(w, enters[ROPE_ROTATION]);
    rows_text(w, "rotation of q and k by position; its kernels: tightrope list kernels");
    rows_end(w);
    size_t count;
    const rope_header *const *kernels = rope_registry(&count);
    for (size_t i = 0; i < count; i++) {
        if (kernels[i]->kind == ROPE_ROTATION)
            continue;
        bool table = kernels[i]->kind == ROPE_TABLE_ADD;
        const rope_table_kernel *t = (const rope_table_kernel *)kernels[i];
        const rope_bias_kernel *b = (const rope_bias_kernel *)kernels[i];
        rows_text(w, table ? t->name : b->name);
        rows_text(w, kinds[kernels[i]->kind]);
        rows_text(w, enters[kernels[i]->kind]);
        rows_text(w, table ? t->summary : b->summary);
        rows_end(w);
    }
}

static void list_mutants(rows_writer *w)
{
    size_t count;
    const prop_mutant *mutants = prop_mutants(&count);
    for (size_t i = 0; i < count; i++) {
        rows_text(w, mutants[i].name);
        rows_text(w, mutants[i].fault_class);
        rows_text(w, mutants[i].original_name);
        rows_text(w, mutants[i].summary);
        rows_end(w);
    }
}

static const struct {
    const char *name, *columns;
    void (*list)(rows_writer *w);
} topics[] = {
    {"presets", LIST_PRESETS_COLUMNS, list_presets},
    {"scalings", LIST_SCALINGS_COLUMNS, list_scalings},
    {"kernels", "name,pairings,dtypes,needs,runs_here,summary", list_kernels},
    {"encodings", "name,kind,enters,summary", list_encodings},
    {"properties", "name,statement", list_properties},
    {"mutants", "name,class,mutates,summary", list_mutants},
};

/* Writes one topic; plug-ins' kernels instead of the registry's where there are plug-ins. */
static int list_topic(size_t topic, const char *csv, const front_values *paths)
{
    rope_error error;
    prop_plugins plugins = {0};
    if (paths->count > 0 && topics[topic].list != list_kernels)
        return front_usage("list", "--plugin has kernels only, expected `list kernels`");
    if (!prop_plugins_load(paths, &plugins, &error)) {
        prop_plugins_free(&plugins);
        return front_usage("list", "%s", error.text);
    }
    rows_writer *w = rows_create(csv != NULL ? csv : "-", topics[topic].columns, &error);
    if (w != NULL && plugins.count > 0)
        list_plugins(&plugins, w);
    else if (w != NULL)
        topics[topic].list(w);
    bool good = w != NULL && rows_commit(w, &error);
    prop_plugins_free(&plugins);
    return good ? FRONT_HOLDS : front_usage("list", "%s", error.text);
}

int verb_list(int argc, char **argv)
{
    const char *csv = NULL;
    front_values operands = {0}, plugins = {0};
    const front_option options[] = {
        {.name = "plugin",
         .argument = "F.so",
         .help = "kernels: those of a shared object; may be repeated",
         .values = &plugins},
        {.name = "csv", .argument = "[FILE]", .help = "rows as CSV", .value = &csv},
        {0}};
    int status = front_parse(argc, argv,
                             "list kernels|presets|properties|mutants|scalings|encodings "
                             "[--plugin F.so] [--csv[=FILE]]",
                             "Lists what this build knows; the first column is the name.", options,
                             &operands);
    if (status != -1)
        return status;
    if (operands.count == 0)
        return front_usage("list", "no topic given, expected `tightrope list kernels`, or presets, "
                                   "properties, mutants, scalings or encodings instead");
    if (operands.count > 1)
        return front_usage("list", "%d topics given, expected one: `tightrope list %s`",
                           operands.count, operands.items[0]);
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        if (strcmp(topics[i].name, operands.items[0]) == 0)
            return list_topic(i, csv, &plugins);
    return front_usage(
        "list",
        "unknown topic '%s', expected kernels, presets, properties, mutants, scalings or encodings",
        operands.items[0]);
}
