#include "model/stack_snapshot.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int stack_snapshot_init(struct stack_snapshot *l)
{
        *l = (struct stack_snapshot){0};
        return stack_table_open(&l->table);
}

void stack_snapshot_finish(struct stack_snapshot *l)
{
        stack_table_close(l->table);
        free(l->hosts);
        free(l->gpus);
        free(l->processes);
        free(l->threads);
        *l = (struct stack_snapshot){0};
}

struct snapshot_host *stack_snapshot_add_host(struct stack_snapshot *l, const char *name)
{
        if (!LIST_ROOM(l->hosts, l->n_hosts, l->cap_hosts))
                return NULL;
        struct snapshot_host *h = &l->hosts[l->n_hosts++];
        *h = (struct snapshot_host){0};
        snprintf(h->name, sizeof(h->name), "%s", name);
        return h;
}

struct snapshot_gpu *stack_snapshot_add_gpu(struct stack_snapshot *l, uint32_t host,
                                            const char *label)
{
        if (l->n_gpus == SNAPSHOT_PROCESSES_MAX || !LIST_ROOM(l->gpus, l->n_gpus, l->cap_gpus))
                return NULL;
        struct snapshot_gpu *g = &l->gpus[l->n_gpus++];
        struct value none = value_missing(STATE_NONE);
        *g = (struct snapshot_gpu){.host = host,
                                   .busy = none,
                                   .sm = none,
                                   .data = none,
                                   .power = none,
                                   .temp = none,
                                   .clock = none,
                                   .lost = none,
                                   .xid = none};
        snprintf(g->label, sizeof(g->label), "%s", label);
        return g;
}

struct snapshot_process *stack_snapshot_add_process(struct stack_snapshot *l, uint32_t host,
                                                    const struct stack_process *is)
{
        if (l->n_processes == SNAPSHOT_PROCESSES_MAX ||
            !LIST_ROOM(l->processes, l->n_processes, l->cap_processes))
                return NULL;
        struct snapshot_process *p = &l->processes[l->n_processes++];
        *p = (struct snapshot_process){.is = *is,
                                       .host = host,
                                       .rank = value_missing(STATE_NONE),
                                       .world = value_missing(STATE_NONE),
                                       .local = value_missing(STATE_NONE),
                                       .watched_s = value_missing(STATE_NONE),
                                       .first_thread = l->n_threads};
        for (size_t i = 0; i < SNAPSHOT_FIGURE_COUNT; i++)
                p->figures[i] = value_missing(STATE_NONE);
        return p;
}

struct snapshot_thread *stack_snapshot_add_thread(struct stack_snapshot *l)
{
        if (l->n_processes == 0 || l->n_threads == SNAPSHOT_THREADS_MAX ||
            !LIST_ROOM(l->threads, l->n_threads, l->cap_threads))
                return NULL;
        l->processes[l->n_processes - 1].n_threads++;
        struct snapshot_thread *t = &l->threads[l->n_threads++];
        *t = (struct snapshot_thread){.process = (uint32_t)(l->n_processes - 1),
                                      .busy = value_missing(STATE_NONE),
                                      .ready = value_missing(STATE_NONE),
                                      .wakes = value_missing(STATE_NONE),
                                      .idle_s = value_missing(STATE_NONE)};
        return t;
}

size_t stack_snapshot_find_gpu(const struct stack_snapshot *l, uint32_t host, const char *label)
{
        for (size_t i = 0; i < l->n_gpus; i++) {
                if (l->gpus[i].host == host && strcmp(l->gpus[i].label, label) == 0)
                        return i;
        }
        return SIZE_MAX;
}

void stack_snapshot_hold_gpu(struct snapshot_process *p, size_t gpu)
{
        for (size_t i = 0; i < p->n_gpus; i++) {
                if (p->gpus[i] == gpu)
                        return;
        }
        if (gpu != SIZE_MAX && p->n_gpus < SNAPSHOT_GPUS_MAX)
                p->gpus[p->n_gpus++] = (uint32_t)gpu;
}

static const struct snapshot_process *find_process(const struct stack_snapshot *l, uint32_t host,
                                                   int32_t pid)
{
        for (size_t i = 0; pid > 0 && i < l->n_processes; i++) {
                if (l->processes[i].host == host && l->processes[i].is.pid == pid)
                        return &l->processes[i];
        }
        return NULL;
}

static int thread_importance(const struct snapshot_thread *t)
{
        return t->is_main ? 0 : t->holds_gil ? 1 : t->state == STACK_RUNNING ? 2 : 3;
}

static int compare_threads(const void *a, const void *b)
{
        const struct snapshot_thread *x = a, *y = b;
        int order = thread_importance(x) - thread_importance(y);
        return order != 0 ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

void stack_snapshot_settle(struct stack_snapshot *l)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                struct snapshot_process *p = &l->processes[i];
                if (p->n_threads > 1)
                        qsort(&l->threads[p->first_thread], p->n_threads, sizeof(*l->threads),
                              compare_threads);
                p->leads = p->n_gpus > 0 || !find_process(l, p->host, p->is.ppid);
        }
}

