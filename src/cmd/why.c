/* assay why: why a job does not continue, on one page. */
#include "app/why.h"
#include "app/input.h"
#include "base/num.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "present/document/document.h"
#include "present/why/why.h"

#include <errno.h>
#include <string.h>

#define NOT_KNOWN 3

/* What it is about: a process, a recording, or (both empty) what holds a GPU. */
struct why_of {
        int32_t pid;
        const char *file;
};

static int find_subject(const struct config *config, struct why_of *ret, struct err *err)
{
        const char *word = config->n_args > 1 ? config->args[1] : NULL;
        uint64_t pid;
        if (config->n_args > 2 || config->n_rest > 0) {
                err_set(err, ERR_USAGE, "unexpected argument '%s'",
                        config->n_args > 2 ? config->args[2] : config->rest[0]);
                return err_hint(err, "one process, recording or folder at a time");
        }
        if (!word)
                return 0;
        if (num_parse_u64(word, strlen(word), &pid) && pid > 0 && pid <= INT32_MAX)
                return ret->pid = (int32_t)pid, 0;
        if (access(word, F_OK) < 0 && errno == ENOENT) {
                err_set(err, ERR_NO_SOURCE, "no such file: '%s'", word);
                return err_hint(err, "give the number of a process, a session or a folder of them");
        }
        ret->file = word;
        return 0;
}

static int check_use(const struct config *config, const struct why_of *of, struct err *err)
{
        static const enum option theirs[] = {OPT_SSH, OPT_REMOTE_ASSAY};
        static const enum option moment[] = {OPT_AT};
        if (setup_reads_nodes(config)) {
                if (of->pid == 0 && !of->file)
                        return config_refuse(config, moment, ARRAY_LEN(moment),
                                             "is for a recording", "leave it out", err);
                err_set(err, ERR_USAGE, "other hosts, and '%s'", config->args[1]);
                return err_hint(err, "leave out one of them");
        }
        int r = config_refuse(config, theirs, ARRAY_LEN(theirs), "is for other hosts",
                              "add --hosts or --slurm, or leave it out", err);
        return r < 0 || of->file
                   ? r
                   : config_refuse(config, moment, ARRAY_LEN(moment), "is for a recording",
                                   "leave it out, or name a session", err);
}

static int read_subject(const struct config *config, const struct why_of *of, struct why_reading *r,
                        struct err *err)
{
        struct strbuf notices = {0};
        double at = config_is_set(config, OPT_AT) ? config_number(config, OPT_AT) : -1;
        int code = of->file
                       ? why_read_recorded(of->file, at, config_number(config, OPT_WATCH), r, err)
                       : why_read_now(config, of->pid, r, &notices, err);
        print_notices(&notices);
        strbuf_finish(&notices);
        return code;
}

static int write_page(const struct config *config, const struct why_of *of,
                      const struct why_reading *r, struct err *err)
{
        const struct doc_view view = {.columns = terminal_columns()};
        struct strbuf out = {0};
        struct document d;
        why_document(&r->why, program_version, &d);
        int code = document_write(&d, out_format(config), &view, &out, err);
        document_finish(&d);
        if (code == 0)
                code = write_out(config, of->file, &out, err);
        strbuf_finish(&out);
        return code;
}

static int why_run(const struct config *config)
{
        static const int status[] = {
            [WHY_FINE] = EXIT_FINE, [WHY_FOUND] = EXIT_FAILED, [WHY_NOT_KNOWN] = NOT_KNOWN};
        struct err err = {0};
        struct why_of of = {0};
        struct why_reading r = {0};
        int code = find_subject(config, &of, &err);
        if (code == 0)
                code = check_use(config, &of, &err);
        if (code == 0)
                code = check_out(config, of.file, &err);
        if (code == 0)
                code = read_subject(config, &of, &r, &err);
        if (code == 0)
                code = write_page(config, &of, &r, &err);
        int ret = code < 0 ? complain(&err) : status[r.why.outcome];
        why_reading_finish(&r);
        return ret;
}

const struct command command_why = {
    .name = "why",
    .args = "[PID|FILE|FOLDER]",
    .summary = "why a job does not go on: which rank, and in which line",
    .words = WORDS_OWN,
    .examples = {{"assay why", "the processes that hold a GPU here, now"},
                 {"assay why --slurm 4242", "a job, on all its nodes"},
                 {"assay why run.assay", "the end of a recording"}},
    .run = why_run,
};
