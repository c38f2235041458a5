#include "engine/engine_state.h"

#include "life/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

/* Half of the time that a crash may lose, so that a slow commit still fits. */
#define COMMIT_EVERY_NS (NS_PER_S / 2)
/* After a stop samplers have this long to finish their tick; a hanging driver is not waited for. */
#define PATIENCE_NS NS_PER_S
#define CLOSE_PATIENCE_NS (50 * NS_PER_MS)

void engine_wake_waiters(struct engine *e)
{
        life_wake(e->fd);
}

void engine_wake(struct engine *e)
{
        if (e->pipeline && (e->crew.stop || e->reopen))
                pipeline_interrupt(e->pipeline);
        crew_request_stop(&e->crew);
}

void engine_note_store(struct engine *e, const struct err *err)
{
        crew_lock(&e->crew);
        e->result.store_works = err->code == 0;
        if (err->code != 0 && e->result.store.code == 0)
                e->result.store = *err;
        crew_unlock(&e->crew);
}

void engine_wait_until(struct engine *e, int64_t mono_ns)
{
        crew_lock(&e->crew);
        while (!e->crew.stop && !e->sampled && crew_wait(&e->crew, mono_ns))
                ;
        crew_unlock(&e->crew);
}

/* --- the session ----------------------------------------------------------------------------- */

static void wait_for_samplers(struct engine *e)
{
        int64_t end = clock_mono_ns() + PATIENCE_NS;
        struct host_beat_result unused;
        crew_lock(&e->crew);
        while (!e->sampled && crew_wait(&e->crew, end))
                ;
        crew_unlock(&e->crew);
        if (!e->host)
                return;
        /* A sampler that hangs has not reported it to. */
        host_beat_stop(e->host);
        host_beat_wait(e->host, MAX(end - clock_mono_ns(), PATIENCE_NS / 4), &unused);
}

static bool is_last(struct engine *e)
{
        crew_lock(&e->crew);
        bool last = e->crew.stop || e->sampled;
        crew_unlock(&e->crew);
        return last;
}

static void write_out(void *arg)
{
        struct engine *e = arg;
        bool last = false;
        /* The first commit comes at once: from then on the file says what it is. */
        for (int64_t due = 0; !last; due = clock_mono_ns() + COMMIT_EVERY_NS) {
                struct err err = {0};
                engine_wait_until(e, due);
                last = is_last(e);
                if (last)
                        wait_for_samplers(e);
                session_commit(e->config.session, &err);
                engine_note_store(e, &err);
        }
        crew_lock(&e->crew);
        e->written = true;
        crew_request_stop(&e->crew);
        crew_unlock(&e->crew);
}

/* --- the host -------------------------------------------------------------------------------- */

/* On the host's thread: what limits a GPU depends on what the host does for it. */
static void see_host(void *arg, const struct host *host)
{
        struct engine *e = arg;
        crew_lock(&e->crew);
        if (e->pipeline)
                pipeline_see_host(e->pipeline, host);
        crew_unlock(&e->crew);
        if (e->config.on_host)
                e->config.on_host(e->config.arg, host);
}

/* On the host's thread: the target has ended, and so a driver that hangs is not waited for. */
static void end_with_target(void *arg)
{
        engine_stop(arg);
        engine_wake_waiters(arg);
}

static int start_host(struct engine *e, struct err *err)
{
        const struct engine_config *c = &e->config;
        struct host_beat_config hc = {
            .view = c->host,
            .session = c->session,
            .flight = c->flight,
            .stacks_hz = c->stacks_hz,
            .keep = c->keep,
            .interval_ns =
                c->host_interval_ns ? c->host_interval_ns : MAX(c->interval_ns, ENGINE_HOST_MIN_NS),
            .ends_with_target = c->ends_with_target,
            .on_host = see_host,
            .on_host_arg = e,
            .on_over = end_with_target,
            .on_over_arg = e,
            .user = &e->crew,
        };
        if (c->host_source)
                hc.host = *c->host_source;
        hc.host.listing = e->listing;
        e->newest = c->keep ? calloc(1, sizeof(*e->newest)) : NULL;
        if (c->keep && !e->newest)
                return err_set(err, -ENOMEM, "out of memory");
        return host_beat_start(&hc, &e->host, err);
}

