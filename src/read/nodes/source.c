/*
 * Many machines as one fleet: on each an assay is started through ssh, or through srun inside a
 * Slurm job, and what they write is joined. Everything happens inside next(), in one poll loop; a
 * node that hangs, dies or speaks otherwise is reported, tried again ever more rarely, and never
 * waited for. The nodes end when their standard input closes, however this program ends.
 */
#include "read/nodes/source.h"

#include "base/clock.h"
#include "life/thread.h"
#include "read/nodes/gather.h"
#include "read/nodes/link.h"
#include "read/nodes/reach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define LOGIN_NS (10 * NS_PER_S)  /* from the start to the greeting */
#define SILENT_NS (30 * NS_PER_S) /* without a line, then it is started again */
#define PATIENCE_SHORTEST_NS (100 * NS_PER_MS)
#define PATIENCE_LONGEST_NS (500 * NS_PER_MS)
#define LATE_LEAST_NS (2 * NS_PER_S)
#define LOGINS_MOST 64 /* at once; those that take long do not count */
#define LOGIN_LONG_NS (2 * NS_PER_S)
#define REFRESH_NS (250 * NS_PER_MS) /* at deadlines */
#define END_CHECK_NS (10 * NS_PER_MS)
#define END_NS (300 * NS_PER_MS)

struct source {
        struct source_config config;
        struct reach reach;
        struct link *links;
        size_t n;
        struct gather gather;
        struct batcher batcher; /* of the sample that is taken apart */
        struct node_command command;
        struct pollfd *fds; /* wake, then two a link */
        int wake;
        bool stopped, given;
        int64_t begun_ns, beat_ns;
        char provenance[96];
};

/* --- opening ------------------------------------------------------------------------------- */

static void nodes_close(struct source *s)
{
        if (!s)
                return;
        /* All are asked before one is waited for. */
        int64_t until = clock_mono_ns() + END_NS;
        for (size_t i = 0; s->links && i < s->n; i++)
                helper_terminate(&s->links[i].helper);
        for (size_t i = 0; s->links && i < s->n; i++)
                helper_stop_after(&s->links[i].helper, MAX(until - clock_mono_ns(), (int64_t)0));
        for (size_t i = 0; s->links && i < s->n; i++)
                link_finish(&s->links[i]);
        reach_finish(&s->reach);
        gather_finish(&s->gather);
        batcher_finish(&s->batcher);
        closep(&s->wake);
        free(s->links);
        free(s->fds);
        free(s);
}

static int make_links(struct source *s, struct err *err)
{
        s->n = s->reach.n;
        s->links = calloc(s->n, sizeof(*s->links));
        s->fds = calloc(1 + 2 * s->n, sizeof(*s->fds));
        batcher_init(&s->batcher, DIALECT_CANON);
        jsonl_fields(&s->batcher);
        if (!s->links || !s->fds || gather_init(&s->gather, DIALECT_CANON, s->n) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; i < s->n; i++) {
                const struct reach_target *t = &s->reach.targets[i];
                link_init(&s->links[i], t->target, t->job);
                snprintf(s->gather.nodes[i].name, sizeof(s->gather.nodes[i].name), "%s", t->name);
                gather_name(&s->gather, i, s->gather.nodes[i].name);
        }
        bool job = s->reach.is_srun;
        snprintf(s->provenance, sizeof(s->provenance), "%s%s%s%zu node%s", job ? "Slurm job " : "",
                 job ? s->config.job : "", job ? ", " : "", s->n, s->n == 1 ? "" : "s");
        return 0;
}

