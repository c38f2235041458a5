#include "read/host/evidence.h"

#include "base/attr.h"

#include <errno.h>
#include <string.h>

/* Counters of one GPU: the growth of whichever group stood for it, so that they only grow. */
struct gpu_totals {
        uint64_t cpu_main, cpu_children;
        uint64_t io[PROC_IO_COUNT];
};

struct evidence_reader {
        struct holders *holders;
        size_t n_gpus;
        bool known;                       /* the source says who holds a GPU */
        uint32_t reported[HOST_GPUS_MAX]; /* holders that it reported */
        struct gpu_totals totals[HOST_GPUS_MAX];
        struct scan_group before[SCAN_GROUPS];
};

int evidence_open(int root, const struct cgroup_mounts *mounts, size_t fd_budget,
                  struct evidence_reader **ret)
{
        struct evidence_reader *e = calloc(1, sizeof(*e));
        if (!e)
                return -ENOMEM;
        const struct holders_config config = {root, mounts, fd_budget};
        int r = holders_open(&config, &e->holders);
        if (r < 0) {
                free(e);
                return r;
        }
        *ret = e;
        return 0;
}

void evidence_close(struct evidence_reader *e)
{
        if (!e)
                return;
        holders_close(e->holders);
        free(e);
}

static struct scan_holder *holder_of(struct scan_holder *list, size_t *n, int32_t pid)
{
        for (size_t i = 0; i < *n; i++) {
                if (list[i].pid == pid)
                        return &list[i];
        }
        if (*n == SCAN_HOLDERS_MAX)
                return NULL;
        list[*n] = (struct scan_holder){.pid = pid};
        return &list[(*n)++];
}

void evidence_hold(struct evidence_reader *e, struct scanner *scanner, size_t n_gpus, bool known,
                   const struct host_holder *list, size_t n)
{
        struct scan_holder holders[SCAN_HOLDERS_MAX];
        size_t n_holders = 0;
        e->n_gpus = MIN(n_gpus, (size_t)HOST_GPUS_MAX);
        e->known = known;
        memset(e->reported, 0, sizeof(e->reported));
        for (size_t i = 0; known && i < n; i++) {
                if (list[i].gpu >= e->n_gpus || list[i].pid <= 0)
                        continue;
                struct scan_holder *h = holder_of(holders, &n_holders, list[i].pid);
                if (!h || (h->groups & SCAN_GROUP_BIT(list[i].gpu)))
                        continue;
                h->groups |= SCAN_GROUP_BIT(list[i].gpu);
                e->reported[list[i].gpu]++;
        }
        scanner_set_holders(scanner, holders, n_holders);
}

static void add_growth(struct gpu_totals *t, const struct scan_group *now,
                       const struct scan_group *before)
{
        t->cpu_main += now->cpu_main - before->cpu_main;
        t->cpu_children += now->cpu_children - before->cpu_children;
        for (size_t i = 0; i < PROC_IO_COUNT; i++)
                t->io[i] += now->io[i] - before->io[i];
}

static void fill_processes(const struct evidence_reader *e, const struct gpu_totals *t,
                           const struct scan_group *g, size_t group, double clock_ticks,
                           int64_t mono_ns, struct value *v)
{
        static const struct {
                enum evidence to;
                enum proc_io_field from;
        } io[] = {
            {EVIDENCE_READ_TOTAL, PROC_IO_READ},
            {EVIDENCE_WRITE_TOTAL, PROC_IO_WRITE},
            {EVIDENCE_READ_CHARS_TOTAL, PROC_IO_RCHAR},
            {EVIDENCE_WRITE_CHARS_TOTAL, PROC_IO_WCHAR},
        };
        struct holders_sum sum;
        holders_sum(e->holders, group, mono_ns, &sum);
        v[EVIDENCE_CPU_MAIN_TIME] = value_ok((double)t->cpu_main / clock_ticks);
        v[EVIDENCE_CPU_CHILDREN_TIME] = value_ok((double)t->cpu_children / clock_ticks);
        v[EVIDENCE_CPU_THREAD] = sum.busiest;
        v[EVIDENCE_CPU_FIRST] = sum.first;
        v[EVIDENCE_CPU_QUEUED] = sum.queued;
        v[EVIDENCE_CHILDREN] = value_ok((double)g->children);
        v[EVIDENCE_WORKERS] = value_ok((double)g->workers);
        v[EVIDENCE_CPUS] = sum.cpus;
        v[EVIDENCE_IO_WAIT] = value_ok((double)(g->blocked + sum.blocked));
        v[EVIDENCE_FRAMEWORK] = sum.framework;
        for (size_t i = 0; i < ARRAY_LEN(io); i++)
                v[io[i].to] = g->io_denied ? value_missing(STATE_DENIED)
                                           : value_ok((double)t->io[io[i].from]);
}

/* Everything about processes is missing. */
static void fill_missing(enum state why, struct value *v)
{
        for (enum evidence i = EVIDENCE_CPU_MAIN_TIME; i < EVIDENCE_COUNT; i++) {
                if (i < EVIDENCE_NET_RX || i > EVIDENCE_NET_LOOPBACK)
                        v[i] = value_missing(why);
        }
}

static void fill_gpu(struct evidence_reader *e, struct scanner *scanner, bool has_command,
                     size_t gpu, struct host *ret)
{
        struct value *v = ret->evidence[gpu].e;
        bool held = e->reported[gpu] > 0;
        size_t group = held ? gpu : SCAN_COMMAND;
        const struct scan_group *g = scanner_group(scanner, group);
        add_growth(&e->totals[gpu], g, &e->before[group]);
        if (e->known) {
                uint64_t seen = held ? g->holders : 0;
                v[EVIDENCE_HOLDERS] = value_ok(e->reported[gpu]);
                v[EVIDENCE_HOLDERS_HIDDEN] =
                    value_ok((double)(e->reported[gpu] - MIN(seen, (uint64_t)e->reported[gpu])));
        }
        if (g->holders > 0)
                fill_processes(e, &e->totals[gpu], g, group, (double)scanner_clock_ticks(scanner),
                               ret->mono_ns, v);
        else
                fill_missing(held ? STATE_DENIED : has_command ? STATE_BLANK : STATE_NONE, v);
}

void evidence_fill(struct evidence_reader *e, struct scanner *scanner, bool has_command,
                   struct host *ret)
{
        if (e->n_gpus > 0)
                holders_tick(e->holders, scanner, ret->mono_ns);
        for (size_t i = 0; i < e->n_gpus; i++)
                fill_gpu(e, scanner, has_command, i, ret);
        for (size_t i = 0; i < SCAN_GROUPS; i++)
                e->before[i] = *scanner_group(scanner, i);
}