const struct host *engine_host(struct engine *e, const struct frame *frame)
{
        if (e->play)
                return frame ? host_play_at(e->play, frame->wall_ns) : NULL;
        return e->host && host_beat_take(e->host, e->newest) ? e->newest : NULL;
}

const struct host *engine_next_host(struct engine *e, const struct frame *frame)
{
        return e->play && frame ? host_play_next(e->play, frame->wall_ns) : NULL;
}

const struct stack_live *engine_stacks(struct engine *e, const struct frame *frame)
{
        if (e->stack_play)
                return frame ? stack_play_at(e->stack_play, frame->mono_ns) : NULL;
        return e->host ? host_beat_stacks(e->host) : NULL;
}

bool engine_has_host(const struct engine *e)
{
        return e->host != NULL;
}

struct listing *engine_listing(const struct engine *e)
{
        return e->listing;
}

void engine_set_levels(struct engine *e, unsigned levels)
{
        host_beat_set_levels(e->host, levels);
}

/* --- start ----------------------------------------------------------------------------------- */

static void free_engine(struct crew *crew)
{
        struct engine *e = (struct engine *)crew;
        struct engine_config config = e->config;
        bool returned = e->abandoned;
        host_beat_close(e->host);
        host_play_close(e->play);
        stack_play_close(e->stack_play);
        listing_close(e->listing);
        free(e->newest);
        free(e->recorded);
        node_notes_finish(&e->nodes);
        shown_finish(&e->shown);
        history_close(e->history);
        source_free_texts(&e->texts);
        closep(&e->fd);
        if (config.flight)
                flight_hold(config.flight, false);
        free(e);
        if (returned && config.on_return)
                config.on_return(config.arg);
}

/* A pipe is read once. */
static bool can_wind(const struct pipeline_config *source)
{
        struct stat st;
        return source->ops->finite && source->source.location &&
               stat(source->source.location, &st) == 0 && S_ISREG(st.st_mode);
}

/* What the engine opens itself. False when memory is short. */
static bool take_source(struct engine *e)
{
        const struct engine_config *c = &e->config;
        struct source_config *s = &e->source.source;
        e->source = *c->source;
        s->speed = c->plays ? 0 : s->speed;
        s->listing = e->listing;
        e->config.interval_ns = c->interval_ns ? c->interval_ns : s->poll_ns;
        e->status.speed = c->speed;
        e->status.replay = e->source.ops->finite;
        e->status.winds = c->plays && can_wind(&e->source);
        e->status.interval_ns = s->poll_ns;
        e->wish_seek = c->start_ns > 0;
        e->seek_ns = c->start_ns;
        if (!c->host && !c->host_source && c->keep && s->location)
                e->play = host_play_open(s->location);
        if (e->play && c->stacks_hz > 0)
                e->stack_play = stack_play_open(s->location);
        return source_keep_texts(s, &e->texts);
}

/* The host lists the processes, and the GPUs' source and their join take its list. */
static void share_listing(struct engine *e)
{
        const struct engine_config *c = &e->config;
        if (c->host)
                e->listing = listing_share(host_view_listing(c->host));
        else if (c->host_source)
                e->listing = listing_open_root(c->host_source->root);
        if (e->pipeline && e->listing)
                pipeline_follow_listing(e->pipeline, e->listing);
}

static int engine_prepare(struct engine *e)
{
        const struct engine_config *c = &e->config;
        e->started_ns = e->last_ns = e->published_mono_ns = clock_mono_ns();
        e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        e->pipeline = c->pipeline;
        e->list_processes = !c->processes_on_wish;
        if (e->pipeline) {
                pipeline_want_processes(e->pipeline, e->list_processes);
                pipeline_watch_processes(e->pipeline, c->processes_on_wish);
        }
        if (e->fd < 0)
                return -errno;
        share_listing(e);
        if (c->history > 0 && !(e->history = history_open(c->history)))
                return -ENOMEM;
        return c->source && !take_source(e) ? -ENOMEM : 0;
}

static int start_workers(struct engine *e, struct err *err)
{
        const struct engine_config *c = &e->config;
        int code = c->host || c->host_source ? start_host(e, err) : 0;
        if (code < 0)
                return code;
        code = crew_start(&e->crew, engine_sample, e);
        if (code == 0 && c->session)
                code = crew_start(&e->crew, write_out, e);
        return code < 0 ? err_set(err, code, "cannot start a thread: %s", strerror(-code)) : 0;
}

