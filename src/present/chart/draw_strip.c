/* Class and limiter of each GPU over time, as colours. */
#include "base/attr.h"
#include "present/chart/draw.h"
#include "present/chart/label.h"

#include <string.h>

#define ROW_ONE 10.0 /* when there is one GPU */
#define ROW_WORDS 13.0
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

/* ---- limiters ---- */

/* Colours by what has to move. */
enum strip_side {
        SIDE_UNKNOWN,
        SIDE_IDLE,
        SIDE_HOST,
        SIDE_COPY,
        SIDE_COMPUTE,
        SIDE_MEMORY,
        SIDE_KERNEL,
        SIDES
};

static const char *const side_names[SIDES] = {"unknown", "idle",   "host",   "copies",
                                              "compute", "memory", "kernels"};
static const uint32_t side_colours[SIDES] = {0xeff1f3, 0xd0d7de, 0xd55e00, 0xcc79a7,
                                             0x009e73, 0xe69f00, 0x56b4e9};

static enum strip_side side_of(enum limiter l)
{
        static const enum strip_side sides[LIMITER_GROUP_COUNT] = {
            [LIMITER_GROUP_UNKNOWN] = SIDE_UNKNOWN, [LIMITER_GROUP_IDLE] = SIDE_IDLE,
            [LIMITER_GROUP_HOST] = SIDE_HOST,       [LIMITER_GROUP_COPY] = SIDE_COPY,
            [LIMITER_GROUP_TENSOR] = SIDE_COMPUTE,  [LIMITER_GROUP_COMPUTE] = SIDE_COMPUTE,
            [LIMITER_GROUP_MEMORY] = SIDE_MEMORY,   [LIMITER_GROUP_KERNEL] = SIDE_KERNEL,
        };
        return sides[limiter_group(l)];
}

/* Stretches of one limiter that follow each other. */
struct lane {
        double from, to; /* of the sheet */
        enum limiter limiter;
        double y, height;
};

static void put_word(const struct draw *d, const struct lane *l)
{
        const char *word = limiter_brief(l->limiter);
        if (l->height < ROW_WORDS || label_width(word, (double)SMALL) + 4 > l->to - l->from)
                return;
        draw_text(d, (l->from + l->to) / 2, l->y + l->height - 3,
                  (struct letters){SMALL, false, ANCHOR_MIDDLE, INK_TEXT}, word);
}

/* The next stretch; the word is written when the lane continues with another limiter. */
static void extend_lane(const struct draw *d, struct lane *l, double from, double to,
                        enum limiter limiter)
{
        if (limiter != l->limiter || from > l->to + 1) {
                put_word(d, l);
                l->from = from;
                l->limiter = limiter;
        }
        l->to = to;
}

/* The stretches of one GPU in the window. Which colours are used is added to the bits. */
static void draw_limiter_row(const struct draw *d, const char *label, double y, double height,
                             unsigned *used)
{
        const struct stretch_list *list = d->context->limits;
        double span = (double)(d->to_ns - d->from_ns);
        struct lane lane = {.y = y, .height = height};
        size_t gpu = 0;
        while (gpu < list->n_gpus && strcmp(list->gpus[gpu].label, label) != 0)
                gpu++;
        for (size_t i = 0; gpu < list->n_gpus && i < list->n; i++) {
                const struct stretch *s = &list->list[i];
                double shift = (double)(d->context->limits_ns - d->from_ns);
                double from = (shift + s->begin_s * 1e9) / span,
                       to = (shift + s->end_s * 1e9) / span;
                enum strip_side side = side_of((enum limiter)s->limit.limiter);
                from = MIN(MAX(from, 0), 1);
                to = MIN(MAX(to, 0), 1);
                if (!gpu_set_has(&s->gpus, gpu) || !(to > from))
                        continue;
                *used |= 1U << side;
                d->pen->ops->rect(d->pen, draw_x(d, from), y, draw_x(d, to) - draw_x(d, from),
                                  height, (struct ink){side_colours[side], 1});
                extend_lane(d, &lane, draw_x(d, from), draw_x(d, to),
                            (enum limiter)s->limit.limiter);
        }
        put_word(d, &lane);
}

/* ---- legends ---- */

struct strip_legend {
        const char *title;
        const char *const *names;
        const uint32_t *colours;
        unsigned n, used;
};

