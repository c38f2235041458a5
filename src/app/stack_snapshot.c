#include "app/stack_snapshot.h"

#include "app/node_figures.h"
#include "app/rank.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/num.h"
#include "formats/snapshot/snapshot.h"
#include "present/stream/json.h"
#include "read/nodes/ask.h"
#include "read/stacks/glance.h"
#include "read/stacks/watch.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- GPUs ---- */

#define LINK_WORKS 1e6 /* bytes a second: less is what keeping a connection takes */

static const struct row *find_row(const struct frame *frame, const char *label)
{
        for (size_t i = 0; i < frame->n; i++) {
                if (strcmp(frame->rows[i].sample.who->label, label) == 0)
                        return &frame->rows[i];
        }
        return NULL;
}

/* Whether anything of use moves: memory, tensor cores, or bytes on its links. A collective that
 * waits spins without any of these. */
static struct value data_of(const struct value *m)
{
        static const enum metric shares[] = {METRIC_DRAM_ACTIVE, METRIC_TENSOR_ACTIVE,
                                             METRIC_MEM_COPY_UTIL};
        static const enum metric links[] = {METRIC_PCIE_RX, METRIC_PCIE_TX, METRIC_NVLINK_RX,
                                            METRIC_NVLINK_TX};
        struct value ret = value_missing(STATE_NONE);
        for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
                if (value_is_set(m[shares[i]]))
                        ret = value_ok(MAX(value_or(ret, 0), m[shares[i]].v));
        }
        for (size_t i = 0; i < ARRAY_LEN(links); i++) {
                if (value_is_set(m[links[i]]) && m[links[i]].v >= LINK_WORKS)
                        ret = value_ok(1);
        }
        return ret;
}

static void fill_gpu(struct snapshot_gpu *g, const struct row *row)
{
        const struct value *m = row->sample.m;
        g->data = data_of(m);
        g->power = m[METRIC_POWER];
        g->temp = m[METRIC_GPU_TEMP];
        g->clock = m[METRIC_SM_CLOCK];
        g->lost = m[METRIC_LOST];
        if (row->health.grave_xid > 0)
                g->xid = value_ok(row->health.grave_xid);
        for (enum health_reason i = 0; i < HEALTH_REASON_COUNT; i++) {
                char words[HEALTH_WORDS_MAX];
                if (row->health.findings & 1u << i) {
                        snprintf(g->problem, sizeof(g->problem), "%s",
                                 health_reason_words(&row->health, i, words, sizeof(words)));
                        return;
                }
        }
}

static size_t gpu_for(struct stack_snapshot *l, uint32_t host, const struct frame *frame,
                      const char *label)
{
        size_t at = stack_snapshot_find_gpu(l, host, label);
        const struct row *row = find_row(frame, label);
        if (at != SIZE_MAX || label[0] == '\0')
                return at;
        struct snapshot_gpu *g = stack_snapshot_add_gpu(l, host, label);
        if (g && row) {
                g->busy = row->sample.m[METRIC_GPU_UTIL];
                g->sm = row->sample.m[METRIC_SM_ACTIVE];
                g->class_name = workload_status(row->verdict.workload);
                g->limiter = limiter_name((enum limiter)row->limit.limiter);
                fill_gpu(g, row);
        }
        return g ? l->n_gpus - 1 : SIZE_MAX;
}

void snapshot_add_all_gpus(struct stack_snapshot *l, uint32_t host, const struct frame *frame)
{
        for (size_t i = 0; i < frame->n; i++)
                gpu_for(l, host, frame, frame->rows[i].sample.who->label);
        snapshot_add_gpus(l, host, frame);
}

