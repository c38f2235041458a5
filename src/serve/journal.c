#include "serve/journal.h"

#include "base/clock.h"
#include "base/list.h"
#include "model/xid.h"
#include "present/stream/json.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

struct entry {
        int64_t wall_ns;
        char gpu[GPU_NAME_MAX], kind[16], text[JOURNAL_TEXT_MAX];
};

/* What was last known of a GPU. */
struct before {
        char key[STATE_KEY_MAX];
        uint32_t findings;
        bool up;
        struct integral_xid xids[INTEGRAL_XIDS_MAX];
        size_t n_xids;
};

struct journal {
        pthread_mutex_t lock;
        struct entry list[JOURNAL_MAX];
        uint64_t n;            /* entries ever written */
        struct before *before; /* the watcher's */
        int64_t opened_ns;
        size_t n_before;
        void (*on_entry)(void *arg, int64_t wall_ns, const char *gpu, const char *kind,
                         const char *text); /* NULL for none */
        void *arg;
};

struct journal *journal_open(void)
{
        struct journal *j = calloc(1, sizeof(*j));
        if (!j)
                return NULL;
        pthread_mutex_init(&j->lock, NULL);
        j->opened_ns = clock_wall_ns();
        return j;
}

void journal_close(struct journal *j)
{
        if (!j)
                return;
        pthread_mutex_destroy(&j->lock);
        free(j->before);
        free(j);
}

void journal_add(struct journal *j, int64_t wall_ns, const char *gpu, const char *kind,
                 const char *fmt, ...)
{
        va_list ap;
        pthread_mutex_lock(&j->lock);
        struct entry *e = &j->list[j->n++ % JOURNAL_MAX];
        *e = (struct entry){.wall_ns = wall_ns};
        snprintf(e->gpu, sizeof(e->gpu), "%s", gpu);
        snprintf(e->kind, sizeof(e->kind), "%s", kind);
        va_start(ap, fmt);
        vsnprintf(e->text, sizeof(e->text), fmt, ap);
        va_end(ap);
        struct entry copy = *e;
        pthread_mutex_unlock(&j->lock);
        if (j->on_entry)
                j->on_entry(j->arg, copy.wall_ns, copy.gpu, copy.kind, copy.text);
}

void journal_log(struct journal *j,
                 void (*on_entry)(void *arg, int64_t wall_ns, const char *gpu, const char *kind,
                                  const char *text),
                 void *arg)
{
        j->on_entry = on_entry;
        j->arg = arg;
}

static void keep_xids(struct before *b, const struct integrals *in)
{
        b->n_xids = in->n_xids;
        memcpy(b->xids, in->xids, sizeof(b->xids));
}

static double xids_logged(const struct before *b, uint32_t number)
{
        for (size_t i = 0; i < b->n_xids; i++) {
                if (b->xids[i].xid == number)
                        return b->xids[i].n;
        }
        return 0;
}

/* Each number that came since the last look, and how often. */
static void log_xids(struct journal *j, struct before *b, const struct integrals *in,
                     const char *gpu, int64_t wall_ns)
{
        for (size_t i = 0; i < in->n_xids; i++) {
                double n = in->xids[i].n - xids_logged(b, in->xids[i].xid);
                const struct xid_info *info = xid_info(in->xids[i].xid);
                char times[32] = "";
                if (!(n > 0))
                        continue;
                if (n > 1)
                        snprintf(times, sizeof(times), ", %.0f times", n);
                journal_add(j, wall_ns, gpu, "xid", "XID %u%s%s%s", in->xids[i].xid,
                            info ? ": " : "", info ? info->text : "", times);
        }
        keep_xids(b, in);
}

static struct before *before_of(struct journal *j, const struct live_gpu *g)
{
        char key[STATE_KEY_MAX];
        live_key(&g->who, key);
        for (size_t i = 0; i < j->n_before; i++) {
                if (strcmp(j->before[i].key, key) == 0)
                        return &j->before[i];
        }
        if (!LIST_ONE_MORE(j->before, j->n_before))
                return NULL;
        struct before *b = &j->before[j->n_before++];
        *b = (struct before){.up = true};
        if (g->in.created_ns < j->opened_ns)
                keep_xids(b,
                          &g->in); /* counted by the program before this one, and reported then */
        snprintf(b->key, sizeof(b->key), "%s", key);
        return b;
}

static void watch_one(struct journal *j, const struct live_gpu *g, const struct naming *naming,
                      int64_t wall_ns)
{
        char name[GPU_NAME_MAX];
        struct before *b = before_of(j, g);
        uint32_t now = g->row.health.findings;
        naming_put_entity(naming, &g->who, name, sizeof(name));
        for (enum health_reason f = 0; b && g->up && f < HEALTH_REASON_COUNT; f++) {
                bool was = b->findings & (1u << f), is = now & (1u << f);
                char words[HEALTH_WORDS_MAX];
                if (was != is)
                        journal_add(j, wall_ns, name, "health", "%s: %s",
                                    is ? health_name(health_reason_state(f)) : "over",
                                    health_reason_words(&g->row.health, f, words, sizeof(words)));
        }
        if (b)
                log_xids(j, b, &g->in, name, wall_ns);
        if (b && b->up != g->up)
                journal_add(j, wall_ns, name, "source", "%s",
                            g->up ? "the GPU answers again" : "the GPU does not answer");
        if (b && g->up)
                b->findings = now;
        if (b)
                b->up = g->up;
}

void journal_watch(struct journal *j, const struct live_books *books, int64_t wall_ns)
{
        for (size_t i = 0; i < books->n; i++)
                watch_one(j, &books->gpus[i], &books->naming, wall_ns);
}

void journal_write(struct journal *j, struct jsonw *to)
{
        jsonw_array(to, "log");
        pthread_mutex_lock(&j->lock);
        uint64_t first = j->n > JOURNAL_MAX ? j->n - JOURNAL_MAX : 0;
        for (uint64_t i = j->n; i > first; i--) {
                const struct entry *e = &j->list[(i - 1) % JOURNAL_MAX];
                jsonw_line(to);
                jsonw_object(to, NULL);
                jsonw_number(to, "time", clock_to_seconds(e->wall_ns));
                jsonw_text(to, "gpu", e->gpu);
                jsonw_text(to, "kind", e->kind);
                jsonw_text(to, "text", e->text);
                jsonw_end(to);
        }
        pthread_mutex_unlock(&j->lock);
        jsonw_end(to);
}
