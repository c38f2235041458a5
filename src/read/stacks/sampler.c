#include "read/stacks/sampler.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/worker.h"
#include "read/stacks/process.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#define CLOSE_PATIENCE_NS (NS_PER_S / 2)
#define BATCH_MAX 2048                 /* samples of one snapshot */
#define TURN_NS NS_PER_S               /* how often the threads that do little are examined */
#define SLICE_NS 100000                /* the least that kernels grant */
#define CREDIT_MAX_NS NS_PER_S         /* of the budget: what was not used counts this long */
#define CREDIT_FIRST_NS (NS_PER_S / 5) /* in advance */
#define DEBT_MAX_NS (60 * NS_PER_S)    /* an expensive look delays others this long at most */
#define DEAR_NS 1e9                    /* a snapshot that costs the budget of so long */
#define REST_FACTOR 4 /* times that long a process rests after one, and others have turns */

/* One process that is watched. */
struct watched {
        int32_t pid;
        bool first;
        bool wanted;                   /* by the newest list */
        bool reported;                 /* that it has ended */
        struct process *process;       /* the thread's; NULL before its first snapshot */
        struct stack_process is;       /* under the lock: a copy for others */
        int64_t checked_ns, turned_ns; /* 0: never */
        int64_t rests_until_ns;        /* its last snapshot was expensive */
};

struct sampler {
        struct crew crew;
        struct sampler_config config;
        struct stack_table *table;
        struct process_reader *reader;
        int64_t interval_ns, began_ns;

        /* Under the lock. */
        struct sampler_target wish[STACK_PROCESSES_MAX];
        size_t n_wish;
        bool wish_is_new;
        struct stack_sample queue[SAMPLER_QUEUE_MAX];
        size_t head, n_queued;
        struct sampler_stats stats;
        struct watched *list[STACK_PROCESSES_MAX]; /* changed by the thread alone */
        size_t n;

        /* The thread's. */
        struct stack_sample batch[BATCH_MAX];
        size_t turn;        /* where the next round continues */
        bool others_starve; /* the last round did not reach them */
        int64_t credit_ns;  /* CPU time that may be spent; negative: owed */
        int64_t paid_ns;    /* up to here the budget was added */
        uint64_t random;
};

static int64_t thread_cpu_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void free_sampler(struct crew *c)
{
        struct sampler *s = (struct sampler *)((char *)c - offsetof(struct sampler, crew));
        for (size_t i = 0; i < s->n; i++) {
                process_close(s->list[i]->process);
                free(s->list[i]);
        }
        process_reader_close(s->reader);
        stack_table_close(s->table);
        free(s);
}

/* xorshift: moments need not be secret, only unlike anything periodic. */
static double next_random(struct sampler *s)
{
        s->random ^= s->random << 13;
        s->random ^= s->random >> 7;
        s->random ^= s->random << 17;
        return (double)(s->random >> 11) / (double)(UINT64_C(1) << 53);
}

/* Lock held. */
static struct watched *find_watched(struct sampler *s, int32_t pid)
{
        for (size_t i = 0; i < s->n; i++) {
                if (s->list[i]->pid == pid)
                        return s->list[i];
        }
        return NULL;
}

/* Lock held. Ended ones stay until that was reported, while there is room. */
static void drop_unwanted(struct sampler *s)
{
        size_t kept = 0;
        for (size_t i = 0; i < s->n; i++) {
                struct watched *w = s->list[i];
                if (w->wanted || (w->is.access == STACK_GONE && !w->reported)) {
                        s->list[kept++] = w;
                        continue;
                }
                process_close(w->process);
                free(w);
        }
        s->n = kept;
}

/* Lock held: makes the list what was wished for. */
static void apply_requested_targets(struct sampler *s)
{
        s->wish_is_new = false;
        for (size_t i = 0; i < s->n; i++)
                s->list[i]->wanted = false;
        for (size_t i = 0; i < s->n_wish; i++) {
                struct watched *w = find_watched(s, s->wish[i].pid);
                if (w) {
                        w->wanted = true;
                        w->first = s->wish[i].first;
                }
        }
        drop_unwanted(s);
        for (size_t i = 0; i < s->n_wish && s->n < STACK_PROCESSES_MAX; i++) {
                if (find_watched(s, s->wish[i].pid))
                        continue;
                struct watched *w = calloc(1, sizeof(*w));
                if (!w)
                        break;
                w->pid = w->is.pid = s->wish[i].pid;
                w->first = s->wish[i].first;
                w->wanted = true;
                s->list[s->n++] = w;
        }
}

/* Lock held. */
static void enqueue_samples(struct sampler *s, const struct stack_sample *list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (s->n_queued == SAMPLER_QUEUE_MAX) {
                        s->stats.lost += n - i;
                        break;
                }
                s->queue[(s->head + s->n_queued++) % SAMPLER_QUEUE_MAX] = list[i];
        }
        s->stats.samples += n;
}

