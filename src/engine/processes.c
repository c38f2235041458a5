#include "engine/processes.h"

#include "base/clock.h"
#include "engine/process_tree.h"
#include "read/host/procinfo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct process_join {
        struct procinfo_reader *reader;
        struct process_tree *tree;
        int64_t asked_ns;
        size_t n;
        struct process list[PROCESSES_MAX + CHILDREN_MAX];
};

int process_join_open(const char *root, struct process_join **ret)
{
        struct process_join *j = calloc(1, sizeof(*j));
        if (!j)
                return -ENOMEM;
        int r = procinfo_open(root, &j->reader);
        if (r == 0)
                r = process_tree_open(root, &j->tree);
        if (r < 0) {
                process_join_close(j);
                return r;
        }
        *ret = j;
        return 0;
}

void process_join_close(struct process_join *j)
{
        if (!j)
                return;
        process_tree_close(j->tree);
        procinfo_close(j->reader);
        free(j);
}

static void copy_text(char *to, size_t size, const char *from)
{
        snprintf(to, size, "%.*s", (int)size - 1, from);
}

/* A process of another container or user keeps what the driver told; the rest stays missing. */
static void enrich(struct process_join *j, int64_t now, struct process *p)
{
        struct procinfo info;
        procinfo_read(j->reader, p->pid, now, &info);
        p->cpu = info.cpu;
        p->rss = info.rss;
        p->start_ns = value_there(info.start_s) ? clock_from_seconds(info.start_s.v) : 0;
        p->elapsed = value_there(info.start_s)
                         ? value_ok(clock_to_seconds(clock_wall_ns()) - info.start_s.v)
                         : info.start_s;
        copy_text(p->user, sizeof(p->user), info.user);
        copy_text(p->group, sizeof(p->group), info.group);
        copy_text(p->slurm_job, sizeof(p->slurm_job), info.job);
        copy_text(p->container, sizeof(p->container), info.container);
        copy_text(p->command, sizeof(p->command), info.command);
        copy_text(p->name, sizeof(p->name), info.comm);
        p->foreign = !value_there(info.uid) || info.uid.v != (double)getuid();
}

/* A process on a slice that is not shown belongs to its GPU when that is. */
static bool is_shown(const struct frame *frame, const struct process *p)
{
        for (size_t i = 0; i < frame->n; i++) {
                const struct entity *e = frame->rows[i].sample.who;
                size_t n = strlen(e->label);
                if (strncmp(p->gpu, e->label, n) == 0 && (p->gpu[n] == '\0' || p->gpu[n] == '/'))
                        return true;
        }
        return false;
}

/* What this host says of a pid is not about the process that a recording means. */
static bool ask(struct process_join *j, const struct source_ops *ops, struct source *source,
                const struct frame *frame)
{
        int64_t now = clock_mono_ns();
        if (!ops->finite && j->asked_ns != 0 && now - j->asked_ns < PROCESSES_EVERY_NS)
                return true;
        size_t all = ops->processes(source, j->list, PROCESSES_MAX);
        j->asked_ns = now;
        j->n = 0;
        if (all == PROCESSES_UNKNOWN)
                return false;
        for (size_t i = 0; i < all; i++) {
                if (!is_shown(frame, &j->list[i]))
                        continue;
                j->list[j->n++] = j->list[i];
        }
        if (!ops->finite)
                j->n += process_tree_fill(j->tree, now, j->list, j->n, CHILDREN_MAX);
        for (size_t i = 0; !ops->finite && i < j->n; i++)
                enrich(j, now, &j->list[i]);
        return true;
}

void process_join_fill(struct process_join *j, const struct source_ops *ops, struct source *source,
                       struct frame *frame)
{
        frame->knows_processes = ask(j, ops, source, frame);
        frame->processes = (struct process_list){j->list, j->n};
}
