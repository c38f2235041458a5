#include "engine/feed.h"

#include "base/clock.h"
#include "engine/history.h"
#include "life/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#define CLOSE_PATIENCE_NS (50 * NS_PER_MS)
#define RETRY_FIRST_NS NS_PER_S
#define RETRY_MOST_NS (30 * NS_PER_S)

/* A frame with everything it points to. */
struct slot {
        struct frame frame;
        struct row *rows;
        struct entity *entities;
        size_t cap;
        struct process *processes;
        size_t process_cap;
        char provenance[64];
};

enum { BACK, READY, FRONT, SLOTS };

struct feed {
        struct crew crew; /* its news are wishes */
        int fd;

        struct feed_config config;
        struct source_texts texts; /* what config borrows from; outlives its owner */
        struct pipeline *pipeline; /* the thread's; guarded only against interruption */
        struct history *history;

        /* Wishes, under the lock. */
        bool pause, reopen, wish_seek, want_processes;
        int steps;
        int64_t seek_ns;

        /* What has become of it, under the lock. */
        struct feed_status status;
        int64_t published_mono_ns, asked_mono_ns;
        bool fresh;

        /* The thread's own, except that READY and FRONT change hands under the lock. */
        struct slot slots[SLOTS];
        bool begun;
        int64_t first_wall_ns, last_wall_ns;
        int64_t anchor_wall_ns, anchor_mono_ns;
};

/* --- the owner's side ---------------------------------------------------------------------- */

static void free_feed(struct crew *crew)
{
        struct feed *f = (struct feed *)crew;
        for (size_t i = 0; i < SLOTS; i++) {
                free(f->slots[i].rows);
                free(f->slots[i].entities);
                free(f->slots[i].processes);
        }
        source_free_texts(&f->texts);
        history_close(f->history);
        closep(&f->fd);
        free(f);
}

/* A pipe is read once. */
static bool can_wind(const struct pipeline_config *config)
{
        struct stat st;
        return config->ops->finite && config->source.location &&
               stat(config->source.location, &st) == 0 && S_ISREG(st.st_mode);
}

static void keep_feeding(void *arg);

int feed_open(const struct feed_config *config, struct feed **ret, struct err *err)
{
        struct feed *f = calloc(1, sizeof(*f));
        if (!f)
                return err_set(err, -ENOMEM, "out of memory");
        f->config = *config;
        f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        crew_init(&f->crew, free_feed);
        struct source_config *s = &f->config.pipeline.source;
        s->speed = 0;
        f->published_mono_ns = clock_mono_ns();
        f->status = (struct feed_status){.speed = config->speed,
                                         .replay = config->pipeline.ops->finite,
                                         .winds = can_wind(&config->pipeline),
                                         .interval_ns = s->poll_ns};
        f->wish_seek = config->start_ns > 0;
        f->seek_ns = config->start_ns;
        f->history = history_open(config->history);
        int r = f->fd < 0 || !f->history || !source_keep_texts(s, &f->texts)
                    ? -ENOMEM
                    : crew_start(&f->crew, keep_feeding, f);
        if (r < 0) {
                crew_leave(&f->crew, 0);
                return err_set(err, r, "cannot start reading: %s", strerror(-r));
        }
        *ret = f;
        return 0;
}

static void wake(struct feed *f)
{
        if (f->pipeline && (f->crew.stop || f->reopen))
                pipeline_interrupt(f->pipeline);
        crew_tell(&f->crew);
}

void feed_close(struct feed *f)
{
        if (!f)
                return;
        crew_lock(&f->crew);
        f->crew.stop = true;
        wake(f);
        crew_unlock(&f->crew);
        crew_leave(&f->crew, CLOSE_PATIENCE_NS);
}

int feed_fd(const struct feed *f)
{
        return f->fd;
}

const struct frame *feed_take(struct feed *f)
{
        uint64_t news;
        ssize_t n = read(f->fd, &news, sizeof(news));
        (void)n;
        crew_lock(&f->crew);
        if (f->fresh) {
                struct slot slot = f->slots[FRONT];
                f->slots[FRONT] = f->slots[READY];
                f->slots[READY] = slot;
                f->fresh = false;
        }
        /* The array moved, and with it the text the frame points to. */
        f->slots[FRONT].frame.provenance = f->slots[FRONT].provenance;
        const struct frame *frame = f->slots[FRONT].rows ? &f->slots[FRONT].frame : NULL;
        crew_unlock(&f->crew);
        return frame;
}

