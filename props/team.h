/* A few threads that share the tasks of one phase after the other. For our own code alone: kernels
 * under test run in forked children (isolate.h), from a process that has no team at that time. */
#ifndef PROPS_TEAM_H
#define PROPS_TEAM_H

typedef struct prop_team prop_team;

/* Tasks must not depend on which thread runs them, nor on their order. */
typedef void prop_task(void *context, int task);

/* The caller and jobs - 1 threads, fewer where the system refuses more. NULL: out of memory. */
prop_team *prop_team_new(int jobs);
void prop_team_free(prop_team *team);

/* Runs task(context, 0) .. task(context, count - 1), each once; returns when all are done. */
void prop_team_run(prop_team *team, prop_task *task, void *context, int count);

#endif
