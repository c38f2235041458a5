/* assay top: the live dashboard. Joins the engine, the views and the terminal. */
#include "app/flight_setup.h"
#include "base/clock.h"
#include "cmd/checkup.h"
#include "cmd/command.h"
#include "cmd/host.h"
#include "cmd/prefs.h"
#include "cmd/scan.h"
#include "cmd/terminal.h"
#include "cmd/tour.h"
#include "compute/where.h"
#include "engine/engine.h"
#include "present/tui/screen.h"
#include "present/tui/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

/* At most ten frames a second. */
#define FRAME_NS (100 * NS_PER_MS)
/* The first screen waits this long for values that come at once. */
#define FIRST_SCREEN_MS 60
/* A source that fails by then is reported on the shell's screen. */
#define FIRST_PATIENCE_NS (300 * NS_PER_MS)
#define HOST_INTERVAL_NS NS_PER_S
#define LATE_MIN_NS (2 * NS_PER_S)

struct top {
        const struct config *config;
        struct tour *tour; /* NULL: no captions */
        struct engine *engine;
        struct flight *flight;   /* NULL: none is kept */
        struct dump_status dump; /* as it was reported last */
        char dumps[SETUP_PATH_MAX];
        struct screen *screen;
        struct ui ui;
        struct canvas canvas;
        const char *backend;     /* that the doctor's checks are for */
        struct checkup *checkup; /* NULL until the log is examined */
        bool checked;            /* it has ended */
        struct scan *scan;       /* NULL when the source is not a file */
        bool scanned;            /* it has ended */
        unsigned levels;         /* of the host, when it is examined */
        const struct host *host; /* NULL: none */
        struct engine_status status;
        const struct frame *frame;
        char awaited[128];                       /* the GPUs that the kernel names */
        const struct stack_live *stacks;         /* NULL: none are examined, or not yet */
        struct where server_lines[SERVINGS_MAX]; /* of front ends that limit their servers */
        int64_t server_lines_ns;                 /* of the picture they were made of */
        struct where where;                      /* lines behind the limiter of the GPU in focus */
        struct {
                uint32_t slot;
                uint8_t limiter;
                int64_t mono_ns;
        } where_of; /* what it was made of */
        int64_t host_interval_ns;
        int tty, signals;
        const char *focus; /* the GPU to begin with; NULL once that is done, or none was named */
        bool own_tty;      /* opened by us */
        bool dirty, quit, reported_trouble;
        bool alone; /* there are no GPUs: the host is shown */
        int64_t began_ns, drawn_ns;
};

/* A source that was asked and does not answer makes what is shown old. */
static bool is_late(const struct engine_status *s)
{
        int64_t limit = MAX(s->replay ? 0 : 3 * s->interval_ns, LATE_MIN_NS);
        return s->state == ENGINE_RUNNING && s->busy_ns > limit;
}

/* How long the host's own beat has given nothing; 0 while it does. */
static int64_t host_silence_ns(const struct top *t)
{
        if (!t->host || !engine_has_host(t->engine))
                return 0;
        int64_t age = clock_mono_ns() - t->host->mono_ns;
        return age > MAX(3 * t->host_interval_ns, LATE_MIN_NS) ? age : 0;
}

static struct ui_data gather_ui_data(struct top *t)
{
        static const enum source_state states[] = {
            [ENGINE_STARTING] = SOURCE_STARTING, [ENGINE_RUNNING] = SOURCE_RUNNING,
            [ENGINE_PAUSED] = SOURCE_PAUSED,     [ENGINE_ENDED] = SOURCE_ENDED,
            [ENGINE_FAILED] = SOURCE_FAILED,
        };
        const struct engine_status *s = &t->status;
        const struct ui_check *checks = NULL;
        size_t n_checks = 0;
        if (t->checkup)
                t->checked = checkup_results(t->checkup, &checks, &n_checks);
        struct ui_data data = {
            .frame = t->frame,
            .processes = t->frame && t->frame->knows_processes ? &t->frame->processes : NULL,
            .asking_processes = t->frame && t->frame->may_name_processes,
            .trends = engine_trends(t->engine),
            .version = program_version,
            .state = states[s->state],
            .error = s->err.msg,
            .hint = s->err.hint,
            .age_ns = s->age_ns,
            .interval_ns = s->interval_ns,
            .late = is_late(s),
            .replay = s->replay,
            .speed = s->speed,
            .position_ns = s->position_ns,
            .duration_ns = s->duration_ns,
            .read_only = config_flag(t->config, OPT_READ_ONLY),
            .host = t->host,
            .host_old_ns = host_silence_ns(t),
            .awaited = t->awaited,
            .stacks = t->stacks,
            .where = &t->where,
            .server_lines = t->server_lines,
            .checks = checks,
            .n_checks = n_checks,
            .checking = t->checkup && !t->checked,
        };
        if (t->scan)
                scan_fill(t->scan, &data);
        return data;
}

