#include "cmd/fleet_live.h"

#include "base/clock.h"
#include "cmd/terminal.h"
#include "life/thread.h"
#include "present/tui/board.h"
#include "present/tui/screen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#define FRAME_MS 1000 /* ages move */

/* One view's newest answer. */
struct page {
        struct fleet_report report;
        bool present;
        int64_t came_ns; /* monotonic */
        struct err err;  /* of the last question; code 0 when it was answered */
};

struct fleet_live {
        const struct config *config;
        struct fleet *fleet;
        struct screen *screen;
        struct canvas canvas;
        struct board board;
        int signals, news, wake;
        pthread_t thread;
        int64_t interval_ns;

        pthread_mutex_t lock; /* the rest is under it */
        pthread_cond_t wanted;
        struct page pages[FLEET_VIEW_COUNT];
        enum fleet_view view;
        int64_t window_ns;
        bool ask, asking, stop;
};

/* --- the thread that asks ------------------------------------------------------------------------
 */

static bool wait_for_question(struct fleet_live *l)
{
        const struct page *p = &l->pages[l->view];
        int64_t until = (p->present || p->err.code ? p->came_ns : 0) + l->interval_ns;
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        while (!l->stop && !l->ask && clock_mono_ns() < until)
                pthread_cond_timedwait(&l->wanted, &l->lock, &ts);
        return !l->stop;
}

static void keep_answer(struct fleet_live *l, enum fleet_view view, int64_t window_ns, int r,
                        struct fleet_report *report, const struct err *err)
{
        struct page *p = &l->pages[view];
        p->err = r > 0 ? (struct err){0} : *err;
        if (r > 0 && window_ns == l->window_ns) {
                fleet_report_finish(&p->report);
                p->report = *report;
                p->present = true;
        } else if (r > 0) {
                fleet_report_finish(report);
        }
        if (r > 0 || !p->present)
                p->came_ns = clock_mono_ns();
}

static void *run_asker(void *arg)
{
        struct fleet_live *l = arg;
        pthread_mutex_lock(&l->lock);
        while (wait_for_question(l)) {
                enum fleet_view view = l->view;
                struct fleet_asked asked = {.window_ns = l->window_ns,
                                            .rows = (unsigned)config_number(l->config, OPT_LIMIT)};
                struct fleet_report report;
                struct err err = {0};
                l->ask = false;
                l->asking = true;
                pthread_mutex_unlock(&l->lock);
                asked.to_ns = clock_wall_ns();
                int r = fleet_collect(l->fleet, view, &asked, &report, &err);
                pthread_mutex_lock(&l->lock);
                l->asking = false;
                if (r != 0)
                        keep_answer(l, view, asked.window_ns, r, &report, &err);
                /* After a failure the next question comes in its time, not at once. */
                if (r < 0 && !l->stop && !l->ask) {
                        int64_t until = clock_mono_ns() + l->interval_ns;
                        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
                        life_wake(l->news);
                        while (!l->stop && !l->ask && clock_mono_ns() < until)
                                pthread_cond_timedwait(&l->wanted, &l->lock, &ts);
                        l->ask = true;
                }
                life_wake(l->news);
        }
        pthread_mutex_unlock(&l->lock);
        return NULL;
}

/* --- the screen
 * -------------------------------------------------------------------------------------- */

static void live_draw(struct fleet_live *l)
{
        int w, h;
        screen_size(l->screen, &w, &h);
        if ((w != l->canvas.w || h != l->canvas.h) && canvas_resize(&l->canvas, w, h) < 0)
                return;
        pthread_mutex_lock(&l->lock);
        struct page *p = &l->pages[l->board.view];
        struct board_data d = {.report = p->present ? &p->report : NULL,
                               .error = p->err.code ? p->err.msg : "",
                               .hint = p->err.code ? p->err.hint : "",
                               .asking = l->asking,
                               .age_ns = p->present ? clock_mono_ns() - p->came_ns : 0,
                               .interval_ns = l->interval_ns,
                               .window_ns = l->window_ns};
        board_draw(&l->board, &d, &l->canvas);
        pthread_mutex_unlock(&l->lock);
        screen_flush(l->screen, &l->canvas);
}

static int64_t next_window(int64_t now, bool longer)
{
        static const int64_t hours[] = {1, 6, 24, 72, 168, 720};
        size_t at = 0;
        while (at + 1 < ARRAY_LEN(hours) && hours[at] * 3600 * NS_PER_S < now)
                at++;
        if (longer && at + 1 < ARRAY_LEN(hours) && hours[at] * 3600 * NS_PER_S <= now)
                at++;
        else if (!longer && at > 0)
                at--;
        return hours[at] * 3600 * NS_PER_S;
}

