/*
 * An exporter asked again and again, or the file one writes. Values are the exporter's averages
 * over its own collection interval, so a scrape that equals the one before is not a new sample: it
 * is given again with its age. When the exporter falls silent the last values are given as stale.
 */
#include "read/source.h"
#include "base/clock.h"
#include "formats/exposition/exposition.h"
#include "formats/exposition/text.h"
#include "life/thread.h"
#include "net/fetch.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define DEFAULT_LOCATION "http://localhost:9400/metrics"
#define RETRY_MAX_S 30

struct source {
        struct fetch *fetch;
        struct exposition *x;
        struct source_trouble trouble;
        char provenance[320];
        int wake; /* an eventfd that ends every wait */
        bool stopped;
        int64_t poll_ns;
        int64_t beat_ns;   /* when the current tick was due; 0 before the first */
        int64_t retry_ns;  /* an exporter that failed is left alone until then */
        unsigned failures; /* in a row */
        uint64_t scrapes, failed;
        uint64_t digest; /* of the values given last */
        int64_t mono_ns; /* when those arrived */
        int64_t wall_ns; /* of the scrape, when it says so */
        bool has_time;
};

static int prometheus_refuse(const struct source *s, struct err *err, const char *why)
{
        err_set(err, ERR_NO_SOURCE, "cannot use '%s': %s", fetch_shown(s->fetch), why);
        return err_hint(err,
                        "give the address of dcgm-exporter with --source; it ends in /metrics");
}

static int refuse_text(const struct source *s, const char *text, size_t len, struct err *err)
{
        char why[120];
        char start[48];
        size_t n = 0;
        while (n < len && n < sizeof(start) - 1 && text[n] != '\n' && text[n] != '\r') {
                start[n] = isprint((unsigned char)text[n]) ? text[n] : '.';
                n++;
        }
        start[n] = '\0';
        if (len == 0)
                return prometheus_refuse(s, err, "it has nothing to say yet");
        snprintf(why, sizeof(why), "it is not exposition text; it starts with \"%s\"", start);
        return prometheus_refuse(s, err, why);
}

static void count_bad_line(struct source *s, uint64_t number, bool cut)
{
        if (s->trouble.first_line == 0)
                s->trouble.first_line = number;
        if (cut)
                s->trouble.cut++;
        else
                s->trouble.skipped++;
}

/* A series that comes twice in one scrape keeps its first value. */
static void read_text(struct source *s, const char *text, size_t len)
{
        uint64_t number = 0;
        exposition_begin(s->x);
        for (const char *end = text + len; text < end; number++) {
                const char *nl = memchr(text, '\n', (size_t)(end - text));
                size_t n = nl ? (size_t)(nl - text) : (size_t)(end - text);
                const char *line = text;
                text = nl ? nl + 1 : end;
                if (n > 0 && line[n - 1] == '\r')
                        n--;
                enum exposition_line r = exposition_line(s->x, line, n);
                if (r == EXPOSITION_BAD || r == EXPOSITION_FULL)
                        count_bad_line(s, number + 1, !nl);
        }
}

/* 1 with new text read, 0 when woken, or a negative code with err. */
static int scrape_once(struct source *s, struct err *err)
{
        const char *text;
        size_t len;
        s->scrapes++;
        int r = fetch_get(s->fetch, &text, &len, err);
        if (r <= 0)
                return r;
        if (!exposition_probe(text, len))
                return refuse_text(s, text, len, err);
        read_text(s, text, len);
        if (exposition_entities(s->x) == 0)
                return prometheus_refuse(s, err, "it says nothing about GPUs");
        return 1;
}

/* Notes what the scrape brought. */
static void accept_scrape(struct source *s)
{
        uint64_t digest = exposition_digest(s->x);
        bool first = s->mono_ns == 0;
        if (first || digest != s->digest)
                s->mono_ns = clock_mono_ns();
        s->digest = digest;
        s->has_time = exposition_time(s->x, &s->wall_ns);
        s->failures = 0;
        s->trouble.rows += exposition_entities(s->x);
}

static void back_off(struct source *s, const struct err *why)
{
        int64_t delay_s = s->failures < 5 ? 1LL << s->failures : RETRY_MAX_S;
        s->failures++;
        s->failed++;
        s->retry_ns = s->beat_ns + delay_s * NS_PER_S;
        snprintf(s->trouble.notice, sizeof(s->trouble.notice),
                 "%llu of %llu scrapes failed, the last: %.100s", (unsigned long long)s->failed,
                 (unsigned long long)s->scrapes, why->msg);
}

