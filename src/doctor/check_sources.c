/* Where counters can come from besides NVML: DCGM's engine, an exporter. */
#include "base/clock.h"
#include "doctor/checks.h"
#include "doctor/probe_http.h"
#include "read/prometheus/address.h"
#include "read/prometheus/token.h"

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
static void tell_failure(const struct doctor *d, const struct err *err, struct result *ret)
{
        bool absent = strstr(err->msg, "not installed") != NULL;
        result_say(ret, absent ? OUTCOME_NOTE : OUTCOME_WARN, "%s", err->msg);
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
                tell_failure(d, &err, ret);
                return;
        }
        ops->trouble(source, &trouble);
        ret->counters = !trouble.no_counters;
        if (ret->counters) {
                result_say(ret, OUTCOME_OK, "the host engine answers, with counters");
        } else {
                const char *remedy = strstr(trouble.notice, "; ");
                size_t len = remedy ? (size_t)(remedy - trouble.notice) : strlen(trouble.notice);
                find_holders(d, holders, sizeof(holders));
                result_say(ret, OUTCOME_WARN, "%.*s%s%s", (int)len, trouble.notice,
                           holders[0] ? "; there is " : "", holders);
                result_remedy(ret, "%s", remedy ? remedy + 2 : "");
        }
        ops->close(source);
}

/* "HOST:PORT/PATH", "[::1]:PORT/PATH", with user and password before an @. False when it is none.
 */
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

/* That of an http:// address, or the exporter's usual place. */
static void exporter_target(const struct doctor *d, struct probe_target *ret)
{
        static const char scheme[] = "http://";
        const struct probe_target usual = {EXPORTER_HOST, EXPORTER_PORT, "/metrics", NULL};
        const char *s = d->source.location;
        struct address a;
        bool named =
            s && address_parse(s, &a, NULL) == 0 && strncasecmp(a.url, scheme, strlen(scheme)) == 0;
        if (!named || !take_apart(a.url + strlen(scheme), ret))
                *ret = usual;
}

/* At the usual place may be anything. */
static void tell_silent(const struct doctor *d, const struct probe_target *t, int status,
                        struct result *ret)
{
        if (status == 0 || !d->source.location) {
                result_say(ret, OUTCOME_NOTE, "none at %s:%s", t->host, t->port);
                return;
        }
        result_say(ret, OUTCOME_WARN, "%s:%s%s answers with HTTP status %d", t->host, t->port,
                   t->path, status);
        if (status == 401 || status == 403)
                result_remedy(ret, "%s",
                              t->token ? "it does not take the token of --token-file"
                                       : "give its token: --token-file FILE");
        else
                result_remedy(ret, "check the path of the address");
}

void check_exporter(const struct doctor *d, struct result *ret)
{
        static char text[PROBE_HTTP_MAX], token[TOKEN_MAX];
        struct probe_target t = {0};
        struct err err = {0};
        int status;
        exporter_target(d, &t);
        if (d->source.token_file && token_read(d->source.token_file, token, &err) < 0) {
                result_say(ret, OUTCOME_WARN, "%s", err.msg);
                result_remedy(ret, "%s", err.hint);
                return;
        }
        t.token = d->source.token_file ? token : NULL;
        size_t len = probe_http(&t, text, sizeof(text), &status);
        bool exporter = memmem(text, len, EXPORTER_PREFIX, strlen(EXPORTER_PREFIX)) != NULL;
        if (len == 0) {
                tell_silent(d, &t, status, ret);
        } else if (!exporter) {
                result_say(ret, OUTCOME_NOTE, "%s:%s answers, not with DCGM's metrics", t.host,
                           t.port);
        } else if (memmem(text, len, COUNTER_PREFIX, strlen(COUNTER_PREFIX))) {
                result_say(ret, OUTCOME_OK,
                           "at %s:%s, with counters; read it with --source "
                           "http://%s:%s%s",
                           t.host, t.port, t.host, t.port, t.path);
                ret->counters = true;
        } else {
                result_say(ret, OUTCOME_WARN, "at %s:%s, without counters", t.host, t.port);
                result_remedy(ret,
                              "add the profiling fields to the exporter's list of counters (-f "
                              "dcp-metrics-included.csv)");
        }
}
