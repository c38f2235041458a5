/* The report as one file: tables, and curves drawn as SVG with phases as bands. No network. */
#include "base/clock.h"
#include "base/quote.h"
#include "present/chart/axis.h"
#include "present/chart/label.h"
#include "present/format.h"
#include "present/report/report.h"
#include "present/stream/json.h"

#include <math.h>
#include <stdio.h>

#define WIDTH 960
#define HEIGHT 150
#define LEFT 64
#define RIGHT 12
#define TOP 22
#define BOTTOM 22
#define PLOT_W (WIDTH - LEFT - RIGHT)
#define PLOT_H (HEIGHT - TOP - BOTTOM)

static const char style[] =
    "body{font:14px/1.45 system-ui,sans-serif;margin:24px auto;max-width:1000px;padding:0 12px;"
    "color:#1b1f24;background:#fff}h1{font-size:20px}h2{font-size:16px;margin:28px 0 8px}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:3px 10px;"
    "text-align:right;white-space:nowrap;border-bottom:1px solid "
    "#e4e7eb}td:first-child,th:first-child{text-align:left}"
    ".finding{border-left:4px solid #c2410c;background:#fff7ed;padding:10px 14px}"
    ".facts{color:#57606a}svg{display:block;margin:6px 0;min-width:640px}svg text{font-size:11px;"
    "fill:#57606a}.name{font-weight:600;fill:#1b1f24}.band{fill:#64748b;fill-opacity:.08}"
    ".band:nth-child(even){fill-opacity:.16}.axis{stroke:#cbd5e1}.cross{stroke:#1b1f24;"
    "stroke-dasharray:2 3}#tip{position:fixed;pointer-events:none;background:#1b1f24;color:#fff;"
    "padding:4px 8px;border-radius:4px;font-size:12px;white-space:pre;display:none}"
    ".scroll{overflow-x:auto}@media print{#tip,.cross{display:none!important}"
    "svg,table{break-inside:avoid}h2{break-after:avoid}svg{min-width:0}.scroll{overflow:visible}"
    "table{font-size:9px}td,"
    "th{padding:2px "
    "5px}"
    "pre{font-size:8px;white-space:pre-wrap}}";

static const char *const colours[] = {"#2563eb", "#c2410c", "#15803d", "#7c3aed",
                                      "#0e7490", "#be185d", "#a16207", "#475569"};

/* The curves are drawn already; this only tells the numbers under the pointer. */
static const char script[] =
    "const tip=document.getElementById('tip');"
    "for(const svg of document.querySelectorAll('svg[data-m]')){"
    "const c=R.charts[svg.dataset.m],x=svg.querySelector('.cross');"
    "svg.addEventListener('mousemove',e=>{const b=svg.getBoundingClientRect(),"
    "f=((e.clientX-b.left)/b.width*R.w-R.l)/R.pw;if(f<0||f>1){tip.style.display='none';return}"
    "const t=f*R.seconds,i=Math.floor(t/R.step);let s=t.toFixed(1)+' s';"
    "const p=R.phases.filter(p=>p[1]<=t&&t<p[2]).map(p=>p[0]);if(p.length)s+='  '+p.join(' > ');"
    "for(const g of c.curves){const v=g.v[i];s+='\\n'+g.name+'  '+(v==null?'--':"
    "(v*c.scale).toPrecision(4)+' '+c.unit)}tip.textContent=s;tip.style.display='block';"
    "tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8)+'px';"
    "tip.style.top=(e.clientY+14)+'px';const px=R.l+f*R.pw;x.setAttribute('x1',px);"
    "x.setAttribute('x2',px);x.style.display=''});"
    "svg.addEventListener('mouseleave',()=>{tip.style.display='none';x.style.display='none'})}";

/* How a metric is drawn: its axis in this unit. A top of 0 is found from the data. */
struct axis {
        double scale, top;
        const char *unit;
};

