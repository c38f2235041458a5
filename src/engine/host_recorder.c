#include "engine/host_recorder.h"

#include "base/clock.h"
#include "life/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* The last reading of all is worth taking when rates over so short a time mean something. */
#define LAST_MIN_NS (50 * NS_PER_MS)

struct host_recorder {
        struct host_recorder_config config;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        bool stopping, ended;
        struct gpu_use seen;
        struct gpu_use use; /* the thread's copy of seen */
        int64_t last_ns;    /* when the host was read last */
        struct host_recorder_result result;
};

/* The target and all it started have ended: nothing more will change. */
static bool is_over(const struct host_recorder *h, const struct host *host)
{
        const struct level_state *l = &host->levels[LEVEL_PROCESS];
        return h->config.ends_with_target && l->present && l->f[FIGURE_PROCESSES].v == 0;
}

/* False when there is nothing more to read. */
static bool tick(struct host_recorder *h)
{
        struct host *host;
        struct err err = {0};
        beat_take(&h->result.beat, clock_mono_ns());
        pthread_mutex_lock(&h->lock);
        h->use = h->seen;
        pthread_mutex_unlock(&h->lock);
        host_view_see(h->config.view, &h->use);
        if (host_view_tick(h->config.view, &host, &h->result.source) < 0)
                return false;
        h->last_ns = host->mono_ns;
        host_view_join(h->config.view, host, &h->use);
        host->asked = h->result.beat.asked;
        host->taken = h->result.beat.taken;
        host->late = h->result.beat.late;
        host->missed = h->result.beat.missed;
        if (h->config.session && session_add_host(h->config.session, host, &err) < 0 &&
            h->result.store.code == 0)
                h->result.store = err;
        if (h->config.on_host)
                h->config.on_host(h->config.on_host_arg, host);
        if (!is_over(h, host))
                return true;
        if (h->config.on_over)
                h->config.on_over(h->config.on_over_arg);
        return false;
}

/* Waits for the next beat. False when it is time to end. */
static bool rest(struct host_recorder *h)
{
        int64_t due = clock_mono_ns() + beat_remaining(&h->result.beat, clock_mono_ns());
        struct timespec ts = {due / NS_PER_S, due % NS_PER_S};
        pthread_mutex_lock(&h->lock);
        while (!h->stopping && pthread_cond_timedwait(&h->wake, &h->lock, &ts) == 0)
                ;
        bool go = !h->stopping;
        pthread_mutex_unlock(&h->lock);
        return go;
}

static void *record(void *arg)
{
        struct host_recorder *h = arg;
        bool more = true;
        beat_start(&h->result.beat, clock_mono_ns(), h->config.interval_ns);
        do {
                more = tick(h);
        } while (more && rest(h));
        if (more && clock_mono_ns() - h->last_ns >= LAST_MIN_NS)
                tick(h);
        pthread_mutex_lock(&h->lock);
        h->ended = true;
        pthread_cond_broadcast(&h->wake);
        pthread_mutex_unlock(&h->lock);
        return NULL;
}

int host_recorder_start(const struct host_recorder_config *config, struct host_recorder **ret,
                        struct err *err)
{
        struct host_recorder *h = calloc(1, sizeof(*h));
        if (!h)
                return err_set(err, -ENOMEM, "out of memory");
        h->config = *config;
        pthread_mutex_init(&h->lock, NULL);
        life_init_wake(&h->wake);
        int failed = pthread_create(&h->thread, NULL, record, h);
        if (failed != 0) {
                pthread_mutex_destroy(&h->lock);
                pthread_cond_destroy(&h->wake);
                free(h);
                return err_set(err, -failed, "cannot start a thread: %s", strerror(failed));
        }
        *ret = h;
        return 0;
}

void host_recorder_see(struct host_recorder *h, const struct frame *frame)
{
        pthread_mutex_lock(&h->lock);
        gpu_use_take(&h->seen, frame);
        pthread_mutex_unlock(&h->lock);
}

void host_recorder_stop(struct host_recorder *h)
{
        pthread_mutex_lock(&h->lock);
        h->stopping = true;
        pthread_cond_broadcast(&h->wake);
        pthread_mutex_unlock(&h->lock);
}

bool host_recorder_wait(struct host_recorder *h, int64_t until_ns)
{
        struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        pthread_mutex_lock(&h->lock);
        while (!h->ended && pthread_cond_timedwait(&h->wake, &h->lock, &ts) == 0)
                ;
        bool ended = h->ended;
        pthread_mutex_unlock(&h->lock);
        return ended;
}

void host_recorder_result(const struct host_recorder *h, struct host_recorder_result *ret)
{
        *ret = h->result;
}

void host_recorder_close(struct host_recorder *h)
{
        pthread_join(h->thread, NULL);
        pthread_mutex_destroy(&h->lock);
        pthread_cond_destroy(&h->wake);
        free(h);
}
