#include "net/fetch.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/trust.h"
#include "net/address.h"
#include "net/curl_api.h"
#include "net/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define READ_CHUNK 65536
#define WAIT_MS 1000 /* between examines a transfer that does not move */

struct fetch {
        struct address address;
        struct fetch_config config;
        struct curl_api api; /* the rest is used for URLs only */
        CURL *easy;
        CURLM *multi;
        struct curl_slist *headers;
        struct strbuf body;
        bool too_big;
        bool posts; /* answers are cut, not refused */
        char token[TOKEN_MAX];
        char why[CURL_ERROR_SIZE]; /* curl's own words */
};

static int fail_fetch(const struct fetch *f, struct err *err, const char *why)
{
        return err_set(err, ERR_NO_SOURCE, "cannot %s '%s': %s",
                       f->config.verb ? f->config.verb : "read", f->address.shown, why);
}

static size_t receive_bytes(char *data, size_t size, size_t n, void *arg)
{
        struct fetch *f = arg;
        size_t len = size * n;
        if (f->posts) {
                strbuf_put(&f->body, data,
                           MIN(len, FETCH_ANSWER_MAX - MIN(f->body.len, (size_t)FETCH_ANSWER_MAX)));
                return len;
        }
        f->too_big = f->body.len + len > FETCH_BYTES_MAX;
        if (f->too_big)
                return 0;
        strbuf_put(&f->body, data, len);
        return f->body.failed ? 0 : len;
}

static void set_options(struct fetch *f)
{
        __typeof__(curl_easy_setopt) *set = f->api.easy_setopt;
        curl_api_set(&f->api, f->easy, &f->address, MIN(f->config.timeout_ns, FETCH_TIMEOUT_MAX_NS),
                     FETCH_BYTES_MAX);
        set(f->easy, CURLOPT_HTTPHEADER, f->headers);
        set(f->easy, CURLOPT_WRITEFUNCTION, receive_bytes);
        set(f->easy, CURLOPT_WRITEDATA, f);
        set(f->easy, CURLOPT_ERRORBUFFER, f->why);
}

static int prepare_curl(struct fetch *f, struct err *err)
{
        int r = curl_api_load(&f->api, err);
        if (r < 0)
                return r;
        f->easy = f->api.easy_init();
        f->multi = f->api.multi_init();
        f->headers = curl_api_accept(&f->api);
        if (!f->easy || !f->multi || !f->headers)
                return err_set(err, -ENOMEM, "out of memory");
        set_options(f);
        return 0;
}

void fetch_close(struct fetch *f)
{
        if (!f)
                return;
        if (f->easy)
                f->api.easy_cleanup(f->easy);
        if (f->multi)
                f->api.multi_cleanup(f->multi);
        if (f->headers)
                f->api.slist_free_all(f->headers);
        strbuf_finish(&f->body);
        free(f);
}

int fetch_open(const struct fetch_config *config, struct fetch **ret, struct err *err)
{
        struct fetch *f = calloc(1, sizeof(*f));
        if (!f)
                return err_set(err, -ENOMEM, "out of memory");
        f->config = *config;
        int r = address_parse(config->location, &f->address, err);
        if (r == 0 && f->address.is_url)
                r = prepare_curl(f, err);
        if (r < 0) {
                fetch_close(f);
                return r;
        }
        *ret = f;
        return 0;
}

/* All of a file into f->body. 0 or a negative errno. */
static int read_all(struct fetch *f, int fd)
{
        for (;;) {
                if (f->body.len > FETCH_BYTES_MAX)
                        return -EFBIG;
                if (!strbuf_reserve(&f->body, READ_CHUNK))
                        return -ENOMEM;
                ssize_t n = read(fd, f->body.s + f->body.len, READ_CHUNK);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                f->body.len += (size_t)n;
        }
}

static int get_file(struct fetch *f, struct err *err)
{
        const char *path = f->address.url;
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;
        if (fd < 0 && errno == ENOENT && strchr(path, ':') && !strchr(path, '/')) {
                fail_fetch(f, err, "there is no such file");
                return err_hint(err, "an exporter's address starts with http://, as in "
                                     "http://localhost:9400/metrics");
        }
        int r = fd < 0 ? -errno : 0;
        if (r == 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
                fail_fetch(f, err, "it is not a regular file");
                return err_hint(err, "give a file that an exporter writes, or read this one once "
                                     "with --backend replay");
        }
        if (r == 0)
                r = read_all(f, fd);
        if (r == 0)
                return 1;
        fail_fetch(f, err, strerror(-r));
        return err_hint(err, "give the file that the exporter writes, or its address: "
                             "http://HOST:9400/metrics");
}

