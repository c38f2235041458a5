/* Which processes are the ranks, what each does, and which are in the same place. */
#include "base/attr.h"
#include "base/list.h"
#include "compute/why/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPINS_READY 0.8

static uint32_t find_parent(const struct stack_snapshot *l, uint32_t process)
{
        const struct snapshot_process *p = &l->processes[process];
        for (uint32_t i = 0; p->is.ppid > 0 && i < l->n_processes; i++) {
                if (l->processes[i].host == p->host && l->processes[i].is.pid == p->is.ppid)
                        return i;
        }
        return WHY_NONE;
}

static uint32_t find_rank(const struct why *w, uint32_t process)
{
        for (uint32_t i = 0; i < w->n_ranks; i++) {
                if (w->ranks[i].process == process)
                        return i;
        }
        return WHY_NONE;
}

uint32_t why_rank_of(const struct why *w, uint32_t process)
{
        /* A chain that leads back to itself has no more links than there are processes. */
        for (size_t links = 0; process != WHY_NONE && links <= w->snapshot->n_processes; links++) {
                uint32_t rank = find_rank(w, process);
                if (rank != WHY_NONE)
                        return rank;
                process = find_parent(w->snapshot, process);
        }
        return WHY_NONE;
}

/* ---- one rank ---- */

/* A first thread that only waits for threads of its process: the one that works for it. */
static uint32_t find_worker(const struct stack_snapshot *l, const struct snapshot_process *p,
                            const struct snapshot_thread *main)
{
        for (size_t i = 0; i < p->n_threads; i++) {
                const struct snapshot_thread *t = &l->threads[p->first_thread + i];
                if (t == main || !why_has_own_code(l, t))
                        continue;
                if (!why_is_asleep(t) || why_wait_kind(l, t) != WAIT_LOCK ||
                    why_waits_directly(l, t))
                        return (uint32_t)(p->first_thread + i);
        }
        return WHY_NONE;
}

static uint32_t choose_thread(const struct stack_snapshot *l, const struct snapshot_process *p)
{
        const struct snapshot_thread *main = stack_snapshot_main(l, p);
        if (!main)
                return WHY_NONE;
        bool hands_over = why_is_asleep(main) && why_wait_kind(l, main) == WAIT_LOCK &&
                          !why_waits_directly(l, main) && !why_in_collective(l, main->stack);
        uint32_t worker = hands_over ? find_worker(l, p, main) : WHY_NONE;
        return worker != WHY_NONE ? worker : (uint32_t)(main - l->threads);
}

static bool is_idle(const struct why *w, const struct snapshot_thread *t)
{
        enum wait_kind kind = why_wait_kind(w->snapshot, t);
        bool is_python = t->stack != STACK_EMPTY;
        return why_is_asleep(t) &&
               (kind == WAIT_PEOPLE ||
                (kind == WAIT_DATA && is_python && !why_has_own_code(w->snapshot, t) &&
                 !why_in_collective(w->snapshot, t->stack)));
}

static enum why_doing find_doing(const struct why *w, const struct why_rank *r)
{
        const struct snapshot_process *p = &w->snapshot->processes[r->process];
        if (p->halt == SNAPSHOT_STOPPED || p->halt == SNAPSHOT_TRACED)
                return WHY_HALTED;
        if (r->thread == WHY_NONE)
                return WHY_UNKNOWN;
        const struct snapshot_thread *t = &w->snapshot->threads[r->thread];
        if (why_in_debugger(w->snapshot, t->stack))
                return WHY_HALTED;
        if (is_idle(w, t))
                return WHY_IDLE;
        if (why_shows_progress(w, r->process))
                return WHY_MOVES;
        if (why_is_asleep(t))
                return WHY_WAITS;
        bool spins = value_or(t->ready, 0) >= SPINS_READY && t->places < SNAPSHOT_SEEN_MAX;
        return t->n_samples == 0 ? WHY_UNKNOWN : spins ? WHY_SPINS : WHY_MOVES;
}

static int add_rank(struct why *w, uint32_t process)
{
        if (!LIST_ROOM(w->ranks, w->n_ranks, w->cap_ranks))
                return -ENOMEM;
        w->ranks[w->n_ranks++] = (struct why_rank){.process = process,
                                                   .thread = WHY_NONE,
                                                   .group = WHY_NONE,
                                                   .since_s = value_missing(STATE_NONE)};
        return 0;
}

/* A shell or a launcher stands for the programs below it. */
static bool is_representative(const struct stack_snapshot *l, uint32_t process)
{
        const struct snapshot_process *p = &l->processes[process];
        if (p->is.access == STACK_READABLE || p->n_gpus > 0)
                return false;
        for (uint32_t i = 0; i < l->n_processes; i++) {
                if (l->processes[i].is.access == STACK_READABLE && find_parent(l, i) == process)
                        return true;
        }
        return false;
}

static bool is_first_program(const struct stack_snapshot *l, uint32_t process)
{
        const struct snapshot_process *p = &l->processes[process];
        uint32_t parent = find_parent(l, process);
        if (p->leads)
                return !is_representative(l, process);
        return parent != WHY_NONE && l->processes[parent].leads && is_representative(l, parent) &&
               p->is.access == STACK_READABLE;
}