void feed_status(struct feed *f, struct feed_status *ret)
{
        int64_t now = clock_mono_ns();
        crew_lock(&f->crew);
        *ret = f->status;
        ret->age_ns = now - f->published_mono_ns;
        ret->busy_ns = f->asked_mono_ns ? now - f->asked_mono_ns : 0;
        if (f->pause && ret->state == FEED_RUNNING)
                ret->state = FEED_PAUSED;
        crew_unlock(&f->crew);
}

struct trends feed_trends(struct feed *f)
{
        return history_trends(f->history);
}

void feed_pause(struct feed *f, bool pause)
{
        crew_lock(&f->crew);
        f->pause = pause;
        f->anchor_mono_ns = 0;
        wake(f);
        crew_unlock(&f->crew);
}

void feed_step(struct feed *f, int by)
{
        int64_t before;
        crew_lock(&f->crew);
        int64_t now = f->slots[FRONT].frame.wall_ns;
        f->pause = true;
        if (by > 0) {
                f->steps = 1;
        } else if (f->status.winds && history_before(f->history, now, &before)) {
                f->wish_seek = true;
                f->seek_ns = before - f->first_wall_ns;
        }
        wake(f);
        crew_unlock(&f->crew);
}

bool feed_seek(struct feed *f, int64_t position_ns)
{
        position_ns = MAX(position_ns, (int64_t)0);
        crew_lock(&f->crew);
        bool can = f->status.winds || (f->status.replay && position_ns > f->status.position_ns);
        if (can) {
                f->wish_seek = true;
                f->seek_ns = position_ns;
        }
        wake(f);
        crew_unlock(&f->crew);
        return can;
}

void feed_set_speed(struct feed *f, double speed)
{
        crew_lock(&f->crew);
        f->status.speed = speed;
        f->anchor_mono_ns = 0;
        wake(f);
        crew_unlock(&f->crew);
}

void feed_see_host(struct feed *f, const struct host *host)
{
        crew_lock(&f->crew);
        if (f->pipeline)
                pipeline_see_host(f->pipeline, host);
        crew_unlock(&f->crew);
}

void feed_want_processes(struct feed *f, bool want)
{
        crew_lock(&f->crew);
        f->want_processes = want;
        if (f->pipeline)
                pipeline_want_processes(f->pipeline, want);
        crew_unlock(&f->crew);
}

void feed_set_interval(struct feed *f, int64_t ns)
{
        crew_lock(&f->crew);
        f->status.interval_ns = MAX(ns, f->config.pipeline.ops->poll_floor_ns);
        f->reopen = !f->status.replay;
        wake(f);
        crew_unlock(&f->crew);
}

/* --- the thread's side --------------------------------------------------------------------- */

static void tell(struct feed *f)
{
        uint64_t one = 1;
        ssize_t n = write(f->fd, &one, sizeof(one));
        (void)n;
}

static void set_state(struct feed *f, enum feed_state state, const struct err *err)
{
        crew_lock(&f->crew);
        f->status.state = state;
        if (err)
                f->status.err = *err;
        if (f->pipeline)
                pipeline_trouble(f->pipeline, &f->status.trouble);
        crew_unlock(&f->crew);
        tell(f);
}

/* A list that cannot be copied is left out of the frame. */
static void copy_processes(const struct process_list *from, struct slot *to)
{
        to->frame.processes = (struct process_list){0};
        if (from->n > to->process_cap) {
                struct process *list = realloc(to->processes, from->n * sizeof(*list));
                if (!list)
                        return;
                to->processes = list;
                to->process_cap = from->n;
        }
        if (from->n > 0)
                memcpy(to->processes, from->list, from->n * sizeof(*from->list));
        to->frame.processes = (struct process_list){to->processes, from->n};
}

static int copy_frame(const struct frame *from, struct slot *to)
{
        if (from->n > to->cap || !to->rows) {
                size_t n = MAX(from->n, (size_t)1);
                struct row *rows = realloc(to->rows, n * sizeof(*rows));
                if (rows)
                        to->rows = rows;
                struct entity *entities = realloc(to->entities, n * sizeof(*entities));
                if (entities)
                        to->entities = entities;
                if (!rows || !entities)
                        return -ENOMEM;
                to->cap = n;
        }
        to->frame = *from;
        to->frame.rows = to->rows;
        memcpy(to->rows, from->rows, from->n * sizeof(*from->rows));
        for (size_t i = 0; i < from->n; i++) {
                to->entities[i] = *from->rows[i].sample.who;
                to->rows[i].sample.who = &to->entities[i];
        }
        copy_processes(&from->processes, to);
        snprintf(to->provenance, sizeof(to->provenance), "%s", from->provenance);
        return 0;
}

