/* One panel: axis, bands, curves, limit. */
#include "base/attr.h"
#include "present/chart/axis.h"
#include "present/chart/draw.h"
#include "present/chart/label.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHADES_MAX 3 /* more ranges than this hide one another */
#define LABEL_GAP 5.0
#define SEVERAL 3   /* values that make a curve */
#define DOTS_MAX 60 /* more than that make the line */
#define DOT_SIZE 4.0
#define ONE_CORE 1.0

bool panel_shown(const struct plot_panel *p)
{
        if (p->left_out)
                return false;
        switch (p->choice.show) {
        case SHOW_ALWAYS:
                return true;
        case SHOW_WITH_VALUES:
                return p->all && p->all->n > 0;
        case SHOW_WITH_SEVERAL:
                return p->all && p->all->n >= SEVERAL;
        case SHOW_ABOVE_ZERO:
                return p->all && p->all->n > 0 && p->all->max > 0;
        }
        return false;
}

/* Cores busy: a program of one thread cannot pass the line at one. */
static bool is_cores(const struct plot_panel *p)
{
        return p->choice.subject == SUBJECT_FIGURE && p->choice.what == FIGURE_CPU;
}

static struct value_axis axis_of(const struct plot_panel *p)
{
        enum unit unit = choice_unit(&p->choice);
        bool from_zero =
            !choice_counts(&p->choice) && unit != UNIT_CELSIUS && p->choice.subject != SUBJECT_USER;
        if (!p->all || p->all->n == 0)
                return value_axis_for(unit, 0, 1, true);
        double min = p->all->min, max = p->all->max;
        /* A limit that is far away would flatten the curve. */
        if (p->limit && p->limit->n > 0 && max >= p->limit->max * LIMIT_NEAR)
                max = MAX(max, p->limit->max);
        if (is_cores(p))
                max = MAX(max, ONE_CORE);
        return value_axis_for(unit, min, max, from_zero);
}

/* A box and the axis beside it. */
struct box {
        double y, height;
        struct value_axis axis;
};

static float y_of(const struct box *b, double v)
{
        double part = (v * b->axis.factor - b->axis.low) / (b->axis.high - b->axis.low);
        return (float)(b->y + b->height * (1 - MIN(MAX(part, 0), 1)));
}

/* ---- frame ---- */

/* Three figures: 0.123, 1.23, 12.3, 123. */
static void put_figure(char *buf, size_t n, double v)
{
        double size = fabs(v);
        int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
        snprintf(buf, n, "%.*f", decimals, v);
}

/* Where there is one for all the time. */
static bool one_limit(const struct plot_panel *p)
{
        return p->limit && p->limit->n > 0 &&
               p->limit->max - p->limit->min <= 1e-3 * fabs(p->limit->max);
}

#define MEANS_MAX 4

/* Of runs over each other the mean of each, in their order; nothing when there are many. */
static void put_means(const struct draw *d, const struct plot_panel *p, double factor, char *ret,
                      size_t size)
{
        size_t n = d->plot->n_gpus, len = 0;
        ret[0] = '\0';
        for (size_t i = 0; n <= MEANS_MAX && i < n; i++) {
                const struct curve *c = p->gpus[i];
                char mean[32] = "--";
                if (c && c->n > 0)
                        put_figure(mean, sizeof(mean), c->sum / (double)c->n * factor);
                len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? DOT : "means ", mean);
        }
}

/* The numbers of the panel, from the right end on; they give way to a title that needs the room. */
static void draw_numbers(struct draw *d, const struct plot_panel *p, const struct box *b,
                         double title_end)
{
        char text[160], min[32], mean[32], max[32], limit[48] = "";
        double y = b->y - 6;
        if (!p->all || p->all->n == 0)
                return;
        if (one_limit(p)) {
                struct shown_unit as = shown_unit_for(choice_unit(&p->choice), p->limit->max);
                bool same = strcmp(as.name, b->axis.unit) == 0;
                put_figure(max, sizeof(max), p->limit->max * as.factor);
                snprintf(limit, sizeof(limit), "limit %s%s%s", max, same ? "" : " ",
                         same ? "" : as.name);
        }
        put_figure(min, sizeof(min), p->all->min * b->axis.factor);
        put_figure(mean, sizeof(mean), p->all->sum / (double)p->all->n * b->axis.factor);
        put_figure(max, sizeof(max), p->all->max * b->axis.factor);
        snprintf(text, sizeof(text), "min %s" DOT "mean %s" DOT "max %s", min, mean, max);
        if (d->plot->overlay)
                put_means(d, p, b->axis.factor, text, sizeof(text));
        double x = d->right - (limit[0] ? label_width(limit, (double)SMALL) + 8 : 0);
        if (limit[0] && x > title_end)
                draw_text(d, d->right, y, (struct letters){SMALL, false, ANCHOR_END, INK_LIMIT},
                          limit);
        if (x - label_width(text, (double)SMALL) > title_end)
                draw_text(d, x, y, (struct letters){SMALL, false, ANCHOR_END, INK_SOFT}, text);
}

