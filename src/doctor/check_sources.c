/* Where counters can come from besides NVML: DCGM's engine, an exporter. */
#include "base/clock.h"
#include "doctor/checks.h"
#include "doctor/probe_http.h"
#include "read/prometheus/address.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define EXPORTER_HOST "127.0.0.1"
#define EXPORTER_PORT "9400"
/* The start of the names of DCGM's counters, by which an exporter that has them is known. */
#define COUNTER_PREFIX "DCGM_FI_PROF_"
#define EXPORTER_PREFIX "DCGM_FI_"

/* Programs that are known to take the counters. Fills "dcgm-exporter (pid 812)", or "". */
static void find_holders(const struct doctor *d, char *buf, size_t size)
{
        static const char *const names[] = {"dcgm-exporter", "nv-hostengine", "ncu",
                                            "nsys",          "nsys-launcher", "dcgmproftester"};
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
                for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                        if (strncmp(comm, names[i], 15) == 0 && len + 60 < size)
                                len += (size_t)snprintf(buf + len, size - len, "%s%s (pid %.10s)",
                                                        len ? ", " : "", comm, e->d_name);
                }
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

/* The host and port of an http:// address, or the exporter's usual place. */
static void exporter_address(const struct doctor *d, char *host, char *port, size_t size)
{
        const char *s = d->source.location;
        snprintf(host, size, "%s", EXPORTER_HOST);
        snprintf(port, size, "%s", EXPORTER_PORT);
        if (s && strncmp(s, "http://", 7) == 0)
                s += 7;
        else if (!s || !address_is_bare(s))
                return;
        size_t len = strcspn(s, "/:");
        snprintf(host, size, "%.*s", (int)MIN(len, size - 1), s);
        if (s[len] == ':')
                snprintf(port, size, "%.*s", (int)MIN(strcspn(s + len + 1, "/"), size - 1),
                         s + len + 1);
        else
                snprintf(port, size, "80");
}

void check_exporter(const struct doctor *d, struct result *ret)
{
        static char text[PROBE_HTTP_MAX];
        char host[128], port[128];
        exporter_address(d, host, port, sizeof(host));
        size_t len = probe_http(host, port, text, sizeof(text));
        bool exporter = memmem(text, len, EXPORTER_PREFIX, strlen(EXPORTER_PREFIX)) != NULL;
        if (len == 0) {
                result_say(ret, OUTCOME_NOTE, "none at %s:%s", host, port);
        } else if (!exporter) {
                result_say(ret, OUTCOME_NOTE, "%s:%s answers, not with DCGM's metrics", host, port);
        } else if (memmem(text, len, COUNTER_PREFIX, strlen(COUNTER_PREFIX))) {
                result_say(ret, OUTCOME_OK,
                           "at %s:%s, with counters; read it with --source "
                           "http://%s:%s/metrics",
                           host, port, host, port);
                ret->counters = true;
        } else {
                result_say(ret, OUTCOME_WARN, "at %s:%s, without counters", host, port);
                result_remedy(ret,
                              "add the profiling fields to the exporter's list of counters (-f "
                              "dcp-metrics-included.csv)");
        }
}
