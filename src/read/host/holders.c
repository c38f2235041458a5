#include "read/host/holders.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/framework.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOLDERS_MAX 128
#define CPUS_EVERY_NS (10 * NS_PER_S)
#define TEXT_MAX 8192

/* Threads examined every half second, all holders together: about 2 µs each. */
#define SEARCHES 512
#define SEARCHES_MIN 16

/* A program maps its framework while it starts: when none is found, it is searched for again. */
#define FIRST_SEARCH_NS (2 * NS_PER_S)
#define FRAMEWORK_SEARCHES 6
#define PIECES_ALONE 8

struct holder {
        int32_t pid; /* 0: free */
        uint64_t start, groups, seen;
        struct threads threads;
        struct value cpus;
        int64_t cpus_ns;
        struct value framework;
        unsigned looks;
        int64_t look_ns; /* not before */
};

struct holders {
        int root, proc;
        const struct cgroup_mounts *mounts;
        struct fd_budget fds;
        uint64_t tick;
        size_t n; /* in use at the last tick */
        struct holder list[HOLDERS_MAX];
        struct framework_search search;
        struct holder *searched; /* by look */
        char text[TEXT_MAX];
};

int holders_open(const struct holders_config *config, struct holders **ret)
{
        struct holders *h = calloc(1, sizeof(*h));
        if (!h)
                return -ENOMEM;
        h->root = config->root;
        h->mounts = config->mounts;
        h->fds.left = config->fd_budget;
        h->proc = files_open(config->root, "/proc");
        framework_init(&h->search);
        if (h->proc < 0) {
                int r = h->proc;
                free(h);
                return r;
        }
        *ret = h;
        return 0;
}

static void drop_holder(struct holders *h, struct holder *p)
{
        threads_finish(&p->threads, &h->fds);
        if (h->searched == p) {
                framework_finish(&h->search);
                h->searched = NULL;
        }
        *p = (struct holder){0};
}

void holders_close(struct holders *h)
{
        if (!h)
                return;
        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                if (h->list[i].pid)
                        drop_holder(h, &h->list[i]);
        }
        close(h->proc);
        free(h);
}

static struct holder *find_holder(struct holders *h, int32_t pid)
{
        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                if (h->list[i].pid == pid)
                        return &h->list[i];
        }
        return NULL;
}

static void note_holder(struct holders *h, const struct scan_process *q)
{
        struct holder *p = find_holder(h, q->pid);
        if (p && p->start != q->start) {
                drop_holder(h, p);
                p = NULL;
        }
        if (!p && !(p = find_holder(h, 0)))
                return;
        if (p->pid == 0) {
                *p = (struct holder){.pid = q->pid,
                                     .start = q->start,
                                     .cpus = value_missing(STATE_BLANK),
                                     .framework = value_missing(STATE_BLANK)};
                threads_init(&p->threads);
        }
        /* Who begins to hold a GPU has loaded by now what it computes with. */
        if (q->holds & ~p->groups) {
                p->looks = 0;
                p->look_ns = 0;
        }
        p->groups = q->holds;
        p->seen = h->tick;
        h->n++;
}

static ssize_t read_of(struct holders *h, const struct holder *p, const char *name)
{
        char path[32];
        snprintf(path, sizeof(path), "%d/%s", p->pid, name);
        return files_read(h->proc, path, h->text, sizeof(h->text));
}

/* The affinity, and less where a control group has less. */
static struct value read_cpus(struct holders *h, const struct holder *p)
{
        struct proc_status st;
        struct cgroup_paths paths;
        struct cgroup_counters c;
        ssize_t n = read_of(h, p, "status");
        if (n < 0)
                return files_missing(n);
        if (procfs_status(h->text, (size_t)n, &st) < 0 || st.cpus == 0)
                return value_missing(STATE_ERROR);
        struct value cpus = value_ok(st.cpus);
        n = read_of(h, p, "cgroup");
        if (n > 0 && cgroup_parse_paths(h->text, (size_t)n, &paths) == 0) {
                cgroup_read(h->root, h->mounts, &paths, &c);
                if (value_is_set(c.quota) && c.quota.v < cpus.v)
                        cpus = c.quota;
        }
        return cpus;
}

static bool wants_search(const struct holder *p, int64_t mono_ns)
{
        return p->pid && p->looks < FRAMEWORK_SEARCHES && mono_ns >= p->look_ns;
}