/* --- what the interface asks for ----------------------------------------------------------- */

static bool config_path(const struct top *t, char *buf, size_t size)
{
        const char *given = config_text(t->config, OPT_CONFIG);
        if (given)
                return snprintf(buf, size, "%s", given) < (int)size;
        return config_default_path(get_env, buf, size);
}

static void save_prefs(struct top *t)
{
        char path[PATH_MAX];
        struct err err = {0};
        enum view_id view = t->ui.view < VIEW_TABS ? t->ui.view : t->ui.before;
        const struct pref prefs[] = {
            {OPT_THEME, theme_name(t->ui.theme)},
            {OPT_VIEW, view_at(view)->name},
            {OPT_LAYOUT, layout_name(t->ui.layout)},
            {OPT_SORT, fleet_sort_name(t->ui.sort)},
        };
        if (!config_path(t, path, sizeof(path)))
                ui_notify(&t->ui, "HOME is not set, so there is no config file to save to");
        else if (prefs_save(path, prefs, ARRAY_LEN(prefs), &err) < 0)
                ui_notify(&t->ui, "%.80s", err.msg);
        else
                ui_notify(&t->ui, "saved to %.100s", path);
}

/* Between the question and the answer the process may have ended and its pid been given away. */
static bool still_exists(const struct top *t, const struct ui_request *request)
{
        for (size_t i = 0; t->frame && i < t->frame->processes.n; i++) {
                const struct process *p = &t->frame->processes.list[i];
                if (p->pid == request->pid)
                        return p->start_ns == request->start_ns;
        }
        return false;
}

static void send_signal(struct top *t, const struct ui_request *request)
{
        if (config_flag(t->config, OPT_READ_ONLY) || t->status.replay)
                return; /* it was not asked */
        if (!still_exists(t, request))
                ui_notify(&t->ui, "process %d has ended", request->pid);
        else if (request->pid <= 1 || kill(request->pid, SIGTERM) < 0)
                ui_notify(&t->ui, "cannot signal %d: %s", request->pid, strerror(errno));
        else
                ui_notify(&t->ui, "SIGTERM sent to %d", request->pid);
}

static void request_dump(struct top *t)
{
        struct dump_reason reason;
        flight_reason(&reason, DUMP_CAUSE_REQUEST, "", "a dump was asked for in top");
        if (flight_request(t->flight, &reason))
                ui_notify(&t->ui, "the last minutes are being written ...");
        else
                ui_notify(&t->ui, "%s",
                          t->status.replay ? "what is played is a file already"
                          : t->flight      ? "a dump is being written already"
                                           : "there is no flight recorder: see --flight");
}

/* Dumps come also by themselves. */
static void note_dumps(struct top *t)
{
        struct dump_status now;
        if (!t->flight)
                return;
        flight_status(t->flight, &now);
        if (now.asked_mono_ns == t->dump.asked_mono_ns)
                return;
        int64_t wall_ns = t->frame ? t->frame->wall_ns : 0;
        if (now.err.code) {
                ui_notify(&t->ui, "%.100s", now.err.msg);
                ui_log(&t->ui, wall_ns, INK_WARN, "%.200s", now.err.msg);
        } else {
                ui_notify(&t->ui, "dump: %s", now.file);
                ui_log(&t->ui, wall_ns, INK_DIM, "in %s", t->dumps);
                ui_log(&t->ui, wall_ns, INK_TEXT, "dump %s: %s", now.file, now.last.text);
        }
        t->dump = now;
}

static void seek_recording(struct top *t, int64_t position_ns)
{
        if (!engine_seek(t->engine, position_ns))
                ui_notify(&t->ui, "this source cannot go back");
}

