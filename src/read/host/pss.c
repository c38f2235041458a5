#include "read/host/pss.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/thread.h"
#include "read/host/files.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define BATCH 64
#define AGAIN_NS NS_PER_S /* no process is measured more often */
#define AGAIN_UNASKED_NS (5 * NS_PER_S)
#define AGAIN_STEADY_NS (60 * NS_PER_S) /* nothing has changed that shows */
#define CREDIT_MAX (100 * NS_PER_MS)    /* a quiet hour buys no long burst */
#define FIRST_CREDIT (20 * NS_PER_MS)

/* What a process not yet measured is thought to cost: a file, and its pages. */
#define COST_FILE_NS 30000
#define COST_PAGE_NS 20

struct job {
        int32_t pid;
        uint64_t start;
        int64_t cost_ns;
        bool ok;
        struct proc_smaps smaps;
};

struct pss {
        int root;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t work;
        struct job jobs[BATCH];
        size_t n;
        bool asked, done, stop; /* jobs are the thread's while asked and not done */

        int64_t credit_ns, last_ns; /* the tick's side alone */
        double budget;              /* once all are measured */
        int64_t again_ns, steady_ns;
        bool behind;  /* some never were */
        uint64_t who; /* of whom the sum consists: what they share, they share with each other */
        int64_t who_since_ns;
};

static int64_t thread_cpu_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Half a tick may pass before this runs, and pids are reused: the start time is compared. */
static bool is_same(int root, const struct job *j)
{
        char path[48], buf[1024];
        struct proc_stat st;
        snprintf(path, sizeof(path), "/proc/%d/stat", j->pid);
        ssize_t n = files_read(root, path, buf, sizeof(buf));
        return n > 0 && procfs_stat(buf, (size_t)n, &st) == 0 && st.start == j->start;
}

static void measure_batch(int root, struct job *j)
{
        char path[48], buf[4096];
        int64_t begin = thread_cpu_ns();
        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", j->pid);
        ssize_t n = files_read(root, path, buf, sizeof(buf));
        j->ok = n > 0 && procfs_smaps(buf, (size_t)n, &j->smaps) == 0 && is_same(root, j);
        j->cost_ns = thread_cpu_ns() - begin;
}

static void *measure_thread(void *arg)
{
        struct pss *p = arg;
        pthread_mutex_lock(&p->lock);
        while (!p->stop) {
                if (!p->asked || p->done) {
                        pthread_cond_wait(&p->work, &p->lock);
                        continue;
                }
                size_t n = p->n;
                for (size_t i = 0; i < n && !p->stop; i++) {
                        pthread_mutex_unlock(&p->lock);
                        measure_batch(p->root, &p->jobs[i]);
                        pthread_mutex_lock(&p->lock);
                }
                p->done = true;
        }
        pthread_mutex_unlock(&p->lock);
        return NULL;
}

int pss_open(int root, bool asked, struct pss **ret)
{
        struct pss *p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        p->root = root;
        p->budget = asked ? PSS_BUDGET : PSS_BUDGET_UNASKED;
        p->again_ns = asked ? AGAIN_NS : AGAIN_UNASKED_NS;
        p->steady_ns = asked ? AGAIN_NS : AGAIN_STEADY_NS;
        p->credit_ns = FIRST_CREDIT;
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->work, NULL);
        int r = life_start_thread(measure_thread, p, &p->thread);
        if (r < 0) {
                free(p);
                return r;
        }
        *ret = p;
        return 0;
}

void pss_close(struct pss *p)
{
        if (!p)
                return;
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->work);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
        pthread_cond_destroy(&p->work);
        pthread_mutex_destroy(&p->lock);
        free(p);
}

static void take_in(struct pss *p, struct scanner *scanner, int64_t mono_ns)
{
        for (size_t i = 0; i < p->n; i++) {
                const struct job *j = &p->jobs[i];
                struct scan_process *q = scanner_find(scanner, j->pid);
                p->credit_ns -= j->cost_ns;
                if (!q || q->start != j->start)
                        continue;
                q->pss_cost_ns = j->cost_ns;
                if (!j->ok)
                        continue;
                q->pss_at_ns = mono_ns;
                q->smaps = j->smaps;
                q->pss_rss_pages = q->rss_pages;
        }
        p->n = 0;
}

