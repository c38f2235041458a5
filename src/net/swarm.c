#include "net/swarm.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "net/curl_api.h"
#include "net/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define EVENTS_MOST 64
#define BUFFER_BYTES 16384L
#define DNS_KEEP_S 600L /* a lookup of a name costs a thread of libcurl's */
#define NO_TIMER INT64_MAX
#define WORDS_MAX 160

struct request {
        struct swarm *swarm;
        CURL *easy;
        char *shown, *full; /* in one piece of memory, shown first */
        struct strbuf body;
        bool under_way, too_big;
};

struct swarm {
        struct swarm_config config;
        struct curl_api api;
        CURLM *multi;
        struct curl_slist *headers;
        struct request *requests;
        size_t total; /* bytes of bodies under way */
        size_t ended; /* since swarm_run began */
        int epoll;
        int64_t timer_ns; /* when libcurl wants to be called */
        char token[TOKEN_MAX];
        bool has_token;
};

/* --- what libcurl calls -------------------------------------------------------------------- */

static size_t receive_bytes(char *data, size_t size, size_t n, void *arg)
{
        struct request *r = arg;
        size_t len = size * n;
        r->too_big = r->body.len + len > SWARM_BYTES_MAX || r->swarm->total + len > SWARM_TOTAL_MAX;
        if (r->too_big)
                return 0;
        strbuf_put(&r->body, data, len);
        r->swarm->total += len;
        return r->body.failed ? 0 : len;
}

/* known is not NULL for a descriptor that is in the epoll. */
static int watch_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *arg, void *known)
{
        struct swarm *s = arg;
        struct epoll_event e = {.data.fd = fd};
        if (what == CURL_POLL_REMOVE) {
                epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
                return 0;
        }
        e.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
        if (epoll_ctl(s->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) < 0 &&
            errno == ENOENT)
                epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
        s->api.multi_assign(s->multi, fd, s);
        return 0;
}

static int set_timer(CURLM *multi UNUSED, long ms, void *arg)
{
        struct swarm *s = arg;
        s->timer_ns = ms < 0 ? NO_TIMER : clock_mono_ns() + ms * NS_PER_MS;
        return 0;
}

/* --- opening ------------------------------------------------------------------------------- */

void swarm_close(struct swarm *s)
{
        if (!s)
                return;
        for (size_t i = 0; s->requests && i < s->config.n; i++) {
                struct request *r = &s->requests[i];
                if (r->under_way)
                        s->api.multi_remove_handle(s->multi, r->easy);
                if (r->easy)
                        s->api.easy_cleanup(r->easy);
                strbuf_finish(&r->body);
                free(r->shown);
        }
        if (s->multi)
                s->api.multi_cleanup(s->multi);
        if (s->headers)
                s->api.slist_free_all(s->headers);
        closep(&s->epoll);
        free(s->requests);
        free(s);
}

static int swarm_prepare(struct swarm *s, struct err *err)
{
        int r = curl_api_load(&s->api, err);
        if (r < 0)
                return r;
        s->multi = s->api.multi_init();
        s->headers = curl_api_accept(&s->api);
        s->requests = calloc(s->config.n, sizeof(*s->requests));
        s->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (!s->multi || !s->headers || !s->requests)
                return err_set(err, -ENOMEM, "out of memory");
        struct epoll_event wake = {.events = EPOLLIN, .data.fd = s->config.wake};
        if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->config.wake, &wake) < 0)
                return err_set(err, -errno, "cannot wait: %s", strerror(errno));
        s->api.multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
        s->api.multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s);
        s->api.multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, set_timer);
        s->api.multi_setopt(s->multi, CURLMOPT_TIMERDATA, s);
        s->api.multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)s->config.n + 16);
        if (s->config.token_file)
                r = token_read(s->config.token_file, s->token, err);
        s->has_token = s->config.token_file != NULL;
        return r;
}

