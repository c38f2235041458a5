/* The comparison as one file: the verdict, both runs' curves over each other, tables. No network,
 * no script. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/quote.h"
#include "base/text.h"
#include "present/diff/diff.h"

#include <math.h>

#define WIDTH 960
#define HEIGHT 170
#define LEFT 64
#define RIGHT 12
#define TOP 24
#define BOTTOM 22

static const char head[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>assay diff</title><style>"
    "body{font:14px/1.45 system-ui,sans-serif;margin:24px auto;max-width:1000px;padding:0 12px;"
    "color:#1b1f24;background:#fff}h1{font-size:20px}h2{font-size:16px;margin:28px 0 8px}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:3px 10px;"
    "text-align:right;white-space:nowrap;border-bottom:1px solid #e4e7eb}"
    "td:first-child,th:first-child,td:last-child{text-align:left}"
    ".verdict{border-left:4px solid #475569;background:#f1f5f9;padding:10px 14px}"
    ".slower{border-color:#c2410c}.faster{border-color:#15803d}"
    "svg{display:block;margin:6px 0;max-width:100%}svg text{font-size:11px;fill:#57606a}"
    ".axis{stroke:#cbd5e1}.base{stroke:#64748b}.new{stroke:#c2410c}"
    "path{fill:none;stroke-width:1.4}.scroll{overflow-x:auto}</style>";

/* A curve of one side: means over GPUs, moved so that the work begins at the same place. */
struct curve {
        const struct traces *t;
        double from_s; /* where on the axis it begins */
        const char *name;
};

static double width_s(const struct traces *t)
{
        return clock_to_seconds(t->width_ns);
}

static double length_s(const struct curve *c)
{
        return c->from_s + clock_to_seconds(c->t->end_ns - c->t->start_ns);
}

static struct value point(const struct traces *t, enum trace_metric m, size_t i)
{
        double sum = 0, n = 0;
        for (size_t k = 0; k < t->n; k++) {
                const struct trace_point *p = &t->gpus[k]->points[m][i];
                sum += p->n > 0 ? (double)p->sum / p->n : 0;
                n += p->n > 0;
        }
        return n > 0 ? value_ok(sum / n) : value_missing(STATE_NONE);
}

static double top_of(const struct curve c[2], enum trace_metric m)
{
        double most = 0;
        for (size_t s = 0; s < 2; s++) {
                for (size_t i = 0; i < TRACE_POINTS; i++) {
                        struct value v = point(c[s].t, m, i);
                        most = value_there(v) ? MAX(most, v.v) : most;
                }
        }
        return metric_info(trace_metric(m))->unit == UNIT_RATIO ? 1 : most;
}

#define GAP_FACTOR 5 /* a line ends where so many samples are missing */

/* Points that usually lie between two samples: a run may be shorter than its points. */
static size_t spacing(const struct traces *t, enum trace_metric m)
{
        size_t n = 0, last = 0;
        for (size_t i = 0; i < TRACE_POINTS; i++) {
                bool there = value_there(point(t, m, i));
                n += there;
                last = there ? i : last;
        }
        return n > 0 ? last / n + 1 : 1;
}

static void put_curve(const struct curve *c, enum trace_metric m, double seconds, double top,
                      struct strbuf *out)
{
        size_t gap = GAP_FACTOR * spacing(c->t, m), before = SIZE_MAX;
        strbuf_putf(out, "<path class=\"%s\" d=\"", c->name);
        for (size_t i = 0; i < TRACE_POINTS; i++) {
                struct value v = point(c->t, m, i);
                double at = c->from_s + ((double)i + 0.5) * width_s(c->t);
                if (!value_there(v))
                        continue;
                strbuf_putf(out, "%c%.1f %.1f", before != SIZE_MAX && i - before <= gap ? 'L' : 'M',
                            LEFT + MIN(at / seconds, 1) * (WIDTH - LEFT - RIGHT),
                            HEIGHT - BOTTOM - v.v / top * (HEIGHT - TOP - BOTTOM));
                before = i;
        }
        strbuf_puts(out, "\"/>");
}

