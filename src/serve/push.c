#include "serve/push.h"

#include "base/clock.h"
#include "life/thread.h"
#include "net/address.h"
#include "net/fetch.h"
#include "net/token.h"
#include "serve/expose.h"
#include "serve/libraries.h"
#include "serve/push_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define WRITE_PATH "/api/v1/write"
#define IMPORT_PATH "/api/v1/import/prometheus"
#define OTLP_PATH "/v1/metrics"
#define POST_TIMEOUT_NS (5 * NS_PER_S)
#define RETRY_FIRST_NS NS_PER_S
#define RETRY_MOST_NS (30 * NS_PER_S)
#define FAREWELL_NS (5 * NS_PER_S) /* for what waits when the program ends */

/* By the path of the address. */
enum push_kind { PUSH_REMOTE_WRITE, PUSH_TEXT, PUSH_OTLP, PUSH_KINDS };

static const struct push_format {
        const char *queue; /* how a queue on disk is marked */
        const char *type, *encoding, *version;
        bool is_timed; /* the address has the time */
} push_formats[PUSH_KINDS] = {
    [PUSH_REMOTE_WRITE] = {"remote-write", "application/x-protobuf", "snappy", "0.1.0", false},
    [PUSH_TEXT] = {"text-gzip", "text/plain", "gzip", NULL, true},
    [PUSH_OTLP] = {"otlp-json", "application/json", "gzip", NULL, false},
};

struct push {
        struct push_config config;
        char url[PUSH_URL_MAX], token_file[PUSH_PATH_MAX];
        enum push_kind kind;
        struct remote_labels labels;

        /* The taker's. */
        struct remote_writer *writer;
        struct live_copy copy;
        struct exposer exposer;
        struct strbuf text, body;

        struct fetch *fetch; /* the sender's */
        int wake_fd;         /* readable: what is being sent is given up */
        unsigned seed;

        pthread_t taker, sender;
        bool taking, sending;
        pthread_mutex_t lock; /* of what follows */
        pthread_cond_t news;
        bool stop, taken_last, sent_last;
        struct push_queue *queue;
        struct exposition_options exposition;

        pthread_mutex_t published_lock; /* guards what others read; never held for long */
        struct exposed_push reported;
        bool troubled; /* now; trouble may be over and not yet reported */
        char trouble[PUSH_TEXT_MAX], refusal[PUSH_TEXT_MAX];
};

int push_check(const char *text, char ret[PUSH_URL_MAX], struct err *err)
{
        struct address a;
        const char *host = strstr(text, "://");
        if (!host || (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)) {
                err_set(err, ERR_USAGE, "--push: '%.200s' is not a URL", text);
                return err_hint(err, "give the engine's address, for example "
                                     "http://prometheus:9090" WRITE_PATH);
        }
        host += 3;
        size_t n = strcspn(host, "/?#");
        bool has_path = host[n] == '/' && host[n + 1] != '\0';
        if (n == 0 || host[n] == '?' || host[n] == '#' ||
            strlen(text) + sizeof(WRITE_PATH) > PUSH_URL_MAX)
                return err_set(err, ERR_USAGE, "--push: '%.200s' is not a URL", text);
        snprintf(ret, PUSH_URL_MAX, "%.*s%s",
                 (int)(has_path ? strlen(text) : (size_t)(host - text) + n), text,
                 has_path ? "" : WRITE_PATH);
        return address_parse(ret, &a, err);
}

int push_check_token(const char *path, struct err *err)
{
        char token[TOKEN_MAX];
        int r = token_read(path, token, err);
        explicit_bzero(token, sizeof(token));
        return r;
}

/* --- what is reported
 * ------------------------------------------------------------------------------ */

/* Called with the lock of the queue held, so that the numbers fit together. */
static void publish_counts(struct push *p, double sent, double refused, double dropped)
{
        pthread_mutex_lock(&p->published_lock);
        p->reported.batches[PUSH_SENT] += sent;
        p->reported.batches[PUSH_REFUSED] += refused;
        p->reported.batches[PUSH_DROPPED] += dropped;
        p->reported.waiting = (double)push_queue_count(p->queue);
        p->reported.waiting_bytes = (double)push_queue_bytes(p->queue);
        pthread_mutex_unlock(&p->published_lock);
}

