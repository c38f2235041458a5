/* assay run: a command, untouched, and a recording of what happens meanwhile. */
#include "app/summarise.h"
#include "base/clock.h"
#include "cmd/recording.h"
#include "cmd/run_child.h"
#include "present/report/report.h"
#include "session/runlog.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

struct running {
        struct session *session; /* NULL: the command runs unrecorded */
        struct pipeline *pipeline;
        struct host_view *host;
        struct manifest_limits limits;
        struct recorder *recorder;
        struct child child;
        char path[RECORDING_PATH_MAX];
        bool quiet;
        int64_t started_ns;
};

static int usage(const struct config *config)
{
        struct err err = {0};
        if (config->n_args > 1)
                err_set(&err, ERR_USAGE, "'%s' stands before the \"--\"", config->args[1]);
        else
                err_set(&err, ERR_USAGE, "there is no command to run");
        err_hint(&err, "write: assay run [options] -- COMMAND [ARGUMENT...]");
        complain(&err);
        return EXIT_OWN;
}

/* A recording that cannot be made is no reason not to run the command. */
static void make_session(const struct config *config, struct running *r)
{
        struct err err = {0};
        int code = recording_create(config, clock_wall_ns(), true, r->path, &r->session, &err);
        if (code < 0)
                notice("%s; running without a recording", err.msg);
}

static void export_session(const struct running *r)
{
        char full[PATH_MAX];
        if (r->session && realpath(r->path, full))
                setenv("ASSAY_SESSION", full, 1);
}

/* The log of what is marked is named in the environment as well. */
static void start_log(const struct config *config)
{
        const char *log = config_text(config, OPT_LOG);
        char full[PATH_MAX];
        struct err err = {0};
        struct mark m;
        if (!log)
                return;
        mark_init(&m, MARK_EVENT);
        snprintf(m.name, sizeof(m.name), "run_start");
        if (runlog_append(log, &m, &err) < 0)
                notice("%s; running without it", err.msg);
        else if (realpath(log, full))
                setenv("ASSAY_LOG", full, 1);
}

static void end_log(const struct config *config, const struct child *c)
{
        const char *log = config_text(config, OPT_LOG);
        char data[64];
        struct mark m;
        if (!log)
                return;
        mark_init(&m, MARK_EVENT);
        snprintf(m.name, sizeof(m.name), "run_end");
        snprintf(data, sizeof(data), WIFEXITED(c->status) ? "{\"exit\":%d}" : "{\"signal\":%d}",
                 WIFEXITED(c->status) ? WEXITSTATUS(c->status) : WTERMSIG(c->status));
        m.data = data;
        runlog_append(log, &m, NULL);
}

static void open_source(const struct config *config, struct running *r)
{
        struct err err = {0};
        double speed = config_is_set(config, OPT_SPEED) ? config_number(config, OPT_SPEED) : 1;
        int code = open_pipeline_at(config, config_text(config, OPT_SOURCE), false, speed,
                                    &r->pipeline, &err);
        if (code == ERR_NO_SOURCE && !config_text(config, OPT_SOURCE))
                return; /* a machine without GPUs is nothing to complain about */
        if (code < 0)
                notice("%s; recording without GPUs", err.msg);
}

/* On the host's thread. */
static void note_host(void *arg, const struct host *host)
{
        struct running *r = arg;
        manifest_note_limits(r->session, &r->limits, host);
}

/* The command is the target of the levels. Without the host the GPUs are recorded all the same. */
static void open_target(const struct config *config, struct running *r)
{
        struct err err = {0};
        if (open_host_of(config, r->child.pid, &r->host, &err) < 0)
                notice("%s; recording without the host", err.msg);
}

static void start_recorder(const struct config *config, struct running *r)
{
        struct err err = {0};
        if (!r->session)
                return;
        open_target(config, r);
        open_source(config, r);
        manifest_describe(r->session, config, config->rest, r->pipeline);
        struct recorder_config rc = {.session = r->session,
                                     .pipeline = r->pipeline,
                                     .host = r->host,
                                     .interval_ns = r->pipeline ? pipeline_interval_ns(r->pipeline)
                                                                : manifest_interval_ns(config),
                                     .restamp = true,
                                     .until_stopped = true,
                                     .on_host = note_host,
                                     .arg = r};
        if (recorder_start(&rc, &r->recorder, &err) < 0)
                notice("%s; running without a recording", err.msg);
}