static struct axis axis_of(enum unit unit)
{
        switch (unit) {
        case UNIT_RATIO:
                return (struct axis){100, 100, "%"};
        case UNIT_SCORE:
                return (struct axis){1, 100, ""};
        case UNIT_BYTES:
                return (struct axis){1 / 1073741824.0, 0, "GiB"};
        case UNIT_BYTES_PER_S:
                return (struct axis){1e-9, 0, "GB/s"};
        case UNIT_WATTS:
                return (struct axis){1, 0, "W"};
        case UNIT_SECONDS:
        case UNIT_JOULES:
        case UNIT_CELSIUS:
        case UNIT_HERTZ:
        case UNIT_COUNT:
        case UNIT_PER_S:
        case UNIT_NUMBER:
        case UNIT_FLAG:
        case UNIT_BITS:
                break;
        }
        return (struct axis){1, 0, ""};
}

/* 1, 2 or 5 times a power of ten, at least v. */
static double round_up(double v)
{
        if (!(v > 0))
                return 1;
        double base = pow(10, floor(log10(v)));
        return v <= base ? base : v <= 2 * base ? 2 * base : v <= 5 * base ? 5 * base : 10 * base;
}

static double seconds_of(const struct traces *t)
{
        return MAX(clock_to_seconds(t->end_ns - t->start_ns), 1e-3);
}

/* What one picture shows. */
#define CURVES_MAX 64

struct chart {
        const char *name;
        struct axis axis;
        size_t n;
        struct {
                const struct trace_point *points;
                char name[ENTITY_LABEL_MAX + 8];
        } curves[CURVES_MAX];
};

static bool has_points(const struct trace_point *points)
{
        for (size_t i = 0; i < TRACE_POINTS; i++) {
                if (points[i].n > 0)
                        return true;
        }
        return false;
}

static double largest(const struct chart *c)
{
        double most = 0;
        for (size_t i = 0; i < c->n; i++) {
                for (size_t k = 0; k < TRACE_POINTS; k++) {
                        const struct trace_point *p = &c->curves[i].points[k];
                        most = p->n > 0 ? MAX(most, (double)p->sum / p->n) : most;
                }
        }
        return most;
}

/* Small numbers get a smaller unit, so that the axis has short ones. */
static void fit_axis(struct chart *c, enum unit unit)
{
        double most = largest(c);
        c->axis = axis_of(unit);
        if (unit == UNIT_BYTES && most < 1073741824.0)
                c->axis = (struct axis){1 / 1048576.0, 0, "MiB"};
        if (unit == UNIT_BYTES_PER_S && most < 5e8)
                c->axis = (struct axis){1e-6, 0, "MB/s"};
}

static bool metric_chart(const struct traces *t, enum trace_metric m, struct chart *ret)
{
        const struct metric_info *info = metric_info(trace_metric(m));
        bool any = false;
        *ret = (struct chart){.name = info->name};
        for (size_t i = 0; i < t->n && i < CURVES_MAX; i++) {
                ret->curves[i].points = t->gpus[i]->points[m];
                snprintf(ret->curves[i].name, sizeof(ret->curves[i].name), "GPU %s",
                         t->gpus[i]->who.label);
                any |= has_points(ret->curves[i].points);
                ret->n = i + 1;
        }
        fit_axis(ret, info->unit);
        return any;
}

/* The level's share of its CPUs, its memory, and both directions of I/O in one picture. */
#define LEVEL_CHARTS 3

static bool level_chart(const struct traces *t, size_t which, struct chart *ret)
{
        static const struct {
                const char *name;
                size_t n;
                struct {
                        enum trace_figure figure;
                        const char *name;
                } curves[2];
        } charts[LEVEL_CHARTS] = {
            {"cpu_share", 1, {{TRACE_LEVEL_CPU_SHARE, "CPU"}}},
            {"memory", 1, {{TRACE_LEVEL_MEMORY, "memory"}}},
            {"io", 2, {{TRACE_LEVEL_READ, "read"}, {TRACE_LEVEL_WRITE, "write"}}}};
        bool any = false;
        enum figure first = trace_figure(charts[which].curves[0].figure);
        *ret = (struct chart){.name = charts[which].name, .n = charts[which].n};
        for (size_t i = 0; i < ret->n; i++) {
                ret->curves[i].points = t->level[charts[which].curves[i].figure];
                snprintf(ret->curves[i].name, sizeof(ret->curves[i].name), "%s",
                         charts[which].curves[i].name);
                any |= has_points(ret->curves[i].points);
        }
        fit_axis(ret, figure_info(first)->unit);
        return any;
}

