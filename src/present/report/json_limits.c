/* Stretches and findings as JSON. docs/JSON.md describes them. */
#include "base/clock.h"
#include "present/report/parts.h"
#include "present/stream/json.h"
#include "present/text/where.h"

#include <math.h>

/* A time or a share: a thousandth is as fine as it is known. */
static void put_thousandth(struct jsonw *j, const char *name, double v)
{
        jsonw_number(j, name, nearbyint(v * 1000) / 1000);
}

static void put_gpus(struct jsonw *j, const struct stretch_list *list, const struct gpu_set *gpus)
{
        jsonw_array(j, "gpus");
        for (size_t i = 0; i < list->n_gpus; i++) {
                if (gpu_set_has(gpus, i))
                        jsonw_text(j, NULL, list->gpus[i].label);
        }
        jsonw_end(j);
}

static void put_code_line(struct jsonw *j, const char *name, const struct code_line *line)
{
        struct strbuf text = {0};
        if (!line->file[0]) {
                jsonw_null(j, name);
                return;
        }
        where_put_line(&text, line);
        jsonw_object(j, name);
        jsonw_text(j, "file", line->file);
        jsonw_count(j, "line", line->line);
        jsonw_text(j, "function", line->function);
        jsonw_text(j, "whose", stack_whose_name((enum stack_whose)line->whose));
        jsonw_text(j, "text", strbuf_str(&text));
        jsonw_end(j);
        strbuf_finish(&text);
}

static void put_where(struct jsonw *j, const struct where *where)
{
        struct strbuf text = {0};
        jsonw_array(j, "where");
        for (size_t i = 0; where && i < where->n; i++) {
                const struct where_part *part = &where->parts[i];
                strbuf_clear(&text);
                where_put_part(&text, part);
                jsonw_object(j, NULL);
                jsonw_text(j, "what", part->rule->name);
                jsonw_text(j, "words", part->rule->words);
                jsonw_text(j, "text", strbuf_str(&text));
                put_thousandth(j, "seconds", part->seconds);
                jsonw_count(j, "looks", part->n_samples);
                jsonw_array(j, "places");
                for (size_t k = 0; k < part->n; k++) {
                        jsonw_object(j, NULL);
                        put_thousandth(j, "share", part->places[k].share);
                        jsonw_count(j, "looks", part->places[k].n_samples);
                        put_code_line(j, "own", &part->places[k].own);
                        put_code_line(j, "inner", &part->places[k].inner);
                        jsonw_end(j);
                }
                jsonw_end(j);
                jsonw_end(j);
        }
        jsonw_end(j);
        strbuf_finish(&text);
}

static void put_stretch(struct jsonw *j, const struct stretch_list *list, size_t at)
{
        const struct stretch *s = &list->list[at];
        struct value engine = ceiling_value(&s->limit.ceilings, CEILING_ENGINE);
        bool unknown = s->limit.limiter == LIMITER_UNKNOWN;
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_count(j, "stretch", at);
        put_thousandth(j, "begin_s", s->begin_s);
        put_thousandth(j, "end_s", s->end_s);
        put_gpus(j, list, &s->gpus);
        jsonw_text_or_null(j, "phase", s->phase);
        jsonw_text(j, "limiter", limiter_name((enum limiter)s->limit.limiter));
        jsonw_text_or_null(j, "held_by", held_by_name((enum held_by)s->limit.held_by));
        if (value_is_set(engine))
                put_thousandth(j, "duty", engine.v);
        else
                jsonw_null(j, "duty");
        put_thousandth(j, "uneven", s->uneven);
        jsonw_bool(j, "before_work", s->before_work);
        jsonw_flops(j, &s->flops);
        jsonw_text(j, "rule",
                   limiter_rule((enum limiter)(unknown ? s->limit.undecided : s->limit.limiter),
                                (enum basis)s->limit.basis));
        jsonw_basis(j, &s->limit);
        jsonw_ceiling_names(j, "missing", s->limit.missing);
        jsonw_ceilings(j, "evidence", &s->limit.ceilings);
        put_where(j, stretch_list_where(list, s->where));
        jsonw_end(j);
}

static void put_finding(struct jsonw *j, const struct stretch_list *list, size_t at)
{
        const struct limit_finding *f = &list->findings[at];
        const struct stretch *s = &list->list[f->stretch];
        struct strbuf text = {0};
        report_finding(list, f, &text);
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_text(j, "limiter", limiter_name(f->limiter));
        jsonw_text_or_null(j, "held_by", held_by_name(f->held_by));
        jsonw_basis(j, &s->limit);
        jsonw_count(j, "stretch", f->stretch);
        jsonw_count(j, "stretches", f->n);
        jsonw_text_or_null(j, "phase", s->phase);
        put_gpus(j, list, &s->gpus);
        put_thousandth(j, "seconds", f->seconds);
        put_thousandth(j, "gpu_seconds", f->won_s);
        put_thousandth(j, "run_s", list->seconds);
        put_thousandth(j, "run_at_best_s", stretch_list_at_best(list, f));
        if (f->gain > 0)
                put_thousandth(j, "gain", f->gain);
        else
                jsonw_null(j, "gain");
        jsonw_text(j, "text", strbuf_str(&text));
        put_where(j, stretch_list_where(list, f->where));
        jsonw_text(j, "try", report_finding_try(list, f));
        jsonw_end(j);
        strbuf_finish(&text);
}

static void put_stall(struct jsonw *j, const struct stretch_list *list,
                      const struct stretch_stall *s)
{
        struct strbuf text = {0};
        report_stall(list, s, &text);
        jsonw_line(j);
        jsonw_object(j, NULL);
        put_thousandth(j, "begin_s", s->begin_s);
        put_thousandth(j, "end_s", s->end_s);
        put_gpus(j, list, &s->gpus);
        jsonw_bool(j, "goes_on", s->is_ongoing);
        jsonw_text_or_null(j, "cause", s->cause);
        jsonw_text_or_null(j, "who", s->words);
        jsonw_text(j, "text", strbuf_str(&text));
        jsonw_text(j, "try", report_stall_try(s));
        jsonw_end(j);
        strbuf_finish(&text);
}

void report_json_limits(const struct stretch_list *list, struct jsonw *j)
{
        jsonw_line(j);
        jsonw_text(j, "judged", "hindsight");
        jsonw_array(j, "findings");
        for (size_t i = 0; i < list->n_findings; i++)
                put_finding(j, list, i);
        jsonw_end(j);
        jsonw_line(j);
        jsonw_array(j, "stalls");
        for (size_t i = 0; i < list->n_stalls; i++)
                put_stall(j, list, &list->stalls[i]);
        jsonw_end(j);
        jsonw_line(j);
        jsonw_array(j, "stretches");
        for (size_t i = 0; i < list->n; i++)
                put_stretch(j, list, i);
        jsonw_end(j);
}
