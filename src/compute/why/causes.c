/* The causes of why.def, a rule each. */
#include "base/attr.h"
#include "base/list.h"
#include "compute/why/rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SWAP_FAULTS 20.0    /* a second, with I/O: it waits for pages more than it works */
#define SWAP_FAULTS_FEW 0.5 /* one that waits all the time for a slow disk */
#define LOCK_WAKES 20.0     /* a second: threads that only take turns with the interpreter's lock */
#define MISSING_MAX 64      /* ranks that are named one by one */

static struct why_finding *add_finding(struct why *w, enum why_cause cause, bool sure)
{
        if (!LIST_ROOM(w->findings, w->n_findings, w->cap_findings))
                return NULL;
        struct why_finding *f = &w->findings[w->n_findings++];
        *f = (struct why_finding){.cause = cause,
                                  .sure = sure && why_cause_info(cause)->sure,
                                  .host = WHY_NONE,
                                  .process = WHY_NONE,
                                  .thread = WHY_NONE,
                                  .gpu = WHY_NONE,
                                  .rank = value_missing(STATE_NONE),
                                  .since_s = value_missing(STATE_NONE)};
        return f;
}

/* What a rule decides from. */
struct why_case {
        const struct why *w;
        const struct snapshot_process *p;
        const struct snapshot_thread *t; /* NULL: none was read */
        const struct why_rank *rank;     /* NULL: a process that a rank started */
        bool is_odd;                     /* others wait, and it is not with them */
        bool is_alone;                   /* there are no others */
};

/* What a rule says; left as it is where the rule does not hold. */
struct why_answer {
        bool sure;
        uint32_t thread; /* WHY_NONE: the case's own */
        char detail[WHY_DETAIL_MAX];
};

typedef bool why_rule(const struct why_case *c, struct why_answer *ret);

static void format_answer(struct why_answer *ret, const char *fmt, const char *a, const char *b)
{
        char words[WHY_DETAIL_MAX];
        snprintf(words, sizeof(words), "%.40s%s%.100s", a, b[0] ? " of " : "", b);
        snprintf(ret->detail, sizeof(ret->detail), fmt, words);
}

#define FORMAT_ANSWER(ret, a, b) format_answer(ret, "%s", a, b)

/* "in recvfrom of a socket". */
static void format_call(const struct why_case *c, const struct snapshot_thread *t,
                        struct why_answer *ret)
{
        const char *call = stack_text(c->w->snapshot->table, t->call);
        const char *target = stack_text(c->w->snapshot->table, t->target);
        const char *article = target[0] && target[0] != '/' ? "a " : "";
        snprintf(ret->detail, sizeof(ret->detail), "%s%.40s%s%s%.100s", call[0] ? "in " : "",
                 call[0] ? call : stack_text(c->w->snapshot->table, t->channel),
                 target[0] ? " of " : "", article, target);
}

static bool is_halted_by_debugger(const struct why_case *c, struct why_answer *ret)
{
        bool traced =
            c->p->halt == SNAPSHOT_TRACED || (c->p->halt == SNAPSHOT_STOPPED && c->p->tracer > 0);
        if (traced && c->p->tracer > 0)
                snprintf(ret->detail, sizeof(ret->detail), "pid %d", c->p->tracer);
        return traced || (c->t && why_in_debugger(c->w->snapshot, c->t->stack));
}

static bool is_halted_by_signal(const struct why_case *c, struct why_answer *ret)
{
        FORMAT_ANSWER(ret, "state T", "");
        return c->p->halt == SNAPSHOT_STOPPED && c->p->tracer == 0;
}

static bool is_swapped(const struct why_case *c, struct why_answer *ret)
{
        double swap = value_or(c->p->figures[SNAPSHOT_SWAP], 0);
        double faults = value_or(c->p->figures[SNAPSHOT_MAJOR], 0);
        bool stuck = c->t && c->t->state == STACK_BLOCKED && faults >= SWAP_FAULTS_FEW;
        if (swap <= 0 || (faults < SWAP_FAULTS && !stuck))
                return false;
        snprintf(ret->detail, sizeof(ret->detail), "%.0f MiB are swapped out, %.0f pages a second",
                 swap / 1048576, faults);
        return true;
}

static bool waits_for_file(const struct why_case *c, struct why_answer *ret)
{
        if (!c->t || !why_is_asleep(c->t) || why_wait_kind(c->w->snapshot, c->t) != WAIT_FILE)
                return false;
        format_call(c, c->t, ret);
        return true;
}

