#include "serve/conns.h"

#include "base/clock.h"
#include "life/thread.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEADERS_NS (5 * NS_PER_S)
#define ANSWER_NS (60 * NS_PER_S)
#define IDLE_NS (120 * NS_PER_S)
#define LOOK_LEAST_NS (250 * NS_PER_MS)

struct conn {
        struct conn *next, *previous; /* in order of arrival */
        int fd;
        bool waiting; /* no whole request yet, or none since the last */
        bool shut;    /* told to go */
        bool refused; /* there was no room */
        int64_t deadline_ns;
};

struct conns {
        pthread_mutex_t lock;
        pthread_cond_t wake;
        pthread_t thread;
        bool stop;
        struct conn *first, *last;
        size_t n, n_shut;
        int64_t next_look_ns; /* INT64_MAX: nobody has a deadline */
};

static void shut_down(struct conns *c, struct conn *conn)
{
        conn->shut = true;
        c->n_shut++;
        shutdown(conn->fd, SHUT_RDWR);
}

/* Lock held. Shuts down who is too late, and returns the next deadline. */
static int64_t look(struct conns *c, int64_t now)
{
        int64_t next = INT64_MAX;
        for (struct conn *k = c->first; k; k = k->next) {
                if (k->shut || k->deadline_ns == 0)
                        continue;
                if (now > k->deadline_ns)
                        shut_down(c, k);
                else
                        next = MIN(next, k->deadline_ns);
        }
        return next;
}

/* Sleeps until somebody may be too late, however many there are: not four times a second. */
static void *watch(void *arg)
{
        struct conns *c = arg;
        pthread_mutex_lock(&c->lock);
        while (!c->stop) {
                int64_t now = clock_mono_ns(), next = look(c, now);
                c->next_look_ns = next == INT64_MAX ? next : MAX(next, now + LOOK_LEAST_NS);
                struct timespec ts = {c->next_look_ns / NS_PER_S, c->next_look_ns % NS_PER_S};
                if (c->next_look_ns == INT64_MAX)
                        pthread_cond_wait(&c->wake, &c->lock);
                else
                        pthread_cond_timedwait(&c->wake, &c->lock, &ts);
        }
        pthread_mutex_unlock(&c->lock);
        return NULL;
}

/* Lock held. */
static void set_deadline(struct conns *c, struct conn *k, int64_t ns)
{
        k->deadline_ns = ns;
        if (ns < c->next_look_ns - LOOK_LEAST_NS)
                pthread_cond_signal(&c->wake);
}

int conns_open(struct conns **ret, struct err *err)
{
        struct conns *c = calloc(1, sizeof(*c));
        if (!c)
                return err_set(err, -ENOMEM, "out of memory");
        pthread_mutex_init(&c->lock, NULL);
        life_init_wake(&c->wake);
        c->next_look_ns = INT64_MAX;
        int r = life_start_thread(watch, c, &c->thread);
        if (r < 0) {
                free(c);
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        *ret = c;
        return 0;
}

void conns_close(struct conns *c)
{
        if (!c)
                return;
        pthread_mutex_lock(&c->lock);
        c->stop = true;
        pthread_cond_signal(&c->wake);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
        for (struct conn *k = c->first, *next; k; k = next) {
                next = k->next;
                free(k);
        }
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->wake);
        free(c);
}

/* The oldest that asks nothing. Called with the lock held. */
static bool make_room(struct conns *c, const struct conn *but)
{
        for (struct conn *k = c->first; k; k = k->next) {
                if (k->waiting && !k->shut && k != but) {
                        shut_down(c, k);
                        return true;
                }
        }
        return false;
}

struct conn *conns_start(struct conns *c, int fd)
{
        struct conn *k = calloc(1, sizeof(*k));
        if (!k)
                return NULL;
        *k = (struct conn){.fd = fd, .waiting = true};
        pthread_mutex_lock(&c->lock);
        k->previous = c->last;
        if (c->last)
                c->last->next = k;
        else
                c->first = k;
        c->last = k;
        c->n++;
        set_deadline(c, k, clock_mono_ns() + HEADERS_NS);
        if (c->n - c->n_shut > CONNS_MAX)
                k->refused = !make_room(c, k);
        pthread_mutex_unlock(&c->lock);
        return k;
}

void conns_end(struct conns *c, struct conn *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        if (k->previous)
                k->previous->next = k->next;
        else
                c->first = k->next;
        if (k->next)
                k->next->previous = k->previous;
        else
                c->last = k->previous;
        c->n--;
        c->n_shut -= k->shut;
        pthread_mutex_unlock(&c->lock);
        free(k);
}

void conns_begin_request(struct conns *c, struct conn *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        set_deadline(c, k, MIN(k->deadline_ns, clock_mono_ns() + HEADERS_NS));
        pthread_mutex_unlock(&c->lock);
}

bool conns_take_request(struct conns *c, struct conn *k)
{
        if (!k)
                return false;
        pthread_mutex_lock(&c->lock);
        k->waiting = false;
        set_deadline(c, k, clock_mono_ns() + ANSWER_NS);
        bool room = !k->refused;
        pthread_mutex_unlock(&c->lock);
        return room;
}

void conns_make_stream(struct conns *c, struct conn *k)
{
        pthread_mutex_lock(&c->lock);
        k->deadline_ns = 0;
        pthread_mutex_unlock(&c->lock);
}

void conns_end_request(struct conns *c, struct conn *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        k->waiting = true;
        set_deadline(c, k, clock_mono_ns() + IDLE_NS);
        pthread_mutex_unlock(&c->lock);
}

size_t conns_count(struct conns *c)
{
        pthread_mutex_lock(&c->lock);
        size_t n = c->n;
        pthread_mutex_unlock(&c->lock);
        return n;
}
