/* What the GPUs did, tick by tick: the bottleneck of their workload classes as colours. */
#include "base/attr.h"
#include "present/chart/draw.h"
#include "present/chart/label.h"

#define ROW_ONE 10.0 /* when there is one GPU */
#define ROW_MANY 6.0
#define ROWS_MAX 16 /* more GPUs than this have no strip */

static const char *const strip_names[PLOT_BOTTLENECKS] = {
    [BOTTLENECK_UNKNOWN] = "unknown", [BOTTLENECK_IDLE] = "idle", [BOTTLENECK_COMPUTE] = "compute",
    [BOTTLENECK_MEMORY] = "memory",   [BOTTLENECK_IO] = "I/O",    [BOTTLENECK_MIXED] = "mixed",
};

static const uint32_t strip_colours[PLOT_BOTTLENECKS] = {
    [BOTTLENECK_UNKNOWN] = 0xeff1f3, [BOTTLENECK_IDLE] = 0xd0d7de, [BOTTLENECK_COMPUTE] = 0x009e73,
    [BOTTLENECK_MEMORY] = 0xe69f00,  [BOTTLENECK_IO] = 0xcc79a7,   [BOTTLENECK_MIXED] = 0x56b4e9,
};

/* The most frequent of some buckets; PLOT_BOTTLENECKS when there were no ticks. */
static unsigned strip_at(const struct strip *s, size_t from, size_t to)
{
        unsigned sum[PLOT_BOTTLENECKS] = {0}, best = PLOT_BOTTLENECKS;
        for (size_t i = from; i < to; i++) {
                for (size_t k = 0; k < PLOT_BOTTLENECKS; k++)
                        sum[k] += s->n[i][k];
        }
        for (unsigned k = 0; k < PLOT_BOTTLENECKS; k++) {
                if (sum[k] > 0 && (best == PLOT_BOTTLENECKS || sum[k] > sum[best]))
                        best = k;
        }
        return best;
}

static void draw_run(const struct draw *d, double from, double to, double y, double height,
                     unsigned what)
{
        double x = draw_x(d, from), w = draw_x(d, to) - x;
        if (what < PLOT_BOTTLENECKS)
                d->pen->ops->rect(d->pen, x, y, w, height, (struct ink){strip_colours[what], 1});
}

/* Ticks come less often than buckets: a class lasts until the next tick, but not across a gap. */
static void draw_strip_row(const struct draw *d, const struct strip *s, double y, double height,
                           unsigned *used)
{
        unsigned now = PLOT_BOTTLENECKS;
        double since = 0, last = 0;
        double span = d->window.to - d->window.from;
        for (size_t c = 0; c <= d->columns; c++) {
                double x = (double)c / (double)d->columns;
                size_t from = (size_t)(d->window.from + x * span);
                size_t to = (size_t)(d->window.from + (double)(c + 1) / (double)d->columns * span);
                from = MIN(from, CURVE_BUCKETS);
                to = MIN(to, CURVE_BUCKETS);
                unsigned what = c < d->columns ? strip_at(s, from, to) : PLOT_BOTTLENECKS;
                bool silent = what == PLOT_BOTTLENECKS;
                if (silent && c < d->columns && (x - last) * span <= d->window.gap)
                        continue;
                last = silent ? last : x;
                if (what == now)
                        continue;
                draw_run(d, since, x, y, height, now);
                *used |= what < PLOT_BOTTLENECKS ? 1U << what : 0;
                now = what;
                since = x;
        }
}

/* Which colours are in the strips, as bits. */
static unsigned strips_used(struct draw *d, size_t rows)
{
        struct pen nothing = {&pen_null_ops}, *pen = d->pen;
        unsigned used = 0;
        d->pen = &nothing;
        for (size_t i = 0; i < rows; i++) {
                if (d->plot->gpus[i].strip)
                        draw_strip_row(d, d->plot->gpus[i].strip, 0, 0, &used);
        }
        d->pen = pen;
        return used;
}

/* Ends at the right, on the base line y. Returns where it begins. */
static double draw_strip_legend(const struct draw *d, double y, unsigned used, bool draw)
{
        double x = d->right;
        for (unsigned k = PLOT_BOTTLENECKS; k-- > 0;) {
                if (!(used & 1U << k))
                        continue;
                x -= label_width(strip_names[k], (double)SMALL);
                if (draw)
                        draw_text(d, x, y, (struct letters){SMALL, false, ANCHOR_START, INK_SOFT},
                                  strip_names[k]);
                x -= 12;
                if (draw)
                        d->pen->ops->rect(d->pen, x, y - 7.5, 8, 8,
                                          (struct ink){strip_colours[k], 1});
                x -= 10;
        }
        return x;
}

/* The title, and the legend beside it or, on a narrow sheet, below. Returns the y below both. */
static double draw_strip_head(struct draw *d, double y, size_t rows, unsigned used)
{
        const char *title = rows > 1 ? "What the GPUs did" : "What the GPU did";
        double base = y + PANEL_TITLE - 6;
        draw_text(d, d->left, base, (struct letters){MEDIUM, true, ANCHOR_START, INK_TEXT}, title);
        if (draw_strip_legend(d, base, used, false) <
            d->left + label_width(title, (double)MEDIUM * BOLD))
                base += (double)SMALL + 4;
        draw_strip_legend(d, base, used, true);
        return base + 6;
}

double draw_strips(struct draw *d, double y)
{
        struct plot *p = d->plot;
        size_t rows = p->n_gpus <= ROWS_MAX ? p->n_gpus : 0;
        if (rows == 0)
                return y;
        double height = rows > 1 ? ROW_MANY : ROW_ONE, row = rows > 1 ? ROW_MANY + 1 : ROW_ONE;
        double ticks = (double)MAX(p->ticks, 1);
        d->window.gap = MAX((d->window.to - d->window.from) / ticks, 1) * GAP_TICKS;
        unsigned used = strips_used(d, rows);
        /* Without counters nothing is known, and a blank strip would only puzzle. */
        if ((used & ~(1U << BOTTLENECK_UNKNOWN)) == 0)
                return y;
        d->pen->ops->group(d->pen, "classes");
        double top = draw_strip_head(d, y, rows, used);
        for (size_t i = 0; i < rows; i++) {
                double at = top + (double)i * row;
                if (p->gpus[i].strip)
                        draw_strip_row(d, p->gpus[i].strip, at, height, &used);
                if (rows > 1)
                        draw_text(d, d->left - 5, at + ROW_MANY,
                                  (struct letters){7, false, ANCHOR_END, INK_SOFT},
                                  p->gpus[i].label);
        }
        d->pen->ops->group(d->pen, "");
        return top + row * (double)rows + PANEL_GAP;
}
