#include "serve/checks.h"

#include "base/clock.h"
#include "base/lookup.h"
#include "life/thread.h"
#include "serve/libraries.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WRONG_WAIT_NS (NS_PER_S / 2)
#define TURNS 1024              /* a power of two */
#define PLACES (2 * CHECKS_MAX) /* also for those that are done and not taken yet */

enum check_state { CHECK_FREE, CHECK_RESERVED, CHECK_WAITS, CHECK_RUNS, CHECK_DONE };

struct check {
        enum check_state state;
        enum check_result result;
        uint64_t address, key; /* the key is of the address and the user */
        uint64_t number;       /* in order of arrival */
        struct auth_claim claim;
        char hash[AUTH_HASH_MAX];
        void *request;
};

/* When somebody's last check was, and when the next may be. Few enough share a place. */
struct turn {
        uint64_t last;
        int64_t not_before_ns;
};

struct checks {
        pthread_mutex_t lock;
        pthread_cond_t wake;
        pthread_t thread;
        bool stop;
        void (*resume)(void *arg, void *request);
        void *arg;
        uint64_t number, turn;
        struct check list[PLACES];
        struct turn addresses[TURNS], users[TURNS];
};

static struct turn *turn_of(struct turn *turns, uint64_t key)
{
        return &turns[key & (TURNS - 1)];
}

/* Lock held. */
static void finish_check(struct checks *c, struct check *k, enum check_result result)
{
        k->state = CHECK_DONE;
        k->result = result;
        if (result != CHECK_RIGHT)
                explicit_bzero(&k->claim, sizeof(k->claim));
        c->resume(c->arg, k->request);
}

/* Whether a comes before b: the one that waited longest comes first. */
static bool comes_before(struct checks *c, const struct check *a, const struct check *b)
{
        uint64_t x = turn_of(c->addresses, a->address)->last;
        uint64_t y = turn_of(c->addresses, b->address)->last;
        if (x == y) {
                x = turn_of(c->users, a->key)->last;
                y = turn_of(c->users, b->key)->last;
        }
        return x != y ? x < y : a->number < b->number;
}

/* Lock held. The next that may be checked; NULL, and when one may be. */
static struct check *choose_next(struct checks *c, int64_t now, int64_t *ret_until)
{
        struct check *next = NULL;
        *ret_until = INT64_MAX;
        for (size_t i = 0; i < PLACES; i++) {
                struct check *k = &c->list[i];
                if (k->state != CHECK_WAITS)
                        continue;
                int64_t from = turn_of(c->users, k->key)->not_before_ns;
                if (from > now)
                        *ret_until = MIN(*ret_until, from);
                else if (!next || comes_before(c, k, next))
                        next = k;
        }
        return next;
}

/* Lock held. */
static void wait_until(struct checks *c, int64_t until)
{
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        if (until == INT64_MAX)
                pthread_cond_wait(&c->wake, &c->lock);
        else
                pthread_cond_timedwait(&c->wake, &c->lock, &ts);
}

/* Lock held, but not while it is checked. */
static void run_check(struct checks *c, struct check *k)
{
        int64_t begun = clock_mono_ns();
        struct turn *user = turn_of(c->users, k->key);
        k->state = CHECK_RUNS;
        turn_of(c->addresses, k->address)->last = user->last = ++c->turn;
        pthread_mutex_unlock(&c->lock);
        bool right = crypt_matches(k->claim.password, k->hash);
        pthread_mutex_lock(&c->lock);
        int64_t now = clock_mono_ns(), rest = now + (now - begun);
        if (!right)
                user->not_before_ns = now + WRONG_WAIT_NS;
        finish_check(c, k, right ? CHECK_RIGHT : CHECK_WRONG);
        while (!right && !c->stop && clock_mono_ns() < rest)
                wait_until(c, rest);
}

static void *check_passwords(void *arg)
{
        struct checks *c = arg;
        pthread_mutex_lock(&c->lock);
        while (!c->stop) {
                int64_t until;
                struct check *k = choose_next(c, clock_mono_ns(), &until);
                if (k)
                        run_check(c, k);
                else
                        wait_until(c, until);
        }
        pthread_mutex_unlock(&c->lock);
        return NULL;
}

