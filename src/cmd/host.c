/* The host's side of export and once. */
#include "cmd/host.h"

#include "app/input.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "engine/feed.h"
#include "life/beat.h"
#include "life/stop.h"
#include "present/stream/host_csv.h"
#include "present/stream/host_json.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

void raise_descriptor_limit(void)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
                return;
        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)65536);
        setrlimit(RLIMIT_NOFILE, &limit);
}

int open_host(const struct config *config, struct host_view **ret, struct err *err)
{
        struct host_config hc;
        int r = setup_host(config, &hc, err);
        if (r < 0)
                return r;
        raise_descriptor_limit();
        return host_view_open(&hc, ret, err);
}

int open_host_of(const struct config *config, int32_t pid, struct host_view **ret, struct err *err)
{
        struct host_config hc = {0};
        int r = setup_host(config, &hc, err);
        if (r < 0)
                return r;
        hc.pid = pid ? pid : hc.pid;
        hc.levels |= hc.pid ? LEVEL_BIT((unsigned)LEVEL_PROCESS) : 0;
        raise_descriptor_limit();
        return host_view_open(&hc, ret, err);
}

bool shows_host(const struct config *config)
{
        return config_flag(config, OPT_HOST) || !config_is_set(config, OPT_SOURCE);
}

/* The level that a user asked for by name or number, and that is not there. */
static int tell_absent(const struct host *h, enum level level, struct err *err)
{
        const struct level_state *l = &h->levels[level];
        err_set(err, ERR_NO_SOURCE, "there is no level '%s': %s", level_name(level),
                l->why[0] ? l->why : "it is not on this machine");
        return err_hint(err, "'assay once --host' shows the levels that are there");
}

int check_levels(const struct config *config, const struct host *h, struct err *err)
{
        const struct level_state *job = &h->levels[LEVEL_SLURM];
        enum level first = LEVEL_COUNT;
        if (config_is_set(config, OPT_JOB) && job->asked && !job->present)
                return tell_absent(h, LEVEL_SLURM, err);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (h->levels[l].present)
                        return 0;
                if (h->levels[l].asked && first == LEVEL_COUNT)
                        first = l;
        }
        return first < LEVEL_COUNT ? tell_absent(h, first, err) : 0;
}

struct host_exporter {
        struct host_view *view;
        struct beat beat;
        struct strbuf out;
        const char *end;
        bool json, header_written, follows_target;
        struct feed *gpus; /* NULL when there is no GPU source */
        struct gpu_use use;
        size_t n_cores, n_gpus;
        uint64_t ticks_left; /* 0 for no limit */
};

static void write_host(struct host_exporter *e, const struct host *h)
{
        if (e->json) {
                host_json_rows(h, &e->out);
                return;
        }
        if (!e->header_written) {
                e->n_cores = h->n_cores;
                e->n_gpus = h->n_gpus;
                host_csv_header(h, e->end, &e->out);
                e->header_written = true;
        }
        host_csv_rows(h, e->n_cores, e->n_gpus, e->end, &e->out);
}

/* The target and all it started have ended: nothing more will change. */
static bool is_over(const struct host_exporter *e, const struct host *h)
{
        const struct level_state *l = &h->levels[LEVEL_PROCESS];
        return e->follows_target && l->present && l->f[FIGURE_PROCESSES].v == 0;
}

/* The GPUs' newest values, and who holds them. */
static void see_gpus(struct host_exporter *e)
{
        const struct frame *frame = e->gpus ? feed_take(e->gpus) : NULL;
        if (!frame)
                return;
        gpu_use_take(&e->use, frame);
        host_view_see(e->view, &e->use);
}

static int write_tick(struct host_exporter *e, bool *ret_over, struct err *err)
{
        struct host *h;
        beat_take(&e->beat, clock_mono_ns());
        see_gpus(e);
        int r = host_view_tick(e->view, &h, err);
        if (r < 0)
                return r;
        h->asked = e->beat.asked;
        h->taken = e->beat.taken;
        h->late = e->beat.late;
        h->missed = e->beat.missed;
        *ret_over = is_over(e, h);
        host_view_join(e->view, h, &e->use);
        write_host(e, h);
        r = strbuf_flush(&e->out, STDOUT_FILENO);
        return r < 0 && r != -EPIPE ? err_set(err, r, "cannot write: %s", strerror(-r)) : r;
}

