#include "model/stack_live.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

/* A thread that was not met for so long has ended, or the sampler has. */
#define OLD_NS (3 * STACK_WINDOW_NS)

const struct stack_process *stack_live_process(const struct stack_live *live, int32_t pid)
{
        for (size_t i = 0; live && i < live->log.n_processes; i++) {
                if (live->log.processes[i].pid == pid)
                        return &live->log.processes[i];
        }
        return NULL;
}

static int rank_of(const struct stack_sample *s)
{
        bool has_lines = s->stack != STACK_EMPTY;
        return (s->holds_gil ? 8 : 0) + (has_lines && s->state == STACK_RUNNING ? 4 : 0) +
               (s->is_main ? 2 : 0) + has_lines;
}

static bool is_of(const struct stack_live *live, size_t thread, int32_t pid)
{
        const struct stack_sample *s = &live->newest[thread];
        return s->pid == pid && live->mono_ns - s->mono_ns < OLD_NS;
}

const struct stack_sample *stack_live_thread(const struct stack_live *live, int32_t pid)
{
        const struct stack_sample *best = NULL;
        for (size_t i = 0; live && i < live->log.n_threads; i++) {
                const struct stack_sample *s = &live->newest[i];
                if (is_of(live, i, pid) && (!best || rank_of(s) > rank_of(best)))
                        best = s;
        }
        return best;
}

static int compare_threads(const void *a, const void *b)
{
        const struct stack_sample *x = *(const struct stack_sample *const *)a;
        const struct stack_sample *y = *(const struct stack_sample *const *)b;
        int rank = rank_of(y) - rank_of(x);
        return rank ? rank : (x->tid > y->tid) - (x->tid < y->tid);
}

size_t stack_live_threads(const struct stack_live *live, int32_t pid,
                          const struct stack_sample **ret, size_t max)
{
        size_t n = 0;
        for (size_t i = 0; live && i < live->log.n_threads && n < max; i++) {
                if (is_of(live, i, pid))
                        ret[n++] = &live->newest[i];
        }
        if (n > 1)
                qsort(ret, n, sizeof(*ret), compare_threads);
        return n;
}
