/* Runs properties over kernels in child processes, several at a time. */
#ifndef PROPS_RUN_H
#define PROPS_RUN_H

#include "props/isolate.h"
#include "props/suite.h"

typedef enum prop_state {
    PROP_PENDING = 0, /* not run: nothing to say on this spec, or given up before it */
    PROP_RUNNING = 1, /* begun; still so after the end of its process: that case crashed */
    PROP_DONE = 2,
} prop_state;

/* One property on one spec of a unit. Lives in shared memory. */
typedef struct prop_finding {
    prop_state state;
    int64_t cases;      /* that there are */
    int64_t current;    /* the case at work */
    int64_t failing;    /* first case that failed (state DONE or crashed), -1 = none */
    int64_t stray_case; /* the same for strayed and disturbed */
    int64_t disturbed_case;
    bool crashed; /* the process ended inside: sheet.reason says how */
    prop_sheet sheet;
} prop_finding;

/* What one chain of child processes works through. */
typedef struct prop_unit {
    const rope_kernel *kernel;
    uint32_t pairing;
    rope_dtype dtype;
    uint64_t seed;
    const prop_suite *suite;
    const rope_kernel *partner;
    bool hasty; /* a mutant: a property that has failed once is not run again, and when any has,
                   light specs are left out */
    /* Set by prop_run: */
    prop_finding *findings; /* [suite->count][properties]; shared; prop_unit_free */
    int crashes, hangs;
    double cpu_seconds;
    bool gave_up; /* too many of them: the rest is pending */
} prop_unit;

prop_finding *prop_unit_finding(const prop_unit *unit, int entry, int property);
void prop_unit_free(prop_unit *unit);

/* Which unit to start next, -1 when all have been: one of each kernel first, then the others, those
 * first whose kernel's took longest, so that no long one is left to run alone at the end. */
int prop_next_unit(const prop_unit *units, const bool *started, int count);

/* Anything else that needs a child process, once. */
typedef struct prop_errand {
    prop_body *body;
    void *context;
    prop_end end; /* set by prop_run */
} prop_errand;

/* Runs all units, then the errands (short ones, which fill the time in which the last units leave
 * processors idle), `jobs` processes at a time. False with a line when no child process can be
 * made. */
bool prop_run(prop_unit *units, int unit_count, prop_errand *errands, int errand_count, int jobs,
              const char *label, rope_error *error);

/* The case of a finding, made again. */
bool prop_unit_case(const prop_unit *unit, int entry, int property, int64_t index,
                    prop_subject *subject, struct prop_case *c);

/* Judges one case in a child process: sheet as the judge left it, a crash is a failure. */
bool prop_trial(const prop_subject *s, const struct prop_case *c, prop_sheet *sheet,
                rope_error *error);

/* Whether anything at all failed in a sheet; *reason says what. */
bool prop_sheet_failed(const prop_sheet *sheet, const char **reason);

#endif
