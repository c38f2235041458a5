/* What surrounds every view: tabs and state above, keys or a question below. */
#include "base/clock.h"
#include "present/tui/timeline.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

/* "replay 38.2 s x1", "every 1 s", "stale 12 s": what the source does, and when. */
static uint8_t source_words(const struct ui_data *d, char *buf, size_t size)
{
        char when[32] = "", age[16];
        if (d->frame)
                widget_time(when, sizeof(when), d->frame->wall_ns);
        widget_age(age, sizeof(age), d->age_ns);
        switch (d->state) {
        case SOURCE_STARTING:
                snprintf(buf, size, "waiting for the source %s", age);
                return INK_WARN;
        case SOURCE_FAILED:
                if (d->frame && d->frame->n > 0)
                        snprintf(buf, size, "source failed, values %s old", age);
                else
                        snprintf(buf, size, "source failed, no values yet");
                return INK_CRIT;
        case SOURCE_PAUSED:
                snprintf(buf, size, "paused at %s", when);
                return INK_WARN;
        case SOURCE_ENDED:
                snprintf(buf, size, "end of the capture %s", when);
                return INK_DIM;
        case SOURCE_RUNNING:
                break;
        }
        if (ui_is_stale(d)) {
                widget_age(age, sizeof(age), ui_stale_ns(d));
                if (d->frame->n == 0)
                        snprintf(buf, size, "no values yet, waiting");
                else
                        snprintf(buf, size, "STALE, no news for %s", age);
                return INK_WARN;
        }
        char length[16] = "";
        if (d->duration_ns > 0)
                snprintf(length, sizeof(length), " of %.0f s", clock_to_seconds(d->duration_ns));
        if (d->replay && d->speed > 0)
                snprintf(buf, size, "replay %s%s \u00d7%g", when, length, d->speed);
        else if (d->replay)
                snprintf(buf, size, "replay %s%s", when, length);
        else
                snprintf(buf, size, "%s every %g s", when, clock_to_seconds(d->interval_ns));
        return INK_DIM;
}

static void draw_head(struct ui *ui, const struct ui_data *d, struct canvas *c)
{
        char words[96];
        int x = 1;
        canvas_paint(c, (struct area){0, 0, c->w, 1}, INK_BAR);
        if (c->w >= 70)
                x += canvas_text(c, x, 0, 8, (struct style){INK_TITLE, 0, ATTR_BOLD}, "assay") + 2;
        for (enum view_id i = 0; i < VIEW_TABS; i++) {
                bool on = ui->view == i || (ui->view >= VIEW_TABS && ui->before == i);
                struct style style = {on ? INK_ON_TAB : INK_DIM, on ? INK_TAB : INK_NONE,
                                      on ? ATTR_BOLD : 0};
                int w = text_width(view_at(i)->title) + 4;
                canvas_line(c, x, 0, w, style, ' ');
                x += canvas_textf(c, x, 0, w, style, " %d %s ", (int)i + 1, view_at(i)->title);
        }
        uint8_t ink = source_words(d, words, sizeof(words));
        int room = c->w - x - 2;
        /* Where there is no room the state must still be seen. */
        if (text_width(words) > room && ink == INK_DIM && d->frame)
                widget_time(words, sizeof(words), d->frame->wall_ns);
        canvas_right(c, x + 1, 0, room, (struct style){.fg = ink}, words);
}

/* Hints are "key words" parted by two blanks; keys have an ink of their own. */
static void draw_hints(struct canvas *c, int y, int x, int w, const char *hints)
{
        while (*hints) {
                char part[64];
                size_t len = strcspn(hints, " "), rest;
                const char *end = strstr(hints, "  ");
                rest = end ? (size_t)(end - hints) : strlen(hints);
                snprintf(part, sizeof(part), "%.*s", (int)MIN(rest, sizeof(part) - 1), hints);
                int width = text_width(part);
                if (width + 1 > w)
                        return;
                snprintf(part, sizeof(part), "%.*s", (int)MIN(len, sizeof(part) - 1), hints);
                int n = canvas_text(c, x, y, w, (struct style){.fg = INK_KEY}, part);
                snprintf(part, sizeof(part), "%.*s", (int)MIN(rest - len, sizeof(part) - 1),
                         hints + len);
                n += canvas_text(c, x + n, y, w - n, (struct style){.fg = INK_DIM}, part);
                x += n + 2;
                w -= n + 2;
                hints += rest + strspn(hints + rest, " ");
        }
}