int engine_start(const struct engine_config *config, struct engine **ret, struct err *err)
{
        struct engine *e = calloc(1, sizeof(*e));
        if (!e)
                return err_set(err, -ENOMEM, "out of memory");
        crew_init(&e->crew, free_engine);
        e->config = *config;
        if (config->flight)
                flight_hold(config->flight, true);
        int code = engine_prepare(e);
        if (code < 0)
                err_set(err, code, "cannot start reading: %s", strerror(-code));
        else
                code = start_workers(e, err);
        /* What is borrowed to start is not used after. */
        e->config.source = NULL;
        e->config.host_source = NULL;
        if (code == 0) {
                *ret = e;
                return 0;
        }
        /* All that was started uses what the caller frees. */
        engine_stop(e);
        if (e->host)
                host_beat_stop(e->host);
        crew_leave(&e->crew, PATIENCE_NS);
        return code;
}

/* --- what has become of it ------------------------------------------------------------------- */

int engine_fd(const struct engine *e)
{
        return e->fd;
}

void engine_counts(struct engine *e, struct session_counts *ret)
{
        crew_lock(&e->crew);
        *ret = e->result.counts;
        crew_unlock(&e->crew);
}

const struct frame *engine_take(struct engine *e)
{
        uint64_t news;
        ssize_t n = read(e->fd, &news, sizeof(news));
        (void)n;
        crew_lock(&e->crew);
        const struct frame *frame = shown_take(&e->shown);
        crew_unlock(&e->crew);
        return frame;
}

void engine_status(struct engine *e, struct engine_status *ret)
{
        int64_t now = clock_mono_ns();
        crew_lock(&e->crew);
        *ret = e->status;
        ret->age_ns = now - e->published_mono_ns;
        ret->busy_ns = e->asked_mono_ns ? now - e->asked_mono_ns : 0;
        if (e->pause && ret->state == ENGINE_RUNNING)
                ret->state = ENGINE_PAUSED;
        crew_unlock(&e->crew);
}

struct trends engine_trends(struct engine *e)
{
        return history_trends(e->history);
}

void engine_list_processes(struct engine *e, bool list)
{
        crew_lock(&e->crew);
        e->list_processes = list;
        if (e->pipeline)
                pipeline_want_processes(e->pipeline, list);
        crew_unlock(&e->crew);
}

void engine_set_interval(struct engine *e, int64_t ns)
{
        crew_lock(&e->crew);
        e->status.interval_ns = MAX(ns, e->source.ops->poll_floor_ns);
        e->config.interval_ns = e->status.interval_ns;
        e->reopen = !e->status.replay;
        engine_wake(e);
        crew_unlock(&e->crew);
}

/* --- the end --------------------------------------------------------------------------------- */

void engine_stop(struct engine *e)
{
        crew_lock(&e->crew);
        e->crew.stop = true;
        engine_wake(e);
        crew_unlock(&e->crew);
}

static void add_host_result(struct engine *e, struct engine_result *ret)
{
        struct host_beat_result host;
        if (!host_beat_wait(e->host, 0, &host)) {
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

/* What is written waits for the samplers; without a session the caller does. */
static void wait_for_all(struct engine *e)
{
        if (!e->config.session)
                wait_for_samplers(e);
        crew_lock(&e->crew);
        while (e->config.session && !e->written)
                crew_wait(&e->crew, INT64_MAX);
        crew_unlock(&e->crew);
}

void engine_finish(struct engine *e, struct engine_result *ret)
{
        const struct engine_config *c = &e->config;
        engine_stop(e);
        wait_for_all(e);
        crew_lock(&e->crew);
        *ret = e->result;
        ret->hung = !e->sampled;
        crew_unlock(&e->crew);
        if (c->session)
                ret->counts.dropped = session_dropped(c->session);
        if (c->restamp || !c->pipeline || !pipeline_is_capture(c->pipeline))
                ret->stop_wall_ns = clock_wall_ns();
        if (e->host)
                add_host_result(e, ret);
        crew_lock(&e->crew);
        e->abandoned = ret->hung;
        crew_unlock(&e->crew);
        crew_leave(&e->crew, ret->hung ? 0 : PATIENCE_NS);
}

void engine_close(struct engine *e)
{
        if (!e)
                return;
        engine_stop(e);
        if (e->host)
                host_beat_stop(e->host);
        crew_leave(&e->crew, CLOSE_PATIENCE_NS);
}
