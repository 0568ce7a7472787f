/* Kernels from shared objects: `--plugin FILE.so`. */
#ifndef ROPE_PLUGIN_H
#define ROPE_PLUGIN_H

#include <stddef.h>

#include "impl/error.h"
#include "impl/rope.h"

typedef struct rope_plugin {
    const char *path;                  /* as given; the caller's */
    const rope_header *const *kernels; /* [count], each passed rope_kernel_check */
    size_t count;
    char disturbance[640]; /* "" or what loading changed of the floating-point controls; they were
                              put back */
} rope_plugin;

/* Loads a plug-in: a shared object that exports rope_plugin_entry under the name
 * "tightrope_kernels". It is first tried in a child process, so that one that crashes, hangs or
 * exits when loaded is a line here. False with that line: not there, no library, no such symbol,
 * another ABI, a descriptor that is not well formed, two kernels of one name. Never unloaded: plans
 * and descriptors live as long as the process. */
bool rope_plugin_load(const char *path, rope_plugin *plugin, rope_error *error);

/* The kernel of that name in any of the plug-ins, or NULL; *from (may be NULL) is set to its
 * plug-in. */
const rope_header *rope_plugins_find(const rope_plugin *plugins, size_t count, const char *name,
                                     const rope_plugin **from);

#endif
