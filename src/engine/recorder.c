#include "engine/recorder.h"

#include "base/clock.h"
#include "engine/host_recorder.h"
#include "life/beat.h"
#include "life/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

/* Half of what a crash may cost, so that a slow commit still fits. */
#define COMMIT_EVERY_NS (NS_PER_S / 2)
#define NOTHING_EVERY_NS (3600 * NS_PER_S)

struct recorder {
        struct recorder_config config;
        pthread_t sampler, writer;
        struct host_recorder *host; /* NULL for none */
        pthread_mutex_t lock;
        pthread_cond_t wake; /* stop, or the sampler's end */
        atomic_bool stopping;
        bool sampled;   /* the sampler has ended; under lock */
        bool abandoned; /* the sampler frees, if it ever ends; under lock */
        bool provenance_kept;
        int done;
        int64_t started_ns;
        int64_t last_ns; /* when the last tick came */
        struct recorder_result result;
};

/* Waits until a moment on the monotonic clock, or until it is time to stop. */
static void wait_until(struct recorder *r, int64_t mono_ns)
{
        struct timespec ts = {mono_ns / NS_PER_S, mono_ns % NS_PER_S};
        pthread_mutex_lock(&r->lock);
        while (!atomic_load(&r->stopping) && !r->sampled &&
               pthread_cond_timedwait(&r->wake, &r->lock, &ts) == 0)
                ;
        pthread_mutex_unlock(&r->lock);
}

static void note_store(struct recorder *r, const struct err *err)
{
        pthread_mutex_lock(&r->lock);
        r->result.store_works = err->code == 0;
        if (err->code != 0 && r->result.store.code == 0)
                r->result.store = *err;
        pthread_mutex_unlock(&r->lock);
}

static bool is_live(const struct recorder *r)
{
        return r->config.restamp || !r->config.pipeline || pipeline_is_live(r->config.pipeline);
}

static void count_tick(struct recorder *r, bool stale)
{
        struct session_counts *c = &r->result.counts;
        int64_t now = clock_mono_ns(), gap = now - r->last_ns, beat = r->config.interval_ns;
        uint64_t skipped = 0;
        pthread_mutex_lock(&r->lock);
        if (is_live(r) && c->asked > 0 && gap > beat) {
                skipped = (uint64_t)((gap - beat) / beat);
                c->late += beat_is_late(gap - beat - (int64_t)skipped * beat, beat);
        }
        c->asked += 1 + skipped;
        c->missed += skipped + stale;
        c->taken += !stale;
        r->last_ns = now;
        pthread_mutex_unlock(&r->lock);
        if (r->config.session)
                session_set_counts(r->config.session, c);
}

/* Puts the tick into the session. */
static void keep(struct recorder *r, const struct frame *f)
{
        struct err err = {0};
        /* It is known once the source has started. */
        if (!r->provenance_kept && f->provenance && f->provenance[0]) {
                session_set_text(r->config.session, "provenance", f->provenance);
                r->provenance_kept = true;
        }
        if (session_add(r->config.session, f, &err) < 0)
                note_store(r, &err);
}

static void take(struct recorder *r, const struct frame *frame)
{
        struct frame f = *frame;
        if (r->config.restamp) {
                f.wall_ns = clock_wall_ns();
                f.mono_ns = clock_mono_ns();
        }
        count_tick(r, f.stale);
        r->result.stop_wall_ns = f.wall_ns;
        if (r->host)
                host_recorder_see(r->host, &f);
        if (r->config.session)
                keep(r, &f);
        if (r->config.on_frame)
                r->config.on_frame(r->config.arg, &f);
}

static bool is_over(const struct recorder *r)
{
        return atomic_load(&r->stopping) ||
               (r->config.duration_ns > 0 && is_live(r) &&
                clock_mono_ns() - r->started_ns >= r->config.duration_ns);
}

/* A capture that is read faster than time passes ends by its own clock. */
static bool beyond(const struct recorder *r, int64_t first_ns, const struct frame *f)
{
        return r->config.duration_ns > 0 && !is_live(r) &&
               f->wall_ns - first_ns > r->config.duration_ns;
}