static bool is_blocked(const struct why_case *c, struct why_answer *ret)
{
        if (!c->t || c->t->state != STACK_BLOCKED || c->t->places > 1 || c->t->n_samples < 2)
                return false;
        format_call(c, c->t, ret);
        return true;
}

/* A thread whose own line waits for a lock. */
static bool is_in_lock(const struct stack_snapshot *l, const struct snapshot_thread *t)
{
        return why_is_asleep(t) && why_waits_directly(l, t) && why_wait_kind(l, t) == WAIT_LOCK &&
               value_or(t->wakes, 0) < LOCK_WAKES;
}

static bool is_deadlocked(const struct why_case *c, struct why_answer *ret)
{
        const struct stack_snapshot *l = c->w->snapshot;
        const struct snapshot_thread *first = NULL;
        if (!c->is_odd && !c->is_alone)
                return false;
        for (size_t i = 0; i < c->p->n_threads; i++) {
                const struct snapshot_thread *t = &l->threads[c->p->first_thread + i];
                struct code_line own, inner;
                if (!is_in_lock(l, t) || t->waits_at == 0)
                        continue;
                if (!first) {
                        first = t;
                        continue;
                }
                if (t->waits_at == first->waits_at ||
                    !why_line(l, (uint32_t)(t - l->threads), &own, &inner))
                        continue;
                ret->thread = (uint32_t)(first - l->threads);
                snprintf(ret->detail, sizeof(ret->detail), "the other thread is at %.80s:%u %.40s",
                         where_short_file(own.file, own.whose), own.line, own.function);
                return true;
        }
        return false;
}

/* Locks of files: several ranks that wait for different ones hold each other up. */
static bool is_deadlocked_by_files(const struct why_case *c, struct why_answer *ret)
{
        const struct why *w = c->w;
        if (!c->t || why_wait_kind(w->snapshot, c->t) != WAIT_FLOCK)
                return false;
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct why_rank *r = &w->ranks[i];
                const struct snapshot_thread *t =
                    r->thread == WHY_NONE ? NULL : &w->snapshot->threads[r->thread];
                if (t && t != c->t && why_wait_kind(w->snapshot, t) == WAIT_FLOCK &&
                    t->target != c->t->target) {
                        format_call(c, c->t, ret);
                        return true;
                }
        }
        return false;
}

static bool waits_for_lock(const struct why_case *c, struct why_answer *ret)
{
        if (!c->t || (!c->is_odd && !c->is_alone) || c->rank->in_collective)
                return false;
        bool by_file = why_is_asleep(c->t) && why_wait_kind(c->w->snapshot, c->t) == WAIT_FLOCK;
        if (by_file)
                format_call(c, c->t, ret);
        return by_file || is_in_lock(c->w->snapshot, c->t);
}

static bool has_busy_loop(const struct why_case *c, struct why_answer *ret)
{
        ret->sure = c->is_odd;
        return c->is_odd && c->rank->doing == WHY_SPINS && !c->rank->in_collective;
}

static bool is_out_of_order(const struct why_case *c, struct why_answer *ret)
{
        struct code_line own, inner;
        if (!c->is_odd || !c->rank->in_collective || c->rank->doing == WHY_MOVES)
                return false;
        for (size_t i = 0; i < c->w->n_ranks; i++) {
                const struct why_rank *r = &c->w->ranks[i];
                if (r->group != 0 || !r->in_collective)
                        continue;
                if (why_line(c->w->snapshot, r->thread, &own, &inner))
                        snprintf(ret->detail, sizeof(ret->detail),
                                 "the others are at %.80s:%u %.40s",
                                 where_short_file(own.file, own.whose), own.line, own.function);
                return true;
        }
        return false;
}

static bool waits_for_data(const struct why_case *c, struct why_answer *ret)
{
        if (!c->t || (!c->is_odd && !c->is_alone) || !why_is_asleep(c->t) ||
            why_wait_kind(c->w->snapshot, c->t) != WAIT_DATA)
                return false;
        format_call(c, c->t, ret);
        ret->sure = c->is_odd;
        return true;
}

static bool waits_for_child(const struct why_case *c, struct why_answer *ret)
{
        if (!c->t || !c->is_odd || why_wait_kind(c->w->snapshot, c->t) != WAIT_CHILD)
                return false;
        format_call(c, c->t, ret);
        return true;
}

static bool has_sleeping_rank(const struct why_case *c, struct why_answer *ret)
{
        if (!c->t || !c->is_odd || why_wait_kind(c->w->snapshot, c->t) != WAIT_TIME)
                return false;
        format_call(c, c->t, ret);
        return true;
}

