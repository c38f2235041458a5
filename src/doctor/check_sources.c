/* Where counters can come from besides NVML: DCGM's engine, an exporter. */
#include "base/attr.h"
#include "base/clock.h"
#include "doctor/checks.h"
#include "doctor/probe_http.h"
#include "net/address.h"
#include "net/token.h"
#include "read/nodes/hostlist.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EXPORTER_HOST "127.0.0.1"
#define EXPORTER_PORT "9400"
/* The start of the names of DCGM's counters, by which an exporter that has them is known. */
#define COUNTER_PREFIX "DCGM_FI_PROF_"
#define EXPORTER_PREFIX "DCGM_FI_"

#define LIST_PATIENCE_NS (10 * NS_PER_S)
#define COUNTERS_REMEDY                                                                            \
        "add the profiling fields to the exporter's list of counters (-f "                         \
        "dcp-metrics-included.csv)"

/* Programs that are known to take the counters. DCGM's tester has the version of CUDA behind its
 * name: dcgmproftester12. */
static bool takes_counters(const char *comm)
{
        static const char *const names[] = {"dcgm-exporter", "nv-hostengine", "ncu", "nsys",
                                            "nsys-launcher"};
        static const char tester[] = "dcgmproftester";
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strcmp(comm, names[i]) == 0)
                        return true;
        }
        size_t n = strlen(tester);
        return strncmp(comm, tester, n) == 0 && strspn(comm + n, "0123456789") == strlen(comm + n);
}

/* Fills "dcgm-exporter (pid 812)", or "". */
static void find_holders(const struct doctor *d, char *buf, size_t size)
{
        char folder[4096], path[300], comm[64];
        size_t len = 0;
        buf[0] = '\0';
        snprintf(folder, sizeof(folder), "%s/proc", d->source.root);
        DIR *dir = opendir(folder);
        for (const struct dirent *e; dir && (e = readdir(dir));) {
                snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
                if (!isdigit((unsigned char)e->d_name[0]) ||
                    !doctor_read(d, path, comm, sizeof(comm)))
                        continue;
                comm[strcspn(comm, "\n")] = '\0';
                if (takes_counters(comm) && len + 60 < size)
                        len += (size_t)snprintf(buf + len, size - len, "%s%s (pid %.10s)",
                                                len ? ", " : "", comm, e->d_name);
        }
        if (dir)
                closedir(dir);
}

/* Nobody needs dcgmi where NVML gives the counters, or where there is no GPU. */
static void report_failure(const struct doctor *d, const struct err *err, struct result *ret)
{
        bool absent = strstr(err->msg, "not installed") != NULL;
        result_set(ret, absent ? OUTCOME_NOTE : OUTCOME_WARN, "%s", err->msg);
        if (!absent || (!doctor_no_nvidia(d) && !doctor_gpm_works(d)))
                result_remedy(ret, "%s", err->hint);
}

void check_dcgm(const struct doctor *d, struct result *ret)
{
        const struct source_ops *ops = source_find("dcgm");
        struct source_config config = d->source;
        struct source *source;
        struct source_trouble trouble = {0};
        struct err err = {0};
        char holders[200];
        config.poll_ns = NS_PER_S;
        config.location = NULL;
        if (ops->open(&config, &source, &err) < 0) {
                report_failure(d, &err, ret);
                return;
        }
        ops->trouble(source, &trouble);
        ret->counters = !trouble.no_counters;
        if (ret->counters) {
                result_set(ret, OUTCOME_OK, "the host engine answers, with counters");
        } else {
                const char *remedy = strstr(trouble.notice, "; ");
                size_t len = remedy ? (size_t)(remedy - trouble.notice) : strlen(trouble.notice);
                find_holders(d, holders, sizeof(holders));
                result_set(ret, OUTCOME_WARN, "%.*s%s%s", (int)len, trouble.notice,
                           holders[0] ? "; there is " : "", holders);
                result_remedy(ret, "%s", remedy ? remedy + 2 : "");
        }
        ops->close(source);
}

/* "HOST:PORT/PATH", "[::1]:PORT/PATH", with user and password before an @. False when it is not
 * one. */
static bool take_apart(const char *s, struct probe_target *ret)
{
        size_t len = strcspn(s, "/?#");
        const char *at = memrchr(s, '@', len), *path = s + len;
        s = at ? at + 1 : s;
        bool v6 = s[0] == '[';
        const char *end = v6 ? memchr(s, ']', (size_t)(path - s)) : s + strcspn(s, ":/?#");
        if (!end)
                return false;
        const char *port = end[v6] == ':' ? end + v6 + 1 : "80";
        snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(end - s) + v6, s);
        snprintf(ret->port, sizeof(ret->port), "%.*s", (int)strcspn(port, "/?#"), port);
        snprintf(ret->path, sizeof(ret->path), "%s%.*s", path[0] == '/' ? "" : "/",
                 (int)strcspn(path, "#"), path);
        return true;
}

/* That of an http:// address. False for anything else. */
static bool target_of(const char *location, struct probe_target *ret)
{
        static const char scheme[] = "http://";
        struct address a;
        return location && address_parse(location, &a, NULL) == 0 &&
               strncasecmp(a.url, scheme, strlen(scheme)) == 0 &&
               take_apart(a.url + strlen(scheme), ret);
}

