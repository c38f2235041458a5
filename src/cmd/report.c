/* assay report: what happened in a run, and what held it back. */
#include "cmd/command.h"
#include "cmd/progress.h"
#include "lib/summarise.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int write_out(const struct config *config, struct strbuf *out, struct err *err)
{
        const char *path = config_text(config, OPT_OUTPUT);
        int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666)
                      : STDOUT_FILENO;
        if (fd < 0)
                return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
        int r = strbuf_flush(out, fd);
        if (path && close(fd) < 0 && r == 0)
                r = -errno;
        if (r < 0 && r != -EPIPE)
                return err_set(err, r, "cannot write: %s", strerror(-r));
        return 0;
}

static int report(const struct config *config, struct run_summary *r, struct err *err)
{
        const char *format =
            config_is_set(config, OPT_FORMAT) ? config_text(config, OPT_FORMAT) : "text";
        struct progress progress = {0};
        struct strbuf out = {0};
        r->on_tick = progress_tick;
        r->arg = &progress;
        int code = run_summary_read(r, config, config->args[1], format, err);
        progress_end(&progress);
        tell_notices(&r->notices);
        if (code == 0)
                code = run_summary_write(r, format, &out, err);
        if (code == 0)
                code = write_out(config, &out, err);
        strbuf_finish(&out);
        return code;
}

static int run(const struct config *config)
{
        struct err err = {0};
        struct run_summary *r = calloc(1, sizeof(*r));
        int code = 0;
        if (!r)
                return EXIT_FAILED;
        if (config->n_args != 2) {
                code = err_set(&err, ERR_USAGE, "a report is about one file");
                err_hint(&err, "write 'assay report run.assay'");
        }
        if (code == 0)
                code = report(config, r, &err);
        run_summary_finish(r);
        free(r);
        return code < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_report = {
    .name = "report",
    .args = "FILE",
    .summary = "tell what happened in a run, per GPU and phase, and what held it back",
    .reads_gpus = true,
    .run = run,
};
