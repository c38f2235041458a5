/* assay record: a session without a command. */
#include "app/collecting.h"
#include "app/flight_setup.h"
#include "base/clock.h"
#include "cmd/recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

static sigset_t ending_signals(void)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGHUP);
        return set;
}

static int watch_signals(void)
{
        sigset_t set = ending_signals();
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC);
}

static void wait_for_end(struct engine *r, int signals)
{
        struct pollfd fds[] = {{.fd = engine_fd(r), .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
        struct signalfd_siginfo first;
        sigset_t set = ending_signals();
        while (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno == EINTR)
                ;
        engine_stop(r);
        /* A second one ends a disk, a driver or a terminal that hangs. */
        if (fds[1].revents && read(signals, &first, sizeof(first)) < 0)
                return;
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

struct recording {
        struct session *session;
        struct pipeline *pipeline;
        struct host_view *host; /* NULL beside a capture, which is of another day */
        struct flight *flight;  /* NULL for none */
        struct manifest_limits limits;
        char path[RECORDING_PATH_MAX];
        int signals; /* reported here from the moment that there is a file to finish */
        bool quiet;
        bool is_fast; /* the GPUs are read more often than once a second */
};

static void note_host(void *arg, const struct host *host)
{
        struct recording *rec = arg;
        if (host->n_servings > 0 && rec->is_fast && !rec->quiet) {
                rec->is_fast = false; /* said once */
                notice("%s", reads_fast_words);
        }
        manifest_note_limits(rec->session, &rec->limits, host);
}

static int record_until_stop(const struct config *config, struct recording *rec, struct err *err)
{
        struct engine *r = NULL;
        struct engine_result result = {0};
        struct pipeline *p = rec->pipeline;
        struct collecting *collecting = NULL;
        struct engine_config rc = {
            .session = rec->session,
            .flight = rec->flight,
            .pipeline = p,
            .host = rec->host,
            .ends_with_target = config_is_set(config, OPT_PID),
            .on_host = note_host,
            .arg = rec,
            .interval_ns = p ? pipeline_interval_ns(p) : manifest_interval_ns(config),
            .duration_ns = clock_from_seconds(config_number(config, OPT_DURATION))};
        if (p)
                pipeline_want_limits(p, false); /* a session keeps what they follow from */
        rec->is_fast = rc.interval_ns < NS_PER_S;
        int code = setup_stacks(config, &rc.stacks_hz, err);
        if (code == 0)
                code = engine_start(&rc, &r, err);
        if (code < 0)
                return code;
        if (collecting_start(config, rec->session, recording_report_collector, &collecting, err) <
            0)
                notice("%s; recording without --collect", err->msg);
        *err = (struct err){0};
        wait_for_end(r, rec->signals);
        collecting_stop(collecting);
        engine_finish(r, &result);
        if (p && !result.hung)
                report_trouble(p);
        code = recording_end(rec->session, rec->path, &result, rec->quiet);
        rec->session = NULL;
        if (result.hung) {
                rec->pipeline = NULL;
                rec->host = NULL;
        }
        if (result.source.code != 0 && result.counts.taken == 0)
                *err = result.source;
        else if (!rec->quiet && code == EXIT_FINE)
                notice("%llu ticks in '%s'%s", (unsigned long long)result.counts.taken, rec->path,
                       result.counts.missed > 0 ? ", some missed" : "");
        return err->code != 0 ? err->code : code;
}

static int begin_recording(const struct config *config, struct recording *rec, struct err *err)
{
        rec->quiet = config_flag(config, OPT_QUIET) || !recording_is_announced();
        signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a full disk, and no death */
        int r = collecting_check(config, err);
        if (r < 0)
                return r;
        r = open_pipeline_waiting(config, &rec->pipeline, err);
        bool nodes = setup_reads_nodes(config);
        if (r == ERR_NO_SOURCE && !config_text(config, OPT_SOURCE) && !nodes) {
                if (!rec->quiet)
                        recording_report_no_gpu(err);
                r = 0;
        }
        *err = r < 0 ? *err : (struct err){0};
        /* A capture keeps its own times; its first tick is the session's start. */
        bool capture = rec->pipeline && pipeline_is_capture(rec->pipeline);
        if (r == 0 && capture && config_is_set(config, OPT_PID)) {
                r = err_set(err, ERR_USAGE, "a process of now cannot be recorded with a capture");
                err_hint(err, "leave out --pid, or --source");
        }
        /* What this machine does says nothing about other hosts. */
        if (r == 0 && (capture || nodes))
                r = refuse_host_options(config, "leave it out, or the source", err);
        else if (r == 0)
                r = open_host_of(config, 0, &rec->host, err);
        if (r == 0)
                rec->signals = watch_signals();
        if (r == 0)
                r = recording_create(config, capture ? SESSION_START_FIRST : clock_wall_ns(), false,
                                     rec->path, &rec->session, err);
        if (r == 0)
                manifest_describe(rec->session, config, NULL, rec->pipeline);
        char text[SETUP_NOTICE_MAX] = "";
        if (r == 0)
                r = flight_setup_open(config, &rec->flight, text, err);
        if (text[0] && !rec->quiet)
                notice("%s", text);
        if (r == 0 && config_is_set(config, OPT_PID))
                session_set_number(rec->session, "target_pid", config_number(config, OPT_PID));
        return r;
}

static int record_run(const struct config *config)
{
        struct err err = {0};
        struct recording rec = {.signals = -1};
        int r = recording_check(config, &err);
        if (r == 0)
                r = begin_recording(config, &rec, &err);
        if (r == 0)
                r = record_until_stop(config, &rec, &err);
        session_close(rec.session, NULL);
        flight_close(rec.flight);
        pipeline_close(rec.pipeline);
        host_view_close(rec.host);
        closep(&rec.signals);
        return r < 0 ? complain(&err) : r;
}

const struct command command_record = {
    .name = "record",
    .args = "[FILE|URL]",
    .summary = "record until Ctrl-C, for a time, or while a process lives",
    .words = WORDS_SOURCE,
    .examples = {{"assay record -o run.assay", "this machine, until Ctrl-C"},
                 {"assay record --duration 10m", "for ten minutes"},
                 {"assay record --pid 4242", "while process 4242 lives"}},
    .run = record_run,
};
