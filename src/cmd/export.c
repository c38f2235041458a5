/* assay export: every tick as CSV or JSON lines. */
#include "app/input.h"
#include "app/output.h"
#include "base/strbuf.h"
#include "cmd/export_peer.h"
#include "cmd/export_stacks.h"
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
        struct node_reporter teller;
        bool cut_off; /* it was said that GPUs are left out */
};

static void on_stop(void *arg)
{
        pipeline_interrupt(arg);
}

/* A name that ends in .parquet, of a file that is absent, is meant as a place to write to. */
static int refuse_target(const struct config *config, const char *word, struct err *err)
{
        const char *from = config_text(config, OPT_SOURCE);
        err_set(err, ERR_USAGE, "export writes to the standard output, and not to '%s'", word);
        return err_hint(err, "assay convert '%s' '%s'", from ? from : "RECORDING", word);
}

static int take_source(struct config *config, const char *word, struct err *err)
{
        const char *end = strrchr(word, '.');
        if (end && strcmp(end, ".parquet") == 0 && access(word, F_OK) != 0)
                return refuse_target(config, word, err);
        if (config->settings[OPT_SOURCE].text &&
            config->settings[OPT_SOURCE].origin == ORIGIN_FLAG) {
                err_set(err, ERR_USAGE, "two sources: '%s' and '%s'",
                        config_text(config, OPT_SOURCE), word);
                return err_hint(err, "separate columns by commas, without blanks");
        }
        return config_put(config, OPT_SOURCE, word, err);
}

/* A word of two: columns when it names some, else a source; the second is a source. */
static int take_words(const struct config *given, struct config *config, struct err *err)
{
        const struct column *columns[COLUMNS_MAX];
        int r = config_copy(given, config);
        for (size_t i = 1; r == 0 && i < given->n_args; i++) {
                const char *word = given->args[i];
                bool file = strpbrk(word, "/.") || strcmp(word, "-") == 0 ||
                            input_is_address(word) || access(word, F_OK) == 0;
                if (i == 1 && columns_choose(word, columns, file ? NULL : err) >= 0)
                        r = config_put(config, OPT_EXPORT, word, err);
                else if (file || i > 1)
                        r = take_source(config, word, err);
                else
                        r = err->code;
        }
        return r;
}