static int64_t estimated_cost(const struct scan_process *q)
{
        return q->pss_cost_ns ? q->pss_cost_ns
                              : COST_FILE_NS + (int64_t)q->rss_pages * COST_PAGE_NS;
}

/* The target's tree before others. Forks that share a parent's pages are as large as it is, and
 * count most where they are not measured. */
static bool comes_before(const struct scan_process *a, const struct scan_process *b)
{
        bool a_ours = a->levels & LEVEL_BIT(LEVEL_PROCESS);
        bool b_ours = b->levels & LEVEL_BIT(LEVEL_PROCESS);
        if (a_ours != b_ours)
                return a_ours;
        return a->pss_at_ns != b->pss_at_ns ? a->pss_at_ns < b->pss_at_ns
                                            : a->rss_pages > b->rss_pages;
}

/* Puts a process into the batch, which is kept in that order and drops the last. */
static void offer_process(struct pss *p, const struct scan_process **chosen,
                          const struct scan_process *q)
{
        size_t at = p->n;
        while (at > 0 && comes_before(q, chosen[at - 1]))
                at--;
        if (at == BATCH)
                return;
        size_t last = MIN(p->n, (size_t)BATCH - 1);
        for (size_t i = last; i > at; i--)
                chosen[i] = chosen[i - 1];
        chosen[at] = q;
        p->n = last + 1;
}

/* One that sleeps beside others that sleep keeps its share: it is examined rarely. */
static bool is_due(const struct pss *p, const struct scan_process *q, int64_t mono_ns)
{
        int64_t age = mono_ns - q->pss_at_ns;
        bool steady = q->rss_pages == q->pss_rss_pages && q->pss_at_ns > p->who_since_ns;
        return q->pss_at_ns == 0 || age >= (steady ? p->steady_ns : p->again_ns);
}

/* A set of processes as a number: the same for the same ones in any order. */
static uint64_t add_to_set(uint64_t set, const struct scan_process *q)
{
        uint64_t h = ((uint64_t)(uint32_t)q->pid ^ q->start << 22) * 0x9e3779b97f4a7c15;
        return set + (h ^ h >> 29);
}

static void choose_batch(struct pss *p, struct scanner *scanner, unsigned levels, int64_t mono_ns)
{
        const struct scan_process *chosen[BATCH] = {0};
        size_t place = 0;
        uint64_t who = 0;
        p->n = 0;
        for (struct scan_process *q; (q = scanner_each(scanner, &place));) {
                if (!(q->levels & levels) || q->rss_pages == 0)
                        continue;
                who = add_to_set(who, q);
                if (is_due(p, q, mono_ns) && estimated_cost(q) <= PSS_WALK_MAX_NS)
                        offer_process(p, chosen, q);
        }
        if (who != p->who)
                p->who_since_ns = mono_ns;
        p->who = who;
        int64_t credit = p->credit_ns;
        size_t n = 0;
        p->behind = false;
        for (size_t i = 0; i < p->n; i++)
                p->behind |= chosen[i]->pss_at_ns == 0;
        for (; n < p->n && credit >= estimated_cost(chosen[n]); n++) {
                credit -= estimated_cost(chosen[n]);
                p->jobs[n] = (struct job){.pid = chosen[n]->pid, .start = chosen[n]->start};
        }
        p->n = n;
}

void pss_tick(struct pss *p, struct scanner *scanner, unsigned levels, int64_t mono_ns)
{
        if (p->last_ns)
                p->credit_ns += (int64_t)((double)(mono_ns - p->last_ns) *
                                          (p->behind ? PSS_BUDGET : p->budget));
        p->credit_ns = MIN(p->credit_ns, CREDIT_MAX);
        p->last_ns = mono_ns;
        pthread_mutex_lock(&p->lock);
        if (p->done) {
                take_in(p, scanner, mono_ns);
                p->asked = p->done = false;
        }
        if (!p->asked) {
                choose_batch(p, scanner, levels, mono_ns);
                p->asked = p->n > 0;
                if (p->asked)
                        pthread_cond_signal(&p->work);
        }
        pthread_mutex_unlock(&p->lock);
}
