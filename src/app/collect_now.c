#include "app/collect_now.h"

#include "app/setup.h"
#include "base/clock.h"
#include "life/thread.h"
#include "read/collect/collector.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A number that is older than both is none of now. */
#define OLD_NS (60 * NS_PER_S)
#define OLD_BEATS 3

/* One that is asked for. */
struct asked {
        char name[COLLECTED_NAME_MAX];
        bool over; /* it gave a number, or it was said why not */
};

struct collect_now {
        struct collector *collector;
        collecting_say *say;
        int64_t interval_ns;
        pthread_mutex_t lock; /* what follows */
        pthread_cond_t news;
        struct asked asked[COLLECTED_MAX];
        size_t n_asked;
        struct collected list[COLLECTED_MAX];
        size_t n;
};

/* With the lock held. */
static void mark_over(struct collect_now *c, const char *name)
{
        for (size_t i = 0; i < c->n_asked; i++) {
                if (strcmp(c->asked[i].name, name) == 0)
                        c->asked[i].over = true;
        }
        pthread_cond_broadcast(&c->news);
}

static bool all_are_over(const struct collect_now *c)
{
        size_t i = 0;
        while (i < c->n_asked && c->asked[i].over)
                i++;
        return i == c->n_asked;
}

static void keep_newest(void *arg, const struct collected *value)
{
        struct collect_now *c = arg;
        size_t i = 0;
        pthread_mutex_lock(&c->lock);
        while (i < c->n && strcmp(c->list[i].name, value->name) != 0)
                i++;
        if (i < COLLECTED_MAX) {
                c->list[i] = *value;
                c->n = MAX(c->n, i + 1);
        }
        mark_over(c, value->name);
        pthread_mutex_unlock(&c->lock);
}

/* Nobody waits for what will not come. */
static void note_trouble(void *arg, const char *name, const char *why)
{
        struct collect_now *c = arg;
        c->say(name, why);
        pthread_mutex_lock(&c->lock);
        mark_over(c, name);
        pthread_mutex_unlock(&c->lock);
}

int collect_now_start(const struct config *config, collecting_say *say, struct collect_now **ret,
                      struct err *err)
{
        struct collector_config cc = {.on_value = keep_newest, .on_trouble = note_trouble};
        *ret = NULL;
        int r = collecting_list(config, &cc.list, err);
        struct collect_now *c = r == 0 && cc.list.n > 0 ? calloc(1, sizeof(*c)) : NULL;
        if (!c) {
                r = r == 0 && cc.list.n > 0 ? err_set(err, -ENOMEM, "out of memory") : r;
                collect_list_finish(&cc.list);
                return r;
        }
        pthread_mutex_init(&c->lock, NULL);
        life_init_wake(&c->news);
        c->say = say;
        c->n_asked = cc.list.n;
        for (size_t i = 0; i < cc.list.n; i++)
                snprintf(c->asked[i].name, sizeof(c->asked[i].name), "%s", cc.list.items[i].name);
        cc.interval_ns = c->interval_ns = collecting_interval(config);
        cc.arg = c;
        r = collector_open(&cc, &c->collector, err);
        if (r < 0)
                collect_now_stop(c);
        else
                *ret = c;
        return r;
}

void collect_now_wait(struct collect_now *c, int64_t most_ns)
{
        if (!c)
                return;
        int64_t end = clock_mono_ns() + most_ns;
        struct timespec ts = {end / NS_PER_S, end % NS_PER_S};
        pthread_mutex_lock(&c->lock);
        while (!all_are_over(c) && pthread_cond_timedwait(&c->news, &c->lock, &ts) == 0)
                ;
        for (size_t i = 0; i < c->n_asked; i++) {
                if (!c->asked[i].over)
                        c->say(c->asked[i].name, "no number came in time");
        }
        pthread_mutex_unlock(&c->lock);
}

size_t collect_now_read(struct collect_now *c, struct collected ret[COLLECTED_MAX])
{
        if (!c)
                return 0;
        size_t n = 0;
        int64_t oldest = clock_mono_ns() - MAX(OLD_NS, OLD_BEATS * c->interval_ns);
        pthread_mutex_lock(&c->lock);
        for (size_t i = 0; i < c->n; i++) {
                if (c->list[i].mono_ns >= oldest)
                        ret[n++] = c->list[i];
        }
        pthread_mutex_unlock(&c->lock);
        return n;
}

void collect_now_stop(struct collect_now *c)
{
        if (!c)
                return;
        collector_close(c->collector);
        pthread_cond_destroy(&c->news);
        pthread_mutex_destroy(&c->lock);
        free(c);
}