static void end_framework_search(struct holder *p, struct value v, int64_t mono_ns)
{
        bool known = value_is_set(v) && v.v != FRAMEWORK_NONE;
        p->framework = v;
        p->looks = known || !value_is_set(v) ? FRAMEWORK_SEARCHES : p->looks + 1;
        p->look_ns = mono_ns + (FIRST_SEARCH_NS << MIN(p->looks, (unsigned)FRAMEWORK_SEARCHES));
}

/* One process at a time. */
static void search_for_framework(struct holders *h, int64_t mono_ns)
{
        struct value found;
        for (size_t i = 0; !h->searched && i < HOLDERS_MAX; i++) {
                struct holder *p = &h->list[i];
                if (!wants_search(p, mono_ns))
                        continue;
                int r = framework_begin(&h->search, h->proc, p->pid);
                if (r < 0)
                        end_framework_search(p, files_missing(r), mono_ns);
                else
                        h->searched = p;
        }
        /* Who examines nothing else comes rarely, and may take longer. */
        for (unsigned i = 0; h->searched && i < (h->mounts ? 1 : PIECES_ALONE); i++) {
                if (framework_continue(&h->search, &found)) {
                        end_framework_search(h->searched, found, mono_ns);
                        h->searched = NULL;
                }
        }
}

static void measure_holder(struct holders *h, struct scanner *scanner, struct holder *p,
                           int64_t mono_ns)
{
        const struct scan_process *q = scanner_find(scanner, p->pid);
        struct threads_ask ask = {.proc = h->proc,
                                  .pid = p->pid,
                                  .n = q ? q->threads : 0,
                                  .most =
                                      MAX(SEARCHES / MAX(h->n, (size_t)1), (size_t)SEARCHES_MIN),
                                  .clock_ticks = (double)scanner_clock_ticks(scanner),
                                  .now_ns = mono_ns};
        threads_read(&p->threads, &ask, &h->fds);
        if (p->cpus_ns == 0 || mono_ns - p->cpus_ns >= CPUS_EVERY_NS) {
                p->cpus_ns = mono_ns;
                p->cpus = read_cpus(h, p);
        }
}

void holders_tick(struct holders *h, struct scanner *scanner, int64_t mono_ns)
{
        size_t place = 0;
        h->tick++;
        h->n = 0;
        for (const struct scan_process *q; (q = scanner_each(scanner, &place));) {
                if (q->holds)
                        note_holder(h, q);
        }
        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                struct holder *p = &h->list[i];
                if (p->pid && p->seen != h->tick)
                        drop_holder(h, p);
                else if (p->pid && h->mounts)
                        measure_holder(h, scanner, p, mono_ns);
        }
        search_for_framework(h, mono_ns);
}

/* The larger of two; a missing one loses. */
static void take_larger(struct value *to, struct value v)
{
        if (value_is_set(v) ? !value_is_set(*to) || v.v > to->v : to->state == STATE_NONE)
                *to = v;
}

/* A sum with a missing part is missing. */
static void add_part(struct value *to, struct value v, bool begun)
{
        if (!begun || !value_is_set(v))
                *to = v;
        else if (value_is_set(*to))
                to->v += v.v;
}

void holders_sum(const struct holders *h, size_t group, int64_t mono_ns, struct holders_sum *ret)
{
        bool begun = false;
        *ret = (struct holders_sum){0};
        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                const struct holder *p = &h->list[i];
                struct value busiest = p->threads.busiest, first = p->threads.first;
                struct value queued = p->threads.queued;
                if (!p->pid || !(p->groups & SCAN_GROUP_BIT(group)))
                        continue;
                busiest.age_ms = (uint32_t)((mono_ns - p->threads.read_ns) / NS_PER_MS);
                first.age_ms = queued.age_ms = busiest.age_ms;
                take_larger(&ret->busiest, busiest);
                take_larger(&ret->queued, queued);
                add_part(&ret->first, first, begun);
                begun = true;
                take_larger(&ret->cpus, p->cpus);
                take_larger(&ret->framework, p->framework);
                ret->blocked += p->threads.blocked;
        }
}

struct value holders_framework(const struct holders *h, int32_t pid)
{
        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                if (h->list[i].pid == pid)
                        return h->list[i].framework;
        }
        return value_missing(STATE_NONE);
}
