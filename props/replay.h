/* Failures as commands that repeat them. */
#ifndef PROPS_REPLAY_H
#define PROPS_REPLAY_H

#include "props/verify.h"

/* The commands of a verification, made when first asked for; NULL when memory is out. */
prop_replays *prop_replays_new(void);
void prop_replays_free(prop_replays *replays);

/* The command of the failure that a line names: `tightrope verify ... --replay CASE`, the case made
 * small. *smallest: what is wrong with that one, NULL where the line says so already. NULL: none
 * can be named. Lives as long as v->replays. */
const char *prop_replay_printed(const prop_verification *v, const prop_line *line,
                                const char **smallest);

/* The same of any failure, case `index` of a property on spec `spec` of the suite: that one where
 * it has been asked for, else made less small, and from some number of failures on as it was found.
 */
const char *prop_replay_line(const prop_verification *v, const prop_unit *unit, int spec,
                             int property, int64_t index);

#endif
