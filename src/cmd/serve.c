/* assay serve: what the GPUs do, for Prometheus and for browsers. */
#include "app/collecting.h"
#include "app/flight_setup.h"
#include "app/input.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/host.h"
#include "cmd/serve_log.h"
#include "cmd/serve_setup.h"
#include "life/stop.h"
#include "serve/keeper.h"
#include "serve/notify.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define CHECK_EVERY_NS NS_PER_S
#define POLL_HERE "0.1" /* GPUs of this machine, where nobody says how often */

struct serve_run {
        struct config options;
        enum log_format log;
        struct serve_setup setup;
        int fd; /* listens; servers get copies */
        struct live *live;
        struct flight *flight; /* NULL for none */
        struct past *past;
        struct journal *journal;
        struct keeper *keeper;
        struct archive *archive;           /* NULL for none */
        struct push *push;                 /* NULL for none */
        char records[SERVE_PATH_MAX + 16]; /* "" for none */
        pthread_mutex_t lock;              /* of the server, which a reload replaces */
        struct server *server;
        int64_t started_wall_ns;
        char link[AUTH_SECRET_MAX]; /* for the terminal; "" for none */
        bool push_kept;             /* what waits to be pushed is on disk */
        char reported[512];         /* the source's trouble that was reported last */
        int unkept;                 /* the counters' */
        bool left_out;              /* that GPUs are was reported */
        bool polls_by_default;      /* nobody said how often */
        bool reads_fast; /* more often than once a second, as long as no model server is present */
        int64_t dump_reported_ns; /* what was asked of the flight recorder by then */
        char push_reported[PUSH_TEXT_MAX], push_refused[PUSH_TEXT_MAX]; /* the same of pushing */
};

/* --- what is said ---------------------------------------------------------------------------- */

static void PRINTF_LIKE(4, 5) log_event(const struct serve_run *s, enum log_level level,
                                        const char *event, const char *fmt, ...)
{
        char text[2048];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        const struct log_line line = {clock_wall_ns(), level, event, "", text};
        log_write(s->log, &line);
}

static void report_lines(const struct serve_run *s, struct strbuf *notices)
{
        for (const char *line = strbuf_str(notices), *end; (end = strchr(line, '\n'));
             line = end + 1)
                log_event(s, LOG_WARN, "config", "%.*s", (int)(end - line), line);
}

static int report_end(const struct serve_run *s, const struct err *err)
{
        if (!s || s->log == LOG_TEXT)
                return complain(err);
        log_event(s, LOG_ERROR, "end", "%s%s%s", err->msg, err->hint[0] ? "; " : "", err->hint);
        return exit_status(err);
}

/* People see only trouble; programs also see what happens to GPUs. */
static void on_journal(void *arg, int64_t wall_ns, const char *gpu, const char *kind,
                       const char *text)
{
        const struct serve_run *s = arg;
        bool reported = strcmp(kind, "source") == 0 || strcmp(kind, "push") == 0 ||
                        strcmp(kind, "state") == 0 || strcmp(kind, "dump") == 0;
        const enum log_level level = strcmp(kind, "xid") == 0 ? LOG_WARN : LOG_INFO;
        const struct log_line line = {wall_ns, level, kind, gpu, text};
        if (s->log != LOG_TEXT && !reported)
                log_write(s->log, &line);
}

/* --- what runs ------------------------------------------------------------------------------- */

static bool wake_server(void *arg)
{
        struct serve_run *s = arg;
        pthread_mutex_lock(&s->lock);
        bool watched = s->server && server_wake(s->server);
        pthread_mutex_unlock(&s->lock);
        return watched;
}

static int start_server(struct serve_run *s, struct err *err)
{
        struct server *server = NULL;
        const struct server_config sc = {.settings = &s->setup.settings,
                                         .fd = dup(s->fd),
                                         .unix_socket = s->setup.place.unix_socket,
                                         .auth = &s->setup.auth,
                                         .live = s->live,
                                         .past = s->past,
                                         .journal = s->journal,
                                         .records = s->records[0] ? s->records : NULL,
                                         .archive = s->archive,
                                         .push = s->push,
                                         .flight = s->flight,
                                         .version = program_version,
                                         .started_wall_ns = s->started_wall_ns};
        int r = server_open(&sc, &server, err);
        pthread_mutex_lock(&s->lock);
        s->server = server;
        pthread_mutex_unlock(&s->lock);
        return r;
}