void snapshot_add_gpus(struct stack_snapshot *l, uint32_t host, const struct frame *frame)
{
        for (size_t i = 0; i < frame->processes.n; i++) {
                const struct process *p = &frame->processes.list[i];
                for (size_t k = 0; k < l->n_processes && !p->child; k++) {
                        if (l->processes[k].host == host && l->processes[k].is.pid == p->pid)
                                stack_snapshot_hold_gpu(&l->processes[k],
                                                        gpu_for(l, host, frame, p->gpu));
                }
        }
}

/* ---- ranks ---- */

#define VARIABLE_MAX 256

struct environment {
        int32_t pid;
        unsigned turn;
        char buf[2][VARIABLE_MAX];
};

static const char *read_process_env(void *arg, const char *name)
{
        struct environment *e = arg;
        char *to = e->buf[e->turn++ % ARRAY_LEN(e->buf)];
        return glance_environment(e->pid, name, to, VARIABLE_MAX) ? to : NULL;
}

/* How many ranks of its job this machine has, where its launcher says so. */
static struct value local_ranks(struct environment *e)
{
        static const char *const names[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                            "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const char *text = read_process_env(e, names[i]);
                uint64_t n;
                if (text && num_parse_u64(text, strlen(text), &n) && n > 0 && n <= INT32_MAX)
                        return value_ok((double)n);
        }
        return value_missing(STATE_NONE);
}

static const struct snapshot_process *find_parent(const struct stack_snapshot *l,
                                                  const struct snapshot_process *p)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                if (l->processes[i].host == p->host && l->processes[i].is.pid == p->is.ppid)
                        return &l->processes[i];
        }
        return NULL;
}

/* What a rank started has its variables too: only the first of them is the rank. Parents come
 * before what they started. */
static void add_rank(const struct stack_snapshot *l, struct snapshot_process *p)
{
        struct environment e = {.pid = p->is.pid};
        const struct snapshot_process *parent = find_parent(l, p);
        struct rank_facts facts = rank_facts_of(read_process_env, &e);
        if (!rank_is_one_of_many(&facts) ||
            (parent && value_is_set(parent->rank) && parent->rank.v == facts.rank.v))
                return;
        p->rank = facts.rank;
        p->world = facts.world;
        p->local = local_ranks(&e);
}

static void add_ranks(struct stack_snapshot *l, bool everywhere)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                if (l->processes[i].leads || everywhere)
                        add_rank(l, &l->processes[i]);
        }
}

/* ---- now ---- */

static size_t list_holders(const struct frame *frame, int32_t *list, size_t max)
{
        size_t n = 0;
        for (size_t i = 0; frame && i < frame->processes.n && n < max; i++) {
                if (!frame->processes.list[i].child)
                        list[n++] = frame->processes.list[i].pid;
        }
        return n;
}

/* The GPUs as they are now; a look at stacks does without them. NULL then. */
static const struct frame *see_gpus(const struct config *config, struct pipeline **p,
                                    struct strbuf *notices, struct err *err, int *ret_code)
{
        const struct frame *frame = NULL;
        char notice[SETUP_NOTICE_MAX];
        int r = setup_open(config, NULL, false, 0, p, notice, err);
        if (notice[0])
                strbuf_putf(notices, "%s\n", notice);
        if (r == 0) {
                pipeline_want_processes(*p, true);
                r = pipeline_next(*p, &frame, err);
        }
        *ret_code = r < 0 && !setup_does_without(config, r) ? r : 0;
        if (r < 0 && *ret_code == 0)
                *err = (struct err){0};
        return r > 0 ? frame : NULL;
}

static int check_found(const struct stack_snapshot *l, int32_t pid, struct err *err)
{
        if (l->n_processes == 0 && pid > 0) {
                err_set(err, ERR_NO_SOURCE, "no process %d", pid);
                return err_hint(err, "'ps -e' lists those that are there");
        }
        if (l->n_processes == 0) {
                err_set(err, ERR_NO_SOURCE, "no process holds a GPU, and no Python runs here");
                return err_hint(err, "name a process: 'assay stacks PID' or 'assay why PID'");
        }
        return 0;
}

