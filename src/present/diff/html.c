/* The comparison as one file: the verdict, both runs' curves over each other, tables. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/quote.h"
#include "present/chart/axis.h"
#include "present/chart/choose.h"
#include "present/diff/diff.h"
#include "present/document/page.h"

#include <math.h>

#define CURVE_POINTS 1024

/* A curve of one side: means over GPUs, moved so that the work begins at the same place. */
struct curve {
        const struct traces *t;
        double from_s; /* where on the axis it begins */
        const char *name;
        bool dashed; /* distinguished without colours */
};

/* Both sides of the page's charts. */
struct both {
        struct curve side[2];
        double seconds; /* of the axis */
};

static double width_s(const struct traces *t)
{
        return clock_to_seconds(t->width_ns);
}

static double length_s(const struct curve *c)
{
        return c->from_s + clock_to_seconds(c->t->end_ns - c->t->start_ns);
}

/* On the axis of both: the mean of what falls into each of its points. Gives how many are known. */
static size_t fill_curve(const struct curve *c, enum trace_metric m, double seconds,
                         double ret[CURVE_POINTS])
{
        double n[CURVE_POINTS] = {0};
        size_t known = 0;
        for (size_t i = 0; i < CURVE_POINTS; i++)
                ret[i] = NAN;
        for (size_t i = 0; i < TRACE_POINTS && width_s(c->t) > 0; i++) {
                double v = traces_mean(c->t, m, i),
                       at = c->from_s + ((double)i + 0.5) * width_s(c->t);
                size_t to = (size_t)MIN(at / seconds * CURVE_POINTS, CURVE_POINTS - 1);
                if (isnan(v))
                        continue;
                ret[to] = n[to] > 0 ? ret[to] + (v - ret[to]) / (n[to] + 1) : v;
                known += n[to]++ == 0;
        }
        return known;
}

static void put_curve(struct jsonw *j, const struct curve *c, const double v[CURVE_POINTS],
                      const struct value_axis *axis)
{
        jsonw_object(j, NULL);
        jsonw_text(j, "name", c->name);
        if (c->dashed)
                jsonw_bool(j, "dash", true);
        jsonw_begin(j, "mean");
        strbuf_putc(j->out, '"');
        for (size_t i = 0; i < CURVE_POINTS; i++)
                page_put_point(j->out, v[i] * axis->factor, axis->high);
        strbuf_putc(j->out, '"');
        jsonw_end(j);
}

/* True when there is something to see. */
static bool put_chart(struct jsonw *j, const struct both *b, enum trace_metric m)
{
        const struct metric_info *info = metric_info(trace_metric(m));
        const struct choice choice = {.subject = SUBJECT_METRIC, .what = (uint8_t)trace_metric(m)};
        char title[96];
        double v[2][CURVE_POINTS], most = 0;
        for (size_t s = 0; s < 2; s++) {
                fill_curve(&b->side[s], m, b->seconds, v[s]);
                for (size_t i = 0; i < CURVE_POINTS; i++)
                        most = fmax(most, v[s][i]);
        }
        if (!(most > 0))
                return false;
        struct value_axis axis = value_axis_for(info->unit, 0, most, true);
        choice_title(&choice, title, sizeof(title));
        page_begin_chart(j, &(struct page_chart){.id = info->name,
                                                 .title = title,
                                                 .unit = axis.unit,
                                                 .top = axis.high,
                                                 .chosen = true,
                                                 .says = "both runs over each other"});
        jsonw_array(j, "limits");
        jsonw_end(j);
        jsonw_array(j, "curves");
        for (size_t s = 0; s < 2; s++)
                put_curve(j, &b->side[s], v[s], &axis);
        jsonw_end(j);
        jsonw_end(j);
        return true;
}

#define GAP_FACTOR 5 /* a line ends where so many samples are missing */

/* Seconds that usually lie between two samples of a side: a run may be shorter than its points. */
static double spacing_s(const struct both *b)
{
        double v[CURVE_POINTS], most = 0;
        for (size_t s = 0; s < 2; s++) {
                for (enum trace_metric m = 0; m < TRACE_COUNT; m++) {
                        size_t n = fill_curve(&b->side[s], m, b->seconds, v);
                        if (n > 0)
                                most = fmax(most, length_s(&b->side[s]) / (double)n);
                }
        }
        return most;
}

