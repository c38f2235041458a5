#include "read/join/late.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CLOSE_PATIENCE_NS (100 * NS_PER_MS)
/* Doubled each time: an attempt that hangs leaves a thread behind, and so these stay few. */
#define RETRY_FIRST_NS NS_PER_S
#define RETRY_MOST_NS (86400 * NS_PER_S)

struct source {
        struct late_config late;
        struct source_config config; /* its texts are copies */
        struct source_texts texts;
        int64_t began_ns, due_ns; /* the next tick without a source */

        pthread_mutex_t lock; /* what follows */
        pthread_cond_t news;
        unsigned users;       /* the owner and the thread; the last one frees */
        struct source *inner; /* NULL until it is open; then the owner's */
        struct err err;       /* why the last attempt failed */
        bool over;            /* there is no other attempt */
        bool stop, closing;
};

static void leave(struct source *s)
{
        pthread_mutex_lock(&s->lock);
        bool last = --s->users == 0;
        pthread_cond_broadcast(&s->news);
        pthread_mutex_unlock(&s->lock);
        if (!last)
                return;
        source_free_texts(&s->texts);
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->news);
        free(s);
}

/* Lock held. False when the time is over. */
static bool wait_until(struct source *s, int64_t mono_ns)
{
        struct timespec ts = {mono_ns / NS_PER_S, mono_ns % NS_PER_S};
        return pthread_cond_timedwait(&s->news, &s->lock, &ts) == 0;
}

/* Opens the source without the lock. Whether that was the last attempt. */
static bool try_once(struct source *s)
{
        struct source *inner = NULL;
        struct err err = {0};
        int r = s->late.ops->open(&s->config, &inner, &err);
        pthread_mutex_lock(&s->lock);
        s->err = err;
        s->over = r != ERR_NO_SOURCE || !s->late.keep_trying;
        if (!s->stop) {
                s->inner = inner;
                inner = NULL;
        }
        bool last = s->over || s->stop;
        pthread_cond_broadcast(&s->news);
        pthread_mutex_unlock(&s->lock);
        s->late.ops->close(inner);
        return last;
}

/*
 * The source's helper processes end with the thread that started them (see dcgm_child_start), so
 * it stays as long as the source does.
 */
static void *run(void *arg)
{
        struct source *s = arg;
        for (int64_t pause = RETRY_FIRST_NS; !try_once(s); pause = MIN(pause * 2, RETRY_MOST_NS)) {
                int64_t then = clock_mono_ns() + pause;
                pthread_mutex_lock(&s->lock);
                while (!s->stop && wait_until(s, then))
                        ;
                pthread_mutex_unlock(&s->lock);
        }
        pthread_mutex_lock(&s->lock);
        while (s->inner && !s->closing)
                pthread_cond_wait(&s->news, &s->lock);
        pthread_mutex_unlock(&s->lock);
        leave(s);
        return NULL;
}

static void late_close(struct source *s)
{
        if (!s)
                return;
        int64_t until = clock_mono_ns() + CLOSE_PATIENCE_NS;
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        struct source *inner = s->inner;
        pthread_mutex_unlock(&s->lock);
        s->late.ops->close(inner);
        pthread_mutex_lock(&s->lock);
        s->inner = NULL;
        s->closing = true;
        pthread_cond_broadcast(&s->news);
        while (s->users > 1 && wait_until(s, until))
                ;
        pthread_mutex_unlock(&s->lock);
        leave(s);
}

static int start(struct source *s)
{
        pthread_t thread;
        if (!source_keep_texts(&s->config, &s->texts))
                return -ENOMEM;
        s->users++;
        int r = life_start_thread(run, s, &thread);
        if (r < 0)
                s->users--;
        else
                pthread_detach(thread);
        return r;
}

