#include "engine/recorder.h"

#include "base/clock.h"
#include "engine/host_beat.h"
#include "life/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

/* Half of what a crash may cost, so that a slow commit still fits. */
#define COMMIT_EVERY_NS (NS_PER_S / 2)
#define NOTHING_EVERY_NS (3600 * NS_PER_S)

struct recorder {
        struct crew crew; /* two workers: one samples, one writes */
        struct recorder_config config;
        struct host_beat *host; /* NULL for none */
        bool sampled, written;  /* under the lock: the workers have ended */
        bool abandoned;         /* under the lock: the sampler hangs, and may return */
        bool provenance_kept;
        int done;
        int64_t started_ns;
        int64_t last_ns; /* when the last tick came */
        struct recorder_result result;
};

/* Waits until a moment on the monotonic clock, or until it is time to stop. */
static void wait_until(struct recorder *r, int64_t mono_ns)
{
        crew_lock(&r->crew);
        while (!r->crew.stop && !r->sampled && crew_wait(&r->crew, mono_ns))
                ;
        crew_unlock(&r->crew);
}

static void note_store(struct recorder *r, const struct err *err)
{
        crew_lock(&r->crew);
        r->result.store_works = err->code == 0;
        if (err->code != 0 && r->result.store.code == 0)
                r->result.store = *err;
        crew_unlock(&r->crew);
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
        crew_lock(&r->crew);
        if (is_live(r) && c->asked > 0 && gap > beat) {
                skipped = (uint64_t)((gap - beat) / beat);
                c->late += beat_is_late(gap - beat - (int64_t)skipped * beat, beat);
        }
        c->asked += 1 + skipped;
        c->missed += skipped + stale;
        c->taken += !stale;
        r->last_ns = now;
        crew_unlock(&r->crew);
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
                host_beat_see(r->host, &f);
        if (r->config.session)
                keep(r, &f);
        if (r->config.on_frame)
                r->config.on_frame(r->config.arg, &f);
}

static bool is_over(struct recorder *r)
{
        return crew_stopping(&r->crew) ||
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
        if (got < 0 && crew_stopping(&r->crew))
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

static void free_recorder(struct crew *crew)
{
        struct recorder *r = (struct recorder *)crew;
        struct recorder_config config = r->config;
        bool returned = r->abandoned;
        host_beat_close(r->host);
        closep(&r->done);
        free(r);
        if (returned && config.on_return)
                config.on_return(config.arg);
}

static void sample(void *arg)
{
        struct recorder *r = arg;
        if (r->config.pipeline)
                sample_source(r);
        if (r->config.pipeline && r->config.on_source_end)
                r->config.on_source_end(r->config.arg, &r->result.source);
        if (!r->config.pipeline || r->config.until_stopped)
                sample_nothing(r);
        crew_lock(&r->crew);
        r->sampled = true;
        crew_tell(&r->crew);
        crew_unlock(&r->crew);
        if (r->host)
                host_beat_stop(r->host);
        tell_done(r);
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
        struct host_beat_result unused;
        crew_lock(&r->crew);
        while (!r->sampled && crew_wait(&r->crew, end))
                ;
        crew_unlock(&r->crew);
        if (!r->host)
                return;
        /* A sampler that hangs has not told it to. */
        host_beat_stop(r->host);
        host_beat_wait(r->host, MAX(end - clock_mono_ns(), PATIENCE_NS / 4), &unused);
}

static bool has_sampled(struct recorder *r)
{
        crew_lock(&r->crew);
        bool sampled = r->sampled;
        crew_unlock(&r->crew);
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
static void write_out(void *arg)
{
        struct recorder *r = arg;
        int64_t every = r->config.session ? COMMIT_EVERY_NS : NOTHING_EVERY_NS;
        bool last = false;
        /* The first commit comes at once: from then on the file says what it is. */
        for (int64_t due = 0; !last; due = clock_mono_ns() + every) {
                wait_until(r, due);
                last = crew_stopping(&r->crew) || has_sampled(r);
                if (last)
                        wait_for_samplers(r);
                commit(r);
        }
        crew_lock(&r->crew);
        r->written = true;
        crew_tell(&r->crew);
        crew_unlock(&r->crew);
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
        const struct host_beat_config hc = {
            .view = r->config.host,
            .session = r->config.session,
            .interval_ns = r->config.host_interval_ns
                               ? r->config.host_interval_ns
                               : MAX(r->config.interval_ns, RECORDER_HOST_MIN_NS),
            .ends_with_target = r->config.ends_with_target,
            .on_host = see_host,
            .on_host_arg = r,
            .on_over = end_with_target,
            .on_over_arg = r,
        };
        return r->config.host ? host_beat_start(&hc, &r->host, err) : 0;
}

static int start_workers(struct recorder *r, struct err *err)
{
        int code = start_host(r, err);
        if (code < 0)
                return code;
        code = crew_start(&r->crew, sample, r);
        if (code == 0)
                code = crew_start(&r->crew, write_out, r);
        return code < 0 ? err_set(err, code, "cannot start a thread: %s", strerror(-code)) : 0;
}

int recorder_start(const struct recorder_config *config, struct recorder **ret, struct err *err)
{
        struct recorder *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        crew_init(&r->crew, free_recorder);
        r->config = *config;
        r->started_ns = r->last_ns = clock_mono_ns();
        r->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (r->config.pipeline)
                pipeline_want_processes(r->config.pipeline, true);
        int code = start_workers(r, err);
        if (code == 0) {
                *ret = r;
                return 0;
        }
        /* All that was started uses what the caller frees. */
        struct host_beat_result unused;
        recorder_stop(r);
        crew_ended(&r->crew, PATIENCE_NS);
        if (r->host) {
                host_beat_stop(r->host);
                host_beat_wait(r->host, PATIENCE_NS, &unused);
        }
        crew_leave(&r->crew, 0);
        return code;
}

int recorder_done_fd(const struct recorder *r)
{
        return r->done;
}

void recorder_counts(struct recorder *r, struct session_counts *ret)
{
        crew_lock(&r->crew);
        *ret = r->result.counts;
        crew_unlock(&r->crew);
}

void recorder_stop(struct recorder *r)
{
        crew_stop(&r->crew);
        if (r->config.pipeline)
                pipeline_interrupt(r->config.pipeline);
}

static void add_host_result(struct recorder *r, struct recorder_result *ret)
{
        struct host_beat_result host;
        if (!host_beat_wait(r->host, 0, &host)) {
                ret->hung = true;
                return;
        }
        ret->host = host.source;
        ret->host_asked = host.beat.asked;
        ret->host_taken = host.beat.taken;
        ret->host_late = host.beat.late;
        ret->host_missed = host.beat.missed;
        if (ret->store.code == 0)
                ret->store = host.store;
}

void recorder_finish(struct recorder *r, struct recorder_result *ret)
{
        crew_lock(&r->crew);
        while (!r->written)
                crew_wait(&r->crew, INT64_MAX);
        *ret = r->result;
        crew_unlock(&r->crew);
        if (r->config.session)
                ret->counts.dropped = session_dropped(r->config.session);
        if (r->config.restamp || !r->config.pipeline || !pipeline_is_capture(r->config.pipeline))
                ret->stop_wall_ns = clock_wall_ns();
        if (r->host)
                add_host_result(r, ret);
        /* A host that hangs tells the recorder if it ever returns. */
        if (ret->hung)
                return;
        crew_lock(&r->crew);
        ret->hung = r->abandoned = !r->sampled;
        crew_unlock(&r->crew);
        crew_leave(&r->crew, ret->hung ? 0 : PATIENCE_NS);
}