/* Tokens change while programs run, so the file is read each time. */
static int use_token(struct fetch *f, struct err *err)
{
        int r = f->config.token_file ? token_read(f->config.token_file, f->token, err) : 0;
        if (r < 0 || !f->config.token_file)
                return r;
        f->api.easy_setopt(f->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        f->api.easy_setopt(f->easy, CURLOPT_XOAUTH2_BEARER, f->token);
        return 0;
}

/* Runs the transfer. 1 when it came to an end, 0 when woken. */
static int perform_transfer(struct fetch *f, CURLcode *ret)
{
        int running = 1, left, r = 1;
        if (f->api.multi_add_handle(f->multi, f->easy) != CURLM_OK) {
                *ret = CURLE_FAILED_INIT;
                return 1;
        }
        *ret = CURLE_RECV_ERROR;
        while (r > 0 && f->api.multi_perform(f->multi, &running) == CURLM_OK && running > 0) {
                struct curl_waitfd wake = {.fd = f->config.wake, .events = CURL_WAIT_POLLIN};
                if (f->api.multi_poll(f->multi, &wake, 1, WAIT_MS, NULL) != CURLM_OK)
                        break;
                if (wake.revents != 0)
                        r = 0;
        }
        for (CURLMsg *m; (m = f->api.multi_info_read(f->multi, &left));) {
                if (m->msg == CURLMSG_DONE)
                        *ret = m->data.result;
        }
        f->api.multi_remove_handle(f->multi, f->easy);
        return r;
}

/* Why no answer came, and what can be done about it. */
static int explain_failure(const struct fetch *f, CURLcode code, struct err *err)
{
        double timeout_s = clock_to_seconds(MIN(f->config.timeout_ns, FETCH_TIMEOUT_MAX_NS));
        char text[CURL_ERROR_SIZE + 32];
        if (f->too_big || code == CURLE_FILESIZE_EXCEEDED) {
                snprintf(text, sizeof(text), "it is larger than %d MiB", FETCH_BYTES_MAX >> 20);
                fail_fetch(f, err, text);
                return err_hint(err, "is this the address of an exporter?");
        }
        const char *words = f->why[0] ? f->why : f->api.easy_strerror(code);
        if (code == CURLE_OPERATION_TIMEDOUT) {
                snprintf(text, sizeof(text), "no answer within %g s", timeout_s);
                fail_fetch(f, err, text);
                return err_hint(err,
                                "the exporter may be overloaded or behind a firewall; a longer "
                                "--poll waits longer, up to 5 s");
        }
        fail_fetch(f, err, words);
        if (code == CURLE_COULDNT_CONNECT)
                return err_hint(err,
                                "is dcgm-exporter running? it listens on port 9400 unless told "
                                "otherwise; give its address with --source");
        if (code == CURLE_COULDNT_RESOLVE_HOST)
                return err_hint(err, "check the host's name in --source");
        if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
                return err_hint(err, "the certificate is not trusted here: add its authority with "
                                     "update-ca-certificates, or name it in SSL_CERT_FILE");
        if (code == CURLE_SSL_CONNECT_ERROR)
                return err_hint(err, "the port may speak http without TLS: try http://");
        return err_hint(err, "look at the exporter's log; see what it says with curl");
}

static int explain_status(const struct fetch *f, long status, struct err *err)
{
        char text[64], *target = NULL;
        snprintf(text, sizeof(text), "the server answers %ld", status);
        fail_fetch(f, err, text);
        if (status == 401 || status == 403)
                return err_hint(err,
                                "it wants to know who asks: give a token with --token-file, or "
                                "http://user:password@HOST…");
        if (status == 404)
                return err_hint(err, "exporters answer under /metrics: http://HOST:9400/metrics");
        if (status >= 300 && status < 400) {
                f->api.easy_getinfo(f->easy, CURLINFO_REDIRECT_URL, &target);
                struct address to;
                bool known = target && address_parse(target, &to, NULL) == 0;
                return err_hint(err,
                                "redirects are not followed; it points to %s: give that with "
                                "--source if you trust it",
                                known ? to.shown : "another address");
        }
        return err_hint(err, "look at the exporter's log");
}

static int get_url(struct fetch *f, struct err *err)
{
        CURLcode code;
        long status = 0;
        int r = use_token(f, err);
        if (r < 0)
                return r;
        f->too_big = false;
        f->why[0] = '\0';
        if (perform_transfer(f, &code) == 0)
                return 0;
        if (f->body.failed)
                return err_set(err, -ENOMEM, "out of memory");
        if (code != CURLE_OK)
                return explain_failure(f, code, err);
        f->api.easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
        return status >= 200 && status < 300 ? 1 : explain_status(f, status, err);
}

int fetch_get(struct fetch *f, const char **ret, size_t *ret_len, struct err *err)
{
        strbuf_clear(&f->body);
        int r = f->address.is_url ? get_url(f, err) : get_file(f, err);
        if (r > 0) {
                *ret = strbuf_str(&f->body);
                *ret_len = f->body.len;
        }
        return r;
}

/* Headers of this one request. False when memory is short. */
static bool set_post_headers(struct fetch *f, const struct fetch_body *body)
{
        const char *const headers[][2] = {
            {"Content-Type", body->type},
            {"Content-Encoding", body->encoding},
            {"X-Prometheus-Remote-Write-Version", body->version},
            {"Expect", ""}, /* no asking first: bodies are small */
        };
        struct curl_slist *list = NULL;
        for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
                char line[256];
                snprintf(line, sizeof(line), "%s:%s%s", headers[i][0], headers[i][1] ? " " : "",
                         headers[i][1] ? headers[i][1] : "");
                struct curl_slist *more = headers[i][1] ? f->api.slist_append(list, line) : list;
                if (headers[i][1] && !more) {
                        f->api.slist_free_all(list);
                        return false;
                }
                list = more;
        }
        f->api.slist_free_all(f->headers);
        f->headers = list;
        f->api.easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->headers);
        return true;
}

