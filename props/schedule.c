#include <math.h>

#include "props/run.h"

/* By the units of its kernel that were started: none, infinite; none has ended yet, 0. */
static double expected_seconds(const prop_unit *units, const bool *started, int count, int unit)
{
    double seconds = INFINITY;
    for (int i = 0; i < count; i++)
        if (started[i] && units[i].kernel == units[unit].kernel)
            seconds = fmax(isinf(seconds) ? 0 : seconds, units[i].cpu_seconds);
    return seconds;
}

int prop_next_unit(const prop_unit *units, const bool *started, int count)
{
    int next = -1;
    double longest = -1;
    for (int i = 0; i < count; i++) {
        double seconds = started[i] ? -1 : expected_seconds(units, started, count, i);
        if (seconds > longest) {
            longest = seconds;
            next = i;
        }
    }
    return next;
}
