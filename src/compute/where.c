#include "compute/where.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64 /* of a tree of processes */

/* ---- who is who ---- */

static struct where_role *find_role(struct where_finder *w, int32_t pid)
{
        for (size_t i = 0; i < w->n_roles; i++) {
                if (w->roles[i].pid == pid)
                        return &w->roles[i];
        }
        return NULL;
}

int where_see_processes(struct where_finder *w, const struct process_list *list)
{
        for (size_t i = 0; i < list->n; i++) {
                const struct process *p = &list->list[i];
                struct where_role *role = find_role(w, p->pid);
                if (!role && w->n_roles == STACK_PROCESSES_MAX)
                        continue;
                if (!role && !LIST_ROOM(w->roles, w->n_roles, w->cap_roles))
                        return -ENOMEM;
                if (!role) {
                        role = &w->roles[w->n_roles++];
                        *role = (struct where_role){.pid = p->pid, .ppid = p->ppid};
                }
                role->holds |= !p->child;
                snprintf(role->gpu, sizeof(role->gpu), "%s", p->gpu);
        }
        return 0;
}

static const struct stack_process *find_process(const struct stack_log *log, int32_t pid)
{
        for (size_t i = 0; i < log->n_processes; i++) {
                if (log->processes[i].pid == pid)
                        return &log->processes[i];
        }
        return NULL;
}

/* The nearest ancestor that holds a GPU, or the process itself; NULL for none. */
static const struct where_role *holder_of(struct where_finder *w, const struct stack_log *log,
                                          const struct stack_process *p)
{
        for (int depth = 0; p && depth < DEPTH_MAX; depth++) {
                const struct where_role *role = find_role(w, p->pid);
                if (role && role->holds)
                        return role;
                p = p->ppid > 0 && p->ppid != p->pid ? find_process(log, p->ppid) : NULL;
        }
        return NULL;
}

/*
 * A run in which nobody held a GPU is its main processes': those whose parent was not examined.
 * What a process that is known to serve a GPU is, its role says; of others their ancestors decide.
 * None but those that hold or serve a GPU are recorded: what is left feeds one, as a parent does.
 */
static enum where_who answering_process(struct where_finder *w, const struct stack_log *log,
                                        const struct stack_process *p,
                                        const struct where_role **ret_holder)
{
        const struct where_role *own = find_role(w, p->pid);
        *ret_holder = own;
        if (own)
                return own->holds ? WHERE_HOLDERS : WHERE_WORKERS;
        *ret_holder = holder_of(w, log, p);
        if (*ret_holder)
                return WHERE_WORKERS;
        bool nobody = true;
        for (size_t i = 0; i < w->n_roles; i++)
                nobody = nobody && !w->roles[i].holds;
        if (!nobody)
                return WHERE_WORKERS;
        return find_process(log, p->ppid) ? WHERE_WORKERS : WHERE_HOLDERS;
}

/* ---- what counts ---- */

static bool is_one_of(const char *call, const char *const *list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (strcmp(call, list[i]) == 0)
                        return true;
        }
        return false;
}

static bool is_on_files(const struct stack_count *c, const char *call)
{
        static const char *const calls[] = {
            "read",  "pread64",    "readv",      "preadv",    "preadv2",         "write",
            "fsync", "pwrite64",   "writev",     "pwritev",   "pwritev2",        "fdatasync",
            "sync",  "sendfile",   "openat",     "open",      "copy_file_range", "msync",
            "statx", "getdents64", "newfstatat", "fallocate", "io_getevents",    "syncfs"};
        return c->state == STACK_BLOCKED || is_one_of(call, calls, ARRAY_LEN(calls));
}

static bool is_on_network(const char *call)
{
        static const char *const calls[] = {"recvfrom", "recvmsg",  "recvmmsg",   "sendto",
                                            "sendmsg",  "sendmmsg", "connect",    "accept",
                                            "accept4",  "poll",     "ppoll",      "epoll_wait",
                                            "select",   "pselect6", "epoll_pwait"};
        return is_one_of(call, calls, ARRAY_LEN(calls));
}

