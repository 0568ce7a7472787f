/* Failures as commands that repeat them, each made small once for all outputs. */
#include "props/replay.h"

#include <stdlib.h>
#include <string.h>

#include "props/case.h"
#include "props/shrink.h"

/* Candidates that a smaller counter-example is worth; and how many failures are made small that no
 * line prints: a kernel that is wrong throughout has hundreds of rows, and each costs some forks.
 */
enum { MOST_TRIALS = 400, MOST_ROWS = 50 };

typedef struct entry {
    const prop_unit *unit;
    int spec, property;
    int64_t index;
    char *line;
    prop_sheet sheet;
    struct entry *next;
} entry;

struct prop_replays {
    entry *first;
    int rows_left; /* to make small */
};

prop_replays *prop_replays_new(void)
{
    prop_replays *replays = calloc(1, sizeof *replays);
    if (replays != NULL)
        replays->rows_left = MOST_ROWS;
    return replays;
}

void prop_replays_free(prop_replays *replays)
{
    for (entry *e = replays != NULL ? replays->first : NULL, *next; e != NULL; e = next) {
        next = e->next;
        free(e->line);
        free(e);
    }
    free(replays);
}

static char *line_of(const prop_verification *v, const prop_unit *unit, const prop_subject *s,
                     const prop_case *c)
{
    char *line = NULL, *text = prop_case_format(s, c);
    if (text != NULL && asprintf(&line, "tightrope verify%s --kernel %s --replay '%s'", v->plugins,
                                 unit->kernel->name, text) < 0)
        line = NULL;
    free(text);
    return line;
}

static entry *make(const prop_verification *v, const prop_unit *unit, int spec, int property,
                   int64_t index, bool shrinks)
{
    prop_subject s;
    prop_case c = {0};
    if (index < 0 || !prop_unit_case(unit, spec, property, index, &s, &c))
        return NULL;
    entry *e = calloc(1, sizeof *e);
    if (e != NULL) {
        *e = (entry){.unit = unit, .spec = spec, .property = property, .index = index};
        if (shrinks)
            prop_shrink(&s, &c, MOST_TRIALS, &e->sheet);
        e->line = line_of(v, unit, &s, &c);
    }
    prop_case_free(&c);
    return e;
}

static const entry *get(const prop_verification *v, const prop_unit *unit, int spec, int property,
                        int64_t index, bool printed)
{
    prop_replays *all = v->replays;
    for (const entry *e = all->first; e != NULL; e = e->next)
        if (e->unit == unit && e->spec == spec && e->property == property && e->index == index)
            return e;
    bool shrinks = printed || all->rows_left > 0;
    all->rows_left -= shrinks && !printed;
    entry *e = make(v, unit, spec, property, index, shrinks);
    if (e != NULL) {
        e->next = all->first;
        all->first = e;
    }
    return e;
}

const char *prop_replay_line(const prop_verification *v, const prop_unit *unit, int spec,
                             int property, int64_t index)
{
    const entry *e = get(v, unit, spec, property, index, false);
    return e != NULL ? e->line : NULL;
}

const char *prop_replay_printed(const prop_verification *v, const prop_line *line,
                                const char **smallest)
{
    const entry *e = line->unit != NULL ? get(v, line->unit, line->entry, line->property_index,
                                              line->failing, true)
                                        : NULL;
    bool other =
        e != NULL && prop_sheet_failed(&e->sheet, smallest) && strcmp(*smallest, line->reason) != 0;
    if (!other)
        *smallest = NULL;
    return e != NULL ? e->line : NULL;
}
