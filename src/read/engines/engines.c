#include "read/engines/engines.h"

#include "base/attr.h"
#include "base/clock.h"
#include "net/address.h"
#include "net/swarm.h"
#include "read/engines/find.h"
#include "read/engines/parse.h"
#include "read/host/files.h"
#include "read/host/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define FAMILIES_EVERY_NS (120 * NS_PER_S) /* it examines all processes of this user */

/* What a server's front ends want of the CPUs. Which is the busiest may change, so what the busiest
 * used is added up. */
struct front_times {
        int64_t mono_ns;
        size_t turn; /* the one that is read next, beside the first */
        struct front_time {
                int32_t pid;
                int64_t mono_ns;
                struct value used, rate;
        } each[ENGINE_FRONTS_MAX];
        struct value sum;
};

struct engines {
        struct engines_config config;
        int root, wake;
        struct listing *listing;
        double tick_s; /* of CPU times in /proc */
        struct swarm *swarm;
        struct engine_parser *parser;
        size_t n;
        struct engine_target targets[SERVINGS_MAX];
        uint16_t ports[SERVINGS_MAX]; /* on this host; 0 elsewhere */
        struct engine_family families[SERVINGS_MAX];
        struct front_times fronts[SERVINGS_MAX];
        int64_t families_ns; /* when they were searched for last */
};

static void engines_take_answer(void *arg, size_t i, const char *text, size_t len, const char *why,
                                const char *hint)
{
        struct engines *e = arg;
        struct engine_target *t = &e->targets[i];
        (void)hint;
        t->answered = false;
        if (why) {
                snprintf(t->why, sizeof(t->why), "%s", why);
                return;
        }
        engine_parse(e->parser, text, len, &t->reading);
        t->reading.mono_ns = clock_mono_ns();
        t->answered = t->reading.kind != ENGINE_UNKNOWN;
        snprintf(t->why, sizeof(t->why), "%s",
                 t->answered ? "" : "it answers, but with no metrics of a model server");
}

int engines_open(const struct engines_config *config, struct engines **ret, struct err *err)
{
        struct engines *e = calloc(1, sizeof(*e));
        if (!e)
                return err_set(err, -ENOMEM, "out of memory");
        e->config = *config;
        e->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
        e->root = files_open_root(config->root);
        e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = e->root < 0 ? e->root : e->wake < 0 ? -errno : 0;
        e->listing = listing_share(config->listing);
        if (r == 0 && !e->listing)
                r = listing_open(e->root, &e->listing);
        if (r < 0)
                err_set(err, r, "cannot read engines: %s", strerror(-r));
        if (r == 0 && engine_parser_open(&e->parser) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r < 0) {
                engines_close(e);
                return r;
        }
        *ret = e;
        return 0;
}

void engines_close(struct engines *e)
{
        if (!e)
                return;
        swarm_close(e->swarm);
        engine_parser_close(e->parser);
        listing_close(e->listing);
        closep(&e->root);
        closep(&e->wake);
        free(e);
}

/* The port of an address on this host; 0 for another host, and for what says none. */
static uint16_t local_port(const struct address *a)
{
        const char *host = strstr(a->origin, "://");
        const char *colon = host ? strrchr(host + 3, ':') : NULL;
        if (!a->loopback)
                return 0;
        unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 80;
        return port < 65536 ? (uint16_t)port : 0;
}

/* Where nobody is asked libcurl is not loaded. */
static int open_swarm(struct engines *e, struct err *err)
{
        const struct swarm_config sc = {.n = SERVINGS_MAX,
                                        .timeout_ns = e->config.timeout_ns,
                                        .wake = e->wake,
                                        .done = engines_take_answer,
                                        .arg = e};
        return e->swarm ? 0 : swarm_open(&sc, &e->swarm, err);
}

int engines_add(struct engines *e, const char *url, int32_t pid, struct err *err)
{
        struct address a;
        int r = address_parse(url, &a, err);
        if (r < 0 || !a.is_url) {
                err_set(err, ERR_USAGE, "'%s' is no address of a model server", url);
                return err_hint(err, "http://localhost:8000, or auto for those that run here");
        }
        if (e->n == SERVINGS_MAX)
                return err_set(err, -ENOSPC, "more than %d model servers", SERVINGS_MAX);
        r = open_swarm(e, err);
        if (r == 0)
                r = swarm_set(e->swarm, e->n, url, err);
        if (r < 0)
                return r;
        e->ports[e->n] = local_port(&a);
        e->targets[e->n] = (struct engine_target){.url = swarm_shown(e->swarm, e->n, true),
                                                  .pid = pid,
                                                  .reading.kind = ENGINE_UNKNOWN,
                                                  .why = "not asked yet"};
        e->n++;
        return 0;
}

static bool is_known_engine(const struct engines *e, const struct engine_place *place)
{
        for (size_t i = 0; i < e->n; i++) {
                if (strcmp(e->targets[i].url, strstr(place->url, "://") + 3) == 0)
                        return true;
        }
        return false;
}

void engines_discover(struct engines *e)
{
        struct engine_place places[SERVINGS_MAX];
        struct err err = {0};
        size_t n = engines_find(e->root, e->listing, places, SERVINGS_MAX);
        for (size_t i = 0; i < n; i++) {
                if (!is_known_engine(e, &places[i]))
                        engines_add(e, places[i].url, places[i].pid, &err);
        }
}

size_t engines_count(const struct engines *e)
{
        return e->n;
}

const struct engine_target *engines_at(const struct engines *e, size_t i)
{
        return &e->targets[i];
}

