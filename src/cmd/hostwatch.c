#include "cmd/hostwatch.h"

#include "base/clock.h"
#include "compute/levels.h"
#include "read/host/host.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Two, because rates are differences. */
#define STATES 2

struct hostwatch {
        pthread_mutex_t lock;
        pthread_cond_t wake;
        int users; /* the owner and the thread */
        bool stop, filled;
        int64_t interval_ns;
        char *root;
        struct host states[STATES];
        struct host_panel panel;
};

static void release(struct hostwatch *h)
{
        pthread_mutex_lock(&h->lock);
        bool last = --h->users == 0;
        pthread_mutex_unlock(&h->lock);
        if (!last)
                return;
        pthread_mutex_destroy(&h->lock);
        pthread_cond_destroy(&h->wake);
        free(h->root);
        free(h);
}

static struct value busy(const struct host *h)
{
        struct value idle = h->system[SYSTEM_IDLE], wait = h->system[SYSTEM_IOWAIT];
        if (!value_there(idle))
                return idle;
        idle.v = 1 - idle.v - (value_there(wait) ? wait.v : 0);
        return idle;
}

static void fill_level(const struct host *h, enum level level, struct host_panel *p)
{
        const struct level_state *l = &h->levels[level];
        if (!l->asked || p->n_levels == HOST_LEVELS_MAX)
                return;
        struct host_level *to = &p->level[p->n_levels++];
        *to = (struct host_level){.name = level_name(level),
                                  .cpu = l->f[FIGURE_CPU],
                                  .cpu_ratio = l->f[FIGURE_CPU_SHARE],
                                  .memory = l->f[FIGURE_MEMORY],
                                  .memory_limit = l->f[FIGURE_MEMORY_LIMIT],
                                  .read = l->f[FIGURE_READ],
                                  .write = l->f[FIGURE_WRITE],
                                  .processes = l->f[FIGURE_PROCESSES],
                                  .threads = l->f[FIGURE_THREADS]};
        if (!l->present)
                snprintf(to->why, sizeof(to->why), "%.*s", (int)sizeof(to->why) - 1,
                         l->why[0] ? l->why : "not here");
}

static void fill_panel(const struct host *h, struct host_panel *p)
{
        const struct value *s = h->system;
        p->cpu = busy(h);
        p->load1 = s[SYSTEM_LOAD_1];
        p->load5 = s[SYSTEM_LOAD_5];
        p->load15 = s[SYSTEM_LOAD_15];
        p->memory_used = s[SYSTEM_MEM_USED];
        p->memory_total = s[SYSTEM_MEM_TOTAL];
        p->swap_used = s[SYSTEM_SWAP_USED];
        p->swap_total = s[SYSTEM_SWAP_TOTAL];
        p->psi_cpu = s[SYSTEM_PSI_CPU];
        p->psi_memory = s[SYSTEM_PSI_MEMORY];
        p->psi_io = s[SYSTEM_PSI_IO];
        p->disk_read = h->levels[LEVEL_SYSTEM].f[FIGURE_READ];
        p->disk_write = h->levels[LEVEL_SYSTEM].f[FIGURE_WRITE];
        p->net_rx = s[SYSTEM_NET_RX];
        p->net_tx = s[SYSTEM_NET_TX];
        p->n_cores = MIN(h->n_cores, (size_t)HOST_CORES_MAX);
        for (size_t i = 0; i < p->n_cores; i++)
                p->core[i] = h->cores[i].util;
        p->n_levels = 0;
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                fill_level(h, l, p);
}

/* False when it is time to end. */
static bool rest(struct hostwatch *h)
{
        int64_t until = clock_mono_ns() + h->interval_ns;
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        pthread_mutex_lock(&h->lock);
        while (!h->stop && clock_mono_ns() < until)
                pthread_cond_timedwait(&h->wake, &h->lock, &ts);
        bool go = !h->stop;
        pthread_mutex_unlock(&h->lock);
        return go;
}

static void watch(struct hostwatch *h, struct host_reader *reader)
{
        size_t at = 0;
        for (bool first = true;; first = false) {
                struct host *now = &h->states[at % STATES];
                if (host_read(reader, now, NULL) < 0)
                        return;
                levels_compute(first ? NULL : &h->states[(at + 1) % STATES], now);
                pthread_mutex_lock(&h->lock);
                fill_panel(now, &h->panel);
                h->filled = true;
                pthread_mutex_unlock(&h->lock);
                at++;
                if (!rest(h))
                        return;
        }
}

static void *run(void *arg)
{
        struct hostwatch *h = arg;
        struct host_reader *reader = NULL;
        struct host_config config = {.root = h->root, .levels = LEVELS_ALL};
        if (host_open(&config, &reader, NULL) == 0)
                watch(h, reader);
        host_close(reader);
        release(h);
        return NULL;
}

struct hostwatch *hostwatch_start(const struct config *config, int64_t interval_ns)
{
        struct hostwatch *h = calloc(1, sizeof(*h));
        if (!h)
                return NULL;
        h->root = strdup(config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : "");
        h->interval_ns = interval_ns;
        h->users = 2;
        pthread_mutex_init(&h->lock, NULL);
        pthread_condattr_t attr;
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&h->wake, &attr);
        pthread_condattr_destroy(&attr);
        pthread_t thread;
        if (!h->root || pthread_create(&thread, NULL, run, h) != 0) {
                h->users = 1;
                release(h);
                return NULL;
        }
        pthread_detach(thread);
        return h;
}

bool hostwatch_take(struct hostwatch *h, struct host_panel *ret)
{
        pthread_mutex_lock(&h->lock);
        bool filled = h->filled;
        if (filled)
                *ret = h->panel;
        pthread_mutex_unlock(&h->lock);
        return filled;
}

void hostwatch_close(struct hostwatch *h)
{
        if (!h)
                return;
        pthread_mutex_lock(&h->lock);
        h->stop = true;
        pthread_cond_broadcast(&h->wake);
        pthread_mutex_unlock(&h->lock);
        release(h);
}
