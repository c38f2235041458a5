#include "present/stream/json.h"

#include "base/clock.h"
#include "present/stream/serving_json.h"

void jsonw_value(struct jsonw *j, const char *name, struct value v)
{
        jsonw_begin(j, name);
        if (value_is_set(v))
                json_put_number(j->out, v.v);
        else
                strbuf_puts(j->out, "null");
}

void jsonw_values(struct jsonw *j, const char *name, const struct value *v, size_t n,
                  const struct metric_info *rows)
{
        jsonw_object(j, name);
        for (size_t i = 0; i < n; i++)
                jsonw_value(j, rows[i].name, v[i]);
        jsonw_end(j);
        jsonw_object(j, "missing");
        for (size_t i = 0; i < n; i++) {
                if (!value_is_set(v[i]) && v[i].state != STATE_NONE)
                        jsonw_text(j, rows[i].name, state_name((enum state)v[i].state));
        }
        jsonw_end(j);
        jsonw_object(j, "age");
        for (size_t i = 0; i < n; i++) {
                if (value_is_set(v[i]) && v[i].age_ms != 0)
                        jsonw_number(j, rows[i].name, v[i].age_ms / 1000.0);
        }
        jsonw_end(j);
}

static const char *metric_name(size_t i)
{
        return metric_info((enum metric)i)->name;
}

void jsonw_identity(struct jsonw *j, const struct entity *e)
{
        const struct {
                const char *name;
                int32_t id;
        } ids[] = {{"index", e->index}, {"gi", e->gi}, {"ci", e->ci}, {"flat", e->flat}};
        jsonw_text(j, "gpu", e->label);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
                if (ids[i].id >= 0)
                        jsonw_whole(j, ids[i].name, ids[i].id);
        }
        if (e->flat >= 0 && e->kind == ENTITY_COMPUTE_INSTANCE)
                jsonw_bool(j, "compute", true);
        jsonw_object(j, "identity");
        for (enum entity_text t = 0; t < ENTITY_TEXT_COUNT; t++) {
                if (e->text[t][0])
                        jsonw_text(j, entity_text_name(t), e->text[t]);
        }
        jsonw_end(j);
}

static void put_evidence(struct jsonw *j, const struct row *row)
{
        jsonw_object(j, "evidence");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (row->verdict.inputs & ((metric_set)1 << m))
                        jsonw_number(j, metric_name(m), row->sample.m[m].v);
        }
        jsonw_end(j);
        jsonw_array(j, "missing");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (row->verdict.missing & ((metric_set)1 << m))
                        jsonw_text(j, NULL, metric_name(m));
        }
        jsonw_end(j);
}

static void put_verdict(struct jsonw *j, const struct row *row)
{
        const struct verdict *v = &row->verdict;
        jsonw_object(j, "verdict");
        jsonw_text(j, "class", workload_status(v->workload));
        jsonw_text(j, "bottleneck", bottleneck_name(workload_bottleneck(v->workload)));
        jsonw_whole(j, "rule", v->rule);
        jsonw_text(j, "rule_text", workload_rule((enum workload)v->rule));
        jsonw_bool(j, "without_counters", v->without_counters);
        put_evidence(j, row);
        if (v->margin.other != WORKLOAD_UNKNOWN) {
                jsonw_object(j, "nearest");
                jsonw_text(j, "class", workload_status(v->margin.other));
                jsonw_text(j, "metric", metric_name(v->margin.metric));
                jsonw_number(j, "change", v->margin.change);
                jsonw_end(j);
        } else {
                jsonw_null(j, "nearest");
        }
        jsonw_end(j);
}

void jsonw_ceiling_names(struct jsonw *j, const char *name, uint64_t set)
{
        jsonw_array(j, name);
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (set & CEILING_AT(i))
                        jsonw_text(j, NULL, ceiling_info(i)->name);
        }
        jsonw_end(j);
}

void jsonw_ceilings(struct jsonw *j, const char *name, const struct ceilings *c)
{
        jsonw_object(j, name);
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                bool present = c->present & CEILING_AT(i);
                if (!present && ceiling_info(i)->kind == CEILING_DRIVER)
                        continue;
                if (present)
                        jsonw_short(j, ceiling_info(i)->name, (double)c->v[i], 6);
                else
                        jsonw_null(j, ceiling_info(i)->name);
        }
        jsonw_end(j);
}

void jsonw_basis(struct jsonw *j, const struct limit *l)
{
        jsonw_text(j, "basis", basis_name((enum basis)l->basis));
        if (l->basis == BASIS_COUNTERS)
                return;
        jsonw_array(j, "candidates");
        if (l->limiter == LIMITER_UNKNOWN && l->or_else != LIMITER_UNKNOWN) {
                jsonw_text(j, NULL, limiter_name((enum limiter)l->undecided));
                jsonw_text(j, NULL, limiter_name((enum limiter)l->or_else));
        }
        jsonw_end(j);
        jsonw_object(j, "power_at_rest");
        jsonw_short(j, "lo", (double)l->floor.lo, 4);
        jsonw_short(j, "hi", (double)l->floor.hi, 4);
        jsonw_text(j, "from", floor_from_name((enum floor_from)l->floor.from));
        jsonw_end(j);
        jsonw_text(j, "sure", basis_sure((enum basis)l->basis));
}