static bool is_elsewhere(const struct why_case *c, struct why_answer *ret)
{
        if (c->t)
                format_call(c, c->t, ret);
        return c->is_odd;
}

/* Evaluated in this order; the first that holds is the process's cause. everywhere: also of what a
 * rank started, and of ranks that wait with the others. */
static const struct {
        why_rule *holds;
        enum why_cause cause;
        bool everywhere;
} rules[] = {
    {is_halted_by_debugger, WHY_DEBUGGER, true},
    {is_halted_by_signal, WHY_STOPPED, true},
    {is_swapped, WHY_SWAPPED, true},
    {waits_for_file, WHY_FILE, true},
    {is_blocked, WHY_BLOCKED, true},
    {is_deadlocked, WHY_DEADLOCK, false},
    {is_deadlocked_by_files, WHY_DEADLOCK, false},
    {waits_for_lock, WHY_LOCK, false},
    {has_busy_loop, WHY_LOOP, false},
    {is_out_of_order, WHY_ORDER, false},
    {waits_for_data, WHY_DATA, false},
    {waits_for_child, WHY_CHILD, false},
    {has_sleeping_rank, WHY_SLEEP, false},
    {is_elsewhere, WHY_ELSEWHERE, false},
};

static int apply_rules(struct why *w, const struct why_case *c)
{
        for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
                struct why_answer answer = {.sure = true, .thread = WHY_NONE};
                if ((!c->rank && !rules[i].everywhere) || !rules[i].holds(c, &answer))
                        continue;
                struct why_finding *f = add_finding(w, rules[i].cause, answer.sure);
                if (!f)
                        return -ENOMEM;
                uint32_t own = c->t ? (uint32_t)(c->t - w->snapshot->threads) : WHY_NONE;
                f->host = c->p->host;
                f->process = (uint32_t)(c->p - w->snapshot->processes);
                f->thread = answer.thread != WHY_NONE ? answer.thread : own;
                f->since_s = c->t ? c->t->idle_s : f->since_s;
                memcpy(f->detail, answer.detail, sizeof(f->detail));
                uint32_t rank = why_rank_of(w, f->process);
                if (rank != WHY_NONE)
                        f->rank = w->snapshot->processes[w->ranks[rank].process].rank;
                return 0;
        }
        return 0;
}

/* A process that makes progress, or waits for a person, blocks nobody permanently; one that swaps
 * does make progress. */
static bool may_be_cause(const struct why_rank *r, const struct snapshot_process *p)
{
        return (r->doing != WHY_MOVES && r->doing != WHY_IDLE) ||
               value_or(p->figures[SNAPSHOT_SWAP], 0) > 0;
}

static int explain_rank(struct why *w, const struct why_rank *r)
{
        const struct snapshot_process *p = &w->snapshot->processes[r->process];
        struct why_case c = {.w = w,
                             .p = p,
                             .t = r->thread == WHY_NONE ? NULL : &w->snapshot->threads[r->thread],
                             .rank = r,
                             .is_odd = w->in_common > 0 && r->group != 0,
                             .is_alone = w->n_ranks == 1};
        if (r->doing == WHY_MOVES) {
                struct why_answer answer;
                return may_be_cause(r, p) && is_swapped(&c, &answer) ? apply_rules(w, &c) : 0;
        }
        return may_be_cause(r, p) ? apply_rules(w, &c) : 0;
}

/* What a rank that does not move has started. */
static int explain_helper(struct why *w, uint32_t process)
{
        const struct snapshot_process *p = &w->snapshot->processes[process];
        uint32_t rank = why_rank_of(w, process);
        if (rank == WHY_NONE || w->ranks[rank].process == process ||
            !may_be_cause(&w->ranks[rank], p))
                return 0;
        struct why_case c = {.w = w, .p = p, .t = stack_snapshot_main(w->snapshot, p)};
        return apply_rules(w, &c);
}

/* ---- ranks that are absent ---- */

static bool has_rank(const struct why *w, double rank)
{
        for (size_t i = 0; i < w->n_ranks; i++) {
                struct value v = w->snapshot->processes[w->ranks[i].process].rank;
                if (value_is_set(v) && v.v == rank)
                        return true;
        }
        return false;
}

/*
 * Which numbers there should be: all of the job where most of it was seen, or those of this machine
 * where its launcher says how many they are. Else those between the least and the most.
 */