static void put_names(struct jsonw *j, const struct both *b)
{
        jsonw_array(j, "gpus");
        for (size_t s = 0; s < 2; s++) {
                jsonw_object(j, NULL);
                jsonw_text(j, "name", b->side[s].name);
                jsonw_array(j, "classes");
                jsonw_end(j);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static const enum trace_metric shown[] = {TRACE_SM_ACTIVE, TRACE_GPU_UTIL, TRACE_POWER,
                                          TRACE_FB_USED};

static bool take_both(const struct diff_page *page, struct both *ret)
{
        double a = page->base->runs[0].startup_s, b = page->now->runs[0].startup_s;
        *ret = (struct both){.side = {{page->traces[0], MAX(b - a, 0), "base", true},
                                      {page->traces[1], MAX(a - b, 0), "new", false}}};
        ret->seconds = MAX(MAX(length_s(&ret->side[0]), length_s(&ret->side[1])), 1e-3);
        return page->traces[0]->n > 0 || page->traces[1]->n > 0;
}

static void put_data(const struct both *b, struct strbuf *boxes, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_short(&j, "seconds", b->seconds, 9);
        jsonw_short(&j, "seconds_all", b->seconds, 9);
        jsonw_short(&j, "step", b->seconds / CURVE_POINTS, 9);
        page_put_short(&j, "gap", GAP_FACTOR * spacing_s(b));
        put_names(&j, b);
        jsonw_array(&j, "charts");
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                if (put_chart(&j, b, shown[i]))
                        page_put_chart(boxes, metric_info(trace_metric(shown[i]))->name);
        }
        jsonw_end(&j);
        jsonw_end(&j);
}

#define SPAN_WIDTH 120
#define SPAN_MOST 1.0 /* changes beyond it reach to the edge */

/* The farthest that an interval of the page reaches. */
static double span_reach(const struct diff *d)
{
        double reach = 0.01;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                if (row->has_interval)
                        reach = MAX(reach, MAX(fabs(row->low), fabs(row->high)));
        }
        return MIN(reach, SPAN_MOST);
}

static double span_x(double change, double reach)
{
        return SPAN_WIDTH / 2.0 * (1 + MAX(-1, MIN(1, change / reach)));
}

/* The interval as a bar about no change at all, with a tick at the change itself. */
static void put_span(const struct diff_row *row, double reach, struct strbuf *out)
{
        if (!row->has_interval)
                return;
        double low = span_x(row->low, reach), high = span_x(row->high, reach);
        double at = span_x(row->change, reach);
        strbuf_putf(out,
                    "<svg class=\"span\" width=\"%d\" height=\"14\" aria-hidden=\"true\">"
                    "<line x1=\"%d\" x2=\"%d\" y1=\"0\" y2=\"14\"/>"
                    "<rect x=\"%.1f\" y=\"5\" width=\"%.1f\" height=\"4\" opacity=\".45\"/>"
                    "<rect x=\"%.1f\" y=\"2\" width=\"3\" height=\"10\"/></svg>",
                    SPAN_WIDTH, SPAN_WIDTH / 2, SPAN_WIDTH / 2, low, MAX(high - low, 1),
                    MAX(MIN(at - 1.5, SPAN_WIDTH - 3.0), 0));
}

static void put_table_row(const struct diff *d, const struct diff_row *row, double reach,
                          struct strbuf *out)
{
        const char *word = diff_row_word_name(row);
        struct strbuf name = {0};
        strbuf_puts(out, "<tr><td>");
        diff_put_row_name(d, row, &name);
        quote_markup(out, strbuf_str(&name));
        strbuf_finish(&name);
        diff_put_cells(row, "</td><td>", out);
        strbuf_putf(out, "</td><td class=\"%s\">", word);
        put_span(row, reach, out);
        strbuf_putf(out, "</td><td class=\"word %s\">%s</td></tr>\n", word, diff_row_words(row));
}

static void open_table(const char *title, const char *const *names, size_t n, struct strbuf *out)
{
        strbuf_putf(out, "<h2>%s</h2>\n", title);
        page_open_table(out, title);
        strbuf_puts(out, "<th scope=col>");
        for (size_t i = 0; i < n; i++)
                strbuf_putf(out, "<th scope=col>%s", names[i]);
        strbuf_puts(out, "</tr></thead><tbody>\n");
}