static int nodes_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = s->wake < 0 ? err_set(err, -errno, "cannot wait: %s", strerror(errno))
                            : reach_open(config, s->wake, &s->reach, err);
        if (r == 0)
                r = make_links(s, err);
        if (r < 0) {
                nodes_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

/* --- one look at a node -------------------------------------------------------------------- */

static void nodes_start(struct source *s, size_t i, int64_t now)
{
        struct link *l = &s->links[i];
        char poll[32];
        const char *words[8] = {"export", "--peer", "--poll", poll};
        size_t n = 4;
        snprintf(poll, sizeof(poll), "%.9g", clock_to_seconds(s->config.poll_ns));
        if (s->config.backend) {
                words[n++] = "--backend";
                words[n++] = s->config.backend;
        }
        if (s->config.show_all)
                words[n++] = "--show-all";
        if (s->config.no_profiling)
                words[n++] = "--no-profiling";
        if (reach_command(&s->reach, &s->config, i, words, n, &s->command))
                link_start(l, &s->command, s->reach.is_srun, now, &s->gather.nodes[i]);
        else
                link_end(l, "the command is too long", now);
}

static size_t count_logins(const struct source *s, int64_t now)
{
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
                n += s->links[i].stage == LINK_LOGIN && now - s->links[i].begun_ns < LOGIN_LONG_NS;
        return n;
}

static int64_t late_ns(const struct source *s)
{
        return MAX(5 * s->config.poll_ns / 2, (int64_t)LATE_LEAST_NS);
}

/* What its state is while it is connected. */
static void update_node(struct source *s, size_t i, int64_t now)
{
        struct link *l = &s->links[i];
        struct node *node = &s->gather.nodes[i];
        int64_t silent = now - (l->sampled ? s->gather.parts[i].measured_ns : l->begun_ns);
        if (l->stage == LINK_LOGIN && l->failures == 0 && silent > NS_PER_S)
                snprintf(node->words, sizeof(node->words), "no answer for %.0f s",
                         clock_to_seconds(silent));
        /* One that failed is down until values come. */
        if (l->stage != LINK_STREAM || (!l->sampled && l->failures > 0))
                return;
        node->state = silent <= late_ns(s) ? (l->sampled ? NODE_OK : NODE_CONNECTING) : NODE_LATE;
        if (node->state == NODE_LATE)
                snprintf(node->words, sizeof(node->words), "no new sample for %.0f s",
                         clock_to_seconds(silent));
        else if (node->state == NODE_OK && s->config.version &&
                 strcmp(l->stream.hello.version, s->config.version) != 0)
                snprintf(node->words, sizeof(node->words), "assay %.31s there, %.31s here",
                         l->stream.hello.version, s->config.version);
        else
                node->words[0] = '\0';
        node->hint[0] = '\0';
}

/* Deadlines, and what is due. */
static void service_links(struct source *s, int64_t now)
{
        size_t logins = count_logins(s, now);
        for (size_t i = 0; i < s->n; i++) {
                struct link *l = &s->links[i];
                if (l->stage == LINK_WAITING && now >= l->retry_ns && logins < LOGINS_MOST) {
                        nodes_start(s, i, now);
                        logins++;
                } else if (l->stage == LINK_ENDING) {
                        link_bury(l, now, &s->gather.nodes[i]);
                } else if (l->stage == LINK_LOGIN && now - l->begun_ns > LOGIN_NS) {
                        link_end(l, "no answer within 10 s", now);
                } else if (l->stage == LINK_STREAM && now - l->heard_ns > SILENT_NS) {
                        link_end(l, "no answer for 30 s", now);
                } else {
                        /* Who wants one moment of all does not wait for one that only greets. */
                        s->gather.nodes[i].tried |=
                            l->stage == LINK_STREAM && now - l->begun_ns > LOGIN_NS;
                        link_send_request(l, now, clock_wall_ns());
                        update_node(s, i, now);
                }
        }
}

static int take_sample(struct source *s, size_t i, int64_t now)
{
        struct batch b = {0};
        struct link *l = &s->links[i];
        batcher_give(&s->batcher, &b);
        s->gather.nodes[i].gpus = (uint32_t)b.n;
        int64_t measured = link_measured(l, now, clock_wall_ns());
        return gather_take(&s->gather, i, &b, measured, measured);
}

/* 0 or -ENOMEM. */
static int read_link(struct source *s, size_t i)
{
        struct link *l = &s->links[i];
        int64_t now = clock_mono_ns();
        int more = link_read(l);
        for (;;) {
                enum stream_event e = link_event(l, &s->batcher, now, &s->gather.nodes[i]);
                if (e == STREAM_NOTHING)
                        break;
                if (e == STREAM_SAMPLE && take_sample(s, i, now) < 0)
                        return -ENOMEM;
                if (e == STREAM_HELLO && l->stream.hello.protocol != NODE_PROTOCOL)
                        more = 0;
                if (e == STREAM_BROKEN) {
                        more = -1;
                        break;
                }
        }
        if (more <= 0)
                link_end(l, more < 0 ? "what it writes cannot be understood" : NULL, now);
        return 0;
}

/* --- the loop ------------------------------------------------------------------------------ */

/* Whether somebody who is not late has nothing new yet. */
static bool is_missed(const struct source *s)
{
        for (size_t i = 0; i < s->n; i++) {
                if (s->gather.nodes[i].state == NODE_OK && !s->gather.parts[i].fresh)
                        return true;
        }
        return false;
}

static bool is_due(const struct source *s, int64_t now)
{
        int64_t patience = MIN(MAX(s->config.poll_ns, (int64_t)PATIENCE_SHORTEST_NS),
                               (int64_t)PATIENCE_LONGEST_NS);
        if (!s->given)
                return gather_first_due(&s->gather, &s->config, now - s->begun_ns);
        return now >= s->beat_ns && (!is_missed(s) || now >= s->beat_ns + patience);
}

static int64_t sleep_ns(const struct source *s, int64_t now)
{
        int64_t until = now + REFRESH_NS;
        for (size_t i = 0; i < s->n; i++) {
                if (s->links[i].stage == LINK_ENDING)
                        return END_CHECK_NS;
        }
        if (s->given && s->beat_ns > now)
                until = MIN(until, s->beat_ns);
        return MAX(until - now, NS_PER_MS);
}

/* Waits for something to read. False when woken; -ENOMEM ends all. */
static int wait_for_nodes(struct source *s, int64_t now)
{
        int64_t left = sleep_ns(s, now);
        struct timespec ts = {left / NS_PER_S, left % NS_PER_S};
        s->fds[0] = (struct pollfd){.fd = s->wake, .events = POLLIN};
        for (size_t i = 0; i < s->n; i++) {
                struct link *l = &s->links[i];
                bool reads = link_reads(l, now, MAX(s->config.poll_ns, (int64_t)REFRESH_NS));
                s->fds[1 + 2 * i] =
                    (struct pollfd){.fd = reads ? l->helper.out_fd : -1, .events = POLLIN};
                s->fds[2 + 2 * i] = (struct pollfd){
                    .fd = link_listens(l, now) ? l->helper.err_fd : -1, .events = POLLIN};
        }
        if (ppoll(s->fds, 1 + 2 * s->n, &ts, NULL) <= 0)
                return 1;
        if (s->fds[0].revents)
                return 0;
        for (size_t i = 0; i < s->n; i++) {
                if (s->fds[2 + 2 * i].revents)
                        link_read_stderr(&s->links[i], now);
                if (s->fds[1 + 2 * i].revents && read_link(s, i) < 0)
                        return -ENOMEM;
        }
        return 1;
}

/* Nothing came of any of them, and nobody wants to wait. */
static int report_no_source(const struct source *s, struct err *err)
{
        size_t worst = 0;
        for (size_t i = s->n; i-- > 0;)
                worst = s->gather.nodes[i].words[0] ? i : worst;
        const struct node *node = &s->gather.nodes[worst];
        err_set(err, ERR_NO_SOURCE, "%s: %s%s", node->name,
                node->words[0] ? node->words : "it shows no GPU",
                s->n > 1 ? "; nor does another node answer" : "");
        return node->hint[0] ? err_hint(err, "%s", node->hint) : err->code;
}

static int fill_batch(struct source *s, struct batch *ret, struct err *err)
{
        int64_t now = clock_mono_ns(), poll = s->config.poll_ns;
        if (gather_give(&s->gather, now, late_ns(s), ret) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        s->beat_ns += poll;
        if (!s->given || s->beat_ns <= now)
                s->beat_ns = now + poll;
        s->given = true;
        ret->wall_ns = clock_wall_ns();
        return 1;
}

static int nodes_next(struct source *s, struct batch *ret, struct err *err)
{
        if (s->begun_ns == 0)
                s->begun_ns = clock_mono_ns();
        for (int64_t now = clock_mono_ns(); !s->stopped; now = clock_mono_ns()) {
                service_links(s, now);
                if (is_due(s, now)) {
                        bool none = !s->given && gather_count(&s->gather) == 0 && !s->config.wait;
                        return none ? report_no_source(s, err) : fill_batch(s, ret, err);
                }
                int r = wait_for_nodes(s, now);
                if (r < 0)
                        return err_set(err, r, "out of memory");
                s->stopped = r == 0;
        }
        return 0;
}

/* --- what is reported --------------------------------------------------------------------------
 */

static const char *nodes_provenance(const struct source *s)
{
        return s->provenance;
}

static void nodes_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = (struct source_trouble){0};
        for (size_t i = 0; i < s->n; i++)
                ret->skipped += s->links[i].stream.all_bad;
        gather_trouble(&s->gather, &s->config, "nodes", ret);
}

static size_t nodes_nodes(const struct source *s, const struct node **ret)
{
        *ret = s->gather.nodes;
        return s->n;
}

static void nodes_interrupt(struct source *s)
{
        life_wake(s->wake);
}

const struct source_ops source_nodes = {
    .name = "nodes",
    .help = "other hosts, through ssh or inside a Slurm job",
    .poll_floor_ns = 100 * NS_PER_MS,
    .open = nodes_open,
    .next = nodes_next,
    .provenance = nodes_provenance,
    .trouble = nodes_trouble,
    .nodes = nodes_nodes,
    .interrupt = nodes_interrupt,
    .close = nodes_close,
};