static void stop_server(struct serve_run *s)
{
        pthread_mutex_lock(&s->lock);
        struct server *server = s->server;
        s->server = NULL;
        pthread_mutex_unlock(&s->lock);
        server_close(server);
}

/* Without a state folder of one's own there are no records. */
static int start_keeper(struct serve_run *s, bool has_state, struct err *err)
{
        char text[512];
        const char *root = config_text(&s->options, OPT_ROOT);
        if (s->setup.state[0] && has_state)
                snprintf(s->records, sizeof(s->records), "%s/%s", s->setup.state, RECORDS_FILE);
        const struct keeper_config kc = {.live = s->live,
                                         .journal = s->journal,
                                         .owners = {.root = root ? root : "",
                                                    .listing = live_listing(s->live),
                                                    .mapping_dir = s->setup.mapping_dir,
                                                    .kubelet = s->setup.kubelet},
                                         .records = s->records[0] ? s->records : NULL,
                                         .keep_ns = s->setup.keep_jobs_ns};
        int r = keeper_open(&kc, &s->keeper, text, sizeof(text), err);
        if (r == 0 && text[0])
                log_event(s, LOG_WARN, "records", "%s", text);
        return r;
}

/* Neither command lines nor folders are served. */
static void hide_command(struct run_facts *facts, const char *path)
{
        const char *slash = strrchr(path, '/');
        facts->command[0] = '\0';
        snprintf(facts->input, sizeof(facts->input), "%s", slash ? slash + 1 : path);
}

/* The report of a recording as text; on the archive's thread. */
static int write_report(void *arg, const char *path, struct strbuf *out)
{
        struct serve_run *s = arg;
        struct err err = {0};
        struct run_summary r = {0};
        int done = run_summary_recorded(&r, &s->options, path, &err);
        if (done == 0) {
                hide_command(&r.in.facts, path);
                done = run_summary_write(&r, "text", out, &err);
                text_clean_lines(out, 0);
        }
        run_summary_finish(&r);
        return done;
}

static void open_archive(struct serve_run *s)
{
        const char *dir = config_text(&s->options, OPT_SESSIONS);
        s->archive = dir ? archive_open(dir, write_report, s) : NULL;
}

static int open_flight(struct serve_run *s, struct err *err)
{
        char text[SETUP_NOTICE_MAX];
        int r = flight_setup_open(&s->options, &s->flight, text, err);
        if (r == 0 && text[0])
                log_event(s, LOG_WARN, "dump", "%s", text);
        return r;
}

static void log_collector(void *arg, const char *name, const char *why)
{
        log_event(arg, LOG_WARN, "collect", "--collect: '%s' gives nothing: %s", name, why);
}

static int start_live(struct serve_run *s, char *text, size_t size, struct err *err)
{
        char inside[SETUP_PATH_MAX], unused[SETUP_NOTICE_MAX];
        const struct config *c = &s->options;
        struct live_config lc = {
            .host = {.root = config_is_set(c, OPT_ROOT) ? config_text(c, OPT_ROOT) : "",
                     .levels = LEVEL_BIT(LEVEL_SYSTEM)},
            .interval_ns = clock_from_seconds(config_number(c, OPT_POLL)),
            .state_dir = s->setup.state[0] ? s->setup.state : NULL,
            .past = s->past,
            .on_collect_trouble = log_collector,
            .on_news = wake_server,
            .news_arg = s};
        struct host_config engines;
        int r = setup_engines(c, &engines, err);
        if (r < 0)
                return r;
        lc.host.engines = engines.engines;
        lc.host.engines_only = setup_names_engines(c) && config_text(c, OPT_SOURCE);
        r = setup_soon(c, config_text(c, OPT_SOURCE), config_number(c, OPT_SPEED),
                       SETUP_PATIENCE_NS, true, inside, &lc.source, unused, err);
        if (r == 0)
                r = open_flight(s, err);
        lc.flight = s->flight;
        if (r == 0)
                r = collecting_list(c, &lc.collect, err);
        if (r < 0) {
                collect_list_finish(&lc.collect);
                return r;
        }
        s->reads_fast = lc.interval_ns < NS_PER_S;
        return live_open(&lc, &s->live, text, size, err);
}

