/* assay run: a command, untouched, and a recording of what happens meanwhile. */
#include "app/collecting.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "cmd/recording.h"
#include "cmd/run_child.h"
#include "life/worker.h"
#include "present/report/report.h"
#include "session/runlog.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Longest that beginning the recording may continue when the command has ended already. */
#define BEGIN_PATIENCE_NS NS_PER_S
/* Longest that the command waits for a disk: then it runs without knowing of its recording. */
#define DISK_PATIENCE_NS NS_PER_S
#define NO_DRIVER_PATIENCE_NS (100 * NS_PER_MS)

/*
 * The recording is made and begun by a worker: the command starts and gets its signals while a disk
 * or a driver does not answer. Where one hangs, all of this is left behind.
 */
struct running {
        struct crew crew; /* the worker that begins the recording */
        const struct config *config;
        bool made;               /* the worker is through with the disk; under the lock */
        bool exported;           /* the environment is as the command has it; under the lock */
        bool driver_probed;      /* whether there is a driver is known; under the lock */
        bool can_start;          /* the command, as far as its file shows */
        bool started;            /* the command; under the lock */
        bool logged;             /* the log has its first line; once made */
        struct session *session; /* NULL: the command runs unrecorded; once made */
        struct pipeline *pipeline;
        bool tried_source; /* the pipeline is open, or cannot be */
        struct host_view *host;
        struct manifest_limits limits;
        bool has_target;               /* the host is open, or cannot be; under the lock */
        struct engine *engine;         /* NULL until the worker has ended, or when it failed */
        struct collecting *collecting; /* likewise; NULL without --collect */
        struct child child;
        char path[RECORDING_PATH_MAX];
        bool quiet;
        int64_t started_ns;
};

static int refuse_usage(void)
{
        struct err err = {0};
        err_set(&err, ERR_USAGE, "no command to run");
        err_hint(&err, "write for example: assay run python3 train.py");
        complain(&err);
        return EXIT_OWN;
}

/* Files, sockets and descriptors of /proc that a recording cannot do without. */
#define DESCRIPTORS_MIN 16

/* Whether so many descriptors can be had. They are had for a moment. */
static bool has_descriptors(void)
{
        int fds[DESCRIPTORS_MIN], n = 0;
        while (n < DESCRIPTORS_MIN && (fds[n] = dup(STDERR_FILENO)) >= 0)
                n++;
        bool enough = n == DESCRIPTORS_MIN || errno == EBADF;
        while (n > 0)
                close(fds[--n]);
        return enough;
}

/* A recording that cannot be made is no reason not to run the command. */
static void make_session(const struct config *config, struct running *r)
{
        struct err err = {0};
        raise_descriptor_limit();
        if (!has_descriptors()) {
                notice("too few open files are allowed (ulimit -n); running without a recording");
                return;
        }
        int code = recording_create(config, clock_wall_ns(), true, r->path, &r->session, &err);
        if (code < 0)
                notice("%s; running without a recording", err.msg);
}

static bool start_log(const struct config *config)
{
        const char *log = config_text(config, OPT_LOG);
        struct err err = {0};
        struct mark m;
        if (!log)
                return false;
        mark_init(&m, MARK_EVENT);
        snprintf(m.name, sizeof(m.name), "run_start");
        bool present = runlog_append(log, &m, &err) == 0;
        if (!present)
                notice("%s; running without it", err.msg);
        return present;
}

static bool is_made(struct running *r)
{
        crew_lock(&r->crew);
        bool made = r->made;
        crew_unlock(&r->crew);
        return made;
}

/* The command finds session and log by name in its environment. */
static void export_files(struct running *r)
{
        char full[PATH_MAX];
        if (!is_made(r))
                return;
        if (r->session && realpath(r->path, full))
                setenv("ASSAY_SESSION", full, 1);
        if (r->logged && realpath(config_text(r->config, OPT_LOG), full))
                setenv("ASSAY_LOG", full, 1);
}

