/* Help: the table of keys, what the words mean. */
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

#define COLUMN_MIN 64
#define KEY_W 14

static const char *const words[] = {
    "Mouse: click a tab, a GPU (again: focus), a process, the plot (cursor) or the timeline",
    "(go there). The wheel scrolls; in the plot it zooms. Shift selects text as usual.",
    "Real: Real Utilization weighs SM, tensor, DRAM and engine activity: what the chip does.",
    "limited by: what would have to change to go faster (docs/LIMITS.md); Clock: what holds it.",
    "util: what nvidia-smi shows: a kernel or a copy ran, however small. SM: SMs with work.",
    "NVML: a process's utilization as the driver tells it. PCIe, NVLink: bytes a second, in/out.",
    "-- is missing, dimmed is old. Memory and bytes: k M G are powers of 1024.",
};

static int count_keys(void)
{
        int n = 0;
        while (key_at((unsigned)n))
                n++;
        return n;
}

static void draw_key(struct canvas *c, int x, int y, int w, const struct key_row *row)
{
        char a[8], b[8], keys[32];
        const char *other = row->other ? key_label(row->other, b) : "";
        snprintf(keys, sizeof(keys), "%s%s%s", key_label(row->key, a), *other ? " " : "", other);
        canvas_right(c, x, y, KEY_W - 2, (struct style){INK_KEY, 0, ATTR_BOLD}, keys);
        int n = canvas_text(c, x + KEY_W, y, w - KEY_W, (struct style){.fg = INK_TEXT}, row->help);
        if (*row->where)
                canvas_textf(c, x + KEY_W + n + 1, y, w - KEY_W - n - 1,
                             (struct style){.fg = INK_FAINT}, "(%s)", row->where);
}

static void help_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        int columns = MAX(a.w / COLUMN_MIN, 1), w = a.w / columns, n = count_keys(), y = a.y;
        canvas_textf(c, a.x + 1, y, a.w - 2, (struct style){INK_TITLE, 0, ATTR_BOLD},
                     "assay %s \u00b7 keys", d->version);
        y += 1;
        int room = a.y + a.h - y, lines = (n + columns - 1) / columns;
        int all = lines + 1 + (int)ARRAY_LEN(words);
        ui->help_scroll = MAX(MIN(ui->help_scroll, all - room), 0);
        for (int i = 0; i < n; i++) {
                int line = i % lines - ui->help_scroll;
                if (line >= 0 && line < room)
                        draw_key(c, a.x + i / lines * w, y + line, w - 1, key_at((unsigned)i));
        }
        for (int i = 0; i < (int)ARRAY_LEN(words); i++) {
                int line = lines + 1 + i - ui->help_scroll;
                if (line >= 0 && line < room)
                        canvas_text(c, a.x + 1, y + line, a.w - 2, (struct style){.fg = INK_DIM},
                                    words[i]);
        }
        if (ui->help_scroll + room < all)
                canvas_right(c, a.x, a.y + a.h - 1, a.w - 1, (struct style){.fg = INK_KEY},
                             "\u25bc");
}

static bool help_act(struct ui *ui, const struct ui_data *d UNUSED, enum action action)
{
        if (action == ACTION_UP || action == ACTION_DOWN)
                ui->help_scroll += action == ACTION_DOWN ? 1 : -1;
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                ui->help_scroll += (action == ACTION_PAGE_DOWN ? 1 : -1) * (ui->body.h - 2);
        else if (action == ACTION_HELP || action == ACTION_ENTER)
                ui->view = ui->before;
        else
                return false;
        ui->help_scroll = MAX(ui->help_scroll, 0);
        return true;
}

const struct view_ops view_help = {
    .name = "help",
    .title = "Help",
    .hints = "\u2191\u2193 scroll  Esc back",
    .draw = help_draw,
    .act = help_act,
};