/* The queue survives a restart where the state folder is ours. */
static int start_push(struct serve_run *s, bool has_state, struct err *err)
{
        char dir[SERVE_PATH_MAX + 16], text[SERVE_PATH_MAX + 256];
        const struct serve_setup *setup = &s->setup;
        if (!setup->push_url[0])
                return 0;
        snprintf(dir, sizeof(dir), "%s/push", setup->state);
        const struct push_config pc = {
            .url = setup->push_url,
            .token_file = setup->push_token_file[0] ? setup->push_token_file : NULL,
            .labels = &setup->push_labels,
            .every_ns = clock_from_seconds(config_number(&s->options, OPT_PUSH_EVERY)),
            .queue_bytes = (size_t)config_number(&s->options, OPT_PUSH_QUEUE) << 20,
            .dir = setup->state[0] && has_state ? dir : NULL,
            .live = s->live,
            .exposition = &setup->settings.exposition,
            .started_wall_ns = s->started_wall_ns,
            .version = program_version};
        s->push_kept = pc.dir != NULL;
        int r = push_open(&pc, &s->push, text, sizeof(text), err);
        if (r == 0 && text[0])
                log_event(s, LOG_WARN, "push", "%s", text);
        return r;
}

static void stop_push(struct serve_run *s)
{
        size_t left = push_close(s->push);
        s->push = NULL;
        if (left > 0)
                log_event(s, LOG_WARN, "push", "%zu batches were not pushed%s", left,
                          s->push_kept ? "; they wait for the next start" : " and are lost");
}

/* Before there is a server, which takes it back when it is used. */
static void make_link(struct serve_run *s)
{
        if (s->setup.auth.viewer[0] && auth_make_link(&s->setup.auth, clock_mono_ns()) == 0)
                snprintf(s->link, sizeof(s->link), "%s", s->setup.auth.once);
}

static int start_serving(struct serve_run *s, struct err *err)
{
        char text[512];
        s->past = past_open();
        s->journal = journal_open();
        if (!s->past || !s->journal)
                return err_set(err, -ENOMEM, "out of memory");
        journal_log(s->journal, on_journal, s);
        s->fd = listen_open(&s->setup.place, err);
        if (s->fd < 0)
                return s->fd;
        open_archive(s);
        int r = start_live(s, text, sizeof(text), err);
        if (r == 0 && text[0])
                log_event(s, LOG_WARN, "state", "%s", text);
        if (r == 0)
                r = start_keeper(s, text[0] == '\0', err);
        if (r == 0)
                r = start_push(s, text[0] == '\0', err);
        make_link(s);
        return r < 0 ? r : start_server(s, err);
}

static void stop_serving(struct serve_run *s)
{
        stop_server(s);
        stop_push(s);
        archive_close(s->archive);
        keeper_close(s->keeper);
        live_close(s->live);
        flight_close(s->flight);
        if (s->setup.place.unix_socket && s->fd >= 0)
                unlink(s->setup.place.host);
        closep(&s->fd);
        past_close(s->past);
        journal_close(s->journal);
}

/* --- what is reported ----------------------------------------------------------------------------
 */

static void report_address(struct serve_run *s)
{
        const struct listen_place *p = &s->setup.place;
        char url[LISTEN_TEXT_MAX + 32];
        listen_url(p, s->setup.settings.certificate != NULL, url, sizeof(url));
        bool closed = auth_is_needed(&s->setup.auth) || s->setup.settings.need_client_certificate;
        log_event(s, LOG_INFO, "serving", "serving %s%s/; %s", url, s->setup.settings.prefix,
                  p->unix_socket ? "only this user and root can reach it"
                  : closed       ? "a token, password or certificate is needed"
                  : p->loopback  ? "every user of this machine can read it"
                                 : "everybody who reaches this machine can read it");
        if (s->link[0] && isatty(STDERR_FILENO) && s->log == LOG_TEXT)
                notice("open once, within ten minutes: %s%s/?key=%s", url, s->setup.settings.prefix,
                       s->link);
}

/* A disk that is full: counters continue, and are not kept. Once when it begins, and when it is
 * over. */
static void warn_not_kept(struct serve_run *s, int code)
{
        if (code == s->unkept)
                return;
        s->unkept = code;
        if (code)
                log_event(
                    s, LOG_WARN, "state",
                    "counters cannot be written into '%s': %s; after a restart they begin at 0",
                    s->setup.state, strerror(code));
        else
                log_event(s, LOG_INFO, "state", "counters are kept again");
        journal_add(s->journal, clock_wall_ns(), "", "state", "%s",
                    code ? "counters cannot be written" : "counters are kept again");
}