static void note_end(struct running *r)
{
        const struct rusage *u = &r->child.usage;
        struct session *s = r->session;
        if (WIFEXITED(r->child.status))
                session_set_number(s, "exit_status", WEXITSTATUS(r->child.status));
        else
                session_set_number(s, "exit_signal", WTERMSIG(r->child.status));
        session_set_number(s, "command_pid", (double)r->child.pid);
        session_set_number(s, "command_seconds",
                           clock_to_seconds(r->child.ended_ns - r->started_ns));
        session_set_number(s, "cpu_user_s",
                           (double)u->ru_utime.tv_sec + (double)u->ru_utime.tv_usec / 1e6);
        session_set_number(s, "cpu_system_s",
                           (double)u->ru_stime.tv_sec + (double)u->ru_stime.tv_usec / 1e6);
        session_set_number(s, "max_rss_bytes", (double)u->ru_maxrss * 1024);
        session_set_number(s, "major_faults", (double)u->ru_majflt);
        session_set_number(s, "read_blocks", (double)u->ru_inblock);
        session_set_number(s, "written_blocks", (double)u->ru_oublock);
        session_set_number(s, "switches_voluntary", (double)u->ru_nvcsw);
        session_set_number(s, "switches_involuntary", (double)u->ru_nivcsw);
}

static void say_left(const struct child *c UNUSED)
{
        notice("the command has ended, what it started has not: recording on; Ctrl-C ends that");
}

/* What the report says first, from the file, since phases come from anybody. */
static void say_finding(const struct config *config, const char *path)
{
        struct run_summary *s = calloc(1, sizeof(*s));
        struct strbuf finding = {0};
        if (!s)
                return;
        if (run_summary_read(s, config, path, "text", NULL) == 0)
                report_short(&s->summary, &finding);
        tell_notices(&finding);
        strbuf_finish(&finding);
        run_summary_finish(s);
        free(s);
}

static void say_summary(const struct config *config, struct running *r)
{
        const struct rusage *u = &r->child.usage;
        char how[64];
        if (WIFEXITED(r->child.status))
                snprintf(how, sizeof(how), "ended with %d", WEXITSTATUS(r->child.status));
        else
                snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(r->child.status));
        notice("the command %s after %.1f s (%.1f s user, %.1f s system, %.0f MiB at most)", how,
               clock_to_seconds(r->child.ended_ns - r->started_ns),
               (double)u->ru_utime.tv_sec + (double)u->ru_utime.tv_usec / 1e6,
               (double)u->ru_stime.tv_sec + (double)u->ru_stime.tv_usec / 1e6,
               (double)u->ru_maxrss / 1024);
        say_finding(config, r->path);
        notice("recorded in '%s': 'assay report %s' tells more", r->path, r->path);
}

static void end_recording(const struct config *config, struct running *r)
{
        struct recorder_result result = {.stop_wall_ns = clock_wall_ns()};
        if (!r->session)
                return;
        if (r->recorder) {
                recorder_stop(r->recorder);
                recorder_finish(r->recorder, &result);
        }
        note_end(r);
        int code = recording_end(r->session, r->path, &result, r->quiet);
        if (code == EXIT_FINE && !r->quiet)
                say_summary(config, r);
        if (result.hung)
                return;
        pipeline_close(r->pipeline);
        host_view_close(r->host);
}

/* Wrong usage is told before the command starts; what is missing here is no reason not to run it.
 */
static int check_options(const struct config *config, struct err *err)
{
        struct host_config host;
        struct pipeline_config gpus;
        char notice[SETUP_NOTICE_MAX];
        int r = setup_host(config, &host, err);
        if (r == 0)
                r = setup_pipeline(config, config_text(config, OPT_SOURCE), false, 1, &gpus, notice,
                                   err);
        return r;
}

static int run(const struct config *config)
{
        struct running r = {.quiet = config_flag(config, OPT_QUIET)};
        struct err err = {0};
        if (config->n_rest == 0 || config->n_args > 1)
                return usage(config);
        if (check_options(config, &err) < 0) {
                complain(&err);
                return EXIT_OWN;
        }
        child_init(&r.child, false);
        make_session(config, &r);
        export_session(&r);
        start_log(config);
        r.started_ns = clock_mono_ns();
        int code = child_start(&r.child, config->rest, &err);
        if (code < 0) {
                session_close(r.session, NULL);
                if (r.session)
                        unlink(r.path);
                complain(&err);
                return code == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
        }
        start_recorder(config, &r);
        if (r.recorder && !r.quiet)
                r.child.on_left = say_left;
        child_wait(&r.child);
        end_recording(config, &r);
        end_log(config, &r.child);
        return child_exit(&r.child);
}

const struct command command_run = {
    .name = "run",
    .args = "-- COMMAND [ARGUMENT...]",
    .summary = "run a command and record what it and the GPUs do meanwhile",
    .group = "*",
    .run = run,
};