static void publish_trouble(struct push *p, bool refused, const char *text)
{
        pthread_mutex_lock(&p->published_lock);
        if (text[0])
                snprintf(refused ? p->refusal : p->trouble, PUSH_TEXT_MAX, "%s", text);
        if (!refused)
                p->troubled = text[0] != '\0';
        pthread_mutex_unlock(&p->published_lock);
}

void push_counts(struct push *p, struct exposed_push *ret)
{
        pthread_mutex_lock(&p->published_lock);
        *ret = p->reported;
        pthread_mutex_unlock(&p->published_lock);
}

void push_trouble(struct push *p, char ret[PUSH_TEXT_MAX], char ret_refusal[PUSH_TEXT_MAX])
{
        pthread_mutex_lock(&p->published_lock);
        memcpy(ret, p->trouble, PUSH_TEXT_MAX);
        if (!p->troubled)
                p->trouble[0] = '\0';
        memcpy(ret_refusal, p->refusal, PUSH_TEXT_MAX);
        pthread_mutex_unlock(&p->published_lock);
}

void push_set_exposition(struct push *p, const struct exposition_options *exposition)
{
        pthread_mutex_lock(&p->lock);
        p->exposition = *exposition;
        pthread_mutex_unlock(&p->lock);
}

/* --- taking ------------------------------------------------------------------------------------
 */

static void enqueue_batch(struct push *p, int64_t time_ms)
{
        pthread_mutex_lock(&p->lock);
        size_t dropped = push_queue_add(p->queue, time_ms, p->body.s, p->body.len);
        publish_counts(p, 0, 0, (double)dropped);
        pthread_cond_broadcast(&p->news);
        pthread_mutex_unlock(&p->lock);
}

static bool encode_batch(struct push *p, int64_t time_ms)
{
        struct strbuf relabelled = {0};
        char *small = NULL;
        size_t n = 0;
        strbuf_clear(&p->body);
        if (p->kind == PUSH_REMOTE_WRITE)
                return remote_encode(p->writer, strbuf_str(&p->text), p->text.len, time_ms,
                                     &p->body);
        if (p->kind == PUSH_OTLP)
                otlp_encode(&p->labels, p->config.version, strbuf_str(&p->text), p->text.len,
                            time_ms, &relabelled);
        else
                remote_relabel(&p->labels, strbuf_str(&p->text), p->text.len, &relabelled);
        bool done = !relabelled.failed && zlib_gzip(relabelled.s, relabelled.len, &small, &n);
        if (done)
                strbuf_put(&p->body, small, n);
        free(small);
        strbuf_finish(&relabelled);
        return done && !p->body.failed;
}

/* One moment into the queue. Nothing is present before the source's first. */
static void take_moment(struct push *p)
{
        struct exposed_self self;
        int64_t time_ms = clock_wall_ns() / NS_PER_MS;
        if (!live_copy(p->config.live, &p->copy) || p->copy.moment.number == 0)
                return;
        expose_self(&p->copy.moment.status, p->config.started_wall_ns, &self);
        push_counts(p, &self.push);
        self.pushes = true;
        strbuf_clear(&p->text);
        pthread_mutex_lock(&p->lock);
        bool done =
            expose_write(&p->exposer, &p->copy.moment, &p->exposition, &self, false, &p->text);
        pthread_mutex_unlock(&p->lock);
        if (done && encode_batch(p, time_ms))
                enqueue_batch(p, time_ms);
}

/* The end of all series, a moment after the last values. Only remote-write has such a thing. */
static void take_ends(struct push *p)
{
        int64_t time_ms = clock_wall_ns() / NS_PER_MS + 1;
        strbuf_clear(&p->text);
        if (p->kind == PUSH_REMOTE_WRITE && remote_series(p->writer) > 0 &&
            encode_batch(p, time_ms))
                enqueue_batch(p, time_ms);
}

/* Waits until a time, or the end; false at the end. Called with the lock held. */
static bool wait_until(struct push *p, int64_t until_ns)
{
        struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        while (!p->stop && pthread_cond_timedwait(&p->news, &p->lock, &ts) == 0)
                ;
        return !p->stop;
}