int late_open(const struct late_config *late, const struct source_config *config,
              struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->late = *late;
        s->config = *config;
        s->users = 1;
        s->began_ns = clock_mono_ns();
        pthread_mutex_init(&s->lock, NULL);
        life_init_wake(&s->news);
        int r = start(s);
        if (r < 0) {
                leave(s);
                return err_set(err, r, "cannot start reading: %s", strerror(-r));
        }
        int64_t until = s->began_ns + late->patience_ns;
        pthread_mutex_lock(&s->lock);
        while (!s->inner && s->err.code == 0 && wait_until(s, until))
                ;
        if (!s->inner && s->err.code != 0) {
                *err = s->err;
                r = err->code;
        }
        pthread_mutex_unlock(&s->lock);
        s->due_ns = MAX(clock_mono_ns(), s->began_ns + config->poll_ns);
        if (r < 0)
                late_close(s);
        else
                *ret = s;
        return r;
}

/* Time goes on without the source. */
static void give_nothing(struct source *s, struct batch *ret)
{
        int64_t now = clock_mono_ns();
        s->due_ns = MAX(s->due_ns, now - s->config.poll_ns) + s->config.poll_ns;
        *ret = (struct batch){.mono_ns = now, .wall_ns = clock_wall_ns(), .stale = true};
}

static int late_next(struct source *s, struct batch *ret, struct err *err)
{
        pthread_mutex_lock(&s->lock);
        while (!s->stop && !s->inner && !s->over && wait_until(s, s->due_ns))
                ;
        bool stop = s->stop, over = s->over;
        struct source *inner = s->inner;
        if (over && !inner)
                *err = s->err;
        pthread_mutex_unlock(&s->lock);
        if (stop)
                return 0;
        if (inner)
                return s->late.ops->next(inner, ret, err);
        if (over)
                return err->code;
        give_nothing(s, ret);
        return 1;
}

/* The source, once it is there: it stays until it is closed by who asks. */
static struct source *inner_of(const struct source *s)
{
        struct source *own = (struct source *)s;
        pthread_mutex_lock(&own->lock);
        struct source *inner = s->inner;
        pthread_mutex_unlock(&own->lock);
        return inner;
}

static const char *late_provenance(const struct source *s)
{
        const struct source *inner = inner_of(s);
        const struct source_ops *ops = s->late.ops;
        return !inner ? "" : ops->provenance ? ops->provenance(inner) : ops->name;
}

static void late_trouble(const struct source *s, struct source_trouble *ret)
{
        const struct source *inner = inner_of(s);
        struct source *own = (struct source *)s;
        *ret = (struct source_trouble){0};
        if (inner) {
                if (s->late.ops->trouble)
                        s->late.ops->trouble(inner, ret);
                return;
        }
        pthread_mutex_lock(&own->lock);
        if (s->err.code != 0)
                snprintf(ret->notice, sizeof(ret->notice), "%.250s%s", s->err.msg,
                         s->over ? "" : "; trying again");
        else
                snprintf(ret->notice, sizeof(ret->notice),
                         "no answer from the GPU source for %.1f s, waiting for it",
                         clock_to_seconds(clock_mono_ns() - s->began_ns));
        pthread_mutex_unlock(&own->lock);
}

static size_t late_processes(struct source *s, struct process *ret, size_t max)
{
        struct source *inner = inner_of(s);
        return inner && s->late.ops->processes ? s->late.ops->processes(inner, ret, max) : 0;
}

static void late_interrupt(struct source *s)
{
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        struct source *inner = s->inner;
        pthread_cond_broadcast(&s->news);
        pthread_mutex_unlock(&s->lock);
        if (inner && s->late.ops->interrupt)
                s->late.ops->interrupt(inner);
}

const struct source_ops source_late = {
    .name = "late",
    .help = "a source that may take long to start",
    .next = late_next,
    .provenance = late_provenance,
    .trouble = late_trouble,
    .processes = late_processes,
    .interrupt = late_interrupt,
    .close = late_close,
};