static void publish_samples(struct sampler *s, struct watched *w, size_t n)
{
        crew_lock(&s->crew);
        enqueue_samples(s, s->batch, n);
        if (w->process) {
                s->stats.torn += process_describe(w->process)->torn - w->is.torn;
                w->is = *process_describe(w->process);
        }
        s->stats.rounds++;
        s->stats.reads = s->reader->remote.total_calls;
        s->stats.table_lost = stack_table_lost(s->table);
        crew_unlock(&s->crew);
}

/* Time since its last snapshot, in whole intervals: each stands for one, wherever in it the
 * snapshot was. */
static int64_t span_of_sample(const struct sampler *s, const struct watched *w, int64_t beat_ns)
{
        return w->checked_ns ? MAX(beat_ns - w->checked_ns, s->interval_ns) : s->interval_ns;
}

static void look_at(struct sampler *s, struct watched *w, int64_t beat_ns)
{
        bool turn = beat_ns - w->turned_ns >= TURN_NS || w->turned_ns == 0;
        struct sample_plan sample_plan = {.kind = turn ? SAMPLE_TURNS : SAMPLE_MAIN,
                                          .now_ns = clock_mono_ns(),
                                          .stands_for_ns = span_of_sample(s, w, beat_ns)};
        size_t n = 0;
        if (!w->process)
                process_open(s->reader, w->pid, &w->process);
        if (w->process)
                n = process_read_stacks(w->process, s->reader, &sample_plan, s->batch, BATCH_MAX);
        w->checked_ns = beat_ns;
        if (turn)
                w->turned_ns = beat_ns;
        publish_samples(s, w, n);
}

/* Adds what the time since the last round allows. */
static void earn_credit(struct sampler *s, int64_t now_ns)
{
        double budget = s->config.budget;
        if (now_ns <= s->paid_ns)
                return;
        s->credit_ns += (int64_t)(budget * (double)(now_ns - s->paid_ns));
        s->credit_ns = MIN(s->credit_ns, (int64_t)(budget * (double)CREDIT_MAX_NS));
        s->credit_ns = MAX(s->credit_ns, -(int64_t)(budget * (double)DEBT_MAX_NS));
        s->paid_ns = now_ns;
}

/* Takes what was spent since the last payment from the credit; how much. */
static int64_t pay_budget(struct sampler *s, int64_t *spent_at)
{
        int64_t now = thread_cpu_ns(), spent = now - *spent_at;
        s->credit_ns -= spent;
        *spent_at = now;
        return spent;
}

/* Looks at one and pays for it. False when there is nothing left to pay with. A program whose looks
 * are expensive rests, so that others have their turns. */
static bool sample_within_budget(struct sampler *s, struct watched *w, int64_t beat_ns,
                                 int64_t *spent_at)
{
        if (s->config.budget >= 1) {
                look_at(s, w, beat_ns);
                return true;
        }
        if (s->credit_ns <= 0)
                return false;
        if (beat_ns < w->rests_until_ns)
                return true;
        bool is_known = w->checked_ns; /* finding the interpreter is expensive, once */
        look_at(s, w, beat_ns);
        double time_ns = (double)pay_budget(s, spent_at) / s->config.budget;
        if (is_known && time_ns > DEAR_NS)
                w->rests_until_ns = beat_ns + (int64_t)(REST_FACTOR * time_ns);
        return true;
}

/* Those that come first. False when the budget ended before the last. */
static bool sample_first(struct sampler *s, int64_t beat_ns, int64_t *spent_at)
{
        for (size_t i = 0; i < s->n; i++) {
                if (s->list[i]->first && s->list[i]->is.access != STACK_GONE &&
                    !sample_within_budget(s, s->list[i], beat_ns, spent_at))
                        return false;
        }
        return true;
}

/* The others, from where the last round ended. */
static void sample_others(struct sampler *s, int64_t beat_ns, int64_t *spent_at)
{
        for (size_t k = 0, n = s->n; k < n && !crew_stopping(&s->crew); k++) {
                struct watched *w = s->list[(s->turn + k) % n];
                if (w->first || w->is.access == STACK_GONE)
                        continue;
                if (!sample_within_budget(s, w, beat_ns, spent_at)) {
                        s->turn = (s->turn + k) % n;
                        return;
                }
        }
}

/* One round. When the first ones alone are too expensive, the others come before them the next
 * time. */
static void sample_all(struct sampler *s, int64_t beat_ns, int64_t *spent_at)
{
        bool others_first = s->others_starve;
        if (others_first)
                sample_others(s, beat_ns, spent_at);
        s->others_starve = !sample_first(s, beat_ns, spent_at) && !others_first;
        if (!others_first && !s->others_starve)
                sample_others(s, beat_ns, spent_at);
}

