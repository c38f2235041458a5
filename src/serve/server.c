#include "serve/server.h"

#include "base/clock.h"
#include "base/lookup.h"
#include "base/num.h"
#include "read/host/users.h"
#include "serve/answer.h"

#include <errno.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define HEADERS_MAX 8192
#define POOL_BYTES (24 * 1024) /* of a connection: headers, and a block of the answer */
#define NOTHING "there is nothing here\n"
#define DRAIN_NS (NS_PER_S / 2)
#define DRAIN_ROUNDS                                                                               \
        4 /* so often in a row nobody was present: one may be between accept and its count */
#define INACTIVE_S 60 /* nothing moves, not even a byte */

/* --- who asks -------------------------------------------------------------------------------- */

#define BODY_MAX (1 << 20) /* of what is posted; nobody reads it */

/* What all headers say together: a second one of a name is not hidden behind the first. */
struct headers {
        size_t length;
        unsigned hosts;
        bool body, long_body, other_site;
};

static void note_length(struct headers *h, const char *value)
{
        uint64_t n;
        h->body |= strcmp(value, "0") != 0;
        h->long_body |= !num_parse_u64(value, strlen(value), &n) || n > BODY_MAX;
}

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
        struct headers *h = arg;
        (void)kind;
        value = value ? value : "";
        h->length += strlen(key) + strlen(value) + 4;
        if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0)
                h->hosts++;
        else if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
                note_length(h, value);
        else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
                h->body = h->long_body = true;
        else if (strcasecmp(key, "Sec-Fetch-Site") == 0)
                h->other_site |= !guard_site(value);
        return MHD_YES;
}