/* At the usual place may be anything. */
static void report_silent_port(const struct doctor *d, const struct probe_target *t, int status,
                               struct result *ret)
{
        if (status == 0 || !d->source.location) {
                result_set(ret, OUTCOME_NOTE, "none at %s:%s", t->host, t->port);
                return;
        }
        result_set(ret, OUTCOME_WARN, "%s:%s%s answers with HTTP status %d", t->host, t->port,
                   t->path, status);
        if (status == 401 || status == 403)
                result_remedy(ret, "%s",
                              t->token ? "it does not take the token of --token-file"
                                       : "give its token: --token-file FILE");
        else
                result_remedy(ret, "check the path of the address");
}

enum answer { ANSWER_SILENT, ANSWER_OTHER, ANSWER_PLAIN, ANSWER_COUNTERS };

static enum answer probe_exporter(const struct probe_target *t, int *ret_status)
{
        CLEANUP(freep) char *text = malloc(PROBE_HTTP_MAX);
        *ret_status = 0;
        size_t len = text ? probe_http(t, text, PROBE_HTTP_MAX, ret_status) : 0;
        if (len == 0)
                return ANSWER_SILENT;
        if (!memmem(text, len, EXPORTER_PREFIX, strlen(EXPORTER_PREFIX)))
                return ANSWER_OTHER;
        return memmem(text, len, COUNTER_PREFIX, strlen(COUNTER_PREFIX)) ? ANSWER_COUNTERS
                                                                         : ANSWER_PLAIN;
}

static void check_one(const struct doctor *d, const struct probe_target *t, struct result *ret)
{
        int status;
        switch (probe_exporter(t, &status)) {
        case ANSWER_SILENT:
                report_silent_port(d, t, status, ret);
                break;
        case ANSWER_OTHER:
                result_set(ret, OUTCOME_NOTE, "%s:%s answers, not with DCGM's metrics", t->host,
                           t->port);
                break;
        case ANSWER_PLAIN:
                result_set(ret, OUTCOME_WARN, "at %s:%s, without counters", t->host, t->port);
                result_remedy(ret, COUNTERS_REMEDY);
                break;
        case ANSWER_COUNTERS:
                result_set(ret, OUTCOME_OK,
                           "at %s:%s, with counters; read it with --source "
                           "http://%s:%s%s",
                           t->host, t->port, t->host, t->port, t->path);
                ret->counters = true;
                break;
        }
}

/* How those of a list answer, as far as they can be asked in a while. */
struct answers {
        size_t n[ANSWER_COUNTERS + 1], asked;
        struct probe_target bad; /* the first that does not answer as an exporter */
        int status;
};

static void probe_all(const struct hostlist *list, const char *token, struct answers *ret)
{
        int64_t until = clock_mono_ns() + LIST_PATIENCE_NS;
        for (size_t i = 0; i < list->n && clock_mono_ns() < until; i++) {
                struct probe_target t = {.token = token};
                int status = 0;
                if (!target_of(list->names[i], &t))
                        continue;
                enum answer answer = probe_exporter(&t, &status);
                if (answer <= ANSWER_OTHER && ret->n[ANSWER_SILENT] + ret->n[ANSWER_OTHER] == 0) {
                        ret->bad = t;
                        ret->status = status;
                }
                ret->n[answer]++;
                ret->asked++;
        }
}

static void check_list(const struct hostlist *list, const char *token, struct result *ret)
{
        struct answers a = {0};
        char why[64] = "it does not answer", rest[64] = "";
        probe_all(list, token, &a);
        size_t bad = a.n[ANSWER_SILENT] + a.n[ANSWER_OTHER], good = a.asked - bad;
        if (a.asked < list->n)
                snprintf(rest, sizeof(rest), "; %zu were not asked", list->n - a.asked);
        if (a.asked > 0 && bad == 0 && good == a.n[ANSWER_COUNTERS]) {
                result_set(ret, OUTCOME_OK, "%zu of %zu answer, with counters%s", good, list->n,
                           rest);
        } else {
                result_set(ret, OUTCOME_WARN, "%zu of %zu answer, %zu with counters%s", good,
                           list->n, a.n[ANSWER_COUNTERS], rest);
                if (a.status)
                        snprintf(why, sizeof(why), "it answers with HTTP status %d", a.status);
                if (bad > 0)
                        result_remedy(ret, "look at %s:%s%s: %s", a.bad.host, a.bad.port,
                                      a.bad.path, why);
                else if (a.asked > 0)
                        result_remedy(ret, COUNTERS_REMEDY);
        }
        ret->counters = a.n[ANSWER_COUNTERS] > 0;
}

void check_exporter(const struct doctor *d, struct result *ret)
{
        char token[TOKEN_MAX];
        struct hostlist list = {.addresses = true};
        struct probe_target t = {EXPORTER_HOST, EXPORTER_PORT, "/metrics", NULL};
        struct err err = {0};
        if (d->source.token_file && token_read(d->source.token_file, token, &err) < 0) {
                result_set(ret, OUTCOME_WARN, "%s", err.msg);
                result_remedy(ret, "%s", err.hint);
                return;
        }
        const char *location = d->source.location;
        bool many = location && hostlist_read(&list, "--source", location, &err) == 0 && list.n > 1;
        if (!many)
                target_of(location, &t);
        t.token = d->source.token_file ? token : NULL;
        if (many)
                check_list(&list, t.token, ret);
        else
                check_one(d, &t, ret);
        hostlist_finish(&list);
}
