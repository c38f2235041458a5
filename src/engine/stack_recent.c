#include "engine/stack_recent.h"

#include "base/attr.h"
#include "base/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define SAMPLES_MAX 16384 /* where that is too few the window is shorter */
#define THREADS_MAX 2048
#define COUNTS_MAX 8192

/* One picture; three of them go round. */
struct built {
        struct stack_live live;
        struct stack_process processes[STACK_PROCESSES_MAX];
        struct stack_thread threads[THREADS_MAX];
        struct stack_sample newest[THREADS_MAX];
        struct stack_count counts[COUNTS_MAX];
};

struct stack_recent {
        struct stack_sample *ring;         /* SAMPLES_MAX */
        uint64_t next;                     /* samples ever added */
        struct lookup by_thread, by_count; /* of the picture that is being made */
        struct built *back;
        pthread_mutex_t lock;
        struct built *ready, *front; /* under the lock */
        bool fresh, any;             /* likewise */
};

int stack_recent_open(struct stack_recent **ret)
{
        struct stack_recent *r = calloc(1, sizeof(*r));
        if (!r)
                return -ENOMEM;
        pthread_mutex_init(&r->lock, NULL);
        r->ring = calloc(SAMPLES_MAX, sizeof(*r->ring));
        r->back = calloc(1, sizeof(*r->back));
        r->ready = calloc(1, sizeof(*r->ready));
        r->front = calloc(1, sizeof(*r->front));
        if (!r->ring || !r->back || !r->ready || !r->front) {
                stack_recent_close(r);
                return -ENOMEM;
        }
        *ret = r;
        return 0;
}

void stack_recent_close(struct stack_recent *r)
{
        if (!r)
                return;
        lookup_finish(&r->by_thread);
        lookup_finish(&r->by_count);
        free(r->ring);
        free(r->back);
        free(r->ready);
        free(r->front);
        pthread_mutex_destroy(&r->lock);
        free(r);
}

void stack_recent_add(struct stack_recent *r, const struct stack_sample *samples, size_t n)
{
        for (size_t i = 0; i < n; i++)
                r->ring[r->next++ % SAMPLES_MAX] = samples[i];
}

static size_t place_of_process(const struct stack_live *live, const struct stack_sample *s)
{
        size_t i = 0;
        while (i < live->log.n_processes && (live->log.processes[i].pid != s->pid ||
                                             live->log.processes[i].start_ticks != s->start_ticks))
                i++;
        return i;
}

/* Its place among the threads; THREADS_MAX when there is none left, or nothing is known of its
 * process. */
static size_t thread_for(struct stack_recent *r, struct built *b, const struct stack_sample *s)
{
        uint64_t key[3] = {(uint64_t)s->pid, (uint64_t)s->tid, s->start_ticks};
        uint32_t hash = hash_text((const char *)key, sizeof(key)), at;
        size_t step = 0;
        while ((at = lookup_next(&r->by_thread, hash, &step)) != LOOKUP_END) {
                const struct stack_sample *n = &b->newest[at];
                if (n->pid == s->pid && n->tid == s->tid && n->start_ticks == s->start_ticks)
                        return at;
        }
        size_t process = place_of_process(&b->live, s), n = b->live.log.n_threads;
        if (n == THREADS_MAX || process == b->live.log.n_processes ||
            !lookup_put(&r->by_thread, hash, (uint32_t)n))
                return THREADS_MAX;
        b->threads[n] = (struct stack_thread){
            .process = (uint32_t)process, .tid = s->tid, .name = s->thread, .is_main = s->is_main};
        b->live.log.n_threads++;
        return n;
}

static void count_sample(struct stack_recent *r, struct built *b, size_t thread,
                         const struct stack_sample *s)
{
        uint32_t key[5] = {(uint32_t)thread, s->stack, s->call, s->state, s->holds_gil};
        uint32_t hash = hash_text((const char *)key, sizeof(key)), at;
        double seconds = (double)s->stands_for_ns / 1e9;
        size_t step = 0, n = b->live.window.n;
        while ((at = lookup_next(&r->by_count, hash, &step)) != LOOKUP_END) {
                struct stack_count *c = &b->counts[at];
                if (c->thread != thread || c->stack != s->stack || c->call != s->call ||
                    c->state != s->state || c->holds_gil != s->holds_gil)
                        continue;
                c->n_samples++;
                c->seconds += seconds;
                return;
        }
        if (n == COUNTS_MAX || !lookup_put(&r->by_count, hash, (uint32_t)n))
                return;
        b->counts[n] = (struct stack_count){.thread = (uint32_t)thread,
                                            .stack = s->stack,
                                            .call = s->call,
                                            .n_samples = 1,
                                            .state = s->state,
                                            .holds_gil = s->holds_gil,
                                            .seconds = seconds};
        b->live.window.n++;
}

static void count_recent(struct stack_recent *r, struct built *b, int64_t now_ns)
{
        uint64_t k = r->next > SAMPLES_MAX ? r->next - SAMPLES_MAX : 0;
        int64_t oldest = now_ns;
        lookup_clear(&r->by_thread);
        lookup_clear(&r->by_count);
        for (; k < r->next; k++) {
                const struct stack_sample *s = &r->ring[k % SAMPLES_MAX];
                if (s->mono_ns < now_ns - STACK_LIVE_NS)
                        continue;
                size_t thread = thread_for(r, b, s);
                if (thread == THREADS_MAX)
                        continue;
                oldest = MIN(oldest, s->mono_ns);
                b->newest[thread] = *s;
                count_sample(r, b, thread, s);
        }
        b->live.window.mono_ns = oldest;
        b->live.span_ns = now_ns - oldest;
}

void stack_recent_publish(struct stack_recent *r, const struct stack_table *table,
                          const struct stack_process *processes, size_t n, int64_t now_ns)
{
        struct built *b = r->back;
        n = MIN(n, (size_t)STACK_PROCESSES_MAX);
        memcpy(b->processes, processes, n * sizeof(*processes));
        b->live = (struct stack_live){
            .log = {.table = table,
                    .threads = b->threads,
                    .processes = b->processes,
                    .n_processes = n},
            .window.counts = b->counts,
            .newest = b->newest,
            .mono_ns = now_ns,
        };
        count_recent(r, b, now_ns);
        pthread_mutex_lock(&r->lock);
        r->back = r->ready;
        r->ready = b;
        r->fresh = r->any = true;
        pthread_mutex_unlock(&r->lock);
}

const struct stack_live *stack_recent_take(struct stack_recent *r)
{
        pthread_mutex_lock(&r->lock);
        if (r->fresh) {
                struct built *old = r->front;
                r->front = r->ready;
                r->ready = old;
        }
        r->fresh = false;
        const struct stack_live *live = r->any ? &r->front->live : NULL;
        pthread_mutex_unlock(&r->lock);
        return live;
}
