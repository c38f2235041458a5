#include "read/stacks/watch.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/stacks/glance.h"
#include "read/stacks/process.h"
#include "read/stacks/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 4096
#define FILE_MAX 4096
#define PROCESS_TAKES_NS (2 * NS_PER_S / 1000) /* a look at one, about */

/* What the kernel counts of a process. */
struct vitals {
        bool has_stat, has_io;
        uint64_t cpu, waited; /* clock ticks */
        uint64_t minor, major, io, disk;
        int64_t mono_ns;
};

struct watched {
        struct process *process;
        int folder;   /* /proc/PID; -1: it has gone */
        size_t place; /* in the snapshot; SIZE_MAX: it is not part of it */
        struct vitals first;
};

struct watch {
        struct stack_snapshot *l;
        struct process_reader *reader;
        struct stack_sample *samples;
        struct watched *list;
        size_t n;
        struct seen {
                struct task_runs runs; /* as it was first */
                uint32_t stacks[SNAPSHOT_SEEN_MAX];
        } * seen; /* one a thread of the snapshot */
        size_t cap_seen;
        bool only_python;
};

static void read_vitals(int folder, struct vitals *ret)
{
        char buf[FILE_MAX];
        struct proc_stat stat;
        struct proc_io io;
        struct vitals v = {.mono_ns = clock_mono_ns()};
        ssize_t n = files_read(folder, "stat", buf, sizeof(buf));
        if (n > 0 && procfs_stat(buf, (size_t)n, &stat) == 0) {
                v.has_stat = true;
                v.cpu = stat.own;
                v.waited = stat.waited;
                v.minor = stat.minor;
                v.major = stat.major;
        }
        n = files_read(folder, "io", buf, sizeof(buf));
        if (n > 0 && procfs_io(buf, (size_t)n, &io) == 0) {
                v.has_io = true;
                v.io = io.v[PROC_IO_RCHAR] + io.v[PROC_IO_WCHAR];
                v.disk = io.v[PROC_IO_READ] + io.v[PROC_IO_WRITE];
        }
        *ret = v;
}

static void fill_halt(int folder, struct snapshot_process *p)
{
        char buf[FILE_MAX];
        struct proc_stat stat;
        ssize_t n = files_read(folder, "stat", buf, sizeof(buf));
        if (n > 0 && procfs_stat(buf, (size_t)n, &stat) == 0) {
                p->halt = stat.state == 'T'   ? SNAPSHOT_STOPPED
                          : stat.state == 't' ? SNAPSHOT_TRACED
                                              : SNAPSHOT_GOES_ON;
                p->figures[SNAPSHOT_MEMORY] =
                    value_ok((double)stat.rss_pages * (double)sysconf(_SC_PAGESIZE));
        }
        int32_t tracer;
        uint64_t swap;
        n = files_read(folder, "status", buf, sizeof(buf));
        if (n > 0 && procfs_halted(buf, (size_t)n, &tracer, &swap)) {
                p->tracer = tracer;
                p->figures[SNAPSHOT_SWAP] = value_ok((double)swap);
        }
}

static void fill_figures(const struct watched *w, struct snapshot_process *p)
{
        struct vitals now;
        read_vitals(w->folder, &now);
        const struct vitals *was = &w->first;
        double seconds = clock_to_seconds(now.mono_ns - was->mono_ns);
        double ticks = (double)sysconf(_SC_CLK_TCK);
        p->watched_s = value_ok(seconds);
        fill_halt(w->folder, p);
        if (now.has_stat && was->has_stat) {
                struct value cpu = counter_rate(now.cpu, was->cpu, seconds);
                struct value waited = counter_rate(now.waited, was->waited, seconds);
                cpu.v /= ticks;
                waited.v /= ticks;
                p->figures[SNAPSHOT_CPU] = cpu;
                p->figures[SNAPSHOT_CHILDREN] = waited;
                p->figures[SNAPSHOT_MINOR] = counter_rate(now.minor, was->minor, seconds);
                p->figures[SNAPSHOT_MAJOR] = counter_rate(now.major, was->major, seconds);
        }
        if (now.has_io && was->has_io) {
                p->figures[SNAPSHOT_IO] = counter_rate(now.io, was->io, seconds);
                p->figures[SNAPSHOT_DISK] = counter_rate(now.disk, was->disk, seconds);
        }
}

