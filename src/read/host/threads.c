#include "read/host/threads.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/numbered.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define STAT_MAX 1024
#define DENTS_MAX (16 * 1024)
#define LIST_AGAIN_NS (5 * NS_PER_S)
#define FAVOURITES 32 /* the busiest, examined each time */

void threads_init(struct threads *t)
{
        *t = (struct threads){.folder = -1,
                              .busiest = value_missing(STATE_BLANK),
                              .first = value_missing(STATE_BLANK),
                              .queued = value_missing(STATE_BLANK),
                              .no_queues = STATE_OK};
}

static void close_thread(struct thread_state *x, struct fd_budget *fds)
{
        if (x->fd < 0)
                return;
        close(x->fd);
        x->fd = -1;
        fds->left++;
}

void threads_finish(struct threads *t, struct fd_budget *fds)
{
        for (size_t i = 0; i < t->n; i++)
                close_thread(&t->list[i], fds);
        if (t->folder >= 0) {
                close(t->folder);
                fds->left++;
        }
        free(t->list);
        threads_init(t);
}

static bool open_folder(struct threads *t, const struct threads_ask *ask, struct fd_budget *fds)
{
        char path[32];
        if (t->folder >= 0)
                return true;
        snprintf(path, sizeof(path), "%d/task", ask->pid);
        int fd = fds->left > 0 ? openat(ask->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (fd < 0) {
                t->busiest = fds->left > 0 ? files_missing(-errno) : value_missing(STATE_BLANK);
                t->first = t->queued = t->busiest;
                return false;
        }
        fds->left--;
        t->folder = fd;
        return true;
}

static bool is_known(const struct threads *t, int32_t tid, size_t *hint)
{
        for (size_t i = 0; i < t->n; i++) {
                size_t at = (*hint + i) % t->n;
                if (t->list[at].tid == tid) {
                        *hint = at + 1;
                        return true;
                }
        }
        return false;
}

static void add_thread(struct threads *t, int32_t tid)
{
        if (t->n == THREADS_MAX || !LIST_ROOM(t->list, t->n, t->cap))
                return;
        t->list[t->n++] = (struct thread_state){.tid = tid, .fd = -1};
}

struct listing {
        struct threads *threads;
        size_t hint;
};

static void take_thread(void *arg, const struct numbered *entry)
{
        struct listing *l = arg;
        if (entry->number > 0 && !is_known(l->threads, entry->number, &l->hint))
                add_thread(l->threads, entry->number);
}

/* Threads that came; those that ended show it when they are read. */
static void list_threads(struct threads *t, const struct threads_ask *ask)
{
        alignas(max_align_t) char dents[DENTS_MAX];
        struct listing l = {.threads = t};
        if (t->listed_ns && t->reported == ask->n && ask->now_ns - t->listed_ns < LIST_AGAIN_NS)
                return;
        t->listed_ns = ask->now_ns;
        t->reported = ask->n;
        if (t->n == 0)
                add_thread(t, ask->pid); /* the main thread is the first, and stays it */
        numbered_each(t->folder, dents, sizeof(dents), take_thread, &l);
}

static ssize_t read_stat(const struct threads *t, struct thread_state *x, char *buf,
                         struct fd_budget *fds)
{
        char path[32];
        if (x->fd >= 0)
                return files_reread_record(x->fd, buf, STAT_MAX);
        snprintf(path, sizeof(path), "%d/stat", x->tid);
        int fd = files_open(t->folder, path);
        if (fd < 0)
                return fd;
        ssize_t n = files_reread_record(fd, buf, STAT_MAX);
        if (n > 0 && fds->left > 0) {
                fds->left--;
                x->fd = fd;
        } else {
                close(fd);
        }
        return n;
}

static int read_delay(const struct threads *t, int32_t tid, uint64_t *ret_ns)
{
        char path[32], buf[128];
        struct proc_schedstat s = {0};
        snprintf(path, sizeof(path), "%d/schedstat", tid);
        ssize_t n = files_read(t->folder, path, buf, sizeof(buf));
        if (n < 0)
                return (int)n;
        int r = procfs_schedstat(buf, (size_t)n, &s);
        if (r == 0)
                *ret_ns = s.queued_ns;
        return r;
}

static bool still_runs(const struct threads *t, int32_t tid)
{
        char path[32];
        snprintf(path, sizeof(path), "%d/stat", tid);
        return faccessat(t->folder, path, R_OK, 0) == 0;
}

/* How long it waited for a CPU. One that sleeps from look to look does not: nothing is read. */
static void read_queue(struct threads *t, struct thread_state *x, bool ran, int64_t now_ns)
{
        uint64_t total = 0;
        int64_t before = x->queue_ns;
        x->queue_ns = 0;
        x->queued = x->read_ns && !ran ? value_ok(0) : value_missing(STATE_BLANK);
        if (t->no_queues != STATE_OK || (!ran && x->state != 'R'))
                return;
        int r = read_delay(t, x->tid, &total);
        if (r < 0) {
                if (still_runs(t, x->tid))
                        t->no_queues = files_missing(r).state;
                return;
        }
        x->queued = value_missing(STATE_BLANK);
        if (before)
                x->queued = counter_rate(total, x->queued_ns, (double)(now_ns - before));
        x->queued_ns = total;
        x->queue_ns = now_ns;
}

/* False when it has ended, or may not be read. */
static bool read_thread(struct threads *t, struct thread_state *x, const struct threads_ask *ask,
                        struct fd_budget *fds)
{
        char buf[STAT_MAX];
        struct proc_stat st;
        ssize_t n = read_stat(t, x, buf, fds);
        if (n <= 0 || procfs_stat(buf, (size_t)n, &st) < 0)
                return false;
        double seconds = clock_to_seconds(ask->now_ns - x->read_ns);
        x->busy = x->read_ns ? counter_rate(st.own, x->cpu, seconds) : value_missing(STATE_BLANK);
        x->busy.v /= ask->clock_ticks;
        bool ran = st.own != x->cpu;
        x->read_ns = ask->now_ns;
        x->cpu = st.own;
        x->state = st.state;
        read_queue(t, x, ran, ask->now_ns);
        return true;
}

static void drop_thread(struct threads *t, size_t i, struct fd_budget *fds)
{
        close_thread(&t->list[i], fds);
        t->list[i] = t->list[--t->n];
}

/* Looks at the threads from first on, most of them at most; gives the place after the last. */
static size_t look_at(struct threads *t, size_t first, size_t most, const struct threads_ask *ask,
                      struct fd_budget *fds)
{
        size_t i = first;
        for (size_t looked = 0; i < t->n && looked < most; looked++) {
                if (read_thread(t, &t->list[i], ask, fds))
                        i++;
                else
                        drop_thread(t, i, fds);
        }
        return i;
}

/* One that is not known comes last. */
static bool is_larger(struct value a, struct value b)
{
        return value_or(a, -1) > value_or(b, -1);
}

/* The busiest come next after the main thread, so that they are found again. */
static void favour_busiest(struct threads *t)
{
        for (size_t i = 1; i < FAVOURITES && i < t->n; i++) {
                size_t best = i;
                for (size_t k = i + 1; k < t->n; k++) {
                        if (is_larger(t->list[k].busy, t->list[best].busy))
                                best = k;
                }
                struct thread_state x = t->list[i];
                t->list[i] = t->list[best];
                t->list[best] = x;
        }
}

/* Clock ticks are not in step with ours: one more may fall into the time between. */
static struct value busy_value(struct value busy)
{
        return value_is_set(busy) ? value_ok(MIN(busy.v, 1.0)) : busy;
}

static void sum_up(struct threads *t, const struct threads_ask *ask)
{
        struct value most = value_missing(STATE_BLANK), first = most, queued = most;
        t->blocked = 0;
        for (size_t i = 0; i < t->n; i++) {
                const struct thread_state *x = &t->list[i];
                if (x->read_ns == ask->now_ns && (i == 0 || is_larger(x->busy, most)))
                        most = x->busy;
                if (x->read_ns == ask->now_ns && is_larger(x->queued, queued))
                        queued = x->queued;
                if (x->read_ns == ask->now_ns && x->tid == ask->pid)
                        first = x->busy;
                t->blocked += x->state == 'D' && x->tid != ask->pid;
        }
        t->busiest = busy_value(most);
        t->first = busy_value(first);
        t->queued = t->no_queues == STATE_OK ? busy_value(queued) : value_missing(t->no_queues);
}

void threads_read(struct threads *t, const struct threads_ask *ask, struct fd_budget *fds)
{
        if (t->read_ns && ask->now_ns - t->read_ns < THREADS_EVERY_NS)
                return;
        if (!open_folder(t, ask, fds))
                return;
        list_threads(t, ask);
        t->read_ns = ask->now_ns;
        if (t->n <= ask->most) {
                look_at(t, 0, t->n, ask, fds);
        } else {
                size_t first = look_at(t, 0, FAVOURITES, ask, fds);
                t->turn = t->turn < first || t->turn >= t->n ? first : t->turn;
                t->turn = look_at(t, t->turn, ask->most - MIN(first, ask->most), ask, fds);
                favour_busiest(t);
        }
        sum_up(t, ask);
}