/* Both kinds, one after the other. False beyond the last, and for one that has no data. */
static bool chart_at(const struct traces *t, size_t i, struct chart *ret)
{
        return i < TRACE_COUNT ? metric_chart(t, (enum trace_metric)i, ret)
                               : level_chart(t, i - TRACE_COUNT, ret);
}

#define CHARTS_MAX (TRACE_COUNT + LEVEL_CHARTS)

static double x_of(const struct traces *t, double seconds)
{
        double f = seconds / seconds_of(t);
        return LEFT + PLOT_W * MIN(MAX(f, 0), 1);
}

#define BAND_LETTERS 11 /* the size of the small type */
#define BAND_LINES 4    /* names below one another, of phases that overlap */

/* As much of the name as fits the band. */
static void put_band_name(struct strbuf *out, const char *name, double from, double width, int line)
{
        char label[LABEL_MAX];
        label_fit(name, BAND_LETTERS, width - 6, label, sizeof(label));
        if (!label[0])
                return;
        strbuf_putf(out, "<text x=%.1f y=%d>", from + 3, TOP + 12 * (line + 1));
        quote_markup(out, label);
        strbuf_puts(out, "</text>");
}

/* A phase inside another has its name below the other's. */
static void put_band_names(struct strbuf *out, const struct summary *s, const struct traces *t)
{
        int64_t ends[BAND_LINES] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
        for (size_t i = 0; i < s->n_phases; i++) {
                const struct phase *p = &s->phases[i];
                double from = x_of(t, clock_to_seconds(p->begin_ns - t->start_ns));
                double to = x_of(t, clock_to_seconds(p->end_ns - t->start_ns));
                int line = 0;
                while (line < BAND_LINES && ends[line] > p->begin_ns)
                        line++;
                if (line == BAND_LINES)
                        continue;
                ends[line] = p->end_ns;
                put_band_name(out, p->name, from, to - from, line);
        }
}

static void put_bands(struct strbuf *out, const struct summary *s, const struct traces *t,
                      bool names)
{
        strbuf_puts(out, "<g>");
        for (size_t i = 0; i < s->n_phases; i++) {
                const struct phase *p = &s->phases[i];
                double from = x_of(t, clock_to_seconds(p->begin_ns - t->start_ns));
                double to = x_of(t, clock_to_seconds(p->end_ns - t->start_ns));
                if (to - from < 0.2)
                        continue;
                strbuf_putf(out, "<rect class=band x=%.1f y=%d width=%.1f height=%d><title>", from,
                            TOP, to - from, PLOT_H);
                quote_markup(out, p->name);
                strbuf_puts(out, "</title></rect>");
        }
        strbuf_puts(out, "</g>");
        if (names)
                put_band_names(out, s, t);
}

static void put_times(struct strbuf *out, const struct traces *t)
{
        struct time_axis a = time_axis_for(0, seconds_of(t), 8);
        for (unsigned i = 0; i < a.ticks.n; i++) {
                char label[TICK_LABEL_MAX];
                double x = x_of(t, (a.ticks.first + i * a.ticks.step) * a.unit_s);
                tick_label(&a.ticks, i, label, sizeof(label));
                strbuf_putf(out, "<text x=%.1f y=%d text-anchor=%s>%s %s</text>", x, HEIGHT - 6,
                            x > WIDTH - 2 * RIGHT ? "end" : "middle", label, a.unit);
        }
}

static void put_axes(struct strbuf *out, const struct traces *t, double top, const char *unit)
{
        for (int i = 0; i <= 2; i++) {
                double y = TOP + PLOT_H * (1 - i / 2.0);
                strbuf_putf(out,
                            "<line class=axis x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f "
                            "text-anchor=end>%g %s</text>",
                            LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, top * i / 2, unit);
        }
        put_times(out, t);
}

