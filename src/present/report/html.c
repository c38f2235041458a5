/* The report as one page: findings, charts, tables one can sort. No network, no other file. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/quote.h"
#include "present/document/page.h"
#include "present/format.h"
#include "present/report/page.h"
#include "present/report/parts.h"
#include "present/text/where.h"

#include <stdio.h>
#include <string.h>

static const struct {
        enum metric metric;
        const char *title;
} columns[] = {
    {METRIC_REAL_UTIL, "Real"},       {METRIC_GPU_UTIL, "util"},    {METRIC_SM_ACTIVE, "SM"},
    {METRIC_TENSOR_ACTIVE, "tensor"}, {METRIC_DRAM_ACTIVE, "DRAM"}, {METRIC_FB_USED, "memory"},
    {METRIC_PCIE_RX, "PCIe in"},      {METRIC_POWER, "power"},      {METRIC_GPU_TEMP, "temp"},
    {METRIC_SM_CLOCK, "clock"},
};

/* ---- tables ---- */

static void put_titles(struct strbuf *out)
{
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                strbuf_putf(out, "<th scope=col>%s", columns[i].title);
        strbuf_puts(out,
                    "<th scope=col>energy<th scope=col class=text>limiter</tr></thead><tbody>\n");
}

/* The number is for people, data-v for sorting. */
static void put_cell(struct strbuf *out, enum metric metric, struct value v)
{
        char number[FORMAT_MAX];
        format_with_unit(number, sizeof(number), metric_info(metric)->unit, v);
        if (value_is_set(v))
                strbuf_putf(out, "<td data-v=%.6g>%s", v.v, number);
        else
                strbuf_puts(out, "<td>--");
}

static void put_seconds_cell(struct strbuf *out, double seconds)
{
        strbuf_putf(out, "<td data-v=%.6g>%.1f s", seconds, seconds);
}

static void put_limiter_cell(struct strbuf *out, const struct limited *l)
{
        strbuf_puts(out, "<td class=text>");
        report_put_limiter(out, l, true);
        strbuf_puts(out, "</tr>\n");
}

static void put_gpu_cells(struct strbuf *out, const struct gpu_summary *g)
{
        for (size_t c = 0; c < ARRAY_LEN(columns); c++)
                put_cell(out, columns[c].metric, spread_mean(&g->m[columns[c].metric]));
        put_cell(out, METRIC_ENERGY,
                 g->has_energy ? value_ok(g->energy_j) : value_missing(STATE_NONE));
        put_limiter_cell(out, &g->limited);
}

static void put_gpu_table(struct strbuf *out, const struct summary *s)
{
        const struct scope *run = &s->scopes[0];
        strbuf_puts(out, "<h2>GPUs, means of the run</h2>\n");
        page_open_table(out, "GPUs");
        strbuf_puts(out, "<th scope=col>GPU<th scope=col class=text>model");
        put_titles(out);
        for (size_t i = 0; i < run->n; i++) {
                strbuf_puts(out, "<tr><td>");
                quote_markup(out, run->gpus[i]->who.label);
                strbuf_puts(out, "<td class=text>");
                quote_markup(out, run->gpus[i]->who.text[ENTITY_TEXT_MODEL]);
                put_gpu_cells(out, run->gpus[i]);
        }
        page_close_table(out);
}

static void put_phase_name(struct strbuf *out, const struct scope *scope)
{
        strbuf_puts(out, "<tr><td>");
        quote_markup(out, scope->name);
        strbuf_putf(out, "<td>%llu", (unsigned long long)scope->times);
        put_seconds_cell(out, scope->seconds);
}

