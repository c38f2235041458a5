#include "serve/api.h"

#include "base/clock.h"
#include "base/num.h"
#include "present/stream/host_json.h"
#include "present/stream/json.h"
#include "present/text/explain.h"

#include <stdio.h>

/* Events are one line each; strings have no line ends of their own. */
static void join_lines(struct strbuf *out, size_t from)
{
        for (size_t i = from; i < out->len; i++) {
                if (out->s[i] == '\n')
                        out->s[i] = ' ';
        }
}

static void put_text(struct strbuf *out, const char *name, const char *value)
{
        strbuf_putf(out, "\"%s\":", name);
        json_put_string(out, value);
}

static void put_value(struct strbuf *out, const char *name, struct value v)
{
        strbuf_putf(out, ",\"%s\":", name);
        if (value_there(v))
                json_put_number(out, v.v);
        else
                strbuf_puts(out, "null");
}

/* --- now ------------------------------------------------------------------------------------- */

static void put_integrals(struct strbuf *out, const struct integrals *in)
{
        strbuf_puts(out, "\"counters\":{\"created\":");
        json_put_number(out, clock_to_seconds(in->created_ns));
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (integral_there(in, i))
                        put_value(out, integral_info(i)->name, value_ok(in->v[i]));
        }
        strbuf_putc(out, '}');
}

/* Why the GPU is what it is, in the words of the table. */
static void put_why(struct strbuf *out, const struct row *row)
{
        struct strbuf why = {0};
        explain_verdict(row, &why);
        strbuf_puts(out, ",");
        put_text(out, "why", strbuf_str(&why));
        strbuf_clear(&why);
        explain_health(row, &why);
        strbuf_puts(out, ",");
        put_text(out, "health_text", strbuf_str(&why));
        strbuf_finish(&why);
}

static void put_gpu(struct strbuf *out, const struct live_moment *m, const struct live_gpu *g)
{
        struct frame frame = m->frame;
        json_write_row(&frame, &g->row, out);
        /* The row ends with "}\n": more members follow. */
        if (out->len >= 2)
                out->len -= 2;
        strbuf_putf(out, ",\"up\":%s,", g->up ? "true" : "false");
        put_integrals(out, &g->in);
        put_why(out, &g->row);
        strbuf_putc(out, '}');
}

static void put_owner(struct strbuf *out, const struct owner *o)
{
        strbuf_puts(out, "{");
        put_text(out, "kind", owner_kind_name(o->kind));
        strbuf_putf(out, ",\"index\":%d,\"gi\":%d,\"processes\":%u,", o->index, o->gi,
                    o->processes);
        put_text(out, "uuid", o->uuid);
#define OWNER_TEXT(id, name, size)                                                                 \
        if (o->id[0]) {                                                                            \
                strbuf_putc(out, ',');                                                             \
                put_text(out, name, o->id);                                                        \
        }
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        put_value(out, "gpu_memory", o->gpu_memory);
        put_value(out, "cpu_s", o->cpu_s);
        put_value(out, "memory", o->memory);
        put_value(out, "memory_limit", o->memory_limit);
        strbuf_putc(out, '}');
}

static void put_status(struct strbuf *out, const struct live_moment *m)
{
        const struct live_status *s = &m->status;
        strbuf_puts(out, ",\"status\":{");
        put_text(out, "source", s->source);
        strbuf_putf(
            out, ",\"up\":%s,\"capture\":%s,\"on_time\":%llu,\"late\":%llu,\"missed\":%llu,",
            s->up ? "true" : "false", s->capture ? "true" : "false", (unsigned long long)s->on_time,
            (unsigned long long)s->late, (unsigned long long)s->missed);
        put_text(out, "error", s->err.code ? s->err.msg : "");
        strbuf_puts(out, ",");
        put_text(out, "hint", s->err.code ? s->err.hint : "");
        strbuf_putc(out, '}');
}

void api_now(const struct live_moment *m, const char *version, struct strbuf *out)
{
        size_t from = out->len;
        strbuf_puts(out, "{");
        put_text(out, "program", "assay");
        strbuf_putc(out, ',');
        put_text(out, "version", version);
        strbuf_puts(out, ",\"time\":");
        json_put_number(out, clock_to_seconds(m->frame.wall_ns));
        strbuf_puts(out, ",\"gpus\":[");
        for (size_t i = 0; i < m->n; i++) {
                strbuf_puts(out, i ? "," : "");
                put_gpu(out, m, &m->gpus[i]);
        }
        strbuf_puts(out, "],\"owners\":[");
        for (size_t i = 0; i < m->n_owners; i++) {
                strbuf_puts(out, i ? "," : "");
                put_owner(out, &m->owners[i]);
        }
        strbuf_puts(out, "]");
        put_status(out, m);
        strbuf_puts(out, "}\n");
        if (m->host)
                host_json_append(m->host, out);
        join_lines(out, from);
}

/* --- processes ------------------------------------------------------------------------------- */

static bool may_name(const struct viewer *v, const struct process *p)
{
        return v->role == ROLE_ADMIN || (v->user[0] && strcmp(v->user, p->user) == 0);
}

