#include "impl/spec/presets.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const rope_preset presets[] = {
#define PRESET(name, trained, spec, source) {name, spec, trained, source},
#include "impl/spec/presets.def"
#undef PRESET
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

const rope_preset *rope_presets(size_t *count)
{
    *count = PRESETS;
    return presets;
}

const rope_preset *rope_preset_find(const char *name)
{
    for (size_t i = 0; i < PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

/* Levenshtein distance of the first 63 characters of each. */
static unsigned distance(const char *a, const char *b)
{
    enum { LIMIT = 63 };
    size_t m = strnlen(a, LIMIT), n = strnlen(b, LIMIT);
    unsigned row[LIMIT + 1];
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            unsigned least = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[n];
}

void rope_presets_nearest(const char *name, char *text, size_t size)
{
    size_t used = 0;
    uint8_t shown[PRESETS] = {0};
    text[0] = '\0';
    for (int rank = 0; rank < 3; rank++) {
        size_t best = PRESETS;
        for (size_t i = 0; i < PRESETS; i++)
            if (!shown[i] && (best == PRESETS ||
                              distance(name, presets[i].name) < distance(name, presets[best].name)))
                best = i;
        if (best == PRESETS || used >= size)
            return;
        shown[best] = 1;
        used += (size_t)snprintf(text + used, size - used, "%s%s", rank == 0 ? "" : ", ",
                                 presets[best].name);
    }
}