static void expected_ranks(const struct why *w, double *ret_from, double *ret_to)
{
        double least = INT32_MAX, most = -1;
        struct value world = value_missing(STATE_NONE), local = value_missing(STATE_NONE);
        size_t n = 0;
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct snapshot_process *p = &w->snapshot->processes[w->ranks[i].process];
                if (!value_is_set(p->rank))
                        continue;
                n++;
                least = MIN(least, p->rank.v);
                most = MAX(most, p->rank.v);
                world = p->world;
                local = p->local;
        }
        *ret_from = least;
        *ret_to = most;
        bool one_machine = w->snapshot->n_hosts == 1;
        if (value_is_set(world) && most < world.v &&
            (2 * (double)n > world.v || (one_machine && value_or(local, 0) >= world.v))) {
                *ret_from = 0;
                *ret_to = world.v - 1;
        }
}

static int find_missing(struct why *w)
{
        double from, to;
        size_t named = 0;
        expected_ranks(w, &from, &to);
        bool sure = w->in_common > 0;
        for (double rank = from; rank <= to && named < MISSING_MAX; rank++) {
                if (has_rank(w, rank))
                        continue;
                struct why_finding *f = add_finding(w, WHY_RANK_MISSING, sure);
                if (!f)
                        return -ENOMEM;
                f->rank = value_ok(rank);
                snprintf(f->detail, sizeof(f->detail), "%zu of %.0f ranks are there", w->n_ranks,
                         to - from + 1);
                named++;
        }
        return 0;
}

/* ---- nodes, GPUs, NCCL ---- */

static int find_gone_nodes(struct why *w)
{
        for (uint32_t i = 0; i < w->snapshot->n_hosts; i++) {
                const struct snapshot_host *h = &w->snapshot->hosts[i];
                if (h->why[0] == '\0')
                        continue;
                struct why_finding *f = add_finding(w, WHY_NODE_GONE, w->in_common > 0);
                if (!f)
                        return -ENOMEM;
                f->host = i;
                snprintf(f->detail, sizeof(f->detail), "%s", h->why);
        }
        return 0;
}

/* Of a rank that is not where most wait, and holds them up as far as is known. */
static bool holds_others_up(const struct why *w, const struct why_rank *r)
{
        return w->in_common > 0 && r->group != 0 && r->doing != WHY_MOVES && r->doing != WHY_IDLE;
}

/* Several ranks differ, all of one node, and another node has none that does. */
static int find_odd_node(struct why *w)
{
        uint32_t host = WHY_NONE;
        size_t odd = 0, there = 0;
        for (size_t i = 0; i < w->n_ranks; i++) {
                uint32_t is_on = w->snapshot->processes[w->ranks[i].process].host;
                if (!holds_others_up(w, &w->ranks[i]))
                        continue;
                if (host != WHY_NONE && is_on != host)
                        return 0;
                host = is_on;
                odd++;
        }
        for (size_t i = 0; i < w->n_ranks; i++)
                there += w->snapshot->processes[w->ranks[i].process].host == host;
        if (odd < 2 || there == w->n_ranks)
                return 0;
        struct why_finding *f = add_finding(w, WHY_NODE, false);
        if (!f)
                return -ENOMEM;
        f->host = host;
        snprintf(f->detail, sizeof(f->detail), "%zu of its %zu", odd, there);
        return 0;
}

static bool holds_gpu(const struct snapshot_process *p, uint32_t gpu)
{
        for (size_t i = 0; i < p->n_gpus; i++) {
                if (p->gpus[i] == gpu)
                        return true;
        }
        return false;
}

static int add_gpu_finding(struct why *w, uint32_t gpu, enum why_cause cause, const char *detail)
{
        const struct snapshot_gpu *g = &w->snapshot->gpus[gpu];
        struct why_finding *f = add_finding(w, cause, true);
        if (!f)
                return -ENOMEM;
        f->host = g->host;
        f->gpu = gpu;
        for (uint32_t i = 0; i < w->n_ranks && f->process == WHY_NONE; i++) {
                const struct snapshot_process *p = &w->snapshot->processes[w->ranks[i].process];
                if (!holds_gpu(p, gpu))
                        continue;
                f->process = w->ranks[i].process;
                f->thread = w->ranks[i].thread;
                f->rank = p->rank;
        }
        snprintf(f->detail, sizeof(f->detail), "GPU %.60s%s%.80s", g->label, detail[0] ? ": " : "",
                 detail);
        return 0;
}

static int find_failed_gpus(struct why *w)
{
        for (uint32_t i = 0; i < w->snapshot->n_gpus; i++) {
                const struct snapshot_gpu *g = &w->snapshot->gpus[i];
                int r = 0;
                if (value_is_set(g->xid))
                        r = add_gpu_finding(w, i, WHY_GPU_ERROR, g->problem);
                else if (value_or(g->lost, 0) > 0)
                        r = add_gpu_finding(w, i, WHY_GPU_LOST, "");
                if (r < 0)
                        return r;
        }
        return 0;
}

