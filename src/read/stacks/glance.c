#include "read/stacks/glance.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/numbered.h"
#include "read/stacks/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLES_MAX 4096   /* threads of one process */
#define READS_MAX 4        /* at one process: a stack that is torn is read again */
#define ENVIRON_MAX 131072 /* bytes of an environment that are looked through */
#define KNOWN_MAX 4194304  /* processes present; as many as the kernel has numbers */
#define LISTED_BUF 32768   /* bytes that the kernel lists at a time */

struct relative {
        int32_t pid, ppid;
};

struct all {
        struct relative *list;
        size_t n, cap;
        int proc;
        bool own_only, failed;
};

static void add_process(void *arg, const struct numbered *entry)
{
        struct all *a = arg;
        char name[32], buf[1024];
        struct proc_stat stat;
        struct stat who;
        if (a->n == KNOWN_MAX || a->failed || entry->number == getpid())
                return;
        if (a->own_only && (fstatat(a->proc, entry->name, &who, 0) < 0 || who.st_uid != geteuid()))
                return;
        snprintf(name, sizeof(name), "%d/stat", entry->number);
        ssize_t n = files_read(a->proc, name, buf, sizeof(buf));
        if (n < 0 || procfs_stat(buf, (size_t)n, &stat) < 0)
                return;
        a->failed = !LIST_ROOM(a->list, a->n, a->cap);
        if (!a->failed)
                a->list[a->n++] = (struct relative){.pid = stat.pid, .ppid = stat.ppid};
}

static void list_all(struct all *a)
{
        char buf[LISTED_BUF] __attribute__((aligned(16)));
        a->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (a->proc >= 0)
                numbered_each(a->proc, buf, sizeof(buf), add_process, a);
        closep(&a->proc);
}

static bool is_listed(const int32_t *list, size_t n, int32_t pid)
{
        for (size_t i = 0; i < n; i++) {
                if (list[i] == pid)
                        return true;
        }
        return false;
}

size_t glance_list_tree(const int32_t *roots, size_t n_roots, int32_t *list, size_t max)
{
        struct all a = {0};
        size_t n = 0;
        list_all(&a);
        for (size_t i = 0; i < n_roots && n < max; i++) {
                if (!is_listed(list, n, roots[i]))
                        list[n++] = roots[i];
        }
        /* The list grows while it is walked: children follow their parents. */
        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < a.n && n < max; k++) {
                        if (a.list[k].ppid == list[i] && !is_listed(list, n, a.list[k].pid))
                                list[n++] = a.list[k].pid;
                }
        }
        free(a.list);
        return n;
}

size_t glance_list_own(int32_t *list, size_t max)
{
        struct all a = {.own_only = true};
        size_t n = 0;
        list_all(&a);
        for (size_t i = 0; i < a.n && n < max; i++)
                list[n++] = a.list[i].pid;
        free(a.list);
        return n;
}

/* Whether it is Python, also where its frames cannot be read. */
static bool is_python(const struct stack_process *is)
{
        return is->access == STACK_READABLE || is->access == STACK_UNSUPPORTED ||
               is->access == STACK_PENDING;
}

static int add_samples(struct stack_snapshot *l, const struct stack_sample *list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                struct snapshot_thread *t = stack_snapshot_add_thread(l);
                if (!t)
                        return -ENOMEM;
                t->tid = list[i].tid;
                t->name = list[i].thread;
                t->stack = list[i].stack;
                t->call = list[i].call;
                t->channel = list[i].channel;
                t->state = list[i].state;
                t->holds_gil = list[i].holds_gil;
                t->is_main = list[i].is_main;
        }
        return 0;
}

static int take_one(struct stack_snapshot *l, struct process_reader *r,
                    struct stack_sample *samples, int32_t pid, bool only_python)
{
        struct process *p;
        size_t n = 0;
        int e = process_open(r, pid, &p);
        if (e < 0)
                return e;
        for (int i = 0; i < READS_MAX; i++) {
                const struct sample_plan sample_plan = {.kind = SAMPLE_ALL,
                                                        .now_ns = clock_mono_ns()};
                uint64_t torn = process_describe(p)->torn;
                n = process_read_stacks(p, r, &sample_plan, samples, SAMPLES_MAX);
                if (process_describe(p)->torn == torn)
                        break;
        }
        const struct stack_process *is = process_describe(p);
        if (is->access != STACK_GONE && (!only_python || is_python(is))) {
                if (!stack_snapshot_add_process(l, 0, is))
                        e = -ENOMEM;
                else
                        e = add_samples(l, samples, n);
        }
        process_close(p);
        return e;
}

int glance_take(struct stack_snapshot *l, const int32_t *pids, size_t n, bool only_python)
{
        struct process_reader *r;
        struct stack_sample *samples = calloc(SAMPLES_MAX, sizeof(*samples));
        int e = samples ? process_reader_open(l->table, geteuid() == 0, &r) : -ENOMEM;
        for (size_t i = 0; e == 0 && i < n; i++) {
                e = take_one(l, r, samples, pids[i], only_python);
                if (e < 0)
                        process_reader_close(r);
        }
        if (e == 0)
                process_reader_close(r);
        free(samples);
        return e;
}

bool glance_environment(int32_t pid, const char *name, char *ret, size_t size)
{
        char path[32];
        char *buf = malloc(ENVIRON_MAX);
        CLEANUP(closep) int root = files_open_root("");
        snprintf(path, sizeof(path), "/proc/%d/environ", pid);
        ssize_t n = buf && root >= 0 ? files_read(root, path, buf, ENVIRON_MAX) : -1;
        bool found = n > 0 && procfs_environ(buf, (size_t)n, name, ret, size);
        free(buf);
        return found;
}
