/* The whole chart: header, phases, classes, panels, time. */
#include "present/chart/draw.h"

#include "base/attr.h"
#include "base/clock.h"
#include "present/chart/label.h"
#include "present/format.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EDGE 14.0
#define LABELS 44.0 /* room for the numbers of the value axes */
#define PANEL_HEIGHT 70.0
#define PANEL_LEAST 24.0
#define AXIS_ROOM 34.0
#define FINDING_LINES 2
#define TICK_ROOM 70.0 /* between time labels, at least */

struct ink draw_colour(size_t i)
{
        static const uint32_t colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                           0xe69f00, 0x56b4e9, 0x000000, 0x8c6d31};
        return (struct ink){colours[i % ARRAY_LEN(colours)], 1};
}

struct ink draw_tint(size_t i, float alpha)
{
        static const uint32_t tints[BAND_TINTS] = {0x5b7fa6, 0xc98b3b, 0x6a9f58,
                                                   0xa06cb0, 0x4fa3a5, 0xb5645f};
        return (struct ink){tints[i % BAND_TINTS], alpha};
}

void draw_text(const struct draw *d, double x, double y, struct letters l, const char *s)
{
        d->pen->ops->text(d->pen, x, y, &l, s);
}

void draw_rule(const struct draw *d, double x0, double y0, double x1, double y1, struct ink ink,
               float width)
{
        const struct spot ends[] = {{(float)x0, (float)y0}, {(float)x1, (float)y1}};
        const struct stroke stroke = {ink, width, false};
        d->pen->ops->line(d->pen, ends, 2, &stroke);
}

/* ---- header ---- */

static bool several_models(const struct plot *p)
{
        for (size_t i = 1; i < p->n_gpus; i++) {
                if (strcmp(p->gpus[i].model, p->gpus[0].model) != 0)
                        return true;
        }
        return false;
}

static void put_gpus(const struct plot *p, struct strbuf *out)
{
        if (p->n_slots == 0)
                return;
        const char *model = several_models(p) || !p->gpus[0].model[0] ? "GPU" : p->gpus[0].model;
        if (p->n_slots > 1)
                strbuf_putf(out, "%zu × ", p->n_slots);
        strbuf_putf(out, "%s" DOT, model);
}

