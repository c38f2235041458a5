#include "serve/conns.h"

#include "base/clock.h"
#include "base/lookup.h"
#include "life/thread.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEADERS_NS (5 * NS_PER_S)
#define IDLE_NS (120 * NS_PER_S)
#define CHECK_LEAST_NS (250 * NS_PER_MS)
/* Who is sent something must take so much of it in each window. */
#define WINDOW_NS (10 * NS_PER_S)
#define WINDOW_BYTES (10 * 1024)
/* Who takes less than this in a second is not reading, and is the first to make room. */
#define READ_NS NS_PER_S
#define READ_BYTES 1024
#define ADDRESSES 1024 /* a power of two */

enum phase {
        PHASE_HEADERS, /* no whole request yet */
        PHASE_CHECK,   /* its password is being checked */
        PHASE_ANSWER,
        PHASE_STREAM,
        PHASE_IDLE, /* between requests */
};

struct conn {
        struct conn *next, *previous; /* in order of arrival */
        int fd;
        enum phase phase;
        bool known;   /* showed that it is admitted */
        bool shut;    /* asked to go */
        bool refused; /* there was no room */
        bool counted; /* says how many bytes its peer has taken: TCP */
        uint64_t address;
        int64_t deadline_ns; /* of headers, or of being idle */
        int64_t window_ns, read_ns;
        uint64_t window_bytes, read_bytes; /* taken by the peer until then */
};

struct conns {
        pthread_mutex_t lock;
        pthread_cond_t wake;
        pthread_t thread;
        bool stop;
        uint64_t key;
        struct conn *first, *last;
        size_t n, n_shut;
        size_t n_unknown; /* and not shut */
        uint16_t unknown_of[ADDRESSES];
        int64_t next_check_ns; /* INT64_MAX: nobody has a deadline */
};

/* --- addresses ------------------------------------------------------------------------------- */

static uint64_t hash_address(uint64_t key, int fd)
{
        union {
                struct sockaddr any;
                struct sockaddr_in four;
                struct sockaddr_in6 six;
        } a = {0};
        struct {
                uint64_t key, address;
        } from = {.key = key};
        socklen_t n = sizeof(a);
        if (getpeername(fd, &a.any, &n) < 0)
                return 0;
        if (a.any.sa_family == AF_INET)
                from.address = a.four.sin_addr.s_addr;
        else if (a.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a.six.sin6_addr))
                memcpy(&from.address, a.six.sin6_addr.s6_addr + 12, 4);
        else if (a.any.sa_family == AF_INET6)
                memcpy(&from.address, a.six.sin6_addr.s6_addr, 8);
        else
                return 0;
        return hash_stable((const char *)&from, sizeof(from));
}

uint64_t conns_address(const struct conn *k)
{
        return k ? k->address : 0;
}

static uint16_t *unknown_of(struct conns *c, const struct conn *k)
{
        return &c->unknown_of[k->address & (ADDRESSES - 1)];
}

/* Lock held. It no longer competes for a turn. */
static void stop_competing(struct conns *c, const struct conn *k)
{
        if (k->known || k->shut)
                return;
        c->n_unknown--;
        --*unknown_of(c, k);
}

/* --- who has to go --------------------------------------------------------------------------- */

static void shut_down(struct conns *c, struct conn *k)
{
        stop_competing(c, k);
        k->shut = true;
        c->n_shut++;
        shutdown(k->fd, SHUT_RDWR);
}