static void sample_source(struct recorder *r)
{
        const struct frame *f;
        int64_t first_ns = INT64_MIN;
        int got = 0;
        while (!is_over(r) &&
               (got = pipeline_next(r->config.pipeline, &f, &r->result.source)) > 0) {
                if (first_ns == INT64_MIN)
                        first_ns = f->wall_ns;
                if (beyond(r, first_ns, f))
                        break;
                take(r, f);
        }
        if (got < 0 && atomic_load(&r->stopping))
                r->result.source.code = 0;
}

/* Ticks without a source keep the time line whole. */
static void sample_nothing(struct recorder *r)
{
        int64_t due = clock_mono_ns();
        while (!is_over(r)) {
                struct frame f = {
                    .wall_ns = clock_wall_ns(), .mono_ns = clock_mono_ns(), .provenance = ""};
                take(r, &f);
                due += r->config.interval_ns;
                int64_t end = r->started_ns + r->config.duration_ns;
                wait_until(r, r->config.duration_ns > 0 ? MIN(due, end) : due);
        }
}

static void tell_done(struct recorder *r)
{
        uint64_t one = 1;
        ssize_t n = write(r->done, &one, sizeof(one));
        (void)n;
}

static void free_recorder(struct recorder *r)
{
        if (r->host)
                host_recorder_close(r->host);
        closep(&r->done);
        pthread_mutex_destroy(&r->lock);
        pthread_cond_destroy(&r->wake);
        free(r);
}

static void *sample(void *arg)
{
        struct recorder *r = arg;
        if (r->config.pipeline)
                sample_source(r);
        if (r->config.pipeline && r->config.on_source_end)
                r->config.on_source_end(r->config.arg, &r->result.source);
        if (!r->config.pipeline || r->config.until_stopped)
                sample_nothing(r);
        pthread_mutex_lock(&r->lock);
        r->sampled = true;
        bool abandoned = r->abandoned;
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->lock);
        if (abandoned) {
                struct recorder_config config = r->config;
                free_recorder(r);
                if (config.on_return)
                        config.on_return(config.arg);
                return NULL;
        }
        if (r->host)
                host_recorder_stop(r->host);
        tell_done(r);
        return NULL;
}

/* On the host's thread: the target has ended, and so a driver that hangs is not waited for. */
static void end_with_target(void *arg)
{
        recorder_stop(arg);
        tell_done(arg);
}

/* After a stop samplers have this long to finish their tick; a hanging driver is not waited for. */
#define PATIENCE_NS NS_PER_S

static void wait_for_samplers(struct recorder *r)
{
        int64_t end = clock_mono_ns() + PATIENCE_NS;
        struct timespec ts = {end / NS_PER_S, end % NS_PER_S};
        pthread_mutex_lock(&r->lock);
        while (!r->sampled && pthread_cond_timedwait(&r->wake, &r->lock, &ts) == 0)
                ;
        pthread_mutex_unlock(&r->lock);
        if (!r->host)
                return;
        /* A sampler that hangs has not told it to. */
        host_recorder_stop(r->host);
        host_recorder_wait(r->host, clock_mono_ns() + PATIENCE_NS);
}

static bool has_sampled(struct recorder *r)
{
        pthread_mutex_lock(&r->lock);
        bool sampled = r->sampled;
        pthread_mutex_unlock(&r->lock);
        return sampled;
}

static void commit(struct recorder *r)
{
        struct err err = {0};
        if (!r->config.session)
                return;
        session_commit(r->config.session, &err);
        note_store(r, &err);
}

/* Without a session it only waits for the end. */
static void *write_out(void *arg)
{
        struct recorder *r = arg;
        int64_t every = r->config.session ? COMMIT_EVERY_NS : NOTHING_EVERY_NS;
        bool last = false;
        /* The first commit comes at once: from then on the file says what it is. */
        for (int64_t due = 0; !last; due = clock_mono_ns() + every) {
                wait_until(r, due);
                last = atomic_load(&r->stopping) || has_sampled(r);
                if (last)
                        wait_for_samplers(r);
                commit(r);
        }
        return NULL;
}

