#include "formats/snapshot/snapshot.h"

#include "base/attr.h"
#include "base/jsonin.h"
#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *o, const char *name)
{
        const char *s = json_string_value(json_object_get(o, name));
        return s ? s : "";
}

static void take_name(const json_t *o, const char *name, char *buf, size_t size)
{
        snprintf(buf, size, "%s", text_of(o, name));
        text_clean(buf);
}

static int32_t number_of(const json_t *o, const char *name)
{
        json_int_t v = json_integer_value(json_object_get(o, name));
        return v > 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

#define NUMBER_MOST 1e18

/* What a machine says of itself: a number that is not one, or below 0, is unknown. */
static struct value measure_of(const json_t *o, const char *name)
{
        const json_t *v = json_object_get(o, name);
        double number = json_number_value(v);
        bool fits = json_is_number(v) && number >= 0 && number <= NUMBER_MOST;
        return fits ? value_ok(number) : value_missing(STATE_NONE);
}

static struct value whole_of(const json_t *o, const char *name)
{
        struct value v = measure_of(o, name);
        return value_is_set(v) && v.v <= INT32_MAX && v.v == floor(v.v) ? v
                                                                        : value_missing(STATE_NONE);
}

static struct value ratio_of(const json_t *o, const char *name)
{
        const json_t *v = json_object_get(o, name);
        double number = json_number_value(v);
        bool fits = json_is_number(v) && number >= 0 && number <= 1;
        return fits ? value_ok(number) : value_missing(STATE_NONE);
}

static uint32_t intern_name(struct stack_snapshot *l, const json_t *o, const char *name)
{
        const char *s = text_of(o, name);
        return stack_intern_text(l->table, s, strlen(s));
}

static uint8_t state_of(const char *name)
{
        for (enum stack_state i = 0; i < STACK_STATE_COUNT; i++) {
                if (strcmp(stack_state_name(i), name) == 0)
                        return (uint8_t)i;
        }
        return STACK_STATE_UNKNOWN;
}

static uint32_t whose_of(const char *name)
{
        for (enum stack_whose i = 0; i < STACK_WHOSE_COUNT; i++) {
                if (strcmp(stack_whose_name(i), name) == 0)
                        return i;
        }
        return STACK_INTERPRETER;
}

static enum stack_access access_of(const char *name)
{
        for (enum stack_access i = 0; i < STACK_ACCESS_COUNT; i++) {
                if (strcmp(stack_access_name(i), name) == 0)
                        return i;
        }
        return STACK_PENDING;
}

/* ---- threads ---- */

/* The innermost frame comes first. */
static uint32_t take_stack(struct stack_snapshot *l, const json_t *frames)
{
        uint32_t stack = STACK_EMPTY;
        for (size_t i = MIN(json_array_size(frames), (size_t)STACK_DEPTH_MAX); i-- > 0;) {
                const json_t *o = json_array_get(frames, i);
                struct stack_frame f = {.file = intern_name(l, o, "file"),
                                        .function = intern_name(l, o, "function"),
                                        .line = (uint32_t)number_of(o, "line"),
                                        .whose = whose_of(text_of(o, "whose"))};
                stack = stack_intern_call(l->table, stack, stack_intern_frame(l->table, &f));
        }
        return stack;
}

static int take_thread(struct stack_snapshot *l, const json_t *o)
{
        struct snapshot_thread *t = stack_snapshot_add_thread(l);
        if (!t)
                return -ENOMEM;
        t->tid = number_of(o, "tid");
        t->name = intern_name(l, o, "name");
        t->call = intern_name(l, o, "call");
        t->channel = intern_name(l, o, "channel");
        t->state = state_of(text_of(o, "state"));
        t->holds_gil = json_is_true(json_object_get(o, "gil"));
        t->is_main = json_is_true(json_object_get(o, "main"));
        t->stack = take_stack(l, json_object_get(o, "frames"));
        t->target = intern_name(l, o, "target");
        t->n_samples = (uint32_t)number_of(o, "looks");
        t->places = (uint32_t)number_of(o, "places");
        t->steady = stack_ancestor(l->table, t->stack, (uint32_t)number_of(o, "steady"));
        t->waits_at = (uint64_t)value_or(measure_of(o, "waits_at"), 0);
        t->busy = measure_of(o, "busy");
        t->ready = ratio_of(o, "ready");
        t->wakes = measure_of(o, "wakes");
        t->idle_s = measure_of(o, "idle_s");
        return 0;
}

/* ---- processes ---- */

static void take_held_gpus(struct stack_snapshot *l, struct snapshot_process *p, const json_t *gpus)
{
        for (size_t i = 0; i < MIN(json_array_size(gpus), (size_t)SNAPSHOT_GPUS_MAX); i++) {
                char label[ENTITY_LABEL_MAX];
                const char *s = json_string_value(json_array_get(gpus, i));
                snprintf(label, sizeof(label), "%s", s ? s : "");
                text_clean(label);
                stack_snapshot_hold_gpu(p, stack_snapshot_find_gpu(l, p->host, label));
        }
}

static uint8_t halt_of(const char *name)
{
        for (enum snapshot_halt i = 0; i < SNAPSHOT_HALT_COUNT; i++) {
                if (strcmp(snapshot_halt_name(i), name) == 0)
                        return (uint8_t)i;
        }
        return SNAPSHOT_HALT_UNKNOWN;
}

static void take_watched(const json_t *o, struct snapshot_process *p)
{
        if (!json_is_object(o))
                return;
        p->watched_s = measure_of(o, "seconds");
        p->halt = halt_of(text_of(o, "halt"));
        p->tracer = number_of(o, "tracer");
        for (enum snapshot_figure f = 0; f < SNAPSHOT_FIGURE_COUNT; f++)
                p->figures[f] = measure_of(o, snapshot_figure_name(f));
}

static int take_process(struct stack_snapshot *l, uint32_t host, const json_t *o, size_t *threads)
{
        struct stack_process is = {.pid = number_of(o, "pid"),
                                   .ppid = number_of(o, "ppid"),
                                   .access = access_of(text_of(o, "access"))};
        take_name(o, "command", is.command, sizeof(is.command));
        take_name(o, "runtime", is.runtime, sizeof(is.runtime));
        take_name(o, "why", is.why, sizeof(is.why));
        struct snapshot_process *p = stack_snapshot_add_process(l, host, &is);
        if (!p)
                return -ENOMEM;
        const json_t *list = json_object_get(o, "threads");
        p->rank = whole_of(o, "rank");
        p->world = whole_of(o, "world");
        p->local = whole_of(o, "local_world");
        take_watched(json_object_get(o, "watched"), p);
        take_held_gpus(l, p, json_object_get(o, "gpus"));
        int r = 0;
        for (size_t i = 0; r == 0 && i < json_array_size(list) && *threads > 0; i++, --*threads)
                r = take_thread(l, json_array_get(list, i));
        return r;
}

static int take_gpu(struct stack_snapshot *l, uint32_t host, const json_t *o)
{
        char label[ENTITY_LABEL_MAX];
        take_name(o, "gpu", label, sizeof(label));
        struct snapshot_gpu *g = stack_snapshot_add_gpu(l, host, label);
        if (!g)
                return -ENOMEM;
        g->busy = ratio_of(o, "gpu_util");
        g->sm = ratio_of(o, "sm_active");
        g->data = ratio_of(o, "data");
        g->power = measure_of(o, "power");
        g->temp = measure_of(o, "temp");
        g->clock = measure_of(o, "sm_clock");
        g->lost = ratio_of(o, "lost");
        g->xid = whole_of(o, "xid");
        take_name(o, "problem", g->problem, sizeof(g->problem));
        return 0;
}

static int take_lists(struct stack_snapshot *l, uint32_t host, const json_t *o)
{
        const json_t *gpus = json_object_get(o, "gpus"), *list = json_object_get(o, "processes");
        size_t threads = SNAPSHOT_HOST_THREADS_MAX;
        int r = 0;
        for (size_t i = 0; r == 0 && i < MIN(json_array_size(gpus), (size_t)SNAPSHOT_HOST_GPUS_MAX);
             i++)
                r = take_gpu(l, host, json_array_get(gpus, i));
        for (size_t i = 0;
             r == 0 && i < MIN(json_array_size(list), (size_t)SNAPSHOT_HOST_PROCESSES_MAX); i++)
                r = take_process(l, host, json_array_get(list, i), &threads);
        return r;
}

static void take_node(const json_t *o, struct snapshot_host *host)
{
        for (enum node_figure i = 0; json_is_object(o) && i < NODE_FIGURE_COUNT; i++)
                host->node[i] = measure_of(o, node_figure_name(i));
        if (host->node[NODE_IO_STALLED].v > 1)
                host->node[NODE_IO_STALLED] = value_missing(STATE_NONE);
}

int snapshot_parse(const char *text, size_t n, int schema, uint32_t host,
                   struct stack_snapshot *ret, struct err *err)
{
        json_t *o = jsonin_load(text, n, 0, NULL);
        int r = 0;
        if (!json_is_object(o) || strcmp(text_of(o, "program"), "assay") != 0)
                r = err_set(err, ERR_DATA, "its answer is no look at stacks");
        else if (json_integer_value(json_object_get(o, "schema")) != schema)
                r = err_set(err, ERR_DATA, "its assay writes another format");
        else
                r = take_lists(ret, host, o);
        if (r == 0)
                take_node(json_object_get(o, "node"), &ret->hosts[host]);
        json_decref(o);
        return r;
}