/* Whether a main thread has nothing to do but wait for others of its process. */
static bool is_joining(const struct stack_table *table, uint32_t stack)
{
        static const struct {
                const char *file, *function;
        } calls[] = {{"/threading.py", "join"},
                     {"/threading.py", "_wait_for_tstate_lock"},
                     {"/threading.py", "_shutdown"},
                     {"/concurrent/futures/", ""}};
        struct stack_place place = stack_find_place(table, stack);
        uint32_t at = place.inner != STACK_EMPTY ? place.inner : place.own;
        for (; at != STACK_EMPTY; at = stack_node(table, at)->parent) {
                const struct stack_frame *f = stack_frame(table, stack_node(table, at)->frame);
                if (f->whose == STACK_USER)
                        return false;
                for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                        if (strstr(stack_text(table, f->file), calls[i].file) &&
                            strstr(stack_text(table, f->function), calls[i].function))
                                return true;
                }
        }
        return true; /* no line of the user's: a framework's loop, which runs the user's in threads
                      */
}

/* A thread that spins until the GPU is done: the time in which kernels ran, not that of the host.
 */
static bool is_waiting_for_gpu(const struct stack_table *table, uint32_t stack)
{
        static const struct {
                const char *file, *function;
        } calls[] = {{"/torch/cuda/", "synchronize"},
                     {"/torch/accelerator/", "synchronize"},
                     {"/jax/", "block_until_ready"},
                     {"/cupy/", "synchronize"},
                     {"/numba/cuda/", "synchronize"}};
        uint32_t inner = stack_find_place(table, stack).inner;
        if (inner == STACK_EMPTY)
                return false;
        const struct stack_frame *f = stack_frame(table, stack_node(table, inner)->frame);
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                if (strstr(stack_text(table, f->file), calls[i].file) &&
                    strstr(stack_text(table, f->function), calls[i].function))
                        return true;
        }
        return false;
}

static bool is_users_own(const struct stack_table *table, uint32_t stack)
{
        uint32_t own = stack_find_place(table, stack).own;
        return own != STACK_EMPTY &&
               stack_frame(table, stack_node(table, own)->frame)->whose == STACK_USER;
}

static bool counts_as(enum where_doing doing, const struct stack_log *log,
                      const struct stack_count *c)
{
        const char *call = stack_text(log->table, c->call);
        switch (doing) {
        case WHERE_ACTIVE:
                return c->state == STACK_RUNNING || c->holds_gil;
        case WHERE_BUSY:
                return (c->state == STACK_RUNNING || c->holds_gil) &&
                       !is_waiting_for_gpu(log->table, c->stack);
        case WHERE_MAIN:
                return log->threads[c->thread].is_main;
        case WHERE_FILES:
                return is_on_files(c, call);
        case WHERE_NETWORK:
                return is_on_network(call);
        case WHERE_JOINING:
                return log->threads[c->thread].is_main && is_joining(log->table, c->stack);
        case WHERE_THREADS:
                return !log->threads[c->thread].is_main && is_users_own(log->table, c->stack);
        case WHERE_DOING_COUNT:
                break;
        }
        return false;
}

/* ---- adding ---- */

static uint32_t hash_of(const struct where_entry *e)
{
        uint32_t key[] = {e->stretch, e->of.own, e->of.inner, e->of.call, e->who, e->doing};
        return hash_text((const char *)key, sizeof(key));
}

static bool has_same_key(const struct where_entry *a, const struct where_entry *b)
{
        return a->stretch == b->stretch && a->of.own == b->of.own && a->of.inner == b->of.inner &&
               a->of.call == b->of.call && a->who == b->who && a->doing == b->doing;
}

static int add_entry(struct where_finder *w, const struct where_entry *e)
{
        uint32_t hash = hash_of(e), at;
        size_t step = 0;
        while ((at = lookup_next(&w->by_key, hash, &step)) != LOOKUP_END) {
                if (!has_same_key(&w->entries[at], e))
                        continue;
                w->entries[at].of.n_samples += e->of.n_samples;
                w->entries[at].of.seconds += e->of.seconds;
                return 0;
        }
        if (w->n_entries == WHERE_ENTRIES_MAX)
                return 0;
        if (!LIST_ROOM(w->entries, w->n_entries, w->cap_entries) ||
            !lookup_put(&w->by_key, hash, (uint32_t)w->n_entries))
                return -ENOMEM;
        w->entries[w->n_entries++] = *e;
        return 0;
}