/* What the peer has acknowledged, and whether something is on the way to it. */
static bool count_bytes(const struct conn *k, uint64_t *ret_taken, bool *ret_waits)
{
        struct tcp_info info = {0};
        socklen_t n = sizeof(info);
        if (!k->counted || getsockopt(k->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0 ||
            n < offsetof(struct tcp_info, tcpi_notsent_bytes) + sizeof(info.tcpi_notsent_bytes))
                return false;
        *ret_taken = info.tcpi_bytes_acked;
        *ret_waits = info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0;
        return true;
}

static void open_window(struct conn *k, int64_t now)
{
        uint64_t taken = 0;
        bool waits;
        count_bytes(k, &taken, &waits);
        k->window_ns = k->read_ns = now;
        k->window_bytes = k->read_bytes = taken;
}

/* Whether its peer takes what is sent to it. */
static bool is_read(struct conn *k, int64_t now)
{
        uint64_t taken;
        bool waits;
        if (!count_bytes(k, &taken, &waits))
                return now - k->window_ns < 6 * WINDOW_NS;
        if (taken - k->read_bytes >= READ_BYTES || (k->phase == PHASE_STREAM && !waits)) {
                k->read_ns = now;
                k->read_bytes = taken;
        }
        if (now - k->window_ns < WINDOW_NS)
                return true;
        bool fast = taken - k->window_bytes >= WINDOW_BYTES;
        /* A stream has nothing to send at times. */
        bool quiet = k->phase == PHASE_STREAM && (!waits || taken > k->window_bytes);
        k->window_ns = now;
        k->window_bytes = taken;
        return fast || quiet;
}

/* Lock held. Shuts down who is too late, and returns the next deadline. */
static int64_t end_late(struct conns *c, int64_t now)
{
        int64_t next = INT64_MAX;
        for (struct conn *k = c->first; k; k = k->next) {
                bool sends = k->phase == PHASE_ANSWER || k->phase == PHASE_STREAM;
                if (k->shut || k->phase == PHASE_CHECK)
                        continue;
                if (sends ? !is_read(k, now) : now > k->deadline_ns)
                        shut_down(c, k);
                else
                        next = MIN(next, k->phase == PHASE_ANSWER   ? now + READ_NS
                                         : k->phase == PHASE_STREAM ? now + WINDOW_NS
                                                                    : k->deadline_ns);
        }
        return next;
}

/* Sleeps until somebody may be too late, however many there are: not four times a second. */
static void *watch_connections(void *arg)
{
        struct conns *c = arg;
        pthread_mutex_lock(&c->lock);
        while (!c->stop) {
                int64_t now = clock_mono_ns(), next = end_late(c, now);
                c->next_check_ns = next == INT64_MAX ? next : MAX(next, now + CHECK_LEAST_NS);
                struct timespec ts = {c->next_check_ns / NS_PER_S, c->next_check_ns % NS_PER_S};
                if (c->next_check_ns == INT64_MAX)
                        pthread_cond_wait(&c->wake, &c->lock);
                else
                        pthread_cond_timedwait(&c->wake, &c->lock, &ts);
        }
        pthread_mutex_unlock(&c->lock);
        return NULL;
}

/* Lock held. */
static void wake_before(struct conns *c, int64_t ns)
{
        if (ns < c->next_check_ns - CHECK_LEAST_NS)
                pthread_cond_signal(&c->wake);
}

static void set_deadline(struct conns *c, struct conn *k, int64_t ns)
{
        k->deadline_ns = ns;
        wake_before(c, ns);
}

/* How readily one goes, before its age counts. */
static int rank_victim(const struct conn *k, int64_t now)
{
        switch (k->phase) {
        case PHASE_ANSWER:
        case PHASE_STREAM:
                return now - k->read_ns > READ_NS ? 2 : 0;
        case PHASE_IDLE:
                return 1;
        case PHASE_HEADERS:
        case PHASE_CHECK:
                return 0;
        }
        return 0;
}

/* Lock held. Of those unknown one of the address that has most; of the known one that is idle or
 * does not read. The list is in order of arrival, so the oldest of equals goes. */
static bool make_room(struct conns *c, const struct conn *newcomer, bool known)
{
        struct conn *victim = NULL;
        int64_t now = clock_mono_ns();
        int worst = 0;
        for (struct conn *k = c->first; k; k = k->next) {
                if (k->shut || k == newcomer || k->known != known || k->phase == PHASE_CHECK)
                        continue;
                int rank = rank_victim(k, now) + (known ? 0 : 4 * *unknown_of(c, k));
                if (rank > worst) {
                        worst = rank;
                        victim = k;
                }
        }
        if (victim)
                shut_down(c, victim);
        return victim != NULL;
}

/* --- what happens ---------------------------------------------------------------------------- */

int conns_open(uint64_t key, struct conns **ret, struct err *err)
{
        struct conns *c = calloc(1, sizeof(*c));
        if (!c)
                return err_set(err, -ENOMEM, "out of memory");
        c->key = key;
        pthread_mutex_init(&c->lock, NULL);
        life_init_wake(&c->wake);
        c->next_check_ns = INT64_MAX;
        int r = life_start_thread(watch_connections, c, &c->thread);
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

struct conn *conns_start(struct conns *c, int fd)
{
        struct conn *k = calloc(1, sizeof(*k));
        if (!k)
                return NULL;
        uint64_t address = hash_address(c->key, fd);
        *k = (struct conn){.fd = fd, .address = address, .counted = address != 0};
        pthread_mutex_lock(&c->lock);
        k->previous = c->last;
        if (c->last)
                c->last->next = k;
        else
                c->first = k;
        c->last = k;
        c->n++;
        c->n_unknown++;
        ++*unknown_of(c, k);
        set_deadline(c, k, clock_mono_ns() + HEADERS_NS);
        if (c->n_unknown > CONNS_UNKNOWN_MAX)
                make_room(c, k, false);
        if (c->n - c->n_shut > CONNS_MAX)
                k->refused = !make_room(c, k, false) && !make_room(c, k, true);
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
        stop_competing(c, k);
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
        int64_t now = clock_mono_ns();
        k->phase = PHASE_ANSWER;
        open_window(k, now);
        wake_before(c, now + READ_NS);
        bool room = !k->refused;
        pthread_mutex_unlock(&c->lock);
        return room;
}

void conns_set_user(struct conns *c, struct conn *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        stop_competing(c, k);
        k->known = true;
        pthread_mutex_unlock(&c->lock);
}

void conns_set_checking(struct conns *c, struct conn *k, bool checking)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        k->phase = checking ? PHASE_CHECK : PHASE_ANSWER;
        open_window(k, clock_mono_ns());
        pthread_mutex_unlock(&c->lock);
}

void conns_make_stream(struct conns *c, struct conn *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        k->phase = PHASE_STREAM;
        pthread_mutex_unlock(&c->lock);
}

void conns_end_request(struct conns *c, struct conn *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&c->lock);
        k->phase = PHASE_IDLE;
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