void jsonw_flops(struct jsonw *j, const struct flops_rated *f)
{
        if (!f->type) {
                jsonw_null(j, "flops");
                if (f->missing)
                        jsonw_text(j, "flops_missing", f->missing);
                return;
        }
        jsonw_object(j, "flops");
        jsonw_text(j, "type", f->type);
        jsonw_short(j, "lo", f->lo, 5);
        jsonw_short(j, "hi", f->hi, 5);
        jsonw_end(j);
}

static void put_rate(struct jsonw *j, const struct flops_rates *r)
{
        enum flops_type type = r->has_asked ? (enum flops_type)r->asked : FLOPS_COUNT;
        struct flops f = flops_rate(r, type);
        const struct flops_rated reported = {.type = f.known ? flops_name(type) : NULL,
                                             .lo = f.lo,
                                             .hi = f.hi,
                                             .missing = r->has_asked ? flops_missing(type) : NULL};
        jsonw_flops(j, &reported);
}

static void put_limit(struct jsonw *j, const struct limit *l)
{
        bool unknown = l->limiter == LIMITER_UNKNOWN;
        jsonw_text(j, "limiter", limiter_name((enum limiter)l->limiter));
        jsonw_text_or_null(j, "held_by", held_by_name((enum held_by)l->held_by));
        jsonw_object(j, "limit");
        jsonw_text(j, "judged", "live");
        jsonw_basis(j, l);
        jsonw_text(j, "rule",
                   limiter_rule((enum limiter)(unknown ? l->undecided : l->limiter),
                                (enum basis)l->basis));
        jsonw_ceiling_names(j, "evidence", l->inputs);
        jsonw_ceiling_names(j, "missing", l->missing);
        if (l->other != l->limiter) {
                jsonw_object(j, "nearest");
                jsonw_text(j, "limiter", limiter_name((enum limiter)l->other));
                jsonw_text(j, "ceiling", ceiling_info((enum ceiling)l->at)->name);
                jsonw_short(j, "change", (double)l->change, 6);
                jsonw_end(j);
        } else {
                jsonw_null(j, "nearest");
        }
        jsonw_end(j);
        jsonw_ceilings(j, "ceilings", &l->ceilings);
}

static void put_health(struct jsonw *j, const struct health *h)
{
        jsonw_object(j, "health");
        jsonw_text(j, "state", health_name(h->state));
        jsonw_array(j, "findings");
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                char words[HEALTH_WORDS_MAX];
                if (h->findings & (1u << f))
                        jsonw_text(j, NULL, health_reason_words(h, f, words, sizeof(words)));
        }
        jsonw_end(j);
        jsonw_end(j);
}

static void put_when(struct jsonw *j, const struct frame *f)
{
        jsonw_whole(j, "schema", JSON_SCHEMA_VERSION);
        jsonw_fixed(j, "time", clock_to_seconds(f->wall_ns), 3);
        jsonw_count(j, "tick", f->tick);
        jsonw_bool(j, "stale", f->stale);
        jsonw_text(j, "source", f->provenance);
}

static void frame_json_put_row(struct jsonw *j, const struct row *row)
{
        jsonw_identity(j, row->sample.who);
        jsonw_values(j, "metrics", row->sample.m, METRIC_COUNT, metric_info(0));
        put_verdict(j, row);
        put_limit(j, &row->limit);
        put_rate(j, &row->flops);
        put_health(j, &row->health);
}

void jsonw_row(struct jsonw *j, const struct frame *frame, const struct row *row)
{
        put_when(j, frame);
        frame_json_put_row(j, row);
}

void json_write_row(const struct frame *frame, const struct row *row, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_row(&j, frame, row);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

/* Only where several machines were asked. */
static void put_nodes(struct jsonw *j, const struct frame *frame)
{
        if (frame->n_nodes == 0)
                return;
        jsonw_array(j, "nodes");
        for (size_t i = 0; i < frame->n_nodes; i++) {
                const struct node *node = &frame->nodes[i];
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_text(j, "name", node->name);
                jsonw_text(j, "state", node_state_name(node->state));
                jsonw_text(j, "why", node->words);
                jsonw_count(j, "gpus", node->gpus);
                if (node->has_offset)
                        jsonw_number(j, "clock_offset", node->offset_s);
                else
                        jsonw_null(j, "clock_offset");
                jsonw_end(j);
        }
        jsonw_line(j);
        jsonw_end(j);
}

void json_write_frame(const struct frame *frame, const char *version, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", version);
        put_when(&j, frame);
        put_nodes(&j, frame);
        jsonw_served(&j, frame->servings, frame->n_servings);
        jsonw_array(&j, "gpus");
        for (size_t i = 0; i < frame->n; i++) {
                jsonw_line(&j);
                jsonw_object(&j, NULL);
                frame_json_put_row(&j, &frame->rows[i]);
                jsonw_end(&j);
        }
        jsonw_line(&j);
        jsonw_end(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}
