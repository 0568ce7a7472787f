#include "bench/goal.h"

#include <math.h>
#include <string.h>

size_t bench_goals_select(bench_goal *goals, size_t count, const char *text)
{
    size_t selected = 0;
    for (size_t i = 0; i < count; i++)
        if (strstr(goals[i].name, text) != NULL)
            goals[selected++] = goals[i];
    return selected;
}

bool bench_goal_met(const bench_goal *g, bench_interval ratio)
{
    return g->at_least ? ratio.high >= g->limit : ratio.low <= g->limit;
}

bool bench_goal_settle(const bench_goal *g, bench_goal_attempt *attempt, void *context,
                       bench_interval *ratio, rope_error *error)
{
    double least = INFINITY;
    *ratio = (bench_interval){NAN, NAN, NAN};
    for (int n = 0; n < 3 && (n == 0 || !bench_goal_met(g, *ratio)); n++) {
        bench_interval now;
        double nanoseconds = INFINITY;
        if (!attempt(context, &now, &nanoseconds, error))
            return false;
        if (nanoseconds < least) {
            least = nanoseconds;
            *ratio = now;
        }
    }
    return true;
}
