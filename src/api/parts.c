#include "api/parts.h"

#include "assay/assay.h"
#include "base/attr.h"
#include "base/list.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct stock {
        pthread_mutex_t lock;
        pid_t pid;   /* after a fork the child leaves the stock alone */
        size_t out;  /* parts that are in use */
        bool closed; /* nobody takes parts any more */
        struct part *frames, *arounds;
};

struct stock *stock_new(void)
{
        struct stock *s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        s->pid = getpid();
        pthread_mutex_init(&s->lock, NULL);
        return s;
}

static void free_frame(struct assay_frame *f)
{
        free(f->rows);
        free(f);
}

static void free_host_snapshot(struct host_snapshot *a)
{
        free(a->cores);
        free(a->labels);
        free(a->gpus);
        free(a);
}

static void free_stock(struct stock *s)
{
        for (struct part *p; (p = s->frames);) {
                s->frames = p->next;
                free_frame((struct assay_frame *)p);
        }
        for (struct part *p; (p = s->arounds);) {
                s->arounds = p->next;
                free_host_snapshot((struct host_snapshot *)p);
        }
        pthread_mutex_destroy(&s->lock);
        free(s);
}

void stock_close(struct stock *s)
{
        if (!s)
                return;
        pthread_mutex_lock(&s->lock);
        s->closed = true;
        bool last = s->out == 0;
        pthread_mutex_unlock(&s->lock);
        if (last)
                free_stock(s);
}

/* One that came back, or a new one; NULL when memory is short. */
static void *take_part(struct stock *s, struct part **list, size_t size)
{
        pthread_mutex_lock(&s->lock);
        struct part *p = *list;
        if (p)
                *list = p->next;
        s->out++;
        pthread_mutex_unlock(&s->lock);
        if (!p)
                p = calloc(1, size);
        if (p) {
                p->stock = s;
                atomic_store(&p->users, 1);
                return p;
        }
        pthread_mutex_lock(&s->lock);
        s->out--;
        pthread_mutex_unlock(&s->lock);
        return NULL;
}

/* The last to go takes a stock along that is closed. */
static void give_part_back(struct part *p, struct part **list)
{
        struct stock *s = p->stock;
        pthread_mutex_lock(&s->lock);
        p->next = *list;
        *list = p;
        bool last = --s->out == 0 && s->closed;
        pthread_mutex_unlock(&s->lock);
        if (last)
                free_stock(s);
}

/* Whether nobody uses it any more, and it can go back. In a child the stock's lock may be held by
 * a thread that does not exist there. */
static bool unref_part(struct part *p)
{
        return atomic_fetch_sub(&p->users, 1) == 1 && p->stock->pid == getpid();
}

/* ---- names ---- */

void names_unref(struct names *n)
{
        if (n && atomic_fetch_sub(&n->users, 1) == 1)
                free(n);
}

static bool same_entity(const struct entity *a, const struct entity *b)
{
        return a->slot == b->slot && a->kind == b->kind && a->index == b->index && a->gi == b->gi &&
               a->ci == b->ci && a->flat == b->flat &&
               memcmp(a->label, b->label, sizeof(a->label)) == 0 &&
               memcmp(a->text, b->text, sizeof(a->text)) == 0;
}

static bool same_names(const struct names *n, const struct frame *f)
{
        if (!n || n->n != f->n)
                return false;
        for (size_t i = 0; i < f->n; i++) {
                if (!same_entity(&n->list[i], f->rows[i].sample.who))
                        return false;
        }
        return true;
}

/* Makes *names those of the frame. False when memory is short. */
static bool keep_names(struct names **names, const struct frame *f)
{
        if (LIKELY(same_names(*names, f)))
                return true;
        struct names *n = malloc(sizeof(*n) + f->n * sizeof(n->list[0]));
        if (!n)
                return false;
        atomic_init(&n->users, 1);
        n->n = f->n;
        for (size_t i = 0; i < f->n; i++)
                memcpy(&n->list[i], f->rows[i].sample.who, sizeof(n->list[i]));
        names_unref(*names);
        *names = n;
        return true;
}

/* ---- frames ---- */

struct assay_frame *frame_make(struct stock *s, const struct frame *from, struct names **names,
                               struct host_snapshot *host_snapshot)
{
        struct assay_frame *f = take_part(s, &s->frames, sizeof(*f));
        if (!f)
                return NULL;
        f->n = 0;
        f->names = NULL;
        f->host_snapshot = NULL;
        if (!LIST_RESERVE(f->rows, from->n, f->cap) || (from->n > 0 && !keep_names(names, from))) {
                assay_frame_unref(f);
                return NULL;
        }
        f->wall_ns = from->wall_ns;
        f->mono_ns = from->mono_ns;
        f->window_ns = from->window_ns;
        f->stale = from->stale;
        snprintf(f->provenance, sizeof(f->provenance), "%s",
                 from->provenance ? from->provenance : "");
        f->n = from->n;
        if (f->n > 0) {
                f->names = *names;
                atomic_fetch_add(&f->names->users, 1);
                memcpy(f->rows, from->rows, f->n * sizeof(*f->rows));
        }
        for (size_t i = 0; i < f->n; i++)
                f->rows[i].sample.who = &f->names->list[i];
        f->host_snapshot = host_snapshot_ref(host_snapshot);
        return f;
}

