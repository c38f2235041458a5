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

static void draw_load(struct canvas *c, int x, int y, const struct host_panel *h)
{
        const struct value loads[] = {h->load1, h->load5, h->load15};
        canvas_text(c, x, y, 8, dim, "load");
        for (int i = 0; i < 3; i++) {
                char text[16] = "--";
                if (value_there(loads[i]))
                        snprintf(text, sizeof(text), "%.2f", loads[i].v);
                canvas_right(c, x + 8 + i * 8, y, 7, widget_value_style(loads[i], INK_TEXT), text);
        }
}

static int draw_overview(struct canvas *c, struct area a, const struct host_panel *h)
{
        int w = MAX(a.w / 2, 30), right = a.x + w, x = a.x + 1, y = a.y;
        draw_gauge(c, x, y, w - 2, "CPU", INK_COMPUTE, h->cpu);
        draw_load(c, right, y++, h);
        draw_gauge(c, x, y, w - 2, "memory", INK_MEMORY, part(h->memory_used, h->memory_total));
        draw_bytes(c, right, y++, "memory", METRIC_FB_USED, h->memory_used, h->memory_total, "/");
        draw_gauge(c, x, y, w - 2, "swap", INK_WARN, part(h->swap_used, h->swap_total));
        draw_bytes(c, right, y++, "swap", METRIC_FB_USED, h->swap_used, h->swap_total, "/");
        draw_gauge(c, x, y, w - 2, "stall", INK_HOT, h->psi_cpu);
        draw_bytes(c, right, y++, "disk r/w", METRIC_PCIE_RX, h->disk_read, h->disk_write, "/");
        draw_gauge(c, x, y, w - 2, "  memory", INK_HOT, h->psi_memory);
        draw_bytes(c, right, y++, "net i/o", METRIC_PCIE_RX, h->net_rx, h->net_tx, "/");
        draw_gauge(c, x, y++, w - 2, "  io", INK_HOT, h->psi_io);
        return y - a.y;
}

static int draw_levels(struct canvas *c, struct area a, const struct host_panel *h)
{
        struct style head = {INK_DIM, 0, ATTR_UNDERLINE};
        if (h->n_levels == 0)
                return 0;
        canvas_textf(c, a.x + 1, a.y, a.w - 2, head, "%-9s %6s %5s %6s %6s %6s %6s %6s %7s",
                     "Level", "Cores", "CPU", "Memory", "Limit", "Read", "Write", "Procs",
                     "Threads");
        for (size_t i = 0; i < h->n_levels; i++) {
                const struct host_level *l = &h->level[i];
                int x = a.x + 1, y = a.y + 1 + (int)i;
                char cores[16] = "--";
                if (value_there(l->cpu))
                        snprintf(cores, sizeof(cores), "%.1f", l->cpu.v);
                canvas_text(c, x, y, 9, (struct style){.fg = INK_TEXT}, l->name);
                canvas_right(c, x + 10, y, 6, widget_value_style(l->cpu, INK_TEXT), cores);
                widget_number(c, x + 17, y, 5, INK_COMPUTE, METRIC_GPU_UTIL, l->cpu_ratio);
                widget_number(c, x + 23, y, 6, INK_MEMORY, METRIC_FB_USED, l->memory);
                widget_number(c, x + 30, y, 6, INK_DIM, METRIC_FB_USED, l->memory_limit);
                widget_number(c, x + 37, y, 6, INK_TEXT, METRIC_PCIE_RX, l->read);
                widget_number(c, x + 44, y, 6, INK_TEXT, METRIC_PCIE_RX, l->write);
                widget_number(c, x + 51, y, 6, INK_TEXT, METRIC_PROCESSES, l->processes);
                widget_number(c, x + 58, y, 7, INK_TEXT, METRIC_PROCESSES, l->threads);
        }
        return (int)h->n_levels + 1;
}

/* One bar a core, in as many columns as fit; with very many cores one block each. */
static void draw_cores(struct ui *ui, struct canvas *c, struct area a, const struct host_panel *h)
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
                widget_number(c, x + 4, y, 5, INK_TEXT, METRIC_GPU_UTIL, h->core[i]);
                if (w > 14)
                        widget_bar(c, x + 10, y, w - 12, INK_COMPUTE, h->core[i]);
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
        used += d->host->n_levels > 0;
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