static void put_chart(const struct curve c[2], enum trace_metric m, struct strbuf *out)
{
        const struct metric_info *info = metric_info(trace_metric(m));
        double seconds = MAX(MAX(length_s(&c[0]), length_s(&c[1])), 1e-3), top = top_of(c, m);
        if (!(top > 0))
                return;
        strbuf_putf(out,
                    "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"%s\">"
                    "<text x=\"%d\" y=\"14\">%s</text>",
                    WIDTH, HEIGHT, WIDTH, info->name, LEFT, info->name);
        for (int i = 0; i <= 2; i++) {
                double y = HEIGHT - BOTTOM - i * 0.5 * (HEIGHT - TOP - BOTTOM);
                strbuf_putf(out,
                            "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                            LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4);
                diff_put_value(info->unit, value_ok(top * i / 2), out);
                strbuf_puts(out, "</text>");
        }
        for (int i = 0; i <= 4; i++)
                strbuf_putf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g s</text>",
                            LEFT + i * 0.25 * (WIDTH - LEFT - RIGHT), HEIGHT - 6, seconds * i / 4);
        put_curve(&c[0], m, seconds, top, out);
        put_curve(&c[1], m, seconds, top, out);
        strbuf_puts(out, "</svg>");
}

static void put_charts(const struct diff_page *page, struct strbuf *out)
{
        static const enum trace_metric shown[] = {TRACE_SM_ACTIVE, TRACE_GPU_UTIL, TRACE_POWER,
                                                  TRACE_FB_USED};
        double a = page->base->runs[0].startup_s, b = page->now->runs[0].startup_s;
        struct curve c[2] = {{page->traces[0], MAX(b - a, 0), "base"},
                             {page->traces[1], MAX(a - b, 0), "new"}};
        if (page->traces[0]->n == 0 && page->traces[1]->n == 0)
                return;
        strbuf_puts(out, "<h2>Both runs, the work beginning at the same place: base grey, new "
                         "orange</h2>");
        for (size_t i = 0; i < ARRAY_LEN(shown); i++)
                put_chart(c, shown[i], out);
}

static void put_table(const struct diff *d, bool phases, struct strbuf *out)
{
        bool begun = false;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                if (row->is_phase != phases)
                        continue;
                if (!begun)
                        strbuf_putf(out,
                                    "<h2>%s</h2><div class=\"scroll\"><table><tr><th></th>"
                                    "<th>base</th><th>new</th><th>change</th><th>95 %%</th>"
                                    "<th></th></tr>",
                                    phases ? "Phases, each time" : "Figures");
                begun = true;
                strbuf_puts(out, "<tr><td>");
                quote_markup(out, row->name);
                strbuf_puts(out, "</td><td>");
                diff_put_value(row->unit, row->base, out);
                strbuf_puts(out, "</td><td>");
                diff_put_value(row->unit, row->now, out);
                strbuf_puts(out, "</td><td>");
                diff_put_change(row, out);
                strbuf_puts(out, "</td><td>");
                diff_put_interval(row, out);
                strbuf_putf(out, "</td><td>%s</td></tr>\n",
                            diff_word_name(row->word, row->is_time));
        }
        if (begun)
                strbuf_puts(out, "</table></div>");
}

static void put_item(const char *tag, struct strbuf *words, struct strbuf *out)
{
        if (words->len > 0) {
                strbuf_putf(out, "<%s>", tag);
                quote_markup(out, strbuf_str(words));
                strbuf_putf(out, "</%s>\n", tag);
        }
        strbuf_clear(words);
}

void diff_html(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf words = {0};
        size_t from = out->len;
        strbuf_puts(out, head);
        strbuf_puts(out, "<h1>");
        quote_markup(out, page->base->runs[0].name);
        strbuf_puts(out, " &rarr; ");
        quote_markup(out, page->now->runs[0].name);
        strbuf_putf(out, "</h1><div class=\"verdict %s\">", diff_word_name(d->word, true));
        diff_put_verdict(page, &words);
        put_item("strong", &words, out);
        diff_put_cause(page, &words);
        put_item("p", &words, out);
        diff_put_method(page, &words);
        put_item("p", &words, out);
        strbuf_puts(out, "</div><ul>");
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &words);
                put_item("li", &words, out);
        }
        for (size_t i = 0; i < d->n_checks; i++) {
                diff_put_check(&d->checks[i], &words);
                put_item("li", &words, out);
        }
        strbuf_puts(out, "</ul>");
        put_charts(page, out);
        put_table(d, false, out);
        put_table(d, true, out);
        strbuf_puts(out, "</html>\n");
        strbuf_finish(&words);
        text_clean_lines(out, from);
}
