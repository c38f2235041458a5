#include "read/join/hub.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLOSE_PATIENCE_NS (300 * NS_PER_MS)

static void free_hub(struct crew *crew)
{
        struct joined_hub *hub = (struct joined_hub *)crew;
        for (size_t i = 0; i < hub->n; i++) {
                struct joined_worker *w = &hub->workers[i];
                w->ops->close(w->source);
                batch_copy_finish(&w->copies[0]);
                batch_copy_finish(&w->copies[1]);
                free(w->scratch);
                free(w->processes);
        }
        source_free_texts(&hub->texts);
        free(hub);
}

struct joined_hub *joined_hub_new(const struct joined_part *parts, size_t n,
                                  const struct source_config *config)
{
        struct joined_hub *hub = calloc(1, sizeof(*hub));
        if (!hub)
                return NULL;
        hub->config = *config;
        crew_init(&hub->crew, free_hub);
        if (!source_keep_texts(&hub->config, &hub->texts)) {
                crew_leave(&hub->crew, 0);
                return NULL;
        }
        hub->n = MIN(n, (size_t)BATCH_PARTS_MAX);
        for (size_t i = 0; i < hub->n; i++) {
                struct joined_worker *w = &hub->workers[i];
                w->hub = hub;
                w->ops = parts[i].ops;
                w->source = parts[i].source;
                snprintf(w->provenance, sizeof(w->provenance), "%s", w->ops->name);
        }
        return hub;
}

/* Asked on the worker's thread, as the source is not made for two. */
static size_t query_processes(struct joined_worker *w)
{
        if (!atomic_load(&w->hub->want_processes) || !w->ops->processes)
                return 0;
        if (!w->scratch)
                w->scratch = calloc(JOINED_PROCESSES_MAX, sizeof(*w->scratch));
        if (!w->scratch)
                return 0;
        size_t n = w->ops->processes(w->source, w->scratch, JOINED_PROCESSES_MAX);
        return n == PROCESSES_UNKNOWN ? 0 : n;
}

/* Lock held. */
static int publish_batch(struct joined_worker *w, const struct batch *batch, size_t n_processes)
{
        int r = batch_copy_take(&w->copies[w->front ^ 1], batch);
        if (r < 0)
                return r;
        if (!w->processes && n_processes > 0)
                w->processes = calloc(JOINED_PROCESSES_MAX, sizeof(*w->processes));
        if (w->processes && w->scratch) {
                struct process *old = w->processes;
                w->processes = w->scratch;
                w->scratch = old;
                w->n_processes = n_processes;
        }
        if (w->ops->provenance)
                snprintf(w->provenance, sizeof(w->provenance), "%s", w->ops->provenance(w->source));
        if (w->ops->trouble)
                w->ops->trouble(w->source, &w->trouble);
        w->published_ns = clock_mono_ns();
        if (!w->fresh)
                w->fresh_ns = w->published_ns;
        w->fresh = true;
        w->late = false;
        crew_request_stop(&w->hub->crew);
        return 0;
}

/* Publishes batch after batch. 0 when it was stopped, or a negative code with err. */
static int run_worker(struct joined_worker *w, struct err *err)
{
        struct joined_hub *hub = w->hub;
        struct batch batch;
        int r;
        while ((r = w->ops->next(w->source, &batch, err)) > 0) {
                size_t n_processes = query_processes(w);
                crew_lock(&hub->crew);
                bool stop = hub->crew.stop;
                if (!stop)
                        r = publish_batch(w, &batch, n_processes);
                crew_unlock(&hub->crew);
                if (stop)
                        return 0;
                if (r < 0)
                        return err_set(err, r, "out of memory");
        }
        return r;
}

/* Opened without the lock: nobody interrupts a source that is absent yet. */
static int open_source(struct joined_worker *w, struct err *err)
{
        struct source *source = NULL;
        int r = w->source ? 0 : w->ops->open(&w->hub->config, &source, err);
        crew_lock(&w->hub->crew);
        if (source)
                w->source = source;
        crew_request_stop(&w->hub->crew);
        bool stop = w->hub->crew.stop;
        crew_unlock(&w->hub->crew);
        return stop ? 0 : r < 0 ? r : 1;
}

static void read_part(void *arg)
{
        struct joined_worker *w = arg;
        struct joined_hub *hub = w->hub;
        struct err err = {0};
        int r = open_source(w, &err);
        if (r > 0)
                run_worker(w, &err);
        crew_lock(&hub->crew);
        struct source *source = w->source;
        w->source = NULL;
        w->ended = true;
        w->err = err;
        crew_request_stop(&hub->crew);
        crew_unlock(&hub->crew);
        w->ops->close(source);
}

int joined_hub_start(struct joined_hub *hub)
{
        for (size_t i = 0; i < hub->n; i++) {
                struct joined_worker *w = &hub->workers[i];
                w->published_ns = clock_mono_ns();
                int r = crew_start(&hub->crew, read_part, w);
                if (r < 0)
                        return r;
        }
        return 0;
}

void joined_hub_close(struct joined_hub *hub)
{
        crew_lock(&hub->crew);
        hub->crew.stop = true;
        for (size_t i = 0; i < hub->n; i++) {
                const struct joined_worker *w = &hub->workers[i];
                if (w->source && w->ops->interrupt)
                        w->ops->interrupt(w->source);
        }
        crew_unlock(&hub->crew);
        crew_leave(&hub->crew, CLOSE_PATIENCE_NS);
}
