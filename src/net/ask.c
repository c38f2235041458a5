#include "net/ask.h"

#include "base/clock.h"
#include "base/trust.h"
#include "net/address.h"
#include "net/curl_api.h"
#include "net/token.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#define WAIT_MS 1000
#define TENANT_MAX 256

/* One question on its way. */
struct line {
        struct ask *ask;
        CURL *easy;
        struct query_request *request; /* NULL: free */
        char url[ADDRESS_MAX + 64];
        char why[CURL_ERROR_SIZE];
        int64_t begun_ns;
        bool too_big;
};

struct ask {
        struct address address;
        struct ask_config config;
        struct curl_api api;
        CURLM *multi;
        struct curl_slist *headers;
        struct line lines[ASK_PARALLEL];
        size_t bytes; /* of all answers of this round */
        char token[TOKEN_MAX];
};

static size_t receive_bytes(char *data, size_t size, size_t n, void *arg)
{
        struct line *l = arg;
        size_t len = size * n;
        l->ask->bytes += len;
        l->too_big = l->ask->bytes > ASK_BYTES_MAX;
        if (l->too_big)
                return 0;
        strbuf_put(&l->request->body, data, len);
        return l->request->body.failed ? 0 : len;
}

static void set_options(struct ask *a, struct line *l)
{
        __typeof__(curl_easy_setopt) *set = a->api.easy_setopt;
        long timeout_ms = (long)(a->config.timeout_ns / NS_PER_MS);
        set(l->easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
        set(l->easy, CURLOPT_FOLLOWLOCATION, 0L);
        set(l->easy, CURLOPT_NOSIGNAL, 1L);
        set(l->easy, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
        set(l->easy, CURLOPT_TIMEOUT_MS, timeout_ms);
        set(l->easy, CURLOPT_SSL_VERIFYPEER, 1L);
        set(l->easy, CURLOPT_SSL_VERIFYHOST, 2L);
        set(l->easy, CURLOPT_ACCEPT_ENCODING, "");
        set(l->easy, CURLOPT_USERAGENT, "assay");
        set(l->easy, CURLOPT_HTTPHEADER, a->headers);
        set(l->easy, CURLOPT_WRITEFUNCTION, receive_bytes);
        set(l->easy, CURLOPT_WRITEDATA, l);
        set(l->easy, CURLOPT_ERRORBUFFER, l->why);
        if (a->address.loopback)
                set(l->easy, CURLOPT_NOPROXY, "*");
        const char *ca = trust_env("SSL_CERT_FILE");
        if (ca && ca[0])
                set(l->easy, CURLOPT_CAINFO, ca);
}

static bool add_header(struct ask *a, const char *line)
{
        struct curl_slist *more = a->api.slist_append(a->headers, line);
        a->headers = more ? more : a->headers;
        return more != NULL;
}

static int ask_prepare(struct ask *a, struct err *err)
{
        char tenant[TENANT_MAX + 32];
        int r = curl_api_load(&a->api, err);
        if (r < 0)
                return r;
        bool made = (a->multi = a->api.multi_init()) != NULL &&
                    add_header(a, "Accept: application/json") && add_header(a, "Expect:");
        if (made && a->config.type) {
                snprintf(tenant, sizeof(tenant), "Content-Type: %s", a->config.type);
                made = add_header(a, tenant);
        }
        if (made && a->config.tenant) {
                snprintf(tenant, sizeof(tenant), "X-Scope-OrgID: %s", a->config.tenant);
                made = add_header(a, tenant);
        }
        for (size_t i = 0; made && i < ASK_PARALLEL; i++) {
                a->lines[i].ask = a;
                made = (a->lines[i].easy = a->api.easy_init()) != NULL;
                if (made)
                        set_options(a, &a->lines[i]);
        }
        return made ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* "http://host/prometheus/api/v1/" is asked as "http://host/prometheus". */
static int take_base(struct ask *a, struct err *err)
{
        char base[ADDRESS_MAX + 16];
        static const char *const ends[] = {"/", "/api/v1", "/api", "/"};
        size_t len = strlen(a->config.base);
        const char *mark = strstr(a->config.base, "://");
        if (len + 16 > ADDRESS_MAX)
                return err_set(err, ERR_USAGE, "--engine: the address is too long");
        snprintf(base, sizeof(base), "%s%s%s", mark ? "" : "http://", a->config.base,
                 strchr(mark ? mark + 3 : a->config.base, '/') ? "" : "/");
        if (address_parse(base, &a->address, NULL) < 0 || !a->address.is_url ||
            strpbrk(base, "?# \t\r\n")) {
                err_set(err, ERR_USAGE, "--engine: '%s' is not the address of an engine",
                        a->address.shown[0] ? a->address.shown : "…");
                return err_hint(err, "write http://HOST:9090 (Prometheus), http://HOST:8428 "
                                     "(VictoriaMetrics), https://HOST/prometheus (Mimir)");
        }
        char *const texts[] = {a->address.url, a->address.shown};
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
                for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
                        size_t n = strlen(texts[t]), cut = strlen(ends[i]);
                        if (n > cut && strcmp(texts[t] + n - cut, ends[i]) == 0)
                                texts[t][n - cut] = '\0';
                }
        }
        return 0;
}

static int check_tenant(const char *tenant, struct err *err)
{
        bool sane = strlen(tenant) < TENANT_MAX;
        for (const char *s = tenant; *s; s++)
                sane = sane && isgraph((unsigned char)*s);
        return sane ? 0 : err_set(err, ERR_USAGE, "--tenant: not a tenant's name");
}

void ask_close(struct ask *a)
{
        if (!a)
                return;
        for (size_t i = 0; i < ASK_PARALLEL; i++) {
                if (a->lines[i].easy)
                        a->api.easy_cleanup(a->lines[i].easy);
        }
        if (a->multi)
                a->api.multi_cleanup(a->multi);
        if (a->headers)
                a->api.slist_free_all(a->headers);
        free(a);
}

int ask_open(const struct ask_config *config, struct ask **ret, struct err *err)
{
        struct ask *a = calloc(1, sizeof(*a));
        if (!a)
                return err_set(err, -ENOMEM, "out of memory");
        a->config = *config;
        int r = config->tenant ? check_tenant(config->tenant, err) : 0;
        if (r == 0)
                r = take_base(a, err);
        if (r == 0)
                r = ask_prepare(a, err);
        if (r < 0) {
                ask_close(a);
                return r;
        }
        *ret = a;
        return 0;
}

/* Why no answer came, and what can be done about it. */
static void explain_failure(const struct ask *a, const struct line *l, CURLcode code,
                            struct err *err)
{
        const char *words = l->why[0] ? l->why : a->api.easy_strerror(code);
        char text[64];
        if (l->too_big) {
                snprintf(text, sizeof(text), "the answers are larger than %d MiB",
                         ASK_BYTES_MAX >> 20);
                words = text;
        } else if (code == CURLE_OPERATION_TIMEDOUT) {
                snprintf(text, sizeof(text), "no answer within %g s",
                         clock_to_seconds(a->config.timeout_ns));
                words = text;
        }
        err_set(err, ERR_NO_SOURCE, "cannot ask '%s': %s", a->address.shown, words);
        if (l->too_big)
                err_hint(err, "ask for less: a smaller --limit or a shorter --window");
        else if (code == CURLE_OPERATION_TIMEDOUT)
                err_hint(err, "a shorter --window asks for less, --timeout waits longer; the "
                              "recording rules of deploy/prometheus/rules make it quick "
                              "(VictoriaMetrics needs vmalert to run them)");
        else if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
                err_hint(err, "the certificate is not trusted here: add its authority with "
                              "update-ca-certificates, or name it in SSL_CERT_FILE");
        else if (code == CURLE_SSL_CONNECT_ERROR)
                err_hint(err, "the port may speak http without TLS: try http://");
        else
                err_hint(err, "is this the engine's address? Prometheus listens on port 9090, "
                              "VictoriaMetrics on 8428");
}

static bool begin_line(struct ask *a, struct line *l, struct query_request *request)
{
        __typeof__(curl_easy_setopt) *set = a->api.easy_setopt;
        l->request = request;
        l->too_big = false;
        l->why[0] = '\0';
        l->begun_ns = clock_mono_ns();
        strbuf_clear(&request->body);
        request->status = 0;
        request->err = (struct err){0};
        snprintf(l->url, sizeof(l->url), "%s%s", a->address.url, request->path);
        set(l->easy, CURLOPT_URL, l->url);
        set(l->easy, CURLOPT_POSTFIELDS, request->form);
        set(l->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(request->form));
        if (a->config.token_file) {
                set(l->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
                set(l->easy, CURLOPT_XOAUTH2_BEARER, a->token);
        }
        if (a->api.multi_add_handle(a->multi, l->easy) == CURLM_OK)
                return true;
        explain_failure(a, l, CURLE_FAILED_INIT, &request->err);
        l->request = NULL;
        return false;
}

static void end_line(struct ask *a, struct line *l, CURLcode code)
{
        struct query_request *r = l->request;
        a->api.multi_remove_handle(a->multi, l->easy);
        l->request = NULL;
        r->took_ns = clock_mono_ns() - l->begun_ns;
        if (code != CURLE_OK)
                explain_failure(a, l, code, &r->err);
        else
                a->api.easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &r->status);
}

static void end_those_done(struct ask *a)
{
        int left;
        for (CURLMsg *m; (m = a->api.multi_info_read(a->multi, &left));) {
                for (size_t i = 0; m->msg == CURLMSG_DONE && i < ASK_PARALLEL; i++) {
                        if (a->lines[i].easy == m->easy_handle && a->lines[i].request)
                                end_line(a, &a->lines[i], m->data.result);
                }
        }
}

/* Fills free lines with what is left; the number that are on their way. */
static size_t begin_more(struct ask *a, struct query_request *requests, size_t n, size_t *next)
{
        size_t busy = 0;
        for (size_t i = 0; i < ASK_PARALLEL; i++) {
                while (!a->lines[i].request && *next < n &&
                       !begin_line(a, &a->lines[i], &requests[(*next)++]))
                        ;
                busy += a->lines[i].request != NULL;
        }
        return busy;
}

static void drop_all(struct ask *a)
{
        for (size_t i = 0; i < ASK_PARALLEL; i++) {
                if (a->lines[i].request)
                        a->api.multi_remove_handle(a->multi, a->lines[i].easy);
                a->lines[i].request = NULL;
        }
}

/* The first that got no answer; NULL when there is none. */
static const struct query_request *find_failed(const struct query_request *requests, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (requests[i].err.code != 0)
                        return &requests[i];
        }
        return NULL;
}

int probe_all(struct ask *a, struct query_request *requests, size_t n, struct err *err)
{
        size_t next = 0;
        int running;
        int r = a->config.token_file ? token_read(a->config.token_file, a->token, err) : 0;
        if (r < 0)
                return r;
        a->bytes = 0;
        const struct query_request *failed = NULL;
        while (!failed && begin_more(a, requests, n, &next) > 0) {
                struct curl_waitfd wake = {.fd = a->config.wake, .events = CURL_WAIT_POLLIN};
                a->api.multi_perform(a->multi, &running);
                end_those_done(a);
                if (running > 0)
                        a->api.multi_poll(a->multi, &wake, a->config.wake >= 0, WAIT_MS, NULL);
                if (wake.revents != 0) {
                        drop_all(a);
                        return 0;
                }
                failed = find_failed(requests, next);
        }
        if (!failed)
                failed = find_failed(requests, n);
        if (!failed)
                return 1;
        drop_all(a);
        *err = failed->err;
        return err->code;
}

const char *ask_shown(const struct ask *a)
{
        return a->address.shown;
}
