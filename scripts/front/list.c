/* `tightrope list`: what this build knows. First column = name. */
#include <string.h>

#include "impl/registry.h"
#include "props/encoding.h"
#include "props/mutants.h"
#include "props/property.h"
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

static void list_kernels(rows_writer *w)
{
    size_t count;
    const rope_header *const *kernels = rope_registry(&count);
    uint32_t here = rope_cpu_features();
    for (size_t i = 0; i < count; i++) {
        if (kernels[i]->kind != ROPE_ROTATION)
            continue;
        const rope_kernel *kernel = (const rope_kernel *)kernels[i];
        char text[64];
        rows_text(w, kernel->name);
        bits_text(kernel->pairings, rope_pairing_name, text, sizeof text);
        rows_text(w, text);
        bits_text(kernel->dtypes, rope_dtype_name, text, sizeof text);
        rows_text(w, text);
        rope_cpu_features_text(kernel->cpu_features, text, sizeof text);
        rows_text(w, text);
        rows_text(w, (kernel->cpu_features & ~here) == 0 ? "yes" : "no");
        rows_text(w, kernel->summary);
        rows_end(w);
    }
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

int verb_list(int argc, char **argv)
{
    const char *csv = NULL;
    front_values operands = {0};
    const front_option options[] = {
        {.name = "csv", .argument = "[FILE]", .help = "rows as CSV", .value = &csv}, {0}};
    int status = front_parse(
        argc, argv, "list kernels|presets|properties|mutants|scalings|encodings [--csv[=FILE]]",
        "Lists what this build knows; the first column is the name.", options, &operands);
    if (status != -1)
        return status;
    if (operands.count != 1)
        return front_usage(
            "list",
            "one topic expected: kernels, presets, properties, mutants, scalings or encodings");
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        if (strcmp(topics[i].name, operands.items[0]) == 0) {
            rope_error error;
            rows_writer *w = rows_create(csv != NULL ? csv : "-", topics[i].columns, &error);
            if (w == NULL)
                return front_usage("list", "%s", error.text);
            topics[i].list(w);
            return rows_commit(w, &error) ? FRONT_HOLDS : front_usage("list", "%s", error.text);
        }
    return front_usage(
        "list",
        "unknown topic '%s', expected kernels, presets, properties, mutants, scalings or encodings",
        operands.items[0]);
}
