/* Takes what the parts published and gives it as one tick. */
#include "read/join/joined.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/join/hub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OPEN_PATIENCE_NS (10 * NS_PER_S) /* a GPU that is being reset needs seconds */
#define FIRST_PATIENCE_NS (2 * NS_PER_S)
#define PATIENCE_SHORTEST_NS (100 * NS_PER_MS)
#define PATIENCE_LONGEST_NS (500 * NS_PER_MS)
#define NUMBERS_MAX 512

struct source {
        struct joined_hub *hub;
        bool given;       /* a tick was */
        int64_t given_ns; /* when the last tick was given; when it was opened before that */
        int64_t last_mono_ns;
        char provenance[96];
        /* The number of each part's GPUs, plus 1; 0 for one that was not seen yet. */
        uint16_t numbers[BATCH_PARTS_MAX][NUMBERS_MAX];
        uint16_t used; /* numbers given so far */
};

void joined_close(struct source *s)
{
        if (!s)
                return;
        if (s->hub)
                joined_hub_close(s->hub);
        free(s);
}

static void describe_parts(struct source *s)
{
        size_t len = 0;
        for (size_t i = 0; i < s->hub->n; i++) {
                const struct joined_worker *w = &s->hub->workers[i];
                int n = snprintf(s->provenance + len, sizeof(s->provenance) - len, "%s%s",
                                 len ? ", " : "", w->provenance);
                len = MIN(len + (size_t)MAX(n, 0), sizeof(s->provenance) - 1);
        }
}

int joined_open(const struct joined_part *parts, size_t n, const struct source_config *config,
                struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (s)
                s->hub = joined_hub_new(parts, n, config);
        if (!s || !s->hub) {
                for (size_t i = 0; i < n; i++)
                        parts[i].ops->close(parts[i].source);
                free(s);
                err_set(err, -ENOMEM, "out of memory");
                return -ENOMEM;
        }
        s->given_ns = clock_mono_ns();
        describe_parts(s);
        int r = joined_hub_start(s->hub);
        if (r < 0) {
                joined_close(s);
                err_set(err, r, "cannot start reading: %s", strerror(-r));
                return r;
        }
        *ret = s;
        return 0;
}

/* Waits for the only part. 0, or why it could not be opened. */
static int wait_for_opening(struct joined_hub *hub, struct err *err)
{
        const struct joined_worker *w = &hub->workers[0];
        int64_t until = clock_mono_ns() + OPEN_PATIENCE_NS;
        int r = 0;
        crew_lock(&hub->crew);
        while (!w->source && !w->ended && crew_wait(&hub->crew, until))
                ;
        if (w->ended) {
                r = w->err.code;
                if (err)
                        *err = w->err;
        } else if (!w->source) {
                r = err_set(err, ERR_NO_SOURCE, "%s: the driver of the GPUs does not answer",
                            w->ops->name);
                err_hint(err, "look at 'dmesg': a GPU may hang, or be in a reset");
        }
        crew_unlock(&hub->crew);
        return r;
}

