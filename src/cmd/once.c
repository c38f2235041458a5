/* assay once: one frame, as a table, CSV or JSON. */
#include "base/strbuf.h"
#include "cmd/command.h"
#include "present/csv.h"
#include "present/json.h"
#include "present/table.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#define WIDTH_WITHOUT_TERMINAL 100
#define WIDTH_MIN 60

static unsigned table_width(const struct config *config)
{
        struct winsize size;
        unsigned width = (unsigned)config_number(config, OPT_WIDTH);
        if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
                width = size.ws_col;
        if (width == 0)
                width = WIDTH_WITHOUT_TERMINAL;
        return MAX(width, (unsigned)WIDTH_MIN);
}

static int write_csv(const struct config *config, const struct frame *frame, struct strbuf *out)
{
        struct csv csv = {.end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n"};
        csv.n = (size_t)columns_choose("all", csv.columns, NULL);
        csv_write_header(&csv, out);
        csv_write_frame(&csv, frame, out);
        return 0;
}

static int has_focus(const struct frame *frame, const char *focus, struct err *err)
{
        for (size_t i = 0; i < frame->n; i++) {
                if (strcmp(frame->rows[i].sample.who->label, focus) == 0)
                        return 0;
        }
        err_set(err, ERR_USAGE, "--focus-gpu: there is no GPU '%s'", focus);
        return err_hint(err, "'assay once' without it lists those that are there");
}

static int write_frame(const struct config *config, const struct frame *frame, struct strbuf *out,
                       struct err *err)
{
        if (config_flag(config, OPT_JSON)) {
                json_write_frame(frame, program_version, out);
                return 0;
        }
        if (config_flag(config, OPT_CSV))
                return write_csv(config, frame, out);
        struct table_options options = {.version = program_version,
                                        .width = table_width(config),
                                        .ascii = config_flag(config, OPT_ASCII),
                                        .focus = config_text(config, OPT_FOCUS_GPU)};
        if (options.focus && has_focus(frame, options.focus, err) < 0)
                return err->code;
        table_write(frame, &options, out);
        return 0;
}

static int show(const struct config *config, struct pipeline *p, struct strbuf *out,
                struct err *err)
{
        const struct frame *frame;
        int r = seek_start(config, p, &frame, err);
        if (r > 0)
                r = write_frame(config, frame, out, err);
        if (r < 0)
                return r;
        r = strbuf_flush(out, STDOUT_FILENO);
        if (r < 0 && r != -EPIPE)
                return err_set(err, r, "cannot write: %s", strerror(-r));
        report_trouble(p);
        return 0;
}

static int run(const struct config *config)
{
        struct err err = {0};
        struct pipeline *p = NULL;
        struct strbuf out = {0};
        int r = open_pipeline(config, true, &p, &err);
        if (r == 0)
                r = show(config, p, &out, &err);
        pipeline_close(p);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_once = {
    .name = "once",
    .args = "",
    .summary = "show one moment as a table, and why each GPU is what it is",
    .reads_gpus = true,
    .run = run,
};