static void serve_events(struct top *t)
{
        struct ui_request r = t->ui.request;
        if (t->ui.prompt == PROMPT_SIGNAL)
                return;
        t->ui.request = (struct ui_request){0};
        switch (r.what) {
        case REQUEST_NONE:
                return;
        case REQUEST_QUIT:
                t->quit = true;
                return;
        case REQUEST_PAUSE:
                engine_pause(t->engine, t->status.state != ENGINE_PAUSED);
                return;
        case REQUEST_STEP:
                engine_step(t->engine, (int)r.number);
                return;
        case REQUEST_SEEK_BY:
                seek_recording(t, t->status.position_ns + clock_from_seconds(r.number));
                return;
        case REQUEST_SEEK_TO:
                seek_recording(t, clock_from_seconds(r.number));
                return;
        case REQUEST_SPEED:
                engine_set_speed(t->engine, r.number);
                return;
        case REQUEST_INTERVAL:
                engine_set_interval(t->engine, clock_from_seconds(r.number));
                return;
        case REQUEST_SIGNAL:
                send_signal(t, &r);
                return;
        case REQUEST_THEME:
                screen_set_theme(t->screen, theme_settle(t->ui.theme, get_env("COLORFGBG")));
                return;
        case REQUEST_SAVE:
                save_prefs(t);
                return;
        case REQUEST_DUMP:
                request_dump(t);
                return;
        case REQUEST_REDRAW:
                screen_invalidate(t->screen);
                return;
        }
}

/* --- the loop ------------------------------------------------------------------------------ */

static void fit_screen(struct top *t)
{
        int w, h;
        screen_size(t->screen, &w, &h);
        if (w == t->canvas.w && h == t->canvas.h)
                return;
        if (canvas_resize(&t->canvas, w, h) < 0)
                t->quit = true;
        screen_invalidate(t->screen);
}

static void suspend_screen(struct top *t)
{
        screen_leave(t->screen);
        raise(SIGSTOP);
        screen_enter(t->screen);
        fit_screen(t);
}

