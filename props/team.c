#include "props/team.h"

#include <mpfr.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST_JOBS = 256 };

struct prop_team {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    pthread_t threads[MOST_JOBS];
    int thread_count;
    prop_task *task;
    void *context;
    int next, count, running; /* tasks: the first not taken, all, and those at work */
    bool over;
};

/* Takes tasks until none is left; the lock is held on entry and on return. */
static void work(prop_team *t)
{
    while (t->next < t->count) {
        int mine = t->next++;
        t->running++;
        pthread_mutex_unlock(&t->lock);
        t->task(t->context, mine);
        pthread_mutex_lock(&t->lock);
        t->running--;
    }
    if (t->running == 0)
        pthread_cond_signal(&t->ended);
}

static void *member(void *context)
{
    prop_team *t = context;
    pthread_mutex_lock(&t->lock);
    while (!t->over) {
        work(t);
        pthread_cond_wait(&t->begun, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    mpfr_free_cache(); /* constants that MPFR keeps for each thread */
    return NULL;
}

prop_team *prop_team_new(int jobs)
{
    prop_team *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begun, NULL);
    pthread_cond_init(&t->ended, NULL);
    for (int i = 1; i < jobs && i < MOST_JOBS; i++) {
        if (pthread_create(&t->threads[t->thread_count], NULL, member, t) != 0)
            break;
        t->thread_count++;
    }
    return t;
}

void prop_team_free(prop_team *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->thread_count; i++)
        pthread_join(t->threads[i], NULL);
    pthread_cond_destroy(&t->begun);
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void prop_team_run(prop_team *t, prop_task *task, void *context, int count)
{
    pthread_mutex_lock(&t->lock);
    t->task = task;
    t->context = context;
    t->next = 0;
    t->count = count;
    if (count > 1)
        pthread_cond_broadcast(&t->begun);
    work(t);
    while (t->running > 0 || t->next < t->count)
        pthread_cond_wait(&t->ended, &t->lock);
    pthread_mutex_unlock(&t->lock);
}
