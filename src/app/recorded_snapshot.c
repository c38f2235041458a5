#include "app/stack_snapshot.h"

#include "app/node_figures.h"
#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "engine/folder.h"
#include "model/summary.h"
#include "session/facts.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- one second ---- */

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

/* The texts and stacks of a session's table, in the snapshot's own. */
static uint32_t copy_text(struct stack_snapshot *l, const struct stack_log *log, uint32_t text)
{
        const char *s = stack_text(log->table, text);
        return stack_intern_text(l->table, s, strlen(s));
}

static uint32_t copy_stack(struct stack_snapshot *l, const struct stack_log *log, uint32_t stack)
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

static int add_recorded(struct stack_snapshot *l, const struct stack_log *log, uint32_t thread,
                        const struct stack_count *c)
{
        struct snapshot_thread *t = stack_snapshot_add_thread(l);
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

static int fill_process(struct stack_snapshot *l, const struct stack_log *log,
                        const struct chosen *c, const uint32_t *best, size_t process)
{
        bool added = false;
        for (uint32_t t = 0; t < log->n_threads; t++) {
                if (log->threads[t].process != process || best[t] == 0)
                        continue;
                if (!added && !stack_snapshot_add_process(l, 0, &log->processes[process]))
                        return -ENOMEM;
                added = true;
                int r = add_recorded(l, log, t, &c->counts[best[t] - 1]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int fill_recorded(struct stack_snapshot *l, const struct stack_log *log,
                         const struct chosen *c)
{
        uint32_t *best;
        int r = find_longest(c, log->n_threads, &best);
        for (size_t p = 0; r == 0 && p < log->n_processes; p++)
                r = fill_process(l, log, c, best, p);
        free(best);
        return r;
}

/* The GPUs of the first tick of that second or after it. */
static int add_recorded_gpus(struct session_reader *r, struct stack_snapshot *l, int64_t mono_ns,
                             struct err *err)
{
        const struct frame *frame;
        int got;
        while ((got = session_next(r, &frame, err)) > 0) {
                if (frame->mono_ns < mono_ns || frame->processes.n == 0)
                        continue;
                snapshot_add_gpus(l, 0, frame);
                break;
        }
        return MIN(got, 0);
}

static int refuse_without_stacks(const char *path, struct err *err)
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
        if (!session_is_one(path)) {
                err_set(err, ERR_NO_SOURCE, "'%s' has no stacks: it is not a session", path);
                return err_hint(err, "'assay run' and 'assay record' write sessions");
        }
        int code = session_open(path, &r, err);
        if (code == 0)
                code = session_stacks(r, &log, err);
        if (code == 0 && !log)
                code = refuse_without_stacks(path, err);
        if (code < 0) {
                session_reader_close(r);
                return code;
        }
        *ret = r;
        *ret_log = log;
        return 0;
}

static int load_stacks(struct session_reader *r, const struct stack_log *log, const char *path,
                       double at_s, struct stack_snapshot *ret, struct err *err)
{
        struct chosen c = {0};
        int code = choose_window(r, at_s, &c, err);
        if (code == 0 && !c.found)
                code = refuse_without_stacks(path, err);
        if (code == 0 && fill_recorded(ret, log, &c) < 0)
                code = err_set(err, -ENOMEM, "out of memory");
        if (code == 0)
                code = add_recorded_gpus(r, ret, c.mono_ns, err);
        if (code == 0) {
                ret->wall_ns = c.mono_ns;
                ret->is_recorded = true;
                stack_snapshot_settle(ret);
        }
        free(c.counts);
        return code;
}

int snapshot_recorded(const char *path, double at_s, struct stack_snapshot *ret, struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log = NULL;
        int code = stack_snapshot_init(ret);
        if (code == 0 && !stack_snapshot_add_host(ret, ""))
                code = -ENOMEM;
        if (code < 0)
                return err_set(err, code, "out of memory");
        code = stacks_open(path, &r, &log, err);
        if (code == 0)
                code = load_stacks(r, log, path, at_s, ret, err);
        session_reader_close(r);
        return code;
}

/* ---- the last seconds ---- */

/* What a thread did up to the end of the span. */
struct still {
        int64_t last_ns,
            since_ns; /* end of its last window; of the first window after which it did not move */
        uint32_t stack, call, steady, seen[SNAPSHOT_SEEN_MAX];
        uint32_t n_samples, places;
        uint8_t state;
        double running_s, seconds;
        bool holds_gil;
};

static void note_stack(struct still *s, uint32_t stack)
{
        for (size_t i = 0; i < s->places; i++) {
                if (s->seen[i] == stack)
                        return;
        }
        if (s->places < SNAPSHOT_SEEN_MAX)
                s->seen[s->places++] = stack;
}

/* Its counts in a window follow each other in no order: the first of a window begins it. */
static void note_count(struct still *s, const struct stack_table *table,
                       const struct stack_count *c, int64_t mono_ns, bool in_span)
{
        bool begins = s->last_ns != mono_ns;
        bool same = s->n_samples + s->places > 0 || s->since_ns > 0 ? c->stack == s->stack : false;
        if (!same || c->state == STACK_RUNNING || s->since_ns == 0 ||
            (begins && mono_ns - s->last_ns > 3 * STACK_WINDOW_NS))
                s->since_ns = mono_ns + STACK_WINDOW_NS; /* it moved within this window */
        s->last_ns = mono_ns;
        s->stack = c->stack;
        s->call = c->call;
        s->state = c->state;
        s->holds_gil = c->holds_gil;
        if (!in_span)
                return;
        s->steady = s->n_samples == 0 ? c->stack : stack_common(table, s->steady, c->stack);
        note_stack(s, c->stack);
        s->n_samples += c->n_samples;
        s->seconds += c->seconds;
        s->running_s += c->state == STACK_RUNNING ? c->seconds : 0;
}

/* The last second that has stacks, at or before a time. */
static int find_end(const char *path, int64_t at_ns, int64_t *ret, struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log;
        struct stack_window w;
        int64_t last = 0;
        int got, code = stacks_open(path, &r, &log, err);
        if (code < 0)
                return code;
        while ((got = session_next_stacks(r, &w, err)) > 0) {
                if (w.n > 0 && w.mono_ns <= at_ns)
                        last = w.mono_ns;
        }
        session_reader_close(r);
        *ret = last;
        return MIN(got, 0);
}

static int follow_threads(struct session_reader *r, const struct stack_log *log, struct still *list,
                          int64_t begin_ns, int64_t end_ns, struct err *err)
{
        struct stack_window w;
        int got;
        while ((got = session_next_stacks(r, &w, err)) > 0 && w.mono_ns <= end_ns) {
                for (size_t i = 0; i < w.n; i++)
                        note_count(&list[w.counts[i].thread], log->table, &w.counts[i], w.mono_ns,
                                   w.mono_ns >= begin_ns);
        }
        return MIN(got, 0);
}

static int add_still(struct stack_snapshot *l, const struct stack_log *log, uint32_t thread,
                     const struct still *s, int64_t end_ns)
{
        struct stack_count c = {.thread = thread,
                                .stack = s->stack,
                                .call = s->call,
                                .state = s->state,
                                .holds_gil = s->holds_gil};
        int r = add_recorded(l, log, thread, &c);
        if (r < 0)
                return r;
        struct snapshot_thread *t = &l->threads[l->n_threads - 1];
        t->n_samples = s->n_samples;
        t->places = s->places;
        t->steady = stack_ancestor(l->table, t->stack, stack_node(log->table, s->steady)->depth);
        if (s->seconds > 0)
                t->busy = t->ready = value_ok(MIN(s->running_s / s->seconds, 1.0));
        if (s->state != STACK_RUNNING)
                t->idle_s = value_ok(
                    clock_to_seconds(MAX(end_ns + STACK_WINDOW_NS - s->since_ns, (int64_t)0)));
        return 0;
}

/* Who was present in the last seconds. A process of which no thread was seen by then has ended. */
static int add_still_processes(struct stack_snapshot *l, uint32_t host, const struct stack_log *log,
                               const struct still *list, int64_t begin_ns, int64_t end_ns)
{
        for (size_t p = 0; p < log->n_processes; p++) {
                bool added = false;
                for (uint32_t t = 0; t < log->n_threads; t++) {
                        if (log->threads[t].process != p || list[t].last_ns == 0 ||
                            list[t].last_ns + 3 * STACK_WINDOW_NS < end_ns)
                                continue;
                        if (!added) {
                                struct snapshot_process *is =
                                    stack_snapshot_add_process(l, host, &log->processes[p]);
                                if (!is)
                                        return -ENOMEM;
                                is->watched_s =
                                    value_ok(clock_to_seconds(end_ns + STACK_WINDOW_NS - begin_ns));
                                added = true;
                        }
                        if (add_still(l, log, t, &list[t], end_ns) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

/* The rank that a recording says it is of is the first process that leads, or the program that it
 * started: a launcher in between has no lines. */
static void take_rank(struct stack_snapshot *l, size_t first, const struct run_facts *facts)
{
        struct snapshot_process *found = NULL;
        stack_snapshot_settle(l);
        for (size_t i = first; i < l->n_processes; i++) {
                struct snapshot_process *p = &l->processes[i];
                if (p->leads && p->n_gpus > 0) {
                        found = p;
                        break;
                }
                if (!found && stack_snapshot_is_read(p))
                        found = p;
        }
        if (found) {
                found->rank = facts->rank;
                found->world = facts->world;
        }
}

static int add_last_gpus(struct session_reader *r, struct stack_snapshot *l, uint32_t host,
                         int64_t end_ns, struct err *err)
{
        const struct frame *frame;
        size_t first = l->n_gpus;
        int got;
        while ((got = session_next(r, &frame, err)) > 0 &&
               frame->mono_ns <= end_ns + STACK_WINDOW_NS) {
                l->n_gpus = first;
                for (size_t i = 0; i < l->n_processes; i++)
                        l->processes[i].n_gpus =
                            l->processes[i].host == host ? 0 : l->processes[i].n_gpus;
                snapshot_add_all_gpus(l, host, frame);
        }
        return MIN(got, 0);
}

static int add_last_node(struct session_reader *r, struct stack_snapshot *l, uint32_t host,
                         int64_t end_ns, struct err *err)
{
        const struct host *h;
        int got;
        while ((got = session_next_host(r, &h, err)) > 0 && h->mono_ns <= end_ns + STACK_WINDOW_NS)
                node_figures_take(h, &l->hosts[host]);
        return MIN(got, 0);
}

/* One session as a host of the snapshot; ret_end: when it ended. */
static int add_session(struct stack_snapshot *l, const char *path, const char *name, int64_t at_ns,
                       double span_s, int64_t *ret_end, struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log;
        struct run_facts facts;
        int64_t end_ns;
        size_t first = l->n_processes;
        uint32_t host = (uint32_t)l->n_hosts;
        int code = find_end(path, at_ns, &end_ns, err);
        if (code < 0)
                return code;
        int64_t begin_ns = end_ns - clock_from_seconds(span_s) + STACK_WINDOW_NS;
        code = stacks_open(path, &r, &log, err);
        if (code < 0)
                return code;
        struct still *list = calloc(log->n_threads + 1, sizeof(*list));
        facts_init(&facts, path);
        facts_from_session(&facts, r);
        if (!list || !stack_snapshot_add_host(l, name ? (facts.host[0] ? facts.host : name) : ""))
                code = err_set(err, -ENOMEM, "out of memory");
        if (code == 0)
                code = follow_threads(r, log, list, begin_ns, end_ns, err);
        if (code == 0 && add_still_processes(l, host, log, list, begin_ns, end_ns) < 0)
                code = err_set(err, -ENOMEM, "out of memory");
        if (code == 0)
                code = add_last_gpus(r, l, host, end_ns, err);
        if (code == 0)
                code = add_last_node(r, l, host, end_ns, err);
        if (code == 0)
                take_rank(l, first, &facts);
        if (code == 0)
                *ret_end = end_ns + STACK_WINDOW_NS;
        facts_finish(&facts);
        free(list);
        session_reader_close(r);
        return code;
}

#define GONE_NS (15 * NS_PER_S) /* a recording that ends so long before the others */

static void note_early_ends(struct stack_snapshot *l, const int64_t *ends)
{
        int64_t last = 0;
        for (size_t i = 0; i < l->n_hosts; i++)
                last = MAX(last, ends[i]);
        for (size_t i = 0; i < l->n_hosts; i++) {
                if (last - ends[i] > GONE_NS && l->hosts[i].why[0] == '\0')
                        snprintf(l->hosts[i].why, sizeof(l->hosts[i].why),
                                 "its recording ends %.0f s before the others",
                                 clock_to_seconds(last - ends[i]));
        }
        l->wall_ns = last;
}

/* Where a recording is from. Of one place only the newest counts: a node's older dumps, a rank that
 * was recorded again. */
struct recording_origin {
        char host[NODE_NAME_MAX];
        struct value rank;
        int64_t end_ns;
};

static void find_origin(const char *path, struct recording_origin *ret)
{
        struct session_reader *r = NULL;
        struct run_facts facts;
        *ret = (struct recording_origin){0};
        if (session_open(path, &r, NULL) < 0)
                return;
        facts_init(&facts, path);
        facts_from_session(&facts, r);
        snprintf(ret->host, sizeof(ret->host), "%.79s", facts.host);
        ret->rank = facts.rank;
        ret->end_ns = session_last_ns(r);
        facts_finish(&facts);
        session_reader_close(r);
}

static bool is_superseded(const struct recording_origin *list, size_t n, size_t at)
{
        const struct recording_origin *o = &list[at];
        for (size_t i = 0; o->host[0] && i < n; i++) {
                bool same = strcmp(list[i].host, o->host) == 0 &&
                            value_is_set(list[i].rank) == value_is_set(o->rank) &&
                            (!value_is_set(o->rank) || list[i].rank.v == o->rank.v);
                if (i != at && same && list[i].end_ns > o->end_ns)
                        return true;
        }
        return false;
}

static int add_folder(struct stack_snapshot *l, const struct folder *f, double span_s,
                      struct err *err)
{
        int64_t *ends = calloc(f->n + 1, sizeof(*ends));
        struct recording_origin *origins = calloc(f->n + 1, sizeof(*origins));
        int code = ends && origins ? 0 : err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; code == 0 && i < f->n; i++)
                find_origin(f->paths[i], &origins[i]);
        for (size_t i = 0; code == 0 && i < f->n; i++) {
                if (is_superseded(origins, f->n, i))
                        continue;
                struct err one = {0};
                const char *slash = strrchr(f->paths[i], '/');
                const char *name = slash ? slash + 1 : f->paths[i];
                size_t host = l->n_hosts;
                int r = add_session(l, f->paths[i], name, INT64_MAX, span_s, &ends[host], &one);
                if (r == -ENOMEM)
                        code = err_set(err, r, "out of memory");
        }
        if (code == 0 && l->n_hosts == 0)
                code = refuse_without_stacks(f->paths[0], err);
        if (code == 0)
                note_early_ends(l, ends);
        free(origins);
        free(ends);
        return code;
}

int snapshot_recorded_span(const char *path, double at_s, double span_s, struct stack_snapshot *ret,
                           struct err *err)
{
        struct folder f = {0};
        int code = stack_snapshot_init(ret);
        if (code == 0)
                code = folder_read(path, &f);
        if (code < 0) {
                folder_finish(&f);
                return err_set(err, code, "out of memory");
        }
        if (f.kind != FOLDER_NONE) {
                code = add_folder(ret, &f, span_s, err);
        } else {
                struct session_reader *r = NULL;
                const struct stack_log *log;
                int64_t at = INT64_MAX;
                code = stacks_open(path, &r, &log, err);
                if (code == 0 && at_s >= 0)
                        at = session_start_ns(r) + clock_from_seconds(at_s);
                session_reader_close(r);
                if (code == 0)
                        code = add_session(ret, path, NULL, at, span_s, &ret->wall_ns, err);
        }
        folder_finish(&f);
        ret->is_recorded = true;
        stack_snapshot_settle(ret);
        return code;
}

int snapshot_recorded_beside(const struct frame *frame, const char *path,
                             struct stack_snapshot *ret)
{
        struct session_reader *r = NULL;
        const struct stack_log *log = NULL;
        struct err err = {0};
        int code = stack_snapshot_init(ret);
        if (code == 0 && !stack_snapshot_add_host(ret, ""))
                code = -ENOMEM;
        if (code == 0 && stacks_open(path, &r, &log, &err) == 0) {
                double at_s = clock_to_seconds(frame->wall_ns - session_start_ns(r));
                load_stacks(r, log, path, MAX(at_s, 0), ret, &err);
        }
        session_reader_close(r);
        return code;
}