static const enum why_cause causes_by_nccl[RAS_TROUBLE_COUNT] = {
    [RAS_MISSING] = WHY_RANK_DEAD,
    [RAS_DEAD] = WHY_RANK_DEAD,
    [RAS_BEHIND] = WHY_ORDER,
    [RAS_ERROR] = WHY_ASYNC_ERROR,
};

static void format_ras(const struct ras_rank *r, char *buf, size_t size)
{
        if (r->trouble == RAS_BEHIND && value_is_set(r->count) && value_is_set(r->most))
                snprintf(buf, size, "NCCL: it began %.0f of %.0f collectives", r->count.v,
                         r->most.v);
        else
                snprintf(buf, size, "NCCL: %s%s%.100s", ras_trouble_name(r->trouble),
                         r->text[0] ? ", " : "", r->text);
}

/* NCCL numbers the ranks of each of its communicators: the process says which rank of the job that
 * is, where it is one that was seen. */
static uint32_t find_by_nccl_name(const struct why *w, const struct ras_rank *r)
{
        for (uint32_t i = 0; r->pid > 0 && i < w->n_ranks; i++) {
                if (w->snapshot->processes[w->ranks[i].process].is.pid == r->pid)
                        return i;
        }
        for (uint32_t i = 0; i < w->n_ranks; i++) {
                struct value rank = w->snapshot->processes[w->ranks[i].process].rank;
                if (r->pid == 0 && value_is_set(rank) && value_is_set(r->rank) &&
                    rank.v == r->rank.v)
                        return i;
        }
        return WHY_NONE;
}

/* Where the same rank has a cause by what was seen of it, NCCL's word is next to it. */
static int add_word_of_nccl(struct why *w, const struct ras_rank *r)
{
        char words[WHY_DETAIL_MAX];
        uint32_t at = find_by_nccl_name(w, r);
        const struct why_rank *is = at == WHY_NONE ? NULL : &w->ranks[at];
        struct value rank = is ? w->snapshot->processes[is->process].rank : r->rank;
        format_ras(r, words, sizeof(words));
        for (size_t i = 0; i < w->n_findings; i++) {
                struct why_finding *f = &w->findings[i];
                size_t n = strlen(f->detail);
                bool same = (is && f->process == is->process) ||
                            (value_is_set(rank) && value_is_set(f->rank) && f->rank.v == rank.v);
                if (!same)
                        continue;
                f->sure |= why_cause_info(f->cause)->sure;
                snprintf(f->detail + n, sizeof(f->detail) - n, "%s%s", n > 0 ? "; " : "", words);
                return 0;
        }
        struct why_finding *f = add_finding(w, causes_by_nccl[r->trouble], true);
        if (!f)
                return -ENOMEM;
        f->rank = rank;
        memcpy(f->detail, words, sizeof(f->detail));
        if (is) {
                f->process = is->process;
                f->thread = is->thread;
                f->since_s = is->since_s;
                f->host = w->snapshot->processes[is->process].host;
        }
        return 0;
}

static int find_by_nccl(struct why *w)
{
        for (size_t i = 0; w->ras && i < w->ras->n; i++) {
                int r = w->ras->ranks[i].trouble == RAS_FINE
                            ? 0
                            : add_word_of_nccl(w, &w->ras->ranks[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* All wait in one place, and nothing says for whom. */
static int find_all_waiting(struct why *w)
{
        if (w->n_findings > 0 || w->in_common < 2 || w->in_common < w->n_ranks)
                return 0;
        struct why_finding *f = add_finding(w, WHY_TOGETHER, false);
        if (!f)
                return -ENOMEM;
        f->process = w->ranks[0].process;
        f->thread = w->ranks[0].thread;
        f->host = w->snapshot->processes[f->process].host;
        f->since_s = w->stalled_s;
        return 0;
}

int why_find_causes(struct why *w)
{
        int r = find_gone_nodes(w);
        if (r == 0)
                r = find_odd_node(w);
        if (r == 0)
                r = find_failed_gpus(w);
        if (r == 0)
                r = find_missing(w);
        for (size_t i = 0; r == 0 && i < w->n_ranks; i++)
                r = explain_rank(w, &w->ranks[i]);
        for (uint32_t i = 0; r == 0 && i < w->snapshot->n_processes; i++)
                r = explain_helper(w, i);
        if (r == 0)
                r = find_by_nccl(w);
        return r == 0 ? find_all_waiting(w) : r;
}