static void put_made(struct strbuf *out, int64_t wall_ns)
{
        time_t s = (time_t)(wall_ns / NS_PER_S);
        struct tm tm;
        char text[64];
        if (gmtime_r(&s, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
                strbuf_puts(out, text);
}

static void put_caption(const struct draw *d, struct strbuf *out)
{
        const struct plot *p = d->plot;
        const struct run_facts *facts = d->context->facts;
        char duration[32], started[FORMAT_MAX];
        if (p->overlay) {
                strbuf_puts(out, "each run from its own start, the mean of its GPUs");
                return;
        }
        put_gpus(p, out);
        if (facts->host[0])
                strbuf_putf(out, "%s" DOT, facts->host);
        /* A capture without times counts from 0: it has no date. */
        if (format_is_date(p->zero_ns)) {
                format_utc(started, sizeof(started), p->zero_ns);
                strbuf_putf(out, "started %s" DOT, started);
        }
        duration_text((double)(d->to_ns - d->from_ns) / 1e9, duration, sizeof(duration));
        strbuf_putf(out, "%s%s%s", d->from_ns > p->zero_ns ? "showing " : "", duration,
                    p->zero_ns == 0 && p->ticks > 1 ? " (assumed: the capture has no times)" : "");
        if (facts->source[0])
                strbuf_putf(out, DOT "%s", facts->source);
}

static const char *title_of(const struct draw *d)
{
        const struct run_facts *facts = d->context->facts;
        if (d->plot->options.title)
                return d->plot->options.title;
        const char *slash = strrchr(facts->input, '/');
        const char *file = slash && slash[1] ? slash + 1 : facts->input;
        return facts->command[0] ? facts->command : file;
}

static bool any_each(const struct plot *p, bool each)
{
        for (size_t i = 0; i < p->n_panels; i++) {
                const struct plot_panel *panel = &p->panels[i];
                if (panel->each == each && panel->choice.subject == SUBJECT_METRIC &&
                    panel_shown(panel))
                        return true;
        }
        return false;
}

static double draw_key(const struct draw *d, double x, double y, struct ink ink, bool dashed,
                       const char *text)
{
        const struct spot ends[] = {{(float)x, (float)y - 3.5f}, {(float)x + 14, (float)y - 3.5f}};
        const struct stroke stroke = {ink, 2, dashed};
        d->pen->ops->line(d->pen, ends, 2, &stroke);
        char fitting[LABEL_MAX];
        label_fit(text, (double)SMALL, d->right - x - 18, fitting, sizeof(fitting));
        draw_text(d, x + 18, y, (struct letters){SMALL, false, ANCHOR_START, INK_SOFT}, fitting);
        return x + 18 + label_width(fitting, (double)SMALL) + 12;
}

/* How the curves are to be read; nothing when there is one curve a panel and no range. */
static double draw_legend(const struct draw *d, double y)
{
        const struct plot *p = d->plot;
        double x = d->left;
        char text[96], span[32];
        if (p->n_slots == 1 && p->ticks > d->columns * 3 / 2) {
                duration_text((double)(d->to_ns - d->from_ns) / 1e9 / (double)d->columns, span,
                              sizeof(span));
                snprintf(text, sizeof(text), "line: mean; shade: lowest to highest within %s",
                         span);
                draw_key(d, d->left, y + 12, draw_colour(0), false, text);
                return y + 18;
        }
        if (p->n_slots < 2)
                return y;
        if (any_each(p, true)) {
                for (size_t i = 0; i < p->n_gpus; i++) {
                        snprintf(text, sizeof(text), "%s%s", p->overlay ? "" : "GPU ",
                                 p->gpus[i].label);
                        if (x + 30 + label_width(text, (double)SMALL) > d->right) {
                                x = d->left;
                                y += 14;
                        }
                        x = draw_key(d, x, y + 12, draw_colour(i), i >= 8, text);
                }
                y += 18;
                if (p->n_slots > p->n_gpus) {
                        snprintf(text, sizeof(text), "%zu more GPUs have no line of their own",
                                 p->n_slots - p->n_gpus);
                        draw_text(d, d->left, y + 10,
                                  (struct letters){SMALL, false, ANCHOR_START, INK_SOFT}, text);
                        y += 16;
                }
        }
        if (any_each(p, false)) {
                snprintf(text, sizeof(text), "line: mean of %zu GPUs; shade: lowest to highest",
                         p->n_slots);
                draw_key(d, d->left, y + 12, draw_colour(0), false, text);
                y += 18;
        }
        return y;
}

/* The finding below the title, in that many lines at most. */
static double draw_finding(const struct draw *d, double y)
{
        const char *s = d->context->finding;
        for (int line = 1; s && *s && line <= FINDING_LINES; line++) {
                char text[LABEL_MAX], head[LABEL_MAX];
                size_t end = 0;
                for (size_t i = 1; i < LABEL_MAX && line < FINDING_LINES; i++) {
                        /* "22 %" stays together. */
                        if (s[i] && (s[i] != ' ' || s[i + 1] == '%'))
                                continue;
                        snprintf(head, sizeof(head), "%.*s", (int)i, s);
                        if (label_width(head, (double)SMALL) > d->right - d->left)
                                break;
                        end = i;
                        if (!s[i])
                                break;
                }
                snprintf(head, sizeof(head), "%.*s", end ? (int)end : LABEL_MAX - 1, s);
                label_fit(head, (double)SMALL, d->right - d->left, text, sizeof(text));
                y += (double)SMALL + 3;
                draw_text(d, d->left, y, (struct letters){SMALL, false, ANCHOR_START, INK_TEXT},
                          text);
                s = end ? s + end + (s[end] == ' ') : "";
        }
        return y;
}

static double draw_header(const struct draw *d)
{
        struct strbuf caption = {0};
        char text[LABEL_MAX];
        double y = EDGE, room = d->right - d->left;
        d->pen->ops->group(d->pen, "header");
        label_fit(title_of(d), (double)LARGE * BOLD, room, text, sizeof(text));
        if (text[0]) {
                y += (double)LARGE;
                draw_text(d, d->left, y - 1, (struct letters){LARGE, true, ANCHOR_START, INK_TEXT},
                          text);
                y += 4;
        }
        put_caption(d, &caption);
        label_fit(strbuf_str(&caption), (double)SMALL, room, text, sizeof(text));
        y += (double)SMALL;
        draw_text(d, d->left, y, (struct letters){SMALL, false, ANCHOR_START, INK_SOFT}, text);
        strbuf_finish(&caption);
        y = draw_finding(d, y);
        y = draw_legend(d, y + 6);
        d->pen->ops->group(d->pen, "");
        return y + 4;
}

/* ---- time ---- */

static void draw_time(const struct draw *d, double y)
{
        const struct ticks *t = &d->time.ticks;
        double from_s = (double)(d->from_ns - d->plot->zero_ns) / 1e9;
        double span_s = (double)(d->to_ns - d->from_ns) / 1e9;
        char label[TICK_LABEL_MAX + 32];
        d->pen->ops->group(d->pen, "time");
        for (unsigned i = 0; i < t->n; i++) {
                double s = (t->first + i * t->step) * d->time.unit_s;
                double x = draw_x(d, (s - from_s) / span_s);
                draw_rule(d, x, y, x, y + 3, INK_AXIS, 0.8f);
                tick_label(t, i, label, sizeof(label));
                draw_text(d, x, y + 14, (struct letters){SMALL, false, ANCHOR_MIDDLE, INK_SOFT},
                          label);
        }
        snprintf(label, sizeof(label), "time since the start, %s", d->time.unit);
        draw_text(d, (d->left + d->right) / 2, y + 28,
                  (struct letters){SMALL, false, ANCHOR_MIDDLE, INK_SOFT}, label);
        d->pen->ops->group(d->pen, "");
}

/* ---- all of it ---- */

static size_t panels_shown(const struct plot *p)
{
        size_t n = 0;
        for (size_t i = 0; i < p->n_panels; i++)
                n += panel_shown(&p->panels[i]);
        return n;
}

/* "io" names io_read and io_write. */
static bool is_called(const struct plot_panel *p, const char *name)
{
        const char *own = choice_name(&p->choice);
        size_t n = strlen(name);
        return strncmp(own, name, n) == 0 && (own[n] == '\0' || own[n] == '_');
}

/* Where there is no room for all: those that matter most, then in their order. */
static void choose_panels(struct plot *p, const struct plot_context *context)
{
        bool kept[CHOICES_MAX] = {false};
        size_t most = p->options.most_panels, n = 0;
        if (most == 0 || panels_shown(p) <= most)
                return;
        for (size_t k = 0; k <= context->n_first; k++) {
                for (size_t i = 0; i < p->n_panels && n < most; i++) {
                        bool named =
                            k == context->n_first || is_called(&p->panels[i], context->first[k]);
                        if (kept[i] || !named || !panel_shown(&p->panels[i]))
                                continue;
                        kept[i] = true;
                        n++;
                }
        }
        for (size_t i = 0; i < p->n_panels; i++)
                p->panels[i].left_out = !kept[i];
}

/* Draws everything; returns the height that it takes. */
static double draw_all(struct draw *d, double panel_height)
{
        struct plot *p = d->plot;
        d->pen->ops->rect(d->pen, 0, 0, d->width, d->height, (struct ink){0xffffff, 1});
        double y = draw_header(d), base = d->height - AXIS_ROOM - EDGE / 2;
        y = draw_phases(d, y);
        y = draw_events(d, y, base);
        if (!p->overlay)
                y = draw_strips(d, y);
        double end = y;
        for (size_t i = 0; i < p->n_panels; i++) {
                if (!panel_shown(&p->panels[i]))
                        continue;
                panel_draw(d, &p->panels[i], y, panel_height);
                end = y + PANEL_TITLE + panel_height;
                y = end + PANEL_GAP;
        }
        draw_time(d, end);
        return end + AXIS_ROOM + EDGE / 2;
}

/* Sets the height of the sheet; returns that of a panel. */
static double measure_height(struct draw *d)
{
        struct pen nothing = {&pen_null_ops};
        double wanted = d->plot->options.height, panel = PANEL_HEIGHT;
        double n = (double)panels_shown(d->plot);
        d->pen = &nothing;
        d->height = draw_all(d, panel);
        if (wanted > 0) {
                panel = MAX(panel + (wanted - d->height) / n, PANEL_LEAST);
                d->height = draw_all(d, panel);
        }
        d->height = ceil(d->height - 1e-6);
        d->pen = NULL;
        return panel;
}

static void set_time(struct draw *d)
{
        const struct plot *p = d->plot;
        d->from_ns = p->start_ns;
        /* Nothing is known after the last tick, whenever a phase ended. */
        int64_t last = p->overlay ? p->end_ns : MIN(p->options.to_ns, p->end_ns);
        d->to_ns = MAX(last, p->start_ns + NS_PER_MS);
        double from_s = (double)(d->from_ns - p->zero_ns) / 1e9;
        double to_s = (double)(d->to_ns - p->zero_ns) / 1e9;
        d->time = time_axis_for(from_s, to_s, (unsigned)((d->right - d->left) / TICK_ROOM));
        d->window.to = (double)(d->to_ns - d->from_ns) / (double)p->width_ns;
}

static int chart_prepare(struct draw *d, struct err *err)
{
        d->left = EDGE + LABELS;
        d->right = d->width - EDGE;
        d->columns = (size_t)(d->right - d->left);
        set_time(d);
        d->dots = calloc(d->columns, sizeof(*d->dots));
        d->spots = calloc(2 * d->columns + 2, sizeof(*d->spots));
        d->bands = calloc(BANDS_MAX, sizeof(*d->bands));
        if (!d->dots || !d->spots || !d->bands)
                return err_set(err, -ENOMEM, "out of memory");
        d->n_bands = bands_pack(d->context->phases, d->context->n_phases, d->from_ns, d->to_ns,
                                1 / (double)d->columns, d->bands);
        return 0;
}

static int draw_with_pen(struct draw *d, enum plot_format format, struct strbuf *out,
                         struct err *err)
{
        struct strbuf made = {0};
        char title[LABEL_MAX];
        double panel = measure_height(d);
        if (format_is_date(d->plot->zero_ns))
                put_made(&made, d->plot->zero_ns);
        label_clean(title_of(d), title, sizeof(title));
        const struct sheet sheet = {d->width, d->height, title, strbuf_str(&made)};
        int r = format == PLOT_SVG ? pen_open_svg(&sheet, &d->pen, err)
                                   : pen_open_cairo(format, &sheet, &d->pen, err);
        if (r == 0) {
                draw_all(d, panel);
                r = d->pen->ops->close(d->pen, out, err);
        }
        strbuf_finish(&made);
        return r;
}

int plot_draw(struct plot *p, const struct plot_context *context, enum plot_format format,
              struct strbuf *out, struct err *err)
{
        struct draw d = {.plot = p, .context = context, .width = p->options.width};
        if (!p->started || panels_shown(p) == 0) {
                err_set(err, ERR_DATA, "nothing to draw in '%s'", context->facts->input);
                return err_hint(err, p->started ? "none of the metrics has values; choose others "
                                                  "with --metrics"
                                                : "no samples in the chosen time");
        }
        choose_panels(p, context);
        int r = chart_prepare(&d, err);
        if (r == 0)
                r = draw_with_pen(&d, format, out, err);
        free(d.dots);
        free(d.spots);
        free(d.bands);
        return r;
}
