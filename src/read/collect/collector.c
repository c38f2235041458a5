#include "read/collect/collector.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/helper.h"
#include "life/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SHELL "/bin/sh"
#define CHUNK 4096
#define BYTES_A_SECOND 65536 /* one that writes more waits */

/* One of the list, as it is now. */
struct feed {
        struct helper child;
        int fd; /* the socket; -1 when there is none */
        bool runs;
        bool reported;      /* what is wrong with it */
        bool too_long;      /* inside a line that is */
        int64_t next_ns;    /* when it is started again */
        int64_t kept_ns;    /* when a value was kept last */
        int64_t renewed_ns; /* when it was last allowed to write so much */
        size_t allowance;
        char line[COLLECT_LINE_MAX];
        size_t len;
};

struct collector {
        struct collector_config config;
        struct feed feeds[COLLECTED_MAX];
        pthread_t thread;
        int wake; /* readable: it is time to end */
};

static void report_once(struct collector *c, size_t i, const char *why)
{
        if (!c->feeds[i].reported)
                c->config.on_trouble(c->config.arg, c->config.list.items[i].name, why);
        c->feeds[i].reported = true;
}

/* ---- starting and ending ---- */

static int connect_socket(const char *path)
{
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof(at.sun_path))
                return -ENAMETOOLONG;
        memcpy(at.sun_path, path, strlen(path));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
                return fd;
        int r = -errno;
        close(fd);
        return r;
}

static void start_feed(struct collector *c, size_t i, int64_t now)
{
        const struct collect_item *item = &c->config.list.items[i];
        const char *const argv[] = {SHELL, "-c", item->from, NULL};
        const struct helper_options how = {.is_quiet = true};
        struct feed *f = &c->feeds[i];
        int r = item->is_socket ? connect_socket(item->from) : helper_start(&f->child, argv, &how);
        f->next_ns = now + c->config.interval_ns;
        f->len = 0;
        f->too_long = false;
        f->runs = r >= 0;
        f->fd = item->is_socket ? MAX(r, -1) : f->child.out_fd;
        if (r < 0)
                report_once(c, i, strerror(-r));
}

static void end_feed(struct collector *c, size_t i)
{
        struct feed *f = &c->feeds[i];
        if (!f->runs)
                return;
        if (c->config.list.items[i].is_socket)
                close(f->fd);
        else
                helper_stop(&f->child);
        f->child = HELPER_NONE;
        f->fd = -1;
        f->runs = false;
}

/* ---- what they say ---- */

static void take_feed_line(struct collector *c, size_t i)
{
        struct feed *f = &c->feeds[i];
        struct collected value;
        int64_t now = clock_mono_ns();
        if (f->too_long || !collect_parse_line(f->line, f->len, &value)) {
                if (f->too_long || f->len > 0)
                        report_once(c, i, "a line that is not a number and a unit");
                return;
        }
        /* One that prints all the time does not fill the recording. */
        if (f->kept_ns > 0 && now - f->kept_ns < c->config.interval_ns / 2)
                return;
        f->kept_ns = now;
        value.mono_ns = now;
        value.wall_ns = clock_wall_ns();
        snprintf(value.name, sizeof(value.name), "%s", c->config.list.items[i].name);
        c->config.on_value(c->config.arg, &value);
}

static void take_bytes(struct collector *c, size_t i, const char *s, size_t n)
{
        struct feed *f = &c->feeds[i];
        for (size_t k = 0; k < n; k++) {
                if (s[k] == '\n') {
                        take_feed_line(c, i);
                        f->len = 0;
                        f->too_long = false;
                } else if (f->len < sizeof(f->line)) {
                        f->line[f->len++] = s[k];
                } else {
                        f->too_long = true;
                }
        }
}

static void take_end(struct collector *c, size_t i)
{
        struct feed *f = &c->feeds[i];
        if (f->len > 0)
                take_feed_line(c, i); /* a last line without its end */
        if (!f->kept_ns)
                report_once(c, i, "it ended without a number");
        end_feed(c, i);
}

