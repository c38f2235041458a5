/* assay report: what happened in a run, and what held it back. */
#include "present/report.h"
#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/progress.h"
#include "cmd/thresholds.h"
#include "store/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct report {
        struct input in;
        struct summary summary;
        struct traces traces;
        struct progress progress;
        bool curves; /* the format shows them */
};

static int choose_phases(const struct config *config, struct report *r, struct err *err)
{
        const char *range = config_text(config, OPT_PHASE);
        if (!range)
                return 0;
        int code = phases_choose(r->in.phases, r->in.n_phases, range, err);
        if (code < 0)
                return code;
        r->in.n_phases = (size_t)code;
        return 0;
}

/* A session has its verdicts; they are decided anew only when other rules are asked for. */
static bool as_recorded(const struct config *config)
{
        return !config_is_set(config, OPT_WEIGHTS) && !config_is_set(config, OPT_MISSING) &&
               !config_is_set(config, OPT_GPUS);
}

static int add(struct report *r, const struct frame *f)
{
        progress_tick(&r->progress);
        int code = summary_add(&r->summary, f);
        return code == 0 && r->curves ? traces_add(&r->traces, f) : code;
}

static int add_session(struct report *r, struct err *err)
{
        const struct frame *f;
        int got, code = 0;
        while (code == 0 && (got = session_next(r->in.session, &f, err)) > 0)
                code = add(r, f);
        if (code < 0)
                return err_set(err, code, "out of memory");
        return got;
}

static int add_pipeline(const struct config *config, struct report *r, struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *f;
        int code = open_pipeline_at(config, r->in.gpus, false, 0, &p, err);
        while (code == 0) {
                int got = pipeline_next(p, &f, err);
                if (got <= 0) {
                        code = got;
                        break;
                }
                if (!r->in.session)
                        snprintf(r->in.facts.source, sizeof(r->in.facts.source), "%s",
                                 f->provenance);
                code = add(r, f);
                if (code < 0)
                        err_set(err, code, "out of memory");
        }
        if (code == 0)
                report_trouble(p);
        pipeline_close(p);
        return code;
}

/* The level that is told: the one asked for, or the first that there is of those people mean. */
static int choose_level(const struct config *config, unsigned there, enum level *ret,
                        struct err *err)
{
        static const enum level order[] = {LEVEL_PROCESS, LEVEL_SLURM, LEVEL_SYSTEM, LEVEL_CGROUP,
                                           LEVEL_USER};
        unsigned asked = 0;
        bool chosen = config_is_set(config, OPT_LEVEL);
        levels_parse(config_text(config, OPT_LEVEL), &asked);
        for (size_t i = 0; i < ARRAY_LEN(order); i++) {
                *ret = order[i];
                if (there & LEVEL_BIT(order[i]) & (chosen ? asked : LEVELS_ALL))
                        return 0;
        }
        if (!chosen)
                return 0;
        char names[64] = "";
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                size_t len = strlen(names);
                if (there & LEVEL_BIT(l))
                        snprintf(names + len, sizeof(names) - len, " %s", level_name(l));
        }
        err_set(err, ERR_USAGE, "the level '%s' was not recorded", config_text(config, OPT_LEVEL));
        return err_hint(err, "recorded:%s", there ? names : " nothing of the host");
}

static int add_hosts(const struct config *config, struct report *r, struct err *err)
{
        const struct host *h;
        enum level level;
        int got, code = choose_level(config, input_levels(&r->in), &level, err);
        if (code < 0)
                return code;
        while ((got = input_next_host(&r->in, &h, err)) > 0) {
                progress_tick(&r->progress);
                summary_add_level(&r->summary, h, level);
                if (r->curves)
                        traces_add_level(&r->traces, h, level);
        }
        return got;
}

/* A phase that nobody ended ends with the last tick when the session does not say when it ended. */
static void close_phases(struct report *r)
{
        for (size_t i = 0; i < r->in.n_phases; i++) {
                struct phase *p = &r->in.phases[i];
                if (!p->open || p->end_ns != INT64_MAX)
                        continue;
                p->end_ns = MAX(r->summary.last_ns, p->begin_ns);
        }
}

static int summarise(const struct config *config, struct report *r, struct err *err)
{
        const struct tag_thresholds thresholds = tag_thresholds(config);
        bool only = config_is_set(config, OPT_PHASE);
        const char *format = config_text(config, OPT_FORMAT);
        r->curves = format && strcmp(format, "html") == 0;
        int code = summary_init(&r->summary, r->in.phases, r->in.n_phases, only);
        if (code < 0)
                return err_set(err, code, "out of memory");
        code = r->in.session && as_recorded(config) ? add_session(r, err)
                                                    : add_pipeline(config, r, err);
        if (code == 0)
                code = add_hosts(config, r, err);
        progress_end(&r->progress);
        if (code < 0)
                return code;
        close_phases(r);
        summary_time_phases(&r->summary);
        summary_judge(&r->summary, &thresholds);
        return 0;
}

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

static int present(const struct config *config, struct report *r, struct strbuf *out,
                   struct err *err)
{
        const char *format =
            config_is_set(config, OPT_FORMAT) ? config_text(config, OPT_FORMAT) : "text";
        if (strcmp(format, "text") == 0) {
                report_text(&r->in.facts, &r->summary, out);
        } else if (strcmp(format, "json") == 0) {
                report_json(&r->in.facts, &r->summary, program_version, out);
        } else if (strcmp(format, "resource-summary") == 0) {
                report_resource_summary(&r->in.facts, &r->summary, out);
        } else if (strcmp(format, "html") == 0) {
                report_html(&r->in.facts, &r->summary, &r->traces, out);
        } else {
                err_set(err, ERR_USAGE, "a report cannot be written as %s", format);
                return err_hint(err, "choose text, json, html or resource-summary");
        }
        return write_out(config, out, err);
}

static void finish(struct report *r)
{
        summary_finish(&r->summary);
        traces_finish(&r->traces);
        input_finish(&r->in);
}

static int run(const struct config *config)
{
        struct err err = {0};
        struct strbuf out = {0};
        struct report *r = calloc(1, sizeof(*r));
        int code = 0;
        if (!r)
                return EXIT_FAILED;
        if (config->n_args != 2) {
                code = err_set(&err, ERR_USAGE, "a report is about one file");
                err_hint(&err, "write 'assay report run.assay'");
        }
        if (code == 0)
                code = input_open(&r->in, config->args[1], &err);
        if (code == 0)
                code = choose_phases(config, r, &err);
        if (code == 0)
                code = summarise(config, r, &err);
        if (code == 0)
                code = present(config, r, &out, &err);
        finish(r);
        free(r);
        strbuf_finish(&out);
        return code < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_report = {
    .name = "report",
    .args = "FILE",
    .summary = "tell what happened in a run, per GPU and phase, and what held it back",
    .reads_gpus = true,
    .run = run,
};