/* Once beside a model server: reading often costs it time. What the user asked for stays. */
static void slow_down(struct serve_run *s)
{
        s->reads_fast = false;
        if (!s->polls_by_default) {
                log_event(s, LOG_WARN, "poll", "%s", reads_fast_words);
                return;
        }
        live_set_interval(s->live, NS_PER_S);
        log_event(s, LOG_INFO, "poll",
                  "GPUs are read once a second beside a model server; --poll %s "
                  "reads as often as before",
                  POLL_HERE);
}

/* A source that cannot be opened is reported once, not at every attempt. */
static int publish_trouble(struct serve_run *s, struct err *err)
{
        struct live_status status;
        live_status(s->live, &status);
        /* A file that cannot be read will not get better. */
        if (input_is_recording(config_text(&s->options, OPT_SOURCE)) && status.err.code < 0)
                return *err = status.err, err->code;
        warn_not_kept(s, status.unkept);
        if (status.left_out > 0 && !s->left_out)
                log_event(s, LOG_WARN, "source", "more than %d GPUs: %zu are left out",
                          LIVE_GPUS_MAX, status.left_out);
        s->left_out |= status.left_out > 0;
        if (status.serves_models && s->reads_fast)
                slow_down(s);
        const char *msg = status.err.code ? status.err.msg : "";
        if (strcmp(msg, s->reported) == 0)
                return 0;
        snprintf(s->reported, sizeof(s->reported), "%s", msg);
        if (!msg[0])
                return 0;
        log_event(s, LOG_WARN, "source", "%s; trying again", msg);
        journal_add(s->journal, clock_wall_ns(), "", "source", "%s", msg);
        return 0;
}

static void report_change(struct serve_run *s, char reported[PUSH_TEXT_MAX], const char *now,
                          bool again)
{
        if (strcmp(now, reported) == 0)
                return;
        snprintf(reported, PUSH_TEXT_MAX, "%s", now);
        const char *text = now[0] ? now : "pushing works again";
        log_event(s, now[0] ? LOG_WARN : LOG_INFO, "push", "%s%s", text,
                  now[0] && again ? "; trying again" : "");
        journal_add(s->journal, clock_wall_ns(), "", "push", "%s", text);
}

/* Once when it begins, and when it is over. */
static void report_pushing(struct serve_run *s)
{
        char trouble[PUSH_TEXT_MAX], refusal[PUSH_TEXT_MAX];
        if (!s->push)
                return;
        push_trouble(s->push, trouble, refusal);
        report_change(s, s->push_reported, trouble, true);
        report_change(s, s->push_refused, refusal, false);
}

/* Each dump once, no matter who asked for it. */
static void report_dumps(struct serve_run *s)
{
        struct dump_status d;
        if (!s->flight)
                return;
        flight_status(s->flight, &d);
        if (d.asked_mono_ns == s->dump_reported_ns)
                return;
        s->dump_reported_ns = d.asked_mono_ns;
        if (d.err.code)
                log_event(s, LOG_WARN, "dump", "%s", d.err.msg);
        else
                log_event(s, LOG_INFO, "dump", "%s: %s%s%s%s", d.file, d.last.gpu[0] ? "GPU " : "",
                          d.last.gpu, d.last.gpu[0] ? ": " : "", d.last.text);
        const char *gpu = d.err.code ? "" : d.last.gpu;
        journal_add(s->journal, clock_wall_ns(), gpu, "dump", "%s%s%s",
                    d.err.code ? d.err.msg : d.file, d.err.code ? "" : ": ",
                    d.err.code ? "" : d.last.text);
}

/* What a reload would change to. It never opens a door. */
static int read_again(const struct serve_run *s, const struct config *config,
                      struct serve_setup *fresh, struct strbuf *notices, struct err *err)
{
        struct config options = {0};
        int r = serve_setup_options(config, &options, err);
        if (r == 0)
                r = serve_setup_read(&options, fresh, notices, err);
        config_finish(&options);
        const char *opened = r == 0 ? serve_setup_opens(&s->setup, fresh) : NULL;
        return opened ? err_set(err, ERR_USAGE,
                                "the configuration no longer asks for %s; restart when that is "
                                "meant",
                                opened)
                      : r;
}

static void restart_server(struct serve_run *s, struct serve_setup *fresh)
{
        struct err err = {0};
        notify_send("RELOADING=1");
        server_drain(s->server);
        stop_server(s);
        auth_keep_sessions(&fresh->auth, &s->setup.auth);
        fresh->place = s->setup.place;
        serve_setup_finish(&s->setup);
        s->setup = *fresh;
        if (s->push)
                push_set_exposition(s->push, &s->setup.settings.exposition);
        if (start_server(s, &err) < 0)
                report_end(s, &err);
        notify_send("READY=1");
}

