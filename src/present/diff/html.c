/* The comparison as one file: the verdict, both runs' curves over each other, tables. No network,
 * no script. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/quote.h"
#include "present/diff/diff.h"

#include <math.h>

#define WIDTH 960
#define HEIGHT 170
#define LEFT 64
#define RIGHT 12
#define TOP 24
#define BOTTOM 22

static const char head[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width\">"
    "<title>assay diff</title><style>"
    ":root{color-scheme:light dark;--bg:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;"
    "--card:#f6f8fa;--base:#7d8896;--new:#0072b2;--good:#007a59;--bad:#b23c07;--open:#8a6100}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--ink:#e6edf3;--soft:#9ba5b0;"
    "--line:#30363d;--card:#161b22;--base:#8b98a8;--new:#58a6ff;--good:#3fc79a;--bad:#f0883e;"
    "--open:#e3b341}}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--bg)}"
    "main{max-width:1000px;margin:0 auto;padding:16px}"
    "h1{font-size:21px;line-height:1.3;margin:0;overflow-wrap:anywhere}"
    "h2{font-size:17px;margin:28px 0 8px}p{margin:6px 0 0}.soft{color:var(--soft)}"
    ".verdict{border-left:5px solid var(--base);background:var(--card);padding:12px 16px;"
    "border-radius:0 6px 6px 0}.slower{--tone:var(--bad)}.faster{--tone:var(--good)}"
    ".inconclusive{--tone:var(--open)}.verdict{border-color:var(--tone,var(--base))}"
    ".verdict h1::first-line{color:var(--tone,var(--ink))}"
    "ul{margin:10px 0;padding:0;list-style:none}li{padding:2px 0 2px 14px;overflow-wrap:anywhere;"
    "border-left:3px solid var(--line);margin:4px 0}.within{border-color:var(--good)}"
    ".beyond,.forbids{border-color:var(--bad)}li.inconclusive{border-color:var(--open)}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}"
    "td,th{padding:3px 10px;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:600}"
    "td:first-child,th:first-child,td:last-child{text-align:left}"
    "td.slower,td.higher,td.lower,td.faster{font-weight:600;color:var(--tone,var(--ink))}"
    "td.inconclusive{color:var(--soft)}"
    ".chart{display:block;margin:6px 0;width:100%;height:auto}"
    "svg text{font-size:11px;fill:var(--soft)}.name{font-weight:600}.axis{stroke:var(--line)}"
    "path{fill:none;stroke-width:1.6}.base{stroke:var(--base)}.new{stroke:var(--new)}"
    ".key{border-left:16px solid;padding-left:6px;margin-right:16px;line-height:1}"
    ".key.base{border-color:var(--base)}.key.new{border-color:var(--new)}"
    ".span{display:block}.span rect{fill:var(--tone,var(--base))}"
    ".scroll{overflow-x:auto}"
    "@media(max-width:600px){main{padding:10px}td,th{padding:3px 6px}body{font-size:14px}}"
    "</style><main>";

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

/* The next of 1, 2, 4 and so on in powers of two; otherwise of 1, 2, 4, 6, 8 in powers of ten. */
static double round_up(double v, bool bytes)
{
        static const double steps[] = {1, 2, 4, 6, 8, 10};
        double unit = v > 0 ? pow(10, floor(log10(v))) : 1;
        size_t i = 0;
        if (bytes) {
                for (unit = 1; unit < v;)
                        unit *= 2;
                return unit;
        }
        while (i + 1 < ARRAY_LEN(steps) && steps[i] * unit < v)
                i++;
        return steps[i] * unit;
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
        enum unit unit = metric_info(trace_metric(m))->unit;
        return unit == UNIT_RATIO ? 1 : round_up(most, unit == UNIT_BYTES);
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

/* Below the chart: four to nine round times. */
static void put_times(double seconds, struct strbuf *out)
{
        double step = round_up(seconds / 8, false);
        for (int i = 0; i * step <= seconds; i++) {
                double x = LEFT + i * step / seconds * (WIDTH - LEFT - RIGHT);
                strbuf_putf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.4g s</text>", x,
                            HEIGHT - 6, x > WIDTH - 30 ? "end" : "middle", i * step);
        }
}

