/*
 * What the processes of a level used, so that nothing is counted twice and nothing is forgotten.
 *
 * The kernel gives a process's own CPU time, and apart from it the time of the children it has
 * waited for (their own, and what they had waited for in turn). A level's total grows, each tick,
 * by
 *
 *   own growth of each member, and
 *   growth of the waited-for time of each member, less what was last seen of those children that
 *   vanished in this tick, for that was counted while they lived.
 *
 * So a child that comes and goes between two ticks is counted through its parent, the last moments
 * of one that was seen likewise, and one that nobody waits for (its parent ignores SIGCHLD, or init
 * took it over) keeps what was seen of it: at most its last tick is lost. The growth is never
 * negative, so totals never fall. /proc/PID/io has no second set of counters: what children that
 * were waited for did is added to the parent's own, and the same difference is taken; whether the
 * parent waited shows in the CPU times.
 *
 * A child may end while a tick is under way: after its parent was read, so that the parent's
 * counters show it a tick late, or between its own turn and its parent's, so that they show it a
 * tick early. The first is carried over to the next tick; the second is noticed there, and what was
 * counted twice is taken from what comes.
 *
 * A process that was present long before it joins a level (by setuid, or by moving to its cgroup)
 * brings nothing along: it counts from then on.
 *
 * Around a GPU the same growths are divided otherwise: the holders' own is the main processes', the
 * rest, and all that is waited for, is their children's.
 */
#include "read/host/scanner_table.h"

#include "base/attr.h"
#include "base/clock.h"

/* cutime and cstime are rounded down one by one; own times likewise. */
#define ROUNDING 2

/* Start times are rounded down to a clock tick, and ours is read a moment later. */
#define START_SLACK 2

void account_begin(struct scanner *s)
{
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct scan_sum *sum = &s->sums[l];
                sum->rss = sum->processes = sum->threads = 0;
                sum->io_read = sum->io_unread = 0;
                sum->memory = sum->unshared = 0;
                sum->pss = sum->uss = sum->pss_missing = 0;
                sum->pss_oldest_ns = 0;
        }
        for (size_t i = 0; i < SCAN_GROUPS; i++) {
                struct scan_group *g = &s->groups[i];
                g->holders = g->children = g->workers = g->blocked = g->io_denied = 0;
        }
}

/* Who will have waited for a vanished process: the nearest ancestor that still lives. */
static struct scan_process *waiting_ancestor(struct scanner *s, const struct scan_process *p)
{
        uint64_t start = p->start;
        int32_t ppid = p->ppid;
        for (unsigned depth = 0; depth < 64 && ppid > 0; depth++) {
                struct scan_process *q = table_find(s, ppid);
                if (!q || q->start > start)
                        return NULL;
                if (q->seen == s->tick)
                        return q;
                start = q->start;
                ppid = q->ppid;
        }
        return NULL;
}

void account_vanished(struct scanner *s, const struct scan_process *p)
{
        struct scan_process *q = waiting_ancestor(s, p);
        if (!q)
                return;
        q->gone_cpu += p->own + p->waited;
        for (size_t i = 0; i < PROC_IO_COUNT && p->io_state == STATE_OK; i++)
                q->gone_io.v[i] += p->io.v[i];
}

/* Whether the children that vanished were waited for, as far as one can report. */
static bool waited_for_them(const struct scan_process *p)
{
        return counter_growth(p->waited, p->waited_before) + ROUNDING >= p->gone_cpu;
}

static bool started_since_last_tick(const struct scanner *s, const struct scan_process *p)
{
        return s->tick == 1 || p->start + START_SLACK >= s->last_boot_ticks;
}

/* Growth of the waited-for time that no vanished child explains. *ret_twice: what the tick before
 * counted of children that vanished only now. */
static uint64_t waited_growth(struct scan_process *p, uint64_t *ret_twice)
{
        uint64_t grown = counter_growth(p->waited, p->waited_before);
        uint64_t gone = p->gone_cpu + p->gone_carry;
        uint64_t left = counter_growth(gone, grown);
        *ret_twice = MIN(left, p->surplus);
        left -= *ret_twice;
        p->gone_carry = MIN(left, p->gone_cpu);
        p->surplus = counter_growth(grown, gone);
        return p->surplus;
}

/* CPU time since the tick before, and what it says too much. */
struct cpu_growth {
        uint64_t own, waited, twice;
};

static struct cpu_growth cpu_growth(const struct scanner *s, struct scan_process *p)
{
        struct cpu_growth g = {0};
        if (p->fresh)
                return started_since_last_tick(s, p)
                           ? (struct cpu_growth){.own = p->own, .waited = p->waited}
                           : g;
        g.own = counter_growth(p->own, p->own_before);
        g.waited = waited_growth(p, &g.twice);
        return g;
}

static void add_cpu(uint64_t *cpu, uint64_t *debt, uint64_t grown, uint64_t twice)
{
        *debt += twice;
        uint64_t paid = MIN(grown, *debt);
        *debt -= paid;
        *cpu += grown - paid;
}

