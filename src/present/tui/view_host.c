/* Host: the machine around the GPUs. */
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>

static const struct style dim = {.fg = INK_DIM};

static struct value part(struct value a, struct value b)
{
        if (!value_there(a) || !value_there(b) || b.v <= 0)
                return value_missing(STATE_NONE);
        a.v /= b.v;
        return a;
}

static void draw_gauge(struct canvas *c, int x, int y, int w, const char *label, uint8_t ink,
                       struct value ratio)
{
        canvas_text(c, x, y, 8, dim, label);
        widget_number(c, x + 8, y, 5, INK_TEXT, METRIC_GPU_UTIL, ratio);
        widget_bar(c, x + 14, y, w - 15, ink, ratio);
}

static void draw_bytes(struct canvas *c, int x, int y, const char *label, enum metric metric,
                       struct value a, struct value b, const char *between)
{
        canvas_text(c, x, y, 8, dim, label);
        widget_number(c, x + 8, y, 6, INK_TEXT, metric, a);
        canvas_text(c, x + 15, y, 2, dim, between);
        widget_number(c, x + 16, y, 6, INK_TEXT, metric, b);
}

static void draw_load(struct canvas *c, int x, int y, const struct host *h)
{
        const struct value *loads = &h->system[SYSTEM_LOAD_1];
        canvas_text(c, x, y, 8, dim, "load");
        for (int i = 0; i < 3; i++) {
                char text[16] = "--";
                if (value_there(loads[i]))
                        snprintf(text, sizeof(text), "%.2f", loads[i].v);
                canvas_right(c, x + 8 + i * 8, y, 7, widget_value_style(loads[i], INK_TEXT), text);
        }
}

static int draw_overview(struct canvas *c, struct area a, const struct host *h)
{
        const struct value *s = h->system, *all = h->levels[LEVEL_SYSTEM].f;
        struct value used = s[SYSTEM_MEM_USED], total = s[SYSTEM_MEM_TOTAL];
        struct value swap = s[SYSTEM_SWAP_USED], swap_total = s[SYSTEM_SWAP_TOTAL];
        int w = MAX(a.w / 2, 30), right = a.x + w, x = a.x + 1, y = a.y;
        draw_gauge(c, x, y, w - 2, "CPU", INK_COMPUTE, host_cpu_busy(h));
        draw_load(c, right, y++, h);
        draw_gauge(c, x, y, w - 2, "memory", INK_MEMORY, part(used, total));
        draw_bytes(c, right, y++, "memory", METRIC_FB_USED, used, total, "/");
        draw_gauge(c, x, y, w - 2, "swap", INK_WARN, part(swap, swap_total));
        draw_bytes(c, right, y++, "swap", METRIC_FB_USED, swap, swap_total, "/");
        draw_gauge(c, x, y, w - 2, "stall", INK_HOT, s[SYSTEM_PSI_CPU]);
        draw_bytes(c, right, y++, "disk r/w", METRIC_PCIE_RX, all[FIGURE_READ], all[FIGURE_WRITE],
                   "/");
        draw_gauge(c, x, y, w - 2, "  memory", INK_HOT, s[SYSTEM_PSI_MEMORY]);
        draw_bytes(c, right, y++, "net i/o", METRIC_PCIE_RX, s[SYSTEM_NET_RX], s[SYSTEM_NET_TX],
                   "/");
        draw_gauge(c, x, y++, w - 2, "  io", INK_HOT, s[SYSTEM_PSI_IO]);
        return y - a.y;
}