static int look_at(struct stack_snapshot *l, int32_t pid, const struct frame *frame,
                   int64_t watch_ns, enum snapshot_whose *ret_whose)
{
        int32_t roots[GLANCE_PROCESSES_MAX], pids[GLANCE_PROCESSES_MAX];
        size_t n = 1;
        roots[0] = pid;
        if (pid == 0)
                n = list_holders(frame, roots, ARRAY_LEN(roots));
        *ret_whose = pid > 0 ? SNAPSHOT_OF_PID : n > 0 ? SNAPSHOT_OF_HOLDERS : SNAPSHOT_OF_USER;
        n = n > 0 ? glance_list_tree(roots, n, pids, ARRAY_LEN(pids))
                  : glance_list_own(pids, ARRAY_LEN(pids));
        bool only_python = *ret_whose == SNAPSHOT_OF_USER;
        return watch_ns > 0 ? glance_watch(l, pids, n, only_python, watch_ns)
                            : glance_take(l, pids, n, only_python);
}

/* Who holds which GPU, kept while the frame continues: a GPU that is lost names nobody any more. */
struct holding {
        int32_t pid;
        char gpu[ENTITY_LABEL_MAX];
};

static size_t copy_holdings(const struct frame *frame, struct holding *list, size_t max)
{
        size_t n = 0;
        for (size_t i = 0; frame && i < frame->processes.n && n < max; i++) {
                const struct process *p = &frame->processes.list[i];
                if (p->child)
                        continue;
                list[n].pid = p->pid;
                snprintf(list[n++].gpu, sizeof(list[n].gpu), "%s", p->gpu);
        }
        return n;
}

static void hold_as_before(struct stack_snapshot *l, const struct holding *list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < l->n_processes; k++) {
                        if (l->processes[k].is.pid == list[i].pid)
                                stack_snapshot_hold_gpu(&l->processes[k],
                                                        stack_snapshot_find_gpu(l, 0, list[i].gpu));
                }
        }
}

/* Looks for so long, and at the GPUs again after it: they say what they did meanwhile. */
static int watch_now(struct stack_snapshot *l, int32_t pid, struct pipeline *p,
                     const struct frame *frame, int64_t watch_ns, enum snapshot_whose *ret_whose)
{
        static const size_t most = 1024;
        struct holding *before = calloc(most, sizeof(*before));
        struct err err = {0};
        int r = before ? 0 : -ENOMEM;
        size_t n = before ? copy_holdings(frame, before, most) : 0;
        struct node_watch *node = node_watch_begin();
        if (r == 0)
                r = look_at(l, pid, frame, watch_ns, ret_whose);
        node_watch_end(node, &l->hosts[0]);
        if (r == 0 && frame && pipeline_next(p, &frame, &err) > 0) {
                snapshot_add_all_gpus(l, 0, frame);
                hold_as_before(l, before, n);
        }
        free(before);
        return r;
}

int snapshot_now(const struct config *config, int32_t pid, struct stack_snapshot *ret,
                 enum snapshot_whose *ret_whose, struct strbuf *notices, struct err *err)
{
        struct pipeline *p = NULL;
        int r = stack_snapshot_init(ret);
        if (r == 0 && !stack_snapshot_add_host(ret, ""))
                r = -ENOMEM;
        if (r < 0)
                return err_set(err, r, "out of memory");
        const struct frame *frame = see_gpus(config, &p, notices, err, &r);
        ret->wall_ns = clock_wall_ns();
        int64_t watch_ns = clock_from_seconds(config_number(config, OPT_WATCH));
        if (r == 0 && (watch_ns > 0 ? watch_now(ret, pid, p, frame, watch_ns, ret_whose)
                                    : look_at(ret, pid, frame, 0, ret_whose)) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r == 0) {
                if (frame && watch_ns == 0)
                        snapshot_add_gpus(ret, 0, frame);
                stack_snapshot_settle(ret);
                add_ranks(ret, watch_ns > 0);
                r = check_found(ret, pid, err);
        }
        pipeline_close(p);
        return r;
}

