#include "present/tui/timeline.h"

#include "base/clock.h"
#include "present/tui/widgets.h"

#include <stdio.h>

#define SCREEN_MIN_H 18
#define SCREEN_BOTH_H 30
#define LABEL_W 11
#define WORDS_MIN 4
/* So near to a beginning, the jump back goes to the one before. */
#define NEAR_NS (NS_PER_S / 2)

int timeline_lines(const struct ui_data *d, int h)
{
        if (!d->replay || d->duration_ns <= 0 || h < SCREEN_MIN_H)
                return 0;
        int parts = (d->n_phases > 0) + (d->n_findings > 0);
        return 1 + (h >= SCREEN_BOTH_H ? parts : MIN(parts, 1));
}

/* The bar's part of the area. */
static struct area bar_area(struct area a)
{
        return (struct area){a.x + 1 + LABEL_W, a.y, MAX(a.w - 2 - 2 * LABEL_W, 1), a.h};
}

static int column_of(const struct ui_data *d, struct area in, int64_t ns)
{
        double part = (double)ns / (double)d->duration_ns;
        return in.x + (int)(MIN(MAX(part, 0.0), 1.0) * (in.w - 1) + 0.5);
}

/* Inner parts come after outer ones and are drawn over them. */
static void draw_parts(const struct ui_data *d, struct canvas *c, struct area a, const char *label,
                       const struct ui_part *parts, size_t n)
{
        struct area in = bar_area(a);
        canvas_text(c, a.x + 1, a.y, LABEL_W - 1, (struct style){.fg = INK_DIM}, label);
        for (size_t i = 0; i < n; i++) {
                int x = column_of(d, in, parts[i].begin_ns);
                int end = column_of(d, in, parts[i].end_ns), w = MAX(end - x, 1);
                bool now = parts[i].begin_ns <= d->position_ns && d->position_ns < parts[i].end_ns;
                struct style style = {parts[i].ink, 0, now ? ATTR_BOLD | ATTR_UNDERLINE : 0};
                canvas_line(c, x, a.y, w, (struct style){.fg = parts[i].ink}, 0x2500);
                canvas_char(c, x, a.y, (struct style){.fg = parts[i].ink}, 0x2502);
                if (w >= WORDS_MIN)
                        canvas_text(c, x + 1, a.y, w - 1, style, parts[i].name);
        }
}

static void draw_position(const struct ui_data *d, struct canvas *c, struct area a)
{
        struct area in = bar_area(a);
        struct style dim = {.fg = INK_DIM}, key = {INK_KEY, 0, ATTR_BOLD};
        int at = column_of(d, in, d->position_ns);
        canvas_textf(c, a.x + 1, a.y, LABEL_W - 1, key, "%.1f s", clock_to_seconds(d->position_ns));
        canvas_line(c, in.x, a.y, at - in.x, key, 0x2501);
        canvas_line(c, at, a.y, in.x + in.w - at, (struct style){.fg = INK_FAINT}, 0x2500);
        canvas_char(c, at, a.y, key, 0x25cf);
        canvas_textf(c, in.x + in.w + 1, a.y, LABEL_W - 1, dim, "of %.0f s",
                     clock_to_seconds(d->duration_ns));
}

void timeline_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        ui->timeline = a;
        bool both = a.h > 2;
        struct area line = {a.x, a.y, a.w, 1};
        if (d->n_phases > 0) {
                draw_parts(d, c, line, "phases", d->phases, d->n_phases);
                line.y++;
        }
        if (d->n_findings > 0 && (both || d->n_phases == 0)) {
                draw_parts(d, c, line, "hindsight", d->findings, d->n_findings);
                line.y++;
        }
        draw_position(d, c, line);
}

static void find_nearest_end(const struct ui_part *parts, size_t n, int64_t now, bool on,
                             int64_t *best)
{
        for (size_t i = 0; i < n; i++) {
                int64_t at = parts[i].begin_ns;
                if (on ? at > now && (*best < 0 || at < *best) : at < now - NEAR_NS && at > *best)
                        *best = at;
        }
}

void timeline_jump(struct ui *ui, const struct ui_data *d, bool on)
{
        int64_t best = -1;
        find_nearest_end(d->phases, d->n_phases, d->position_ns, on, &best);
        find_nearest_end(d->findings, d->n_findings, d->position_ns, on, &best);
        if (!d->replay || d->n_phases + d->n_findings == 0)
                ui_notify(ui,
                          "phases and findings are known of sessions only: assay top run.assay");
        else if (best < 0)
                ui_notify(ui, on ? "no phase or finding begins later"
                                 : "no phase or finding begins earlier");
        else
                ui->request =
                    (struct ui_request){.what = REQUEST_SEEK_TO, .number = clock_to_seconds(best)};
}

bool timeline_click(struct ui *ui, const struct ui_data *d, int x, int y)
{
        struct area a = ui->timeline, in = bar_area(a);
        if (a.h == 0 || y < a.y || y >= a.y + a.h || d->duration_ns <= 0)
                return false;
        double part = (double)(x - in.x) / MAX(in.w - 1, 1);
        ui->request = (struct ui_request){.what = REQUEST_SEEK_TO,
                                          .number = MIN(MAX(part, 0.0), 1.0) *
                                                    clock_to_seconds(d->duration_ns)};
        return true;
}