static void put_chart(const struct curve c[2], enum trace_metric m, struct strbuf *out)
{
        const struct metric_info *info = metric_info(trace_metric(m));
        double seconds = MAX(MAX(length_s(&c[0]), length_s(&c[1])), 1e-3), top = top_of(c, m);
        if (!(top > 0))
                return;
        strbuf_putf(out,
                    "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">"
                    "<text class=\"name\" x=\"%d\" y=\"14\">%s</text>",
                    WIDTH, HEIGHT, info->name, LEFT, info->name);
        for (int i = 0; i <= 2; i++) {
                double y = HEIGHT - BOTTOM - i * 0.5 * (HEIGHT - TOP - BOTTOM);
                strbuf_putf(out,
                            "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                            LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4);
                diff_put_value(info->unit, value_ok(top * i / 2), out);
                strbuf_puts(out, "</text>");
        }
        put_times(seconds, out);
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
        strbuf_puts(out,
                    "<h2>Both runs, aligned where the work begins</h2><p class=\"soft\">"
                    "<span class=\"key base\">base</span><span class=\"key new\">new</span></p>");
        for (size_t i = 0; i < ARRAY_LEN(shown); i++)
                put_chart(c, shown[i], out);
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
                    "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"0\" y2=\"14\"/>"
                    "<rect x=\"%.1f\" y=\"5\" width=\"%.1f\" height=\"4\" opacity=\".45\"/>"
                    "<rect x=\"%.1f\" y=\"2\" width=\"3\" height=\"10\"/></svg>",
                    SPAN_WIDTH, SPAN_WIDTH / 2, SPAN_WIDTH / 2, low, MAX(high - low, 1),
                    MAX(MIN(at - 1.5, SPAN_WIDTH - 3.0), 0));
}

static void put_table_row(const struct diff_row *row, double reach, struct strbuf *out)
{
        const char *word = diff_row_word_name(row);
        struct strbuf name = {0};
        strbuf_puts(out, "<tr><td>");
        diff_put_row_name(row, &name);
        quote_markup(out, strbuf_str(&name));
        strbuf_finish(&name);
        diff_put_cells(row, "</td><td>", out);
        strbuf_putf(out, "</td><td class=\"%s\">", word);
        put_span(row, reach, out);
        strbuf_putf(out, "</td><td class=\"%s\">%s</td></tr>\n", word, diff_row_words(row));
}

static void put_table(const struct diff *d, bool phases, struct strbuf *out)
{
        double reach = span_reach(d);
        bool begun = false;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                if (row->is_phase != phases)
                        continue;
                if (!begun)
                        strbuf_putf(out,
                                    "<h2>%s</h2><div class=\"scroll\"><table><tr><th></th>"
                                    "<th>base</th><th>new</th><th>change</th><th>95 %%</th>"
                                    "<th></th><th></th></tr>",
                                    phases ? "Phases and numbers of your own, each time"
                                           : "Figures");
                begun = true;
                put_table_row(row, reach, out);
        }
        if (begun)
                strbuf_puts(out, "</table></div>");
}

/* What limits the runs, one after the other; as the text has it where there are no phases. */
static void put_stretches(const struct diff *d, struct strbuf *out)
{
        if (d->n_parts == 0 || d->identical)
                return;
        strbuf_puts(out, "<h2>Stretches, in order</h2><div class=\"scroll\"><table><tr><th></th>"
                         "<th>base</th><th>new</th></tr>");
        for (size_t i = 0; i < d->n_parts; i++) {
                const struct diff_part *p = &d->parts[i];
                strbuf_puts(out, "<tr><td>");
                diff_put_part(p, out);
                strbuf_puts(out, "</td><td>");
                diff_put_seconds(p->base_s, out);
                strbuf_puts(out, "</td><td>");
                diff_put_seconds(p->now_s, out);
                strbuf_puts(out, "</td></tr>\n");
        }
        strbuf_puts(out, "</table></div>");
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

static void put_run(const struct diff_side *side, const char *name, struct strbuf *out)
{
        struct strbuf words = {0};
        diff_put_side(side, &words);
        strbuf_putf(out, "<p class=\"soft\"><span class=\"key %s\">%s</span>", name, name);
        quote_markup(out, strbuf_str(&words));
        strbuf_puts(out, "</p>\n");
        strbuf_finish(&words);
}

static void put_lists(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf words = {0};
        if (d->n_gates > 0)
                strbuf_puts(out, "<h2>Gates</h2><ul>");
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &words);
                put_item("li", diff_gate_word(d->gates[i].result), &words, out);
        }
        if (d->n_checks > 0)
                strbuf_putf(out, "%s<h2>Differences besides the result</h2><ul>",
                            d->n_gates > 0 ? "</ul>" : "");
        for (size_t i = 0; i < d->n_checks; i++) {
                diff_put_check(&d->checks[i], &words);
                put_item("li", d->checks[i].forbids ? "forbids" : "", &words, out);
        }
        if (d->n_gates > 0 || d->n_checks > 0)
                strbuf_puts(out, "</ul>");
        strbuf_finish(&words);
}

void diff_html(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf words = {0};
        strbuf_puts(out, head);
        strbuf_putf(out, "<div class=\"verdict %s\">", diff_word_name(d->word));
        diff_put_verdict(page, &words);
        put_item("h1", "", &words, out);
        diff_put_cause(page, &words);
        put_item("p", "cause", &words, out);
        diff_put_method(page, &words);
        put_item("p", "soft", &words, out);
        strbuf_puts(out, "</div>");
        put_run(page->base, "base", out);
        put_run(page->now, "new", out);
        put_lists(page, out);
        put_charts(page, out);
        put_table(d, false, out);
        put_table(d, true, out);
        put_stretches(d, out);
        strbuf_puts(out, "</main></html>\n");
        strbuf_finish(&words);
}