/* Of many GPUs the means; each GPU and phase would be more rows than anybody reads. */
static void put_phase_rows(struct strbuf *out, const struct scope *scope, bool many)
{
        double joules = 0;
        bool any = false;
        for (size_t k = 0; k < scope->n; k++) {
                joules += scope->gpus[k]->energy_j;
                any |= scope->gpus[k]->has_energy;
                if (many)
                        continue;
                put_phase_name(out, scope);
                strbuf_puts(out, "<td>");
                quote_markup(out, scope->gpus[k]->who.label);
                put_gpu_cells(out, scope->gpus[k]);
        }
        if (!many)
                return;
        put_phase_name(out, scope);
        strbuf_putf(out, "<td>%zu GPUs", scope->n);
        for (size_t c = 0; c < ARRAY_LEN(columns); c++)
                put_cell(out, columns[c].metric, report_mean(scope, columns[c].metric));
        put_cell(out, METRIC_ENERGY, any ? value_ok(joules) : value_missing(STATE_NONE));
        put_limiter_cell(out, &scope->limited);
}

static void put_phase_table(struct strbuf *out, const struct summary *s)
{
        if (s->n < 2)
                return;
        strbuf_puts(out, "<h2>Phases</h2>\n");
        page_open_table(out, "Phases");
        strbuf_puts(out,
                    "<th scope=col>phase<th scope=col>times<th scope=col>time<th scope=col>GPU");
        put_titles(out);
        for (size_t i = 1; i < s->n; i++)
                put_phase_rows(out, &s->scopes[i], s->scopes[0].n > REPORT_GPUS_EACH);
        page_close_table(out);
}

static void put_level_table(struct strbuf *out, const struct summary *s)
{
        page_open_table(out, "Host");
        strbuf_puts(out, "<th scope=col>phase");
        for (size_t i = 0; i < REPORT_LEVEL_COLUMNS; i++)
                strbuf_putf(out, "<th scope=col>%s", report_level_columns[i]);
        strbuf_puts(out, "</tr></thead><tbody>\n");
        for (size_t i = 0; i < s->n; i++) {
                char cells[REPORT_LEVEL_COLUMNS][32];
                if (s->scopes[i].level.samples == 0)
                        continue;
                report_level_cells(&s->scopes[i], cells);
                strbuf_puts(out, "<tr><td>");
                quote_markup(out, s->scopes[i].name[0] ? s->scopes[i].name : "the run");
                for (size_t k = 0; k < REPORT_LEVEL_COLUMNS; k++) {
                        strbuf_puts(out, "<td>");
                        quote_markup(out, cells[k]);
                }
                strbuf_puts(out, "</tr>\n");
        }
        page_close_table(out);
}

static void put_level(struct strbuf *out, const struct summary *s)
{
        struct strbuf title = {0};
        if (s->scopes[0].level.cpu.n == 0 && s->scopes[0].level.memory.n == 0)
                return;
        report_level_title(s, &title);
        strbuf_puts(out, "<h2>Host: ");
        quote_markup(out, strbuf_str(&title));
        strbuf_finish(&title);
        strbuf_puts(out, "</h2>\n");
        put_level_table(out, s);
}

#define EVENTS_MAX 1000

static void put_events(struct strbuf *out, const struct traces *t, const struct report_view *v)
{
        struct strbuf data = {0};
        if (v->n_events == 0)
                return;
        strbuf_puts(out, "<h2>Events</h2>\n");
        page_open_table(out, "Events");
        strbuf_puts(out, "<th scope=col>at<th scope=col class=text>event<th scope=col "
                         "class=text>data</tr></thead><tbody>\n");
        for (size_t i = 0; i < MIN(v->n_events, (size_t)EVENTS_MAX); i++) {
                double at = clock_to_seconds(v->events[i].wall_ns - t->start_ns);
                strbuf_putf(out, "<tr><td data-v=%.6g>%.1f s<td class=text>", at, at);
                quote_markup(out, v->events[i].name);
                strbuf_puts(out, "<td class=text>");
                strbuf_clear(&data);
                report_put_data(&data, v->events[i].data);
                quote_markup(out, strbuf_str(&data));
                strbuf_puts(out, "</tr>\n");
        }
        page_close_table(out);
        if (v->n_events > EVENTS_MAX)
                strbuf_putf(out, "<p class=note>%zu more events are in the text below.</p>\n",
                            v->n_events - EVENTS_MAX);
        strbuf_finish(&data);
}