int joined_open_one(const struct source_ops *ops, const struct source_config *config,
                    struct source **ret, struct err *err)
{
        struct source *s = NULL;
        int r = joined_open(&(struct joined_part){.ops = ops}, 1, config, &s, err);
        if (r != 0)
                return r;
        atomic_store(&s->hub->want_processes, true); /* from the first tick on */
        r = wait_for_opening(s->hub, err);
        if (r < 0) {
                joined_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

static int64_t patience_ns(const struct source *s)
{
        int64_t poll = s->hub->config.poll_ns;
        if (!s->given)
                return FIRST_PATIENCE_NS;
        return MIN(MAX(poll, (int64_t)PATIENCE_SHORTEST_NS), (int64_t)PATIENCE_LONGEST_NS);
}

/* Lock held. The part whose new values make a tick: the first that can be relied on. NULL when none
 * can. */
static const struct joined_worker *leading_worker(const struct joined_hub *hub)
{
        for (size_t i = 0; i < hub->n; i++) {
                if (!hub->workers[i].late && !hub->workers[i].ended)
                        return &hub->workers[i];
        }
        return NULL;
}

/* Lock held. The moment at which to give what there is; 0 for now. */
static int64_t due_time(const struct source *s)
{
        const struct joined_hub *hub = s->hub;
        const struct joined_worker *lead = leading_worker(hub);
        if (!lead)
                return s->given_ns + hub->config.poll_ns;
        if (!lead->fresh)
                return s->given_ns + (s->given ? hub->config.poll_ns : 0) + patience_ns(s);
        for (size_t i = 0; i < hub->n; i++) {
                const struct joined_worker *w = &hub->workers[i];
                if (!w->fresh && !w->late && !w->ended)
                        return lead->fresh_ns + patience_ns(s);
        }
        return 0;
}

/* Lock held. Whether the part ever gave anything. */
static bool has_values(const struct joined_worker *w)
{
        return w->fresh || w->copies[w->front].batch.schema;
}

static bool has_any(const struct joined_hub *hub)
{
        for (size_t i = 0; i < hub->n; i++) {
                if (has_values(&hub->workers[i]))
                        return true;
        }
        return false;
}

static bool all_ended(const struct joined_hub *hub)
{
        for (size_t i = 0; i < hub->n; i++) {
                if (!hub->workers[i].ended)
                        return false;
        }
        return true;
}

/* Lock held. False when interrupted. Returns also when no part is left. */
static bool wait_for_news(struct source *s)
{
        struct joined_hub *hub = s->hub;
        while (!hub->interrupted && !all_ended(hub)) {
                int64_t then = due_time(s);
                if (then <= clock_mono_ns() && has_any(hub))
                        return true;
                /* The first tick has something to show, however long that takes. */
                crew_wait(&hub->crew, then <= clock_mono_ns() ? INT64_MAX : then);
        }
        return !hub->interrupted;
}

/* Lock held. The part's newest values; old ones with their age when it has none. */
static struct batch *joined_take(struct joined_worker *w, int64_t now)
{
        struct batch *b = &w->copies[w->front ^ (w->fresh ? 1 : 0)].batch;
        if (w->fresh) {
                w->front ^= 1;
                w->aged_ns = w->published_ns;
                w->fresh = false;
        } else {
                int64_t ms = (now - w->aged_ns) / NS_PER_MS;
                batch_copy_age(&w->copies[w->front],
                               (uint32_t)MIN(MAX(ms, (int64_t)0), (int64_t)UINT32_MAX));
                w->aged_ns += ms * NS_PER_MS;
                b->mono_ns = now;
                b->wall_ns = clock_wall_ns();
        }
        /* News that came late was measured before the last tick was given without it. */
        if (b->mono_ns <= w->last_mono_ns) {
                b->mono_ns = now;
                b->wall_ns = clock_wall_ns();
        }
        w->last_mono_ns = b->mono_ns;
        return b;
}

/* GPUs are numbered as they are first seen, part after part, and keep their numbers. */
static int32_t joined_number_of(struct source *s, size_t part, int32_t index)
{
        if (index < 0 || index >= NUMBERS_MAX)
                return index;
        if (s->numbers[part][index] == 0)
                s->numbers[part][index] = ++s->used;
        return s->numbers[part][index] - 1;
}

static void number_entities(struct source *s, size_t part)
{
        struct joined_worker *w = &s->hub->workers[part];
        struct batch_copy *c = &w->copies[w->front];
        for (size_t i = 0; i < c->batch.n; i++)
                c->readings[i].who.index = joined_number_of(s, part, c->readings[i].who.index);
}

/* Lock held. One tick of all parts that ever gave anything; false when none has. */
static bool collect_tick(struct source *s, struct batch *ret)
{
        int64_t now = clock_mono_ns();
        struct batch *first = NULL, *last = NULL;
        for (size_t i = 0; i < s->hub->n; i++) {
                struct joined_worker *w = &s->hub->workers[i];
                bool fresh = w->fresh;
                w->late = !fresh && !w->ended;
                if (!has_values(w))
                        continue;
                struct batch *b = joined_take(w, now);
                b->more = NULL;
                if (fresh)
                        number_entities(s, i);
                if (last)
                        last->more = b;
                first = first ? first : b;
                last = b;
        }
        if (!first)
                return false;
        /* Another part may lead than before. */
        if (first->mono_ns <= s->last_mono_ns)
                first->mono_ns = now;
        s->last_mono_ns = first->mono_ns;
        describe_parts(s);
        *ret = *first;
        s->given = true;
        s->given_ns = now;
        return true;
}

int joined_next(struct source *s, struct batch *ret, struct err *err)
{
        struct joined_hub *hub = s->hub;
        crew_lock(&hub->crew);
        bool go = wait_for_news(s), over = go && all_ended(hub);
        if (over)
                *err = hub->workers[0].err;
        else if (go)
                go = collect_tick(s, ret);
        crew_unlock(&hub->crew);
        if (over)
                return err->code < 0 ? err->code : 0;
        return go;
}

const char *joined_provenance(const struct source *s)
{
        return s->provenance;
}

/* Lock held. What is wrong with the part as a whole. */
static bool describe_absence(const struct joined_worker *w, char *buf, size_t size)
{
        double since = clock_to_seconds(clock_mono_ns() - w->published_ns);
        if (w->ended && w->err.code < 0)
                snprintf(buf, size, "%s: %.200s", w->ops->name, w->err.msg);
        else if (w->late)
                snprintf(buf, size, "%s: no answer for %.1f s, its GPUs are stale", w->ops->name,
                         since);
        return buf[0] != '\0';
}

void joined_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = (struct source_trouble){0};
        crew_lock(&s->hub->crew);
        for (size_t i = 0; i < s->hub->n; i++) {
                const struct joined_worker *w = &s->hub->workers[i];
                ret->rows += w->trouble.rows;
                ret->skipped += w->trouble.skipped;
                ret->too_long += w->trouble.too_long;
                if (!ret->notice[0] && !describe_absence(w, ret->notice, sizeof(ret->notice)))
                        memcpy(ret->notice, w->trouble.notice, sizeof(ret->notice));
        }
        crew_unlock(&s->hub->crew);
}

/* A part's number becomes the number among all. False for a GPU that was not shown yet. */
static bool renumber_process(const struct source *s, size_t part, struct process_on *on)
{
        if (on->index < 0 || on->index >= NUMBERS_MAX || s->numbers[part][on->index] == 0)
                return false;
        on->index = s->numbers[part][on->index] - 1;
        return true;
}

size_t joined_processes(struct source *s, struct process *ret, size_t max)
{
        size_t n = 0;
        crew_lock(&s->hub->crew);
        atomic_store(&s->hub->want_processes, true);
        for (size_t i = 0; i < s->hub->n; i++) {
                const struct joined_worker *w = &s->hub->workers[i];
                for (size_t k = 0; k < w->n_processes && n < max; k++) {
                        ret[n] = w->processes[k];
                        n += renumber_process(s, i, &ret[n].on);
                }
        }
        crew_unlock(&s->hub->crew);
        return n;
}

void joined_interrupt(struct source *s)
{
        crew_lock(&s->hub->crew);
        s->hub->interrupted = true;
        crew_request_stop(&s->hub->crew);
        crew_unlock(&s->hub->crew);
}

const struct source_ops source_joined = {
    .name = "joined",
    .help = "several sources of this machine as one",
    .local = true,
    .next = joined_next,
    .provenance = joined_provenance,
    .trouble = joined_trouble,
    .processes = joined_processes,
    .interrupt = joined_interrupt,
    .close = joined_close,
};