static void *run_taker(void *arg)
{
        struct push *p = arg;
        int64_t next = clock_mono_ns() + MIN(p->config.every_ns, NS_PER_S);
        for (;;) {
                pthread_mutex_lock(&p->lock);
                bool go = wait_until(p, next);
                pthread_mutex_unlock(&p->lock);
                if (!go)
                        break;
                take_moment(p);
                /* After a sleep of the machine the beat continues from now. */
                next = MAX(next + p->config.every_ns, clock_mono_ns());
        }
        take_moment(p);
        take_ends(p);
        pthread_mutex_lock(&p->lock);
        p->taken_last = true;
        pthread_cond_broadcast(&p->news);
        pthread_mutex_unlock(&p->lock);
        return NULL;
}

/* --- sending -----------------------------------------------------------------------------------
 */

enum outcome { OUTCOME_SENT, OUTCOME_REFUSED, OUTCOME_LATER, OUTCOME_WOKEN };

/*
 * What an answer means. What is wrong with a body stays wrong: it is given up. Everything else may
 * be mended at the engine or in a token's file, and is tried again.
 */
static enum outcome classify_answer(struct push *p, long status, const char *answer)
{
        char text[PUSH_TEXT_MAX];
        bool refused = status == 400 || status == 413 || status == 415 || status == 422;
        if (status >= 200 && status < 300) {
                publish_trouble(p, false, "");
                return OUTCOME_SENT;
        }
        snprintf(text, sizeof(text), "%s '%.200s': the server answers %ld%s%.160s",
                 refused ? "a batch is refused by" : "cannot push to", fetch_shown(p->fetch),
                 status, answer[0] ? ": " : "", answer);
        publish_trouble(p, refused, text);
        return refused ? OUTCOME_REFUSED : OUTCOME_LATER;
}

static enum outcome post_batch(struct push *p, const struct push_item *item)
{
        struct err err = {0};
        char query[48], answer[FETCH_ANSWER_MAX];
        long status;
        snprintf(query, sizeof(query), "timestamp=%" PRId64, item->time_ms);
        const struct push_format *format = &push_formats[p->kind];
        const struct fetch_body body = {.data = item->body,
                                        .len = item->len,
                                        .type = format->type,
                                        .encoding = format->encoding,
                                        .version = format->version,
                                        .query = format->is_timed ? query : NULL};
        int r = fetch_post(p->fetch, &body, &status, answer, &err);
        if (r > 0)
                return classify_answer(p, status, answer);
        if (r < 0)
                publish_trouble(p, false, err.msg);
        return r == 0 ? OUTCOME_WOKEN : OUTCOME_LATER;
}

/* The oldest that waits. False at the end. Called with the lock held. */
static bool wait_for_item(struct push *p, struct push_item *ret)
{
        for (;;) {
                size_t lost;
                bool found = push_queue_first(p->queue, ret, &lost);
                if (lost > 0)
                        publish_counts(p, 0, 0, (double)lost);
                if (found || (p->stop && p->taken_last))
                        return found;
                pthread_cond_wait(&p->news, &p->lock);
        }
}

/* Waits after a failure, unevenly, so that a thousand nodes do not come back at once. */
static bool back_off(struct push *p, int64_t *patience)
{
        double part = 0.5 + (double)rand_r(&p->seed) / RAND_MAX / 2;
        bool go = wait_until(p, clock_mono_ns() + (int64_t)((double)*patience * part));
        *patience = MIN(*patience * 2, RETRY_MOST_NS);
        return go;
}

static void *run_sender(void *arg)
{
        struct push *p = arg;
        struct push_item item;
        int64_t patience = RETRY_FIRST_NS;
        bool go = true;
        pthread_mutex_lock(&p->lock);
        while (go && wait_for_item(p, &item)) {
                pthread_mutex_unlock(&p->lock);
                enum outcome outcome = post_batch(p, &item);
                free(item.body);
                pthread_mutex_lock(&p->lock);
                if (outcome == OUTCOME_SENT || outcome == OUTCOME_REFUSED) {
                        push_queue_done(p->queue, item.number);
                        publish_counts(p, outcome == OUTCOME_SENT, outcome == OUTCOME_REFUSED, 0);
                        patience = RETRY_FIRST_NS;
                } else {
                        go = outcome == OUTCOME_LATER && back_off(p, &patience);
                }
        }
        p->sent_last = true;
        pthread_cond_broadcast(&p->news);
        pthread_mutex_unlock(&p->lock);
        return NULL;
}