/* A gap in the data is a gap in the curve. */
static void put_curve(struct strbuf *out, const struct traces *t, const struct trace_point *points,
                      const struct axis *axis, double top, const char *colour)
{
        bool pen = false;
        double width = clock_to_seconds(t->width_ns);
        size_t gap = 0, last = (size_t)(seconds_of(t) / width) + 1;
        strbuf_puts(out, "<path fill=none stroke-width=1.3 stroke=\"");
        strbuf_putf(out, "%s\" d=\"", colour);
        for (size_t i = 0; i < TRACE_POINTS && i <= last; i++) {
                if (points[i].n == 0) {
                        /* Points are finer than ticks at first. */
                        pen = pen && ++gap < 40;
                        continue;
                }
                double v = (double)points[i].sum / points[i].n * axis->scale;
                double y = TOP + PLOT_H * (1 - MIN(v / top, 1));
                strbuf_putf(out, "%c%.1f %.1f", pen ? 'L' : 'M', x_of(t, ((double)i + 0.5) * width),
                            y);
                pen = true;
                gap = 0;
        }
        strbuf_puts(out, "\"/>");
}

/* GPUs have their colours everywhere; other curves say which is which where they are. */
static void put_curve_names(struct strbuf *out, const struct chart *c)
{
        if (c->n < 2 || strncmp(c->curves[0].name, "GPU ", 4) == 0)
                return;
        for (size_t i = 0; i < c->n; i++)
                strbuf_putf(out, "<text x=%zu y=14 style=\"fill:%s\">%s</text>", LEFT + 60 + 50 * i,
                            colours[i % ARRAY_LEN(colours)], c->curves[i].name);
}

static void put_chart(struct strbuf *out, const struct summary *s, const struct traces *t,
                      const struct chart *c, bool names)
{
        double top = c->axis.top > 0 ? c->axis.top : round_up(largest(c) * c->axis.scale);
        strbuf_putf(out,
                    "<svg data-m=%s viewBox=\"0 0 %d %d\" role=img><text class=name x=%d y=14>",
                    c->name, WIDTH, HEIGHT, LEFT);
        quote_markup(out, c->name);
        strbuf_puts(out, "</text>");
        put_curve_names(out, c);
        put_bands(out, s, t, names);
        put_axes(out, t, top, c->axis.unit);
        for (size_t i = 0; i < c->n; i++)
                put_curve(out, t, c->curves[i].points, &c->axis, top,
                          colours[i % ARRAY_LEN(colours)]);
        strbuf_putf(out, "<line class=cross y1=%d y2=%d style=\"display:none\" /></svg>\n", TOP,
                    HEIGHT - BOTTOM);
}

static bool has_charts(const struct traces *t)
{
        struct chart c;
        for (size_t i = 0; i < TRACE_COUNT; i++) {
                if (chart_at(t, i, &c))
                        return true;
        }
        return false;
}

static void put_charts(struct strbuf *out, const struct summary *s, const struct traces *t,
                       size_t from, size_t to)
{
        struct chart c;
        bool names = true;
        strbuf_puts(out, "<div class=scroll>\n");
        for (size_t i = from; i < to; i++) {
                if (!chart_at(t, i, &c))
                        continue;
                put_chart(out, s, t, &c, names);
                names = false;
        }
        strbuf_puts(out, "</div>\n");
}

static void put_legend(struct strbuf *out, const struct traces *t)
{
        strbuf_puts(out, "<p>");
        for (size_t i = 0; i < t->n; i++) {
                strbuf_putf(out, "<span style=\"color:%s\">&#9632;</span> GPU ",
                            colours[i % ARRAY_LEN(colours)]);
                quote_markup(out, t->gpus[i]->who.label);
                strbuf_puts(out, " &nbsp; ");
        }
        strbuf_puts(out, "Phases are shaded; point at a curve for its numbers.</p>\n");
}

/* ---- the numbers behind the curves ---- */

/* "</script>" inside a name must not end the script. */
static void put_script_string(struct strbuf *out, const char *s)
{
        struct strbuf text = {0};
        json_put_string(&text, s);
        for (size_t i = 0; i < text.len; i++) {
                if (text.s[i] == '<')
                        strbuf_puts(out, "\\u003c");
                else
                        strbuf_putc(out, text.s[i]);
        }
        strbuf_finish(&text);
}

