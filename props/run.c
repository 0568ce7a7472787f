#include "props/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "props/bands.h"
#include "props/case.h"
#include "scripts/front/front.h"

/* A kernel that crashes everywhere is not run to the end. */
enum { MOST_CRASHES = 60, MOST_HANGS = 3 };

static int property_count(void)
{
    size_t count;
    prop_properties(&count);
    return (int)count;
}

prop_finding *prop_unit_finding(const prop_unit *unit, int entry, int property)
{
    return &unit->findings[entry * property_count() + property];
}

static size_t findings_bytes(const prop_unit *unit)
{
    return (size_t)(unit->suite->count * property_count()) * sizeof *unit->findings;
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

static prop_subject subject_of(const prop_unit *unit, int entry)
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
    *subject = subject_of(unit, entry);
    return prop_properties(&count)[property]->generate(subject, index, c);
}

/* ---- inside the child ---- */

/* Positions that were checked, to count the distinct ones. */
typedef struct {
    int64_t *values;
    size_t count, capacity;
} collection;

static void collect(collection *all, const prop_case *c)
{
    size_t more = (size_t)(c->lists * c->x.tokens * c->axes);
    if (all->count + more > all->capacity) {
        size_t capacity = 2 * (all->count + more);
        int64_t *values = realloc(all->values, capacity * sizeof *values);
        if (values == NULL)
            return;
        all->values = values;
        all->capacity = capacity;
    }
    memcpy(all->values + all->count, c->positions, more * sizeof *all->values);
    all->count += more;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void count_distinct(collection *all, bool banded, prop_sheet *sheet)
{
    if (all->count > 0)
        qsort(all->values, all->count, sizeof *all->values, ascending);
    for (size_t i = 0; i < all->count; i++)
        if (i == 0 || all->values[i] != all->values[i - 1])
            sheet->bands[banded ? prop_band(all->values[i]) : 0].positions++;
    all->count = 0;
}

static void work_cases(const prop_subject *s, const prop_property *p, prop_finding *f,
                       collection *all, bool hasty)
{
    for (int64_t i = 0; i < f->cases && !f->sheet.refused; i++) {
        prop_case c = {0};
        f->current = i;
        if (!p->generate(s, i, &c)) {
            prop_fail(&f->sheet, "internal: out of memory");
            break;
        }
        prop_sheet *sheet = &f->sheet;
        bool failed = sheet->failed, strayed = sheet->strayed, disturbed = sheet->disturbed;
        p->judge(s, &c, sheet);
        sheet->cases++;
        if (!sheet->refused)
            collect(all, &c);
        prop_case_free(&c);
        if (sheet->failed && !failed)
            f->failing = i;
        if (sheet->strayed && !strayed)
            f->stray_case = i;
        if (sheet->disturbed && !disturbed)
            f->disturbed_case = i;
        if (hasty && sheet->failed)
            break;
        prop_beat();
    }
}

static void work_property(const prop_subject *s, const prop_property *p, prop_finding *f,
                          bool hasty)
{
    static collection all;
    f->cases = p->every_call ? 0 : p->count(s);
    f->failing = f->stray_case = f->disturbed_case = -1;
    if (f->cases == 0)
        return;
    f->state = PROP_RUNNING;
    work_cases(s, p, f, &all, hasty);
    prop_sheet *sheet = &f->sheet;
    count_distinct(&all, p == &prop_contract_property && s->weight == PROP_MAIN, sheet);
    if (!sheet->failed && !sheet->refused && !sheet->idle &&
        (sheet->made != sheet->expected || sheet->made == 0))
        prop_fail(sheet, "internal: %lld comparisons were made, %lld expected",
                  (long long)sheet->made, (long long)sheet->expected);
    f->state = PROP_DONE;
}

/* A mutant meets the main spec, which costs most, after the others: most are found out by then. */
static int entry_at(const prop_unit *unit, int place)
{
    return unit->hasty ? (place + 1) % unit->suite->count : place;
}

static int place_of(const prop_unit *unit, int entry)
{
    return unit->hasty ? (entry + unit->suite->count - 1) % unit->suite->count : entry;
}

/* What has been found of a mutant so far. */
typedef struct {
    bool anything, by[64]; /* by property */
} kills;

static void add_kills(kills *k, const prop_finding *f, int property)
{
    const char *reason;
    k->anything |= prop_sheet_failed(&f->sheet, &reason);
    k->by[property] |= f->sheet.failed;
}

static kills kills_before(const prop_unit *unit)
{
    kills k = {0};
    for (int e = 0; e < unit->suite->count; e++)
        for (int p = 0; p < property_count(); p++)
            if (prop_unit_finding(unit, e, p)->state != PROP_PENDING)
                add_kills(&k, prop_unit_finding(unit, e, p), p);
    return k;
}

typedef struct {
    prop_unit *unit; /* NULL: an errand */
    prop_errand *errand;
    int start; /* of a unit: first finding to work on */
} chain;

static int work(void *context)
{
    const chain *w = context;
    const prop_unit *unit = w->unit;
    size_t properties;
    const prop_property *const *list = prop_properties(&properties);
    kills found = kills_before(unit);
    for (int k = w->start; k < unit->suite->count * (int)properties; k++) {
        int entry = entry_at(unit, k / (int)properties), property = k % (int)properties;
        prop_subject s = subject_of(unit, entry);
        if (s.spec_text == NULL)
            continue;
        /* What refuses a spec refuses it for all properties. */
        if (property > 0 && prop_unit_finding(unit, entry, 0)->sheet.refused)
            continue;
        if (unit->hasty && found.anything) {
            if (s.weight == PROP_LIGHT || found.by[property])
                continue;
            s.weight = PROP_USUAL;
        }
        prop_finding *f = prop_unit_finding(unit, entry, property);
        work_property(&s, list[property], f, unit->hasty);
        add_kills(&found, f, property);
        prop_beat();
    }
    return 0;
}

/* ---- inside the parent ---- */

/* Books how a child ended. Returns the finding to go on with, or -1 when all is done. */
static int book(prop_unit *unit, const prop_end *end)
{
    unit->cpu_seconds += end->cpu_seconds;
    if (end->outcome == PROP_FINISHED)
        return -1;
    char how[160];
    prop_end_text(end, how, sizeof how);
    int count = unit->suite->count * property_count(), at = 0;
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
    int entry = at / property_count(), property = at % property_count();
    return unit->gave_up ? -1 : place_of(unit, entry) * property_count() + property + 1;
}

static bool start_chain(prop_child *child, chain *w, rope_error *error)
{
    prop_limits limits = prop_limits_default();
    child->owner = w;
    if (w->unit == NULL)
        return prop_start(child, w->errand->body, w->errand->context, &limits, error);
    /* Once it has hung, it need not be waited for as long. */
    if (w->unit->hangs > 0)
        limits.cpu_seconds /= 4;
    return prop_start(child, work, w, &limits, error);
}

/* Whether a chain is done. */
static bool end_chain(chain *w, const prop_end *end)
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
    chain *chains = calloc((size_t)count + 1, sizeof *chains);
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
            chain *w = children[j].owner;
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
