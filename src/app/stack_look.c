#include "app/stack_look.h"

#include "app/rank.h"
#include "base/clock.h"
#include "base/list.h"
#include "formats/look/look.h"
#include "present/stream/json.h"
#include "read/nodes/ask.h"
#include "read/stacks/glance.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- GPUs ---- */

static const struct row *find_row(const struct frame *frame, const char *label)
{
        for (size_t i = 0; i < frame->n; i++) {
                if (strcmp(frame->rows[i].sample.who->label, label) == 0)
                        return &frame->rows[i];
        }
        return NULL;
}

static size_t gpu_for(struct stack_look *l, const struct frame *frame, const char *label)
{
        size_t at = stack_look_find_gpu(l, 0, label);
        const struct row *row = find_row(frame, label);
        if (at != SIZE_MAX || label[0] == '\0')
                return at;
        struct look_gpu *g = stack_look_add_gpu(l, 0, label);
        if (g && row) {
                g->busy = row->sample.m[METRIC_GPU_UTIL];
                g->sm = row->sample.m[METRIC_SM_ACTIVE];
                g->class_name = workload_status(row->verdict.workload);
                g->limiter = limiter_name((enum limiter)row->limit.limiter);
        }
        return g ? l->n_gpus - 1 : SIZE_MAX;
}

/* Which GPUs each process of the look holds. */
static void add_gpus(struct stack_look *l, const struct frame *frame)
{
        for (size_t i = 0; i < frame->processes.n; i++) {
                const struct process *p = &frame->processes.list[i];
                for (size_t k = 0; k < l->n_processes && !p->child; k++) {
                        if (l->processes[k].is.pid == p->pid)
                                stack_look_hold_gpu(&l->processes[k], gpu_for(l, frame, p->gpu));
                }
        }
}

/* ---- ranks ---- */

#define VARIABLE_MAX 256

struct environment {
        int32_t pid;
        unsigned turn;
        char buf[2][VARIABLE_MAX];
};

static const char *ask_process(void *arg, const char *name)
{
        struct environment *e = arg;
        char *to = e->buf[e->turn++ % ARRAY_LEN(e->buf)];
        return glance_environment(e->pid, name, to, VARIABLE_MAX) ? to : NULL;
}

static void add_ranks(struct stack_look *l)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                struct environment e = {.pid = l->processes[i].is.pid};
                struct rank_facts facts = {.rank = value_missing(STATE_NONE)};
                if (l->processes[i].leads)
                        facts = rank_facts_of(ask_process, &e);
                if (rank_is_one_of_many(&facts))
                        l->processes[i].rank = facts.rank;
        }
}

/* ---- now ---- */

static size_t list_holders(const struct frame *frame, int32_t *list, size_t max)
{
        size_t n = 0;
        for (size_t i = 0; frame && i < frame->processes.n && n < max; i++) {
                if (!frame->processes.list[i].child)
                        list[n++] = frame->processes.list[i].pid;
        }
        return n;
}

/* The GPUs as they are now; a look at stacks does without them. NULL then. */
static const struct frame *see_gpus(const struct config *config, struct pipeline **p,
                                    struct strbuf *notices, struct err *err, int *ret_code)
{
        const struct frame *frame = NULL;
        char notice[SETUP_NOTICE_MAX];
        int r = setup_open(config, NULL, false, 0, p, notice, err);
        if (notice[0])
                strbuf_putf(notices, "%s\n", notice);
        if (r == 0) {
                pipeline_want_processes(*p, true);
                r = pipeline_next(*p, &frame, err);
        }
        *ret_code = r < 0 && !setup_does_without(config, r) ? r : 0;
        if (r < 0 && *ret_code == 0)
                *err = (struct err){0};
        return r > 0 ? frame : NULL;
}

static int check_found(const struct stack_look *l, int32_t pid, struct err *err)
{
        if (l->n_processes == 0 && pid > 0) {
                err_set(err, ERR_NO_SOURCE, "no process %d", pid);
                return err_hint(err, "'ps -e' lists those that are there");
        }
        if (l->n_processes == 0) {
                err_set(err, ERR_NO_SOURCE, "no process holds a GPU, and no Python runs here");
                return err_hint(err, "name a process: assay stacks PID");
        }
        return 0;
}