static void end_log(struct running *r, const struct child *c)
{
        char data[64];
        struct mark m;
        if (!is_made(r) || !r->logged)
                return;
        mark_init(&m, MARK_EVENT);
        snprintf(m.name, sizeof(m.name), "run_end");
        snprintf(data, sizeof(data), WIFEXITED(c->status) ? "{\"exit\":%d}" : "{\"signal\":%d}",
                 WIFEXITED(c->status) ? WEXITSTATUS(c->status) : WTERMSIG(c->status));
        m.data = data;
        runlog_append(config_text(r->config, OPT_LOG), &m, NULL);
}

/* The source cannot be opened, or has ended early, which the sampling thread notices. A recording
 * without GPUs may be what is wanted, or a night that is lost: nobody should learn it afterwards.
 */
static void report_source_end(void *arg, const struct err *source)
{
        struct running *r = arg;
        if (source->code == 0)
                return;
        if (source->code != ERR_NO_SOURCE || config_text(r->config, OPT_SOURCE))
                notice("%s; recording without GPUs", source->msg);
        else if (!r->quiet)
                recording_report_no_gpu(source);
}

/* A source of this machine is opened while its first frames are waited for, unless patience_ns
 * suffices; a capture at once. */
static void open_source(struct running *r, int64_t patience_ns)
{
        struct err err = {0};
        char text[SETUP_NOTICE_MAX];
        const struct config *config = r->config;
        int code = setup_open_soon(config, config_text(config, OPT_SOURCE),
                                   config_number(config, OPT_SPEED), patience_ns, false,
                                   &r->pipeline, text, &err);
        r->tried_source = true;
        if (text[0])
                notice("%s", text);
        if (code < 0)
                report_source_end(r, &err);
        else
                pipeline_want_limits(r->pipeline,
                                     false); /* a session keeps what they follow from */
}

/* Opening a driver takes its time and belongs beside the command. Where there is none it takes a
 * moment, and its message comes before whatever the command says. */
static void probe_driver(struct running *r)
{
        if (access("/dev/nvidiactl", F_OK) < 0 && r->can_start)
                open_source(r, NO_DRIVER_PATIENCE_NS);
}

/* On the host's thread. */
static void note_host(void *arg, const struct host *host)
{
        struct running *r = arg;
        manifest_note_limits(r->session, &r->limits, host);
}

/* The command is the target of the levels. Without the host the GPUs are recorded all the same. */
static void open_target(struct running *r)
{
        struct err err = {0};
        int code = open_host_of(r->config, r->child.pid, &r->host, &err);
        crew_lock(&r->crew);
        r->has_target = true;
        crew_request_stop(&r->crew);
        crew_unlock(&r->crew);
        if (code < 0)
                notice("%s; recording without the host", err.msg);
}

/* A command that ends at once is still there when the host is opened. */
static void wait_for_target(void *arg)
{
        struct running *r = arg;
        int64_t until = clock_mono_ns() + BEGIN_PATIENCE_NS;
        crew_lock(&r->crew);
        while (r->made && !r->has_target && r->crew.workers > 0 && crew_wait(&r->crew, until))
                ;
        crew_unlock(&r->crew);
}

static void start_engine(struct running *r)
{
        struct engine *engine = NULL;
        struct err err = {0};
        open_target(r);
        if (!r->tried_source)
                open_source(r, 0);
        manifest_describe(r->session, r->config, r->config->rest, r->pipeline);
        struct engine_config rc = {.session = r->session,
                                   .pipeline = r->pipeline,
                                   .host = r->host,
                                   .interval_ns = r->pipeline ? pipeline_interval_ns(r->pipeline)
                                                              : manifest_interval_ns(r->config),
                                   .restamp = true,
                                   .until_stopped = true,
                                   .on_host = note_host,
                                   .on_source_end = report_source_end,
                                   .arg = r};
        setup_stacks(r->config, &rc.stacks_hz, &err);
        if (engine_start(&rc, &engine, &err) < 0)
                notice("%s; running without a recording", err.msg);
        struct collecting *collecting = NULL;
        if (collecting_start(r->config, r->session, recording_report_collector, &collecting, &err) <
            0)
                notice("%s; recording without --collect", err.msg);
        crew_lock(&r->crew);
        r->engine = engine;
        r->collecting = collecting;
        crew_unlock(&r->crew);
}

