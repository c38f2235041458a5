#include "present/stream/json.h"

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

void json_put_string(struct strbuf *out, const char *s)
{
        size_t len;
        strbuf_putc(out, '"');
        for (; *s; s += len) {
                uint32_t c;
                len = text_decode(s, &c);
                if (c == '"' || c == '\\')
                        strbuf_putf(out, "\\%c", (char)c);
                else if (c == 0)
                        strbuf_puts(out, "\\ufffd"); /* not UTF-8, which JSON must be */
                else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
                        strbuf_putf(out, "\\u%04x", c);
                else
                        strbuf_put(out, s, len);
        }
        strbuf_putc(out, '"');
}

void json_put_number(struct strbuf *out, double v)
{
        char buf[NUM_FORMAT_MAX];
        if (!isfinite(v)) {
                strbuf_puts(out, "null");
                return;
        }
        if (v == floor(v) && fabs(v) < 0x1p53) {
                strbuf_put(out, buf, num_format(buf, v + 0.0, 0));
                return;
        }
        for (int digits = 15; digits <= 17; digits++) {
                int n = snprintf(buf, sizeof(buf), "%.*g", digits, v);
                double back;
                if (num_parse_all(buf, (size_t)n, &back) && back == v)
                        break;
        }
        strbuf_puts(out, buf);
}

static void put_key(struct strbuf *out, const char *name, bool *first)
{
        if (!*first)
                strbuf_putc(out, ',');
        *first = false;
        json_put_string(out, name);
        strbuf_putc(out, ':');
}

static void put_metrics(struct strbuf *out, const struct sample *s)
{
        bool first = true;
        strbuf_puts(out, "\"metrics\":{");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                put_key(out, metric_info(m)->name, &first);
                if (value_there(s->m[m]))
                        json_put_number(out, s->m[m].v);
                else
                        strbuf_puts(out, "null");
        }
        strbuf_putc(out, '}');
}

/* Why a value is null, for those whose source has the field; and the age of old ones. */
static void put_states(struct strbuf *out, const struct sample *s)
{
        bool first = true;
        strbuf_puts(out, ",\"missing\":{");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (value_there(s->m[m]) || s->m[m].state == STATE_NONE)
                        continue;
                put_key(out, metric_info(m)->name, &first);
                json_put_string(out, state_name((enum state)s->m[m].state));
        }
        first = true;
        strbuf_puts(out, "},\"age\":{");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (!value_there(s->m[m]) || s->m[m].age_ms == 0)
                        continue;
                put_key(out, metric_info(m)->name, &first);
                json_put_number(out, s->m[m].age_ms / 1000.0);
        }
        strbuf_putc(out, '}');
}

static void put_identity(struct strbuf *out, const struct entity *e)
{
        bool first = true;
        strbuf_puts(out, "\"gpu\":");
        json_put_string(out, e->label);
        const struct {
                const char *name;
                int32_t id;
        } ids[] = {{"index", e->index}, {"gi", e->gi}, {"ci", e->ci}, {"flat", e->flat}};
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
                if (ids[i].id >= 0)
                        strbuf_putf(out, ",\"%s\":%d", ids[i].name, ids[i].id);
        }
        if (e->flat >= 0 && e->kind == ENTITY_COMPUTE_INSTANCE)
                strbuf_puts(out, ",\"compute\":true");
        strbuf_puts(out, ",\"identity\":{");
        for (enum entity_text t = 0; t < ENTITY_TEXT_COUNT; t++) {
                if (e->text[t][0] == '\0')
                        continue;
                put_key(out, entity_text_name(t), &first);
                json_put_string(out, e->text[t]);
        }
        strbuf_puts(out, "},");
}

static void put_evidence(struct strbuf *out, const struct row *row)
{
        bool first = true;
        strbuf_puts(out, ",\"evidence\":{");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (!(row->verdict.inputs & ((metric_set)1 << m)))
                        continue;
                put_key(out, metric_info(m)->name, &first);
                json_put_number(out, row->sample.m[m].v);
        }
        first = true;
        strbuf_puts(out, "},\"missing\":[");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (!(row->verdict.missing & ((metric_set)1 << m)))
                        continue;
                if (!first)
                        strbuf_putc(out, ',');
                first = false;
                json_put_string(out, metric_info(m)->name);
        }
        strbuf_putc(out, ']');
}