/* Those that a launcher numbered; where there are none, those that lead. */
static int list_ranks(struct why *w)
{
        const struct stack_snapshot *l = w->snapshot;
        bool numbered = false;
        int r = 0;
        for (size_t i = 0; i < l->n_processes; i++)
                numbered |= value_is_set(l->processes[i].rank);
        for (uint32_t i = 0; r == 0 && i < l->n_processes; i++) {
                const struct snapshot_process *p = &l->processes[i];
                if (numbered ? value_is_set(p->rank) : is_first_program(l, i))
                        r = add_rank(w, i);
        }
        return r;
}

static void sort_ranks(struct why *w)
{
        for (size_t i = 1; i < w->n_ranks; i++) {
                struct why_rank r = w->ranks[i];
                double rank = value_or(w->snapshot->processes[r.process].rank, INT32_MAX);
                size_t at = i;
                for (; at > 0; at--) {
                        const struct why_rank *before = &w->ranks[at - 1];
                        if (value_or(w->snapshot->processes[before->process].rank, INT32_MAX) <=
                            rank)
                                break;
                        w->ranks[at] = *before;
                }
                w->ranks[at] = r;
        }
}

/* ---- groups ---- */

/* Whether it alternates between several lines. */
static bool alternates_between_lines(const struct stack_snapshot *l, const struct why_rank *r)
{
        return l->threads[r->thread].places > 1;
}

static bool is_same_code(const struct code_line *a, const struct code_line *b)
{
        return strcmp(a->file, b->file) == 0 && strcmp(a->function, b->function) == 0;
}

static bool is_same_place(const struct stack_snapshot *l, const struct why_rank *a,
                          const struct why_rank *b)
{
        struct code_line own[2], inner[2];
        if (a->doing != b->doing || a->thread == WHY_NONE || b->thread == WHY_NONE)
                return a->doing == b->doing && a->thread == b->thread;
        bool known = why_line(l, a->thread, &own[0], &inner[0]);
        if (known != why_line(l, b->thread, &own[1], &inner[1]))
                return false;
        if (!known)
                return l->threads[a->thread].call == l->threads[b->thread].call;
        if (a->doing == WHY_SPINS && alternates_between_lines(l, a) &&
            alternates_between_lines(l, b))
                return is_same_code(&own[0], &own[1]);
        return own[0].line == own[1].line && inner[0].line == inner[1].line &&
               is_same_code(&own[0], &own[1]) && strcmp(inner[0].file, inner[1].file) == 0;
}

/* Ranks in a collective that stops are a moment apart in it: some sleep, some spin, and each may be
 * in another line of the library. The user's own line is what counts. */
static bool waits_together(const struct stack_snapshot *l, const struct why_rank *a,
                           const struct why_rank *b)
{
        struct code_line own[2], inner[2];
        return a->in_collective && b->in_collective && a->doing != WHY_MOVES &&
               b->doing != WHY_MOVES && a->doing != WHY_HALTED && b->doing != WHY_HALTED &&
               why_line(l, a->thread, &own[0], &inner[0]) &&
               why_line(l, b->thread, &own[1], &inner[1]) && own[0].line == own[1].line &&
               is_same_code(&own[0], &own[1]);
}

static void group_ranks(struct why *w)
{
        for (uint32_t i = 0; i < w->n_ranks; i++) {
                struct why_rank *r = &w->ranks[i];
                for (uint32_t k = 0; k < i && r->group == WHY_NONE; k++) {
                        if (waits_together(w->snapshot, r, &w->ranks[k]) ||
                            is_same_place(w->snapshot, r, &w->ranks[k]))
                                r->group = w->ranks[k].group;
                }
                if (r->group == WHY_NONE)
                        r->group = (uint32_t)w->n_groups++;
        }
}

/* How much a group counts as the place where the ranks wait: its size; of equal ones a collective.
 */
static size_t weigh_group(const struct why *w, uint32_t group)
{
        size_t n = 0, in_collective = 0;
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct why_rank *r = &w->ranks[i];
                if (r->group != group)
                        continue;
                /* Ranks that run in one line all the time wait only where that is a collective. */
                if (r->doing != WHY_WAITS && (r->doing != WHY_SPINS || !r->in_collective))
                        return 0;
                n++;
                in_collective += r->in_collective;
        }
        return 2 * n + (in_collective == n);
}

/* Makes the group in which most ranks wait the first one. */
static void find_common(struct why *w)
{
        uint32_t best = 0;
        size_t most = 0;
        for (uint32_t g = 0; g < w->n_groups; g++) {
                size_t weight = weigh_group(w, g);
                if (weight > most) {
                        most = weight;
                        best = g;
                }
        }
        for (size_t i = 0; i < w->n_ranks; i++) {
                uint32_t *group = &w->ranks[i].group;
                *group = *group == best ? 0 : *group == 0 ? best : *group;
        }
        /* One process alone is not a place where ranks wait for each other. */
        w->in_common = w->n_ranks > 1 ? most / 2 : 0;
}

int why_see_ranks(struct why *w)
{
        int r = list_ranks(w);
        if (r < 0)
                return r;
        sort_ranks(w);
        for (size_t i = 0; i < w->n_ranks; i++) {
                struct why_rank *rank = &w->ranks[i];
                rank->thread = choose_thread(w->snapshot, &w->snapshot->processes[rank->process]);
                if (rank->thread != WHY_NONE) {
                        const struct snapshot_thread *t = &w->snapshot->threads[rank->thread];
                        rank->in_collective = why_in_collective(w->snapshot, t->stack);
                        rank->since_s = t->idle_s;
                }
                rank->doing = (uint8_t)find_doing(w, rank);
        }
        group_ranks(w);
        find_common(w);
        return 0;
}
