#include "serve/answer.h"

#include "base/clock.h"
#include "base/num.h"
#include "present/page/page.h"
#include "serve/records.h"

#include <stdio.h>

#define COOKIE_S 604800

/* --- answers --------------------------------------------------------------------------------- */

const char *answer_header(const struct request *q, const char *name)
{
        return q->s->mhd.lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

static const char *query_of(const struct request *q, const char *name)
{
        return q->s->mhd.lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* On every answer: nothing of it is for other sites, and browsers guess nothing. */
static void add_safety(struct server *s, struct MHD_Response *r)
{
        static const char *const headers[][2] = {
            {"Content-Security-Policy",
             "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
             "'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
            {"X-Content-Type-Options", "nosniff"},
            {"Referrer-Policy", "no-referrer"},
            {"X-Frame-Options", "DENY"},
            {"Cross-Origin-Resource-Policy", "same-origin"},
            {"Cross-Origin-Opener-Policy", "same-origin"},
            {"Cache-Control", "no-store"},
        };
        for (size_t i = 0; i < ARRAY_LEN(headers); i++)
                s->mhd.add_response_header(r, headers[i][0], headers[i][1]);
}

static enum MHD_Result send_and_drop(const struct request *q, unsigned status,
                                     struct MHD_Response *r)
{
        enum MHD_Result done = q->s->mhd.queue_response(q->connection, status, r);
        q->s->mhd.destroy_response(r);
        return done;
}

/* Text is copied. */
static struct MHD_Response *make_text(struct server *s, const char *type, const char *text,
                                      size_t n)
{
        char *copy = malloc(n + 1);
        if (!copy)
                return NULL;
        memcpy(copy, text, n);
        struct MHD_Response *r = s->mhd.create_response_from_buffer(n, copy, MHD_RESPMEM_MUST_FREE);
        if (!r) {
                free(copy);
                return NULL;
        }
        add_safety(s, r);
        s->mhd.add_response_header(r, "Content-Type", type);
        return r;
}

static enum MHD_Result send_text(const struct request *q, unsigned status, const char *type,
                                 const char *text)
{
        struct MHD_Response *r = make_text(q->s, type, text, strlen(text));
        return r ? send_and_drop(q, status, r) : MHD_NO;
}

#define PLAIN "text/plain; charset=utf-8"

/* An answer that says no, with one more header when name is not NULL. */
enum MHD_Result answer_refuse(const struct request *q, unsigned status, const char *why,
                              const char *name, const char *value)
{
        struct MHD_Response *r = make_text(q->s, PLAIN, why, strlen(why));
        if (!r)
                return MHD_NO;
        if (name)
                q->s->mhd.add_response_header(r, name, value);
        if (status >= 400)
                q->s->mhd.add_response_header(r, "Connection", "close");
        return send_and_drop(q, status, r);
}

enum MHD_Result answer_elsewhere(const struct request *q, const char *folder)
{
        char to[SERVER_PREFIX_MAX + 2];
        snprintf(to, sizeof(to), "%s/", folder);
        return answer_refuse(q, MHD_HTTP_PERMANENT_REDIRECT, "", "Location", to);
}

/* JSON, made smaller when it is asked for and worth it. Frees out. */
static enum MHD_Result send_json(const struct request *q, struct strbuf *out)
{
        char *small = NULL;
        size_t n = 0;
        bool gzip = out->len > 4096 &&
                    guard_weight(answer_header(q, "Accept-Encoding"), "gzip") > 0 &&
                    zlib_gzip(out->s, out->len, &small, &n);
        struct MHD_Response *r = out->failed ? NULL
                                 : gzip      ? make_text(q->s, "application/json", small, n)
                                        : make_text(q->s, "application/json", out->s, out->len);
        if (r && gzip)
                q->s->mhd.add_response_header(r, "Content-Encoding", "gzip");
        free(small);
        strbuf_finish(out);
        return r ? send_and_drop(q, MHD_HTTP_OK, r) : MHD_NO;
}

/* --- /metrics -------------------------------------------------------------------------------- */

static void describe_self(const struct server *s, const struct live_moment *m,
                          struct exposed_self *ret)
{
        expose_self(&m->status, s->config.started_wall_ns, ret);
        ret->serves = true;
        ret->scrapes = s->scrapes;
        ret->scrape_seconds = s->scrape_seconds;
        ret->streams = (double)streams_count(s->streams);
        ret->connections = (double)conns_count(s->conns);
        ret->pushes = s->config.push != NULL;
        if (ret->pushes)
                push_counts(s->config.push, &ret->push);
}

static bool write_exposition(struct server *s, bool openmetrics, struct strbuf *out,
                             uint64_t *number)
{
        struct live_moment m;
        struct exposed_self self;
        live_take(s->config.live, &m);
        *number = m.number;
        describe_self(s, &m, &self);
        return expose_write(&s->exposer, &m, &s->config.settings->exposition, &self, openmetrics,
                            out);
}

void answer_drop_cached(struct server *s, struct cached_text *c)
{
        if (c->plain)
                s->mhd.destroy_response(c->plain);
        if (c->gzip)
                s->mhd.destroy_response(c->gzip);
        *c = (struct cached_text){0};
}

static bool fill_cached(struct server *s, struct cached_text *c, bool openmetrics)
{
        const char *type = openmetrics
                               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                               : "text/plain; version=0.0.4; charset=utf-8";
        struct strbuf out = {0};
        char *small;
        size_t n;
        int64_t begun = clock_mono_ns();
        answer_drop_cached(s, c);
        if (write_exposition(s, openmetrics, &out, &c->number))
                c->plain = make_text(s, type, out.s, out.len);
        if (c->plain && zlib_gzip(out.s, out.len, &small, &n)) {
                c->gzip = make_text(s, type, small, n);
                if (c->gzip)
                        s->mhd.add_response_header(c->gzip, "Content-Encoding", "gzip");
                free(small);
        }
        strbuf_finish(&out);
        c->made_ns = clock_mono_ns();
        s->scrape_seconds += clock_to_seconds(c->made_ns - begun);
        return c->plain != NULL;
}

/* Owners and the program's own numbers change without a tick; they may be a moment old. */
#define CACHED_NS (100 * NS_PER_MS)

static enum MHD_Result get_metrics(const struct request *q)
{
        struct server *s = q->s;
        const char *accept = answer_header(q, "Accept");
        double wish = guard_weight(accept, "application/openmetrics-text");
        bool openmetrics = wish > 0 && wish >= guard_weight(accept, "text/plain");
        struct cached_text *c = &s->cached[openmetrics ? CACHED_OPENMETRICS : CACHED_TEXT];
        if (!c->plain || clock_mono_ns() - c->made_ns > CACHED_NS ||
            c->number != live_number(s->config.live)) {
                if (!fill_cached(s, c, openmetrics))
                        return MHD_NO;
        }
        s->scrapes++;
        bool gzip = c->gzip && guard_weight(answer_header(q, "Accept-Encoding"), "gzip") > 0;
        return s->mhd.queue_response(q->connection, MHD_HTTP_OK, gzip ? c->gzip : c->plain);
}

/* --- the other paths ------------------------------------------------------------------------- */

static enum MHD_Result get_health(const struct request *q)
{
        return send_text(q, MHD_HTTP_OK, PLAIN, "OK");
}

static enum MHD_Result get_ready(const struct request *q)
{
        struct live_moment m;
        live_take(q->s->config.live, &m);
        return m.status.up
                   ? send_text(q, MHD_HTTP_OK, PLAIN, "ready\n")
                   : send_text(q, MHD_HTTP_SERVICE_UNAVAILABLE, PLAIN, "no source delivers\n");
}

static enum MHD_Result get_now(const struct request *q)
{
        struct live_moment m;
        struct strbuf out = {0};
        live_take(q->s->config.live, &m);
        api_now(&m, q->s->config.version, &out);
        return send_json(q, &out);
}

static enum MHD_Result get_processes(const struct request *q)
{
        struct live_moment m;
        struct strbuf out = {0};
        live_want_process_use(q->s->config.live);
        live_take(q->s->config.live, &m);
        api_processes(&m, &q->viewer, &out);
        return send_json(q, &out);
}

static enum MHD_Result get_findings(const struct request *q)
{
        struct live_moment m;
        struct strbuf out = {0};
        live_take(q->s->config.live, &m);
        api_findings(&m, q->s->config.journal, &out);
        return send_json(q, &out);
}

static enum MHD_Result get_history(const struct request *q)
{
        struct live_moment m;
        struct strbuf out = {0};
        const char *gpu = query_of(q, "gpu"), *text = query_of(q, "span");
        double span = PAST_FINE;
        if (text && (!num_parse_all(text, strlen(text), &span) || !(span > 0)))
                return answer_refuse(q, MHD_HTTP_BAD_REQUEST, "span: seconds, up to 86400\n", NULL,
                                     NULL);
        live_take(q->s->config.live, &m);
        if (!gpu || !api_history(&m, q->s->config.past, gpu, MIN(span, 86400.0), &out)) {
                strbuf_finish(&out);
                return answer_refuse(q, MHD_HTTP_NOT_FOUND, "there is no such GPU\n", NULL, NULL);
        }
        return send_json(q, &out);
}

static enum MHD_Result get_jobs(const struct request *q)
{
        struct strbuf out = {0};
        struct err err = {0};
        struct records_query query = {
            .limit = 200, .user = query_of(q, "user"), .wasted = query_of(q, "wasted") != NULL};
        double since;
        const char *text = query_of(q, "since");
        if (text && !num_parse_all(text, strlen(text), &since))
                return answer_refuse(q, MHD_HTTP_BAD_REQUEST, "since: seconds since 1970\n", NULL,
                                     NULL);
        if (text)
                query.since_ns = clock_from_seconds(since);
        struct jsonw j = {.out = &out};
        jsonw_object(&j, NULL);
        api_limiter_texts(&j);
        if (!q->s->config.records) {
                jsonw_array(&j, "jobs");
                jsonw_end(&j);
        } else if (records_json(q->s->config.records, &query, &j, &err) < 0) {
                strbuf_finish(&out);
                return answer_refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE,
                                     "the job records cannot be read\n", NULL, NULL);
        }
        jsonw_end(&j);
        strbuf_putc(&out, '\n');
        return send_json(q, &out);
}

static enum MHD_Result get_sessions(const struct request *q)
{
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        jsonw_object(&j, NULL);
        if (q->s->config.archive)
                archive_list(q->s->config.archive, &j);
        else
                jsonw_null(&j, "sessions");
        jsonw_end(&j);
        strbuf_putc(&out, '\n');
        return send_json(q, &out);
}

static enum MHD_Result get_report(const struct request *q)
{
        struct strbuf out = {0};
        const char *id = query_of(q, "id");
        enum archive_result found = id && q->s->config.archive
                                        ? archive_report(q->s->config.archive, id, &out)
                                        : ARCHIVE_NONE;
        enum MHD_Result done = MHD_NO;
        switch (found) {
        case ARCHIVE_EXISTS:
                done = send_text(q, MHD_HTTP_OK, PLAIN, strbuf_str(&out));
                break;
        case ARCHIVE_LATER:
                done =
                    answer_refuse(q, MHD_HTTP_ACCEPTED, "it is being made\n", "Retry-After", "1");
                break;
        case ARCHIVE_NONE:
                done = answer_refuse(q, MHD_HTTP_NOT_FOUND, "there is no such recording\n", NULL,
                                     NULL);
                break;
        case ARCHIVE_FAILED:
                done = answer_refuse(q, MHD_HTTP_UNPROCESSABLE_CONTENT,
                                     "this recording cannot be read\n", NULL, NULL);
                break;
        }
        strbuf_finish(&out);
        return done;
}

static enum MHD_Result get_events(const struct request *q)
{
        struct server *s = q->s;
        if (q->head && streams_count(s->streams) < STREAMS_MAX)
                return send_text(q, MHD_HTTP_OK, "text/event-stream", "");
        struct MHD_Response *r =
            q->head ? NULL : streams_add(s->streams, q->connection, conns_address(q->conn));
        if (!r)
                return answer_refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE, "too many live streams\n",
                                     "Retry-After", "5");
        conns_make_stream(s->conns, q->conn);
        add_safety(s, r);
        s->mhd.add_response_header(r, "Content-Type", "text/event-stream");
        s->mhd.add_response_header(r, "X-Accel-Buffering", "no");
        return send_and_drop(q, MHD_HTTP_OK, r);
}

/* A browser that shows a token once has a cookie from then on. */
static enum MHD_Result start_session(const struct request *q, enum role role, const char *to)
{
        char secret[AUTH_SECRET_MAX], cookie[416];
        struct server *s = q->s;
        if (auth_start_session(s->config.auth, role, q->owner, clock_mono_ns(), secret) < 0)
                return MHD_NO;
        snprintf(cookie, sizeof(cookie), "%s=%s; Path=%s/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
                 s->config.auth->cookie, secret, s->config.settings->prefix, COOKIE_S,
                 s->config.settings->certificate ? "; Secure" : "");
        struct MHD_Response *r = make_text(s, PLAIN, "", 0);
        if (!r)
                return MHD_NO;
        s->mhd.add_response_header(r, "Set-Cookie", cookie);
        if (to)
                s->mhd.add_response_header(r, "Location", to);
        return send_and_drop(q, to ? MHD_HTTP_SEE_OTHER : MHD_HTTP_NO_CONTENT, r);
}

static enum MHD_Result get_login(const struct request *q)
{
        return start_session(q, q->viewer.role, NULL);
}

enum MHD_Result answer_page(const struct request *q)
{
        const char *key = query_of(q, "key");
        if (key && auth_use_link(q->s->config.auth, key, clock_mono_ns()))
                return start_session(q, ROLE_VIEWER, "./");
        if (key)
                return answer_refuse(q, MHD_HTTP_FORBIDDEN, "this link was used, or is too old\n",
                                     NULL, NULL);
        for (const struct page_part *p = page_parts; p->path; p++) {
                if (strcmp(p->path, q->path) != 0)
                        continue;
                struct MHD_Response *r = make_text(q->s, p->type, p->data, p->size);
                return r ? send_and_drop(q, MHD_HTTP_OK, r) : MHD_NO;
        }
        return MHD_NO;
}

/* --- dumps ----------------------------------------------------------------------------------- */

/* So that a read-only user cannot displace older dumps with new ones. */
#define DUMP_POST_NS (60 * NS_PER_S)
#define DUMP_POST_WAIT "60"

static enum MHD_Result send_dump_status(const struct request *q, unsigned status)
{
        struct dump_status d;
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        flight_status(q->s->config.flight, &d);
        api_dump(&j, NULL, &d);
        strbuf_putc(&out, '\n');
        enum MHD_Result done =
            out.failed ? MHD_NO : send_text(q, status, "application/json", strbuf_str(&out));
        strbuf_finish(&out);
        return done;
}

static enum MHD_Result get_dump(const struct request *q)
{
        if (!q->s->config.flight)
                return answer_refuse(q, MHD_HTTP_NOT_FOUND, "no flight recorder is kept\n", NULL,
                                     NULL);
        return send_dump_status(q, MHD_HTTP_OK);
}

/*
 * A page of another site can make a browser post, with cookies, passwords and certificates that it
 * knows; it can neither show a token nor add a header of its own.
 */
static bool is_posted_on_purpose(const struct request *q)
{
        return guard_bearer(answer_header(q, "Authorization")) || answer_header(q, "X-Assay");
}

/* Why nobody may ask for a dump here, or not so; NULL when they may. */
static const char *why_no_dump(const struct request *q)
{
        if (!q->shown && !q->s->config.unix_socket)
                return "a dump needs a token: start the server with --auth-token-file\n";
        return is_posted_on_purpose(q) ? NULL : "a dump needs the token, or the header X-Assay\n";
}

static enum MHD_Result post_dump(const struct request *q)
{
        struct server *s = q->s;
        struct dump_reason reason;
        const char *alert = query_of(q, "alert"), *why = why_no_dump(q);
        int64_t now = clock_mono_ns();
        if (why)
                return answer_refuse(q, MHD_HTTP_FORBIDDEN, why, NULL, NULL);
        if (!s->config.flight)
                return get_dump(q);
        if (alert)
                flight_reason(&reason, DUMP_CAUSE_ALERT, "", "alert %.100s", alert);
        else
                flight_reason(&reason, DUMP_CAUSE_REQUEST, "", "a dump was asked for over HTTP");
        bool rested = s->dump_asked_ns == 0 || now - s->dump_asked_ns >= DUMP_POST_NS;
        if ((!alert && !rested) || !flight_request(s->config.flight, &reason))
                return answer_refuse(q, MHD_HTTP_TOO_MANY_REQUESTS, "there has just been a dump\n",
                                     "Retry-After", DUMP_POST_WAIT);
        s->dump_asked_ns = alert ? s->dump_asked_ns : now;
        return send_dump_status(q, MHD_HTTP_ACCEPTED);
}

/* Paths are matched whole. */
static const struct route routes[] = {
    {"/metrics", get_metrics, false, NULL},
    {"/health", get_health, true, NULL},
    {"/-/healthy", get_health, true, NULL},
    {"/-/ready", get_ready, true, NULL},
    {"/api/v1/now", get_now, false, NULL},
    {"/api/v1/processes", get_processes, false, NULL},
    {"/api/v1/history", get_history, false, NULL},
    {"/api/v1/findings", get_findings, false, NULL},
    {"/api/v1/jobs", get_jobs, false, NULL},
    {"/api/v1/sessions", get_sessions, false, NULL},
    {"/api/v1/report", get_report, false, NULL},
    {"/api/v1/events", get_events, false, NULL},
    {"/api/v1/login", get_login, false, NULL},
    {"/api/v1/dump", get_dump, false, post_dump},
};

const struct route *route_find(const char *path)
{
        for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
                if (strcmp(routes[i].path, path) == 0)
                        return &routes[i];
        }
        return NULL;
}

/* The page's own parts say nothing without the API. */
bool page_is_part(const char *path)
{
        for (const struct page_part *p = page_parts; p->path; p++) {
                if (strcmp(p->path, path) == 0)
                        return true;
        }
        return false;
}