static void put_table(const struct diff *d, bool phases, struct strbuf *out)
{
        static const char *const names[] = {"base", "new", "change", "95 %", "", ""};
        double reach = span_reach(d);
        bool begun = false;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                if (row->is_phase != phases)
                        continue;
                if (!begun)
                        open_table(phases ? "Phases and numbers of your own, each time" : "Figures",
                                   names, ARRAY_LEN(names), out);
                begun = true;
                put_table_row(d, row, reach, out);
        }
        if (begun)
                page_close_table(out);
}

/* What limits the runs, one after the other; as the text has it where there are no phases. */
static void put_stretches(const struct diff *d, struct strbuf *out)
{
        static const char *const names[] = {"base", "new"};
        if (d->n_parts == 0 || d->identical)
                return;
        open_table("Stretches, in order", names, ARRAY_LEN(names), out);
        for (size_t i = 0; i < d->n_parts; i++) {
                const struct diff_part *p = &d->parts[i];
                strbuf_puts(out, "<tr><td>");
                diff_put_part(d, p, out);
                strbuf_puts(out, "</td><td>");
                diff_put_seconds(p->base_s, out);
                strbuf_puts(out, "</td><td>");
                diff_put_seconds(p->now_s, out);
                strbuf_puts(out, "</td></tr>\n");
        }
        page_close_table(out);
}

/* Words in a tag, which may have attributes. */
static void put_item(const char *tag, const char *class, struct strbuf *words, struct strbuf *out)
{
        if (words->len > 0) {
                strbuf_putf(out, "<%s class=\"%s\">", tag, class);
                quote_markup(out, strbuf_str(words));
                strbuf_putf(out, "</%s>\n", tag);
        }
        strbuf_clear(words);
}

static void put_run(const struct diff_side *side, const char *name, int colour, struct strbuf *out)
{
        struct strbuf words = {0};
        diff_put_side(side, &words);
        strbuf_putf(out, "<p class=soft><span class=\"key k%d\">%s</span> ", colour, name);
        quote_markup(out, strbuf_str(&words));
        strbuf_puts(out, "</p>\n");
        strbuf_finish(&words);
}

static void put_lists(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf words = {0};
        if (d->n_gates > 0)
                strbuf_puts(out, "<h2>Gates</h2><ul class=marked>");
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &words);
                put_item("li", diff_gate_word(d->gates[i].result), &words, out);
        }
        if (d->n_checks > 0)
                strbuf_putf(out, "%s<h2>Differences besides the result</h2><ul class=marked>",
                            d->n_gates > 0 ? "</ul>" : "");
        for (size_t i = 0; i < d->n_checks; i++) {
                diff_put_check(&d->checks[i], &words);
                put_item("li", d->checks[i].forbids ? "forbids" : "", &words, out);
        }
        if (d->n_gates > 0 || d->n_checks > 0)
                strbuf_puts(out, "</ul>");
        strbuf_finish(&words);
}

static void put_verdict(const struct diff_page *page, struct strbuf *out)
{
        struct strbuf words = {0};
        strbuf_putf(out, "<div class=\"verdict %s\">", diff_word_name(page->d->word));
        diff_put_verdict(page, &words);
        put_item("h1", "", &words, out);
        diff_put_cause(page, &words);
        put_item("p", "cause", &words, out);
        diff_put_lines(page, &words);
        if (words.len > 0)
                put_item("p", "where", &words, out);
        diff_put_method(page, &words);
        put_item("p", "soft", &words, out);
        strbuf_puts(out, "</div>\n");
        strbuf_finish(&words);
}

static void put_charts(const struct strbuf *boxes, struct strbuf *out)
{
        if (boxes->len == 0)
                return;
        strbuf_puts(out, "<h2>Both runs, aligned where the work begins</h2>\n");
        page_put_chart_bar(out);
        strbuf_put(out, boxes->s, boxes->len);
}

void diff_html(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        const struct page_scripts scripts = {.charts = true};
        struct strbuf boxes = {0}, data = {0};
        struct both both;
        if (take_both(page, &both))
                put_data(&both, &boxes, &data);
        page_begin(out, "assay diff", boxes.len > 0 ? &scripts : NULL);
        put_verdict(page, out);
        put_run(page->base, "base", 0, out);
        put_run(page->now, "new", 1, out);
        put_lists(page, out);
        put_charts(&boxes, out);
        put_table(d, false, out);
        put_table(d, true, out);
        put_stretches(d, out);
        if (boxes.len > 0)
                page_put_data(out, &data);
        page_end(out, boxes.len > 0 ? &scripts : NULL);
        strbuf_finish(&boxes);
        strbuf_finish(&data);
}