static void ask_for(struct fleet_live *l, bool again)
{
        pthread_mutex_lock(&l->lock);
        const struct page *p = &l->pages[l->board.view];
        bool old = !p->present || clock_mono_ns() - p->came_ns > l->interval_ns;
        l->view = l->board.view;
        l->ask = l->ask || again || old;
        pthread_cond_broadcast(&l->wanted);
        pthread_mutex_unlock(&l->lock);
}

/* What was asked of another window is of no use. */
static void change_window(struct fleet_live *l, bool longer)
{
        pthread_mutex_lock(&l->lock);
        l->window_ns = next_window(l->window_ns, longer);
        for (size_t i = 0; i < FLEET_VIEW_COUNT; i++) {
                fleet_report_finish(&l->pages[i].report);
                l->pages[i] = (struct page){0};
        }
        pthread_mutex_unlock(&l->lock);
        ask_for(l, true);
}

/* False: leave. */
static bool take_keys(struct fleet_live *l)
{
        struct key_event key;
        while (screen_key(l->screen, &key) == 0 && key.key != INPUT_NONE) {
                enum fleet_view before = l->board.view;
                enum board_request r = board_key(&l->board, &key);
                if (r == BOARD_QUIT)
                        return false;
                if (r == BOARD_LONGER || r == BOARD_SHORTER)
                        change_window(l, r == BOARD_LONGER);
                else if (r == BOARD_ASK)
                        ask_for(l, before == l->board.view);
        }
        return true;
}

static bool take_signal(struct fleet_live *l)
{
        struct signalfd_siginfo info;
        while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
                if (info.ssi_signo == SIGTSTP) {
                        screen_leave(l->screen);
                        raise(SIGSTOP);
                        screen_enter(l->screen);
                } else if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT) {
                        return false;
                }
                screen_invalidate(l->screen);
        }
        return true;
}

static void live_loop(struct fleet_live *l, int tty)
{
        for (bool go = true; go;) {
                uint64_t n;
                struct pollfd fds[] = {
                    {tty, POLLIN, 0}, {l->signals, POLLIN, 0}, {l->news, POLLIN, 0}};
                live_draw(l);
                if (poll(fds, ARRAY_LEN(fds), FRAME_MS) < 0 && errno != EINTR)
                        return;
                if (fds[2].revents) {
                        ssize_t got = read(l->news, &n, sizeof(n));
                        (void)got;
                }
                if (fds[0].revents & (POLLHUP | POLLERR))
                        return;
                go = take_signal(l) && take_keys(l);
        }
}

static void stop_asker(struct fleet_live *l)
{
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_broadcast(&l->wanted);
        pthread_mutex_unlock(&l->lock);
        life_wake(l->wake);
        pthread_join(l->thread, NULL);
}

static int live_prepare(struct fleet_live *l, const struct fleet_config *fleet, struct err *err)
{
        struct fleet_config fc = *fleet;
        l->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        fc.wake = l->wake;
        if (l->news < 0 || l->wake < 0)
                return err_set(err, -errno, "cannot make an event: %s", strerror(errno));
        pthread_mutex_init(&l->lock, NULL);
        life_init_wake(&l->wanted);
        return fleet_open(&fc, &l->fleet, err);
}

static void live_finish(struct fleet_live *l)
{
        screen_close(l->screen);
        fleet_close(l->fleet);
        for (size_t i = 0; i < FLEET_VIEW_COUNT; i++)
                fleet_report_finish(&l->pages[i].report);
        canvas_finish(&l->canvas);
        closep(&l->signals);
        closep(&l->news);
        closep(&l->wake);
}

int fleet_live_run(const struct config *config, const struct fleet_config *fleet,
                   enum fleet_view view, int64_t window_ns)
{
        struct err err = {0};
        struct fleet_live l = {.config = config,
                               .board = {.view = view},
                               .view = view,
                               .window_ns = window_ns,
                               .interval_ns = clock_from_seconds(config_number(config, OPT_POLL)),
                               .signals = -1,
                               .news = -1,
                               .wake = -1,
                               .ask = true};
        sigset_t before;
        if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
                err_set(&err, ERR_USAGE, "--live needs a terminal to draw on");
                err_hint(&err, "leave it out for tables, or use --format json");
                return complain(&err);
        }
        l.canvas.ascii = config_flag(config, OPT_ASCII) || !terminal_has_utf8();
        l.signals = terminal_open_signals(&before);
        int r = live_prepare(&l, fleet, &err);
        if (r == 0)
                r = life_start_thread(run_asker, &l, &l.thread);
        if (r == 0) {
                r = terminal_open_screen(config, STDIN_FILENO, &l.screen, &err);
                if (r == 0)
                        live_loop(&l, STDIN_FILENO);
                stop_asker(&l);
        }
        live_finish(&l);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r < 0 ? complain(&err) : EXIT_FINE;
}
