#include "serve/stream.h"

#include "base/clock.h"

#include <pthread.h>

/* Often enough for eyes, and half of the shortest interval that the page promises. */
#define LEAST_NS (240 * NS_PER_MS)
#define BLOCK_SIZE 32768

/* One event's text, counted by its readers. */
struct event {
        unsigned users;
        uint64_t number;
        struct strbuf text;
};

struct stream {
        struct streams *owner;
        struct MHD_Connection *connection;
        struct event *event; /* being sent; NULL for none */
        size_t at;
        uint64_t last;
        bool suspended;
        bool ended;       /* makes room for another */
        uint64_t address; /* of its reader */
};

struct streams {
        const struct mhd_api *mhd;
        void (*make)(void *arg, struct strbuf *out);
        uint64_t (*number)(void *arg);
        void *arg;
        pthread_mutex_t lock;
        struct stream *list[STREAMS_MAX];
        size_t n;
        struct event *newest; /* the HTTP thread's */
        int64_t made_ns, woken_ns;
        bool stop;
};

struct streams *streams_open(const struct mhd_api *mhd, void (*make)(void *arg, struct strbuf *out),
                             uint64_t (*number)(void *arg), void *arg)
{
        struct streams *s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        *s = (struct streams){.mhd = mhd, .make = make, .number = number, .arg = arg};
        pthread_mutex_init(&s->lock, NULL);
        return s;
}

static void unref_event(struct event *e)
{
        if (!e || --e->users > 0)
                return;
        strbuf_finish(&e->text);
        free(e);
}

void streams_close(struct streams *s)
{
        if (!s)
                return;
        unref_event(s->newest);
        pthread_mutex_destroy(&s->lock);
        free(s);
}

/* Called with the lock held. */
static void wake_stream(struct streams *s, struct stream *t)
{
        if (!t->suspended)
                return;
        t->suspended = false;
        s->mhd->resume_connection(t->connection);
}

/* Called with the lock held. */
static void wake_all(struct streams *s)
{
        for (size_t i = 0; i < s->n; i++)
                wake_stream(s, s->list[i]);
}

bool streams_wake(struct streams *s)
{
        int64_t now = clock_mono_ns();
        pthread_mutex_lock(&s->lock);
        bool any = s->n > 0;
        if (now - s->woken_ns >= LEAST_NS) {
                s->woken_ns = now;
                wake_all(s);
        }
        pthread_mutex_unlock(&s->lock);
        return any;
}

void streams_stop(struct streams *s)
{
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        wake_all(s);
        pthread_mutex_unlock(&s->lock);
}

size_t streams_count(struct streams *s)
{
        pthread_mutex_lock(&s->lock);
        size_t n = s->n;
        pthread_mutex_unlock(&s->lock);
        return n;
}

/* The newest event, made when there is something new. On the HTTP thread. */
static struct event *newest_event(struct streams *s)
{
        uint64_t number = s->number(s->arg);
        int64_t now = clock_mono_ns();
        if (s->newest && (s->newest->number == number || now - s->made_ns < LEAST_NS))
                return s->newest;
        struct event *e = calloc(1, sizeof(*e));
        if (!e)
                return s->newest;
        *e = (struct event){.users = 1, .number = number};
        strbuf_puts(&e->text, "data: ");
        s->make(s->arg, &e->text);
        strbuf_puts(&e->text, "\n\n");
        unref_event(s->newest);
        s->made_ns = now;
        return s->newest = e;
}

static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t max)
{
        struct stream *t = arg;
        struct streams *s = t->owner;
        (void)position;
        if (!t->event) {
                struct event *e = newest_event(s);
                pthread_mutex_lock(&s->lock);
                bool stop = s->stop || t->ended;
                bool wait = !stop && (!e || e->number == t->last);
                t->suspended = wait;
                if (wait)
                        s->mhd->suspend_connection(t->connection);
                pthread_mutex_unlock(&s->lock);
                if (wait)
                        return 0;
                if (stop)
                        return MHD_CONTENT_READER_END_OF_STREAM;
                e->users++;
                t->event = e;
                t->at = 0;
                t->last = e->number;
        }
        size_t n = MIN(max, t->event->text.len - t->at);
        memcpy(to, t->event->text.s + t->at, n);
        t->at += n;
        if (t->at == t->event->text.len) {
                unref_event(t->event);
                t->event = NULL;
        }
        return (ssize_t)n;
}

/* Called with the lock held. In order of arrival. */
static void leave_list(struct streams *s, const struct stream *t)
{
        size_t kept = 0;
        for (size_t i = 0; i < s->n; i++) {
                if (s->list[i] != t)
                        s->list[kept++] = s->list[i];
        }
        s->n = kept;
}

static void end_stream(void *arg)
{
        struct stream *t = arg;
        struct streams *s = t->owner;
        pthread_mutex_lock(&s->lock);
        leave_list(s, t);
        pthread_mutex_unlock(&s->lock);
        unref_event(t->event);
        free(t);
}

static size_t count_streams(const struct streams *s, uint64_t address)
{
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
                n += s->list[i]->address == address;
        return n;
}

/* Called with the lock held. Whether there is room for one more of that address. */
static bool make_stream_room(struct streams *s, uint64_t address)
{
        struct stream *victim = NULL;
        size_t most = count_streams(s, address) + 1;
        if (s->n < STREAMS_MAX)
                return true;
        for (size_t i = 0; i < s->n; i++) {
                size_t n = count_streams(s, s->list[i]->address);
                if (n > most) {
                        most = n;
                        victim = s->list[i];
                }
        }
        if (!victim)
                return false;
        victim->ended = true;
        wake_stream(s, victim);
        leave_list(s, victim);
        return true;
}

struct MHD_Response *streams_add(struct streams *s, struct MHD_Connection *connection,
                                 uint64_t address)
{
        struct stream *t = calloc(1, sizeof(*t));
        if (!t)
                return NULL;
        *t = (struct stream){.owner = s, .connection = connection, .address = address};
        pthread_mutex_lock(&s->lock);
        bool room = !s->stop && make_stream_room(s, address);
        if (room)
                s->list[s->n++] = t;
        pthread_mutex_unlock(&s->lock);
        struct MHD_Response *r =
            room ? s->mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_stream,
                                                         t, end_stream)
                 : NULL;
        if (!room)
                free(t);
        else if (!r)
                end_stream(t);
        return r;
}