static uint64_t io_growth(const struct scanner *s, const struct scan_process *p, size_t i)
{
        if (p->io_state != STATE_OK)
                return 0;
        if (p->fresh)
                return started_since_last_tick(s, p) ? p->io.v[i] : 0;
        if (!p->io_known_before)
                return 0;
        uint64_t grown = counter_growth(p->io.v[i], p->io_before.v[i]);
        return waited_for_them(p) ? counter_growth(grown, p->gone_io.v[i]) : grown;
}

/* What a process grew by since it was measured is nearly all its own; what it gave back shows when
 * it is measured again. */
static uint64_t memory_of(const struct scanner *s, const struct scan_process *p)
{
        uint64_t page = (uint64_t)s->page_size;
        uint64_t grown = counter_growth(p->rss_pages, p->pss_rss_pages) * page;
        return MIN(p->smaps.pss + grown, p->rss_pages * page);
}

static void add_memory(const struct scanner *s, struct scan_sum *sum, const struct scan_process *p)
{
        uint64_t rss = p->rss_pages * (uint64_t)s->page_size;
        bool measured = p->pss_at_ns != 0;
        sum->rss += rss;
        sum->memory += measured ? memory_of(s, p) : rss;
        sum->unshared += measured ? 0 : rss;
}

static void add_pss(struct scan_sum *sum, const struct scan_process *p)
{
        if (p->rss_pages == 0)
                return;
        if (p->pss_at_ns == 0) {
                sum->pss_missing++;
                return;
        }
        sum->pss += p->smaps.pss;
        sum->uss += p->smaps.uss;
        if (sum->pss_oldest_ns == 0 || p->pss_at_ns < sum->pss_oldest_ns)
                sum->pss_oldest_ns = p->pss_at_ns;
}

static void add_presence(const struct scanner *s, struct scan_sum *sum,
                         const struct scan_process *p)
{
        if (p->state == 'Z' || p->state == 'X')
                return;
        sum->processes++;
        sum->threads += p->threads;
        add_memory(s, sum, p);
        if (p->io_state == STATE_OK)
                sum->io_read++;
        else
                sum->io_unread++;
        add_pss(sum, p);
}

static void account_group(const struct scanner *s, struct scan_group *to,
                          const struct scan_process *p, bool holds, struct cpu_growth cpu)
{
        to->cpu_main += holds ? cpu.own : 0;
        add_cpu(&to->cpu_children, &to->cpu_debt, cpu.waited + (holds ? 0 : cpu.own), cpu.twice);
        for (size_t i = 0; i < PROC_IO_COUNT; i++)
                to->io[i] += io_growth(s, p, i);
}

/* At high rates a clock tick is a large part of what one interval has: a second is measured. One
 * that others keep off the CPUs works, too. */
static void measure_pace(const struct scanner *s, struct scan_process *p)
{
        int64_t since = p->read_ns - p->paced_ns;
        p->looks++;
        p->ready += p->state == 'R';
        if (p->paced_ns && since < NS_PER_S)
                return;
        if (p->paced_ns) {
                double used = (double)counter_growth(p->own, p->paced_from);
                double least =
                    SCAN_WORKS * (double)scanner_clock_ticks(s) * clock_to_seconds(since);
                p->works = used >= least || 2 * p->ready > p->looks;
        }
        p->paced_ns = p->read_ns;
        p->paced_from = p->own;
        p->looks = p->ready = 0;
}

static void account_groups(struct scanner *s, const struct scan_process *p, struct cpu_growth cpu)
{
        bool present = p->state != 'Z' && p->state != 'X';
        for (uint64_t left = p->holds | p->serves; left; left &= left - 1) {
                uint64_t bit = left & -left;
                struct scan_group *g = &s->groups[__builtin_ctzll(left)];
                bool holds = p->holds & bit;
                g->holders += present && holds;
                g->children += present && !holds;
                g->workers += present && !holds && p->works;
                g->blocked += p->state == 'D';
                g->io_denied += holds && p->io_state != STATE_OK;
                if (p->fresh || (p->groups_before & bit))
                        account_group(s, g, p, holds, cpu);
        }
}

void account_process(struct scanner *s, struct scan_process *p)
{
        unsigned joined = p->levels & ~p->levels_before;
        struct cpu_growth cpu = cpu_growth(s, p);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct scan_sum *sum = &s->sums[l];
                if (!(p->levels & LEVEL_BIT(l)))
                        continue;
                add_presence(s, sum, p);
                if (joined & LEVEL_BIT(l))
                        sum->ever++;
                if ((joined & LEVEL_BIT(l)) && !p->fresh)
                        continue;
                add_cpu(&sum->cpu, &sum->cpu_debt, cpu.own + cpu.waited, cpu.twice);
                for (size_t i = 0; i < PROC_IO_COUNT; i++)
                        sum->io[i] += io_growth(s, p, i);
        }
        measure_pace(s, p);
        account_groups(s, p, cpu);
}
