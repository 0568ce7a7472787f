/* The way through a dump: read ahead in units of bounded size, every unit shared out among threads
 * by pairs and by rows. Units and groups depend on the dump alone, so results do not depend on how
 * many threads there are. */
#ifndef PROPS_DUMP_PASS_H
#define PROPS_DUMP_PASS_H

#include "props/dump.h"
#include "props/dump_rows.h"
#include "props/dump_stats.h"

/* Called now and then with the share done, 0..1; may be NULL. */
typedef void prop_progress(void *context, double done);

typedef struct prop_pass prop_pass;

/* dump, o and model stay the caller's, and no one else's until free; jobs: threads, >= 1. NULL with
 * a line: out of memory. */
prop_pass *prop_pass_new(prop_dump *dump, oracle *o, const prop_model *model, int jobs,
                         rope_error *error);
void prop_pass_free(prop_pass *p);

/* Every token to the judge and the rows' counts, and to the exact explanation. Once that is
 * refuted, *computed is set up (angles: bits of prop_angle; 0 = none) and fed from the unit at hand
 * on; the units before are read again for it, unless it is refuted by then too. It stays NULL where
 * `exact` explains the dump. False with a line: unreadable, out of memory. */
bool prop_pass_run(prop_pass *p, prop_judge *judge, prop_stats *rows, prop_explanation *exact,
                   uint32_t angles, prop_explanation **computed, prop_progress *progress,
                   void *context, rope_error *error);

#endif