static int publish(struct feed *f, const struct frame *frame)
{
        int r = copy_frame(frame, &f->slots[BACK]);
        if (r < 0)
                return r;
        crew_lock(&f->crew);
        struct slot slot = f->slots[BACK];
        f->slots[BACK] = f->slots[READY];
        f->slots[READY] = slot;
        f->fresh = true;
        f->published_mono_ns = clock_mono_ns();
        f->status.ticks++;
        f->status.state = FEED_RUNNING;
        f->status.position_ns = frame->wall_ns - f->first_wall_ns;
        crew_unlock(&f->crew);
        tell(f);
        return 0;
}

/* Time only grows within one opening, so the first spacing seen stands for all. */
static int remember(struct feed *f, const struct frame *frame)
{
        crew_lock(&f->crew);
        if (!f->begun)
                f->first_wall_ns = frame->wall_ns;
        else if (f->status.replay && f->status.ticks <= 1 && frame->wall_ns > f->last_wall_ns)
                f->status.interval_ns = frame->wall_ns - f->last_wall_ns;
        f->begun = true;
        f->last_wall_ns = frame->wall_ns;
        crew_unlock(&f->crew);
        return history_push(f->history, frame);
}

/* When a frame of a capture is due; INT64_MAX while paused. Called with the lock held. */
static int64_t due(struct feed *f, int64_t wall_ns)
{
        if (f->pause)
                return INT64_MAX;
        if (f->status.speed <= 0 || f->status.ticks == 0)
                return 0;
        if (f->anchor_mono_ns == 0) {
                f->anchor_mono_ns = clock_mono_ns();
                f->anchor_wall_ns = f->first_wall_ns + f->status.position_ns;
        }
        return f->anchor_mono_ns +
               (int64_t)((double)(wall_ns - f->anchor_wall_ns) / f->status.speed);
}

/* Waits for the moment of a capture's frame. False when something else is wished first. */
static bool wait_for_turn(struct feed *f, int64_t wall_ns)
{
        bool turn = false;
        crew_lock(&f->crew);
        while (!turn && !f->crew.stop && !f->wish_seek) {
                int64_t when = due(f, wall_ns);
                turn = f->steps > 0 || when <= clock_mono_ns();
                if (!turn)
                        crew_wait(&f->crew, when);
        }
        if (turn)
                f->steps = 0;
        crew_unlock(&f->crew);
        return turn;
}

static int ask(struct feed *f, const struct frame **ret, struct err *err)
{
        crew_lock(&f->crew);
        f->asked_mono_ns = clock_mono_ns();
        crew_unlock(&f->crew);
        int r = pipeline_next(f->pipeline, ret, err);
        crew_lock(&f->crew);
        f->asked_mono_ns = 0;
        crew_unlock(&f->crew);
        return r;
}

static void close_pipeline(struct feed *f)
{
        crew_lock(&f->crew);
        struct pipeline *p = f->pipeline;
        f->pipeline = NULL;
        crew_unlock(&f->crew);
        pipeline_close(p);
}

static int open_pipeline(struct feed *f, struct err *err)
{
        struct pipeline *p = NULL;
        crew_lock(&f->crew);
        if (!f->status.replay)
                f->config.pipeline.source.poll_ns = f->status.interval_ns;
        f->asked_mono_ns = clock_mono_ns();
        f->reopen = false;
        crew_unlock(&f->crew);
        int r = pipeline_open(&f->config.pipeline, &p, err);
        crew_lock(&f->crew);
        f->asked_mono_ns = 0;
        f->pipeline = p;
        f->begun = false;
        if (p)
                pipeline_want_processes(p, f->want_processes);
        crew_unlock(&f->crew);
        return r;
}

static bool wants_reopening(struct feed *f)
{
        crew_lock(&f->crew);
        bool reopen = f->reopen;
        crew_unlock(&f->crew);
        return reopen;
}