assay_frame *assay_frame_ref(assay_frame *f)
{
        if (f)
                atomic_fetch_add(&f->part.users, 1);
        return f;
}

void words_free(struct words *w, size_t n)
{
        for (size_t i = 0; w && i < n; i++) {
                free(w[i].evidence);
                free(w[i].why);
                free(w[i].limit);
        }
        free(w);
}

void assay_frame_unref(assay_frame *f)
{
        if (!f || !unref_part(&f->part))
                return;
        words_free(atomic_exchange(&f->words, NULL), f->n);
        names_unref(f->names);
        host_snapshot_unref(f->host_snapshot);
        give_part_back(&f->part, &f->part.stock->frames);
}

void frame_view(const struct assay_frame *f, struct frame *ret)
{
        *ret = (struct frame){.tick = f->tick,
                              .wall_ns = f->wall_ns,
                              .mono_ns = f->mono_ns,
                              .window_ns = f->window_ns,
                              .stale = f->stale,
                              .provenance = f->provenance,
                              .n = f->n,
                              .rows = f->rows};
        frame_name_rows(ret);
}

/* ---- the host ---- */

struct host_snapshot *host_snapshot_ref(struct host_snapshot *a)
{
        if (a)
                atomic_fetch_add(&a->part.users, 1);
        return a;
}

void host_snapshot_unref(struct host_snapshot *a)
{
        if (a && unref_part(&a->part))
                give_part_back(&a->part, &a->part.stock->arounds);
}

static bool reserve_host_snapshot(struct host_snapshot *a, const struct host *h)
{
        if (!LIST_RESERVE(a->cores, h->n_cores, a->cap_cores))
                return false;
        if (h->n_gpus == 0)
                return true;
        if (!a->labels)
                a->labels = malloc(HOST_GPUS_MAX * sizeof(*a->labels));
        if (!a->gpus)
                a->gpus = malloc((size_t)LEVEL_COUNT * HOST_GPUS_MAX * sizeof(*a->gpus));
        return a->labels && a->gpus;
}

static void copy_level(struct host_snapshot *a, const struct host *h, enum level l)
{
        const struct level_state *from = &h->levels[l];
        struct host_snapshot_level *to = &a->levels[l];
        to->asked = from->asked;
        to->present = from->present;
        memcpy(to->why, from->why, sizeof(to->why));
        memcpy(to->name, from->name, sizeof(to->name));
        memcpy(to->f, from->f, sizeof(to->f));
        for (size_t i = 0; i < h->n_gpus; i++)
                a->gpus[(size_t)l * HOST_GPUS_MAX + i] = from->gpus[i];
}

struct host_snapshot *host_snapshot_make(struct stock *s, const struct host *h)
{
        struct host_snapshot *a = take_part(s, &s->arounds, sizeof(*a));
        if (!a)
                return NULL;
        if (!reserve_host_snapshot(a, h)) {
                host_snapshot_unref(a);
                return NULL;
        }
        a->tick = h->tick;
        a->asked = h->asked;
        a->taken = h->taken;
        a->late = h->late;
        a->missed = h->missed;
        a->wall_ns = h->wall_ns;
        a->mono_ns = h->mono_ns;
        a->interval_ns = h->interval_ns;
        memcpy(a->system, h->system, sizeof(a->system));
        a->n_cores = h->n_cores;
        for (size_t i = 0; i < h->n_cores; i++)
                a->cores[i] = h->cores[i].util;
        a->n_gpus = h->n_gpus;
        for (size_t i = 0; i < h->n_gpus; i++)
                memcpy(a->labels[i], h->gpus[i], sizeof(a->labels[i]));
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                copy_level(a, h, l);
        return a;
}

struct host *host_snapshot_host(const struct host_snapshot *a)
{
        struct host *h = a ? calloc(1, sizeof(*h)) : NULL;
        if (!h)
                return NULL;
        h->tick = a->tick;
        h->asked = a->asked;
        h->taken = a->taken;
        h->late = a->late;
        h->missed = a->missed;
        h->wall_ns = a->wall_ns;
        h->mono_ns = a->mono_ns;
        h->interval_ns = a->interval_ns;
        memcpy(h->system, a->system, sizeof(h->system));
        h->n_cores = a->n_cores;
        for (size_t i = 0; i < a->n_cores; i++)
                h->cores[i].util = a->cores[i];
        h->n_gpus = a->n_gpus;
        for (size_t i = 0; i < a->n_gpus; i++)
                memcpy(h->gpus[i], a->labels[i], sizeof(h->gpus[i]));
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                const struct host_snapshot_level *from = &a->levels[l];
                struct level_state *to = &h->levels[l];
                to->asked = from->asked;
                to->present = from->present;
                memcpy(to->why, from->why, sizeof(to->why));
                memcpy(to->name, from->name, sizeof(to->name));
                memcpy(to->f, from->f, sizeof(to->f));
                for (size_t i = 0; i < a->n_gpus; i++)
                        to->gpus[i] = a->gpus[(size_t)l * HOST_GPUS_MAX + i];
        }
        return h;
}