static void put_verdict(struct strbuf *out, const struct row *row)
{
        const struct verdict *v = &row->verdict;
        strbuf_puts(out, ",\"verdict\":{\"class\":");
        json_put_string(out, workload_status(v->workload));
        strbuf_puts(out, ",\"bottleneck\":");
        json_put_string(out, bottleneck_name(workload_bottleneck(v->workload)));
        strbuf_putf(out, ",\"rule\":%d,\"rule_text\":", v->rule);
        json_put_string(out, workload_rule((enum workload)v->rule));
        strbuf_putf(out, ",\"without_counters\":%s", v->without_counters ? "true" : "false");
        put_evidence(out, row);
        if (v->margin.other != WORKLOAD_UNKNOWN) {
                strbuf_puts(out, ",\"nearest\":{\"class\":");
                json_put_string(out, workload_status(v->margin.other));
                strbuf_puts(out, ",\"metric\":");
                json_put_string(out, metric_info(v->margin.metric)->name);
                strbuf_puts(out, ",\"change\":");
                json_put_number(out, v->margin.change);
                strbuf_putc(out, '}');
        } else {
                strbuf_puts(out, ",\"nearest\":null");
        }
        strbuf_putc(out, '}');
}

static void put_names(struct strbuf *out, const char *key, uint32_t set)
{
        const char *gap = "";
        strbuf_putf(out, ",\"%s\":[", key);
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(set & (1u << i)))
                        continue;
                strbuf_puts(out, gap);
                json_put_string(out, ceiling_info(i)->name);
                gap = ",";
        }
        strbuf_putc(out, ']');
}

void json_put_ceilings(struct strbuf *out, const struct ceilings *c)
{
        bool first = true;
        strbuf_putc(out, '{');
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                put_key(out, ceiling_info(i)->name, &first);
                if (c->there & (1u << i))
                        strbuf_putf(out, "%.6g", (double)c->v[i]);
                else
                        strbuf_puts(out, "null");
        }
        strbuf_putc(out, '}');
}

static void put_limit(struct strbuf *out, const struct limit *l)
{
        const char *held = held_by_name((enum held_by)l->held_by);
        bool unknown = l->limiter == LIMITER_UNKNOWN;
        strbuf_puts(out, ",\"limiter\":");
        json_put_string(out, limiter_name((enum limiter)l->limiter));
        strbuf_puts(out, ",\"held_by\":");
        if (held)
                json_put_string(out, held);
        else
                strbuf_puts(out, "null");
        strbuf_puts(out, ",\"limit\":{\"rule\":");
        json_put_string(out, limiter_rule((enum limiter)(unknown ? l->undecided : l->limiter)));
        put_names(out, "evidence", l->inputs);
        put_names(out, "missing", l->missing);
        if (l->other != l->limiter) {
                strbuf_puts(out, ",\"nearest\":{\"limiter\":");
                json_put_string(out, limiter_name((enum limiter)l->other));
                strbuf_puts(out, ",\"ceiling\":");
                json_put_string(out, ceiling_info((enum ceiling)l->at)->name);
                strbuf_putf(out, ",\"change\":%.6g}", (double)l->change);
        } else {
                strbuf_puts(out, ",\"nearest\":null");
        }
        strbuf_puts(out, "},\"ceilings\":");
        json_put_ceilings(out, &l->ceilings);
}

static void put_health(struct strbuf *out, const struct health *h)
{
        bool first = true;
        strbuf_puts(out, ",\"health\":{\"state\":");
        json_put_string(out, health_name(h->state));
        strbuf_puts(out, ",\"findings\":[");
        for (enum finding f = 0; f < FINDING_COUNT; f++) {
                if (!(h->findings & (1u << f)))
                        continue;
                if (!first)
                        strbuf_putc(out, ',');
                first = false;
                json_put_string(out, finding_text(f));
        }
        strbuf_puts(out, "]}");
}

static void put_when(struct strbuf *out, const struct frame *f)
{
        char time[NUM_FORMAT_MAX];
        strbuf_putf(out, "\"schema\":%d,\"time\":", JSON_SCHEMA_VERSION);
        strbuf_put(out, time, num_format(time, clock_to_seconds(f->wall_ns), 3));
        strbuf_putf(out, ",\"tick\":%llu,\"stale\":%s,\"source\":", (unsigned long long)f->tick,
                    f->stale ? "true" : "false");
        json_put_string(out, f->provenance);
        strbuf_putc(out, ',');
}

static void put_row(struct strbuf *out, const struct row *row)
{
        put_identity(out, row->sample.who);
        put_metrics(out, &row->sample);
        put_states(out, &row->sample);
        put_verdict(out, row);
        put_limit(out, &row->limit);
        put_health(out, &row->health);
}

void json_write_row(const struct frame *frame, const struct row *row, struct strbuf *out)
{
        strbuf_putc(out, '{');
        put_when(out, frame);
        put_row(out, row);
        strbuf_puts(out, "}\n");
}

void json_write_frame(const struct frame *frame, const char *version, struct strbuf *out)
{
        strbuf_puts(out, "{\"program\":\"assay\",\"version\":");
        json_put_string(out, version);
        strbuf_putc(out, ',');
        put_when(out, frame);
        strbuf_puts(out, "\"gpus\":[");
        for (size_t i = 0; i < frame->n; i++) {
                strbuf_puts(out, i ? ",\n{" : "\n{");
                put_row(out, &frame->rows[i]);
                strbuf_putc(out, '}');
        }
        strbuf_puts(out, "\n]}\n");
}