int swarm_open(const struct swarm_config *config, struct swarm **ret, struct err *err)
{
        struct swarm *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        s->epoll = -1;
        s->timer_ns = NO_TIMER;
        int r = swarm_prepare(s, err);
        if (r < 0) {
                swarm_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

/* "node7:9400" and "node7:9400/metrics". */
static bool keep_names(struct request *r, const struct address *a)
{
        const char *full = strstr(a->shown, "://"), *host = strstr(a->origin, "://");
        full = full ? full + 3 : a->shown;
        host = host ? host + 3 : a->origin;
        size_t n = strlen(host) + 1, m = strlen(full) + 1;
        r->shown = malloc(n + m);
        if (!r->shown)
                return false;
        r->full = r->shown + n;
        memcpy(r->shown, host, n);
        memcpy(r->full, full, m);
        text_clean(r->shown);
        text_clean(r->full);
        return true;
}

int swarm_set(struct swarm *s, size_t i, const char *url, struct err *err)
{
        struct request *r = &s->requests[i];
        struct address a;
        int code = address_parse(url, &a, err);
        if (code < 0)
                return code;
        r->swarm = s;
        r->easy = s->api.easy_init();
        if (!r->easy || !keep_names(r, &a))
                return err_set(err, -ENOMEM, "out of memory");
        curl_api_set(&s->api, r->easy, &a, s->config.timeout_ns, SWARM_BYTES_MAX);
        s->api.easy_setopt(r->easy, CURLOPT_HTTPHEADER, s->headers);
        s->api.easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, receive_bytes);
        s->api.easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
        s->api.easy_setopt(r->easy, CURLOPT_PRIVATE, r);
        s->api.easy_setopt(r->easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
        s->api.easy_setopt(r->easy, CURLOPT_DNS_CACHE_TIMEOUT, DNS_KEEP_S);
        if (s->has_token) {
                s->api.easy_setopt(r->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
                s->api.easy_setopt(r->easy, CURLOPT_XOAUTH2_BEARER, s->token);
        }
        return 0;
}

const char *swarm_shown(const struct swarm *s, size_t i, bool full)
{
        return full ? s->requests[i].full : s->requests[i].shown;
}

/* --- asking -------------------------------------------------------------------------------- */

void swarm_request(struct swarm *s, size_t i)
{
        struct request *r = &s->requests[i];
        if (r->under_way)
                return;
        strbuf_clear(&r->body);
        r->body.failed = r->too_big = false;
        r->under_way = s->api.multi_add_handle(s->multi, r->easy) == CURLM_OK;
        if (!r->under_way)
                s->config.done(s->config.arg, i, NULL, 0, "libcurl cannot ask it", "");
}

bool swarm_is_requesting(const struct swarm *s, size_t i)
{
        return s->requests[i].under_way;
}

/* libcurl does not say that a descriptor could not be had. */
static bool has_no_room(const struct swarm *s)
{
        CLEANUP(closep) int fd = fcntl(s->epoll, F_DUPFD_CLOEXEC, 0);
        return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

static const char *explain_code(const struct swarm *s, const struct request *r, CURLcode code,
                                char *why, size_t size)
{
        if (r->too_big || code == CURLE_FILESIZE_EXCEEDED) {
                snprintf(why, size, "its answer is larger than %d MiB", SWARM_BYTES_MAX >> 20);
                return "is this the address of an exporter?";
        }
        if (code == CURLE_OPERATION_TIMEDOUT) {
                snprintf(why, size, "no answer within %g s",
                         clock_to_seconds(s->config.timeout_ns));
                return "";
        }
        if (code == CURLE_COULDNT_CONNECT && has_no_room(s)) {
                snprintf(why, size, "too many open files on this machine");
                return "raise the limit: ulimit -n";
        }
        if (code == CURLE_COULDNT_CONNECT) {
                snprintf(why, size, "nothing answers there");
                return "is the exporter running?";
        }
        if (code == CURLE_COULDNT_RESOLVE_HOST) {
                snprintf(why, size, "no such host: its name cannot be resolved");
                return "";
        }
        if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
                snprintf(why, size, "its certificate is not trusted here");
                return "name its authority in SSL_CERT_FILE";
        }
        snprintf(why, size, "%.100s", s->api.easy_strerror(code));
        return "";
}

static const char *explain_status(long status, char *why, size_t size)
{
        snprintf(why, size, "the server answers %ld", status);
        return status == 401 || status == 403  ? "give a token with --token-file"
               : status == 404                 ? "exporters answer under /metrics"
               : status >= 300 && status < 400 ? "redirects are not followed"
                                               : "";
}

static void finish_request(struct swarm *s, struct request *r, CURLcode code)
{
        char why[WORDS_MAX] = "";
        const char *hint = "";
        long status = 0;
        size_t i = (size_t)(r - s->requests);
        s->api.easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
        s->api.multi_remove_handle(s->multi, r->easy);
        r->under_way = false;
        s->ended++;
        s->total -= MIN(s->total, r->body.len);
        if (r->body.failed)
                snprintf(why, sizeof(why), "out of memory");
        else if (code != CURLE_OK)
                hint = explain_code(s, r, code, why, sizeof(why));
        else if (status < 200 || status >= 300)
                hint = explain_status(status, why, sizeof(why));
        if (why[0])
                s->config.done(s->config.arg, i, NULL, 0, why, hint);
        else
                s->config.done(s->config.arg, i, strbuf_str(&r->body), r->body.len, NULL, "");
        strbuf_finish(&r->body);
}

static void collect_finished(struct swarm *s)
{
        int left;
        for (CURLMsg *m; (m = s->api.multi_info_read(s->multi, &left));) {
                char *private = NULL;
                CURL *easy = m->easy_handle;
                CURLcode code = m->data.result;
                if (m->msg != CURLMSG_DONE)
                        continue;
                s->api.easy_getinfo(easy, CURLINFO_PRIVATE, &private);
                finish_request(s, (struct request *)(void *)private, code);
        }
}

static int wait_ms(const struct swarm *s, int64_t until_ns, int64_t now)
{
        int64_t left = MIN(until_ns, s->timer_ns) - now;
        return (int)MIN(MAX((left + NS_PER_MS - 1) / NS_PER_MS, (int64_t)0), (int64_t)1000);
}

bool swarm_run(struct swarm *s, int64_t until_ns)
{
        s->ended = 0;
        for (int64_t now = clock_mono_ns();; now = clock_mono_ns()) {
                struct epoll_event events[EVENTS_MOST];
                int running,
                    n = epoll_wait(s->epoll, events, EVENTS_MOST, wait_ms(s, until_ns, now));
                for (int i = 0; i < n; i++) {
                        unsigned e = events[i].events;
                        int mask = (e & EPOLLIN ? CURL_CSELECT_IN : 0) |
                                   (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                   (e & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
                        if (events[i].data.fd == s->config.wake)
                                return false;
                        s->api.multi_socket_action(s->multi, events[i].data.fd, mask, &running);
                }
                now = clock_mono_ns();
                if (now >= s->timer_ns) {
                        s->timer_ns = NO_TIMER;
                        s->api.multi_socket_action(s->multi, CURL_SOCKET_TIMEOUT, 0, &running);
                }
                collect_finished(s);
                if (s->ended > 0 || now >= until_ns)
                        return true;
        }
}