static bool asks_for(const struct where_rule *rule, enum where_doing doing)
{
        bool stands_in = doing == WHERE_JOINING || doing == WHERE_THREADS;
        return rule->doing == doing || (rule->doing == WHERE_MAIN && stands_in);
}

/* Both the samples that a rule asks for and those that stand in for them, once each. */
static int add_for_rule(struct where_finder *w, const struct where_rule *rule,
                        const struct stack_log *log, const struct stack_count *c,
                        struct where_entry *e)
{
        int r = 0;
        e->who = (uint8_t)rule->who;
        for (int doing = 0; r == 0 && doing < WHERE_DOING_COUNT; doing++) {
                e->doing = (uint8_t)doing;
                if (asks_for(rule, (enum where_doing)doing) &&
                    counts_as((enum where_doing)doing, log, c))
                        r = add_entry(w, e);
        }
        return r;
}

static size_t held_gpu_of(const struct stretch_list *list, const struct where_role *holder)
{
        for (size_t i = 0; holder && i < list->n_gpus; i++) {
                if (strcmp(list->gpus[i].source_label, holder->gpu) == 0)
                        return i;
        }
        return WHERE_EVERY_GPU; /* whose it is nobody knows: everybody's */
}

int where_find_person(struct where_finder *w, const struct stretch_list *list,
                      const struct stack_log *log, uint32_t process,
                      const struct where_person **ret)
{
        if (!w->persons)
                w->persons = calloc(log->n_processes, sizeof(*w->persons));
        if (!w->persons)
                return -ENOMEM;
        struct where_person *p = &w->persons[process];
        if (!p->is_known) {
                const struct where_role *holder;
                p->who = (uint8_t)answering_process(w, log, &log->processes[process], &holder);
                p->gpu = held_gpu_of(list, holder);
                p->is_known = true;
        }
        *ret = p;
        return 0;
}

static bool serves_stretch(const struct where_person *person, const struct stretch *s)
{
        return person->gpu == WHERE_EVERY_GPU || gpu_set_has(&s->gpus, person->gpu);
}

int where_serves(struct where_finder *w, const struct stretch_list *list, const struct stretch *s,
                 const struct stack_log *log, uint32_t process)
{
        const struct where_person *person;
        int r = where_find_person(w, list, log, process, &person);
        return r < 0 ? r : serves_stretch(person, s);
}

static int add_count(struct where_finder *w, const struct stretch_list *list, size_t stretch,
                     const struct stack_log *log, const struct stack_count *c)
{
        const struct stretch *s = &list->list[stretch];
        const struct where_rule *rules[WHERE_RULES_MAX];
        size_t n = where_rules((enum limiter)s->limit.limiter, rules);
        const struct where_person *person;
        int r = where_find_person(w, list, log, log->threads[c->thread].process, &person);
        if (r < 0 || !serves_stretch(person, s))
                return r;
        struct stack_place place = stack_find_place(log->table, c->stack);
        struct where_entry e = {.stretch = (uint32_t)stretch,
                                .of = {.own = stack_node(log->table, place.own)->frame,
                                       .inner = stack_node(log->table, place.inner)->frame,
                                       .called = stack_node(log->table, place.called)->frame,
                                       .call = c->call,
                                       .n_samples = c->n_samples,
                                       .seconds = c->seconds}};
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (rules[i]->who == person->who || rules[i]->who == WHERE_ALL)
                        r = add_for_rule(w, rules[i], log, c, &e);
        }
        return r;
}

int where_add(struct where_finder *w, const struct stretch_list *list, const struct stack_log *log,
              double begin_s, const struct stack_window *window)
{
        double middle = begin_s + (double)STACK_WINDOW_NS / 2e9;
        int r = 0;
        for (size_t i = 0; r == 0 && i < list->n; i++) {
                if (middle < list->list[i].begin_s || middle >= list->list[i].end_s)
                        continue;
                for (size_t k = 0; r == 0 && k < window->n; k++)
                        r = add_count(w, list, i, log, &window->counts[k]);
        }
        return r;
}