static int look_at(struct stack_look *l, int32_t pid, const struct frame *frame,
                   enum look_whose *ret_whose)
{
        int32_t roots[GLANCE_PROCESSES_MAX], pids[GLANCE_PROCESSES_MAX];
        size_t n = 1;
        roots[0] = pid;
        if (pid == 0)
                n = list_holders(frame, roots, ARRAY_LEN(roots));
        *ret_whose = pid > 0 ? LOOK_OF_PID : n > 0 ? LOOK_OF_HOLDERS : LOOK_OF_USER;
        n = n > 0 ? glance_list_tree(roots, n, pids, ARRAY_LEN(pids))
                  : glance_list_own(pids, ARRAY_LEN(pids));
        return glance_take(l, pids, n, *ret_whose == LOOK_OF_USER);
}

int look_now(const struct config *config, int32_t pid, struct stack_look *ret,
             enum look_whose *ret_whose, struct strbuf *notices, struct err *err)
{
        struct pipeline *p = NULL;
        int r = stack_look_init(ret);
        if (r == 0 && !stack_look_add_host(ret, ""))
                r = -ENOMEM;
        if (r < 0)
                return err_set(err, r, "out of memory");
        const struct frame *frame = see_gpus(config, &p, notices, err, &r);
        ret->wall_ns = clock_wall_ns();
        if (r == 0 && look_at(ret, pid, frame, ret_whose) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r == 0) {
                if (frame)
                        add_gpus(ret, frame);
                stack_look_settle(ret);
                add_ranks(ret);
                r = check_found(ret, pid, err);
        }
        pipeline_close(p);
        return r;
}

/* ---- other hosts ---- */

#define NODE_PATIENCE_NS (20 * NS_PER_S)

/* Some hosts greet whoever logs in: the answer begins at a line of its own. */
static const char *find_object(const struct strbuf *text)
{
        const char *end = text->s + text->len;
        for (const char *s = text->s; s && s < end; s = memchr(s, '\n', (size_t)(end - s))) {
                s += *s == '\n';
                if (s < end && *s == '{')
                        return s;
        }
        return NULL;
}

static int take_host_look(void *arg, const struct node_answer *a)
{
        struct stack_look *l = arg;
        struct err err = {0};
        while (l->n_hosts < a->n) {
                if (!stack_look_add_host(l, ""))
                        return -ENOMEM;
        }
        struct look_host *h = &l->hosts[a->node];
        snprintf(h->name, sizeof(h->name), "%s", a->name);
        snprintf(h->why, sizeof(h->why), "%s", a->why ? a->why : "");
        snprintf(h->hint, sizeof(h->hint), "%s", a->hint);
        if (a->why)
                return 0;
        const char *from = find_object(a->text);
        size_t n = from ? (size_t)(a->text->s + a->text->len - from) : 0;
        int r = look_parse(from ? from : "", n, JSON_SCHEMA_VERSION, (uint32_t)a->node, l, &err);
        if (r == ERR_DATA)
                snprintf(h->why, sizeof(h->why), "%.150s", err.msg);
        return r == -ENOMEM ? r : 0;
}

int look_nodes(const struct config *config, struct stack_look *ret, struct err *err)
{
        struct source_config nodes;
        const char *words[8] = {"stacks", "--format", "json"};
        size_t n = 3;
        int r = stack_look_init(ret);
        if (r < 0)
                return err_set(err, r, "out of memory");
        r = setup_nodes(config, &nodes, err);
        if (r < 0)
                return r;
        if (nodes.backend) {
                words[n++] = "--backend";
                words[n++] = nodes.backend;
        }
        if (nodes.show_all)
                words[n++] = "--show-all";
        ret->wall_ns = clock_wall_ns();
        r = nodes_ask(&nodes, words, n, NODE_PATIENCE_NS, take_host_look, ret, err);
        if (r == -ENOMEM)
                return err_set(err, r, "out of memory");
        stack_look_settle(ret);
        if (r == 0 && ret->n_hosts == 1 && ret->hosts[0].why[0]) {
                r = err_set(err, ERR_NO_SOURCE, "%s: %s", ret->hosts[0].name, ret->hosts[0].why);
                err_hint(err, "%s", ret->hosts[0].hint);
        }
        return r;
}

