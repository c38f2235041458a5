#include "read/listing.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/numbered.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdalign.h>
#include <string.h>

#define DENTS_SIZE (64 * 1024)
/* Whoever renews it every second or more often is not overtaken for being a little late. */
#define FRESH_MIN_NS (3 * NS_PER_S / 2)

struct listing {
        pthread_mutex_t lock;
        int proc;
        unsigned users;                /* under the lock, as all below */
        struct listing *leader;        /* whose lists are taken, once and for all; NULL: its own */
        int64_t renewed_ns, period_ns; /* of listing_renew; 0: nobody calls it */
        struct listed_processes newest;
        bool failed; /* memory is short */
        alignas(max_align_t) char dents[DENTS_SIZE];
};

int listing_open(int root, struct listing **ret)
{
        struct listing *l = calloc(1, sizeof(*l));
        if (!l)
                return -ENOMEM;
        l->proc = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (l->proc < 0) {
                int r = -errno;
                free(l);
                return r;
        }
        pthread_mutex_init(&l->lock, NULL);
        l->users = 1;
        *ret = l;
        return 0;
}

struct listing *listing_open_root(const char *root)
{
        struct listing *l = NULL;
        CLEANUP(closep) int folder = open(root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0)
                listing_open(folder, &l);
        return l;
}

struct listing *listing_share(struct listing *l)
{
        if (!l)
                return NULL;
        pthread_mutex_lock(&l->lock);
        l->users++;
        pthread_mutex_unlock(&l->lock);
        return l;
}

void listing_close(struct listing *l)
{
        if (!l)
                return;
        pthread_mutex_lock(&l->lock);
        bool last = --l->users == 0;
        pthread_mutex_unlock(&l->lock);
        if (!last)
                return;
        listing_close(l->leader);
        pthread_mutex_destroy(&l->lock);
        listed_finish(&l->newest);
        closep(&l->proc);
        free(l);
}

void listing_follow(struct listing *l, struct listing *leader)
{
        if (!l || l == leader)
                return;
        pthread_mutex_lock(&l->lock);
        if (!l->leader)
                l->leader = listing_share(leader);
        pthread_mutex_unlock(&l->lock);
}

/* The listing whose lists are taken, locked. */
static struct listing *lock_lists(struct listing *l)
{
        pthread_mutex_lock(&l->lock);
        struct listing *leader = l->leader;
        if (!leader)
                return l;
        pthread_mutex_unlock(&l->lock);
        return lock_lists(leader);
}

static void note_process(void *arg, const struct numbered *entry)
{
        struct listing *l = arg;
        struct listed_processes *p = &l->newest;
        if (entry->number == 0 || l->failed)
                return;
        l->failed = !LIST_ROOM(p->list, p->n, p->cap);
        if (!l->failed)
                p->list[p->n++] = (struct listed){entry->number, entry->inode};
}

static int list_now(struct listing *l)
{
        l->newest.n = 0;
        l->failed = false;
        int r = numbered_each(l->proc, l->dents, sizeof(l->dents), note_process, l);
        r = l->failed ? -ENOMEM : r;
        if (r < 0)
                l->renewed_ns = 0; /* a partial list is not used */
        return r;
}

static int copy_newest(const struct listing *l, struct listed_processes *ret)
{
        if (!LIST_RESERVE(ret->list, l->newest.cap, ret->cap))
                return -ENOMEM;
        ret->n = l->newest.n;
        if (ret->n > 0)
                memcpy(ret->list, l->newest.list, ret->n * sizeof(*ret->list));
        return 0;
}

int listing_renew(struct listing *l, struct listed_processes *ret)
{
        l = lock_lists(l);
        int r = list_now(l);
        if (r == 0) {
                int64_t now = clock_mono_ns();
                l->period_ns = l->renewed_ns > 0 ? now - l->renewed_ns : 0;
                l->renewed_ns = now;
                r = copy_newest(l, ret);
        }
        pthread_mutex_unlock(&l->lock);
        return r;
}

static bool is_fresh(const struct listing *l)
{
        return l->renewed_ns > 0 &&
               clock_mono_ns() - l->renewed_ns < MAX(l->period_ns * 3 / 2, FRESH_MIN_NS);
}

int listing_take(struct listing *l, struct listed_processes *ret)
{
        l = lock_lists(l);
        int r = is_fresh(l) ? 0 : list_now(l);
        if (r == 0)
                r = copy_newest(l, ret);
        pthread_mutex_unlock(&l->lock);
        return r;
}

void listed_finish(struct listed_processes *p)
{
        free(p->list);
        *p = (struct listed_processes){0};
}