static void put_points(struct strbuf *out, const struct traces *t, const struct chart *c,
                       size_t curve)
{
        size_t last = (size_t)((t->end_ns - t->start_ns) / t->width_ns);
        float held = 0;
        size_t age = 100;
        strbuf_puts(out, "{\"name\":");
        put_script_string(out, c->curves[curve].name);
        strbuf_puts(out, ",\"v\":[");
        for (size_t i = 0; i <= last && i < TRACE_POINTS; i++) {
                const struct trace_point *p = &c->curves[curve].points[i];
                held = p->n > 0 ? p->sum / (float)p->n : held;
                age = p->n > 0 ? 0 : age + 1;
                if (age < 40)
                        strbuf_putf(out, "%s%.4g", i ? "," : "", (double)held);
                else
                        strbuf_puts(out, i ? ",null" : "null");
        }
        strbuf_puts(out, "]}");
}

static void put_data(struct strbuf *out, const struct summary *s, const struct traces *t)
{
        bool first = true;
        strbuf_putf(out, "<script>const R={w:%d,l:%d,pw:%d,seconds:%.6g,step:%.6g,phases:[", WIDTH,
                    LEFT, PLOT_W, seconds_of(t), clock_to_seconds(t->width_ns));
        for (size_t i = 0; i < s->n_phases; i++) {
                strbuf_puts(out, i ? ",[" : "[");
                put_script_string(out, s->phases[i].name);
                strbuf_putf(out, ",%.3f,%.3f]",
                            clock_to_seconds(s->phases[i].begin_ns - t->start_ns),
                            clock_to_seconds(s->phases[i].end_ns - t->start_ns));
        }
        strbuf_puts(out, "],charts:{");
        for (size_t k = 0; k < CHARTS_MAX; k++) {
                struct chart c;
                if (!chart_at(t, k, &c))
                        continue;
                strbuf_putf(out, "%s%s:{unit:\"%s\",scale:%.10g,curves:[", first ? "" : ",", c.name,
                            c.axis.unit, c.axis.scale);
                first = false;
                for (size_t i = 0; i < c.n; i++) {
                        strbuf_puts(out, i ? "," : "");
                        put_points(out, t, &c, i);
                }
                strbuf_puts(out, "]}");
        }
        strbuf_putf(out, "}};\n%s</script>\n", script);
}

/* ---- tables ---- */

static void put_phase_table(struct strbuf *out, const struct summary *s)
{
        static const enum metric columns[] = {
            METRIC_REAL_UTIL,   METRIC_GPU_UTIL, METRIC_SM_ACTIVE, METRIC_TENSOR_ACTIVE,
            METRIC_DRAM_ACTIVE, METRIC_PCIE_RX,  METRIC_POWER};
        strbuf_puts(out, "<div class=scroll><table><tr><th>phase<th>GPU<th>seconds");
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                strbuf_putf(out, "<th>%s", metric_info(columns[i])->name);
        strbuf_puts(out, "<th>energy<th>tag</tr>\n");
        for (size_t i = s->n > 1 ? 1 : 0; i < s->n; i++) {
                const struct scope *scope = &s->scopes[i];
                for (size_t k = 0; k < scope->n; k++) {
                        const struct gpu_summary *g = scope->gpus[k];
                        char number[FORMAT_MAX];
                        strbuf_puts(out, "<tr><td>");
                        quote_markup(out, scope->name[0] ? scope->name : "the run");
                        strbuf_puts(out, "<td>");
                        quote_markup(out, g->who.label);
                        strbuf_putf(out, "<td>%.1f", scope->seconds);
                        for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
                                format_with_unit(number, sizeof(number), columns[c],
                                                 spread_mean(&g->m[columns[c]]));
                                strbuf_putf(out, "<td>%s", number);
                        }
                        format_with_unit(number, sizeof(number), METRIC_ENERGY,
                                         g->has_energy ? value_ok(g->energy_j)
                                                       : value_missing(STATE_NONE));
                        strbuf_putf(out, "<td>%s<td>%s</tr>\n", number,
                                    scope->n_tags ? tag_name(scope->tags[0].tag) : "");
                }
        }
        strbuf_puts(out, "</table></div>\n");
}