const struct snapshot_thread *stack_snapshot_main(const struct stack_snapshot *l,
                                                  const struct snapshot_process *p)
{
        for (size_t i = 0; i < p->n_threads; i++) {
                if (l->threads[p->first_thread + i].is_main)
                        return &l->threads[p->first_thread + i];
        }
        return NULL;
}

const char *node_figure_name(enum node_figure figure)
{
        static const char *const names[] = {
#define NODE_FIGURE(id, name) name,
            NODE_FIGURES(NODE_FIGURE)
#undef NODE_FIGURE
        };
        return names[figure];
}

bool snapshot_knows_node(const struct snapshot_host *host)
{
        for (enum node_figure i = 0; i < NODE_FIGURE_COUNT; i++) {
                if (value_is_set(host->node[i]))
                        return true;
        }
        return false;
}

const char *snapshot_figure_name(enum snapshot_figure figure)
{
        static const char *const names[] = {
#define SNAPSHOT_FIGURE(id, name) name,
            SNAPSHOT_FIGURES(SNAPSHOT_FIGURE)
#undef SNAPSHOT_FIGURE
        };
        return figure < SNAPSHOT_FIGURE_COUNT ? names[figure] : "";
}

const char *snapshot_halt_name(enum snapshot_halt halt)
{
        static const char *const names[SNAPSHOT_HALT_COUNT] = {"unknown", "goes_on", "stopped",
                                                               "traced"};
        return names[halt < SNAPSHOT_HALT_COUNT ? halt : SNAPSHOT_HALT_UNKNOWN];
}

bool stack_snapshot_is_read(const struct snapshot_process *p)
{
        return p->is.access == STACK_READABLE;
}

/* ---- groups ---- */

static uint32_t frame_of(const struct stack_snapshot *l, uint32_t stack)
{
        return stack_node(l->table, stack)->frame;
}

static bool is_same_place(const struct stack_snapshot *l, const struct snapshot_group *g,
                          struct stack_place place)
{
        return frame_of(l, g->place.own) == frame_of(l, place.own) &&
               frame_of(l, g->place.inner) == frame_of(l, place.inner);
}

static int add_to_group(const struct stack_snapshot *l, uint32_t process,
                        const struct snapshot_thread *t, struct snapshot_group **groups, size_t *n)
{
        struct stack_place place = stack_find_place(l->table, t->stack);
        size_t i = 0;
        while (i < *n && !is_same_place(l, &(*groups)[i], place))
                i++;
        if (i == *n) {
                if (!LIST_ONE_MORE(*groups, *n))
                        return -ENOMEM;
                (*groups)[(*n)++] = (struct snapshot_group){.place = place, .state = t->state};
        }
        struct snapshot_group *g = &(*groups)[i];
        if (!LIST_ONE_MORE(g->processes, g->n))
                return -ENOMEM;
        /* By rank; those without come last, in their order. */
        size_t at = g->n++;
        struct value rank = l->processes[process].rank;
        while (at > 0 && value_is_set(rank)) {
                struct value before = l->processes[g->processes[at - 1]].rank;
                if (value_is_set(before) && before.v <= rank.v)
                        break;
                g->processes[at] = g->processes[at - 1];
                at--;
        }
        g->processes[at] = process;
        return 0;
}

static int compare_groups(const void *a, const void *b)
{
        const struct snapshot_group *x = a, *y = b;
        if (x->n != y->n)
                return x->n < y->n ? 1 : -1;
        return (x->processes[0] > y->processes[0]) - (x->processes[0] < y->processes[0]);
}

int stack_snapshot_group(const struct stack_snapshot *l, struct snapshot_group **ret, size_t *ret_n)
{
        struct snapshot_group *groups = NULL;
        size_t n = 0;
        int r = 0;
        for (size_t i = 0; r == 0 && i < l->n_processes; i++) {
                const struct snapshot_process *p = &l->processes[i];
                const struct snapshot_thread *t = p->leads ? stack_snapshot_main(l, p) : NULL;
                if (t && t->stack != STACK_EMPTY)
                        r = add_to_group(l, (uint32_t)i, t, &groups, &n);
        }
        if (r < 0) {
                stack_snapshot_free_groups(groups, n);
                return r;
        }
        if (n > 1)
                qsort(groups, n, sizeof(*groups), compare_groups);
        *ret = groups;
        *ret_n = n;
        return 0;
}

void stack_snapshot_free_groups(struct snapshot_group *groups, size_t n)
{
        for (size_t i = 0; i < n; i++)
                free(groups[i].processes);
        free(groups);
}
