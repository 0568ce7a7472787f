/* What a child process does of a unit. */
#include <stdlib.h>
#include <string.h>

#include "props/bands.h"
#include "props/case.h"
#include "props/run_internal.h"

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

int prop_run_place(const prop_unit *unit, int entry)
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
        for (int p = 0; p < prop_run_properties(); p++)
            if (prop_unit_finding(unit, e, p)->state != PROP_PENDING)
                add_kills(&k, prop_unit_finding(unit, e, p), p);
    return k;
}

int prop_run_work(void *context)
{
    const prop_chain *w = context;
    const prop_unit *unit = w->unit;
    size_t properties;
    const prop_property *const *list = prop_properties(&properties);
    kills found = kills_before(unit);
    for (int k = w->start; k < unit->suite->count * (int)properties; k++) {
        int entry = entry_at(unit, k / (int)properties), property = k % (int)properties;
        prop_subject s = prop_run_subject(unit, entry);
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
