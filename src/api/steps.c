/*
 * Marks of this process that cost next to nothing. There is one place that they go to, so that a
 * training loop calls one function and keeps nothing: what it was asked for, or what ASSAY_SESSION
 * names. A child of fork() has a tape of its own.
 */
#include "api/api.h"
#include "app/setup.h"
#include "base/clock.h"
#include "session/tape.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NAME_OF_STEPS "step"
/* How often the users of a replaced writer are waited for. */
#define CLOSE_TRIES 1000

enum marker_state { MARKER_UNASKED, MARKER_NONE, MARKER_OPEN };

/* The only state that the library keeps for a process. A child finds the parent's and leaves it. */
static struct {
        atomic_int state;
        struct tape_writer *_Atomic writer; /* where marks go now; NULL: nowhere */
        struct tape_writer *opened;         /* the last one, also when its recording has ended */
        atomic_size_t users; /* threads between finding the writer and its last use */
        char *session;       /* asked for; NULL: what the environment names */
} marker;
static pthread_mutex_t marker_lock = PTHREAD_MUTEX_INITIALIZER;

/* In the child of fork(): another thread may have held the lock then. */
static void marker_forked(void)
{
        pthread_mutex_init(&marker_lock, NULL);
        atomic_store(&marker.writer, NULL); /* its memory is shared with the parent */
        atomic_store(&marker.users, 0);     /* the parent's threads are not here */
        marker.opened = NULL;
        atomic_store(&marker.state, MARKER_UNASKED);
}

static void marker_once(void)
{
        pthread_atfork(NULL, NULL, marker_forked);
}

/* One that a thread is still inside stays. */
static void marker_close(struct tape_writer *w)
{
        for (int i = 0; w && i < CLOSE_TRIES; i++) {
                if (atomic_load(&marker.users) == 0) {
                        tape_writer_close(w);
                        return;
                }
                sched_yield();
        }
}

/* With the lock held. */
static int marker_open(struct err *err)
{
        struct tape_writer *old = marker.opened;
        const char *session = marker.session ? marker.session : get_env("ASSAY_SESSION");
        struct tape_writer *w = NULL;
        int r = session && session[0] ? tape_writer_open(session, &w, err) : 0;
        marker.opened = w;
        atomic_store(&marker.writer, w);
        atomic_store(&marker.state, w ? MARKER_OPEN : MARKER_NONE);
        marker_close(old);
        return r == -ENOENT ? 0 : r;
}

static struct tape_writer *marker_find(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        if (atomic_load_explicit(&marker.state, memory_order_acquire) == MARKER_UNASKED) {
                pthread_once(&once, marker_once);
                pthread_mutex_lock(&marker_lock);
                if (atomic_load(&marker.state) == MARKER_UNASKED)
                        marker_open(NULL);
                pthread_mutex_unlock(&marker_lock);
        }
        return atomic_load(&marker.writer);
}

int assay_mark_to(const char *session, struct assay_error *error)
{
        struct err err = {0};
        char *copy = session && session[0] ? api_absolute(session) : session ? strdup("") : NULL;
        if (session && !copy)
                return api_fail(error, -ENOMEM, "out of memory", "");
        marker_find();
        pthread_mutex_lock(&marker_lock);
        free(marker.session);
        marker.session = copy;
        int r = marker_open(&err);
        pthread_mutex_unlock(&marker_lock);
        return r < 0 ? api_error(error, &err) : 0;
}

int assay_mark_recording(void)
{
        return marker_find() != NULL;
}

static int put_in(struct tape_writer *w, struct mark *m, const char *name)
{
        size_t len = name ? strlen(name) : 0;
        if (len == 0 || len >= sizeof(m->name))
                return ASSAY_E_USAGE;
        memcpy(m->name, name, len + 1);
        m->wall_ns = clock_wall_ns();
        m->mono_ns = clock_mono_ns();
        int r = tape_put(w, m);
        if (r == 0) /* the recording has ended; another may have been named meanwhile */
                atomic_compare_exchange_strong(&marker.writer, &w, NULL);
        return r;
}

static int put_named(struct mark *m, const char *name)
{
        atomic_fetch_add(&marker.users, 1);
        struct tape_writer *w = marker_find();
        int r = w ? put_in(w, m, name) : 0;
        atomic_fetch_sub(&marker.users, 1);
        return r;
}

static bool is_length(double seconds)
{
        return seconds >= 0 && seconds <= MARK_SECONDS_MAX;
}

int assay_step(const char *name, double seconds, double waited)
{
        struct mark m = {.type = MARK_STEP,
                         .has_seconds = is_length(seconds),
                         .seconds = seconds,
                         .has_value = is_length(waited),
                         .value = waited};
        return put_named(&m, name ? name : NAME_OF_STEPS);
}

int assay_mark_begin(const char *name)
{
        struct mark m = {.type = MARK_BEGIN};
        return put_named(&m, name);
}

int assay_mark_end(const char *name)
{
        struct mark m = {.type = MARK_END};
        return put_named(&m, name);
}

int assay_mark_metric(const char *name, double value)
{
        struct mark m = {.type = MARK_METRIC, .has_value = true, .value = value};
        return isfinite(value) ? put_named(&m, name) : ASSAY_E_USAGE;
}
