/*
 * Many exporters as one fleet, in one loop and without a thread. Each is asked at every beat and
 * has a deadline of its own; what has come when most have answered is a tick. One that fails keeps
 * its last values, which grow stale, and is asked again ever more rarely.
 */
#include "read/prometheus/many.h"

#include "base/clock.h"
#include "base/text.h"
#include "formats/exposition/exposition.h"
#include "formats/exposition/text.h"
#include "life/thread.h"
#include "net/swarm.h"
#include "read/nodes/gather.h"
#include "read/nodes/hostlist.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define TIMEOUT_MAX_NS (5 * NS_PER_S)
#define RETRY_MAX_S 30
#define PATIENCE_LONGEST_NS (500 * NS_PER_MS)
#define ASKS_MOST 256 /* at once; those that take long do not count */
#define ASK_LONG_NS (250 * NS_PER_MS)
#define SHARED_BY 32 /* so few that what one says is not forgotten for the others */
#define REFRESH_NS (100 * NS_PER_MS)

struct endpoint {
        uint64_t digest;
        char host[NODE_NAME_MAX];      /* as it calls it; empty when it does not */
        int64_t measured_ns, heard_ns; /* when these values came first, and last */
        int64_t asked_ns, retry_ns;
        int64_t took_ns;   /* until its last answer */
        unsigned failures; /* in a row */
        bool named, news, alone;
        bool own_hosts; /* it reports several hosts, and they keep their names */
        uint64_t bad;   /* lines */
};

struct source {
        struct source_config config;
        struct swarm *swarm;
        struct endpoint *endpoints;
        struct gather gather;
        /* Endpoints share what is learnt of names and labels, some of them one: each answer is
         * copied before the next is read. NULL before the first. */
        struct exposition **shared;
        size_t n;
        size_t turn; /* the one to ask next */
        size_t left; /* to be asked in this beat */
        int wake;
        bool stopped, given;
        int64_t begun_ns, beat_ns;
        char provenance[48];
};

/* --- answers ------------------------------------------------------------------------------- */

static void fail_endpoint(struct source *s, size_t i, const char *why, const char *hint)
{
        struct endpoint *e = &s->endpoints[i];
        struct node *node = &s->gather.nodes[i];
        int64_t delay_s = e->failures < 5 ? 1LL << e->failures : RETRY_MAX_S;
        e->failures++;
        e->retry_ns = clock_mono_ns() + delay_s * NS_PER_S;
        node->state = NODE_DOWN;
        node->tried = true;
        snprintf(node->words, sizeof(node->words), "%s", why);
        snprintf(node->hint, sizeof(node->hint), "%s", hint);
}

/* What an endpoint calls its host; "" when it does not, or knows several. */
static void read_host(struct endpoint *e, const struct batch *b)
{
        for (size_t i = 0; i < b->n && !e->own_hosts; i++) {
                const struct entity_key *k = &b->readings[i].who;
                size_t len = MIN(k->host_len, sizeof(e->host) - 1);
                if (i > 0)
                        e->own_hosts = strlen(e->host) != len || memcmp(e->host, k->host, len) != 0;
                else if (len > 0)
                        memcpy(e->host, k->host, len);
                if (i == 0)
                        e->host[len] = '\0';
        }
        text_clean(e->host);
}

static void read_text(struct exposition *x, const char *text, size_t len, uint64_t *bad)
{
        exposition_begin(x);
        for (const char *end = text + len; text < end;) {
                const char *nl = memchr(text, '\n', (size_t)(end - text));
                size_t n = nl ? (size_t)(nl - text) : (size_t)(end - text);
                const char *line = text;
                text = nl ? nl + 1 : end;
                if (n > 0 && line[n - 1] == '\r')
                        n--;
                enum exposition_line r = exposition_line(x, line, n);
                *bad += r == EXPOSITION_BAD || r == EXPOSITION_FULL;
        }
}

/* Notes what came: 0 or -ENOMEM. */
static int many_keep(struct source *s, size_t i, struct exposition *x)
{
        struct endpoint *e = &s->endpoints[i];
        struct batch b;
        uint64_t digest = exposition_digest(x);
        e->heard_ns = clock_mono_ns();
        if (e->measured_ns == 0 || digest != e->digest)
                e->measured_ns = e->heard_ns;
        e->digest = digest;
        exposition_give(x, &b);
        if (!e->named)
                read_host(e, &b);
        return gather_take(&s->gather, i, &b, e->measured_ns, e->heard_ns);
}