/* The worker's. The lock is not held while a disk is waited for. */
static void record_worker(void *arg)
{
        struct running *r = arg;
        make_session(r->config, r);
        r->logged = start_log(r->config);
        crew_lock(&r->crew);
        bool late = r->started;
        r->made = true;
        crew_request_stop(&r->crew);
        /* Opening a driver reads the environment, which is complete only then. */
        while (!r->exported && !r->crew.stop)
                crew_wait(&r->crew, INT64_MAX);
        crew_unlock(&r->crew);
        if (r->session && !late)
                probe_driver(r);
        crew_lock(&r->crew);
        r->driver_probed = true;
        crew_request_stop(&r->crew);
        while (!r->started && !r->crew.stop)
                crew_wait(&r->crew, INT64_MAX);
        bool go = r->started && r->session;
        crew_unlock(&r->crew);
        if (go && late)
                notice("the disk of '%s' was slow: the recording begins late, and the command's "
                       "marks do not reach it",
                       r->path);
        if (go)
                start_engine(r);
}

/* Bounded, as everything that comes before the command. */
static void make_files(struct running *r)
{
        int64_t until = clock_mono_ns() + DISK_PATIENCE_NS;
        if (crew_start(&r->crew, record_worker, r) < 0) {
                notice("no thread can be started; running without a recording");
                r->made = r->driver_probed = true; /* nothing */
                return;
        }
        crew_lock(&r->crew);
        while (!r->made && crew_wait(&r->crew, until))
                ;
        bool made = r->made;
        crew_unlock(&r->crew);
        if (!made)
                notice("the disk does not answer; running the command meanwhile");
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

/* A terminal or pipe that takes nothing now must not keep us from signals. */
static void report_left_behind(const struct child *c UNUSED)
{
        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
        if (poll(&fd, 1, 0) > 0)
                notice("the command has ended, what it started has not: recording on; Ctrl-C ends "
                       "that");
}

/* What the report says first, from the file, since phases come from anybody. */
static void print_finding(const struct config *config, const char *path)
{
        struct run_summary *s = calloc(1, sizeof(*s));
        struct strbuf finding = {0};
        if (!s)
                return;
        if (run_summary_recorded(s, config, path, NULL) == 0)
                report_short(&s->summary, &finding);
        print_notices(&finding);
        strbuf_finish(&finding);
        run_summary_finish(s);
        free(s);
}

static void print_summary(const struct config *config, struct running *r)
{
        const struct rusage *u = &r->child.usage;
        struct stat st;
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
        if (stat(r->path, &st) < 0) {
                notice("the recording is lost: '%s' was removed meanwhile", r->path);
                return;
        }
        char folder[RECORDING_PATH_MAX];
        if (recording_folder(r->path, folder))
                notice("recorded in '%s', as the other ranks: 'assay report %s' tells of all",
                       folder, folder);
        else
                notice("recorded in '%s': 'assay report %s' tells more", r->path, r->path);
        print_finding(config, r->path);
}

/* Whether everything has ended that uses what a running has. */
static bool end_recording(struct running *r)
{
        struct engine_result result = {.stop_wall_ns = clock_wall_ns()};
        if (!is_made(r)) {
                notice("the disk does not answer; nothing was recorded");
                return false;
        }
        if (!r->session)
                return true;
        if (!crew_ended(&r->crew, BEGIN_PATIENCE_NS))
                return false;
        collecting_stop(r->collecting);
        if (r->engine)
                engine_finish(r->engine, &result);
        result.source.code = 0; /* it was reported when it happened */
        note_end(r);
        int code = recording_end(r->session, r->path, &result, r->quiet);
        if (code == EXIT_FINE && !r->quiet)
                print_summary(r->config, r);
        if (result.hung)
                return false;
        pipeline_close(r->pipeline);
        host_view_close(r->host);
        return true;
}

/* Wrong usage is reported before the command starts; what is missing here is no reason not to run
 * it. */
static int check_options(const struct config *config, struct err *err)
{
        struct host_config host;
        struct pipeline_config gpus;
        char notice[SETUP_NOTICE_MAX];
        double hz;
        int r = recording_check(config, err);
        if (r == 0)
                r = collecting_check(config, err);
        if (r == 0)
                r = setup_host(config, &host, err);
        if (r == 0)
                r = setup_stacks(config, &hz, err);
        if (r == 0)
                r = setup_pipeline(config, config_text(config, OPT_SOURCE), false, 1, &gpus, notice,
                                   err);
        return r;
}

static void free_running(struct crew *crew)
{
        free(crew);
}

/* The command could not be started: nothing is left of the recording. */
static void discard_recording(struct running *r)
{
        crew_stop(&r->crew);
        if (crew_ended(&r->crew, BEGIN_PATIENCE_NS) && r->session) {
                session_close(r->session, NULL);
                unlink(r->path);
        }
}

/* The command was not started. */
static int report_not_started(int code, const struct err *err)
{
        complain(err);
        return code == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* The command takes the place of this program. Returns only when it cannot. */
static int exec_command(struct child *child, const struct config *config, const char *why,
                        struct err *err)
{
        notice("%s: running without a recording", why);
        unsetenv("ASSAY_SESSION");
        return child_become(child, config->rest, err);
}

/* Without room for a second process the command takes the place of this one. */
static int give_up(struct running *r, int code, struct err *err)
{
        discard_recording(r);
        if (code == -EAGAIN || code == -ENOMEM)
                code = exec_command(&r->child, r->config,
                                    "no process can be started beside this one (ulimit -u)", err);
        crew_leave(&r->crew, 0);
        return report_not_started(code, err);
}

/* Stack that a recording cannot do without: of this thread, and by its limit of all others. */
#define STACK_MIN (512 * 1024)

static bool has_stack(void)
{
        struct rlimit limit;
        return getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_MIN;
}

static int run_without_stack(const struct config *config)
{
        struct err err = {0};
        struct child child;
        child_init(&child, false);
        int code = exec_command(&child, config, "too little stack is allowed (ulimit -s)", &err);
        return report_not_started(code, &err);
}

/* Bounded: a driver present is opened beside the command. */
static void wait_for_probe(struct running *r)
{
        int64_t until = clock_mono_ns() + NO_DRIVER_PATIENCE_NS;
        crew_lock(&r->crew);
        r->exported = true;
        crew_request_stop(&r->crew);
        while (r->made && !r->driver_probed && crew_wait(&r->crew, until))
                ;
        crew_unlock(&r->crew);
}

static int run_command(const struct config *config, struct running *r)
{
        struct err err = {0};
        child_init(&r->child, false);
        r->can_start = child_can_start(config->rest[0]);
        make_files(r);
        export_files(r);
        wait_for_probe(r);
        r->started_ns = clock_mono_ns();
        int code = child_start(&r->child, config->rest, &err);
        if (code < 0)
                return give_up(r, code, &err);
        crew_lock(&r->crew);
        r->started = true;
        crew_request_stop(&r->crew);
        bool recorded = r->made && r->session;
        crew_unlock(&r->crew);
        r->child.on_end = wait_for_target;
        r->child.on_end_arg = r;
        if (recorded && !r->quiet)
                r->child.on_left = report_left_behind;
        child_wait(&r->child);
        /* What hangs is left behind, and so is what it uses. */
        const struct child child = r->child;
        bool limited = child_limit_end(&child);
        end_log(r, &child);
        if (limited && end_recording(r))
                crew_leave(&r->crew, 0);
        return child_exit(&child);
}

static int run_run(const struct config *config)
{
        struct err err = {0};
        if (config->n_rest == 0)
                return refuse_usage();
        if (!has_stack())
                return run_without_stack(config);
        if (check_options(config, &err) < 0) {
                complain(&err);
                return EXIT_OWN;
        }
        struct running *r = calloc(1, sizeof(*r));
        if (!r) {
                err_set(&err, -ENOMEM, "out of memory");
                complain(&err);
                return EXIT_OWN;
        }
        crew_init(&r->crew, free_running);
        r->config = config;
        r->quiet = config_flag(config, OPT_QUIET) || !recording_is_announced();
        return run_command(config, r);
}

const struct command command_run = {
    .name = "run",
    .args = "COMMAND [ARGUMENT...]",
    .summary = "run a command and record it and the GPUs",
    .words = WORDS_COMMAND,
    .examples = {{"assay run python3 train.py", "record this command"},
                 {"assay run -o run.assay ./job.sh", "into a file of this name"},
                 {"srun assay run python3 train.py", "each task of a Slurm job"}},
    .run = run_run,
};