static void reload_config(struct serve_run *s, const struct config *config)
{
        struct err err = {0};
        struct strbuf notices = {0};
        struct serve_setup *fresh = calloc(1, sizeof(*fresh));
        int r = fresh ? read_again(s, config, fresh, &notices, &err)
                      : err_set(&err, -ENOMEM, "out of memory");
        if (r < 0) {
                log_event(s, LOG_ERROR, "reload", "not reloaded: %s", err.msg);
                if (fresh)
                        serve_setup_finish(fresh);
        } else {
                restart_server(s, fresh);
                report_lines(s, &notices);
                if (s->log != LOG_TEXT)
                        log_event(s, LOG_INFO, "reload", "the configuration was read again");
        }
        strbuf_finish(&notices);
        free(fresh);
}

static int watch_signals(struct serve_run *s, const struct config *config, const sigset_t *set,
                         struct err *err)
{
        int64_t every = notify_watchdog_ns();
        int64_t wait = every > 0 ? MIN(every, CHECK_EVERY_NS) : CHECK_EVERY_NS;
        struct timespec ts = {wait / NS_PER_S, wait % NS_PER_S};
        for (;;) {
                int sig = sigtimedwait(set, NULL, &ts);
                if (sig == SIGHUP)
                        reload_config(s, config);
                else if (sig > 0)
                        return 0;
                if (every > 0)
                        notify_send("WATCHDOG=1");
                report_pushing(s);
                report_dumps(s);
                int r = publish_trouble(s, err);
                if (r < 0)
                        return r;
        }
}

/* --- the command ----------------------------------------------------------------------------- */

static int serve_prepare(const struct config *config, struct serve_run *s, struct err *err)
{
        struct strbuf notices = {0};
        int r = serve_setup_options(config, &s->options, err);
        /* GPUs of this machine report something new ten times a second; exporters and files do not.
         */
        s->polls_by_default =
            !config_is_set(&s->options, OPT_POLL) && !config_is_set(&s->options, OPT_SOURCE);
        if (r == 0 && s->polls_by_default)
                r = config_put(&s->options, OPT_POLL, POLL_HERE, err);
        if (r == 0)
                r = serve_setup_read(&s->options, &s->setup, &notices, err);
        report_lines(s, &notices);
        strbuf_finish(&notices);
        return r;
}

static int serve_until_stop(const struct config *config, struct serve_run *s, struct err *err)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGHUP);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a full disk, and no death */
        int r = start_serving(s, err);
        if (r == 0) {
                report_address(s);
                notify_send("READY=1");
                r = watch_signals(s, config, &set, err);
                notify_send("STOPPING=1");
        }
        stop_serving(s);
        return r;
}

static int serve_run(const struct config *config)
{
        struct err err = {0};
        struct serve_run *s = calloc(1, sizeof(*s));
        int r = s ? 0 : err_set(&err, -ENOMEM, "out of memory");
        if (r == 0) {
                s->fd = -1;
                s->started_wall_ns = clock_wall_ns();
                s->log = log_format_find(config_text(config, OPT_LOG_FORMAT));
                pthread_mutex_init(&s->lock, NULL);
                r = serve_prepare(config, s, &err);
        }
        if (r == 0)
                r = collecting_check(config, &err);
        if (r == 0 && config_flag(config, OPT_CHECK_CONFIG) && s->setup.push_token_file[0])
                r = push_check_token(s->setup.push_token_file, &err);
        if (r == 0 && config_flag(config, OPT_CHECK_CONFIG))
                log_event(s, LOG_INFO, "config", "the configuration is good");
        else if (r == 0)
                r = serve_until_stop(config, s, &err);
        int status = r < 0 ? report_end(s, &err) : EXIT_FINE;
        if (s) {
                config_finish(&s->options);
                serve_setup_finish(&s->setup);
                free(s);
        }
        return status;
}

const struct command command_serve = {
    .name = "serve",
    .args = "[FILE|URL]",
    .summary = "serve metrics for Prometheus and a live page for browsers",
    .words = WORDS_SOURCE,
    .examples = {{"assay serve", "on port 9400, for this machine"},
                 {"assay serve -a :9400 --auth-token-file T", "for others with a token"},
                 {"assay serve run.assay --speed 1", "a recording, as if it happened now"}},
    .run = serve_run,
};
