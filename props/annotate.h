/* GitHub's workflow commands. */
#ifndef PROPS_ANNOTATE_H
#define PROPS_ANNOTATE_H

#include <stdio.h>

/* Where GITHUB_ACTIONS is set: one error annotation for a kernel's property, with its reason. */
void prop_annotate(const char *kernel, const char *property, const char *reason, FILE *out);

#endif
