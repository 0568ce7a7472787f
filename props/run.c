#include "props/run_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "props/case.h"
#include "scripts/front/front.h"

/* A kernel that crashes everywhere is not run to the end. */
enum { MOST_CRASHES = 60, MOST_HANGS = 3 };

int prop_run_properties(void)
{
    size_t count;
    prop_properties(&count);
    return (int)count;
}

prop_finding *prop_unit_finding(const prop_unit *unit, int entry, int property)
{
    return &unit->findings[entry * prop_run_properties() + property];
}

static size_t findings_bytes(const prop_unit *unit)
{
    return (size_t)(unit->suite->count * prop_run_properties()) * sizeof *unit->findings;
}

void prop_unit_free(prop_unit *unit)
{
    if (unit->findings != NULL)
        prop_unshare(unit->findings, findings_bytes(unit));
    unit->findings = NULL;
}

bool prop_sheet_failed(const prop_sheet *sheet, const char **reason)
{
    *reason = sheet->failed      ? sheet->reason
              : sheet->strayed   ? sheet->stray
              : sheet->disturbed ? sheet->disturbance
                                 : "";
    return sheet->failed || sheet->strayed || sheet->disturbed;
}

prop_subject prop_run_subject(const prop_unit *unit, int entry)
{
    prop_subject s = prop_suite_subject(unit->suite, entry, unit->kernel, unit->pairing,
                                        unit->dtype, unit->seed);
    s.partner = unit->partner;
    return s;
}

bool prop_unit_case(const prop_unit *unit, int entry, int property, int64_t index,
                    prop_subject *subject, prop_case *c)
{
    size_t count;
    *subject = prop_run_subject(unit, entry);
    return prop_properties(&count)[property]->generate(subject, index, c);
}

/* Books how a child ended. Returns the finding to go on with, or -1 when all is done. */
static int book(prop_unit *unit, const prop_end *end)
{
    unit->cpu_seconds += end->cpu_seconds;
    if (end->outcome == PROP_FINISHED)
        return -1;
    char how[160];
    prop_end_text(end, how, sizeof how);
    int count = unit->suite->count * prop_run_properties(), at = 0;
    while (at < count && unit->findings[at].state != PROP_RUNNING)
        at++;
    if (at == count) { /* between two properties: charge the first, so that it cannot be missed */
        at = 0;
        unit->gave_up = true;
    }
    prop_finding *f = &unit->findings[at];
    f->sheet.failed = false; /* the crash says more than what was found before */
    prop_fail(&f->sheet, "%s", how);
    f->failing = f->current;
    f->crashed = true;
    f->state = PROP_DONE;
    unit->crashes++;
    unit->hangs += end->outcome == PROP_TIME;
    unit->gave_up |= unit->crashes >= MOST_CRASHES || unit->hangs >= MOST_HANGS;
    int entry = at / prop_run_properties(), property = at % prop_run_properties();
    return unit->gave_up ? -1 : prop_run_place(unit, entry) * prop_run_properties() + property + 1;
}

static bool start_chain(prop_child *child, prop_chain *w, rope_error *error)
{
    prop_limits limits = prop_limits_default();
    child->owner = w;
    if (w->unit == NULL)
        return prop_start(child, w->errand->body, w->errand->context, &limits, error);
    /* Once it has hung, it need not be waited for as long. */
    if (w->unit->hangs > 0)
        limits.cpu_seconds /= 4;
    return prop_start(child, prop_run_work, w, &limits, error);
}

/* Whether a chain is done. */
static bool end_chain(prop_chain *w, const prop_end *end)
{
    if (w->unit != NULL)
        return (w->start = book(w->unit, end)) < 0;
    w->errand->end = *end;
    return true;
}

bool prop_run(prop_unit *units, int unit_count, prop_errand *errands, int errand_count, int jobs,
              const char *label, rope_error *error)
{
    int count = unit_count + errand_count, begun = 0, done = 0;
    prop_child *children = calloc((size_t)jobs, sizeof *children);
    prop_chain *chains = calloc((size_t)count + 1, sizeof *chains);
    bool *started = calloc((size_t)unit_count + 1, sizeof *started);
    bool good = (children != NULL && chains != NULL && started != NULL) ||
                rope_fail(error, "out of memory");
    for (int i = 0; good && i < unit_count; i++) {
        chains[i].unit = &units[i];
        units[i].findings = prop_share(findings_bytes(&units[i]));
        good = units[i].findings != NULL || rope_fail(error, "out of memory");
    }
    for (int i = unit_count; good && i < count; i++)
        chains[i].errand = &errands[i - unit_count];
    front_progress progress;
    front_progress_begin(&progress, label, count);
    while (good && done < count) {
        for (int j = 0; good && j < jobs; j++) {
            prop_end end;
            if (children[j].pid == 0 && begun < count) {
                int unit = prop_next_unit(units, started, unit_count);
                if (unit >= 0)
                    started[unit] = true;
                good = start_chain(&children[j], &chains[unit >= 0 ? unit : begun], error);
                begun++;
            }
            if (!good || children[j].pid == 0 || !prop_poll(&children[j], &end))
                continue;
            prop_chain *w = children[j].owner;
            if (end_chain(w, &end))
                done++;
            else
                good = start_chain(&children[j], w, error);
        }
        front_progress_update(&progress, done);
        if (done < count && good)
            prop_nap();
    }
    front_progress_end(&progress);
    for (int j = 0; children != NULL && j < jobs; j++)
        prop_stop(&children[j]);
    free(children);
    free(chains);
    free(started);
    return good;
}

typedef struct {
    const prop_subject *s;
    const prop_case *c;
    prop_sheet *sheet;
} trial;

static int judge_one(void *context)
{
    const trial *t = context;
    t->c->property->judge(t->s, t->c, t->sheet);
    return 0;
}

bool prop_trial(const prop_subject *s, const prop_case *c, prop_sheet *sheet, rope_error *error)
{
    prop_sheet *shared = prop_share(sizeof *shared);
    if (shared == NULL)
        return rope_fail(error, "out of memory");
    trial t = {s, c, shared};
    prop_limits limits = prop_limits_default();
    prop_end end;
    bool good = prop_isolate(judge_one, &t, &limits, &end, error);
    if (good && end.outcome != PROP_FINISHED) {
        char how[160];
        prop_end_text(&end, how, sizeof how);
        shared->failed = false;
        prop_fail(shared, "%s", how);
    }
    *sheet = *shared;
    prop_unshare(shared, sizeof *shared);
    return good;
}