#define STRETCHES_MAX 500

static void put_stretch(struct strbuf *out, const struct stretch_list *list,
                        const struct stretch *s)
{
        struct strbuf text = {0};
        const struct limited l = {.is_known = true,
                                  .limiter = (enum limiter)s->limit.limiter,
                                  .held_by = (enum held_by)s->limit.held_by,
                                  .basis = (enum basis)s->limit.basis};
        strbuf_puts(out, "<tr>");
        put_seconds_cell(out, s->begin_s);
        put_seconds_cell(out, s->end_s);
        strbuf_puts(out, "<td>");
        report_stretch_gpus(list, &s->gpus, &text);
        quote_markup(out, strbuf_str(&text));
        strbuf_puts(out, "<td class=text>");
        report_put_limiter(out, &l, true);
        strbuf_puts(out, "<td class=text>");
        quote_markup(out, s->phase);
        strbuf_clear(&text);
        where_put(&text, stretch_list_where(list, s->where));
        strbuf_puts(out, "<td class=\"text words\">");
        quote_markup(out, strbuf_str(&text));
        strbuf_puts(out, "</tr>\n");
        strbuf_finish(&text);
}

static void put_stretches(struct strbuf *out, const struct stretch_list *list)
{
        if (list->n < 2)
                return;
        strbuf_putf(out,
                    "<h2>Stretches</h2>\n<details><summary>%zu stretches, each with what "
                    "limited it</summary>\n",
                    list->n);
        page_open_table(out, "Stretches");
        strbuf_puts(out, "<th scope=col>from<th scope=col>to<th scope=col>GPU<th scope=col "
                         "class=text>limiter<th scope=col class=text>phase<th scope=col "
                         "class=text>where</tr></thead><tbody>\n");
        for (size_t i = 0; i < MIN(list->n, (size_t)STRETCHES_MAX); i++)
                put_stretch(out, list, &list->list[i]);
        page_close_table(out);
        if (list->n > STRETCHES_MAX)
                strbuf_putf(out, "<p class=note>%zu more stretches are in the text below.</p>\n",
                            list->n - STRETCHES_MAX);
        strbuf_puts(out, "</details>\n");
}

static void put_steps(struct strbuf *out, const struct report *r)
{
        struct strbuf text = {0};
        if (!r->steps || r->steps->n == 0 || r->steps->list[0].n == 0)
                return;
        strbuf_puts(out, "<h2>Steps</h2>\n");
        for (size_t i = 0; i < r->steps->n; i++) {
                const struct step_series *s = &r->steps->list[i];
                strbuf_clear(&text);
                report_steps_line(s, &text);
                strbuf_puts(out, "<p><b>");
                quote_markup(out, s->name);
                strbuf_puts(out, "</b>: ");
                quote_markup(out, strbuf_str(&text));
                strbuf_puts(out, s->n_reported > 0 ? "</p><ul>\n" : "</p>\n");
                for (size_t k = 0; k < s->n_reported; k++) {
                        strbuf_clear(&text);
                        report_slow_step(s, &s->slow[k], r->summary->first_ns, &text);
                        strbuf_puts(out, "<li>");
                        quote_markup(out, strbuf_str(&text));
                        strbuf_puts(out, "</li>\n");
                }
                strbuf_puts(out, s->n_reported > 0 ? "</ul>\n" : "");
        }
        strbuf_finish(&text);
}

/* ---- the top of the page ---- */

