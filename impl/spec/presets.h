/* Specs of released models, by name. */
#ifndef ROPE_PRESETS_H
#define ROPE_PRESETS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rope_preset {
    const char *name;
    const char *spec;   /* key=value,... */
    long long trained;  /* longest position count that the released file states */
    const char *layers; /* "all", or which layers are rotated so */
    const char *source; /* where the numbers are published */
    bool lacks_lists;   /* longrope's factors are in the model's own file only */
} rope_preset;

/* The table, count set. */
const rope_preset *rope_presets(size_t *count);

/* The preset of exactly that name, or NULL. */
const rope_preset *rope_preset_find(const char *name);

/* Writes the names nearest to an unknown one, "a, b, c". */
void rope_presets_nearest(const char *name, char *text, size_t size);

#endif