static void set_post_url(struct fetch *f, const char *query)
{
        char url[ADDRESS_MAX + 64];
        snprintf(url, sizeof(url), "%s%s%s", f->address.url,
                 !query                        ? ""
                 : strchr(f->address.url, '?') ? "&"
                                               : "?",
                 query ? query : "");
        f->api.easy_setopt(f->easy, CURLOPT_URL, url);
}

static void first_line(struct strbuf *body, char ret[FETCH_ANSWER_MAX])
{
        const char *s = strbuf_str(body);
        snprintf(ret, FETCH_ANSWER_MAX, "%.*s", (int)strcspn(s, "\r\n"), s);
        text_clean(ret);
}

int fetch_post(struct fetch *f, const struct fetch_body *body, long *ret_status,
               char ret_answer[FETCH_ANSWER_MAX], struct err *err)
{
        CURLcode code;
        long status = 0;
        if (!f->address.is_url)
                return fail_fetch(f, err, "it is not a URL");
        int r = use_token(f, err);
        if (r < 0)
                return r;
        strbuf_clear(&f->body);
        f->posts = true;
        f->too_big = false;
        f->why[0] = '\0';
        if (!set_post_headers(f, body))
                return err_set(err, -ENOMEM, "out of memory");
        set_post_url(f, body->query);
        f->api.easy_setopt(f->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)0);
        f->api.easy_setopt(f->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        f->api.easy_setopt(f->easy, CURLOPT_POSTFIELDS, body->data);
        if (perform_transfer(f, &code) == 0)
                return 0;
        f->api.easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
        /* A status that came is an answer, whatever became of its body. */
        if (code != CURLE_OK && (status < 200 || code == CURLE_OPERATION_TIMEDOUT))
                return explain_failure(f, code, err);
        *ret_status = status;
        first_line(&f->body, ret_answer);
        return 1;
}

const char *fetch_shown(const struct fetch *f)
{
        return f->address.shown;
}

const char *fetch_origin(const struct fetch *f)
{
        return f->address.origin;
}
