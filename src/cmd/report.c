/* assay report: what happened in a run, and what held it back. */
#include "app/goodput.h"
#include "app/job.h"
#include "app/summarise.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "cmd/terminal.h"
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Reading changes nothing; this is asked for. */
static int recover_file(const char *path, struct err *err)
{
        size_t n;
        int r = session_recover(path, &n, err);
        if (r == 0)
                notice("%zu marks taken into '%s'", n, path);
        return r;
}

/* The text is a choice of what JSON and the page report: those cover all runs. */
static int refuse_for_format(const struct config *config, struct err *err)
{
        static const enum option list[] = {OPT_ALL, OPT_EACH};
        const char *format = out_format(config);
        if (strcmp(format, "resource-summary") != 0)
                return 0;
        return config_refuse(config, list, ARRAY_LEN(list), "is for the text",
                             "leave it out: the summary has fields of its own", err);
}

static int refuse_for_several(const struct config *config, bool listed, struct err *err)
{
        static const enum option one[] = {OPT_EACH, OPT_RECOVER}, list[] = {OPT_SORT};
        int r = config_refuse(config, one, ARRAY_LEN(one), "is for one recording",
                              "leave it out, or give one file", err);
        if (r == 0 && !listed)
                r = config_refuse(config, list, ARRAY_LEN(list), "is for a list of runs",
                                  "leave it out: the ranks of a job are in order", err);
        return r;
}

static int refuse_for_one(const struct config *config, struct err *err)
{
        static const enum option list[] = {OPT_SORT};
        return config_refuse(config, list, ARRAY_LEN(list), "is for a list of runs",
                             "leave it out, or give a folder", err);
}

static int report_input(const struct config *config, struct run_summary *r, struct err *err)
{
        const char *format = out_format(config);
        struct progress progress = {0};
        struct strbuf out = {0};
        r->view = (struct report_view){.columns = terminal_columns(),
                                       .all = config_flag(config, OPT_ALL),
                                       .each = config_flag(config, OPT_EACH)};
        r->wants_steps = true;
        r->on_tick = progress_tick;
        r->arg = &progress;
        int code = run_summary_read(r, config, config->args[1], format, err);
        progress_end(&progress);
        print_notices(&r->notices);
        if (code == 0)
                code = run_summary_write(r, format, &out, err);
        if (code == 0)
                code = write_out(config, config->args[1], &out, err);
        strbuf_finish(&out);
        return code;
}

/* What stands in a folder, or all files that are named: a job, or a list of runs. */
static int report_several(const struct config *config, struct job_reading *r, struct err *err)
{
        const char *format = out_format(config);
        struct progress progress = {0};
        struct strbuf out = {0};
        r->columns = terminal_columns();
        r->all = config_flag(config, OPT_ALL);
        r->sort = config_text(config, OPT_SORT);
        r->on_tick = progress_tick;
        r->arg = &progress;
        int code = check_out(config, r->folder.paths[0], err);
        if (code == 0)
                code = refuse_for_several(config, r->folder.kind == FOLDER_RUNS, err);
        if (code == 0)
                code = job_read(r, config, err);
        progress_end(&progress);
        print_notices(&r->notices);
        if (code == 0)
                code = job_write(r, format, &out, err);
        if (code == 0)
                code = write_out(config, r->folder.paths[0], &out, err);
        strbuf_finish(&out);
        return code;
}

/* Whether there were several: then code says how that went. */
static bool report_as_job(const struct config *config, int *code, struct err *err)
{
        struct job_reading r = {0};
        const char *const *paths = (const char *const *)config->args + 1;
        bool files = config->n_args > 2;
        if (config->n_args < 2)
                return false;
        int got = files ? folder_of_files(paths, config->n_args - 1, &r.folder)
                        : folder_read(paths[0], &r.folder);
        bool several = got < 0 || r.folder.kind != FOLDER_NONE;
        r.name = files ? NULL : paths[0];
        if (got < 0)
                *code = err_set(err, got, "out of memory");
        else if (several)
                *code = report_several(config, &r, err);
        job_reading_finish(&r);
        return several;
}

/* ---- the ledger ---- */

static int refuse_for_goodput(const struct config *config, struct err *err)
{
        static const enum option list[] = {OPT_ALL, OPT_EACH, OPT_SORT, OPT_RECOVER, OPT_PHASE};
        int r = config_refuse(config, list, ARRAY_LEN(list), "is not for --goodput",
                              "leave it out: the ledger is of whole runs", err);
        if (r == 0 && strcmp(out_format(config), "resource-summary") == 0) {
                err_set(err, ERR_USAGE, "--goodput cannot be written as resource-summary");
                r = err_hint(err, "choose text, json, html, csv or markdown");
        }
        if (r == 0 && config->n_args < 2) {
                err_set(err, ERR_USAGE, "no file to report on");
                r = err_hint(err, "assay report --goodput run.assay");
        }
        return r;
}

/* The sessions of a folder, or the files that are named. */
static int goodput_of_folder(const struct config *config, const struct folder *f,
                             struct strbuf *out, struct err *err)
{
        struct strbuf notices = {0};
        bool several = f->n > 0;
        const char *const *paths =
            several ? (const char *const *)f->paths : (const char *const *)config->args + 1;
        int r = goodput_report(config, paths, several ? f->n : config->n_args - 1,
                               out_format(config), terminal_columns(), &notices, out, err);
        print_notices(&notices);
        strbuf_finish(&notices);
        return r;
}

static int report_goodput(const struct config *config, struct err *err)
{
        struct folder f = {0};
        struct strbuf out = {0};
        int r = refuse_for_goodput(config, err);
        if (r == 0)
                r = check_out(config, config->args[1], err);
        if (r == 0 && config->n_args == 2 && folder_read(config->args[1], &f) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r == 0)
                r = goodput_of_folder(config, &f, &out, err);
        if (r == 0)
                r = write_out(config, config->args[1], &out, err);
        folder_finish(&f);
        strbuf_finish(&out);
        return r;
}

static int report_run(const struct config *config)
{
        struct err err = {0};
        int code = 0;
        if (config_flag(config, OPT_GOODPUT))
                return report_goodput(config, &err) < 0 ? complain(&err) : EXIT_FINE;
        code = refuse_for_format(config, &err);
        if (code < 0 || report_as_job(config, &code, &err))
                return code < 0 ? complain(&err) : EXIT_FINE;
        struct run_summary *r = calloc(1, sizeof(*r));
        if (!r) {
                err_set(&err, -ENOMEM, "out of memory");
                return complain(&err);
        }
        code = one_file(config, "assay report run.assay", &err);
        if (code == 0)
                code = refuse_for_one(config, &err);
        if (code == 0)
                code = check_out(config, config->args[1], &err);
        if (code == 0 && config_flag(config, OPT_RECOVER))
                code = recover_file(config->args[1], &err);
        if (code == 0)
                code = report_input(config, r, &err);
        run_summary_finish(r);
        free(r);
        return code < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_report = {
    .name = "report",
    .args = "FILE|FOLDER...",
    .summary = "what happened in a run, per GPU and phase, and what to change",
    .words = WORDS_OWN,
    .examples = {{"assay report run.assay", "findings and tables as text"},
                 {"assay report run.assay --format html -o run.html", "as a web page"},
                 {"assay report runs/", "a job, or a list of runs"}},
    .run = report_run,
};