static struct value cpu_time(const struct engines *e, const char *path)
{
        char text[1024];
        struct proc_stat st;
        ssize_t n = files_read(e->root, path, text, sizeof(text));
        if (n < 0)
                return files_missing(n);
        if (procfs_stat(text, (size_t)n, &st) < 0)
                return value_missing(STATE_ERROR);
        return value_ok((double)st.own * e->tick_s);
}

/* How long it ran or waited for a CPU that others had: where the kernel does not count that, how
 * long it ran. */
static struct value main_thread_time(const struct engines *e, int32_t pid)
{
        char path[64], text[128];
        struct proc_schedstat st;
        snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, pid);
        ssize_t n = files_read(e->root, path, text, sizeof(text));
        if (n > 0 && procfs_schedstat(text, (size_t)n, &st) == 0)
                return value_ok((double)(st.cpu_ns + st.queued_ns) * 1e-9);
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
        return cpu_time(e, path);
}

#define FRONT_BUSY 0.5 /* of the time */

static void read_front(const struct engines *e, int32_t pid, int64_t now_ns, struct front_time *t)
{
        struct value now = main_thread_time(e, pid);
        double seconds = clock_to_seconds(now_ns - t->mono_ns);
        bool known = t->pid == pid && seconds > 0;
        t->rate = known ? value_rate(now, t->used, seconds) : value_missing(STATE_BLANK);
        t->pid = pid;
        t->mono_ns = now_ns;
        t->used = now;
}

/* Adds what the busiest of the main threads used since the last time; its pid, 0 where none was
 * busy. The one that listens is read each time, the others in turns. */
static int32_t add_front_time(const struct engines *e, struct front_times *t,
                              const struct engine_family *f, int64_t now_ns)
{
        double seconds = clock_to_seconds(now_ns - t->mono_ns), most = 0;
        int32_t busiest = 0;
        read_front(e, f->fronts[0], now_ns, &t->each[0]);
        if (f->n > 1) {
                t->turn = t->turn + 1 < f->n ? t->turn + 1 : 1;
                read_front(e, f->fronts[t->turn], now_ns, &t->each[t->turn]);
        }
        for (size_t i = 0; i < f->n; i++) {
                if (t->each[i].pid != f->fronts[i] || value_or(t->each[i].rate, 0) <= most)
                        continue;
                most = t->each[i].rate.v;
                busiest = f->fronts[i];
        }
        if (!value_is_set(t->sum))
                t->sum = t->each[0].used;
        else if (t->mono_ns > 0)
                t->sum.v += most * seconds;
        t->mono_ns = now_ns;
        return most >= FRONT_BUSY ? busiest : 0;
}

/* What the processes that take the requests cost: a small file each, and one more. */
static void read_processes(struct engines *e, size_t i)
{
        struct engine_target *t = &e->targets[i];
        const struct engine_family *f = &e->families[i];
        char path[64];
        t->head = f->head;
        if (f->n == 0)
                t->front = 0;
        if (t->pid == 0)
                return;
        snprintf(path, sizeof(path), "/proc/%d/stat", t->pid);
        t->reading.v[SERVING_CPU_TIME] = cpu_time(e, path);
        /* It may have been started again, with another pid. */
        if (!value_is_set(t->reading.v[SERVING_CPU_TIME])) {
                t->pid = 0;
                return;
        }
        if (f->n > 0) {
                int32_t busy = add_front_time(e, &e->fronts[i], f, t->reading.mono_ns);
                t->front = busy > 0 ? busy : t->front;
                t->reading.v[SERVING_CPU_MAIN_TIME] = e->fronts[i].sum;
        }
}

/* Whether one has become known, and its processes have not. */
static bool has_new_process(const struct engines *e)
{
        for (size_t i = 0; i < e->n; i++) {
                if (e->targets[i].pid != e->families[i].pid && e->targets[i].pid > 0)
                        return true;
        }
        return false;
}

/* Looks for the processes of servers on this host: now and then, and of new ones at once. */
static void find_processes(struct engines *e)
{
        int64_t now = clock_mono_ns();
        bool is_due = e->families_ns == 0 || now - e->families_ns >= FAMILIES_EVERY_NS;
        if (!is_due && !has_new_process(e))
                return;
        for (size_t i = 0; i < e->n; i++) {
                struct engine_target *t = &e->targets[i];
                if (t->pid == 0 && t->answered && e->ports[i] > 0)
                        t->pid = engines_listener(e->root, e->listing, e->ports[i]);
                if (e->families[i].pid != t->pid)
                        e->families[i] = (struct engine_family){.pid = t->pid};
        }
        engines_fill_families(e->root, e->listing, e->families, e->n);
        e->families_ns = now;
}

static bool all_answered(const struct engines *e)
{
        for (size_t i = 0; i < e->n; i++) {
                if (swarm_is_requesting(e->swarm, i))
                        return false;
        }
        return true;
}

bool engines_query(struct engines *e, int64_t until_ns)
{
        bool woken = false;
        for (size_t i = 0; i < e->n; i++)
                swarm_request(e->swarm, i);
        while (!woken && !all_answered(e) && clock_mono_ns() < until_ns)
                woken = !swarm_run(e->swarm, until_ns);
        for (size_t i = 0; i < e->n; i++) {
                struct engine_target *t = &e->targets[i];
                if (swarm_is_requesting(e->swarm, i) && !woken) {
                        t->answered = false;
                        snprintf(t->why, sizeof(t->why), "no answer yet");
                }
        }
        find_processes(e);
        for (size_t i = 0; i < e->n; i++) {
                if (e->targets[i].answered)
                        read_processes(e, i);
        }
        return !woken;
}

void engines_wake(struct engines *e)
{
        uint64_t one = 1;
        /* A counter that is full wakes as well. */
        if (write(e->wake, &one, sizeof(one)) < 0)
                return;
}