/* ---- threads ---- */

static void note_place(struct snapshot_thread *t, struct seen *seen, uint32_t stack)
{
        for (size_t i = 0; i < t->places; i++) {
                if (seen->stacks[i] == stack)
                        return;
        }
        if (t->places < SNAPSHOT_SEEN_MAX)
                seen->stacks[t->places++] = stack;
}

static void fill_thread(struct snapshot_thread *t, struct seen *seen,
                        const struct stack_table *table, const struct stack_sample *s)
{
        note_place(t, seen, s->stack);
        t->steady = t->n_samples == 0 ? s->stack : stack_common(table, t->steady, s->stack);
        t->n_samples++;
        t->name = s->thread;
        t->stack = s->stack;
        t->call = s->call;
        t->channel = s->channel;
        t->state = s->state;
        t->holds_gil = s->holds_gil;
}

static int add_threads(struct watch *w, struct watched *p, size_t n)
{
        struct stack_snapshot *l = w->l;
        for (size_t i = 0; i < n; i++) {
                struct snapshot_thread *t = stack_snapshot_add_thread(l);
                if (!t)
                        return -ENOMEM;
                t->tid = w->samples[i].tid;
                t->is_main = w->samples[i].is_main;
                if (!LIST_RESERVE(w->seen, l->n_threads, w->cap_seen))
                        return -ENOMEM;
                fill_thread(t, &w->seen[l->n_threads - 1], l->table, &w->samples[i]);
                task_read_runs(p->folder, t->tid, &w->seen[l->n_threads - 1].runs);
        }
        return 0;
}

static void see_again(struct watch *w, const struct watched *p, size_t n)
{
        const struct snapshot_process *is = &w->l->processes[p->place];
        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < is->n_threads; k++) {
                        struct snapshot_thread *t = &w->l->threads[is->first_thread + k];
                        if (t->tid == w->samples[i].tid && t->tid != 0) {
                                fill_thread(t, &w->seen[is->first_thread + k], w->l->table,
                                            &w->samples[i]);
                                break;
                        }
                }
        }
}

static size_t take_samples(struct watch *w, struct watched *p)
{
        size_t n = 0;
        for (int i = 0; i < 2; i++) {
                const struct sample_plan sample_plan = {.kind = SAMPLE_ALL,
                                                        .now_ns = clock_mono_ns()};
                uint64_t torn = process_describe(p->process)->torn;
                n = process_read_stacks(p->process, w->reader, &sample_plan, w->samples,
                                        SAMPLES_MAX);
                if (process_describe(p->process)->torn == torn)
                        break;
        }
        return n;
}

static bool is_watched(const struct watch *w, const struct stack_process *is)
{
        return is->access != STACK_GONE &&
               (!w->only_python || is->access == STACK_READABLE ||
                is->access == STACK_UNSUPPORTED || is->access == STACK_PENDING);
}

/* The first look at a process adds it and its threads. */
static int begin_process(struct watch *w, struct watched *p, int32_t pid)
{
        char path[32];
        int r = process_open(w->reader, pid, &p->process);
        if (r < 0)
                return r;
        snprintf(path, sizeof(path), "/proc/%d", pid);
        p->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        size_t n = take_samples(w, p);
        const struct stack_process *is = process_describe(p->process);
        if (p->folder < 0 || !is_watched(w, is))
                return 0;
        if (!stack_snapshot_add_process(w->l, 0, is))
                return -ENOMEM;
        p->place = w->l->n_processes - 1;
        read_vitals(p->folder, &p->first);
        return add_threads(w, p, n);
}