/*
 * On a busy machine a thread that wakes waits until another one gives its CPU away, often the very
 * program that is sampled: it would be seen when it rests, and rarely when it computes. A short
 * slice asks for little and gets it soon; kernels before 6.12 ignore it.
 */
static void request_short_slice(void)
{
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } attr = {.size = sizeof(attr), .policy = SCHED_OTHER, .runtime = SLICE_NS};
        attr.nice = getpriority(PRIO_PROCESS, 0); /* as it is */
        syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void sample_on_beats(void *arg)
{
        struct sampler *s = arg;
        int64_t spent_at = thread_cpu_ns(), beat_ns = clock_mono_ns();
        request_short_slice();
        s->began_ns = beat_ns;
        s->paid_ns = beat_ns + CREDIT_FIRST_NS;
        s->credit_ns = (int64_t)(s->config.budget * (double)CREDIT_FIRST_NS);
        for (;;) {
                int64_t at = beat_ns + (int64_t)(next_random(s) * (double)s->interval_ns);
                crew_lock(&s->crew);
                while (!s->crew.stop && crew_wait(&s->crew, at))
                        ;
                bool stop = s->crew.stop;
                if (s->wish_is_new)
                        apply_requested_targets(s);
                crew_unlock(&s->crew);
                if (stop)
                        return;
                int64_t now = clock_mono_ns();
                earn_credit(s, now);
                pay_budget(s, &spent_at);
                sample_all(s, beat_ns + s->interval_ns, &spent_at);
                int64_t end = clock_mono_ns();
                crew_lock(&s->crew);
                s->stats.cpu_ns = thread_cpu_ns();
                s->stats.elapsed_ns = end - s->began_ns;
                s->stats.longest_ns = MAX(s->stats.longest_ns, end - now);
                crew_unlock(&s->crew);
                beat_ns += s->interval_ns * MAX(1, (end - beat_ns) / s->interval_ns);
        }
}

int sampler_open(const struct sampler_config *config, struct sampler **ret, struct err *err)
{
        struct sampler *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        if (s->config.hz <= 0)
                s->config.hz = SAMPLER_HZ_DEFAULT;
        if (s->config.budget <= 0)
                s->config.budget = SAMPLER_BUDGET_DEFAULT;
        s->interval_ns = (int64_t)((double)NS_PER_S / MIN(s->config.hz, (double)SAMPLER_HZ_MAX));
        s->random = (uint64_t)clock_mono_ns() | 1;
        crew_init(&s->crew, free_sampler);
        int r = stack_table_open(&s->table);
        if (r == 0)
                r = process_reader_open(s->table, config->any_user, &s->reader);
        if (r == 0)
                r = crew_start(&s->crew, sample_on_beats, s);
        if (r < 0) {
                crew_leave(&s->crew, 0);
                return err_set(err, r, "cannot read stacks: %s", strerror(-r));
        }
        *ret = s;
        return 0;
}

void sampler_close(struct sampler *s)
{
        if (s)
                crew_leave(&s->crew, CLOSE_PATIENCE_NS);
}

void sampler_watch(struct sampler *s, const struct sampler_target *list, size_t n)
{
        n = MIN(n, (size_t)STACK_PROCESSES_MAX);
        crew_lock(&s->crew);
        memcpy(s->wish, list, n * sizeof(*list));
        s->n_wish = n;
        s->wish_is_new = true;
        crew_unlock(&s->crew);
}

size_t sampler_take(struct sampler *s, struct stack_sample *list, size_t max)
{
        crew_lock(&s->crew);
        size_t n = MIN(max, s->n_queued);
        for (size_t i = 0; i < n; i++)
                list[i] = s->queue[(s->head + i) % SAMPLER_QUEUE_MAX];
        s->head = (s->head + n) % SAMPLER_QUEUE_MAX;
        s->n_queued -= n;
        crew_unlock(&s->crew);
        return n;
}

size_t sampler_describe(struct sampler *s, struct stack_process *list, size_t max)
{
        crew_lock(&s->crew);
        size_t n = MIN(max, s->n);
        for (size_t i = 0; i < n; i++) {
                list[i] = s->list[i]->is;
                s->list[i]->reported |= list[i].access == STACK_GONE;
        }
        crew_unlock(&s->crew);
        return n;
}

struct sampler_stats sampler_stats(struct sampler *s)
{
        crew_lock(&s->crew);
        struct sampler_stats stats = s->stats;
        crew_unlock(&s->crew);
        return stats;
}

const struct stack_table *sampler_table(const struct sampler *s)
{
        return s->table;
}
