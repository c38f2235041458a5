#include "engine/processes.h"

#include "base/clock.h"
#include "engine/process_tree.h"
#include "read/host/procinfo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct process_join {
        bool recorded;
        bool known;                     /* the source reported processes when it was asked last */
        struct procinfo_reader *reader; /* NULL for a recording */
        struct process_tree *tree;      /* NULL: holders alone */
        int64_t asked_ns;
        size_t n;
        struct process list[PROCESSES_MAX + CHILDREN_MAX];
};

int process_join_open(const struct process_join_config *config, struct process_join **ret)
{
        struct process_join *j = calloc(1, sizeof(*j));
        if (!j)
                return -ENOMEM;
        j->recorded = config->recorded;
        int r = config->recorded ? 0 : procinfo_open(config->root, &j->reader);
        if (r == 0 && config->with_children && !config->recorded)
                r = process_tree_open(config->root, config->listing, &j->tree);
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

/* A process of another container or user keeps what the driver reported; the rest stays missing. */
static void add_host_facts(struct process_join *j, int64_t now, struct process *p)
{
        struct procinfo info;
        procinfo_read(j->reader, p->pid, now, &info);
        p->cpu = info.cpu;
        p->rss = info.rss;
        p->start_ns = value_is_set(info.start_s) ? clock_from_seconds(info.start_s.v) : 0;
        p->elapsed = value_is_set(info.start_s)
                         ? value_ok(clock_to_seconds(clock_wall_ns()) - info.start_s.v)
                         : info.start_s;
        copy_text(p->user, sizeof(p->user), info.user);
        copy_text(p->group, sizeof(p->group), info.group);
        copy_text(p->slurm_job, sizeof(p->slurm_job), info.job);
        copy_text(p->container, sizeof(p->container), info.container);
        copy_text(p->command, sizeof(p->command), info.command);
        copy_text(p->name, sizeof(p->name), info.comm);
        p->foreign = !value_is_set(info.uid) || info.uid.v != (double)getuid();
}

/* 2 for the entity that the process is on, 1 for the GPU of its slice, else 0. */
static int entity_fit(const struct entity *e, const struct process *p)
{
        size_t n = strlen(e->label);
        if (p->on.index >= 0 && e->kind == ENTITY_GPU)
                return e->index != p->on.index ? 0 : p->on.gi < 0 ? 2 : 1;
        if (p->on.index >= 0)
                return 2 * (e->kind == ENTITY_GPU_INSTANCE && e->index == p->on.index &&
                            e->gi == p->on.gi);
        /* Of a recording: "0" or "0/7". */
        if (strncmp(p->gpu, e->label, n) != 0)
                return 0;
        return p->gpu[n] == '\0' ? 2 : p->gpu[n] == '/';
}

/* A process on a slice that is not shown belongs to its GPU when that is. */
static bool find_entity(const struct frame *frame, struct process *p)
{
        const struct entity *found = NULL;
        int best = 0;
        for (size_t i = 0; i < frame->n && best < 2; i++) {
                const struct entity *e = frame->rows[i].sample.who;
                int fit = entity_fit(e, p);
                found = fit > best ? e : found;
                best = MAX(best, fit);
        }
        if (!found)
                return false;
        p->slot = found->slot;
        if (best == 2)
                snprintf(p->gpu, sizeof(p->gpu), "%s", found->label);
        else if (p->on.index >= 0)
                snprintf(p->gpu, sizeof(p->gpu), "%d/%d", p->on.index, p->on.gi);
        /* Of a slice that is not shown only its existence is known. */
        p->on = (struct process_on){found->index, best == 2 ? found->gi : MAX(p->on.gi, 0)};
        return true;
}

/* What this host says of a pid is not about the process that a recording means. */
static bool read_processes(struct process_join *j, const struct source_ops *ops,
                           struct source *source, const struct frame *frame)
{
        int64_t now = clock_mono_ns();
        if (!j->recorded && j->asked_ns != 0 && now - j->asked_ns < PROCESSES_EVERY_NS)
                return j->known;
        size_t all = ops->processes(source, j->list, PROCESSES_MAX);
        j->asked_ns = now;
        j->n = 0;
        j->known = all != PROCESSES_UNKNOWN;
        if (!j->known)
                return false;
        for (size_t i = 0; i < all; i++) {
                if (!find_entity(frame, &j->list[i]))
                        continue;
                j->list[j->n++] = j->list[i];
        }
        if (!j->recorded && j->tree)
                j->n += process_tree_fill(j->tree, now, j->list, j->n, CHILDREN_MAX);
        for (size_t i = 0; !j->recorded && i < j->n; i++)
                add_host_facts(j, now, &j->list[i]);
        return true;
}

void process_join_fill(struct process_join *j, const struct source_ops *ops, struct source *source,
                       struct frame *frame)
{
        frame->knows_processes = read_processes(j, ops, source, frame);
        frame->processes = (struct process_list){j->list, j->n};
}
