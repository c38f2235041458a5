/* The GPUs' thread of an engine: opens the source, asks it tick by tick, and opens it again. */
#include "engine/engine_state.h"

#include "life/beat.h"

#include <errno.h>

#define RETRY_FIRST_NS NS_PER_S
#define RETRY_MOST_NS (30 * NS_PER_S)

/* Whether frames are of now, so that late ones can be reported. */
static bool engine_is_live(const struct engine *e)
{
        return e->config.restamp || !e->pipeline || pipeline_is_live(e->pipeline);
}

/* --- a frame comes in ------------------------------------------------------------------------ */

static void count_tick(struct engine *e, bool stale)
{
        struct session_counts *c = &e->result.counts;
        int64_t now = clock_mono_ns(), gap = now - e->last_ns, beat = e->config.interval_ns;
        uint64_t skipped = 0;
        bool late = false;
        crew_lock(&e->crew);
        if (engine_is_live(e) && e->begun)
                skipped = clock_skipped(gap - beat, beat, &late);
        c->late += late;
        c->asked += 1 + skipped;
        c->missed += skipped + stale;
        c->taken += !stale;
        e->last_ns = now;
        crew_unlock(&e->crew);
        if (e->config.session)
                session_set_counts(e->config.session, c);
}

/* Time only grows within one opening, so the first spacing seen stands for all. */
static void note_time(struct engine *e, const struct frame *frame)
{
        crew_lock(&e->crew);
        if (!e->begun)
                e->first_wall_ns = frame->wall_ns;
        else if (e->status.replay && e->status.ticks <= 1 && frame->wall_ns > e->last_wall_ns)
                e->status.interval_ns = frame->wall_ns - e->last_wall_ns;
        e->begun = true;
        e->last_wall_ns = e->result.stop_wall_ns = frame->wall_ns;
        crew_unlock(&e->crew);
}

/* A source that was opened again may be another one. */
static void feed_flight(struct engine *e, const struct frame *f)
{
        if (!e->flight_reported && f->provenance && f->provenance[0]) {
                session_set_text(flight_session(e->config.flight), "provenance", f->provenance);
                e->flight_reported = true;
        }
        flight_add(e->config.flight, f);
}

/* Puts the tick into the session. */
static void sampler_keep(struct engine *e, const struct frame *f)
{
        struct err err = {0};
        /* It is known once the source has started. */
        if (!e->provenance_kept && f->provenance && f->provenance[0]) {
                session_set_text(e->config.session, "provenance", f->provenance);
                e->provenance_kept = true;
        }
        if (session_add(e->config.session, f, &err) < 0)
                engine_note_store(e, &err);
        node_notes_take(&e->nodes, e->config.session, f);
}

