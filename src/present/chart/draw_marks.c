/* Phases and events above the panels. */
#include "base/attr.h"
#include "present/chart/draw.h"
#include "present/chart/label.h"

#include <stdio.h>
#include <string.h>

#define LANE 14.0
#define NAME_SIZE 9.0
#define PAD 3.0
#define EVENT_NAME_MAX 140.0 /* a longer name is cut */
#define INK_EVENT 0x6f4a8e

/*
 * A name in one line, or in two where it breaks after a word. The second is empty when one is
 * enough.
 */
struct lines {
        char first[LABEL_MAX], second[LABEL_MAX];
};

static bool text_fits(const char *s, double room)
{
        return label_width(s, NAME_SIZE) <= room;
}

/* The break nearest to the end of which the first part still fits. */
static size_t break_of(const char *s, double room)
{
        size_t best = 0;
        for (size_t i = 1; s[i]; i++) {
                char head[LABEL_MAX];
                snprintf(head, sizeof(head), "%.*s", (int)i, s);
                if (strchr(" _-/.:", s[i - 1]) && text_fits(head, room))
                        best = i;
        }
        return best;
}

static void break_name(const char *name, double room, struct lines *ret)
{
        char clean[LABEL_MAX];
        label_clean(name, clean, sizeof(clean));
        size_t at = text_fits(clean, room) ? 0 : break_of(clean, room);
        ret->second[0] = '\0';
        if (at == 0) {
                label_fit(clean, NAME_SIZE, room, ret->first, sizeof(ret->first));
                return;
        }
        snprintf(ret->first, sizeof(ret->first), "%.*s", (int)at, clean);
        label_fit(clean + at, NAME_SIZE, room, ret->second, sizeof(ret->second));
}

/* The names of bands that are not wide enough for one line take two in all lanes. */
static double lane_height(const struct draw *d)
{
        for (size_t i = 0; i < d->n_bands; i++) {
                const struct band *b = &d->bands[i];
                double room = (double)(b->to - b->from) * (d->right - d->left) - 2 * PAD;
                struct lines lines;
                if (!b->name || room < NAME_SIZE)
                        continue;
                break_name(b->name, room, &lines);
                if (lines.second[0])
                        return LANE + NAME_SIZE + 1;
        }
        return LANE;
}

static unsigned lanes_of(const struct draw *d)
{
        unsigned n = 0;
        for (size_t i = 0; i < d->n_bands; i++)
                n = MAX(n, d->bands[i].lane + 1U);
        return n;
}

static void draw_band(const struct draw *d, const struct band *band, double y, double height)
{
        const struct letters letters = {NAME_SIZE, false, ANCHOR_START, INK_TEXT};
        double x = draw_x(d, (double)band->from), w = draw_x(d, (double)band->to) - x;
        struct lines lines;
        d->pen->ops->rect(d->pen, x, y, MAX(w - 0.6, 0.4), height - 1.5,
                          draw_tint(band->tint, 0.42f));
        if (!band->name || w - 2 * PAD < NAME_SIZE)
                return;
        break_name(band->name, w - 2 * PAD, &lines);
        double line = y + NAME_SIZE + 0.5;
        if (!lines.second[0])
                line += (height - LANE) / 2;
        if (lines.first[0])
                draw_text(d, x + PAD, line, letters, lines.first);
        if (lines.second[0])
                draw_text(d, x + PAD, line + NAME_SIZE + 1, letters, lines.second);
}

double draw_phases(const struct draw *d, double y)
{
        unsigned lanes = lanes_of(d);
        double height = lane_height(d);
        if (lanes == 0)
                return y;
        d->pen->ops->group(d->pen, "phases");
        for (size_t i = 0; i < d->n_bands; i++)
                draw_band(d, &d->bands[i], y + d->bands[i].lane * height, height);
        d->pen->ops->group(d->pen, "");
        return y + lanes * height + 2;
}

/* The name stands right of its tick, or left of it at the end of the chart; not upon another. */
static void draw_event_name(const struct draw *d, const char *name, double x, double y,
                            double *taken)
{
        const struct ink ink = {INK_EVENT, 1};
        char text[LABEL_MAX];
        label_fit(name, NAME_SIZE, EVENT_NAME_MAX, text, sizeof(text));
        double width = label_width(text, NAME_SIZE);
        bool right = x + PAD + width <= d->right;
        double from = right ? x + PAD : x - PAD - width;
        if (!text[0] || from < *taken || from < d->left)
                return;
        draw_text(d, right ? from : x - PAD, y + NAME_SIZE,
                  (struct letters){NAME_SIZE, false, right ? ANCHOR_START : ANCHOR_END, ink}, text);
        *taken = right ? from + width + 2 * PAD : x;
}

double draw_events(const struct draw *d, double y, double bottom)
{
        const struct plot_context *a = d->context;
        double span = (double)(d->to_ns - d->from_ns), last = -1e9, taken = -1e9;
        bool any = false;
        d->pen->ops->group(d->pen, "events");
        for (size_t i = 0; i < a->n_events; i++) {
                int64_t at = a->events[i].wall_ns;
                if (at < d->from_ns || at > d->to_ns)
                        continue;
                double x = draw_x(d, (double)(at - d->from_ns) / span);
                /* Nobody can distinguish more than one a unit. */
                if (x - last < 1)
                        continue;
                last = x;
                any = true;
                draw_rule(d, x, y + 1, x, bottom, (struct ink){INK_EVENT, 0.55f}, 0.7f);
                draw_event_name(d, a->events[i].name, x, y, &taken);
        }
        d->pen->ops->group(d->pen, "");
        return any ? y + LANE : y;
}