static void prometheus_close(struct source *s)
{
        if (!s)
                return;
        fetch_close(s->fetch);
        exposition_close(s->x);
        closep(&s->wake);
        free(s);
}

static int prometheus_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->poll_ns = config->poll_ns;
        s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        struct fetch_config fc = {.location =
                                      config->location ? config->location : DEFAULT_LOCATION,
                                  .token_file = config->token_file,
                                  .timeout_ns = config->poll_ns,
                                  .wake = s->wake};
        int r = s->wake < 0 ? err_set(err, -errno, "cannot wait: %s", strerror(errno))
                            : fetch_open(&fc, &s->fetch, err);
        if (r == 0 && exposition_open(config->wanted, &s->x) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r == 0)
                r = scrape_once(s, err);
        if (r < 0) {
                prometheus_close(s);
                return r;
        }
        accept_scrape(s);
        snprintf(s->provenance, sizeof(s->provenance), "prometheus %.300s", fetch_origin(s->fetch));
        *ret = s;
        return 0;
}

/* The end of everything: reading also orders what the other thread did before it woke us. */
static int stop_scraping(struct source *s)
{
        uint64_t count;
        ssize_t n = read(s->wake, &count, sizeof(count));
        (void)n;
        s->stopped = true;
        return 0;
}

/* Waits for the next beat; beats that were missed are left out. False when woken. */
static bool wait_for_beat(struct source *s)
{
        s->beat_ns = clock_last_beat(s->beat_ns + s->poll_ns, s->poll_ns, clock_mono_ns());
        for (;;) {
                int64_t left = MAX(s->beat_ns - clock_mono_ns(), 0LL);
                struct timespec ts = {left / NS_PER_S, left % NS_PER_S};
                struct pollfd p = {.fd = s->wake, .events = POLLIN};
                if (ppoll(&p, 1, &ts, NULL) > 0)
                        return false;
                if (left == 0)
                        return true;
        }
}

/* Rates come from mono_ns: it stays at the arrival of the values, however often they are given. */
static void fill_batch(struct source *s, struct batch *ret)
{
        bool stale = s->failures > 0;
        int64_t age_ms = s->beat_ns > 0 ? (clock_mono_ns() - s->mono_ns) / NS_PER_MS : 0;
        bool repeated = stale || s->mono_ns < s->beat_ns;
        exposition_give(s->x, ret);
        exposition_set_age(s->x, stale ? STATE_STALE : STATE_OK,
                           repeated ? (uint32_t)MIN(age_ms, (int64_t)UINT32_MAX) : 0);
        ret->wall_ns = s->has_time ? s->wall_ns : clock_wall_ns();
        ret->mono_ns = s->mono_ns;
        ret->stale = stale;
}

static int prometheus_next(struct source *s, struct batch *ret, struct err *err)
{
        (void)err; /* an exporter that fails after the start is waited for */
        if (s->beat_ns == 0) {
                fill_batch(s, ret);
                s->beat_ns = s->mono_ns;
                return 1;
        }
        if (s->stopped || !wait_for_beat(s))
                return stop_scraping(s);
        if (s->failures == 0 || s->beat_ns >= s->retry_ns) {
                struct err why = {0};
                int r = scrape_once(s, &why);
                if (r == 0)
                        return stop_scraping(s);
                if (r > 0)
                        accept_scrape(s);
                else
                        back_off(s, &why);
        }
        fill_batch(s, ret);
        return 1;
}

static const char *prometheus_provenance(const struct source *s)
{
        return s->provenance;
}

static void prometheus_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = s->trouble;
}

static void prometheus_interrupt(struct source *s)
{
        life_wake(s->wake);
}

const struct source_ops source_prometheus = {
    .name = "prometheus",
    .help = "dcgm-exporter or another exporter of DCGM's fields, by http, https or file",
    .poll_floor_ns = NS_PER_S,
    .poll_floor_is_error = true,
    .open = prometheus_open,
    .next = prometheus_next,
    .provenance = prometheus_provenance,
    .trouble = prometheus_trouble,
    .interrupt = prometheus_interrupt,
    .close = prometheus_close,
};
