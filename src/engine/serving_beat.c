#include "engine/serving_beat.h"

#include "base/clock.h"
#include "life/worker.h"

#include <errno.h>
#include <string.h>

#define INTERVAL_NS NS_PER_S
/* Short of the interval, so that a server that hangs does not move the beat of the others. */
#define PATIENCE_NS (800 * NS_PER_MS)

struct serving_beat {
        struct crew crew;
        struct serving_view *view;
        struct gpu_use use; /* the worker's copy of seen */

        /* Under the lock. */
        struct gpu_use seen;
        unsigned rounds;
        size_t n;
        struct serving list[SERVINGS_MAX];
};

static void free_serving_beat(struct crew *crew)
{
        struct serving_beat *b = (struct serving_beat *)crew;
        serving_view_close(b->view);
        free(b);
}

static void publish_servings(struct serving_beat *b)
{
        size_t n;
        const struct serving *list = serving_view_list(b->view, &n);
        crew_lock(&b->crew);
        memcpy(b->list, list, n * sizeof(*list));
        b->n = n;
        b->rounds++;
        crew_request_stop(&b->crew);
        crew_unlock(&b->crew);
}

static void keep_asking(void *arg)
{
        struct serving_beat *b = arg;
        int64_t due = clock_mono_ns();
        while (!crew_stopping(&b->crew)) {
                serving_view_tick(b->view, clock_mono_ns() + PATIENCE_NS);
                crew_lock(&b->crew);
                b->use = b->seen;
                crew_unlock(&b->crew);
                serving_view_see(b->view, &b->use);
                publish_servings(b);
                due = MAX(due + INTERVAL_NS, clock_mono_ns());
                crew_lock(&b->crew);
                while (!b->crew.stop && crew_wait(&b->crew, due))
                        ;
                crew_unlock(&b->crew);
        }
}

int serving_beat_start(const struct serving_config *config, struct serving_beat **ret,
                       struct err *err)
{
        struct serving_beat *b = calloc(1, sizeof(*b));
        if (!b)
                return err_set(err, -ENOMEM, "out of memory");
        crew_init(&b->crew, free_serving_beat);
        int r = serving_view_open(config, &b->view, err);
        if (r == 0 && (r = crew_start(&b->crew, keep_asking, b)) < 0)
                err_set(err, r, "cannot start a thread: %s", strerror(-r));
        if (r < 0) {
                crew_leave(&b->crew, 0);
                return r;
        }
        *ret = b;
        return 0;
}

void serving_beat_join(struct serving_beat *b, const struct gpu_use *use, struct host *host)
{
        crew_lock(&b->crew);
        b->seen = *use;
        memcpy(host->servings, b->list, b->n * sizeof(*b->list));
        host->n_servings = b->n;
        crew_unlock(&b->crew);
}

void serving_beat_settle(struct serving_beat *b, int64_t patience_ns)
{
        int64_t until = clock_mono_ns() + patience_ns;
        crew_lock(&b->crew);
        while (b->rounds < 2 && crew_wait(&b->crew, until))
                ;
        crew_unlock(&b->crew);
}

void serving_beat_close(struct serving_beat *b)
{
        if (!b)
                return;
        crew_stop(&b->crew);
        serving_view_wake(b->view);
        crew_leave(&b->crew, 0);
}
