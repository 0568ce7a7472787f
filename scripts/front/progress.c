#include <time.h>
#include <unistd.h>

#include "scripts/front/front.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void front_progress_begin(front_progress *p, const char *label, double total)
{
    *p = (front_progress){
        .label = label, .total = total, .started = now(), .terminal = isatty(STDERR_FILENO) != 0};
}

void front_progress_update(front_progress *p, double done)
{
    double elapsed = now() - p->started;
    double pause = p->terminal ? 0.2 : 60;
    if (elapsed < 2 || elapsed - p->shown < pause || !(done > 0) || !(p->total > 0))
        return;
    p->shown = elapsed;
    double share = done < p->total ? done / p->total : 1;
    double left = elapsed / share - elapsed;
    if (!p->terminal) {
        fprintf(stderr, "%s: %.0f %%, about %.0f s left\n", p->label, 100 * share, left);
        return;
    }
    int filled = (int)(30 * share);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%, about %.0f s left ", p->label, filled,
            "##############################", 30 - filled, "", 100 * share, left);
}

void front_progress_end(front_progress *p)
{
    if (p->terminal && p->shown > 0)
        fprintf(stderr, "\r%*s\r", 79, "");
}
