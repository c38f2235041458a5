#include "cmd/hostwatch.h"

#include "base/clock.h"
#include "cmd/host.h"
#include "life/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct hostwatch {
        pthread_mutex_t lock;
        pthread_cond_t wake;
        int users; /* the owner and the thread */
        bool stop, filled, closely;
        int64_t interval_ns;
        struct host_config config;
        char *texts[4]; /* what config borrows from */
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
        for (size_t i = 0; i < ARRAY_LEN(h->texts); i++)
                free(h->texts[i]);
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
        bool closely = h->closely;
        while (!h->stop && h->closely == closely && clock_mono_ns() < until)
                pthread_cond_timedwait(&h->wake, &h->lock, &ts);
        bool go = !h->stop;
        pthread_mutex_unlock(&h->lock);
        return go;
}

/* The levels to read now. */
static unsigned levels_wanted(struct hostwatch *h)
{
        pthread_mutex_lock(&h->lock);
        unsigned levels = h->closely ? h->config.levels : LEVEL_BIT(LEVEL_SYSTEM);
        pthread_mutex_unlock(&h->lock);
        return levels;
}

/* Reads the host until other levels are wanted. False when it is time to end. */
static bool watch(struct hostwatch *h, unsigned levels)
{
        struct host_config config = h->config;
        struct host_view *view = NULL;
        struct host *now;
        bool go = true;
        config.levels = levels;
        if (host_view_open(&config, &view, NULL) < 0)
                return false;
        while (go && levels_wanted(h) == levels) {
                if (host_view_tick(view, &now, NULL) < 0)
                        break;
                pthread_mutex_lock(&h->lock);
                fill_panel(now, &h->panel);
                h->filled = true;
                pthread_mutex_unlock(&h->lock);
                go = rest(h);
        }
        host_view_close(view);
        return go;
}

static void *run(void *arg)
{
        struct hostwatch *h = arg;
        while (watch(h, levels_wanted(h)))
                ;
        release(h);
        return NULL;
}

/* The thread may outlive config for a moment. */
static bool keep_text(char **keep, const char **text)
{
        if (!*text)
                return true;
        *keep = strdup(*text);
        *text = *keep;
        return *keep != NULL;
}

static bool keep_options(struct hostwatch *h, const struct config *config)
{
        return setup_host(config, &h->config, NULL) == 0 &&
               keep_text(&h->texts[0], &h->config.root) &&
               keep_text(&h->texts[1], &h->config.user) &&
               keep_text(&h->texts[2], &h->config.job) &&
               keep_text(&h->texts[3], &h->config.cgroup);
}

struct hostwatch *hostwatch_start(const struct config *config, int64_t interval_ns, bool closely)
{
        struct hostwatch *h = calloc(1, sizeof(*h));
        if (!h)
                return NULL;
        h->interval_ns = interval_ns;
        h->closely = closely;
        h->users = 2;
        pthread_mutex_init(&h->lock, NULL);
        life_init_wake(&h->wake);
        pthread_t thread;
        if (!keep_options(h, config) || pthread_create(&thread, NULL, run, h) != 0) {
                h->users = 1;
                release(h);
                return NULL;
        }
        pthread_detach(thread);
        return h;
}

void hostwatch_look_closely(struct hostwatch *h, bool closely)
{
        pthread_mutex_lock(&h->lock);
        if (h->closely != closely)
                pthread_cond_broadcast(&h->wake);
        h->closely = closely;
        pthread_mutex_unlock(&h->lock);
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
