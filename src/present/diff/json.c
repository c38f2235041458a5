/* JSON: SI units, null when missing. docs/DIFF.md is the schema. */
#include "present/stream/json.h"
#include "base/attr.h"
#include "present/diff/diff.h"

#define SCHEMA_VERSION 1

static void put_key(struct strbuf *out, const char *key)
{
        strbuf_putf(out, ",\"%s\":", key);
}

static void put_value(struct strbuf *out, const char *key, struct value v)
{
        put_key(out, key);
        if (value_there(v))
                json_put_number(out, v.v);
        else
                strbuf_puts(out, "null");
}

static void put_text(struct strbuf *out, const char *key, const char *s)
{
        put_key(out, key);
        if (s[0])
                json_put_string(out, s);
        else
                strbuf_puts(out, "null");
}

static struct value if_known(double v, bool there)
{
        return there ? value_ok(v) : value_missing(STATE_NONE);
}

static void put_row(const struct diff_row *r, struct strbuf *out)
{
        bool both = value_there(r->base) && value_there(r->now);
        strbuf_puts(out, "{\"name\":");
        json_put_string(out, r->name);
        put_text(out, "unit", unit_name(r->unit));
        put_text(out, "change_of", r->scale == DIFF_RELATIVE ? "ratio" : "difference");
        put_value(out, "base", r->base);
        put_value(out, "new", r->now);
        put_value(out, "change", if_known(r->change, both));
        put_value(out, "low", if_known(r->low, r->has_interval));
        put_value(out, "high", if_known(r->high, r->has_interval));
        put_text(out, "word", diff_word_name(r->word, r->is_time));
        put_text(out, "method", diff_method_name(r->method));
        put_value(out, "n_base", value_ok((double)r->n_base));
        put_value(out, "n_new", value_ok((double)r->n_now));
        put_text(out, "why", r->why);
        strbuf_puts(out, "}");
}

static void put_rows(const struct diff *d, bool phases, struct strbuf *out)
{
        const char *gap = "";
        for (size_t i = 0; i < d->n_rows; i++) {
                if (d->rows[i].is_phase != phases)
                        continue;
                strbuf_puts(out, gap);
                put_row(&d->rows[i], out);
                gap = ",";
        }
}

static void put_side(const struct diff_side *side, struct strbuf *out)
{
        for (size_t i = 0; i < side->n; i++) {
                const struct diff_run *r = &side->runs[i];
                strbuf_puts(out, i ? ",{\"file\":" : "{\"file\":");
                json_put_string(out, r->name);
                put_text(out, "command", r->command);
                put_value(out, "seconds", value_ok(r->seconds));
                put_value(out, "gpus", value_ok((double)r->gpus));
                put_text(out, "model", r->model);
                put_text(out, "driver", r->driver);
                put_value(out, "ranks", value_ok((double)r->ranks));
                put_value(out, "observed", if_known(r->observed, r->gpus > 0));
                put_text(out, "ended", r->ended);
                strbuf_puts(out, "}");
        }
}

static void put_checks(const struct diff *d, struct strbuf *out)
{
        for (size_t i = 0; i < d->n_checks; i++) {
                const struct diff_check *c = &d->checks[i];
                strbuf_puts(out, i ? ",{\"what\":" : "{\"what\":");
                json_put_string(out, c->what);
                put_text(out, "base", c->base);
                put_text(out, "new", c->now);
                put_key(out, "forbids");
                strbuf_puts(out, c->forbids ? "true" : "false");
                put_text(out, "why", c->why);
                strbuf_puts(out, "}");
        }
}

static void put_gates(const struct diff_page *page, struct strbuf *out)
{
        for (size_t i = 0; i < page->d->n_gates; i++) {
                const struct diff_gate *g = &page->d->gates[i];
                strbuf_puts(out, i ? ",{\"of\":" : "{\"of\":");
                json_put_string(out, diff_gate_name(g->of));
                put_value(out, "most", value_ok(g->most));
                put_key(out, "relative");
                strbuf_puts(out, g->relative ? "true" : "false");
                put_text(out, "row", g->row == SIZE_MAX ? "" : page->d->rows[g->row].name);
                put_text(out, "result", diff_gate_word(g->result));
                strbuf_puts(out, "}");
        }
}

static void put_parts(const struct diff *d, struct strbuf *out)
{
        for (size_t i = 0; i < d->n_parts; i++) {
                const struct diff_part *p = &d->parts[i];
                strbuf_puts(out, i ? ",{\"limiter\":" : "{\"limiter\":");
                json_put_string(out, limiter_name(p->limiter));
                put_key(out, "before_work");
                strbuf_puts(out, p->before_work ? "true" : "false");
                put_value(out, "base_s", if_known(p->base_s, p->base_s >= 0));
                put_value(out, "new_s", if_known(p->now_s, p->now_s >= 0));
                strbuf_puts(out, "}");
        }
}

static void put_cause(const struct diff_page *page, struct strbuf *out)
{
        static const char *const kinds[] = {[DIFF_CAUSE_NONE] = "",
                                            [DIFF_CAUSE_POWER_LIMIT] = "power_limit",
                                            [DIFF_CAUSE_CLOCK] = "clock",
                                            [DIFF_CAUSE_LIMITER] = "limiter",
                                            [DIFF_CAUSE_STARTUP] = "start_up"};
        const struct diff_cause *c = &page->d->cause;
        struct strbuf words = {0};
        put_key(out, "cause");
        if (c->kind == DIFF_CAUSE_NONE) {
                strbuf_puts(out, "null");
                return;
        }
        diff_put_cause(page, &words);
        strbuf_puts(out, "{\"kind\":");
        json_put_string(out, kinds[c->kind]);
        put_text(out, "limiter", c->kind == DIFF_CAUSE_LIMITER ? limiter_name(c->limiter) : "");
        put_value(out, "base", value_ok(c->base));
        put_value(out, "new", value_ok(c->now));
        put_value(out, "explains", value_ok(c->explains));
        put_text(out, "phase", c->part);
        put_text(out, "text", strbuf_str(&words));
        strbuf_puts(out, "}");
        strbuf_finish(&words);
}

void diff_json(const struct diff_page *page, const char *version, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf words = {0};
        diff_put_verdict(page, &words);
        strbuf_putf(out, "{\"schema_version\":%d", SCHEMA_VERSION);
        put_text(out, "program_version", version);
        put_text(out, "verdict", diff_word_name(d->word, true));
        put_key(out, "comparable");
        strbuf_puts(out, d->comparable ? "true" : "false");
        put_key(out, "identical");
        strbuf_puts(out, d->identical ? "true" : "false");
        put_value(out, "status", value_ok(page->status));
        put_text(out, "why", d->why);
        put_text(out, "text", strbuf_str(&words));
        put_text(out, "main", d->main == SIZE_MAX ? "" : d->rows[d->main].name);
        put_cause(page, out);
        strbuf_puts(out, ",\"base\":[");
        put_side(page->base, out);
        strbuf_puts(out, "],\"new\":[");
        put_side(page->now, out);
        strbuf_puts(out, "],\"differences\":[");
        put_checks(d, out);
        strbuf_puts(out, "],\"gates\":[");
        put_gates(page, out);
        strbuf_puts(out, "],\"rows\":[");
        put_rows(d, false, out);
        strbuf_puts(out, "],\"phases\":[");
        put_rows(d, true, out);
        strbuf_puts(out, "],\"stretches\":[");
        put_parts(d, out);
        strbuf_puts(out, "]}\n");
        strbuf_finish(&words);
}
