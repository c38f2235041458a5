/* assay report: what happened in a run, and what held it back. */
#include "app/summarise.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MOST 1000

/* Reading changes nothing; this is asked for. */
static int recover(const char *path, struct err *err)
{
        size_t n;
        int r = session_recover(path, &n, err);
        if (r == 0)
                notice("%zu marks taken into '%s'", n, path);
        return r;
}

/* A terminal's columns, or 0. */
static size_t terminal_columns(void)
{
        struct winsize size;
        const char *said = getenv("COLUMNS");
        long columns = said ? strtol(said, NULL, 10) : 0;
        if (columns > 0)
                return (size_t)MIN(columns, COLUMNS_MOST);
        if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
                return size.ws_col;
        return 0;
}

static int report(const struct config *config, struct run_summary *r, struct err *err)
{
        const char *format = config_text(config, OPT_FORMAT);
        struct progress progress = {0};
        struct strbuf out = {0};
        r->view = (struct report_view){.columns = terminal_columns(),
                                       .all = config_flag(config, OPT_ALL),
                                       .each = config_flag(config, OPT_EACH)};
        r->on_tick = progress_tick;
        r->arg = &progress;
        int code = run_summary_read(r, config, config->args[1], format, err);
        progress_end(&progress);
        tell_notices(&r->notices);
        if (code == 0)
                code = run_summary_write(r, format, &out, err);
        if (code == 0)
                code = write_out(config, config->args[1], &out, err);
        strbuf_finish(&out);
        return code;
}

static int report_run(const struct config *config)
{
        struct err err = {0};
        struct run_summary *r = calloc(1, sizeof(*r));
        int code;
        if (!r) {
                err_set(&err, -ENOMEM, "out of memory");
                return complain(&err);
        }
        code = one_file(config, "assay report run.assay", &err);
        if (code == 0)
                code = check_out(config, config->args[1], &err);
        if (code == 0 && config_flag(config, OPT_RECOVER))
                code = recover(config->args[1], &err);
        if (code == 0)
                code = report(config, r, &err);
        run_summary_finish(r);
        free(r);
        return code < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_report = {
    .name = "report",
    .args = "FILE",
    .summary = "what happened in a run, per GPU and phase, and what to change",
    .words = WORDS_OWN,
    .examples = {{"assay report run.assay", "findings and tables as text"},
                 {"assay report run.assay --format html -o run.html", "as a web page"},
                 {"assay report run.assay --phase train", "one phase only"}},
    .run = report_run,
};