/* Where this thread's own clock of the scheduler stands. */
static bool read_own_clock(double *ret_ms)
{
        struct task_runs own;
        CLEANUP(closep) int folder = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
                return false;
        task_read_runs(folder, gettid(), &own);
        *ret_ms = own.last_ms;
        return own.has_last;
}

static void end_thread(const struct watch *w, const struct watched *p, size_t at, double seconds)
{
        struct snapshot_thread *t = &w->l->threads[at];
        const struct task_runs *was = &w->seen[at].runs;
        struct task_runs now;
        struct task_target target;
        double own_ms;
        task_read_runs(p->folder, t->tid, &now);
        if (now.has_times && was->has_times) {
                t->busy = counter_rate(now.cpu_ns, was->cpu_ns, seconds);
                t->busy.v /= (double)NS_PER_S;
                t->ready =
                    counter_rate(now.cpu_ns + now.waited_ns, was->cpu_ns + was->waited_ns, seconds);
                t->ready.v = MIN(t->ready.v / (double)NS_PER_S, 1.0);
                t->wakes = counter_rate(now.times, was->times, seconds);
        }
        if (now.has_last && t->state != STACK_RUNNING && read_own_clock(&own_ms))
                t->idle_s = value_ok(MAX(own_ms - now.last_ms, 0.0) / 1000);
        task_read_target(p->folder, w->l->processes[p->place].is.pid, t->tid, w->l->table, &target);
        t->target = target.target;
        t->waits_at = target.waits_at;
}

static void end_process(const struct watch *w, const struct watched *p)
{
        struct snapshot_process *is = &w->l->processes[p->place];
        fill_figures(p, is);
        for (size_t i = 0; i < is->n_threads; i++)
                end_thread(w, p, is->first_thread + i, is->watched_s.v);
}

static void sleep_until(int64_t mono_ns)
{
        struct timespec at = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
                ;
}

static int watch_all(struct watch *w, const int32_t *pids, int64_t watch_ns)
{
        int64_t begin = clock_mono_ns(),
                every = MAX(WATCH_EVERY_NS, (int64_t)w->n * PROCESS_TAKES_NS);
        for (size_t i = 0; i < w->n; i++) {
                int r = begin_process(w, &w->list[i], pids[i]);
                if (r < 0)
                        return r;
        }
        for (int64_t at = begin + every; at <= begin + watch_ns; at += every) {
                sleep_until(at);
                for (size_t i = 0; i < w->n; i++) {
                        if (w->list[i].place != SIZE_MAX)
                                see_again(w, &w->list[i], take_samples(w, &w->list[i]));
                }
        }
        sleep_until(begin + watch_ns);
        for (size_t i = 0; i < w->n; i++) {
                if (w->list[i].place != SIZE_MAX)
                        end_process(w, &w->list[i]);
        }
        return 0;
}

int glance_watch(struct stack_snapshot *l, const int32_t *pids, size_t n, bool only_python,
                 int64_t watch_ns)
{
        struct watch w = {.l = l, .n = n, .only_python = only_python};
        w.samples = calloc(SAMPLES_MAX, sizeof(*w.samples));
        w.list = calloc(n + 1, sizeof(*w.list));
        int r = w.samples && w.list ? process_reader_open(l->table, geteuid() == 0, &w.reader)
                                    : -ENOMEM;
        for (size_t i = 0; w.list && i < n; i++)
                w.list[i] = (struct watched){.folder = -1, .place = SIZE_MAX};
        if (r == 0) {
                r = watch_all(&w, pids, watch_ns);
                for (size_t i = 0; i < n; i++) {
                        process_close(w.list[i].process);
                        closep(&w.list[i].folder);
                }
                process_reader_close(w.reader);
        }
        free(w.seen);
        free(w.list);
        free(w.samples);
        return r;
}
