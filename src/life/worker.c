#include "life/worker.h"

#include "base/clock.h"
#include "life/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct start {
        struct crew *crew, *user;
        void (*work)(void *arg);
        void *arg;
};

void crew_init(struct crew *c, void (*free_thing)(struct crew *c))
{
        *c = (struct crew){.owned = true, .free = free_thing};
        pthread_mutex_init(&c->lock, NULL);
        life_init_wake(&c->news);
}

/* Lock held; gives it up. */
static void free_if_last(struct crew *c)
{
        bool last = c->workers == 0 && !c->owned;
        pthread_cond_broadcast(&c->news);
        pthread_mutex_unlock(&c->lock);
        if (!last)
                return;
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->news);
        c->free(c);
}

void crew_part(struct crew *c)
{
        crew_lock(c);
        c->workers--;
        free_if_last(c);
}

static void *run_worker(void *arg)
{
        struct start s = *(struct start *)arg;
        free(arg);
        s.work(s.arg);
        crew_part(s.crew);
        if (s.user)
                crew_part(s.user);
        return NULL;
}

void crew_join(struct crew *c)
{
        crew_lock(c);
        c->workers++;
        crew_unlock(c);
}

/* Of one whose worker has not started: its owner is there. */
static void take_back(struct crew *c)
{
        crew_lock(c);
        c->workers--;
        crew_unlock(c);
}

int crew_start(struct crew *c, void (*work)(void *arg), void *arg)
{
        return crew_start_for(c, NULL, work, arg);
}

int crew_start_for(struct crew *c, struct crew *user, void (*work)(void *arg), void *arg)
{
        pthread_t thread;
        struct start *s = malloc(sizeof(*s));
        if (!s)
                return -ENOMEM;
        *s = (struct start){c, user, work, arg};
        crew_join(c);
        if (user)
                crew_join(user);
        int r = life_start_thread(run_worker, s, &thread);
        if (r == 0) {
                pthread_detach(thread);
                return 0;
        }
        free(s);
        take_back(c);
        if (user)
                take_back(user);
        return r;
}

void crew_lock(struct crew *c)
{
        pthread_mutex_lock(&c->lock);
}

void crew_unlock(struct crew *c)
{
        pthread_mutex_unlock(&c->lock);
}

void crew_request_stop(struct crew *c)
{
        pthread_cond_broadcast(&c->news);
}

bool crew_wait(struct crew *c, int64_t until_ns)
{
        struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        if (until_ns == INT64_MAX)
                return pthread_cond_wait(&c->news, &c->lock) == 0;
        return pthread_cond_timedwait(&c->news, &c->lock, &ts) != ETIMEDOUT;
}

void crew_stop(struct crew *c)
{
        crew_lock(c);
        c->stop = true;
        crew_request_stop(c);
        crew_unlock(c);
}

bool crew_stopping(struct crew *c)
{
        crew_lock(c);
        bool stop = c->stop;
        crew_unlock(c);
        return stop;
}

bool crew_ended(struct crew *c, int64_t patience_ns)
{
        int64_t until = clock_mono_ns() + patience_ns;
        crew_lock(c);
        while (c->workers > 0 && crew_wait(c, until))
                ;
        bool ended = c->workers == 0;
        crew_unlock(c);
        return ended;
}

bool crew_leave(struct crew *c, int64_t patience_ns)
{
        crew_stop(c);
        bool ended = crew_ended(c, patience_ns);
        crew_lock(c);
        c->owned = false;
        free_if_last(c);
        return ended;
}