static void draw_level(struct canvas *c, int x, int y, int w, enum level level,
                       const struct level_state *l)
{
        const struct value *f = l->f;
        char cores[16] = "--";
        canvas_text(c, x, y, 9, (struct style){.fg = INK_TEXT}, level_name(level));
        if (!l->present) {
                canvas_text(c, x + 10, y, w - 10, dim, l->why[0] ? l->why : "not here");
                return;
        }
        if (value_there(f[FIGURE_CPU]))
                snprintf(cores, sizeof(cores), "%.1f", f[FIGURE_CPU].v);
        canvas_right(c, x + 10, y, 6, widget_value_style(f[FIGURE_CPU], INK_TEXT), cores);
        widget_number(c, x + 17, y, 5, INK_COMPUTE, METRIC_GPU_UTIL, f[FIGURE_CPU_SHARE]);
        widget_number(c, x + 23, y, 6, INK_MEMORY, METRIC_FB_USED, f[FIGURE_MEMORY]);
        widget_number(c, x + 30, y, 6, INK_DIM, METRIC_FB_USED, f[FIGURE_MEMORY_LIMIT]);
        widget_number(c, x + 37, y, 6, INK_TEXT, METRIC_PCIE_RX, f[FIGURE_READ]);
        widget_number(c, x + 44, y, 6, INK_TEXT, METRIC_PCIE_RX, f[FIGURE_WRITE]);
        widget_number(c, x + 51, y, 6, INK_TEXT, METRIC_PROCESSES, f[FIGURE_PROCESSES]);
        widget_number(c, x + 58, y, 7, INK_TEXT, METRIC_PROCESSES, f[FIGURE_THREADS]);
}

/* How many lines that took. */
static int draw_levels(struct canvas *c, struct area a, const struct host *h)
{
        struct style head = {INK_DIM, 0, ATTR_UNDERLINE};
        int n = 0;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (h->levels[l].asked)
                        draw_level(c, a.x + 1, a.y + 1 + n++, a.w - 2, l, &h->levels[l]);
        }
        if (n == 0)
                return 0;
        canvas_textf(c, a.x + 1, a.y, a.w - 2, head, "%-9s %6s %5s %6s %6s %6s %6s %6s %7s",
                     "Level", "Cores", "CPU", "Memory", "Limit", "Read", "Write", "Procs",
                     "Threads");
        return n + 2;
}

/* One bar a core, in as many columns as fit; with very many cores one block each. */
static void draw_cores(struct ui *ui, struct canvas *c, struct area a, const struct host *h)
{
        int n = (int)h->n_cores, columns = MAX(a.w / 22, 1);
        int lines = (n + columns - 1) / columns;
        if (lines > a.h) {
                columns = MAX(a.w / 12, 1);
                lines = (n + columns - 1) / columns;
        }
        int w = a.w / columns;
        ui->host_scroll = MAX(MIN(ui->host_scroll, lines - a.h), 0);
        for (int i = 0; i < n; i++) {
                int x = a.x + 1 + i / lines * w, y = a.y + i % lines - ui->host_scroll;
                char text[16];
                if (y < a.y || y >= a.y + a.h)
                        continue;
                snprintf(text, sizeof(text), "%d", i);
                canvas_right(c, x, y, 4, dim, text);
                widget_number(c, x + 4, y, 5, INK_TEXT, METRIC_GPU_UTIL, h->cores[i].util);
                if (w > 14)
                        widget_bar(c, x + 10, y, w - 12, INK_COMPUTE, h->cores[i].util);
        }
}

static void draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        if (!d->host) {
                canvas_text(c, a.x + 2, a.y + 2, a.w - 4, (struct style){.fg = INK_TITLE},
                            "this source says nothing about the host");
                widget_wrap(c, (struct area){a.x + 2, a.y + 4, a.w - 4, 3}, dim,
                            d->replay ? "a capture of GPU counters does not hold the CPU, memory "
                                        "and I/O of the machine it was made on"
                                      : "CPU, memory, pressure and I/O appear here once a source "
                                        "reads them");
                return;
        }
        int used = draw_overview(c, a, d->host) + 1;
        used += draw_levels(c, (struct area){a.x, a.y + used, a.w, a.h - used}, d->host);
        draw_cores(ui, c, (struct area){a.x, a.y + used, a.w, a.h - used}, d->host);
}

static bool act(struct ui *ui, const struct ui_data *d UNUSED, enum action action)
{
        if (action == ACTION_UP || action == ACTION_DOWN)
                ui->host_scroll += action == ACTION_DOWN ? 1 : -1;
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                ui->host_scroll += (action == ACTION_PAGE_DOWN ? 1 : -1) * ui->body.h / 2;
        else
                return false;
        ui->host_scroll = MAX(ui->host_scroll, 0);
        return true;
}

const struct view_ops view_host = {
    .name = "host",
    .title = "Host",
    .hints = "\u2191\u2193 scroll",
    .draw = draw,
    .act = act,
};
