#include "engine/host_beat.h"

#include "base/clock.h"
#include "engine/stack_beat.h"

#include <errno.h>
#include <string.h>

/* The last reading of all is worth taking when rates over so short a time mean something. */
#define LAST_MIN_NS (50 * NS_PER_MS)

struct host_beat {
        struct crew crew;
        struct host_beat_config config; /* levels are those that the view reads */
        bool own_view;
        char *texts[5]; /* what config.host borrows */
        struct listing *listing;
        struct gpu_use use; /* the worker's copy of seen */
        int64_t last_ns;    /* when the host was read last */
        struct host_beat_result result;
        struct stack_beat *stacks;   /* NULL when none are sampled */
        struct stack_recent *recent; /* NULL when nobody shows them */

        /* Under the lock. */
        struct gpu_use seen;
        unsigned levels; /* those that are wanted */
        struct host *newest;
        bool filled;
};

static void free_beat(struct crew *crew)
{
        struct host_beat *h = (struct host_beat *)crew;
        stack_beat_close(h->stacks);
        stack_recent_close(h->recent);
        if (h->own_view)
                host_view_close(h->config.view);
        for (size_t i = 0; i < ARRAY_LEN(h->texts); i++)
                free(h->texts[i]);
        listing_close(h->listing);
        free(h->newest);
        free(h);
}

/* The target and all it started have ended: nothing more will change. */
static bool is_over(const struct host_beat *h, const struct host *host)
{
        const struct level_state *l = &host->levels[LEVEL_PROCESS];
        return h->config.ends_with_target && l->present && l->f[FIGURE_PROCESSES].v == 0;
}

/* Opens the view that is wanted now. False when there is none. */
static bool host_beat_prepare(struct host_beat *h)
{
        crew_lock(&h->crew);
        h->use = h->seen;
        unsigned levels = h->levels;
        crew_unlock(&h->crew);
        if (h->config.view && (!h->own_view || h->config.host.levels == levels))
                return true;
        host_view_close(h->config.view);
        h->config.view = NULL;
        h->config.host.levels = levels;
        return host_view_open(&h->config.host, &h->config.view, &h->result.source) == 0;
}

static void publish_host(struct host_beat *h, const struct host *host)
{
        struct err err = {0};
        if (h->config.session && session_add_host(h->config.session, host, &err) < 0 &&
            h->result.store.code == 0)
                h->result.store = err;
        if (h->config.flight)
                flight_add_host(h->config.flight, host);
        if (h->newest) {
                crew_lock(&h->crew);
                *h->newest = *host;
                h->filled = true;
                crew_unlock(&h->crew);
        }
        if (h->config.on_host)
                h->config.on_host(h->config.on_host_arg, host);
}

/* False when there is nothing more to read. */
static bool host_tick(struct host_beat *h)
{
        struct host *host;
        beat_take(&h->result.beat, clock_mono_ns());
        if (!host_beat_prepare(h))
                return false;
        host_view_see(h->config.view, &h->use);
        if (host_view_tick(h->config.view, &host, &h->result.source) < 0)
                return false;
        h->last_ns = host->mono_ns;
        host_view_join(h->config.view, host, &h->use);
        host->asked = h->result.beat.asked;
        host->taken = h->result.beat.taken;
        host->late = h->result.beat.late;
        host->missed = h->result.beat.missed;
        publish_host(h, host);
        if (h->stacks)
                stack_beat_tick(h->stacks, h->config.view);
        if (!is_over(h, host))
                return true;
        if (h->config.on_over)
                h->config.on_over(h->config.on_over_arg);
        return false;
}

/* Waits for the next beat, or until other levels are wanted. False when it is time to end. */
static bool rest_until_beat(struct host_beat *h)
{
        int64_t due = clock_mono_ns() + beat_remaining(&h->result.beat, clock_mono_ns());
        crew_lock(&h->crew);
        while (!h->crew.stop && h->levels == h->config.host.levels && crew_wait(&h->crew, due))
                ;
        bool go = !h->crew.stop;
        crew_unlock(&h->crew);
        return go;
}

static void keep_beat(void *arg)
{
        struct host_beat *h = arg;
        bool more = true;
        /* Without stacks all else is recorded as before. */
        struct session *flight = h->config.flight ? flight_session(h->config.flight) : NULL;
        if (h->config.stacks_hz > 0 && (h->config.session || flight || h->recent))
                stack_beat_open(h->config.stacks_hz, h->config.session, flight, h->recent,
                                &h->stacks, NULL);
        beat_start(&h->result.beat, clock_mono_ns(), h->config.interval_ns);
        do {
                more = host_tick(h);
        } while (more && rest_until_beat(h));
        if (more && clock_mono_ns() - h->last_ns >= LAST_MIN_NS)
                host_tick(h);
}

/* The worker may outlive the owner of the borrowed texts. */
static bool keep_texts(struct host_beat *h)
{
        const char **texts[] = {&h->config.host.root, &h->config.host.user, &h->config.host.job,
                                &h->config.host.cgroup, &h->config.host.engines};
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                if (!*texts[i])
                        continue;
                h->texts[i] = strdup(*texts[i]);
                *texts[i] = h->texts[i];
                if (!h->texts[i])
                        return false;
        }
        return true;
}

int host_beat_start(const struct host_beat_config *config, struct host_beat **ret, struct err *err)
{
        struct host_beat *h = calloc(1, sizeof(*h));
        if (!h)
                return err_set(err, -ENOMEM, "out of memory");
        crew_init(&h->crew, free_beat);
        h->config = *config;
        h->own_view = !config->view;
        h->listing = listing_share(config->host.listing);
        h->levels = config->host.levels;
        h->newest = config->keep ? calloc(1, sizeof(*h->newest)) : NULL;
        int r = keep_texts(h) && (h->newest || !config->keep) ? 0 : -ENOMEM;
        if (r == 0 && config->keep && config->stacks_hz > 0)
                r = stack_recent_open(&h->recent);
        if (r == 0)
                r = crew_start_for(&h->crew, config->user, keep_beat, h);
        if (r == 0) {
                *ret = h;
                return 0;
        }
        crew_leave(&h->crew, 0);
        return err_set(err, r, "cannot start a thread: %s", strerror(-r));
}

void host_beat_see(struct host_beat *h, const struct frame *frame)
{
        crew_lock(&h->crew);
        gpu_use_take(&h->seen, frame);
        crew_unlock(&h->crew);
}

void host_beat_set_levels(struct host_beat *h, unsigned levels)
{
        crew_lock(&h->crew);
        if (h->levels != levels)
                crew_request_stop(&h->crew);
        h->levels = levels;
        crew_unlock(&h->crew);
}

bool host_beat_take(struct host_beat *h, struct host *ret)
{
        crew_lock(&h->crew);
        bool filled = h->filled;
        if (filled)
                *ret = *h->newest;
        crew_unlock(&h->crew);
        return filled;
}

const struct stack_live *host_beat_stacks(struct host_beat *h)
{
        return h->recent ? stack_recent_take(h->recent) : NULL;
}

void host_beat_stop(struct host_beat *h)
{
        crew_stop(&h->crew);
}

bool host_beat_wait(struct host_beat *h, int64_t patience_ns, struct host_beat_result *ret)
{
        if (!crew_ended(&h->crew, patience_ns))
                return false;
        *ret = h->result;
        return true;
}

void host_beat_close(struct host_beat *h)
{
        if (h)
                crew_leave(&h->crew, 0);
}