static void draw_prompt(struct ui *ui, struct canvas *c, int y)
{
        static const char *const lead[] = {[PROMPT_NONE] = "",
                                           [PROMPT_FILTER] = "/",
                                           [PROMPT_COMMAND] = ":",
                                           [PROMPT_SIGNAL] = ""};
        struct style style = {INK_TITLE, 0, 0};
        int x = 1 + canvas_text(c, 1, y, c->w - 2, (struct style){.fg = INK_KEY}, lead[ui->prompt]);
        x += canvas_text(c, x, y, c->w - x - 1, style, ui->typed);
        canvas_char(c, x, y, (struct style){INK_TITLE, 0, ATTR_REVERSE | ATTR_UNDERLINE}, ' ');
}

/* Why the source failed, with what to do where both fit. */
static void draw_failure(const struct ui_data *d, struct canvas *c, int y)
{
        const char *more = d->hint;
        int room = c->w - 2 - text_width(d->error) - 2;
        if (text_width(more) > room)
                more = "press d";
        if (text_width(more) > room)
                more = "";
        canvas_textf(c, 1, y, c->w - 2, (struct style){.fg = INK_WARN}, "%s%s%s", d->error,
                     more[0] ? "; " : "", more);
}

static void draw_foot(struct ui *ui, const struct ui_data *d, struct canvas *c)
{
        int y = c->h - 1;
        canvas_paint(c, (struct area){0, y, c->w, 1}, INK_BAR);
        if (ui->prompt != PROMPT_NONE) {
                draw_prompt(ui, c, y);
                return;
        }
        if (ui->message[0]) {
                canvas_text(c, 1, y, c->w - 2, (struct style){.fg = INK_TITLE}, ui->message);
                return;
        }
        if (d->state == SOURCE_FAILED) {
                draw_failure(d, c, y);
                return;
        }
        char hints[256];
        const struct view_ops *view = view_at(ui->view);
        bool acts = view->acting_hints && !d->replay && !d->read_only;
        snprintf(hints, sizeof(hints), "%s%s  %s", view->hints, acts ? view->acting_hints : "",
                 d->n_phases + d->n_findings > 0 ? "p pause  nN jump  <> seek  [] speed"
                 : d->replay                     ? "p pause  <> seek  [] speed"
                                                 : "p pause  +- interval");
        static const char always[] = "? help  q quit";
        int end = c->w - (int)sizeof(always);
        draw_hints(c, y, end, c->w - end, always);
        int x = 1;
        if (ui->filter[0])
                x += canvas_textf(c, 1, y, c->w / 2, (struct style){.fg = INK_WARN}, "filter /%s  ",
                                  ui->filter);
        draw_hints(c, y, x, end - x, hints);
}

static void draw_too_small(struct canvas *c)
{
        char text[80];
        snprintf(text, sizeof(text), "%d\u00d7%d is too small: assay needs %d\u00d7%d", c->w, c->h,
                 UI_WIDTH_MIN, UI_HEIGHT_MIN);
        widget_wrap(c, (struct area){0, 0, c->w, c->h}, (struct style){.fg = INK_WARN}, text);
}

#define CARD_W 66
#define CARD_KEY_W 18

/* What one can do where there are no GPUs. */
static const struct {
        const char *key, *does;
        bool live; /* not for a recording */
        bool host; /* only where the host is read */
} ways[] = {
    {"d", "what is wrong here, and what to do", true, false},
    {"5", "CPU, memory and I/O of this machine", true, true},
    {"assay tour", "watch 90 seconds of a real H200", false, false},
    {"q", "leave", false, false},
};