/* On the host's thread. */
static void see_host(void *arg, const struct host *host)
{
        struct recorder *r = arg;
        if (r->config.pipeline)
                pipeline_see_host(r->config.pipeline, host);
        if (r->config.on_host)
                r->config.on_host(r->config.arg, host);
}

static int start_host(struct recorder *r, struct err *err)
{
        const struct host_recorder_config hc = {
            .view = r->config.host,
            .session = r->config.session,
            .interval_ns = MAX(r->config.interval_ns, RECORDER_HOST_MIN_NS),
            .ends_with_target = r->config.ends_with_target,
            .on_host = see_host,
            .on_host_arg = r,
            .on_over = end_with_target,
            .on_over_arg = r,
        };
        return r->config.host ? host_recorder_start(&hc, &r->host, err) : 0;
}

static int start_threads(struct recorder *r, struct err *err)
{
        int code = start_host(r, err);
        if (code < 0)
                return code;
        int failed = pthread_create(&r->sampler, NULL, sample, r);
        if (failed == 0) {
                failed = pthread_create(&r->writer, NULL, write_out, r);
                if (failed == 0)
                        return 0;
                recorder_stop(r);
                pthread_join(r->sampler, NULL);
        }
        if (r->host) {
                host_recorder_stop(r->host);
                host_recorder_close(r->host);
        }
        return err_set(err, -failed, "cannot start a thread: %s", strerror(failed));
}

int recorder_start(const struct recorder_config *config, struct recorder **ret, struct err *err)
{
        struct recorder *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->config = *config;
        r->started_ns = r->last_ns = clock_mono_ns();
        r->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        pthread_mutex_init(&r->lock, NULL);
        life_init_wake(&r->wake);
        if (r->config.pipeline)
                pipeline_want_processes(r->config.pipeline, true);
        /* Signals are the main thread's to handle. */
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &old);
        int code = start_threads(r, err);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (code < 0) {
                closep(&r->done);
                free(r);
                return code;
        }
        *ret = r;
        return 0;
}

int recorder_done_fd(const struct recorder *r)
{
        return r->done;
}

void recorder_counts(struct recorder *r, struct session_counts *ret)
{
        pthread_mutex_lock(&r->lock);
        *ret = r->result.counts;
        pthread_mutex_unlock(&r->lock);
}

void recorder_stop(struct recorder *r)
{
        pthread_mutex_lock(&r->lock);
        atomic_store(&r->stopping, true);
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->lock);
        if (r->config.pipeline)
                pipeline_interrupt(r->config.pipeline);
}

static void add_host_result(struct recorder *r, struct recorder_result *ret)
{
        struct host_recorder_result host;
        if (!host_recorder_wait(r->host, clock_mono_ns())) {
                ret->hung = true;
                return;
        }
        host_recorder_result(r->host, &host);
        ret->host = host.source;
        ret->host_asked = host.beat.asked;
        ret->host_taken = host.beat.taken;
        ret->host_late = host.beat.late;
        ret->host_missed = host.beat.missed;
        if (ret->store.code == 0)
                ret->store = host.store;
}

/* Whether the sampler hangs; it frees all when it returns, unless the host's thread hangs too. */
static bool abandon(struct recorder *r, bool host_hangs)
{
        pthread_mutex_lock(&r->lock);
        bool hangs = !r->sampled;
        r->abandoned = hangs && !host_hangs;
        if (r->abandoned)
                pthread_detach(r->sampler);
        pthread_mutex_unlock(&r->lock);
        return hangs;
}

void recorder_finish(struct recorder *r, struct recorder_result *ret)
{
        pthread_join(r->writer, NULL);
        *ret = r->result;
        if (r->config.session)
                ret->counts.dropped = session_dropped(r->config.session);
        if (r->config.restamp || !r->config.pipeline || !pipeline_is_capture(r->config.pipeline))
                ret->stop_wall_ns = clock_wall_ns();
        if (r->host)
                add_host_result(r, ret);
        /* A thread that hangs still uses all of this. */
        if (abandon(r, ret->hung) || ret->hung) {
                ret->hung = true;
                return;
        }
        pthread_join(r->sampler, NULL);
        free_recorder(r);
}