/* As many as the text reports; the text below has all. */
static void put_unhealthy(struct strbuf *out, const struct scope *run)
{
        struct strbuf text = {0};
        for (size_t i = 0, reported = 0; i < run->n && reported < REPORT_FINDINGS; i++) {
                strbuf_clear(&text);
                if (!report_unhealthy(run->gpus[i], &text))
                        continue;
                reported++;
                strbuf_puts(out, "<li>");
                quote_markup(out, strbuf_str(&text));
                strbuf_puts(out, "<p><b>Try:</b> ");
                quote_markup(out, report_unhealthy_try(run->gpus[i]));
                strbuf_puts(out, "</p></li>\n");
        }
        strbuf_finish(&text);
}

static void put_where(struct strbuf *out, const struct stretch_list *list,
                      const struct limit_finding *f)
{
        struct strbuf text = {0};
        where_put(&text, stretch_list_where(list, f->where));
        if (text.len > 0) {
                strbuf_puts(out, "<p><b>Where:</b> ");
                quote_markup(out, strbuf_str(&text));
                strbuf_puts(out, "</p>");
        }
        strbuf_finish(&text);
}

static void put_stalls(struct strbuf *out, const struct stretch_list *list)
{
        struct strbuf text = {0};
        for (size_t i = 0; i < MIN(list->n_stalls, (size_t)REPORT_FINDINGS); i++) {
                strbuf_clear(&text);
                report_stall(list, &list->stalls[i], &text);
                strbuf_puts(out, "<li>");
                quote_markup(out, strbuf_str(&text));
                strbuf_puts(out, "<p><b>Try:</b> ");
                quote_markup(out, report_stall_try(&list->stalls[i]));
                strbuf_puts(out, "</p></li>\n");
        }
        strbuf_finish(&text);
}

static void put_findings(struct strbuf *out, const struct summary *s)
{
        struct strbuf text = {0};
        size_t n = MIN(s->limits.n_findings, (size_t)REPORT_FINDINGS);
        strbuf_puts(out, "<h2>Findings</h2>\n<ol class=findings>\n");
        put_stalls(out, &s->limits);
        for (size_t i = 0; i < MAX(n, (size_t)1); i++) {
                strbuf_clear(&text);
                strbuf_putf(out, "<li class=side-%s>",
                            n > 0 ? page_side(s->limits.findings[i].limiter) : "none");
                if (n > 0)
                        report_finding(&s->limits, &s->limits.findings[i], &text);
                else
                        report_finding_or_level(s, &text);
                quote_markup(out, strbuf_str(&text));
                if (n > 0) {
                        put_where(out, &s->limits, &s->limits.findings[i]);
                        strbuf_puts(out, "<p><b>Try:</b> ");
                        quote_markup(out, report_finding_try(&s->limits, &s->limits.findings[i]));
                        strbuf_puts(out, "</p>");
                }
                strbuf_puts(out, "</li>\n");
        }
        put_unhealthy(out, &s->scopes[0]);
        strbuf_puts(out, "</ol>\n");
        strbuf_finish(&text);
}

static void put_keys(struct strbuf *out, const struct summary *s)
{
        struct report_key keys[REPORT_KEY_NUMBERS];
        if (s->scopes[0].n == 0)
                return;
        report_key_numbers(s, keys);
        strbuf_puts(out, "<div class=tiles>");
        for (size_t i = 0; i < REPORT_KEY_NUMBERS; i++)
                page_put_tile(out, keys[i].title, keys[i].number,
                              keys[i].more + strspn(keys[i].more, ", "));
        strbuf_puts(out, "</div>\n");
}

static void put_facts(struct strbuf *out, const struct run_facts *f, const struct summary *s)
{
        char when[FORMAT_MAX];
        strbuf_puts(out, "<p class=facts>");
        quote_markup(out, f->input);
        if (f->host[0]) {
                strbuf_puts(out, " · ");
                quote_markup(out, f->host);
        }
        if (format_is_date(s->first_ns)) {
                format_utc(when, sizeof(when), s->first_ns);
                strbuf_putf(out, " · %s", when);
        }
        strbuf_puts(out, " · ");
        report_put_seconds(out, clock_to_seconds(s->last_ns - s->first_ns));
        if (s->scopes[0].n > 1)
                strbuf_putf(out, " · %zu GPUs", s->scopes[0].n);
        if (f->source[0]) {
                strbuf_puts(out, " · ");
                quote_markup(out, f->source);
        }
        strbuf_puts(out, "</p>\n");
}

