/* The keeper's side of live.c: it reads every frame once, and says who owns what. */
#include "base/clock.h"
#include "base/list.h"
#include "serve/live_inner.h"

#include <string.h>

bool live_read_books(struct live *l, struct live_books *b, int64_t wait_ns)
{
        int64_t until = clock_mono_ns() + wait_ns;
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        pthread_mutex_lock(&l->lock);
        l->books_wait = true;
        while (!l->stop && !l->released && l->booked == l->frames &&
               pthread_cond_timedwait(&l->news, &l->lock, &ts) == 0)
                ;
        l->books_wait = false;
        b->recorded = l->status.capture && !l->stands;
        b->ended = l->status.ended;
        bool news = l->booked != l->frames && LIST_RESERVE(b->gpus, l->n, b->cap) &&
                    LIST_RESERVE(b->processes, l->n_processes, b->process_cap);
        if (news) {
                l->booked = l->frames;
                b->frame = l->frame;
                b->n = live_copy_gpus(l, b->gpus, clock_mono_ns());
                live_name_gpus(b->gpus, b->n, &b->naming);
                b->n_processes = l->n_processes;
                if (l->n_processes > 0)
                        memcpy(b->processes, l->processes, l->n_processes * sizeof(*b->processes));
                b->knows_processes = l->knows_processes;
                b->is_local = l->config.source.ops->local;
        }
        pthread_mutex_unlock(&l->lock);
        return news;
}

void live_release_reader(struct live *l)
{
        pthread_mutex_lock(&l->lock);
        l->released = true;
        pthread_cond_broadcast(&l->news);
        pthread_mutex_unlock(&l->lock);
}

void live_free_books(struct live_books *b)
{
        free(b->gpus);
        free(b->processes);
        *b = (struct live_books){0};
}

void live_set_owners(struct live *l, const struct owner *owners, size_t n, size_t reported)
{
        pthread_mutex_lock(&l->lock);
        l->n_reported = MIN(reported, (size_t)OWNERS_MAX);
        l->n_owners = MIN(n, l->n_reported);
        if (l->n_reported > 0)
                memcpy(l->owners, owners, l->n_reported * sizeof(*owners));
        for (size_t i = 0; i < l->n; i++) {
                struct meter *m = &l->meters[i];
                m->gpu.owned = false;
                for (size_t k = 0; k < l->n_owners && !m->gpu.owned; k++) {
                        const struct owner *o = &l->owners[k];
                        m->gpu.owned = o->kind != OWNER_PROCESS && o->index == m->gpu.who.index &&
                                       o->gi == m->gpu.who.gi;
                }
        }
        pthread_mutex_unlock(&l->lock);
}

void live_add_holding(struct live *l, const struct owner *o, const struct holding *more)
{
        if (o->slot < 1 || o->slot > HOLDING_SLOTS)
                return;
        pthread_mutex_lock(&l->lock);
        l->held_more = true;
        for (size_t i = 0; i < l->n; i++) {
                struct meter *m = &l->meters[i];
                if (o->index != m->gpu.who.index || o->gi != m->gpu.who.gi || m->gpu.who.ci >= 0)
                        continue;
                struct holding *h = &m->gpu.in.holdings[o->slot - 1];
                h->held_s += more->held_s;
                h->observed_s += more->observed_s;
                h->idle_unobserved_s += more->idle_unobserved_s;
                h->real_s += more->real_s;
                h->process_s += more->process_s;
                h->process_seen_s += more->process_seen_s;
                for (enum idle_reason k = 0; k < IDLE_REASON_COUNT; k++)
                        h->wasted_s[k] += more->wasted_s[k];
                break;
        }
        pthread_mutex_unlock(&l->lock);
}
