/* assay export: every tick as CSV or JSON lines. */
#include "app/output.h"
#include "base/strbuf.h"
#include "cmd/host.h"
#include "life/stop.h"
#include "present/stream/csv.h"
#include "present/stream/json.h"

#include <errno.h>
#include <string.h>

#define FLUSH_BYTES 65536

struct exporter {
        struct csv csv;
        bool json;
        bool live; /* flush each tick, because somebody waits for it */
        struct strbuf out;
        uint64_t ticks_left; /* 0 for no limit */
};

static void on_stop(void *arg)
{
        pipeline_interrupt(arg);
}

static int prepare(const struct config *config, struct exporter *e, struct err *err)
{
        const char *spec = config->n_args > 1 ? config->args[1] : config_text(config, OPT_EXPORT);
        if (config->n_args > 2) {
                err_set(err, ERR_USAGE, "'%s' is one word too many", config->args[2]);
                return err_hint(err, "separate columns by commas, without blanks");
        }
        int n = columns_choose(spec, e->csv.columns, err);
        if (n < 0)
                return n;
        e->csv.n = (size_t)n;
        e->csv.end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n";
        const char *format =
            config_is_set(config, OPT_FORMAT) ? config_text(config, OPT_FORMAT) : "csv";
        e->json = strcmp(format, "jsonl") == 0;
        if (!e->json && strcmp(format, "csv") != 0) {
                err_set(err, ERR_USAGE, "export cannot write %s", format);
                return err_hint(err, "choose csv or jsonl");
        }
        /* --export --once is how the dashboard before us wrote one moment. */
        e->ticks_left =
            config_flag(config, OPT_ONCE) ? 1 : (uint64_t)config_number(config, OPT_COUNT);
        return 0;
}

static int write_frame(struct exporter *e, const struct frame *frame)
{
        if (e->json) {
                for (size_t i = 0; i < frame->n; i++)
                        json_write_row(frame, &frame->rows[i], &e->out);
        } else {
                csv_write_frame(&e->csv, frame, &e->out);
        }
        if (!e->live && e->out.len < FLUSH_BYTES)
                return 0;
        return strbuf_flush(&e->out, STDOUT_FILENO);
}

/* 0 at the end, -EPIPE when the reader went away, or another negative code with err. */
static int stream(const struct config *config, struct exporter *e, struct pipeline *p,
                  struct err *err)
{
        const struct frame *frame;
        int r = seek_start(config, p, &frame, err);
        if (r > 0 && !e->json)
                csv_write_header(&e->csv, &e->out);
        while (r > 0) {
                r = write_frame(e, frame);
                if (r < 0)
                        return err_set(err, r, "cannot write: %s", strerror(-r));
                if (life_stopping() || (e->ticks_left > 0 && --e->ticks_left == 0))
                        return 0;
                r = pipeline_next(p, &frame, err);
        }
        return r;
}

static int run(const struct config *config)
{
        struct err err = {0};
        struct exporter e = {0};
        if (config_flag(config, OPT_HOST))
                return export_host(config);
        struct pipeline *p = NULL;
        struct life_watch *watch = NULL;
        int r = prepare(config, &e, &err);
        if (r == 0)
                r = output_check_fd(STDOUT_FILENO, "the standard output",
                                    config_text(config, OPT_SOURCE), &err);
        if (r == 0)
                r = open_pipeline(config, e.json, &p, &err);
        if (r == 0) {
                life_watch_signals(on_stop, p, &watch);
                e.live = pipeline_is_live(p);
                r = stream(config, &e, p, &err);
                int flushed = r == -EPIPE ? 0 : strbuf_flush(&e.out, STDOUT_FILENO);
                if (r == 0 && flushed < 0)
                        r = err_set(&err, flushed, "cannot write: %s", strerror(-flushed));
                if (r != -EPIPE)
                        report_trouble(p);
        }
        life_unwatch(watch);
        pipeline_close(p);
        strbuf_finish(&e.out);
        return r < 0 && r != -EPIPE ? complain(&err) : EXIT_FINE;
}

const struct command command_export = {
    .name = "export",
    .args = "[default|all|full|COLUMN,...]",
    .summary = "stream every tick as CSV or JSON lines",
    .group = "*",
    .run = run,
};
