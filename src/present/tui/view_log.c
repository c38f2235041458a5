/* Log: what is wrong now, and what changed when. */
#include "present/text/explain.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>

static void draw_rule(struct canvas *c, struct area a, int y, const char *text)
{
        int n = canvas_text(c, a.x + 1, y, a.w - 2, (struct style){INK_TITLE, 0, ATTR_BOLD}, text);
        canvas_line(c, a.x + n + 2, y, a.w - n - 4, (struct style){.fg = INK_FAINT}, 0x2500);
}

/* A class that is unknown for want of counters is a finding too. */
static bool has_finding(const struct row *row)
{
        return row->health.findings != 0 || row->late || row_is_stalled(row) ||
               row->verdict.workload == WORKLOAD_UNKNOWN;
}

static int draw_findings(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        int y = a.y, left = 0;
        for (size_t i = 0; d->frame && i < d->frame->n; i++) {
                const struct row *row = &d->frame->rows[i];
                if (!has_finding(row))
                        continue;
                if (y >= a.y + a.h - 1) {
                        left++;
                        continue;
                }
                strbuf_clear(&ui->text);
                explain_health(row, &ui->text);
                uint8_t ink = widget_row_ink(row);
                if (ui->text.len == 0) {
                        explain_verdict(row, &ui->text);
                        ink = INK_DIM;
                }
                char label[FRAME_LABEL_MAX];
                int label_w = MIN(MAX(8, d->frame->naming.columns + 1), a.w / 3);
                frame_label(d->frame, row->sample.who, label, sizeof(label));
                canvas_text(c, a.x + 1, y, label_w, (struct style){.fg = INK_TITLE}, label);
                struct area text = {a.x + 1 + label_w, y, a.w - 2 - label_w, MIN(2, a.y + a.h - y)};
                y += MIN(widget_wrap(c, text, (struct style){.fg = ink}, strbuf_str(&ui->text)), 2);
        }
        if (left > 0)
                canvas_textf(c, a.x + 9, y++, a.w - 10, (struct style){.fg = INK_DIM},
                             "and %d more GPUs", left);
        if (y == a.y)
                canvas_text(c, a.x + 1, y++, a.w - 2, (struct style){.fg = INK_GOOD},
                            "No problems found");
        return y - a.y;
}

/* What the doctor says: only what is wrong, when there is room for no more. */
static int draw_checks(const struct ui_data *d, struct canvas *c, struct area a)
{
        int y = a.y;
        draw_rule(c, a, y++, d->checking ? "checks, still running" : "checks");
        for (size_t i = 0; i < d->n_checks && y < a.y + a.h; i++) {
                const struct ui_check *k = &d->checks[i];
                char text[840];
                if (!k->wrong)
                        continue;
                snprintf(text, sizeof(text), "%s%s%s", k->says, k->remedy[0] ? "; " : "",
                         k->remedy);
                canvas_text(c, a.x + 1, y, 13, (struct style){.fg = k->ink}, k->name);
                struct area in = {a.x + 15, y, a.w - 16, a.y + a.h - y};
                y += widget_wrap(c, in, (struct style){.fg = INK_TEXT}, text);
        }
        if (y == a.y + 1 && !d->checking)
                canvas_text(c, a.x + 1, y++, a.w - 2, (struct style){.fg = INK_GOOD},
                            "driver, permissions and sources are as they should be");
        return MIN(y - a.y, a.h) + 1;
}

static void draw_notes(struct ui *ui, struct canvas *c, struct area a)
{
        int n = (int)MIN(ui->n_log, (size_t)UI_LOG_MAX);
        ui->log_scroll = MAX(MIN(ui->log_scroll, n - a.h), 0);
        if (n == 0)
                canvas_text(c, a.x + 1, a.y, a.w - 2, (struct style){.fg = INK_DIM},
                            "no changes since the start");
        for (int i = 0; i < a.h && ui->log_scroll + i < n; i++) {
                size_t newest = ui->n_log - 1 - (size_t)(ui->log_scroll + i);
                const struct ui_note *note = &ui->log[newest % UI_LOG_MAX];
                char when[32];
                widget_time(when, sizeof(when), note->wall_ns);
                canvas_right(c, a.x, a.y + i, 10, (struct style){.fg = INK_DIM}, when);
                canvas_text(c, a.x + 12, a.y + i, a.w - 13, (struct style){.fg = note->ink},
                            note->text);
        }
}

static void log_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        draw_rule(c, a, a.y, "problems now");
        int parts = d->checks ? 3 : 2;
        int used = 1 + draw_findings(ui, d, c, (struct area){a.x, a.y + 1, a.w, (a.h - 2) / parts});
        used++;
        if (d->checks)
                used += draw_checks(d, c, (struct area){a.x, a.y + used, a.w, (a.h - 2) / parts});
        draw_rule(c, a, a.y + used, "log, newest first");
        used++;
        draw_notes(ui, c, (struct area){a.x, a.y + used, a.w, a.h - used});
}

static bool log_act(struct ui *ui, const struct ui_data *d UNUSED, enum action action)
{
        if (action == ACTION_UP || action == ACTION_DOWN)
                ui->log_scroll += action == ACTION_DOWN ? 1 : -1;
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                ui->log_scroll += (action == ACTION_PAGE_DOWN ? 1 : -1) * ui->body.h / 2;
        else if (action == ACTION_LOG || action == ACTION_ENTER)
                ui->view = ui->before;
        else
                return false;
        ui->log_scroll = MAX(ui->log_scroll, 0);
        return true;
}

const struct view_ops view_log = {
    .name = "log",
    .title = "Log",
    .hints = "\u2191\u2193 scroll  Esc back",
    .draw = log_draw,
    .act = log_act,
};