/* The first tick only sets the counters that rates need, so it is taken and not written. */
static int stream_host(struct host_exporter *e, const struct config *config, int64_t interval_ns,
                       struct err *err)
{
        struct host *h;
        bool over = false;
        beat_start(&e->beat, clock_mono_ns() + interval_ns, interval_ns);
        see_gpus(e);
        int r = host_view_tick(e->view, &h, err);
        if (r == 0)
                r = check_levels(config, h, err);
        while (r == 0 && !over && beat_sleep(&e->beat, -1, life_stopping)) {
                r = write_tick(e, &over, err);
                if (e->ticks_left > 0 && --e->ticks_left == 0)
                        break;
        }
        return r;
}

#define GPUS_PATIENCE_MS 2000

/* A machine without GPUs has a host all the same. The header needs to know which GPUs there are. */
static struct feed *open_gpus(const struct config *config)
{
        struct feed_config fc = {.speed = 1, .history = 2};
        struct feed *feed = NULL;
        struct feed_status status;
        struct err err;
        if (prepare_pipeline(config, false, &fc.pipeline, &err) < 0 ||
            feed_open(&fc, &feed, &err) < 0)
                return NULL;
        feed_want_processes(feed, true);
        struct pollfd news = {feed_fd(feed), POLLIN, 0};
        poll(&news, 1, GPUS_PATIENCE_MS);
        feed_status(feed, &status);
        if (feed_take(feed) || status.state != FEED_FAILED)
                return feed;
        feed_close(feed);
        return NULL;
}

/* Of a recorded host only the levels that are asked for. */
static const struct host *chosen_levels(const struct host *h, unsigned levels, struct host *scratch)
{
        *scratch = *h;
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                scratch->levels[l].present = h->levels[l].present && levels & LEVEL_BIT(l);
        return scratch;
}

/* What a recording has of the host it was made on: this machine says nothing about that. */
static int stream_recorded(struct host_exporter *e, const struct config *config, struct input *in,
                           struct err *err)
{
        const char *path = config_text(config, OPT_SOURCE);
        struct host_config asked;
        const struct host *h;
        int got = 0, r = setup_host(config, &asked, err);
        CLEANUP(freep) struct host *scratch = malloc(sizeof(*scratch));
        if (r == 0)
                r = scratch ? input_open(in, path, err) : err_set(err, -ENOMEM, "out of memory");
        if (r == 0 && (input_levels(in) & asked.levels) == 0) {
                err_set(err, ERR_NO_SOURCE, "'%s' has nothing of the host%s", path,
                        input_levels(in) ? " at these levels" : "");
                r = err_hint(err,
                             "sessions have it: give one, or leave out --source for this host");
        }
        while (r == 0 && (got = input_next_host(in, &h, err)) > 0) {
                write_host(e, chosen_levels(h, asked.levels, scratch));
                r = strbuf_flush(&e->out, STDOUT_FILENO);
                if (r < 0 && r != -EPIPE)
                        err_set(err, r, "cannot write: %s", strerror(-r));
                if (e->ticks_left > 0 && --e->ticks_left == 0)
                        break;
        }
        return r < 0 ? r : got < 0 ? got : 0;
}

static int export_recorded(struct host_exporter *e, const struct config *config)
{
        struct err err = {0};
        struct input in = {0};
        int r = stream_recorded(e, config, &in, &err);
        input_finish(&in);
        strbuf_finish(&e->out);
        return r < 0 && r != -EPIPE ? complain(&err) : EXIT_FINE;
}

static bool is_recording(const struct config *config)
{
        const char *source = config_text(config, OPT_SOURCE);
        return source && !input_is_address(source);
}

int export_host(const struct config *config)
{
        struct err err = {0};
        struct host_exporter e = {
            .end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n",
            .json = strcmp(config_text(config, OPT_FORMAT), "jsonl") == 0,
            .follows_target = config_is_set(config, OPT_PID),
            .ticks_left = (uint64_t)config_number(config, OPT_COUNT),
        };
        struct life_watch *watch = NULL;
        int64_t poll = 0;
        if (is_recording(config))
                return export_recorded(&e, config);
        int r = setup_interval(config, &poll, &err);
        if (r == 0)
                r = open_host(config, &e.view, &err);
        if (r == 0) {
                life_watch_signals(NULL, NULL, &watch);
                e.gpus = open_gpus(config);
                r = stream_host(&e, config, poll, &err);
                life_unwatch(watch);
        }
        if (e.beat.missed > 0 && r == 0)
                notice("%llu of %llu ticks were missed, because one took longer than --poll",
                       (unsigned long long)e.beat.missed, (unsigned long long)e.beat.asked);
        feed_close(e.gpus);
        host_view_close(e.view);
        strbuf_finish(&e.out);
        return r < 0 && r != -EPIPE ? complain(&err) : EXIT_FINE;
}
