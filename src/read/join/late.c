#include "read/join/late.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLOSE_PATIENCE_NS (100 * NS_PER_MS)
/* Doubled each time: an attempt that hangs leaves a thread behind, and so these stay few. */
#define RETRY_FIRST_NS NS_PER_S
#define RETRY_MOST_NS (86400 * NS_PER_S)

struct source {
        struct crew crew;
        struct late_config late;
        struct source_config config; /* its texts are copies */
        struct source_texts texts;
        int64_t began_ns, due_ns; /* the next tick without a source */

        /* Under the lock. */
        struct source *inner; /* NULL until it is open; then the owner's */
        struct err err;       /* why the last attempt failed */
        bool over;            /* there is no other attempt */
        bool interrupted;     /* next() gives nothing more */
};

static void free_late(struct crew *crew)
{
        struct source *s = (struct source *)crew;
        source_free_texts(&s->texts);
        free(s);
}

/* Opens the source without the lock. Whether that was the last attempt. */
static bool try_once(struct source *s)
{
        struct source *inner = NULL;
        struct err err = {0};
        int r = s->late.ops->open(&s->config, &inner, &err);
        crew_lock(&s->crew);
        s->err = err;
        s->over = r != ERR_NO_SOURCE || !s->late.keep_trying;
        if (!s->crew.stop && !s->interrupted) {
                s->inner = inner;
                inner = NULL;
        }
        bool last = s->over || s->crew.stop || s->interrupted;
        crew_request_stop(&s->crew);
        crew_unlock(&s->crew);
        s->late.ops->close(inner);
        return last;
}

/*
 * The source's helper processes end with the thread that started them (see helper_start), so
 * it stays as long as the source does.
 */
static void open_by_and_by(void *arg)
{
        struct source *s = arg;
        for (int64_t pause = RETRY_FIRST_NS; !try_once(s); pause = MIN(pause * 2, RETRY_MOST_NS)) {
                int64_t then = clock_mono_ns() + pause;
                crew_lock(&s->crew);
                while (!s->crew.stop && !s->interrupted && crew_wait(&s->crew, then))
                        ;
                crew_unlock(&s->crew);
        }
        crew_lock(&s->crew);
        while (s->inner && !s->crew.stop)
                crew_wait(&s->crew, INT64_MAX);
        crew_unlock(&s->crew);
}

static void late_close(struct source *s)
{
        if (!s)
                return;
        crew_lock(&s->crew);
        struct source *inner = s->inner;
        s->interrupted = true;
        crew_unlock(&s->crew);
        s->late.ops->close(inner);
        crew_leave(&s->crew, CLOSE_PATIENCE_NS);
}

int late_open(const struct late_config *late, const struct source_config *config,
              struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->late = *late;
        s->config = *config;
        s->began_ns = clock_mono_ns();
        crew_init(&s->crew, free_late);
        int r = source_keep_texts(&s->config, &s->texts) ? crew_start(&s->crew, open_by_and_by, s)
                                                         : -ENOMEM;
        if (r < 0) {
                crew_leave(&s->crew, 0);
                return err_set(err, r, "cannot start reading: %s", strerror(-r));
        }
        int64_t until = s->began_ns + late->patience_ns;
        crew_lock(&s->crew);
        while (!s->inner && s->err.code == 0 && crew_wait(&s->crew, until))
                ;
        if (!s->inner && s->err.code != 0) {
                *err = s->err;
                r = err->code;
        }
        crew_unlock(&s->crew);
        s->due_ns = MAX(clock_mono_ns(), s->began_ns + config->poll_ns);
        if (r < 0)
                late_close(s);
        else
                *ret = s;
        return r;
}

/* Time continues without the source. */
static void give_nothing(struct source *s, struct batch *ret)
{
        int64_t now = clock_mono_ns();
        s->due_ns = MAX(s->due_ns, now - s->config.poll_ns) + s->config.poll_ns;
        *ret = (struct batch){.mono_ns = now, .wall_ns = clock_wall_ns(), .stale = true};
}

static int deferred_next(struct source *s, struct batch *ret, struct err *err)
{
        crew_lock(&s->crew);
        while (!s->interrupted && !s->inner && !s->over && crew_wait(&s->crew, s->due_ns))
                ;
        bool stop = s->interrupted, over = s->over;
        struct source *inner = s->inner;
        if (over && !inner)
                *err = s->err;
        crew_unlock(&s->crew);
        if (stop)
                return 0;
        if (inner)
                return s->late.ops->next(inner, ret, err);
        if (over)
                return err->code;
        give_nothing(s, ret);
        return 1;
}

/* The source, once it is present: it stays until it is closed by its user. */
static struct source *inner_of(const struct source *s)
{
        struct source *own = (struct source *)s;
        crew_lock(&own->crew);
        struct source *inner = s->inner;
        crew_unlock(&own->crew);
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
        crew_lock(&own->crew);
        if (s->err.code != 0)
                snprintf(ret->notice, sizeof(ret->notice), "%.250s%s", s->err.msg,
                         s->over ? "" : "; trying again");
        else
                snprintf(ret->notice, sizeof(ret->notice),
                         "no answer from the GPU source for %.1f s, waiting for it",
                         clock_to_seconds(clock_mono_ns() - s->began_ns));
        crew_unlock(&own->crew);
}

static size_t late_processes(struct source *s, struct process *ret, size_t max)
{
        struct source *inner = inner_of(s);
        return inner && s->late.ops->processes ? s->late.ops->processes(inner, ret, max)
                                               : PROCESSES_UNKNOWN;
}

static const struct host *late_host(struct source *s)
{
        struct source *inner = inner_of(s);
        return inner && s->late.ops->host ? s->late.ops->host(inner) : NULL;
}

static const char *late_recorded_host(struct source *s)
{
        struct source *inner = inner_of(s);
        return inner && s->late.ops->recorded_host ? s->late.ops->recorded_host(inner) : "";
}

static size_t late_nodes(const struct source *s, const struct node **ret)
{
        const struct source *inner = inner_of(s);
        return inner && s->late.ops->nodes ? s->late.ops->nodes(inner, ret) : 0;
}

static void late_interrupt(struct source *s)
{
        crew_lock(&s->crew);
        s->interrupted = true;
        struct source *inner = s->inner;
        crew_request_stop(&s->crew);
        crew_unlock(&s->crew);
        if (inner && s->late.ops->interrupt)
                s->late.ops->interrupt(inner);
}

const struct source_ops source_late = {
    .name = "late",
    .help = "a source that may take long to start",
    .next = deferred_next,
    .provenance = late_provenance,
    .trouble = late_trouble,
    .processes = late_processes,
    .host = late_host,
    .recorded_host = late_recorded_host,
    .nodes = late_nodes,
    .interrupt = late_interrupt,
    .close = late_close,
};