int engine_take_in(struct engine *e, const struct frame *frame, struct err *err)
{
        struct frame f = *frame;
        if (e->config.restamp) {
                f.wall_ns = clock_wall_ns();
                f.mono_ns = clock_mono_ns();
        }
        count_tick(e, f.stale);
        note_time(e, &f);
        if (e->history && history_push(e->history, &f) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        if (e->host)
                host_beat_see(e->host, &f);
        if (e->config.session)
                sampler_keep(e, &f);
        if (e->config.flight)
                feed_flight(e, &f);
        if (e->config.on_frame)
                e->config.on_frame(e->config.arg, &f);
        return 0;
}

int engine_publish(struct engine *e, const struct frame *frame, struct err *err)
{
        if (e->config.keep && shown_fill(&e->shown, frame) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        crew_lock(&e->crew);
        if (e->config.keep)
                shown_publish(&e->shown);
        e->published_mono_ns = clock_mono_ns();
        e->status.ticks++;
        e->status.state = ENGINE_RUNNING;
        e->status.err.code = 0;
        e->status.position_ns = frame->wall_ns - e->first_wall_ns;
        crew_unlock(&e->crew);
        if (e->config.keep)
                engine_wake_waiters(e);
        return 0;
}

/* --- the source ------------------------------------------------------------------------------ */

int engine_request_frame(struct engine *e, const struct frame **ret, struct err *err)
{
        crew_lock(&e->crew);
        e->asked_mono_ns = clock_mono_ns();
        crew_unlock(&e->crew);
        int r = pipeline_next(e->pipeline, ret, err);
        crew_lock(&e->crew);
        e->asked_mono_ns = 0;
        crew_unlock(&e->crew);
        return r;
}

void engine_close_source(struct engine *e)
{
        crew_lock(&e->crew);
        struct pipeline *p = e->pipeline;
        e->pipeline = NULL;
        crew_unlock(&e->crew);
        pipeline_close(p);
}

int engine_open_source(struct engine *e, struct err *err)
{
        struct pipeline *p = NULL;
        crew_lock(&e->crew);
        if (!e->status.replay)
                e->source.source.poll_ns = e->status.interval_ns;
        e->source.source.preview &= e->status.ticks == 0;
        e->asked_mono_ns = clock_mono_ns();
        e->reopen = false;
        crew_unlock(&e->crew);
        int r = pipeline_open(&e->source, &p, err);
        crew_lock(&e->crew);
        e->asked_mono_ns = 0;
        e->pipeline = p;
        e->begun = e->flight_reported = false;
        if (p) {
                pipeline_want_processes(p, e->list_processes);
                pipeline_watch_processes(p, e->config.processes_on_wish);
        }
        crew_unlock(&e->crew);
        return r;
}

static void set_state(struct engine *e, enum engine_state state, const struct err *err)
{
        crew_lock(&e->crew);
        e->status.state = state;
        e->status.err = *err;
        if (state == ENGINE_ENDED)
                e->status.duration_ns = e->last_wall_ns - e->first_wall_ns;
        if (e->pipeline)
                pipeline_trouble(e->pipeline, &e->status.trouble);
        crew_unlock(&e->crew);
        if (e->config.keep)
                engine_wake_waiters(e);
}

/* After a failure: false when there is no use in trying again. */
static bool wait_to_retry(struct engine *e, const struct err *err, int64_t *patience)
{
        engine_close_source(e);
        crew_lock(&e->crew);
        /* What was present comes back; what is absent yet may come. */
        bool again = e->config.insists ||
                     (!e->status.replay && (e->status.ticks > 0 || err->code == ERR_NO_SOURCE));
        int64_t until = again ? clock_mono_ns() + *patience : INT64_MAX;
        while (!e->crew.stop && !e->reopen && clock_mono_ns() < until)
                crew_wait(&e->crew, until);
        again = again || e->reopen;
        crew_unlock(&e->crew);
        *patience = MIN(*patience * 2, RETRY_MOST_NS);
        return again;
}

/* --- ticks ----------------------------------------------------------------------------------- */

static bool is_over(struct engine *e)
{
        return crew_stopping(&e->crew) ||
               (e->config.duration_ns > 0 && engine_is_live(e) &&
                clock_mono_ns() - e->started_ns >= e->config.duration_ns);
}

/* A capture that is read faster than time passes ends by its own clock. */
static bool is_beyond(const struct engine *e, const struct frame *f)
{
        return e->config.duration_ns > 0 && !engine_is_live(e) && e->begun &&
               f->wall_ns - e->first_wall_ns > e->config.duration_ns;
}

/* The host as a recording has it, once a sample. Times are moved as those of the frames are. */
static int publish_recorded_host(struct engine *e, const struct frame *frame, struct err *err)
{
        const struct host *h = e->host ? NULL : pipeline_host(e->pipeline);
        struct err store = {0};
        if (!h || h->wall_ns == e->recorded_ns)
                return 0;
        if (!e->recorded)
                e->recorded = malloc(sizeof(*e->recorded));
        if (!e->recorded)
                return err_set(err, -ENOMEM, "out of memory");
        *e->recorded = *h;
        e->recorded_ns = h->wall_ns;
        if (e->config.restamp) {
                int64_t age_ns = frame->wall_ns - h->wall_ns;
                e->recorded->wall_ns = clock_wall_ns() - age_ns;
                e->recorded->mono_ns = clock_mono_ns() - age_ns;
        }
        if (e->config.session && session_add_host(e->config.session, e->recorded, &store) < 0)
                engine_note_store(e, &store);
        if (e->config.on_host)
                e->config.on_host(e->config.arg, e->recorded);
        return 0;
}

static int sample_until_stop(struct engine *e, struct err *err)
{
        const struct frame *frame;
        int r = engine_request_frame(e, &frame, err);
        if (r <= 0)
                return r;
        if (is_beyond(e, frame))
                return 0;
        crew_lock(&e->crew);
        bool show = !e->pause || e->steps > 0 || e->status.ticks == 0;
        e->steps = 0;
        crew_unlock(&e->crew);
        r = publish_recorded_host(e, frame, err);
        if (r == 0)
                r = engine_take_in(e, frame, err);
        if (r == 0 && show)
                r = engine_publish(e, frame, err);
        return r < 0 ? r : 1;
}

/* One step: 1, 0 at the end of the source, or a negative code. */
static int continue_playing(struct engine *e, struct err *err)
{
        crew_lock(&e->crew);
        bool seeking = e->wish_seek, reopen = e->reopen || !e->pipeline;
        crew_unlock(&e->crew);
        if (reopen) {
                engine_close_source(e);
                int r = engine_open_source(e, err);
                return r < 0 ? r : 1;
        }
        if (seeking)
                return engine_wind(e, err);
        return e->config.plays && e->status.replay ? engine_play(e, err)
                                                   : sample_until_stop(e, err);
}

static bool wants_reopening(struct engine *e)
{
        crew_lock(&e->crew);
        bool reopen = e->reopen;
        crew_unlock(&e->crew);
        return reopen;
}

/* A source that the engine opens: it ends only with the engine, or with a final failure. */
static void sample_source(struct engine *e)
{
        int64_t patience = RETRY_FIRST_NS;
        bool go = true;
        while (go && !is_over(e)) {
                struct err err = {0};
                int r = continue_playing(e, &err);
                if (r > 0)
                        patience = e->status.ticks > 0 && e->begun ? RETRY_FIRST_NS : patience;
                if (r > 0 || crew_stopping(&e->crew) || (r == 0 && wants_reopening(e)))
                        continue;
                set_state(e, r < 0 ? ENGINE_FAILED : ENGINE_ENDED, &err);
                if (r < 0)
                        go = wait_to_retry(e, &err, &patience);
                else
                        engine_wait_at_end(e);
        }
        engine_close_source(e);
}

static void sample_given(struct engine *e)
{
        struct err err = {0};
        int r = 1;
        while (r > 0 && !is_over(e))
                r = sample_until_stop(e, &err);
        crew_lock(&e->crew);
        if (!e->crew.stop)
                e->result.source = err;
        crew_unlock(&e->crew);
        if (e->config.on_source_end)
                e->config.on_source_end(e->config.arg, &e->result.source);
}

/* Ticks without a source keep the time line whole. */
static void sample_nothing(struct engine *e)
{
        int64_t due = clock_mono_ns();
        while (!is_over(e)) {
                struct frame f = {
                    .wall_ns = clock_wall_ns(), .mono_ns = clock_mono_ns(), .provenance = ""};
                engine_take_in(e, &f, NULL);
                due += e->config.interval_ns;
                int64_t end = e->started_ns + e->config.duration_ns;
                engine_wait_until(e, e->config.duration_ns > 0 ? MIN(due, end) : due);
        }
}

void engine_sample(void *arg)
{
        struct engine *e = arg;
        if (e->source.ops)
                sample_source(e);
        else if (e->config.pipeline)
                sample_given(e);
        if (!e->source.ops && (!e->config.pipeline || e->config.until_stopped))
                sample_nothing(e);
        crew_lock(&e->crew);
        e->sampled = true;
        crew_request_stop(&e->crew);
        crew_unlock(&e->crew);
        if (e->host)
                host_beat_stop(e->host);
        engine_wake_waiters(e);
}
