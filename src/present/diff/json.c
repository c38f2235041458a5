/* JSON: SI units, null when missing. docs/DIFF.md is the schema. */
#include "present/stream/json.h"
#include "base/attr.h"
#include "present/diff/diff.h"

#define SCHEMA_VERSION 1

static struct value if_known(double v, bool present)
{
        return present ? value_ok(v) : value_missing(STATE_NONE);
}

static void diff_json_put_row(struct jsonw *j, const struct diff_row *r)
{
        bool both = value_is_set(r->base) && value_is_set(r->now);
        jsonw_object(j, NULL);
        jsonw_text(j, "name", r->name);
        jsonw_text_or_null(j, "unit", unit_name(r->unit));
        jsonw_text(j, "change_of", r->scale == DIFF_RELATIVE ? "ratio" : "difference");
        jsonw_value(j, "base", r->base);
        jsonw_value(j, "new", r->now);
        jsonw_value(j, "change", if_known(r->change, both));
        jsonw_value(j, "low", if_known(r->low, r->has_interval));
        jsonw_value(j, "high", if_known(r->high, r->has_interval));
        jsonw_text_or_null(j, "word", diff_row_word_name(r));
        jsonw_text_or_null(j, "method", diff_method_name(r->method));
        jsonw_count(j, "n_base", r->n_base);
        jsonw_count(j, "n_new", r->n_now);
        jsonw_text_or_null(j, "why", r->why);
        jsonw_end(j);
}

static void put_rows(struct jsonw *j, const char *name, const struct diff *d, bool phases)
{
        jsonw_array(j, name);
        for (size_t i = 0; i < d->n_rows; i++) {
                if (d->rows[i].is_phase == phases)
                        diff_json_put_row(j, &d->rows[i]);
        }
        jsonw_end(j);
}

