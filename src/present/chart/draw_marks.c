/* Phases and events above the panels. */
#include "base/attr.h"
#include "present/chart/draw.h"
#include "present/chart/label.h"

#define LANE 14.0
#define EVENT_NAME_MAX 140.0 /* a longer name is cut */
#define INK_EVENT 0x6f4a8e

static unsigned lanes_of(const struct draw *d)
{
        unsigned n = 0;
        for (size_t i = 0; i < d->n_bands; i++)
                n = MAX(n, d->bands[i].lane + 1U);
        return n;
}

double draw_phases(const struct draw *d, double y)
{
        unsigned lanes = lanes_of(d);
        if (lanes == 0)
                return y;
        d->pen->ops->group(d->pen, "phases");
        for (size_t i = 0; i < d->n_bands; i++) {
                const struct band *band = &d->bands[i];
                char text[LABEL_MAX];
                double x = draw_x(d, (double)band->from), w = draw_x(d, (double)band->to) - x;
                double top = y + band->lane * LANE;
                d->pen->ops->rect(d->pen, x, top, MAX(w - 0.6, 0.4), LANE - 1.5,
                                  draw_tint(band->tint, 0.42f));
                label_fit(band->name ? band->name : "", SMALL - 1.0, w - 6, text, sizeof(text));
                if (text[0])
                        draw_text(d, x + 3, top + 9.5,
                                  (struct letters){SMALL - 1, false, ANCHOR_START, INK_TEXT}, text);
        }
        d->pen->ops->group(d->pen, "");
        return y + lanes * LANE + 2;
}

/* A name stands beside its tick where the next tick leaves room. */
double draw_events(const struct draw *d, double y, double bottom)
{
        const struct plot_around *a = d->around;
        double span = (double)(d->to_ns - d->from_ns), last = -1e9, text_end = -1e9;
        bool any = false;
        d->pen->ops->group(d->pen, "events");
        for (size_t i = 0; i < a->n_events; i++) {
                int64_t at = a->events[i].wall_ns;
                if (at < d->from_ns || at > d->to_ns)
                        continue;
                char text[LABEL_MAX];
                double x = draw_x(d, (double)(at - d->from_ns) / span);
                if (x - last < 1)
                        continue;
                last = x;
                any = true;
                draw_rule(d, x, y + 1, x, bottom, (struct ink){INK_EVENT, 0.55f}, 0.7f);
                label_fit(a->events[i].name, SMALL - 1.0, MIN(d->right - x - 4, EVENT_NAME_MAX),
                          text, sizeof(text));
                if (!text[0] || x < text_end)
                        continue;
                draw_text(d, x + 3, y + 9,
                          (struct letters){SMALL - 1, false, ANCHOR_START, {INK_EVENT, 1}}, text);
                text_end = x + 3 + label_width(text, SMALL - 1.0) + 6;
        }
        d->pen->ops->group(d->pen, "");
        return any ? y + LANE : y;
}