static void take_signals(struct top *t)
{
        struct signalfd_siginfo info;
        while (!t->quit && read(t->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
                t->dirty = true;
                if (info.ssi_signo == SIGTSTP) {
                        suspend_screen(t);
                } else if (info.ssi_signo == SIGCONT) {
                        screen_enter(t->screen);
                        fit_screen(t);
                } else if (info.ssi_signo == SIGWINCH) {
                        fit_screen(t);
                } else {
                        t->quit = true;
                }
        }
}

static void take_keys(struct top *t)
{
        struct key_event event;
        for (;;) {
                if (screen_key(t->screen, &event) < 0)
                        t->quit = true;
                if (t->quit || event.key == INPUT_NONE)
                        return;
                struct ui_data data = gather_ui_data(t);
                ui_key(&t->ui, &data, &event);
                serve_events(t);
                engine_status(t->engine, &t->status);
                t->dirty = true;
        }
}

/* Lines nobody could read are reported once, in the log. */
static void note_trouble(struct top *t)
{
        const struct source_trouble *trouble = &t->status.trouble;
        unsigned long long lines = trouble->skipped + trouble->cut + trouble->too_long;
        if (t->reported_trouble || lines == 0)
                return;
        t->reported_trouble = true;
        char where[48] = ""; /* lines of nodes have no numbers */
        if (trouble->first_line > 0)
                snprintf(where, sizeof(where), ", the first at line %llu",
                         (unsigned long long)trouble->first_line);
        ui_log(&t->ui, t->frame ? t->frame->wall_ns : 0, INK_WARN,
               "%llu lines could not be understood%s", lines, where);
}

/* A capture says nothing about this machine, so only a live source brings the doctor; one elsewhere
 * says nothing about this machine's GPUs. */
static void call_doctor(struct top *t)
{
        if (t->ui.view == VIEW_LOG && !t->status.replay && !t->checkup)
                t->checkup = checkup_start(t->config, t->backend);
}

/* The whole machine is read always; every level, and so every process, only while it is shown. */
static unsigned levels_shown(const struct top *t)
{
        return t->ui.view == VIEW_HOST ? t->levels : LEVEL_BIT((unsigned)LEVEL_SYSTEM);
}

/* Of this machine always, as what limits a GPU depends on its processes. */
static bool wants_processes(const struct top *t, bool has_host)
{
        return has_host || t->ui.view == VIEW_JOB || t->ui.view <= VIEW_FOCUS;
}

static void update_host(struct top *t)
{
        if (engine_has_host(t->engine))
                engine_set_levels(t->engine, levels_shown(t));
        /* A seek passes over samples: the host's past is filled as the GPUs' is. */
        for (const struct host *h; (h = engine_next_host(t->engine, t->frame));)
                past_see_host(&t->ui.past, h);
        t->host = engine_host(t->engine, t->frame);
}

/* The first frame with GPUs shows whether the one that was named is present. */
static void choose_focus(struct top *t)
{
        if (!t->focus || !t->frame || t->frame->n == 0)
                return;
        for (size_t i = 0; i < t->frame->n && !t->ui.chosen; i++) {
                const struct entity *e = t->frame->rows[i].sample.who;
                t->ui.chosen = frame_label_matches(t->frame, e, t->focus);
                t->ui.chosen_slot = e->slot;
        }
        if (!t->ui.chosen)
                ui_notify(&t->ui, "there is no GPU '%s'", t->focus);
        t->focus = NULL;
}

/* Once for each picture of the stacks, and only while it is shown. */
static void find_lines(struct top *t, const struct ui_data *data)
{
        const struct row *row = ui_chosen(&t->ui, data);
        if (t->ui.view != VIEW_FOCUS || !row || !t->stacks)
                return;
        uint32_t slot = row->sample.who->slot;
        if (t->where_of.mono_ns == t->stacks->mono_ns && t->where_of.slot == slot &&
            t->where_of.limiter == row->limit.limiter)
                return;
        t->where_of.mono_ns = t->stacks->mono_ns;
        t->where_of.slot = slot;
        t->where_of.limiter = row->limit.limiter;
        if (where_find_now(&t->frame->processes, &t->stacks->log, &t->stacks->window,
                           row->sample.who->label, (enum limiter)row->limit.limiter, &t->where) < 0)
                t->where.n = 0;
}

static void find_front_line(const struct stack_live *stacks, int32_t front, struct where *ret)
{
        struct where_process w;
        int r = where_process_begin(&w, front);
        if (r == 0)
                r = where_process_add(&w, &stacks->log, &stacks->window);
        if (where_process_end(&w, &stacks->log, ret) < 0 || r < 0)
                ret->n = 0;
}

/* Likewise of the processes that limit their servers. */
static void find_server_lines(struct top *t)
{
        if (!t->frame || (t->stacks && t->server_lines_ns == t->stacks->mono_ns))
                return;
        t->server_lines_ns = t->stacks ? t->stacks->mono_ns : 0;
        for (size_t i = 0; i < t->frame->n_servings; i++) {
                const struct served *s = &t->frame->servings[i];
                t->server_lines[i].n = 0;
                if (t->stacks && s->limit == SERVING_LIMIT_HOST && s->s.front > 0)
                        find_front_line(t->stacks, s->s.front, &t->server_lines[i]);
        }
}

static void top_draw(struct top *t)
{
        choose_focus(t);
        call_doctor(t);
        engine_list_processes(t->engine, wants_processes(t, engine_has_host(t->engine)));
        update_host(t);
        t->stacks = engine_stacks(t->engine, t->frame);
        struct ui_data data = gather_ui_data(t);
        find_lines(t, &data);
        find_server_lines(t);
        note_trouble(t);
        note_dumps(t);
        if (ui_update(&t->ui, &data) < 0) {
                t->quit = true;
                return;
        }
        ui_draw(&t->ui, &data, &t->canvas);
        /* A terminal that takes nothing now is tried again at the next beat. */
        t->dirty = !screen_flush(t->screen, &t->canvas);
        t->drawn_ns = clock_mono_ns();
}

/* Ages are shown in steps of a tenth of a second to ten seconds, of a second after that. */
static bool ages_show(const struct engine_status *s)
{
        return s->state == ENGINE_STARTING || s->state == ENGINE_FAILED || is_late(s) ||
               s->busy_ns > LATE_MIN_NS / 2;
}

static int wait_ms(const struct top *t)
{
        /* Others at work are examined now and then. */
        if (!t->dirty && ((t->checkup && !t->checked) || (t->scan && !t->scanned)))
                return 200;
        int64_t wait = t->dirty                ? t->drawn_ns + FRAME_NS - clock_mono_ns()
                       : ages_show(&t->status) ? NS_PER_S / 2
                                               : NS_PER_S;
        return (int)MAX((wait + NS_PER_MS - 1) / NS_PER_MS, (int64_t)0);
}

/* A tour says what there is to see, and leaves out where nothing happens. */
static void show_tour_step(struct top *t)
{
        if (!t->tour || t->status.state != ENGINE_RUNNING)
                return;
        const char *caption = tour_caption(t->tour, t->status.position_ns);
        int64_t skip = tour_skip(t->tour, t->status.position_ns);
        if (caption)
                ui_notify(&t->ui, "%s", caption);
        if (skip >= 0)
                engine_seek(t->engine, skip);
}

/* Without GPUs the host is shown; what else fails at once is reported on the shell's screen. */
static void check_failure(struct top *t)
{
        if (t->status.state != ENGINE_FAILED || t->frame || t->alone)
                return;
        if (setup_does_without(t->config, t->status.err.code)) {
                t->alone = true;
                t->ui.view = VIEW_HOST;
                ui_log(&t->ui, clock_wall_ns(), INK_WARN, "%s", t->status.err.msg);
        } else if (clock_mono_ns() - t->began_ns < FIRST_PATIENCE_NS) {
                t->quit = true;
        }
}

static void run_loop(struct top *t)
{
        enum { KEYS, SIGNALS, NEWS };
        while (!t->quit) {
                struct pollfd p[] = {[KEYS] = {t->tty, POLLIN, 0},
                                     [SIGNALS] = {t->signals, POLLIN, 0},
                                     [NEWS] = {engine_fd(t->engine), POLLIN, 0}};
                int n = poll(p, ARRAY_LEN(p), wait_ms(t));
                engine_status(t->engine, &t->status);
                if (p[NEWS].revents) {
                        t->frame = engine_take(t->engine);
                        t->dirty = true;
                        check_failure(t);
                        show_tour_step(t);
                }
                if (p[SIGNALS].revents)
                        take_signals(t);
                if (p[KEYS].revents)
                        take_keys(t);
                if (p[KEYS].revents & (POLLHUP | POLLERR))
                        t->quit = true;
                bool checking = t->checkup && !t->checked;
                if (t->scan && !t->scanned)
                        t->dirty |= t->scanned = !scan_reads(t->scan);
                /* The host has a beat of its own, which a GPU source that fails does not stop. */
                bool host_shows = engine_has_host(t->engine) && t->ui.view == VIEW_HOST;
                t->dirty =
                    t->dirty || (n == 0 && (checking || host_shows || ages_show(&t->status)));
                if (t->dirty && !t->quit && clock_mono_ns() - t->drawn_ns >= FRAME_NS)
                        top_draw(t);
        }
}

/* --- start --------------------------------------------------------------------------------- */

static int open_flight(struct top *t, struct err *err)
{
        char text[SETUP_NOTICE_MAX];
        const char *folder = config_text(t->config, OPT_FLIGHT_FOLDER);
        signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a full disk, and no death */
        int r = flight_setup_open(t->config, &t->flight, text, err);
        if (folder)
                snprintf(t->dumps, sizeof(t->dumps), "%s", folder);
        else
                flight_setup_runs(t->config, t->dumps);
        if (r == 0 && text[0])
                ui_log(&t->ui, 0, INK_WARN, "%.200s", text);
        return r;
}

static int start_engine(struct top *t, struct err *err)
{
        const struct config *config = t->config;
        struct pipeline_config source;
        struct host_config host;
        struct engine_config ec = {
            .source = &source,
            .plays = true,
            .speed = config_number(config, OPT_SPEED),
            .start_ns = clock_from_seconds(config_number(config, OPT_AT)),
            .history = (size_t)config_number(config, OPT_HISTORY),
            .keep = true,
        };
        int r = prepare_pipeline(config, true, &source, err);
        if (r < 0)
                return r;
        source.source.wait = true;
        source.source.preview = true;
        ec.host_interval_ns = MAX(source.source.poll_ns, HOST_INTERVAL_NS);
        /* The host of a capture or of an exporter elsewhere is not this one. GPUs are shown where
         * the host cannot be read. */
        t->backend = source.ops->local ? "auto" : source.ops->name;
        bool is_local = source.ops->local || config_flag(config, OPT_HOST);
        r = is_local ? setup_host(config, &host, err)
                     : refuse_host_options(config, "add --host, or leave it out", err);
        if (r < 0)
                return r;
        if (is_local) {
                t->levels = host.levels;
                host.levels = levels_shown(t);
                setup_name_gpus(&source, t->awaited, sizeof(t->awaited));
                t->host_interval_ns = ec.host_interval_ns;
                ec.host_source = &host;
        }
        if (r == 0 && !is_local && setup_names_engines(config)) {
                r = setup_engines(config, &host, err);
                ec.host_source = &host;
        }
        if (r == 0)
                r = setup_stacks(config, &ec.stacks_hz, err);
        ec.processes_on_wish = !wants_processes(t, is_local);
        if (r == 0)
                r = open_flight(t, err);
        if (r < 0)
                return r;
        ec.flight = t->flight;
        r = engine_start(&ec, &t->engine, err);
        if (r == 0 && source.source.location)
                t->scan = scan_start(config, source.source.location);
        return r;
}

static void await_first(struct top *t)
{
        struct pollfd p = {engine_fd(t->engine), POLLIN, 0};
        poll(&p, 1, FIRST_SCREEN_MS);
        t->frame = engine_take(t->engine);
        engine_status(t->engine, &t->status);
        check_failure(t);
}

static int open_terminal(struct top *t, struct err *err)
{
        if (!isatty(STDOUT_FILENO)) {
                err_set(err, ERR_USAGE, "top needs a terminal to draw on");
                return err_hint(err, "use 'assay once' for one table, 'assay export' for a stream");
        }
        /* Standard input may be the capture. */
        t->tty = isatty(STDIN_FILENO) ? STDIN_FILENO : open("/dev/tty", O_RDWR | O_CLOEXEC);
        t->own_tty = t->tty != STDIN_FILENO;
        if (t->tty < 0)
                return err_set(err, -errno, "cannot open the terminal: %s", strerror(errno));
        return 0;
}

static int open_screen(struct top *t, struct err *err)
{
        t->ui.theme = theme_find(config_text(t->config, OPT_THEME));
        return terminal_open_screen(t->config, t->tty, &t->screen, err);
}

static void prepare_ui(struct top *t)
{
        ui_init(&t->ui);
        t->ui.view = view_find(config_text(t->config, OPT_VIEW));
        t->focus = config_text(t->config, OPT_FOCUS_GPU);
        if (t->focus && !config_is_set(t->config, OPT_VIEW))
                t->ui.view = VIEW_FOCUS;
        t->ui.layout = layout_find(config_text(t->config, OPT_LAYOUT));
        t->ui.sort = fleet_sort_find(config_text(t->config, OPT_SORT));
        t->canvas.ascii = config_flag(t->config, OPT_ASCII) || !terminal_has_utf8();
}

static void close_all(struct top *t)
{
        screen_close(t->screen);
        engine_close(t->engine);
        flight_close(t->flight);
        checkup_close(t->checkup);
        scan_close(t->scan);
        ui_finish(&t->ui);
        canvas_finish(&t->canvas);
        closep(&t->signals);
        if (t->own_tty)
                closep(&t->tty);
}

int top_play(const struct config *config, struct tour *tour)
{
        struct err err = {0};
        struct top t = {
            .config = config, .tour = tour, .signals = -1, .tty = -1, .began_ns = clock_mono_ns()};
        prepare_ui(&t);
        int r = open_terminal(&t, &err);
        sigset_t before;
        t.signals = terminal_open_signals(&before);
        if (r == 0)
                r = start_engine(&t, &err);
        if (r == 0)
                await_first(&t);
        if (r == 0 && !t.quit)
                r = open_screen(&t, &err);
        if (r == 0 && !t.quit) {
                fit_screen(&t);
                top_draw(&t);
                run_loop(&t);
        }
        if (r == 0 && t.status.state == ENGINE_FAILED && !t.frame && !t.alone) {
                err = t.status.err;
                r = err.code;
        }
        close_all(&t);
        /* A terminal that does not read may hold up the last words: signals end that too. */
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

static int top_run(const struct config *config)
{
        return top_play(config, NULL);
}

const struct command command_top = {
    .name = "top",
    .args = "[FILE|URL]",
    .summary = "watch the GPUs live, or play a recording",
    .words = WORDS_SOURCE,
    .examples = {{"assay top", "watch this machine"},
                 {"assay top run.assay", "play a session back"},
                 {"assay top --hosts node[01-16]", "watch many hosts through ssh"}},
    .run = top_run,
};
