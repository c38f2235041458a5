#include "model/stack_look.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int stack_look_init(struct stack_look *l)
{
        *l = (struct stack_look){0};
        return stack_table_open(&l->table);
}

void stack_look_finish(struct stack_look *l)
{
        stack_table_close(l->table);
        free(l->hosts);
        free(l->gpus);
        free(l->processes);
        free(l->threads);
        *l = (struct stack_look){0};
}

struct look_host *stack_look_add_host(struct stack_look *l, const char *name)
{
        if (!LIST_ROOM(l->hosts, l->n_hosts, l->cap_hosts))
                return NULL;
        struct look_host *h = &l->hosts[l->n_hosts++];
        *h = (struct look_host){0};
        snprintf(h->name, sizeof(h->name), "%s", name);
        return h;
}

struct look_gpu *stack_look_add_gpu(struct stack_look *l, uint32_t host, const char *label)
{
        if (l->n_gpus == LOOK_PROCESSES_MAX || !LIST_ROOM(l->gpus, l->n_gpus, l->cap_gpus))
                return NULL;
        struct look_gpu *g = &l->gpus[l->n_gpus++];
        struct value none = value_missing(STATE_NONE);
        *g = (struct look_gpu){.host = host,
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

struct look_process *stack_look_add_process(struct stack_look *l, uint32_t host,
                                            const struct stack_process *is)
{
        if (l->n_processes == LOOK_PROCESSES_MAX ||
            !LIST_ROOM(l->processes, l->n_processes, l->cap_processes))
                return NULL;
        struct look_process *p = &l->processes[l->n_processes++];
        *p = (struct look_process){.is = *is,
                                   .host = host,
                                   .rank = value_missing(STATE_NONE),
                                   .world = value_missing(STATE_NONE),
                                   .local = value_missing(STATE_NONE),
                                   .watched_s = value_missing(STATE_NONE),
                                   .first_thread = l->n_threads};
        for (size_t i = 0; i < LOOK_FIGURE_COUNT; i++)
                p->figures[i] = value_missing(STATE_NONE);
        return p;
}

struct look_thread *stack_look_add_thread(struct stack_look *l)
{
        if (l->n_processes == 0 || l->n_threads == LOOK_THREADS_MAX ||
            !LIST_ROOM(l->threads, l->n_threads, l->cap_threads))
                return NULL;
        l->processes[l->n_processes - 1].n_threads++;
        struct look_thread *t = &l->threads[l->n_threads++];
        *t = (struct look_thread){.process = (uint32_t)(l->n_processes - 1),
                                  .busy = value_missing(STATE_NONE),
                                  .ready = value_missing(STATE_NONE),
                                  .wakes = value_missing(STATE_NONE),
                                  .idle_s = value_missing(STATE_NONE)};
        return t;
}

size_t stack_look_find_gpu(const struct stack_look *l, uint32_t host, const char *label)
{
        for (size_t i = 0; i < l->n_gpus; i++) {
                if (l->gpus[i].host == host && strcmp(l->gpus[i].label, label) == 0)
                        return i;
        }
        return SIZE_MAX;
}

void stack_look_hold_gpu(struct look_process *p, size_t gpu)
{
        for (size_t i = 0; i < p->n_gpus; i++) {
                if (p->gpus[i] == gpu)
                        return;
        }
        if (gpu != SIZE_MAX && p->n_gpus < LOOK_GPUS_MAX)
                p->gpus[p->n_gpus++] = (uint32_t)gpu;
}

static const struct look_process *find_process(const struct stack_look *l, uint32_t host,
                                               int32_t pid)
{
        for (size_t i = 0; pid > 0 && i < l->n_processes; i++) {
                if (l->processes[i].host == host && l->processes[i].is.pid == pid)
                        return &l->processes[i];
        }
        return NULL;
}

static int importance(const struct look_thread *t)
{
        return t->is_main ? 0 : t->holds_gil ? 1 : t->state == STACK_RUNNING ? 2 : 3;
}

static int compare_threads(const void *a, const void *b)
{
        const struct look_thread *x = a, *y = b;
        int order = importance(x) - importance(y);
        return order != 0 ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

void stack_look_settle(struct stack_look *l)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                struct look_process *p = &l->processes[i];
                if (p->n_threads > 1)
                        qsort(&l->threads[p->first_thread], p->n_threads, sizeof(*l->threads),
                              compare_threads);
                p->leads = p->n_gpus > 0 || !find_process(l, p->host, p->is.ppid);
        }
}

const struct look_thread *stack_look_main(const struct stack_look *l, const struct look_process *p)
{
        for (size_t i = 0; i < p->n_threads; i++) {
                if (l->threads[p->first_thread + i].is_main)
                        return &l->threads[p->first_thread + i];
        }
        return NULL;
}

const char *look_figure_name(enum look_figure figure)
{
        static const char *const names[] = {
#define LOOK_FIGURE(id, name) name,
            LOOK_FIGURES(LOOK_FIGURE)
#undef LOOK_FIGURE
        };
        return figure < LOOK_FIGURE_COUNT ? names[figure] : "";
}

const char *look_halt_name(enum look_halt halt)
{
        static const char *const names[LOOK_HALT_COUNT] = {"unknown", "goes_on", "stopped",
                                                           "traced"};
        return names[halt < LOOK_HALT_COUNT ? halt : LOOK_HALT_UNKNOWN];
}

bool stack_look_is_read(const struct look_process *p)
{
        return p->is.access == STACK_READABLE;
}

/* ---- groups ---- */

static uint32_t frame_of(const struct stack_look *l, uint32_t stack)
{
        return stack_node(l->table, stack)->frame;
}

static bool is_same_place(const struct stack_look *l, const struct look_group *g,
                          struct stack_place place)
{
        return frame_of(l, g->place.own) == frame_of(l, place.own) &&
               frame_of(l, g->place.inner) == frame_of(l, place.inner);
}

static int add_to_group(const struct stack_look *l, uint32_t process, const struct look_thread *t,
                        struct look_group **groups, size_t *n)
{
        struct stack_place place = stack_find_place(l->table, t->stack);
        size_t i = 0;
        while (i < *n && !is_same_place(l, &(*groups)[i], place))
                i++;
        if (i == *n) {
                if (!LIST_ONE_MORE(*groups, *n))
                        return -ENOMEM;
                (*groups)[(*n)++] = (struct look_group){.place = place, .state = t->state};
        }
        struct look_group *g = &(*groups)[i];
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
        const struct look_group *x = a, *y = b;
        if (x->n != y->n)
                return x->n < y->n ? 1 : -1;
        return (x->processes[0] > y->processes[0]) - (x->processes[0] < y->processes[0]);
}

int stack_look_group(const struct stack_look *l, struct look_group **ret, size_t *ret_n)
{
        struct look_group *groups = NULL;
        size_t n = 0;
        int r = 0;
        for (size_t i = 0; r == 0 && i < l->n_processes; i++) {
                const struct look_process *p = &l->processes[i];
                const struct look_thread *t = p->leads ? stack_look_main(l, p) : NULL;
                if (t && t->stack != STACK_EMPTY)
                        r = add_to_group(l, (uint32_t)i, t, &groups, &n);
        }
        if (r < 0) {
                stack_look_free_groups(groups, n);
                return r;
        }
        if (n > 1)
                qsort(groups, n, sizeof(*groups), compare_groups);
        *ret = groups;
        *ret_n = n;
        return 0;
}

void stack_look_free_groups(struct look_group *groups, size_t n)
{
        for (size_t i = 0; i < n; i++)
                free(groups[i].processes);
        free(groups);
}