static int export_prepare(const struct config *config, struct exporter *e, struct err *err)
{
        int n = columns_choose(config_text(config, OPT_EXPORT), e->csv.columns, err);
        if (n < 0)
                return n;
        /* The numbers of GPUs of several hosts are not enough to distinguish them. */
        const struct column *host[COLUMNS_MAX];
        if (setup_reads_nodes(config) && strcmp(config_text(config, OPT_EXPORT), "default") == 0 &&
            columns_choose("hostname", host, NULL) == 1)
                e->csv.columns[n++] = host[0];
        e->csv.n = (size_t)n;
        e->csv.end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n";
        e->json = strcmp(config_text(config, OPT_FORMAT), "jsonl") == 0;
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

/* At once: an export may never end, and some GPUs would be missing without a word. */
static void report_cut_off(struct exporter *e, const struct pipeline *p)
{
        char words[SETUP_NOTICE_MAX];
        if (e->cut_off || !pipeline_is_cut_off(p, words, sizeof(words)))
                return;
        notice("%s", words);
        e->cut_off = true;
}

/* 0 at the end, -EPIPE when the reader went away, or another negative code with err. */
static int stream_samples(const struct config *config, struct exporter *e, struct pipeline *p,
                          struct err *err)
{
        const struct frame *frame;
        int r = seek_start(config, p, &frame, err);
        if (r > 0 && !e->json)
                csv_write_header(&e->csv, &e->out);
        while (r > 0) {
                report_nodes(&e->teller, frame);
                report_cut_off(e, p);
                r = write_frame(e, frame);
                if (r < 0)
                        return err_set(err, r, "cannot write: %s", strerror(-r));
                if (life_stopping() || (e->ticks_left > 0 && --e->ticks_left == 0))
                        return 0;
                r = pipeline_next(p, &frame, err);
        }
        return r;
}

static int export_gpus(const struct config *config, struct err *err)
{
        struct exporter e = {0};
        struct pipeline *p = NULL;
        struct life_watch *watch = NULL;
        int r = export_prepare(config, &e, err);
        if (r == 0)
                r = output_check_fd(STDOUT_FILENO, "the standard output",
                                    config_text(config, OPT_SOURCE), err);
        if (r == 0)
                r = open_pipeline(config, e.json, &p, err);
        if (r == 0) {
                pipeline_want_limits(p, e.json || csv_wants_limits(&e.csv));
                life_watch_signals(on_stop, p, &watch);
                e.live = pipeline_is_live(p);
                r = stream_samples(config, &e, p, err);
                int flushed = r == -EPIPE ? 0 : strbuf_flush(&e.out, STDOUT_FILENO);
                if (r == 0 && flushed < 0)
                        r = err_set(err, flushed, "cannot write: %s", strerror(-flushed));
                if (r != -EPIPE && !e.cut_off)
                        report_trouble(p);
        }
        life_unwatch(watch);
        pipeline_close(p);
        strbuf_finish(&e.out);
        report_nodes_end(&e.teller);
        return r == -EPIPE ? 0 : r;
}

/* JSON has every value, and lines of its own; CSV has no columns of FLOP/s. */
static int check_columns(const struct config *config, struct err *err)
{
        static const enum option lines[] = {OPT_CRLF}, rates[] = {OPT_FLOPS};
        const char *columns = config_text(config, OPT_EXPORT);
        const char *format = config_text(config, OPT_FORMAT);
        if (strcmp(format, "csv") != 0 && strcmp(format, "jsonl") != 0) {
                err_set(err, ERR_USAGE, "--format %s is for stacks", format);
                return err_hint(err, "write for example: assay export stacks run.assay --format %s",
                                format);
        }
        if (strcmp(format, "jsonl") != 0)
                return config_flag(config, OPT_HOST)
                           ? 0
                           : config_refuse(config, rates, ARRAY_LEN(rates), "is for JSON",
                                           "leave it out, or add --format jsonl", err);
        if (config_is_given(config, OPT_EXPORT) && !columns_is_preset(columns)) {
                err_set(err, ERR_USAGE, "columns ('%s') are for CSV; JSON has every value",
                        columns);
                return err_hint(err, "leave out the columns, or --format jsonl");
        }
        return config_refuse(config, lines, ARRAY_LEN(lines), "is for CSV",
                             "leave it out, or --format jsonl", err);
}

static int check_use(const struct config *config, struct err *err)
{
        static const enum option own[] = {OPT_COLLECT};
        bool host = config_flag(config, OPT_HOST);
        int r = check_columns(config, err);
        if (r == 0 && !(host && strcmp(config_text(config, OPT_FORMAT), "jsonl") == 0))
                r = config_refuse(config, own, ARRAY_LEN(own), "is for JSON of the host",
                                  "leave it out, or add --host --format jsonl", err);
        if (r == 0 && !host)
                r = refuse_host_options(config, "add --host, or leave it out", err);
        return r;
}

static int export_run(const struct config *given)
{
        struct err err = {0};
        if (export_is_of_stacks(given))
                return export_stacks(given, &err) < 0 ? complain(&err) : EXIT_FINE;
        if (export_is_trace(given))
                return export_trace(given, &err) < 0 ? complain(&err) : EXIT_FINE;
        struct config config = {0};
        int r = take_words(given, &config, &err), status = EXIT_FINE;
        if (r == 0)
                r = check_use(&config, &err);
        if (r == 0 && config_flag(&config, OPT_PEER))
                r = export_peer(&config, &err);
        else if (r == 0 && config_flag(&config, OPT_HOST))
                status = export_host(&config);
        else if (r == 0)
                r = export_gpus(&config, &err);
        config_finish(&config);
        return r < 0 ? complain(&err) : status;
}

const struct command command_export = {
    .name = "export",
    .args = "[all|full|COLUMN,...|stacks|trace] [FILE|URL]",
    .summary = "stream every sample as CSV or JSON lines",
    .words = WORDS_OWN,
    .examples = {{"assay export", "CSV, one row a GPU and second"},
                 {"assay export all run.assay", "all columns of a recording"},
                 {"assay export trace run.assay > t.json", "for ui.perfetto.dev"}},
    .run = export_run,
};