static int fd_of(const struct request *q)
{
        const union MHD_ConnectionInfo *info =
            q->s->mhd.get_connection_info(q->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        return info ? info->connect_fd : -1;
}

static bool has_certificate(const struct request *q)
{
        unsigned status = 1;
        const union MHD_ConnectionInfo *info =
            q->s->mhd.get_connection_info(q->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        return info && info->tls_session && q->s->mhd.verify_peers &&
               q->s->mhd.verify_peers(info->tls_session, &status) == 0 && status == 0;
}

/* A unix socket says who is at its other end. */
static void authenticate_user(struct request *q)
{
        struct ucred peer;
        socklen_t n = sizeof(peer);
        int fd = fd_of(q);
        if (!q->s->config.unix_socket || fd < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return;
        users_name(true, peer.uid, q->viewer.user, sizeof(q->viewer.user));
        if (peer.uid == 0)
                q->viewer.role = ROLE_ADMIN;
}

static enum MHD_Result reply_unauthorized(const struct request *q)
{
        return answer_refuse(
            q, MHD_HTTP_UNAUTHORIZED, "a token or password is needed\n", "WWW-Authenticate",
            q->s->config.auth->n_users > 0 ? "Basic realm=\"assay\", charset=\"UTF-8\""
                                           : "Bearer realm=\"assay\"");
}

static struct conn *conn_of(struct server *s, struct MHD_Connection *connection)
{
        const union MHD_ConnectionInfo *info =
            s->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        return info ? info->socket_context : NULL;
}

static enum MHD_Result reply_retry_later(const struct request *q)
{
        return answer_refuse(q, MHD_HTTP_TOO_MANY_REQUESTS, "too many passwords to check\n",
                             "Retry-After", "1");
}

/* The request sleeps until its password was checked; then it comes again. */
static enum MHD_Result check_password(struct request *q, const struct auth_claim *claim)
{
        struct server *s = q->s;
        const char *hash = auth_hash(s->config.auth, claim->user);
        struct check *check =
            checks_reserve(s->checks, claim, hash, conns_address(q->conn), q->connection);
        if (!check)
                return reply_retry_later(q);
        *q->context = check;
        conns_set_checking(s->conns, q->conn, true);
        s->mhd.suspend_connection(q->connection);
        checks_start(s->checks, check);
        return MHD_YES;
}

static void on_checked(void *arg, void *request)
{
        struct server *s = arg;
        s->mhd.resume_connection(request);
}

/* Takes the result of a password's check. */
static void take_check(struct request *q, struct check *check)
{
        struct auth_claim claim;
        q->checked = true;
        q->result = checks_take(q->s->checks, check, &claim);
        conns_set_checking(q->s->conns, q->conn, false);
        if (q->result == CHECK_RIGHT)
                auth_accept(q->s->config.auth, &claim);
        explicit_bzero(&claim, sizeof(claim));
}

static void set_user(struct request *q, const struct auth_claim *claim)
{
        q->owner = conns_address(q->conn) ^ hash_stable(claim->user, strlen(claim->user));
        conns_set_user(q->s->conns, q->conn);
}

/* False when it was answered or waits for its password's check; *ret says how. */
static bool authorize_request(struct request *q, bool open, enum MHD_Result *ret)
{
        struct auth *auth = q->s->config.auth;
        struct auth_claim claim = {.user = ""};
        q->viewer.role = ROLE_VIEWER;
        authenticate_user(q);
        if (q->s->config.settings->need_client_certificate) {
                if (!has_certificate(q)) {
                        *ret = answer_refuse(q, MHD_HTTP_FORBIDDEN,
                                             "a client certificate is needed\n", NULL, NULL);
                        return false;
                }
                set_user(q, &claim);
                q->shown = true;
        }
        if (!auth_is_needed(auth))
                return true;
        enum role role;
        bool needed = !open && !q->s->config.unix_socket;
        switch (auth_check(auth, answer_header(q, "Authorization"), answer_header(q, "Cookie"),
                           clock_mono_ns(), &claim, &role)) {
        case AUTH_YES:
                q->viewer.role = MAX(q->viewer.role, role);
                q->shown = true;
                set_user(q, &claim);
                return true;
        case AUTH_NO:
                if (needed)
                        *ret = reply_unauthorized(q);
                return !needed;
        case AUTH_CHECK:
                if (needed)
                        *ret = !q->checked                ? check_password(q, &claim)
                               : q->result == CHECK_LATER ? reply_retry_later(q)
                                                          : reply_unauthorized(q);
                return !needed;
        }
        return false;
}

/* The path below the prefix; NULL when it is elsewhere. */
static const char *path_below(const char *prefix, const char *path)
{
        size_t n = strlen(prefix);
        if (strncmp(path, prefix, n) != 0 || path[n] != '/')
                return NULL;
        return path + n;
}

/* Whether something may be posted to an address. */
static bool takes_posts(const struct server *s, const char *url)
{
        const char *path = path_below(s->config.settings->prefix, url);
        const struct route *r = route_find(path ? path : url);
        return r && r->post;
}

static enum MHD_Result route_request(struct request *q, const char *url)
{
        enum MHD_Result done;
        const char *prefix = q->s->config.settings->prefix;
        /* The page's parts are named from its folder. */
        if (prefix[0] && strcmp(url, prefix) == 0)
                return answer_elsewhere(q, prefix);
        q->path = path_below(prefix, url);
        /* A proxy may take the prefix away. */
        if (!q->path)
                q->path = url;
        const struct route *r = route_find(q->path);
        if (r)
                return !authorize_request(q, r->open, &done) ? done
                       : q->post                             ? r->post(q)
                                                             : r->get(q);
        if (page_is_part(q->path))
                return authorize_request(q, q->s->config.auth->n_users == 0, &done) ? answer_page(q)
                                                                                    : done;
        return answer_refuse(q, MHD_HTTP_NOT_FOUND, NOTHING, NULL, NULL);
}

/* What holds for every path, before anything is examined. */
static bool is_decent(const struct request *q, const char *method, enum MHD_Result *ret)
{
        struct headers h = {0};
        q->s->mhd.get_connection_values(q->connection, MHD_HEADER_KIND, check_header, &h);
        if (h.length > HEADERS_MAX)
                *ret = answer_refuse(q, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                                     "headers too large\n", NULL, NULL);
        else if (h.hosts > 1)
                *ret = answer_refuse(q, MHD_HTTP_BAD_REQUEST, "more than one Host header\n", NULL,
                                     NULL);
        else if (!guard_host(&q->s->config.settings->hosts, answer_header(q, "Host")))
                *ret = answer_refuse(q, MHD_HTTP_MISDIRECTED_REQUEST,
                                     "not the name of this server; --allow-host adds one\n", NULL,
                                     NULL);
        else if (h.other_site)
                *ret = answer_refuse(q, MHD_HTTP_FORBIDDEN,
                                     "not for other sites; type the address, or paste it, instead "
                                     "of following a link to it\n",
                                     NULL, NULL);
        else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && !q->head && !q->post)
                *ret = answer_refuse(q, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n", "Allow",
                                     "GET, HEAD");
        else if (q->post ? h.long_body : h.body)
                *ret = answer_refuse(q, MHD_HTTP_CONTENT_TOO_LARGE,
                                     q->post ? "no bodies of more than 1 MiB\n" : "no bodies\n",
                                     NULL, NULL);
        else
                return true;
        return false;
}

/* Their addresses are what a request's context says of it. */
static char header_is_plain; /* its headers are decent */
static char escaped; /* its path has letters written otherwise, which none of our own needs */

static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **context)
{
        struct request q = {.s = arg,
                            .connection = connection,
                            .conn = conn_of(arg, connection),
                            .context = context,
                            .head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0};
        enum MHD_Result done;
        (void)version;
        (void)upload;
        q.post = strcmp(method, MHD_HTTP_METHOD_POST) == 0 && takes_posts(q.s, url);
        if (!*context || *context == &escaped) {
                bool odd = *context == &escaped;
                *context = &header_is_plain;
                bool room = conns_take_request(q.s->conns, q.conn);
                if (!room)
                        return answer_refuse(&q, MHD_HTTP_SERVICE_UNAVAILABLE,
                                             "too many connections\n", "Retry-After", "5");
                if (!is_decent(&q, method, &done))
                        return done;
                return odd ? answer_refuse(&q, MHD_HTTP_NOT_FOUND, NOTHING, NULL, NULL) : MHD_YES;
        }
        if (q.post && *upload_size > 0) {
                *upload_size = 0;
                return MHD_YES;
        }
        if (*context != &header_is_plain) {
                take_check(&q, *context);
                *context = &header_is_plain;
        }
        return route_request(&q, url);
}

/* --- the daemon ------------------------------------------------------------------------------ */

static void *on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
        struct server *s = arg;
        conns_begin_request(s->conns, conn_of(s, connection));
        return memchr(uri, '%', strcspn(uri, "?")) ? &escaped : NULL;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why)
{
        struct server *s = arg;
        struct auth_claim unused;
        (void)why;
        if (*context && *context != &header_is_plain && *context != &escaped)
                checks_take(s->checks, *context, &unused);
        *context = NULL;
        conns_end_request(s->conns, conn_of(s, connection));
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
        struct server *s = arg;
        if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
                conns_end(s->conns, *context);
                *context = NULL;
                return;
        }
        const union MHD_ConnectionInfo *info =
            s->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = info ? conns_start(s->conns, info->connect_fd) : NULL;
}