static void draw_frame(struct canvas *c, struct area a)
{
        struct style rule = {.fg = INK_FAINT};
        int right = a.x + a.w - 1, bottom = a.y + a.h - 1;
        canvas_line(c, a.x, a.y, a.w, rule, 0x2500);
        canvas_line(c, a.x, bottom, a.w, rule, 0x2500);
        for (int y = a.y + 1; y < bottom; y++) {
                canvas_char(c, a.x, y, rule, 0x2502);
                canvas_char(c, right, y, rule, 0x2502);
        }
        canvas_char(c, a.x, a.y, rule, 0x256d);
        canvas_char(c, right, a.y, rule, 0x256e);
        canvas_char(c, a.x, bottom, rule, 0x2570);
        canvas_char(c, right, bottom, rule, 0x256f);
}

/* Measures where h is 0. The lines it takes. */
static int draw_card_text(const struct ui_data *d, struct canvas *c, struct area a,
                          const char *const *texts)
{
        static const struct style styles[] = {
            {INK_TITLE, 0, ATTR_BOLD}, {.fg = INK_WARN}, {.fg = INK_DIM}};
        struct style dim = {.fg = INK_DIM};
        int y = 0;
        for (size_t i = 0; i < ARRAY_LEN(styles); i++)
                y += widget_wrap(c, (struct area){a.x, a.y + y, a.w, MAX(a.h - y, 0)}, styles[i],
                                 texts[i]);
        y++;
        for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
                if ((ways[i].live && d->replay) || (ways[i].host && !d->host))
                        continue;
                if (y < a.h) {
                        canvas_text(c, a.x, a.y + y, CARD_KEY_W - 1, (struct style){.fg = INK_KEY},
                                    ways[i].key);
                        canvas_text(c, a.x + CARD_KEY_W, a.y + y, a.w - CARD_KEY_W, dim,
                                    ways[i].does);
                }
                y++;
        }
        return y;
}

void shell_draw_card(const struct ui_data *d, struct canvas *c, struct area a, const char *title,
                     const char *why, const char *hint)
{
        const char *const texts[] = {title, why, hint};
        int w = MIN(CARD_W, a.w - 2), in_w = w - 4;
        int lines = draw_card_text(d, c, (struct area){a.x, a.y, in_w, 0}, texts);
        int h = MIN(lines + 2, a.h);
        struct area card = {a.x + (a.w - w) / 2, a.y + (a.h - h) / 2, w, h};
        draw_frame(c, card);
        draw_card_text(d, c, (struct area){card.x + 2, card.y + 1, in_w, card.h - 2}, texts);
}

/* Before the first frame: what is waited for, or why it does not come. */
static void draw_waiting(const struct ui_data *d, struct canvas *c, struct area a)
{
        char age[16], why[64];
        const char *title = d->awaited && d->awaited[0] ? d->awaited : "Waiting for the source";
        if (d->state == SOURCE_FAILED) {
                shell_draw_card(d, c, a, "No values", d->error, d->hint);
                return;
        }
        widget_age(age, sizeof(age), d->age_ns);
        snprintf(why, sizeof(why), "no sample yet, for %s", age);
        shell_draw_card(d, c, a, title, why, "");
}

void ui_draw(struct ui *ui, const struct ui_data *d, struct canvas *c)
{
        canvas_clear(c);
        if (c->w < UI_WIDTH_MIN || c->h < UI_HEIGHT_MIN) {
                draw_too_small(c);
                return;
        }
        draw_head(ui, d, c);
        int lines = timeline_lines(d, c->h);
        ui->body = (struct area){0, 1, c->w, c->h - 2 - lines};
        ui->timeline = (struct area){0};
        if (lines > 0)
                timeline_draw(ui, d, c, (struct area){0, c->h - 1 - lines, c->w, lines});
        if (d->frame || ui->view == VIEW_HELP || ui->view == VIEW_LOG || ui->view == VIEW_HOST)
                view_at(ui->view)->draw(ui, d, c, ui->body);
        else
                draw_waiting(d, c, ui->body);
        draw_foot(ui, d, c);
}