/* ---- other hosts ---- */

#define NODE_PATIENCE_NS (20 * NS_PER_S)

/* Some hosts print a greeting at login: the answer begins at a line of its own. */
static const char *find_object(const struct strbuf *text)
{
        const char *end = text->s + text->len;
        for (const char *s = text->s; s && s < end; s = memchr(s, '\n', (size_t)(end - s))) {
                s += *s == '\n';
                if (s < end && *s == '{')
                        return s;
        }
        return NULL;
}

static int take_host_snapshot(void *arg, const struct node_answer *a)
{
        struct stack_snapshot *l = arg;
        struct err err = {0};
        while (l->n_hosts < a->n) {
                if (!stack_snapshot_add_host(l, ""))
                        return -ENOMEM;
        }
        struct snapshot_host *h = &l->hosts[a->node];
        snprintf(h->name, sizeof(h->name), "%s", a->name);
        snprintf(h->why, sizeof(h->why), "%s", a->why ? a->why : "");
        snprintf(h->hint, sizeof(h->hint), "%s", a->hint);
        if (a->why)
                return 0;
        const char *from = find_object(a->text);
        size_t n = from ? (size_t)(a->text->s + a->text->len - from) : 0;
        int r =
            snapshot_parse(from ? from : "", n, JSON_SCHEMA_VERSION, (uint32_t)a->node, l, &err);
        if (r == ERR_DATA)
                snprintf(h->why, sizeof(h->why), "%.150s", err.msg);
        return r == -ENOMEM ? r : 0;
}

int snapshot_nodes(const struct config *config, struct stack_snapshot *ret, struct err *err)
{
        struct source_config nodes;
        const char *words[10] = {"stacks", "--format", "json"};
        char watch[32];
        double watch_s = config_number(config, OPT_WATCH);
        size_t n = 3;
        int r = stack_snapshot_init(ret);
        if (r < 0)
                return err_set(err, r, "out of memory");
        r = setup_nodes(config, &nodes, err);
        if (r < 0)
                return r;
        if (nodes.backend) {
                words[n++] = "--backend";
                words[n++] = nodes.backend;
        }
        if (nodes.show_all)
                words[n++] = "--show-all";
        if (watch_s > 0) {
                snprintf(watch, sizeof(watch), "%g", watch_s);
                words[n++] = "--watch";
                words[n++] = watch;
        }
        ret->wall_ns = clock_wall_ns();
        r = nodes_query(&nodes, words, n, NODE_PATIENCE_NS + clock_from_seconds(watch_s),
                        take_host_snapshot, ret, err);
        if (r == -ENOMEM)
                return err_set(err, r, "out of memory");
        stack_snapshot_settle(ret);
        if (r == 0 && ret->n_hosts == 1 && ret->hosts[0].why[0]) {
                r = err_set(err, ERR_NO_SOURCE, "%s: %s", ret->hosts[0].name, ret->hosts[0].why);
                err_hint(err, "%s", ret->hosts[0].hint);
        }
        return r;
}

/* ---- beside a frame ---- */

int snapshot_with_frame(const struct frame *frame, const char *path, struct stack_snapshot *ret)
{
        int32_t pids[GLANCE_PROCESSES_MAX];
        if (path)
                return snapshot_recorded_beside(frame, path, ret);
        int code = stack_snapshot_init(ret);
        if (code == 0 && !stack_snapshot_add_host(ret, ""))
                code = -ENOMEM;
        size_t n = list_holders(frame, pids, ARRAY_LEN(pids));
        if (code == 0)
                code = glance_take(ret, pids, n, false);
        if (code == 0) {
                snapshot_add_gpus(ret, 0, frame);
                stack_snapshot_settle(ret);
        }
        return code;
}