static void make_event(void *arg, struct strbuf *out)
{
        struct server *s = arg;
        struct live_moment m;
        live_take(s->config.live, &m);
        api_now(&m, s->config.version, out);
}

static uint64_t news_number(void *arg)
{
        struct server *s = arg;
        return live_number(s->config.live);
}

/* The library's messages are about its clients; nobody needs them. */
static void ignore_message(void *arg, const char *format, va_list ap)
{
        (void)arg;
        (void)format;
        (void)ap;
}

#define TLS_ITEMS 5

static void make_tls_items(const struct server_settings *o, struct MHD_OptionItem ret[TLS_ITEMS])
{
        size_t n = 0;
        if (o->certificate) {
                ret[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, o->certificate};
                ret[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, o->key};
                ret[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                   (char *)(uintptr_t)o->tls_words};
        }
        if (o->client_ca)
                ret[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, o->client_ca};
        ret[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

static int server_start(struct server *s, struct err *err)
{
        const struct server_settings *o = s->config.settings;
        unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_SUSPEND_RESUME |
                         MHD_USE_ERROR_LOG | (o->certificate ? MHD_USE_TLS : 0);
        struct MHD_OptionItem tls[TLS_ITEMS];
        make_tls_items(o, tls);
        s->daemon = s->mhd.start_daemon(
            flags, 0, NULL, NULL, handle_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
            NULL, MHD_OPTION_LISTEN_SOCKET, s->config.fd, MHD_OPTION_CONNECTION_LIMIT,
            (unsigned)CONNS_HARD_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)INACTIVE_S,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
            on_connection, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
            MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
        if (s->daemon)
                return 0;
        err_set(err, -EIO, "cannot start the web server");
        return err_hint(err, "is the limit of open files (ulimit -n) very low?");
}

int server_check(const struct server_settings *o, struct err *err)
{
        struct mhd_api mhd;
        struct MHD_OptionItem tls[TLS_ITEMS];
        int r = mhd_api_load(&mhd, err);
        if (r < 0 || !o->certificate)
                return r;
        if (mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
                return err_set(err, ERR_USAGE, "this libmicrohttpd was built without TLS");
        make_tls_items(o, tls);
        /* It neither listens nor runs. */
        struct MHD_Daemon *daemon =
            mhd.start_daemon(MHD_USE_TLS | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0, NULL,
                             NULL, handle_request, NULL, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
                             NULL, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
        if (daemon) {
                mhd.stop_daemon(daemon);
                return 0;
        }
        err_set(err, ERR_USAGE, "cannot start the web server with this certificate and key");
        return err_hint(err, "both must be PEM files that belong together");
}

int server_open(const struct server_config *config, struct server **ret, struct err *err)
{
        struct server *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        s->quiet_fd = -1;
        int r = mhd_api_load(&s->mhd, err);
        if (r == 0)
                r = conns_open(config->auth->key[0], &s->conns, err);
        if (r == 0)
                r = checks_open(on_checked, s, &s->checks, err);
        if (r == 0) {
                s->streams = streams_open(&s->mhd, make_event, news_number, s);
                r = s->streams ? server_start(s, err) : err_set(err, -ENOMEM, "out of memory");
        }
        if (r < 0) {
                server_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

void server_drain(struct server *s)
{
        const struct timespec pause = {0, 5 * NS_PER_MS};
        int64_t until = clock_mono_ns() + DRAIN_NS;
        if (!s)
                return;
        s->quiet_fd = s->mhd.quiesce_daemon(s->daemon);
        streams_stop(s->streams);
        for (int empty = 0; empty < DRAIN_ROUNDS && clock_mono_ns() < until;) {
                nanosleep(&pause, NULL);
                empty = conns_count(s->conns) > 0 ? 0 : empty + 1;
        }
}

void server_close(struct server *s)
{
        if (!s)
                return;
        if (s->streams)
                streams_stop(s->streams);
        checks_stop(s->checks);
        if (s->daemon)
                s->mhd.stop_daemon(s->daemon);
        closep(&s->quiet_fd);
        for (size_t i = 0; i < CACHED_KINDS; i++)
                answer_drop_cached(s, &s->cached[i]);
        streams_close(s->streams);
        checks_close(s->checks);
        conns_close(s->conns);
        expose_finish(&s->exposer);
        free(s);
}

bool server_wake(struct server *s)
{
        return streams_wake(s->streams);
}