/* ---- of a recording ---- */

/* The second that was asked for, copied: its rows are valid until the next one. */
struct chosen {
        int64_t mono_ns;
        struct stack_count *counts;
        size_t n, cap;
        bool found;
};

static int copy_window(struct chosen *c, const struct stack_window *w)
{
        if (!LIST_RESERVE(c->counts, w->n, c->cap))
                return -ENOMEM;
        memcpy(c->counts, w->counts, w->n * sizeof(*c->counts));
        c->n = w->n;
        c->mono_ns = w->mono_ns;
        c->found = true;
        return 0;
}

static int choose_window(struct session_reader *r, double at_s, struct chosen *c, struct err *err)
{
        struct stack_window w;
        int64_t start = session_start_ns(r), at = at_s < 0 ? INT64_MAX : clock_from_seconds(at_s);
        int got;
        while ((got = session_next_stacks(r, &w, err)) > 0) {
                if (w.n == 0)
                        continue;
                if (c->found && w.mono_ns - start > at)
                        break;
                if (copy_window(c, &w) < 0)
                        return err_set(err, -ENOMEM, "out of memory");
        }
        if (got >= 0 && c->found && at_s >= 0 && got == 0 &&
            at - (c->mono_ns - start) >= 2 * STACK_WINDOW_NS) {
                err_set(err, ERR_USAGE, "--at %g is beyond the end of the recording's stacks",
                        at_s);
                return err_hint(err, "they end after %.1f s",
                                clock_to_seconds(c->mono_ns - start + STACK_WINDOW_NS));
        }
        return MIN(got, 0);
}

/* For each thread the row, from 1, of what it was in for most of the second; 0: it was not seen. */
static int find_longest(const struct chosen *c, size_t n_threads, uint32_t **ret)
{
        uint32_t *best = calloc(n_threads + 1, sizeof(*best));
        for (size_t i = 0; best && i < c->n; i++) {
                uint32_t *b = &best[c->counts[i].thread];
                if (*b == 0 || c->counts[i].seconds > c->counts[*b - 1].seconds)
                        *b = (uint32_t)(i + 1);
        }
        *ret = best;
        return best ? 0 : -ENOMEM;
}

/* The texts and stacks of a session's table, in the look's own. */
static uint32_t copy_text(struct stack_look *l, const struct stack_log *log, uint32_t text)
{
        const char *s = stack_text(log->table, text);
        return stack_intern_text(l->table, s, strlen(s));
}

static uint32_t copy_stack(struct stack_look *l, const struct stack_log *log, uint32_t stack)
{
        uint32_t frames[STACK_PATH_MAX], ret = STACK_EMPTY;
        for (size_t n = stack_path(log->table, stack, frames); n-- > 0;) {
                struct stack_frame f = *stack_frame(log->table, frames[n]);
                f.file = copy_text(l, log, f.file);
                f.function = copy_text(l, log, f.function);
                ret = stack_intern_call(l->table, ret, stack_intern_frame(l->table, &f));
        }
        return ret;
}

static int add_recorded(struct stack_look *l, const struct stack_log *log, uint32_t thread,
                        const struct stack_count *c)
{
        struct look_thread *t = stack_look_add_thread(l);
        const struct stack_thread *is = &log->threads[thread];
        if (!t)
                return -ENOMEM;
        t->tid = is->tid;
        t->is_main = is->is_main;
        t->name = copy_text(l, log, is->name);
        t->stack = copy_stack(l, log, c->stack);
        t->call = copy_text(l, log, c->call);
        t->state = c->state;
        t->holds_gil = c->holds_gil;
        return 0;
}