int checks_open(void (*resume)(void *arg, void *request), void *arg, struct checks **ret,
                struct err *err)
{
        struct checks *c = calloc(1, sizeof(*c));
        if (!c)
                return err_set(err, -ENOMEM, "out of memory");
        c->resume = resume;
        c->arg = arg;
        pthread_mutex_init(&c->lock, NULL);
        life_init_wake(&c->wake);
        int r = life_start_thread(check_passwords, c, &c->thread);
        if (r < 0) {
                free(c);
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        *ret = c;
        return 0;
}

void checks_stop(struct checks *c)
{
        if (!c)
                return;
        pthread_mutex_lock(&c->lock);
        bool first = !c->stop;
        c->stop = true;
        for (size_t i = 0; i < PLACES; i++) {
                if (c->list[i].state == CHECK_WAITS)
                        finish_check(c, &c->list[i], CHECK_LATER);
        }
        pthread_cond_signal(&c->wake);
        pthread_mutex_unlock(&c->lock);
        if (first)
                pthread_join(c->thread, NULL);
}

void checks_close(struct checks *c)
{
        if (!c)
                return;
        checks_stop(c);
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->wake);
        explicit_bzero(c->list, sizeof(c->list));
        free(c);
}

/* Lock held. How many wait, of an address or in all. */
static size_t count_waiting(const struct checks *c, const uint64_t *address)
{
        size_t n = 0;
        for (size_t i = 0; i < PLACES; i++)
                n +=
                    c->list[i].state == CHECK_WAITS && (!address || c->list[i].address == *address);
        return n;
}

/* Lock held. The newest of the address that has most of those that wait, if it has more than the
 * newcomer's. */
static struct check *choose_victim(struct checks *c, uint64_t newcomer)
{
        struct check *victim = NULL;
        size_t most = count_waiting(c, &newcomer);
        for (size_t i = 0; i < PLACES; i++) {
                struct check *k = &c->list[i];
                size_t n = k->state == CHECK_WAITS ? count_waiting(c, &k->address) : 0;
                if (n > most || (victim && n == most && k->number > victim->number)) {
                        most = n;
                        victim = k;
                }
        }
        return victim;
}

/* Lock held. NULL when there is none. */
static struct check *find_place(struct checks *c, uint64_t address)
{
        if (c->stop)
                return NULL;
        if (count_waiting(c, NULL) >= CHECKS_MAX) {
                struct check *victim = choose_victim(c, address);
                if (!victim)
                        return NULL;
                finish_check(c, victim, CHECK_LATER);
        }
        for (size_t i = 0; i < PLACES; i++) {
                if (c->list[i].state == CHECK_FREE)
                        return &c->list[i];
        }
        return NULL;
}

struct check *checks_reserve(struct checks *c, const struct auth_claim *claim, const char *hash,
                             uint64_t address, void *request)
{
        pthread_mutex_lock(&c->lock);
        struct check *k = find_place(c, address);
        if (k) {
                *k = (struct check){.state = CHECK_RESERVED,
                                    .address = address,
                                    .key = address ^ hash_stable(claim->user, strlen(claim->user)),
                                    .number = ++c->number,
                                    .claim = *claim,
                                    .request = request};
                snprintf(k->hash, sizeof(k->hash), "%s", hash);
        }
        pthread_mutex_unlock(&c->lock);
        return k;
}

void checks_start(struct checks *c, struct check *k)
{
        pthread_mutex_lock(&c->lock);
        k->state = CHECK_WAITS;
        if (c->stop)
                finish_check(c, k, CHECK_LATER);
        pthread_cond_signal(&c->wake);
        pthread_mutex_unlock(&c->lock);
}

enum check_result checks_take(struct checks *c, struct check *k, struct auth_claim *ret)
{
        pthread_mutex_lock(&c->lock);
        enum check_result result = k->state == CHECK_DONE ? k->result : CHECK_LATER;
        if (result == CHECK_RIGHT)
                *ret = k->claim;
        explicit_bzero(k, sizeof(*k));
        pthread_mutex_unlock(&c->lock);
        return result;
}
