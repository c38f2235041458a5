/*
 * What a frame of the dashboard costs: CPU time and bytes to the terminal, view by view.
 * usage: bench_frames CAPTURE WIDTH HEIGHT
 *
 * The capture is played tick by tick into a real pseudo-terminal that a child process empties.
 */
#include "base/clock.h"
#include "engine/history.h"
#include "engine/pipeline.h"
#include "present/tui/screen.h"
#include "present/tui/ui.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

static int64_t cpu_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* A terminal of that size, and the child that reads what is written to it. */
static int open_terminal(int w, int h, pid_t *ret_child)
{
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
                return -1;
        int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
        struct winsize size = {.ws_col = (unsigned short)w, .ws_row = (unsigned short)h};
        ioctl(slave, TIOCSWINSZ, &size);
        *ret_child = fork();
        if (*ret_child == 0) {
                char buf[65536];
                close(slave);
                while (read(master, buf, sizeof(buf)) > 0)
                        ;
                _exit(0);
        }
        close(master);
        return slave;
}

static int measure(const char *path, enum view_id view, struct screen *screen, struct canvas *c)
{
        struct pipeline_config config = {
            .ops = source_find("replay"),
            .source = {.location = path, .poll_ns = 100 * NS_PER_MS, .root = ""},
            .compute = {.weights = weights_preset(WEIGHTS_AI), .margins = true},
            .selection = {.all = true}};
        struct err err;
        struct pipeline *p;
        const struct frame *frame;
        if (pipeline_open(&config, &p, &err) < 0)
                return fprintf(stderr, "%s\n", err.msg), 1;
        struct history *history = history_open(1200);
        struct ui ui;
        ui_init(&ui);
        ui.view = view;
        struct screen_counts before, after;
        int64_t spent = 0, frames = 0;
        size_t gpus = 0;
        screen_counts(screen, &before);
        while (pipeline_next(p, &frame, &err) > 0) {
                history_push(history, frame);
                struct ui_data data = {.frame = frame,
                                       .trends = history_trends(history),
                                       .version = "bench",
                                       .state = SOURCE_RUNNING,
                                       .error = "",
                                       .hint = "",
                                       .interval_ns = 100 * NS_PER_MS,
                                       .replay = true,
                                       .speed = 1};
                int64_t start = cpu_ns();
                ui_update(&ui, &data);
                ui_draw(&ui, &data, c);
                bool written = screen_flush(screen, c);
                spent += cpu_ns() - start;
                /* The child reads more slowly than we write without pause. */
                while (!written) {
                        poll(NULL, 0, 1);
                        start = cpu_ns();
                        written = screen_flush(screen, c);
                        spent += cpu_ns() - start;
                }
                gpus = frame->n;
                frames++;
        }
        screen_counts(screen, &after);
        printf("  %-6s %3zu GPUs %4dx%-3d %6lld frames %8.1f us/frame %8.1f bytes/frame\n",
               view_at(view)->name, gpus, c->w, c->h, (long long)frames,
               (double)spent / 1e3 / (double)frames,
               (double)(after.bytes - before.bytes) / (double)frames);
        ui_finish(&ui);
        history_close(history);
        pipeline_close(p);
        return 0;
}

int main(int argc, char **argv)
{
        if (argc != 4)
                return fprintf(stderr, "usage: bench_frames CAPTURE WIDTH HEIGHT\n"), 2;
        int w = atoi(argv[2]), h = atoi(argv[3]), status = 0;
        pid_t child;
        struct err err;
        int tty = open_terminal(w, h, &child);
        struct screen_config config = {.in = tty,
                                       .out = tty,
                                       .term = "xterm-256color",
                                       .depth_limit = DEPTH_TRUE,
                                       .theme = THEME_DARK};
        struct screen *screen;
        struct canvas c = {0};
        if (screen_open(&config, &screen, &err) < 0)
                return fprintf(stderr, "%s\n", err.msg), 1;
        canvas_resize(&c, w, h);
        for (enum view_id v = VIEW_FLEET; v <= VIEW_PLOT && status == 0; v++)
                status = measure(argv[1], v, screen, &c);
        screen_close(screen);
        canvas_finish(&c);
        close(tty);
        waitpid(child, NULL, 0);
        return status;
}