/* Whether a command has ended, although what it left in the background keeps its pipe open. */
static bool has_left(const struct collector *c, size_t i)
{
        const struct feed *f = &c->feeds[i];
        return f->runs && !c->config.list.items[i].is_socket && helper_has_ended(&f->child);
}

/* One chunk a turn, so that one that never stops writing keeps no other waiting. */
static void read_feed(struct collector *c, size_t i)
{
        char chunk[CHUNK];
        struct feed *f = &c->feeds[i];
        bool is_last = has_left(c, i);
        ssize_t n = read(f->fd, chunk, MIN(sizeof(chunk), f->allowance));
        if (n > 0) {
                f->allowance -= (size_t)n;
                take_bytes(c, i, chunk, (size_t)n);
                return;
        }
        if (n == 0 || is_last || (errno != EAGAIN && errno != EINTR))
                take_end(c, i);
}

/* ---- the thread ---- */

static void renew_allowance(struct feed *f, int64_t now)
{
        if (f->renewed_ns > 0 && now - f->renewed_ns < NS_PER_S)
                return;
        f->renewed_ns = now;
        f->allowance = BYTES_A_SECOND;
}

static int wait_ms(const struct collector *c, int64_t now)
{
        int64_t next = now + NS_PER_S;
        for (size_t i = 0; i < c->config.list.n; i++) {
                const struct feed *f = &c->feeds[i];
                if (!f->runs)
                        next = MIN(next, f->next_ns);
                else if (f->allowance == 0)
                        next = MIN(next, f->renewed_ns + NS_PER_S);
        }
        return next > now ? (int)((next - now) / NS_PER_MS + 1) : 0;
}

/* False when it is time to end. */
static bool collect_round(struct collector *c)
{
        struct pollfd fds[1 + COLLECTED_MAX] = {{.fd = c->wake, .events = POLLIN}};
        int64_t now = clock_mono_ns();
        size_t n = c->config.list.n;
        for (size_t i = 0; i < n; i++) {
                struct feed *f = &c->feeds[i];
                if (!f->runs && now >= f->next_ns)
                        start_feed(c, i, now);
                renew_allowance(f, now);
                fds[1 + i] = (struct pollfd){.fd = f->allowance > 0 ? f->fd : -1, .events = POLLIN};
        }
        poll(fds, 1 + n, wait_ms(c, now));
        for (size_t i = 0; i < n; i++) {
                if (fds[1 + i].revents || (fds[1 + i].fd >= 0 && has_left(c, i)))
                        read_feed(c, i);
        }
        return !fds[0].revents;
}

static void *collect_thread(void *arg)
{
        struct collector *c = arg;
        while (collect_round(c))
                ;
        for (size_t i = 0; i < c->config.list.n; i++) {
                if (c->feeds[i].child.pid > 0)
                        helper_terminate(&c->feeds[i].child); /* all at once */
        }
        for (size_t i = 0; i < c->config.list.n; i++)
                end_feed(c, i);
        return NULL;
}

static void free_collector(struct collector *c)
{
        closep(&c->wake);
        collect_list_finish(&c->config.list);
        free(c);
}

int collector_open(const struct collector_config *config, struct collector **ret, struct err *err)
{
        struct collector *c = calloc(1, sizeof(*c));
        if (!c) {
                struct collect_list list = config->list;
                collect_list_finish(&list);
                return err_set(err, -ENOMEM, "out of memory");
        }
        c->config = *config;
        c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        for (size_t i = 0; i < COLLECTED_MAX; i++) {
                c->feeds[i].child = HELPER_NONE;
                c->feeds[i].fd = -1;
        }
        int r = c->wake < 0 ? -errno : life_start_thread(collect_thread, c, &c->thread);
        if (r < 0) {
                free_collector(c);
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        *ret = c;
        return 0;
}

void collector_close(struct collector *c)
{
        if (!c)
                return;
        life_wake(c->wake);
        pthread_join(c->thread, NULL);
        free_collector(c);
}