void api_processes(const struct live_moment *m, const struct viewer *viewer, struct strbuf *out)
{
        strbuf_putf(out, "{\"known\":%s,\"processes\":[",
                    m->frame.knows_processes ? "true" : "false");
        bool first = true;
        for (size_t i = 0; i < m->processes.n; i++) {
                const struct process *p = &m->processes.list[i];
                if (p->child)
                        continue;
                strbuf_putf(out, "%s{\"pid\":%d,", first ? "\n" : ",\n", p->pid);
                first = false;
                put_text(out, "gpu", p->gpu);
                strbuf_putc(out, ',');
                put_text(out, "user", p->user);
                strbuf_putc(out, ',');
                put_text(out, "job", p->slurm_job);
                put_value(out, "gpu_memory", p->gpu_memory);
                put_value(out, "sm_util", p->sm_util);
                put_value(out, "cpu", p->cpu);
                put_value(out, "rss", p->rss);
                put_value(out, "elapsed", p->elapsed);
                /* The program's name, never its folder or arguments: those are nobody's business.
                 */
                if (may_name(viewer, p)) {
                        strbuf_putc(out, ',');
                        put_text(out, "name", p->name);
                }
                strbuf_putc(out, '}');
        }
        strbuf_puts(out, "]}\n");
}

/* --- history --------------------------------------------------------------------------------- */

static void put_compact(struct strbuf *out, float v)
{
        char buf[40];
        int n = snprintf(buf, sizeof(buf), "%.5g", (double)v);
        strbuf_put(out, buf, (size_t)n);
}

static void put_cells(struct strbuf *out, const char *name, const struct past_cell *cells, size_t n,
                      size_t offset)
{
        strbuf_putf(out, "\"%s\":[", name);
        for (size_t i = 0; i < n; i++) {
                float v;
                memcpy(&v, (const char *)&cells[i] + offset, sizeof(v));
                strbuf_puts(out, i ? "," : "");
                if (cells[i].there)
                        put_compact(out, v);
                else
                        strbuf_puts(out, "null");
        }
        strbuf_putc(out, ']');
}

static bool any(const struct past_cell *cells, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (cells[i].there)
                        return true;
        }
        return false;
}

static void put_series(struct strbuf *out, enum past_metric m, bool coarse,
                       const struct past_cell *cells, size_t n, bool *first)
{
        if (!any(cells, n))
                return;
        strbuf_puts(out, *first ? "\n" : ",\n");
        *first = false;
        strbuf_putf(out, "\"%s\":{", metric_info(past_metric(m))->name);
        put_cells(out, "mean", cells, n, offsetof(struct past_cell, mean));
        if (coarse) {
                strbuf_putc(out, ',');
                put_cells(out, "least", cells, n, offsetof(struct past_cell, least));
                strbuf_putc(out, ',');
                put_cells(out, "most", cells, n, offsetof(struct past_cell, most));
        }
        strbuf_putc(out, '}');
}

static const struct live_gpu *find_gpu(const struct live_moment *m, const char *label)
{
        for (size_t i = 0; i < m->n; i++) {
                if (strcmp(m->gpus[i].who.label, label) == 0)
                        return &m->gpus[i];
        }
        return NULL;
}

bool api_history(const struct live_moment *m, struct past *past, const char *gpu, double span,
                 struct strbuf *out)
{
        static const double minute = 60;
        const struct live_gpu *g = find_gpu(m, gpu);
        bool coarse = span > PAST_FINE;
        double cells_wanted = coarse ? span / minute : span;
        size_t n = cells_wanted < 1 ? 1
                                    : MIN((size_t)cells_wanted,
                                          coarse ? (size_t)PAST_COARSE : (size_t)PAST_FINE);
        struct past_cell *cells = g ? calloc(n, sizeof(*cells)) : NULL;
        char key[STATE_KEY_MAX];
        bool first = true;
        if (!cells)
                return false;
        live_key(&g->who, key);
        strbuf_puts(out, "{");
        put_text(out, "gpu", gpu);
        strbuf_putf(out, ",\"step\":%d,\"end\":", coarse ? 60 : 1);
        json_put_number(out, clock_to_seconds(m->frame.wall_ns));
        strbuf_puts(out, ",\"series\":{");
        for (enum past_metric k = 0; k < PAST_COUNT; k++) {
                if (past_read(past, key, k, coarse, m->frame.mono_ns, cells, n))
                        put_series(out, k, coarse, cells, n, &first);
        }
        strbuf_puts(out, "}}\n");
        free(cells);
        return true;
}

/* --- findings -------------------------------------------------------------------------------- */

void api_findings(const struct live_moment *m, struct journal *journal, struct strbuf *out)
{
        bool first = true;
        strbuf_puts(out, "{\"now\":[");
        for (size_t i = 0; i < m->n; i++) {
                const struct live_gpu *g = &m->gpus[i];
                for (enum finding f = 0; f < FINDING_COUNT; f++) {
                        if (!(g->row.health.findings & (1u << f)))
                                continue;
                        strbuf_puts(out, first ? "\n{" : ",\n{");
                        first = false;
                        put_text(out, "gpu", g->who.label);
                        strbuf_putc(out, ',');
                        put_text(out, "state", health_name(finding_state(f)));
                        strbuf_putc(out, ',');
                        put_text(out, "text", finding_text(f));
                        strbuf_putc(out, '}');
                }
        }
        strbuf_puts(out, "],\"log\":");
        journal_write(journal, out);
        strbuf_puts(out, "}\n");
}
