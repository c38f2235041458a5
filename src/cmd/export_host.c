/* assay export --host: one row a level and tick of the host, of now or as it was recorded. */
#include "app/collect_now.h"
#include "app/input.h"
#include "base/clock.h"
#include "cmd/host.h"
#include "cmd/recording.h"
#include "engine/engine.h"
#include "life/stop.h"
#include "life/thread.h"
#include "present/stream/collected.h"
#include "present/stream/columns.h"
#include "present/stream/host_csv.h"
#include "present/stream/host_json.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

struct host_exporter {
        const struct config *config;
        struct strbuf out;
        const char *end;
        bool json, header_written;
        size_t n_cores, n_gpus;
        uint64_t ticks_left;         /* 0 for no limit */
        struct collect_now *numbers; /* of the user's own; NULL for none */

        /* Of now: ticks are written on the host's thread. */
        int done;              /* an eventfd: it is over, or asked to be */
        bool over;             /* nothing more is written */
        atomic_bool sees_gpus; /* the header can name them */
        int64_t started_ns;
        bool hung;      /* the host or a driver never answered */
        struct err err; /* why it ended; code 0 when it did not fail */
};

static void write_host(struct host_exporter *e, const struct host *h)
{
        if (e->json) {
                struct collected list[COLLECTED_MAX];
                host_json_rows(h, &e->out);
                /* The line of the whole machine is the last. */
                if (h->levels[LEVEL_SYSTEM].present)
                        collected_json_append(list, collect_now_read(e->numbers, list), &e->out);
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

/* 0, -EPIPE when the reader went away, or another negative code with err. */
static int flush_out(struct host_exporter *e, struct err *err)
{
        int r = strbuf_flush(&e->out, STDOUT_FILENO);
        return r < 0 && r != -EPIPE ? err_set(err, r, "cannot write: %s", strerror(-r)) : r;
}

/* The header names the GPUs, so they are waited for. */
#define GPUS_PATIENCE_NS (2 * NS_PER_S)

static bool waits_for_gpus(const struct host_exporter *e)
{
        return !e->header_written && !atomic_load(&e->sees_gpus) &&
               clock_mono_ns() - e->started_ns < GPUS_PATIENCE_NS;
}

/* The first tick only sets the counters that rates need, so it is taken and not written. */
static void on_host(void *arg, const struct host *h)
{
        struct host_exporter *e = arg;
        if (e->over || life_stopping())
                return;
        bool first = h->interval_ns == 0;
        e->over = first && check_levels(e->config, h, &e->err) < 0;
        if (!first && !waits_for_gpus(e)) {
                write_host(e, h);
                e->over = flush_out(e, &e->err) < 0 || (e->ticks_left > 0 && --e->ticks_left == 0);
        }
        if (e->over)
                life_wake(e->done);
}

static void on_frame(void *arg, const struct frame *frame UNUSED)
{
        struct host_exporter *e = arg;
        atomic_store(&e->sees_gpus, true);
}

static void on_source_end(void *arg, const struct err *source UNUSED)
{
        on_frame(arg, NULL);
}

static void on_stop(void *arg)
{
        life_wake(((struct host_exporter *)arg)->done);
}

static void wait_for_end(struct host_exporter *e, struct engine *r)
{
        struct life_watch *watch = NULL;
        struct pollfd fds[] = {{.fd = e->done, .events = POLLIN},
                               {.fd = engine_fd(r), .events = POLLIN}};
        life_watch_signals(on_stop, e, &watch);
        while (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno == EINTR)
                ;
        life_unwatch(watch);
}

static int stream_host(struct host_exporter *e, struct host_view *view, struct pipeline *p,
                       int64_t interval_ns, struct engine_result *ret, struct err *err)
{
        struct engine *engine = NULL;
        const struct engine_config rc = {.pipeline = p,
                                         .interval_ns = interval_ns,
                                         .until_stopped = true,
                                         .host = view,
                                         .host_interval_ns = interval_ns,
                                         .ends_with_target = config_is_set(e->config, OPT_PID),
                                         .on_frame = on_frame,
                                         .on_host = on_host,
                                         .on_source_end = on_source_end,
                                         .arg = e};
        e->started_ns = clock_mono_ns();
        atomic_store(&e->sees_gpus, !p);
        int r = engine_start(&rc, &engine, err);
        if (r < 0)
                return r;
        wait_for_end(e, engine);
        engine_finish(engine, ret);
        if (e->err.code == 0 && ret->host.code != 0)
                e->err = ret->host;
        *err = e->err;
        return err->code;
}

/* A machine without GPUs has a host all the same. */
static int open_gpus(const struct config *config, struct pipeline **ret, struct err *err)
{
        char text[SETUP_NOTICE_MAX];
        int r = setup_open_soon(config, config_text(config, OPT_SOURCE), 1, SETUP_PATIENCE_NS,
                                false, ret, text, err);
        if (r == 0 && text[0])
                notice("%s", text);
        return r == ERR_USAGE ? r : 0;
}

static int export_live(struct host_exporter *e)
{
        struct err err = {0};
        struct engine_result result = {0};
        struct host_view *view = NULL;
        struct pipeline *p = NULL;
        int64_t poll = 0;
        int r = setup_interval(e->config, &poll, &err);
        if (r == 0)
                r = open_host(e->config, &view, &err);
        e->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (r == 0)
                r = open_gpus(e->config, &p, &err);
        if (r == 0)
                r = stream_host(e, view, p, poll, &result, &err);
        if (result.host_missed > 0 && r == 0)
                notice("%llu of %llu ticks were missed, because one took longer than --poll",
                       (unsigned long long)result.host_missed,
                       (unsigned long long)result.host_asked);
        e->hung = result.hung;
        if (!result.hung) {
                pipeline_close(p);
                host_view_close(view);
        }
        return r < 0 ? complain(&err) : EXIT_FINE;
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
        int64_t skip_ns = clock_from_seconds(config_number(config, OPT_AT)), first_ns = INT64_MAX;
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
                first_ns = first_ns == INT64_MAX ? h->wall_ns : first_ns;
                if (h->wall_ns - first_ns < skip_ns)
                        continue;
                write_host(e, chosen_levels(h, asked.levels, scratch));
                r = flush_out(e, err);
                if (e->ticks_left > 0 && --e->ticks_left == 0)
                        break;
        }
        return r < 0 ? r : got < 0 ? got : 0;
}

static int export_recorded(struct host_exporter *e)
{
        struct err err = {0};
        struct input in = {0};
        int r = stream_recorded(e, e->config, &in, &err);
        input_finish(&in);
        return r < 0 && r != -EPIPE ? complain(&err) : EXIT_FINE;
}

/* All columns of a host are written, whichever set is named. */
static int refuse_columns(const struct config *config, struct err *err)
{
        const char *columns = config_text(config, OPT_EXPORT);
        if (!config_is_given(config, OPT_EXPORT) || columns_is_preset(columns))
                return 0;
        err_set(err, ERR_USAGE, "columns ('%s') are of GPUs; a host has columns of its own",
                columns);
        return err_hint(err, "leave out the columns, or --host");
}

/* Samples of GPUs are not what is written, and a recording's levels are as they were. */
static int refuse_others(const struct config *config, bool recorded, struct err *err)
{
        static const enum option gpus[] = {OPT_FLOPS, OPT_WEIGHTS, OPT_MISSING,     OPT_SPEED,
                                           OPT_HOSTS, OPT_SLURM,   OPT_NO_PROFILING};
        static const enum option live[] = {OPT_GPUS, OPT_SHOW_ALL, OPT_POLL, OPT_PID,    OPT_USER,
                                           OPT_JOB,  OPT_CGROUP,   OPT_PSS,  OPT_COLLECT};
        static const enum option past[] = {OPT_AT};
        int r = config_refuse(config, gpus, ARRAY_LEN(gpus), "is about GPUs, not about a host",
                              "leave it out, or --host", err);
        if (r == 0)
                r = refuse_columns(config, err);
        if (r == 0 && recorded)
                r = config_refuse(config, live, ARRAY_LEN(live), "is about this host now",
                                  "leave it out: a recording has the host as it was", err);
        if (r == 0 && !recorded)
                r = config_refuse(config, past, ARRAY_LEN(past), "is a moment of a recording",
                                  "leave it out, or give a recording", err);
        return r;
}

int export_host(const struct config *config)
{
        struct err err = {0};
        bool recorded = input_is_recording(config_text(config, OPT_SOURCE));
        if (refuse_others(config, recorded, &err) < 0)
                return complain(&err);
        struct host_exporter *e = calloc(1, sizeof(*e));
        if (!e)
                return EXIT_FAILED;
        e->config = config;
        e->end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n";
        e->json = strcmp(config_text(config, OPT_FORMAT), "jsonl") == 0;
        e->ticks_left =
            config_flag(config, OPT_ONCE) ? 1 : (uint64_t)config_number(config, OPT_COUNT);
        e->done = -1;
        if (collect_now_start(config, recording_report_collector, &e->numbers, &err) < 0) {
                free(e);
                return complain(&err);
        }
        int status = recorded ? export_recorded(e) : export_live(e);
        if (e->hung)
                return status; /* a thread that hangs still uses it */
        collect_now_stop(e->numbers);
        strbuf_finish(&e->out);
        closep(&e->done);
        free(e);
        return status;
}