static int fill_process(struct stack_look *l, const struct stack_log *log, const struct chosen *c,
                        const uint32_t *best, size_t process)
{
        bool added = false;
        for (uint32_t t = 0; t < log->n_threads; t++) {
                if (log->threads[t].process != process || best[t] == 0)
                        continue;
                if (!added && !stack_look_add_process(l, 0, &log->processes[process]))
                        return -ENOMEM;
                added = true;
                int r = add_recorded(l, log, t, &c->counts[best[t] - 1]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int fill_recorded(struct stack_look *l, const struct stack_log *log, const struct chosen *c)
{
        uint32_t *best;
        int r = find_longest(c, log->n_threads, &best);
        for (size_t p = 0; r == 0 && p < log->n_processes; p++)
                r = fill_process(l, log, c, best, p);
        free(best);
        return r;
}

/* The GPUs of the first tick of that second or after it. */
static int add_recorded_gpus(struct session_reader *r, struct stack_look *l, int64_t mono_ns,
                             struct err *err)
{
        const struct frame *frame;
        int got;
        while ((got = session_next(r, &frame, err)) > 0) {
                if (frame->mono_ns < mono_ns || frame->processes.n == 0)
                        continue;
                add_gpus(l, frame);
                break;
        }
        return MIN(got, 0);
}

static int tell_no_stacks(const char *path, struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "'%s' has no stacks", path);
        return err_hint(err, "'assay run' and 'assay record' keep them, unless --stacks off or "
                             "--redact is given");
}

int stacks_open(const char *path, struct session_reader **ret, const struct stack_log **ret_log,
                struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log = NULL;
        if (access(path, F_OK) < 0 && errno == ENOENT)
                return err_set(err, ERR_NO_SOURCE, "no such file: '%s'", path);
        if (!session_is_one(path))
                return tell_no_stacks(path, err);
        int code = session_open(path, &r, err);
        if (code == 0)
                code = session_stacks(r, &log, err);
        if (code == 0 && !log)
                code = tell_no_stacks(path, err);
        if (code < 0) {
                session_reader_close(r);
                return code;
        }
        *ret = r;
        *ret_log = log;
        return 0;
}

static int look_into(struct session_reader *r, const struct stack_log *log, const char *path,
                     double at_s, struct stack_look *ret, struct err *err)
{
        struct chosen c = {0};
        int code = choose_window(r, at_s, &c, err);
        if (code == 0 && !c.found)
                code = tell_no_stacks(path, err);
        if (code == 0 && fill_recorded(ret, log, &c) < 0)
                code = err_set(err, -ENOMEM, "out of memory");
        if (code == 0)
                code = add_recorded_gpus(r, ret, c.mono_ns, err);
        if (code == 0) {
                ret->wall_ns = c.mono_ns;
                ret->is_recorded = true;
                stack_look_settle(ret);
        }
        free(c.counts);
        return code;
}

int look_recorded(const char *path, double at_s, struct stack_look *ret, struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log = NULL;
        int code = stack_look_init(ret);
        if (code == 0 && !stack_look_add_host(ret, ""))
                code = -ENOMEM;
        if (code < 0)
                return err_set(err, code, "out of memory");
        code = stacks_open(path, &r, &log, err);
        if (code == 0)
                code = look_into(r, log, path, at_s, ret, err);
        session_reader_close(r);
        return code;
}

/* ---- beside a frame ---- */

int look_beside_frame(const struct frame *frame, const char *path, struct stack_look *ret)
{
        int32_t pids[GLANCE_PROCESSES_MAX];
        struct err err = {0};
        if (path) {
                struct session_reader *r = NULL;
                const struct stack_log *log = NULL;
                int code = stack_look_init(ret);
                if (code == 0 && !stack_look_add_host(ret, ""))
                        code = -ENOMEM;
                if (code == 0 && stacks_open(path, &r, &log, &err) == 0) {
                        double at_s = clock_to_seconds(frame->wall_ns - session_start_ns(r));
                        look_into(r, log, path, MAX(at_s, 0), ret, &err);
                }
                session_reader_close(r);
                return code;
        }
        int code = stack_look_init(ret);
        if (code == 0 && !stack_look_add_host(ret, ""))
                code = -ENOMEM;
        size_t n = list_holders(frame, pids, ARRAY_LEN(pids));
        if (code == 0)
                code = glance_take(ret, pids, n, false);
        if (code == 0) {
                add_gpus(ret, frame);
                stack_look_settle(ret);
        }
        return code;
}