/* Reads to the wished time without waiting; from the beginning when it is behind. */
static int seek(struct feed *f, struct err *err)
{
        const struct frame *frame = NULL, *next;
        crew_lock(&f->crew);
        int64_t target = f->seek_ns;
        bool back = f->begun && f->first_wall_ns + target <= f->last_wall_ns;
        f->wish_seek = false;
        f->steps = 0;
        f->anchor_mono_ns = 0;
        crew_unlock(&f->crew);
        int r = 1;
        if (back) {
                close_pipeline(f);
                r = open_pipeline(f, err);
                r = r < 0 ? r : 1;
        }
        while (r > 0 && !crew_stopping(&f->crew) && (r = ask(f, &next, err)) > 0) {
                frame = next;
                r = remember(f, frame) < 0 ? -ENOMEM : 1;
                if (frame->wall_ns - f->first_wall_ns >= target)
                        break;
        }
        /* Beyond the end is the end. */
        if (r >= 0 && frame && publish(f, frame) < 0)
                r = -ENOMEM;
        return r;
}

/* One frame of a capture: read, wait for its moment, show. 0 at the end. */
static int play(struct feed *f, struct err *err)
{
        const struct frame *frame;
        int r = ask(f, &frame, err);
        if (r <= 0)
                return r;
        bool turn = wait_for_turn(f, frame->wall_ns);
        if (remember(f, frame) < 0 || (turn && publish(f, frame) < 0))
                return err_set(err, -ENOMEM, "out of memory");
        return 1;
}

static int watch(struct feed *f, struct err *err)
{
        const struct frame *frame;
        int r = ask(f, &frame, err);
        if (r <= 0)
                return r;
        crew_lock(&f->crew);
        bool show = !f->pause || f->steps > 0 || f->status.ticks == 0;
        f->steps = 0;
        crew_unlock(&f->crew);
        if (remember(f, frame) < 0 || (show && publish(f, frame) < 0))
                return err_set(err, -ENOMEM, "out of memory");
        return 1;
}

/* At the end of a capture: until somebody winds it back. */
static void wait_at_end(struct feed *f)
{
        crew_lock(&f->crew);
        f->status.duration_ns = f->last_wall_ns - f->first_wall_ns;
        crew_unlock(&f->crew);
        set_state(f, FEED_ENDED, NULL);
        crew_lock(&f->crew);
        while (!f->crew.stop && !f->wish_seek)
                crew_wait(&f->crew, INT64_MAX);
        crew_unlock(&f->crew);
}

/* After a failure: false when there is no use in trying again. */
static bool wait_to_retry(struct feed *f, const struct err *err, int64_t *patience)
{
        set_state(f, FEED_FAILED, err);
        crew_lock(&f->crew);
        /* What was there comes back; what is not there yet may come. */
        bool again = !f->status.replay && (f->status.ticks > 0 || err->code == ERR_NO_SOURCE);
        int64_t until = again ? clock_mono_ns() + *patience : INT64_MAX;
        while (!f->crew.stop && !f->reopen && clock_mono_ns() < until)
                crew_wait(&f->crew, until);
        crew_unlock(&f->crew);
        *patience = MIN(*patience * 2, RETRY_MOST_NS);
        return again;
}

static int go_on(struct feed *f, struct err *err)
{
        crew_lock(&f->crew);
        bool seeking = f->wish_seek, reopen = f->reopen || !f->pipeline;
        crew_unlock(&f->crew);
        if (reopen) {
                close_pipeline(f);
                int r = open_pipeline(f, err);
                return r < 0 ? r : 1;
        }
        if (seeking)
                return seek(f, err);
        return f->status.replay ? play(f, err) : watch(f, err);
}

static void keep_feeding(void *arg)
{
        struct feed *f = arg;
        int64_t patience = RETRY_FIRST_NS;
        bool go = true;
        while (go && !crew_stopping(&f->crew)) {
                struct err err = {0};
                int r = go_on(f, &err);
                if (r > 0) {
                        patience = f->status.ticks > 0 && f->begun ? RETRY_FIRST_NS : patience;
                        continue;
                }
                if (crew_stopping(&f->crew))
                        break;
                if (r == 0 && !wants_reopening(f))
                        wait_at_end(f);
                else if (r < 0) {
                        close_pipeline(f);
                        go = wait_to_retry(f, &err, &patience);
                }
        }
        close_pipeline(f);
}
