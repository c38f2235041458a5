#include "engine/stack_play.h"

#include "base/clock.h"
#include "base/list.h"
#include "session/session.h"

#include <string.h>

#define COUNTS_MAX 2000000 /* 64 MiB; what comes after them is not known */
#define NEWEST_WINDOWS 3

/* A second: its counts follow those of the second before. */
struct second {
        int64_t mono_ns;
        size_t begin, end;
};

struct stack_play {
        struct session_reader *reader;
        const struct stack_log *log;
        bool all_read;
        struct second *seconds;
        struct stack_count *counts;
        struct stack_sample *newest; /* by thread */
        size_t n, cap, n_counts, cap_counts;
        size_t shown; /* the second that live is of, from 1 */
        struct stack_live live;
};

struct stack_play *stack_play_open(const char *path)
{
        struct stack_play *p = session_is_one(path) ? calloc(1, sizeof(*p)) : NULL;
        if (!p)
                return NULL;
        bool fine = session_open(path, &p->reader, NULL) == 0 &&
                    session_stacks(p->reader, &p->log, NULL) == 0 && p->log;
        if (fine)
                p->newest = calloc(p->log->n_threads + 1, sizeof(*p->newest));
        if (!fine || !p->newest) {
                stack_play_close(p);
                return NULL;
        }
        return p;
}

void stack_play_close(struct stack_play *p)
{
        if (!p)
                return;
        session_reader_close(p->reader);
        free(p->seconds);
        free(p->counts);
        free(p->newest);
        free(p);
}

/* False when memory is short. */
static bool keep_second(struct stack_play *p, const struct stack_window *w)
{
        size_t wanted = p->n_counts + w->n;
        if (wanted > p->cap_counts)
                wanted = MAX(wanted, 2 * p->cap_counts);
        if (!LIST_ROOM(p->seconds, p->n, p->cap) || !LIST_RESERVE(p->counts, wanted, p->cap_counts))
                return false;
        memcpy(p->counts + p->n_counts, w->counts, w->n * sizeof(*w->counts));
        p->seconds[p->n++] = (struct second){w->mono_ns, p->n_counts, p->n_counts + w->n};
        p->n_counts += w->n;
        return true;
}

static void read_until(struct stack_play *p, int64_t mono_ns)
{
        struct stack_window w;
        while (!p->all_read && (p->n == 0 || p->seconds[p->n - 1].mono_ns <= mono_ns)) {
                /* A damaged file may go back in time. */
                if (session_next_stacks(p->reader, &w, NULL) <= 0 ||
                    (p->n > 0 && w.mono_ns <= p->seconds[p->n - 1].mono_ns) ||
                    p->n_counts + w.n > COUNTS_MAX || !keep_second(p, &w))
                        p->all_read = true;
        }
}

/* How many seconds begin until then: the last of them is the one of that time. */
static size_t count_until(const struct stack_play *p, int64_t mono_ns)
{
        size_t lo = 0, hi = p->n;
        while (lo < hi) {
                size_t middle = lo + (hi - lo) / 2;
                if (p->seconds[middle].mono_ns <= mono_ns)
                        lo = middle + 1;
                else
                        hi = middle;
        }
        return lo;
}

/* What a thread did for most of its newest second. */
static void note_newest(struct stack_play *p, const struct second *s)
{
        for (size_t i = s->begin; i < s->end; i++) {
                const struct stack_count *c = &p->counts[i];
                const struct stack_thread *thread = &p->log->threads[c->thread];
                const struct stack_process *process = &p->log->processes[thread->process];
                struct stack_sample *newest = &p->newest[c->thread];
                int64_t ns = clock_from_seconds(c->seconds);
                if (newest->mono_ns == s->mono_ns && newest->stands_for_ns >= ns)
                        continue;
                *newest = (struct stack_sample){.mono_ns = s->mono_ns,
                                                .stands_for_ns = ns,
                                                .start_ticks = process->start_ticks,
                                                .pid = process->pid,
                                                .tid = thread->tid,
                                                .thread = thread->name,
                                                .stack = c->stack,
                                                .call = c->call,
                                                .state = c->state,
                                                .holds_gil = c->holds_gil,
                                                .is_main = thread->is_main};
        }
}

static void put_together(struct stack_play *p, size_t shown)
{
        const struct second *last = &p->seconds[shown - 1];
        size_t first = count_until(p, last->mono_ns - STACK_LIVE_NS);
        memset(p->newest, 0, p->log->n_threads * sizeof(*p->newest));
        for (size_t i = shown > NEWEST_WINDOWS ? shown - NEWEST_WINDOWS : 0; i < shown; i++)
                note_newest(p, &p->seconds[i]);
        const struct second *begin = &p->seconds[first];
        p->live = (struct stack_live){
            .log = *p->log,
            .window = {begin->mono_ns, last->end - begin->begin, p->counts + begin->begin},
            .newest = p->newest,
            .mono_ns = last->mono_ns + STACK_WINDOW_NS,
            .span_ns = last->mono_ns + STACK_WINDOW_NS - begin->mono_ns,
        };
        p->shown = shown;
}

const struct stack_live *stack_play_at(struct stack_play *p, int64_t mono_ns)
{
        read_until(p, mono_ns);
        size_t shown = count_until(p, mono_ns);
        if (shown == 0 ||
            mono_ns - p->seconds[shown - 1].mono_ns > NEWEST_WINDOWS * STACK_WINDOW_NS)
                return NULL;
        if (shown != p->shown)
                put_together(p, shown);
        /* The counts may have moved as more were read. */
        p->live.window.counts =
            p->counts +
            p->seconds[count_until(p, p->seconds[shown - 1].mono_ns - STACK_LIVE_NS)].begin;
        return &p->live;
}
