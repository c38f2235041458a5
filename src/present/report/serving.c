/* Model servers of a run: in words, and as JSON. */
#include "base/quote.h"
#include "present/format.h"
#include "present/report/parts.h"
#include "present/serving_words.h"
#include "present/stream/serving_json.h"
#include "present/text/serving_table.h"

#include <stdio.h>

/* "limited by … 70 % of the time, … 20 %": those that are worth a word. */
#define SHARE_SHOWN_MIN 0.05

static void put_shares(const struct serving_total *t, struct strbuf *out)
{
        const char *gap = "of the time: ";
        for (enum serving_limiter i = 0; i < SERVING_LIMIT_COUNT; i++) {
                char text[FORMAT_MAX];
                double share = t->seconds > 0 ? t->limit_s[i] / t->seconds : 0;
                if (share < SHARE_SHOWN_MIN)
                        continue;
                strbuf_putf(out, "%s%s %s", gap, serving_limit_brief(i), format_share(text, share));
                gap = ", ";
        }
}

static void put_amounts(const struct serving_total *t, struct strbuf *out)
{
        char length[64];
        format_length(length, sizeof(length), t->seconds);
        strbuf_putf(out, "in %s: ", length);
        serving_put_many(out, t->tokens);
        strbuf_puts(out, " tokens generated, ");
        serving_put_many(out, t->prompt_tokens);
        strbuf_puts(out, " of prompts");
        if (t->requests > 0)
                strbuf_putf(out, ", %.0f requests", t->requests);
        if (t->preemptions > 0)
                strbuf_putf(out, ", %.0f preemptions", t->preemptions);
}

bool report_serving_line(const struct serving_total *t, unsigned line, struct strbuf *out)
{
        strbuf_clear(out);
        switch (line) {
        case 0:
                serving_put_name(out, &t->mean.s);
                return true;
        case 1:
                serving_put_limit(out, &t->mean);
                if (serving_try(&t->mean)[0])
                        strbuf_putf(out, ": %s", serving_try(&t->mean));
                return true;
        case 2:
                serving_put_front(out, t->front, &t->where);
                return true;
        case 3:
                put_shares(t, out);
                return true;
        case 4:
                serving_put_load(out, &t->mean.s);
                return true;
        case 5:
                serving_put_latency(out, &t->mean.s);
                return true;
        case 6:
                serving_put_headroom(out, &t->mean);
                return true;
        case 7:
                serving_put_yield(out, &t->mean);
                return true;
        case 8:
                put_amounts(t, out);
                return true;
        default:
                return false;
        }
}

void report_servings(const struct report *r, struct strbuf *out)
{
        struct strbuf line = {0};
        if (!r->servings || r->servings->n == 0)
                return;
        strbuf_puts(out, "\nmodel servers\n");
        for (size_t i = 0; i < r->servings->n; i++) {
                for (unsigned k = 0; report_serving_line(&r->servings->list[i], k, &line); k++)
                        serving_put_wrapped(out, strbuf_str(&line), k == 0 ? 2 : 4,
                                            r->view->columns ? (unsigned)r->view->columns
                                                             : REPORT_COLUMNS);
        }
        strbuf_finish(&line);
}

void report_html_servings(const struct report *r, struct strbuf *out)
{
        struct strbuf line = {0};
        if (!r->servings || r->servings->n == 0)
                return;
        strbuf_puts(out, "<h2>Model servers</h2>\n");
        for (size_t i = 0; i < r->servings->n; i++) {
                for (unsigned k = 0; report_serving_line(&r->servings->list[i], k, &line); k++) {
                        if (line.len == 0)
                                continue;
                        strbuf_puts(out, k == 0 ? "<p><b>" : "<li>");
                        quote_markup(out, strbuf_str(&line));
                        strbuf_puts(out, k == 0 ? "</b></p><ul>\n" : "</li>\n");
                }
                strbuf_puts(out, "</ul>\n");
        }
        strbuf_finish(&line);
}

/* What the front end did while it was the limit, in words; null where that is unknown. */
static void put_front(struct jsonw *j, const struct serving_total *t)
{
        struct strbuf text = {0};
        serving_put_front(&text, t->front, &t->where);
        jsonw_text_or_null(j, "front_end", text.len > 0 ? strbuf_str(&text) : NULL);
        strbuf_finish(&text);
}

void report_json_servings(const struct report *r, struct jsonw *j)
{
        if (!r->servings || r->servings->n == 0)
                return;
        jsonw_array(j, "engines");
        for (size_t i = 0; i < r->servings->n; i++) {
                const struct serving_total *t = &r->servings->list[i];
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_served_members(j, &t->mean);
                put_front(j, t);
                jsonw_number(j, "seconds", t->seconds);
                jsonw_object(j, "limiter_seconds");
                for (enum serving_limiter k = 0; k < SERVING_LIMIT_COUNT; k++) {
                        if (t->limit_s[k] > 0)
                                jsonw_number(j, serving_limit_name(k), t->limit_s[k]);
                }
                jsonw_end(j);
                jsonw_number(j, "tokens", t->tokens);
                jsonw_number(j, "prompt_tokens", t->prompt_tokens);
                jsonw_number(j, "requests", t->requests);
                jsonw_number(j, "preemptions", t->preemptions);
                jsonw_number(j, "joules", t->joules);
                jsonw_end(j);
        }
        jsonw_line(j);
        jsonw_end(j);
}