/* Returns where it ends. */
static double draw_title(struct draw *d, const struct plot_panel *p, const struct box *b)
{
        char title[96], whole[160], text[LABEL_MAX];
        const char *unit = b->axis.unit, *of = "";
        choice_title(&p->choice, title, sizeof(title));
        bool level = p->choice.subject == SUBJECT_FIGURE ||
                     (p->choice.subject == SUBJECT_CORES && !p->each) || p->from_level;
        if (level && d->plot->options.level < LEVEL_COUNT)
                of = level_name(d->plot->options.level);
        snprintf(whole, sizeof(whole), "%s%s%s%s%s%s", title, of[0] ? " (" : "", of,
                 of[0] ? ")" : "", unit[0] ? ", " : "", unit);
        label_fit(whole, (double)MEDIUM * BOLD, d->right - d->left, text, sizeof(text));
        draw_text(d, d->left, b->y - 6, (struct letters){MEDIUM, true, ANCHOR_START, INK_TEXT},
                  text);
        return d->left + label_width(text, (double)MEDIUM * BOLD) + 8;
}

static void draw_bands(struct draw *d, const struct box *b)
{
        bool nested = false;
        for (size_t i = 0; i < d->n_bands; i++)
                nested |= d->bands[i].lane > 0;
        for (size_t i = 0; i < d->n_bands; i++) {
                const struct band *band = &d->bands[i];
                double x = draw_x(d, (double)band->from);
                d->pen->ops->rect(d->pen, x, b->y, draw_x(d, (double)band->to) - x, b->height,
                                  draw_tint(band->tint, nested ? 0.05f : 0.10f));
        }
}

static void draw_grid(struct draw *d, const struct box *b)
{
        const struct ticks *v = &b->axis.ticks, *t = &d->time.ticks;
        char label[TICK_LABEL_MAX];
        double from_s = (double)(d->from_ns - d->plot->zero_ns) / 1e9;
        double span_s = (double)(d->to_ns - d->from_ns) / 1e9;
        for (unsigned i = 0; i < t->n; i++) {
                double s = (t->first + i * t->step) * d->time.unit_s;
                double x = draw_x(d, (s - from_s) / span_s);
                draw_rule(d, x, b->y, x, b->y + b->height, INK_GRID, 0.6f);
        }
        for (unsigned i = 0; i < v->n; i++) {
                double y = (double)y_of(b, (v->first + i * v->step) / b->axis.factor);
                draw_rule(d, d->left, y, d->right, y, INK_GRID, 0.6f);
                tick_label(v, i, label, sizeof(label));
                draw_text(d, d->left - LABEL_GAP, y + 3.5,
                          (struct letters){SMALL, false, ANCHOR_END, INK_SOFT}, label);
        }
}

static void draw_axes(struct draw *d, const struct box *b)
{
        draw_rule(d, d->left, b->y, d->left, b->y + b->height, INK_AXIS, 0.8f);
        draw_rule(d, d->left, b->y + b->height, d->right, b->y + b->height, INK_AXIS, 0.8f);
}

/* ---- curves ---- */

static double gap_of(const struct draw *d, const struct plot_panel *p)
{
        const struct plot *plot = d->plot;
        /* Nobody promised when the next number of the user's comes. */
        if (p->choice.subject == SUBJECT_USER)
                return CURVE_BUCKETS;
        bool host = p->choice.subject != SUBJECT_METRIC || p->from_level;
        uint64_t ticks = host ? plot->host_ticks : plot->ticks;
        double span = (double)(plot->end_ns - plot->start_ns) / (double)plot->width_ns;
        return MAX(span / (double)MAX(ticks, 1), 1) * GAP_TICKS;
}

/* A run of dots without a gap. */
static void draw_shade(struct draw *d, const struct box *b, const struct dot *dots, size_t n,
                       struct ink ink)
{
        bool flat = true;
        for (size_t i = 0; i < n; i++) {
                float x = (float)draw_x(d, (double)dots[i].x);
                d->spots[i] = (struct spot){x, y_of(b, (double)dots[i].max)};
                d->spots[2 * n - 1 - i] = (struct spot){x, y_of(b, (double)dots[i].min)};
                flat &= d->spots[2 * n - 1 - i].y - d->spots[i].y < 0.1f;
        }
        if (n > 1 && !flat)
                d->pen->ops->area(d->pen, d->spots, 2 * n, ink);
}