static void take_answer(struct source *s, size_t i, const char *text, size_t len)
{
        struct endpoint *e = &s->endpoints[i];
        struct node *node = &s->gather.nodes[i];
        struct exposition **x = &s->shared[i / SHARED_BY];
        if (!exposition_probe(text, len)) {
                fail_endpoint(
                    s, i, len ? "what it answers is not an exporter's text" : "its answer is empty",
                    "exporters answer under /metrics");
                return;
        }
        if (!*x && exposition_open(s->config.wanted, x) < 0) {
                fail_endpoint(s, i, "out of memory", "");
                return;
        }
        read_text(*x, text, len, &e->bad);
        size_t gpus = exposition_entities(*x);
        if (gpus == 0 || many_keep(s, i, *x) < 0) {
                fail_endpoint(s, i, gpus == 0 ? "it says nothing about GPUs" : "out of memory", "");
                return;
        }
        e->failures = 0;
        e->took_ns = clock_mono_ns() - e->asked_ns;
        e->news = node->tried = true;
        node->state = NODE_OK;
        node->words[0] = node->hint[0] = '\0';
        node->gpus = (uint32_t)gpus;
}

static void take_response(void *arg, size_t i, const char *text, size_t len, const char *why,
                          const char *hint)
{
        if (why)
                fail_endpoint(arg, i, why, hint);
        else
                take_answer(arg, i, text, len);
}

/* --- names --------------------------------------------------------------------------------- */

static bool is_taken(const struct source *s, size_t i, const char *name)
{
        for (size_t k = 0; k < s->n; k++) {
                if (k != i && strcmp(s->gather.nodes[k].name, name) == 0)
                        return true;
        }
        return false;
}

/* As its labels have it, so that a GPU has the name that it has alone; by its address where they
 * have none, or where another endpoint has the same. */
static bool has_name_alone(const struct source *s, size_t i)
{
        const char *host = s->endpoints[i].host;
        if (s->endpoints[i].own_hosts || !host[0] || is_taken(s, i, host))
                return false;
        for (size_t k = 0; k < s->n; k++) {
                if (k != i && !s->endpoints[k].named && strcmp(s->endpoints[k].host, host) == 0)
                        return false;
        }
        return true;
}

/* Those that have answered since the last tick. */
static void name_endpoints(struct source *s)
{
        for (size_t i = 0; i < s->n; i++) {
                struct endpoint *e = &s->endpoints[i];
                e->alone = e->news && !e->named && has_name_alone(s, i);
        }
        for (size_t i = 0; i < s->n; i++) {
                struct endpoint *e = &s->endpoints[i];
                if (e->alone)
                        memcpy(s->gather.nodes[i].name, e->host, sizeof(e->host));
                if (e->news && !e->named)
                        gather_name(&s->gather, i, e->own_hosts ? NULL : s->gather.nodes[i].name);
                e->named = e->named || e->news;
                e->news = false;
        }
}

static void name_by_address(struct source *s)
{
        for (size_t i = 0; i < s->n; i++)
                snprintf(s->gather.nodes[i].name, sizeof(s->gather.nodes[i].name), "%.79s",
                         swarm_shown(s->swarm, i, false));
        for (size_t i = 0; i < s->n; i++) {
                const char *full = swarm_shown(s->swarm, i, true);
                size_t len = strlen(full);
                if (is_taken(s, i, swarm_shown(s->swarm, i, false)))
                        snprintf(s->gather.nodes[i].name, sizeof(s->gather.nodes[i].name), "%s",
                                 len > NODE_NAME_MAX - 1 ? full + len - (NODE_NAME_MAX - 1) : full);
        }
}

/* --- opening ------------------------------------------------------------------------------- */

static void many_close(struct source *s)
{
        if (!s)
                return;
        swarm_close(s->swarm);
        for (size_t i = 0; s->shared && i < s->n / SHARED_BY + 1; i++)
                exposition_close(s->shared[i]);
        gather_finish(&s->gather);
        closep(&s->wake);
        free(s->shared);
        free(s->endpoints);
        free(s);
}

