#include "cmd/hostwatch.h"

#include "app/setup.h"
#include "base/clock.h"
#include "cmd/hostpanel.h"
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
                host_panel_fill(now, &h->panel);
                h->filled = true;
                pthread_mutex_unlock(&h->lock);
                go = rest(h);
        }
        host_view_close(view);
        return go;
}

static void *hostwatch_run(void *arg)
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
        if (!keep_options(h, config) || pthread_create(&thread, NULL, hostwatch_run, h) != 0) {
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
