#include "present/stream/stack_snapshot.h"

#include "base/clock.h"
#include "present/stream/json.h"

#include <errno.h>

static void put_frame(struct jsonw *j, const char *name, const struct stack_snapshot *l,
                      uint32_t stack)
{
        const struct stack_frame *f = stack_frame(l->table, stack_node(l->table, stack)->frame);
        if (stack == STACK_EMPTY) {
                jsonw_null(j, name);
                return;
        }
        jsonw_object(j, name);
        jsonw_text(j, "file", stack_text(l->table, f->file));
        if (f->line > 0)
                jsonw_count(j, "line", f->line);
        else
                jsonw_null(j, "line");
        jsonw_text_or_null(j, "function", stack_text(l->table, f->function));
        jsonw_text(j, "whose", stack_whose_name((enum stack_whose)f->whose));
        jsonw_end(j);
}

static void put_place(struct jsonw *j, const struct stack_snapshot *l, struct stack_place place)
{
        put_frame(j, "own", l, place.own);
        put_frame(j, "inner", l, place.inner);
}

static void put_watched_thread(struct jsonw *j, const struct stack_snapshot *l,
                               const struct snapshot_thread *t)
{
        jsonw_text_or_null(j, "target", stack_text(l->table, t->target));
        jsonw_count(j, "looks", t->n_samples);
        jsonw_count(j, "places", t->places);
        jsonw_count(j, "steady", stack_node(l->table, t->steady)->depth);
        jsonw_count(j, "waits_at", t->waits_at);
        jsonw_value(j, "busy", t->busy);
        jsonw_value(j, "ready", t->ready);
        jsonw_value(j, "wakes", t->wakes);
        jsonw_value(j, "idle_s", t->idle_s);
}

static void put_watched_process(struct jsonw *j, const struct snapshot_process *p)
{
        jsonw_object(j, "watched");
        jsonw_value(j, "seconds", p->watched_s);
        jsonw_text(j, "halt", snapshot_halt_name((enum snapshot_halt)p->halt));
        jsonw_whole(j, "tracer", p->tracer);
        for (enum snapshot_figure f = 0; f < SNAPSHOT_FIGURE_COUNT; f++)
                jsonw_value(j, snapshot_figure_name(f), p->figures[f]);
        jsonw_end(j);
}

static void put_snapshot_thread(struct jsonw *j, const struct stack_snapshot *l,
                                const struct snapshot_thread *t)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_whole(j, "tid", t->tid);
        jsonw_text_or_null(j, "name", stack_text(l->table, t->name));
        jsonw_bool(j, "main", t->is_main);
        jsonw_text(j, "state", stack_state_name((enum stack_state)t->state));
        jsonw_bool(j, "gil", t->holds_gil);
        jsonw_text_or_null(j, "call", stack_text(l->table, t->call));
        jsonw_text_or_null(j, "channel", stack_text(l->table, t->channel));
        if (t->n_samples > 0)
                put_watched_thread(j, l, t);
        put_place(j, l, stack_find_place(l->table, t->stack));
        jsonw_array(j, "frames");
        for (uint32_t at = t->stack; at != STACK_EMPTY; at = stack_node(l->table, at)->parent)
                put_frame(j, NULL, l, at);
        jsonw_end(j);
        jsonw_end(j);
}

static void put_host(struct jsonw *j, const struct stack_snapshot *l, uint32_t host)
{
        if (l->n_hosts > 1)
                jsonw_text(j, "host", l->hosts[host].name);
}

static void put_snapshot_process(struct jsonw *j, const struct stack_snapshot *l,
                                 const struct snapshot_process *p)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        put_host(j, l, p->host);
        jsonw_whole(j, "pid", p->is.pid);
        jsonw_whole(j, "ppid", p->is.ppid);
        jsonw_value(j, "rank", p->rank);
        jsonw_value(j, "world", p->world);
        jsonw_value(j, "local_world", p->local);
        jsonw_bool(j, "leads", p->leads);
        jsonw_array(j, "gpus");
        for (size_t i = 0; i < p->n_gpus; i++)
                jsonw_text(j, NULL, l->gpus[p->gpus[i]].label);
        jsonw_end(j);
        jsonw_text_or_null(j, "command", p->is.command);
        jsonw_text_or_null(j, "runtime", p->is.runtime);
        jsonw_text(j, "access", stack_access_name(p->is.access));
        jsonw_text_or_null(j, "why", p->is.why);
        if (value_is_set(p->watched_s))
                put_watched_process(j, p);
        jsonw_array(j, "threads");
        for (size_t i = 0; i < p->n_threads; i++)
                put_snapshot_thread(j, l, &l->threads[p->first_thread + i]);
        jsonw_end(j);
        jsonw_end(j);
}