/* ---- concluding ---- */

/* Whether a stretch is one of those that a finding or a stretch of its own is about. */
typedef bool belongs_f(const struct stretch_list *list, const void *what, size_t stretch);

static bool is_stretch(const struct stretch_list *list UNUSED, const void *what, size_t stretch)
{
        return *(const size_t *)what == stretch;
}

static bool is_of_finding(const struct stretch_list *list, const void *what, size_t stretch)
{
        const struct limit_finding *f = what;
        const struct stretch *s = &list->list[stretch];
        return f->limiter == (enum limiter)s->limit.limiter &&
               f->held_by == (enum held_by)s->limit.held_by &&
               f->basis == (enum basis)s->limit.basis && f->before_work == s->before_work;
}

static int take_tally(const struct where_finder *w, const struct stretch_list *list,
                      belongs_f *belongs, const void *what, const struct where_rule *rule,
                      enum where_doing doing, struct line_tally *t)
{
        int r = 0;
        line_tally_clear(t);
        for (size_t i = 0; r == 0 && i < w->n_entries; i++) {
                const struct where_entry *e = &w->entries[i];
                if (e->who == rule->who && e->doing == doing && belongs(list, what, e->stretch))
                        r = line_tally_add(t, &e->of);
        }
        return r;
}

#define JOINS_MOSTLY 0.8 /* of a main thread's samples */

/*
 * The samples that answer a rule, in t; ret: the rule that says what they are. Of a main thread
 * that only waits for threads which it started, these threads are asked.
 */
static int take_answer(const struct where_finder *w, const struct stretch_list *list,
                       belongs_f *belongs, const void *what, const struct where_rule *rule,
                       struct line_tally *t, const struct where_rule **ret)
{
        enum where_doing doing = rule->doing;
        *ret = rule;
        int r = take_tally(w, list, belongs, what, rule, doing, t);
        if (r < 0 || doing != WHERE_MAIN || t->n_samples < WHERE_SAMPLES_MIN)
                return r;
        double most = JOINS_MOSTLY * (double)t->n_samples;
        r = take_tally(w, list, belongs, what, rule, WHERE_JOINING, t);
        bool only_joins = (double)t->n_samples >= most;
        if (r == 0 && only_joins)
                r = take_tally(w, list, belongs, what, rule, WHERE_THREADS, t);
        if (r < 0)
                return r;
        if (only_joins && t->n_samples >= WHERE_SAMPLES_MIN) {
                *ret = where_rule_of_threads();
                return 0;
        }
        return take_tally(w, list, belongs, what, rule, doing, t);
}

static int find_where(const struct where_finder *w, const struct stack_log *log,
                      const struct stretch_list *list, belongs_f *belongs, const void *what,
                      enum limiter limiter, struct where *ret)
{
        const struct where_rule *rules[WHERE_RULES_MAX];
        size_t n = where_rules(limiter, rules);
        struct line_tally t = {0};
        int r = 0;
        bool is_answered = false; /* the rule before */
        for (size_t i = 0; r == 0 && i < n && ret->n < WHERE_PARTS_MAX; i++) {
                const struct where_rule *answered;
                if (rules[i]->instead && is_answered)
                        continue;
                is_answered = false;
                r = take_answer(w, list, belongs, what, rules[i], &t, &answered);
                if (r < 0 || t.n_samples < WHERE_SAMPLES_MIN)
                        continue;
                struct where_part part = {
                    .rule = answered, .seconds = t.seconds, .n_samples = t.n_samples};
                part.n = line_tally_places(&t, log->table, part.places);
                if (part.n > 0)
                        ret->parts[ret->n++] = part;
                is_answered = part.n > 0;
        }
        line_tally_finish(&t);
        return r;
}