static int open_swarm(struct source *s, const struct hostlist *list, struct err *err)
{
        struct swarm_config sc = {.n = list->n,
                                  .token_file = s->config.token_file,
                                  .timeout_ns = MIN(s->config.poll_ns, TIMEOUT_MAX_NS),
                                  .wake = s->wake,
                                  .done = take_response,
                                  .arg = s};
        s->n = list->n;
        s->endpoints = calloc(s->n, sizeof(*s->endpoints));
        s->shared = calloc(s->n / SHARED_BY + 1, sizeof(*s->shared));
        if (!s->endpoints || !s->shared || gather_init(&s->gather, DIALECT_DCGM, s->n) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        int r = swarm_open(&sc, &s->swarm, err);
        for (size_t i = 0; r == 0 && i < s->n; i++)
                r = swarm_set(s->swarm, i, list->names[i], err);
        if (r == 0)
                name_by_address(s);
        snprintf(s->provenance, sizeof(s->provenance), "%zu exporters", s->n);
        return r;
}

static int many_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct hostlist list = {.addresses = true};
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = s->wake < 0 ? err_set(err, -errno, "cannot wait: %s", strerror(errno))
                            : hostlist_read(&list, "--source", config->location, err);
        if (r == 0)
                r = open_swarm(s, &list, err);
        hostlist_finish(&list);
        if (r < 0) {
                many_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

/* --- the loop ------------------------------------------------------------------------------ */

/* Asks those that is next, as many at once as is good for both sides. */
static void query_nodes(struct source *s, int64_t now)
{
        size_t under_way = 0;
        for (size_t i = 0; s->left > 0 && i < s->n; i++)
                under_way += swarm_is_requesting(s->swarm, i) &&
                             now - s->endpoints[i].asked_ns < ASK_LONG_NS;
        for (; s->left > 0 && under_way < ASKS_MOST; s->left--, s->turn = (s->turn + 1) % s->n) {
                struct endpoint *e = &s->endpoints[s->turn];
                if (swarm_is_requesting(s->swarm, s->turn) || now < e->retry_ns)
                        continue;
                e->asked_ns = now;
                swarm_request(s->swarm, s->turn);
                under_way++;
        }
}

/* Whether one that is well has not answered in this beat. Of one that takes longer than anybody
 * waits, what it said since the last beat is enough. */
static bool is_missed(const struct source *s, int64_t patience)
{
        for (size_t i = 0; i < s->n; i++) {
                const struct endpoint *e = &s->endpoints[i];
                bool awaited = e->failures == 0 && (!e->news || e->took_ns < patience);
                if (awaited && (swarm_is_requesting(s->swarm, i) || s->left > 0))
                        return true;
        }
        return s->left > 0;
}

static bool is_due(const struct source *s, int64_t now)
{
        int64_t patience = MIN(s->config.poll_ns / 2, PATIENCE_LONGEST_NS);
        if (!s->given)
                return gather_first_due(&s->gather, &s->config, now - s->begun_ns);
        return !is_missed(s, patience) || now >= s->beat_ns + patience;
}

/* Waits for the beat, and continues with what is under way meanwhile. */
static bool wait_for_beat(struct source *s)
{
        int64_t now = clock_mono_ns(), poll = s->config.poll_ns;
        if (s->given)
                s->beat_ns = clock_last_beat(s->beat_ns + poll, poll, now);
        else
                s->beat_ns = s->begun_ns = now;
        while (clock_mono_ns() < s->beat_ns) {
                if (!swarm_run(s->swarm, s->beat_ns))
                        return false;
        }
        s->left = s->n;
        return true;
}

static int report_no_source(const struct source *s, struct err *err)
{
        const struct node *node = &s->gather.nodes[0];
        err_set(err, ERR_NO_SOURCE, "%s: %s; nor does another of %zu exporters answer", node->name,
                node->words, s->n);
        return node->hint[0] ? err_hint(err, "%s", node->hint) : err->code;
}

static int fill_batch(struct source *s, struct batch *ret, struct err *err)
{
        int64_t now = clock_mono_ns(), late = 5 * s->config.poll_ns / 2;
        name_endpoints(s);
        if (gather_give(&s->gather, now, late, ret) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        if (!s->given)
                s->beat_ns = now; /* however long the first took */
        s->given = true;
        ret->wall_ns = clock_wall_ns();
        return 1;
}

static int many_next(struct source *s, struct batch *ret, struct err *err)
{
        s->stopped = s->stopped || !wait_for_beat(s);
        while (!s->stopped) {
                int64_t now = clock_mono_ns();
                query_nodes(s, now);
                if (is_due(s, now)) {
                        bool none = !s->given && gather_count(&s->gather) == 0 && !s->config.wait;
                        return none ? report_no_source(s, err) : fill_batch(s, ret, err);
                }
                s->stopped = !swarm_run(s->swarm, now + REFRESH_NS);
        }
        return 0;
}

/* --- what is reported --------------------------------------------------------------------------
 */

static const char *many_provenance(const struct source *s)
{
        return s->provenance;
}

static void many_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = (struct source_trouble){0};
        for (size_t i = 0; i < s->n; i++)
                ret->skipped += s->endpoints[i].bad;
        gather_trouble(&s->gather, &s->config, "exporters", ret);
}

static size_t many_nodes(const struct source *s, const struct node **ret)
{
        *ret = s->gather.nodes;
        return s->n;
}

static void many_interrupt(struct source *s)
{
        life_wake(s->wake);
}

const struct source_ops source_many = {
    .name = "prometheus",
    .help = "many exporters, by http or https",
    .poll_floor_ns = NS_PER_S,
    .poll_floor_is_error = true,
    .open = many_open,
    .next = many_next,
    .provenance = many_provenance,
    .trouble = many_trouble,
    .nodes = many_nodes,
    .interrupt = many_interrupt,
    .close = many_close,
};
