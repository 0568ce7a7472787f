/* Plug-ins of a verification: loading them, and what loading showed. */
#ifndef PROPS_VERIFY_PLUGINS_H
#define PROPS_VERIFY_PLUGINS_H

#include "impl/plugin.h"
#include "props/verify.h"
#include "scripts/front/front.h"

typedef struct prop_plugins {
    rope_plugin *items;
    size_t count;
    char *words; /* " --plugin 'A.so'", as a replay line needs them; never NULL after loading */
} prop_plugins;

/* Loads all; false with a line at the first that cannot be. */
bool prop_plugins_load(const front_values *paths, prop_plugins *plugins, rope_error *error);
void prop_plugins_free(prop_plugins *plugins); /* the lists; libraries stay loaded */

/* Plug-ins whose loading changed the floating-point controls: a failed line each. NULL out: counts
 * only. */
prop_sum prop_plugins_text(const prop_plugins *plugins, FILE *out);
void prop_plugins_rows(const prop_plugins *plugins, const char *run, rows_writer *w);
prop_sum prop_plugins_junit(const prop_plugins *plugins, FILE *out);

#endif