/* Place 0 of the list is where nothing is known. */
static int keep_where(struct stretch_list *list, const struct where *found, size_t *ret)
{
        if (found->n == 0)
                return 0;
        if (!list_resize(&list->wheres, list->n_wheres + 1, sizeof(*list->wheres)))
                return -ENOMEM;
        list->wheres[list->n_wheres++] = *found;
        *ret = list->n_wheres;
        return 0;
}

int where_conclude(struct where_finder *w, const struct stack_log *log, struct stretch_list *list)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < list->n; i++) {
                struct where found = {0};
                struct stretch *s = &list->list[i];
                r = find_where(w, log, list, is_stretch, &i, (enum limiter)s->limit.limiter,
                               &found);
                if (r == 0)
                        r = keep_where(list, &found, &s->where);
        }
        for (size_t i = 0; r == 0 && i < list->n_findings; i++) {
                struct where found = {0};
                struct limit_finding *f = &list->findings[i];
                r = find_where(w, log, list, is_of_finding, f, f->limiter, &found);
                if (r == 0)
                        r = keep_where(list, &found, &f->where);
        }
        return r;
}

/* Every GPU that somebody holds, so that those of others are known to be others'. */
static size_t list_gpus(const struct process_list *list, struct stretch_gpu *ret, size_t max)
{
        size_t n = 0;
        for (size_t i = 0; i < list->n && n < max; i++) {
                size_t k = 0;
                while (k < n && strcmp(ret[k].source_label, list->list[i].gpu) != 0)
                        k++;
                if (k == n)
                        snprintf(ret[n++].source_label, sizeof(ret[0].source_label), "%s",
                                 list->list[i].gpu);
        }
        return n;
}

int where_find_now(const struct process_list *list, const struct stack_log *log,
                   const struct stack_window *window, const char *gpu, enum limiter limiter,
                   struct where *ret)
{
        struct stretch_gpu gpus[HOST_GPUS_MAX];
        struct stretch stretch = {.limit.limiter = (uint8_t)limiter};
        struct stretch_list now = {.n = 1, .list = &stretch, .gpus = gpus};
        struct where_finder w = {0};
        size_t all = 0;
        now.n_gpus = list_gpus(list, gpus, ARRAY_LEN(gpus));
        for (size_t i = 0; i < now.n_gpus; i++) {
                if (strcmp(gpus[i].source_label, gpu) == 0)
                        gpu_set_add(&stretch.gpus, i);
        }
        ret->n = 0;
        int r = where_see_processes(&w, list);
        for (size_t i = 0; r == 0 && i < window->n; i++)
                r = add_count(&w, &now, 0, log, &window->counts[i]);
        if (r == 0)
                r = find_where(&w, log, &now, is_stretch, &all, limiter, ret);
        where_finish(&w);
        return r;
}

int where_process_begin(struct where_process *w, int32_t pid)
{
        static const char label[] = "front";
        struct process p = {.pid = pid};
        const struct process_list list = {.list = &p, .n = 1};
        *w = (struct where_process){.stretch.limit.limiter = LIMITER_HOST_CODE};
        snprintf(p.gpu, sizeof(p.gpu), "%s", label);
        snprintf(w->gpu.source_label, sizeof(w->gpu.source_label), "%s", label);
        w->list = (struct stretch_list){.n = 1, .list = &w->stretch, .gpus = &w->gpu, .n_gpus = 1};
        gpu_set_add(&w->stretch.gpus, 0);
        return where_see_processes(&w->finder, &list);
}

int where_process_add(struct where_process *w, const struct stack_log *log,
                      const struct stack_window *window)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < window->n; i++)
                r = add_count(&w->finder, &w->list, 0, log, &window->counts[i]);
        return r;
}

int where_process_end(struct where_process *w, const struct stack_log *log, struct where *ret)
{
        size_t all = 0;
        ret->n = 0;
        int r = find_where(&w->finder, log, &w->list, is_stretch, &all, LIMITER_HOST_CODE, ret);
        where_finish(&w->finder);
        return r;
}

void where_finish(struct where_finder *w)
{
        free(w->roles);
        free(w->persons);
        free(w->entries);
        lookup_finish(&w->by_key);
        *w = (struct where_finder){0};
}