static void put_snapshot_gpu(struct jsonw *j, const struct stack_snapshot *l,
                             const struct snapshot_gpu *g)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        put_host(j, l, g->host);
        jsonw_text(j, "gpu", g->label);
        jsonw_value(j, "gpu_util", g->busy);
        jsonw_value(j, "sm_active", g->sm);
        jsonw_value(j, "data", g->data);
        jsonw_value(j, "power", g->power);
        jsonw_value(j, "temp", g->temp);
        jsonw_value(j, "sm_clock", g->clock);
        jsonw_value(j, "lost", g->lost);
        jsonw_value(j, "xid", g->xid);
        jsonw_text_or_null(j, "problem", g->problem);
        jsonw_text_or_null(j, "class", g->class_name);
        jsonw_text_or_null(j, "limiter", g->limiter);
        jsonw_end(j);
}

static void put_snapshot_group(struct jsonw *j, const struct stack_snapshot *l,
                               const struct snapshot_group *g)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_count(j, "n", g->n);
        put_place(j, l, g->place);
        jsonw_array(j, "processes");
        for (size_t i = 0; i < g->n; i++) {
                const struct snapshot_process *p = &l->processes[g->processes[i]];
                jsonw_object(j, NULL);
                put_host(j, l, p->host);
                jsonw_whole(j, "pid", p->is.pid);
                jsonw_value(j, "rank", p->rank);
                jsonw_end(j);
        }
        jsonw_end(j);
        jsonw_end(j);
}

static void put_node(struct jsonw *j, const struct snapshot_host *host)
{
        if (!snapshot_knows_node(host))
                return;
        jsonw_object(j, "node");
        for (enum node_figure i = 0; i < NODE_FIGURE_COUNT; i++)
                jsonw_value(j, node_figure_name(i), host->node[i]);
        jsonw_end(j);
}

static void put_snapshot_hosts(struct jsonw *j, const struct stack_snapshot *l)
{
        jsonw_array(j, "hosts");
        for (size_t i = 0; i < l->n_hosts; i++) {
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_text(j, "host", l->hosts[i].name);
                jsonw_text_or_null(j, "why", l->hosts[i].why);
                put_node(j, &l->hosts[i]);
                jsonw_end(j);
        }
        jsonw_end(j);
}

int snapshot_write_json(const struct stack_snapshot *l, const char *version, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        struct snapshot_group *groups;
        size_t n;
        if (stack_snapshot_group(l, &groups, &n) < 0)
                return -ENOMEM;
        jsonw_object(&j, NULL);
        jsonw_whole(&j, "schema", JSON_SCHEMA_VERSION);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", version);
        jsonw_number(&j, "time", clock_to_seconds(l->wall_ns));
        jsonw_bool(&j, "recorded", l->is_recorded);
        if (l->n_hosts > 1)
                put_snapshot_hosts(&j, l);
        else if (l->n_hosts == 1)
                put_node(&j, &l->hosts[0]);
        jsonw_array(&j, "gpus");
        for (size_t i = 0; i < l->n_gpus; i++)
                put_snapshot_gpu(&j, l, &l->gpus[i]);
        jsonw_end(&j);
        jsonw_array(&j, "groups");
        for (size_t i = 0; i < n; i++)
                put_snapshot_group(&j, l, &groups[i]);
        jsonw_end(&j);
        jsonw_array(&j, "processes");
        for (size_t i = 0; i < l->n_processes; i++)
                put_snapshot_process(&j, l, &l->processes[i]);
        jsonw_end(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
        stack_snapshot_free_groups(groups, n);
        return out->failed ? -ENOMEM : 0;
}