static void draw_line(struct draw *d, const struct box *b, const struct dot *dots, size_t n,
                      const struct stroke *stroke)
{
        for (size_t i = 0; i < n; i++)
                d->spots[i] = (struct spot){(float)draw_x(d, (double)dots[i].x),
                                            y_of(b, (double)dots[i].mean)};
        if (n == 1) {
                /* A value alone is a dash as wide as a column. */
                d->spots[0].x -= 0.5f;
                d->spots[1] = (struct spot){d->spots[0].x + 1, d->spots[0].y};
                n = 2;
        }
        d->pen->ops->line(d->pen, d->spots, n, stroke);
}

static void draw_curve(struct draw *d, const struct box *b, const struct curve *c, bool shade,
                       const struct stroke *stroke)
{
        size_t n = curve_dots(c, &d->window, d->columns, d->dots);
        struct ink light = {stroke->ink.rgb, 0.25f};
        for (size_t from = 0, to; from < n; from = to) {
                for (to = from + 1; to < n && !d->dots[to].up;)
                        to++;
                if (shade)
                        draw_shade(d, b, d->dots + from, to - from, light);
                draw_line(d, b, d->dots + from, to - from, stroke);
        }
}

/* Numbers that come now and then: the line only joins them. */
static void draw_dots(struct draw *d, const struct box *b, const struct curve *c)
{
        size_t n = curve_dots(c, &d->window, d->columns, d->dots);
        for (size_t i = 0; n <= DOTS_MAX && i < n; i++) {
                double x = draw_x(d, (double)d->dots[i].x);
                double y = (double)y_of(b, (double)d->dots[i].mean);
                d->pen->ops->rect(d->pen, x - DOT_SIZE / 2, y - DOT_SIZE / 2, DOT_SIZE, DOT_SIZE,
                                  draw_colour(0));
        }
}

static void draw_curves(struct draw *d, const struct box *b, struct plot_panel *p)
{
        bool cores = p->choice.subject == SUBJECT_CORES;
        size_t n = cores ? p->n_cores : d->plot->n_gpus;
        if (!p->each || n <= 1) {
                const struct stroke stroke = {draw_colour(0), 1.3f, false};
                draw_curve(d, b, p->all, true, &stroke);
                if (p->choice.subject == SUBJECT_USER)
                        draw_dots(d, b, p->all);
                return;
        }
        for (size_t i = 0; i < n; i++) {
                const struct stroke stroke = {draw_colour(i), 1.1f, i >= 8};
                if (p->gpus[i])
                        draw_curve(d, b, p->gpus[i], !cores && n <= SHADES_MAX, &stroke);
        }
}

static void draw_one_core(struct draw *d, const struct box *b)
{
        const struct stroke dashed = {INK_AXIS, 0.9f, true};
        double y = (double)y_of(b, ONE_CORE);
        const struct spot ends[] = {{(float)d->left, (float)y}, {(float)d->right, (float)y}};
        d->pen->ops->line(d->pen, ends, 2, &dashed);
        draw_text(d, d->right - 3, y - 2.5, (struct letters){8, false, ANCHOR_END, INK_SOFT},
                  "one core");
}

void panel_draw(struct draw *d, struct plot_panel *p, double y, double height)
{
        struct box b = {y + PANEL_TITLE, height, axis_of(p)};
        char name[LABEL_MAX];
        label_clean(choice_name(&p->choice), name, sizeof(name));
        d->pen->ops->group(d->pen, name);
        draw_numbers(d, p, &b, draw_title(d, p, &b));
        draw_bands(d, &b);
        draw_grid(d, &b);
        if (is_cores(p))
                draw_one_core(d, &b);
        d->window.gap = gap_of(d, p);
        if (p->all && p->all->n > 0) {
                const struct stroke limit = {INK_LIMIT, 0.9f, true};
                if (p->limit && p->limit->n > 0 && p->limit->max * b.axis.factor <= b.axis.high)
                        draw_curve(d, &b, p->limit, false, &limit);
                draw_curves(d, &b, p);
        } else {
                draw_text(d, (d->left + d->right) / 2, b.y + height / 2 + 4,
                          (struct letters){MEDIUM, false, ANCHOR_MIDDLE, INK_SOFT}, "no values");
        }
        draw_axes(d, &b);
        d->pen->ops->group(d->pen, "");
}