static void put_side(struct jsonw *j, const char *name, const struct diff_side *side)
{
        jsonw_array(j, name);
        for (size_t i = 0; i < side->n; i++) {
                const struct diff_run *r = &side->runs[i];
                jsonw_object(j, NULL);
                jsonw_text(j, "file", r->name);
                jsonw_text_or_null(j, "command", r->command);
                jsonw_number(j, "seconds", r->seconds);
                jsonw_count(j, "gpus", r->gpus);
                jsonw_text_or_null(j, "model", r->model);
                jsonw_text_or_null(j, "driver", r->driver);
                jsonw_count(j, "ranks", r->ranks);
                jsonw_value(j, "observed", if_known(r->observed, r->gpus > 0));
                jsonw_text_or_null(j, "ended", r->ended);
                jsonw_text(j, "basis", basis_name(r->basis));
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_checked(struct jsonw *j, const struct diff_check *c, bool is_new,
                        struct strbuf *words)
{
        strbuf_clear(words);
        diff_put_checked(c, is_new, words);
        jsonw_text_or_null(j, is_new ? "new" : "base", strbuf_str(words));
}

static void put_checks(struct jsonw *j, const struct diff *d)
{
        struct strbuf words = {0};
        jsonw_array(j, "differences");
        for (size_t i = 0; i < d->n_checks; i++) {
                const struct diff_check *c = &d->checks[i];
                jsonw_object(j, NULL);
                strbuf_clear(&words);
                diff_put_check_name(c, &words);
                jsonw_text(j, "what", strbuf_str(&words));
                put_checked(j, c, false, &words);
                put_checked(j, c, true, &words);
                jsonw_bool(j, "forbids", c->forbids);
                jsonw_text_or_null(j, "allow", diff_check_allow(c));
                jsonw_text_or_null(j, "why", diff_check_why(c));
                jsonw_end(j);
        }
        jsonw_end(j);
        strbuf_finish(&words);
}

static void put_reason(struct jsonw *j, const struct diff *d)
{
        struct strbuf words = {0};
        diff_put_reason(d, &words);
        jsonw_text_or_null(j, "why", strbuf_str(&words));
        strbuf_finish(&words);
}

static void put_gates(struct jsonw *j, const struct diff_page *page)
{
        jsonw_array(j, "gates");
        for (size_t i = 0; i < page->d->n_gates; i++) {
                const struct diff_gate *g = &page->d->gates[i];
                jsonw_object(j, NULL);
                jsonw_text(j, "of", diff_gate_name(g->of));
                jsonw_number(j, "most", g->most);
                jsonw_bool(j, "relative", g->relative);
                jsonw_text_or_null(j, "row", g->row == SIZE_MAX ? "" : page->d->rows[g->row].name);
                jsonw_text_or_null(j, "result", diff_gate_word(g->result));
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_parts(struct jsonw *j, const struct diff *d)
{
        jsonw_array(j, "stretches");
        for (size_t i = 0; i < d->n_parts; i++) {
                const struct diff_part *p = &d->parts[i];
                jsonw_object(j, NULL);
                jsonw_text(j, "limiter", limiter_name(p->limiter));
                jsonw_bool(j, "before_work", p->before_work);
                jsonw_value(j, "base_s", if_known(p->base_s, p->base_s >= 0));
                jsonw_value(j, "new_s", if_known(p->now_s, p->now_s >= 0));
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_code_line(struct jsonw *j, const char *name, const struct code_line *line)
{
        if (!line->file[0]) {
                jsonw_null(j, name);
                return;
        }
        jsonw_object(j, name);
        jsonw_text(j, "file", line->file);
        if (line->line > 0)
                jsonw_count(j, "line", line->line);
        else
                jsonw_null(j, "line");
        jsonw_text(j, "function", line->function);
        jsonw_end(j);
}

static void put_cause_lines(struct jsonw *j, const struct diff_cause *c)
{
        jsonw_array(j, "lines");
        for (size_t i = 0; i < c->n_lines; i++) {
                const struct diff_line *l = &c->lines[i];
                jsonw_object(j, NULL);
                jsonw_text(j, "what", l->of_workers ? "workers" : "main");
                put_code_line(j, "own", &l->own);
                put_code_line(j, "inner", &l->inner);
                jsonw_number(j, "base_s", l->base);
                jsonw_number(j, "new_s", l->now);
                jsonw_number(j, "error_s", l->error);
                jsonw_number(j, "share_base", l->share_base);
                jsonw_number(j, "share_new", l->share_now);
                jsonw_count(j, "looks_base", l->looks_base);
                jsonw_count(j, "looks_new", l->looks_now);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_cause(struct jsonw *j, const struct diff_page *page)
{
        static const char *const kinds[] = {[DIFF_CAUSE_NONE] = "",
                                            [DIFF_CAUSE_POWER_LIMIT] = "power_limit",
                                            [DIFF_CAUSE_CLOCK] = "clock",
                                            [DIFF_CAUSE_LIMITER] = "limiter",
                                            [DIFF_CAUSE_STARTUP] = "start_up",
                                            [DIFF_CAUSE_KERNELS] = "kernels",
                                            [DIFF_CAUSE_GAPS] = "gaps",
                                            [DIFF_CAUSE_PHASE] = "phase",
                                            [DIFF_CAUSE_LINE] = "line"};
        const struct diff_cause *c = &page->d->cause;
        struct strbuf words = {0};
        if (c->kind == DIFF_CAUSE_NONE) {
                jsonw_null(j, "cause");
                return;
        }
        diff_put_cause(page, &words);
        jsonw_object(j, "cause");
        jsonw_text(j, "kind", kinds[c->kind]);
        bool limiter = c->kind == DIFF_CAUSE_LIMITER || c->kind == DIFF_CAUSE_KERNELS ||
                       c->kind == DIFF_CAUSE_GAPS;
        jsonw_text_or_null(j, "limiter", limiter ? limiter_name(c->limiter) : "");
        jsonw_text_or_null(j, "basis", limiter ? basis_name(page->d->basis) : "");
        jsonw_number(j, "base", c->base);
        jsonw_number(j, "new", c->now);
        jsonw_value(j, "kernels_base_s", c->kernels_base);
        jsonw_value(j, "kernels_new_s", c->kernels_now);
        jsonw_value(j, "gaps_base_s", c->gaps_base);
        jsonw_value(j, "gaps_new_s", c->gaps_now);
        jsonw_number(j, "explains", c->explains);
        jsonw_text_or_null(j, "phase", c->part);
        put_cause_lines(j, c);
        jsonw_text_or_null(j, "text", strbuf_str(&words));
        jsonw_end(j);
        strbuf_finish(&words);
}

void diff_json(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct jsonw json = {.out = out}, *j = &json;
        struct strbuf words = {0};
        diff_put_verdict(page, &words);
        jsonw_object(j, NULL);
        jsonw_whole(j, "schema_version", SCHEMA_VERSION);
        jsonw_text_or_null(j, "program_version", page->version);
        jsonw_text_or_null(j, "verdict", diff_word_name(d->word));
        jsonw_bool(j, "comparable", d->comparable);
        jsonw_bool(j, "identical", d->identical);
        jsonw_whole(j, "status", page->status);
        put_reason(j, d);
        jsonw_text_or_null(j, "text", strbuf_str(&words));
        jsonw_text_or_null(j, "main", d->main == SIZE_MAX ? "" : d->rows[d->main].name);
        jsonw_text_or_null(j, "evidence",
                           d->main == SIZE_MAX ? ""
                                               : diff_evidence_name(d->rows[d->main].evidence));
        put_cause(j, page);
        put_side(j, "base", page->base);
        put_side(j, "new", page->now);
        put_checks(j, d);
        put_gates(j, page);
        put_rows(j, "rows", d, false);
        put_rows(j, "phases", d, true);
        put_parts(j, d);
        jsonw_end(j);
        strbuf_putc(out, '\n');
        strbuf_finish(&words);
}
