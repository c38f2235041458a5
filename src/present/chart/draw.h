/* What the parts of the drawing share. Only for the files of this folder. */
#pragma once

#include "present/chart/axis.h"
#include "present/chart/bands.h"
#include "present/chart/plot.h"

#define SMALL 10.0f  /* size of most letters */
#define MEDIUM 11.0f /* of panel titles */
#define LARGE 13.0f
#define BOLD 1.17        /* bold letters are so much wider */
#define DOT " \xc2\xb7 " /* between facts; SVG does not keep several spaces */
#define INK_LIMIT ((struct ink){0xb42318, 0.85f})

#define INK_TEXT ((struct ink){0x1f2328, 1})
#define INK_SOFT ((struct ink){0x59636e, 1})
#define INK_AXIS ((struct ink){0x8c959f, 1})
#define INK_GRID ((struct ink){0xe3e6ea, 1})

#define PANEL_TITLE 20.0 /* room for the title above a panel */
#define PANEL_GAP 8.0
#define GAP_TICKS 4 /* how many ticks without a value are a gap */

/* One chart while it is drawn. */
struct draw {
        struct plot *plot;
        const struct plot_context *context;
        struct pen *pen;
        double width, height;
        double left, right; /* of the curves */
        int64_t from_ns, to_ns;
        struct time_axis time;
        struct window window; /* gap is set for each curve's own ticks */
        struct dot *dots;     /* room for one a column */
        struct spot *spots;   /* room for two a column */
        size_t columns;
        struct band *bands;
        size_t n_bands;
};

/* Colours that most colour-blind readers can distinguish (Okabe and Ito's). */
struct ink draw_colour(size_t i);
struct ink draw_tint(size_t i, float alpha);

static inline double draw_x(const struct draw *d, double part)
{
        return d->left + part * (d->right - d->left);
}

void draw_text(const struct draw *d, double x, double y, struct letters l, const char *s);
void draw_rule(const struct draw *d, double x0, double y0, double x1, double y1, struct ink ink,
               float width);

/* Whether a panel has something to show. */
bool panel_shown(const struct plot_panel *p);
/* The panel's title, and the curves in a box of that height below y. */
void panel_draw(struct draw *d, struct plot_panel *p, double y, double height);

/* Each takes the y to begin at and returns the y below what it drew. */
double draw_phases(const struct draw *d, double y);
/* The ticks reach down to bottom. */
double draw_events(const struct draw *d, double y, double bottom);
double draw_strips(struct draw *d, double y);
