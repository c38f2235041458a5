/* Stretches and findings as JSON. docs/JSON.md describes them. */
#include "base/clock.h"
#include "present/report/report.h"
#include "present/stream/json.h"

#include <math.h>

static void put_held(struct strbuf *out, enum held_by held)
{
        const char *name = held_by_name(held);
        strbuf_puts(out, ",\"held_by\":");
        if (name)
                json_put_string(out, name);
        else
                strbuf_puts(out, "null");
}

/* A time or a share: a thousandth is as fine as it is known. */
static void put_thousandth(struct strbuf *out, const char *name, double v)
{
        strbuf_putf(out, ",\"%s\":", name);
        json_put_number(out, nearbyint(v * 1000) / 1000);
}

static void put_phase(struct strbuf *out, const char *phase)
{
        strbuf_puts(out, ",\"phase\":");
        if (phase[0])
                json_put_string(out, phase);
        else
                strbuf_puts(out, "null");
}

static void put_gpus(struct strbuf *out, const struct stretch_list *list, uint64_t gpus)
{
        const char *gap = "";
        strbuf_puts(out, ",\"gpus\":[");
        for (size_t i = 0; i < list->n_gpus; i++) {
                if (!(gpus & (1ull << i)))
                        continue;
                strbuf_puts(out, gap);
                json_put_string(out, list->labels[i]);
                gap = ",";
        }
        strbuf_putc(out, ']');
}

static void put_missing(struct strbuf *out, uint32_t missing)
{
        const char *gap = "";
        strbuf_puts(out, ",\"missing\":[");
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(missing & (1u << i)))
                        continue;
                strbuf_puts(out, gap);
                json_put_string(out, ceiling_info(i)->name);
                gap = ",";
        }
        strbuf_putc(out, ']');
}

static void put_stretch(struct strbuf *out, const struct stretch_list *list, size_t at)
{
        const struct stretch *s = &list->list[at];
        struct value engine = ceiling_value(&s->limit.ceilings, CEILING_ENGINE);
        strbuf_putf(out, "%s{\"stretch\":%zu", at ? ",\n" : "\n", at);
        put_thousandth(out, "begin_s", s->begin_s);
        put_thousandth(out, "end_s", s->end_s);
        put_gpus(out, list, s->gpus);
        put_phase(out, s->phase);
        strbuf_puts(out, ",\"limiter\":");
        json_put_string(out, limiter_name((enum limiter)s->limit.limiter));
        put_held(out, (enum held_by)s->limit.held_by);
        if (value_there(engine))
                put_thousandth(out, "duty", engine.v);
        else
                strbuf_puts(out, ",\"duty\":null");
        put_thousandth(out, "uneven", s->uneven);
        strbuf_putf(out, ",\"before_work\":%s", s->before_work ? "true" : "false");
        if (list->flops && s->flops_hi > 0)
                strbuf_putf(out, ",\"flops\":{\"type\":\"%s\",\"lo\":%.5g,\"hi\":%.5g}",
                            list->flops, s->flops_lo, s->flops_hi);
        else
                strbuf_puts(out, ",\"flops\":null");
        strbuf_puts(out, ",\"rule\":");
        enum limiter rule = s->limit.limiter == LIMITER_UNKNOWN ? (enum limiter)s->limit.undecided
                                                                : (enum limiter)s->limit.limiter;
        json_put_string(out, limiter_rule(rule));
        put_missing(out, s->limit.missing);
        strbuf_puts(out, ",\"evidence\":");
        json_put_ceilings(out, &s->limit.ceilings);
        strbuf_putc(out, '}');
}

static void put_finding(struct strbuf *out, const struct stretch_list *list, size_t at)
{
        const struct limit_finding *f = &list->findings[at];
        const struct stretch *s = &list->list[f->stretch];
        struct strbuf text = {0};
        report_finding(list, f, &text);
        strbuf_puts(out, at ? ",\n{\"limiter\":" : "\n{\"limiter\":");
        json_put_string(out, limiter_name(f->limiter));
        put_held(out, f->held_by);
        strbuf_putf(out, ",\"stretch\":%zu,\"stretches\":%zu", f->stretch, f->n);
        put_phase(out, s->phase);
        put_gpus(out, list, s->gpus);
        put_thousandth(out, "seconds", f->seconds);
        put_thousandth(out, "gpu_seconds", f->won_s);
        if (f->gain > 0)
                put_thousandth(out, "gain", f->gain);
        else
                strbuf_puts(out, ",\"gain\":null");
        strbuf_puts(out, ",\"text\":");
        json_put_string(out, strbuf_str(&text));
        strbuf_puts(out, ",\"try\":");
        json_put_string(out, report_finding_try(f));
        strbuf_putc(out, '}');
        strbuf_finish(&text);
}

void report_json_limits(const struct stretch_list *list, struct strbuf *out)
{
        strbuf_puts(out, ",\n\"findings\":[");
        for (size_t i = 0; i < list->n_findings; i++)
                put_finding(out, list, i);
        strbuf_puts(out, "],\n\"stretches\":[");
        for (size_t i = 0; i < list->n; i++)
                put_stretch(out, list, i);
        strbuf_putc(out, ']');
}