static void put_level_table(struct strbuf *out, const struct summary *s)
{
        strbuf_puts(out, "<div class=scroll><table><tr><th>phase");
        for (size_t i = 0; i < REPORT_LEVEL_COLUMNS; i++)
                strbuf_putf(out, "<th>%s", report_level_columns[i]);
        strbuf_puts(out, "</tr>\n");
        for (size_t i = 0; i < s->n; i++) {
                char cells[REPORT_LEVEL_COLUMNS][32];
                if (s->scopes[i].level.samples == 0)
                        continue;
                report_level_cells(&s->scopes[i], cells);
                strbuf_puts(out, "<tr><td>");
                quote_markup(out, s->scopes[i].name[0] ? s->scopes[i].name : "the run");
                for (size_t k = 0; k < REPORT_LEVEL_COLUMNS; k++)
                        strbuf_putf(out, "<td>%s", cells[k]);
                strbuf_puts(out, "</tr>\n");
        }
        strbuf_puts(out, "</table></div>\n");
}

static void put_level(struct strbuf *out, const struct summary *s, const struct traces *t)
{
        struct strbuf title = {0};
        if (s->scopes[0].level.cpu.n == 0 && s->scopes[0].level.memory.n == 0)
                return;
        report_level_title(s, &title);
        strbuf_puts(out, "<h2>");
        quote_markup(out, strbuf_str(&title));
        strbuf_finish(&title);
        strbuf_puts(out, "</h2>\n");
        put_charts(out, s, t, TRACE_COUNT, CHARTS_MAX);
        put_level_table(out, s);
}

static void put_finding(struct strbuf *out, const struct summary *s)
{
        struct strbuf text = {0};
        size_t n = MIN(s->limits.n_findings, (size_t)REPORT_FINDINGS);
        for (size_t i = 0; i < MAX(n, (size_t)1); i++) {
                strbuf_clear(&text);
                strbuf_puts(out, "<p class=finding>");
                if (n > 0)
                        report_finding(&s->limits, &s->limits.findings[i], &text);
                else
                        report_finding_or_level(s, &text);
                quote_markup(out, strbuf_str(&text));
                if (n > 0) {
                        strbuf_puts(out, "<br><b>try:</b> ");
                        quote_markup(out, report_finding_try(&s->limits.findings[i]));
                }
                strbuf_puts(out, "</p>\n");
        }
        strbuf_finish(&text);
}

void report_html(const struct run_facts *facts, const struct summary *s, const struct traces *t,
                 const struct report_view *view, struct strbuf *out)
{
        struct strbuf text = {0};
        const char *title = facts->command[0] ? facts->command : facts->input;
        strbuf_puts(out, "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
                         "content=\"width=device-width\"><title>");
        quote_markup(out, title);
        strbuf_putf(out, "</title><style>%s</style>\n<h1>", style);
        quote_markup(out, title);
        strbuf_puts(out, "</h1>\n");
        put_finding(out, s);
        if (has_charts(t)) {
                strbuf_puts(out, "<h2>curves</h2>\n");
                put_legend(out, t);
                put_charts(out, s, t, 0, TRACE_COUNT);
        }
        put_level(out, s, t);
        if (s->scopes[0].n > 0) {
                strbuf_puts(out, "<h2>phases</h2>\n");
                put_phase_table(out, s);
        }
        strbuf_puts(out, "<h2>everything</h2>\n<pre class=scroll>");
        struct report_view all = view ? *view : (struct report_view){0};
        all.all = all.each = true;
        all.columns = REPORT_COLUMNS;
        report_text(facts, s, &all, &text);
        quote_markup(out, strbuf_str(&text));
        strbuf_puts(out, "</pre>\n<div id=tip></div>\n");
        put_data(out, s, t);
        strbuf_puts(out, "</html>\n");
        strbuf_finish(&text);
}