/* --- opening and closing -----------------------------------------------------------------------
 */

static void free_push(struct push *p)
{
        remote_close(p->writer);
        live_free_copy(&p->copy);
        expose_finish(&p->exposer);
        strbuf_finish(&p->text);
        strbuf_finish(&p->body);
        fetch_close(p->fetch);
        push_queue_close(p->queue);
        closep(&p->wake_fd);
        pthread_mutex_destroy(&p->lock);
        pthread_mutex_destroy(&p->published_lock);
        pthread_cond_destroy(&p->news);
        free(p);
}

static int push_prepare(struct push *p, char *notice, size_t size, struct err *err)
{
        const struct push_config *c = &p->config;
        p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        p->writer = remote_open(&p->labels);
        const struct push_queue_config qc = {
            .dir = c->dir, .kind = push_formats[p->kind].queue, .bytes_max = c->queue_bytes};
        p->queue = push_queue_open(&qc, notice, size);
        if (p->wake_fd < 0 || !p->writer || !p->queue)
                return err_set(err, -ENOMEM, "out of memory");
        const struct fetch_config fc = {.location = p->url,
                                        .token_file = c->token_file ? p->token_file : NULL,
                                        .timeout_ns = POST_TIMEOUT_NS,
                                        .wake = p->wake_fd,
                                        .verb = "push to"};
        return fetch_open(&fc, &p->fetch, err);
}

static enum push_kind kind_of(const char *url)
{
        const char *query = strchrnul(url, '?');
        size_t len = (size_t)(query - url), n = strlen(OTLP_PATH);
        if (strstr(url, IMPORT_PATH))
                return PUSH_TEXT;
        return len > n && strncmp(query - n, OTLP_PATH, n) == 0 ? PUSH_OTLP : PUSH_REMOTE_WRITE;
}

int push_open(const struct push_config *config, struct push **ret, char *notice, size_t size,
              struct err *err)
{
        struct push *p = calloc(1, sizeof(*p));
        notice[0] = '\0';
        if (!p)
                return err_set(err, -ENOMEM, "out of memory");
        p->config = *config;
        p->labels = *config->labels;
        p->exposition = *config->exposition;
        p->seed = (unsigned)clock_mono_ns();
        snprintf(p->url, sizeof(p->url), "%s", config->url);
        if (config->token_file)
                snprintf(p->token_file, sizeof(p->token_file), "%s", config->token_file);
        p->kind = kind_of(p->url);
        pthread_mutex_init(&p->lock, NULL);
        pthread_mutex_init(&p->published_lock, NULL);
        life_init_wake(&p->news);
        int r = push_prepare(p, notice, size, err);
        if (r == 0) {
                publish_counts(p, 0, 0, 0);
                r = life_start_thread(run_taker, p, &p->taker);
                p->taking = r == 0;
                if (r == 0)
                        r = life_start_thread(run_sender, p, &p->sender);
                p->sending = p->taking && r == 0;
                if (r < 0)
                        err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        if (r < 0) {
                push_close(p);
                return r;
        }
        *ret = p;
        return 0;
}

/* Lets the sender continue for a while; then what it sends is given up. */
static void wait_for_sender(struct push *p)
{
        int64_t until = clock_mono_ns() + FAREWELL_NS;
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        pthread_mutex_lock(&p->lock);
        while (!p->sent_last && pthread_cond_timedwait(&p->news, &p->lock, &ts) == 0)
                ;
        pthread_mutex_unlock(&p->lock);
        life_wake(p->wake_fd);
        pthread_join(p->sender, NULL);
}

size_t push_close(struct push *p)
{
        if (!p)
                return 0;
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_broadcast(&p->news);
        pthread_mutex_unlock(&p->lock);
        if (p->taking)
                pthread_join(p->taker, NULL);
        if (p->sending)
                wait_for_sender(p);
        size_t left = p->queue ? push_queue_count(p->queue) : 0;
        free_push(p);
        return left;
}