static void put_charts(struct strbuf *out, const struct summary *s, const struct traces *t,
                       const char *chosen)
{
        struct strbuf charts = {0};
        if (report_page_charts(s, t, chosen, &charts)) {
                strbuf_puts(out, "<h2>Over time</h2>\n");
                page_put_chart_bar(out);
                if (t->n > REPORT_GPUS_EACH)
                        strbuf_putf(
                            out,
                            "<p class=note>The line is the mean of %zu GPUs, the shade spans "
                            "lowest to highest. Choose GPUs above to draw them.</p>\n",
                            t->n);
                if (s->limits.n_gpus > 0 && s->limits.n_gpus < t->n)
                        strbuf_putf(
                            out, "<p class=note>Limiters are shown for the first %zu GPUs.</p>\n",
                            s->limits.n_gpus);
                if (t->left_out)
                        strbuf_putf(out,
                                    "<p class=note>%zu more GPUs are in the tables only.</p>\n",
                                    t->left_out);
                strbuf_put(out, charts.s, charts.len);
        }
        strbuf_finish(&charts);
}

static void put_text(struct strbuf *out, const struct report *r)
{
        struct strbuf text = {0};
        struct report_view all = *r->view;
        struct report whole = *r;
        whole.view = &all;
        all.all = all.each = true;
        all.columns = REPORT_COLUMNS;
        strbuf_puts(out, "<h2>Everything</h2>\n<details><summary>All numbers as text</summary><pre "
                         "class=scroll tabindex=0>");
        report_text(&whole, &text);
        quote_markup(out, strbuf_str(&text));
        strbuf_puts(out, "</pre></details>\n");
        strbuf_finish(&text);
}

/* Where the words stand already, as below a cell of a notebook. */
static void put_charts_alone(const struct report *r, struct strbuf *out)
{
        const struct page_scripts scripts = {.charts = true};
        struct strbuf data = {0};
        page_begin(out, r->facts->input, &scripts);
        put_charts(out, r->summary, r->traces, r->view->charts);
        report_page_data(r->summary, r->traces, r->view, &data);
        page_put_data(out, &data);
        strbuf_finish(&data);
        page_end(out, &scripts);
}

void report_html(const struct report *r, struct strbuf *out)
{
        if (r->view->charts) {
                put_charts_alone(r, out);
                return;
        }
        const struct summary *s = r->summary;
        const struct page_script stacks = {page_flame, page_flame_hash};
        const struct page_scripts scripts = {
            .charts = true, .n = report_has_stacks(r->flame) ? 1 : 0, .list = &stacks};
        struct strbuf data = {0};
        const char *title = r->facts->command[0] ? r->facts->command : r->facts->input;
        page_begin(out, title, &scripts);
        page_put_title(out, title);
        put_facts(out, r->facts, s);
        put_findings(out, s);
        put_keys(out, s);
        put_charts(out, s, r->traces, NULL);
        if (report_has_stacks(r->flame))
                report_stacks(r->flame, &s->limits, out);
        put_level(out, s);
        if (s->scopes[0].n > 0)
                put_gpu_table(out, s);
        put_phase_table(out, s);
        put_steps(out, r);
        report_html_servings(r, out);
        put_stretches(out, &s->limits);
        put_events(out, r->traces, r->view);
        put_text(out, r);
        report_page_data(s, r->traces, r->view, &data);
        page_put_data(out, &data);
        strbuf_finish(&data);
        page_end(out, &scripts);
}