/* Ends at the right, on the base line y. Returns where it begins. */
static double draw_strip_legend(const struct draw *d, double y, const struct strip_legend *l,
                                bool draw)
{
        double x = d->right;
        for (unsigned k = l->n; k-- > 0;) {
                if (!(l->used & 1U << k))
                        continue;
                x -= label_width(l->names[k], (double)SMALL);
                if (draw)
                        draw_text(d, x, y, (struct letters){SMALL, false, ANCHOR_START, INK_SOFT},
                                  l->names[k]);
                x -= 12;
                if (draw)
                        d->pen->ops->rect(d->pen, x, y - 7.5, 8, 8, (struct ink){l->colours[k], 1});
                x -= 10;
        }
        return x;
}

/* The title, and the legend beside it or, on a narrow sheet, below. Returns the y below both. */
static double draw_strip_head(struct draw *d, double y, const struct strip_legend *l)
{
        double base = y + PANEL_TITLE - 6;
        draw_text(d, d->left, base, (struct letters){MEDIUM, true, ANCHOR_START, INK_TEXT},
                  l->title);
        if (draw_strip_legend(d, base, l, false) <
            d->left + label_width(l->title, (double)MEDIUM * BOLD))
                base += (double)SMALL + 4;
        draw_strip_legend(d, base, l, true);
        return base + 6;
}

/* Which sides the stretches have, as bits. */
static unsigned sides_used(struct draw *d, size_t rows)
{
        struct pen nothing = {&pen_null_ops}, *pen = d->pen;
        unsigned used = 0;
        d->pen = &nothing;
        for (size_t i = 0; d->context->limits && i < rows; i++)
                draw_limiter_row(d, d->plot->gpus[i].label, 0, 0, &used);
        d->pen = pen;
        return used;
}

/* Of "node3.cluster:7" the end distinguishes rows. */
static const char *end_that_fits(const char *label, double size, double room)
{
        while (label[0] && label_width(label, size) > room) {
                label++;
                while (((unsigned char)label[0] & 0xc0) == 0x80)
                        label++;
        }
        return label;
}

/* One row a GPU: of its classes, or of its limiters. */
static double draw_rows(struct draw *d, double y, size_t rows, const struct strip_legend *l,
                        bool limiters)
{
        struct plot *p = d->plot;
        double one = limiters ? ROW_WORDS : ROW_ONE;
        double height = rows > 1 ? ROW_MANY : one, row = rows > 1 ? ROW_MANY + 1 : one;
        unsigned used = 0;
        /* Without counters nothing is known, and a blank strip would only puzzle. */
        if ((l->used & ~1U) == 0)
                return y;
        d->pen->ops->group(d->pen, limiters ? "limiters" : "classes");
        double top = draw_strip_head(d, y, l);
        for (size_t i = 0; i < rows; i++) {
                double at = top + (double)i * row;
                if (limiters)
                        draw_limiter_row(d, p->gpus[i].label, at, height, &used);
                else if (p->gpus[i].strip)
                        draw_strip_row(d, p->gpus[i].strip, at, height, &used);
                if (rows > 1)
                        draw_text(d, d->left - 5, at + ROW_MANY,
                                  (struct letters){7, false, ANCHOR_END, INK_SOFT},
                                  end_that_fits(p->gpus[i].label, 7, d->left - 7));
        }
        d->pen->ops->group(d->pen, "");
        return top + row * (double)rows + PANEL_GAP;
}

_Static_assert(BOTTLENECK_UNKNOWN == 0 && SIDE_UNKNOWN == 0, "the first bit is what is not known");

double draw_strips(struct draw *d, double y)
{
        struct plot *p = d->plot;
        size_t rows = p->n_gpus <= ROWS_MAX ? p->n_gpus : 0;
        double ticks = (double)MAX(p->ticks, 1);
        d->window.gap = MAX((d->window.to - d->window.from) / ticks, 1) * GAP_TICKS;
        const struct strip_legend classes = {"Class", strip_names, strip_colours, PLOT_BOTTLENECKS,
                                             strips_used(d, rows)};
        const struct strip_legend limiters = {"Limited by", side_names, side_colours, SIDES,
                                              sides_used(d, rows)};
        y = draw_rows(d, y, rows, &classes, false);
        return draw_rows(d, y, rows, &limiters, true);
}
