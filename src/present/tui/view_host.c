/* Host: the machine around the GPUs, its last minutes, and the GPUs' processes on it. */
#include "base/clock.h"
#include "present/format.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

#define GRAPH_LINES_MAX 8
#define CORE_W 21
#define CORE_W_MIN 11

static const struct style dim = {.fg = INK_DIM};
static const struct style plain = {.fg = INK_TEXT};

/* Without a unit: a load, or one of several shares. */
static void put_number(char *buf, size_t size, int decimals, struct value v, double scale)
{
        if (value_is_set(v))
                snprintf(buf, size, "%.*f", decimals, v.v * scale);
        else
                snprintf(buf, size, "--");
}

/* A title, and the last minutes below it. */
struct host_graph {
        const char *title;
        enum host_ring ring;
        double hi; /* 0: the largest value there is */
        uint8_t ink;
};

static void draw_graph(const struct ui *ui, struct canvas *c, struct area a,
                       const struct host_graph *g, const char *text)
{
        int n = canvas_text(c, a.x, a.y, a.w, (struct style){INK_TITLE, 0, ATTR_BOLD}, g->title);
        canvas_text(c, a.x + n + 1, a.y, a.w - n - 2, plain, text);
        const struct ring *r = &ui->past.host[g->ring];
        struct area in = {a.x, a.y + 1, a.w - 2, a.h - 1};
        ring_draw(r, ui->past.host_bucket, g->hi > 0 ? g->hi : ring_most(r), c, in, g->ink);
}

/* ", 312 W" of the processors, ", machine 1240 W": what is known and fits into w. */
static int put_power(char *buf, size_t size, const struct value *system, int w)
{
        static const struct {
                const char *of;
                enum system_figure figure;
        } parts[] = {{"", SYSTEM_CPU_POWER}, {"machine ", SYSTEM_NODE_POWER}};
        int n = 0;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                char watts[FORMAT_MAX], one[FORMAT_MAX + 16];
                if (!value_is_set(system[parts[i].figure]))
                        continue;
                format_with_unit(watts, sizeof(watts), UNIT_WATTS, system[parts[i].figure]);
                int m = snprintf(one, sizeof(one), ", %s%s", parts[i].of, watts);
                if (n + m > w || (size_t)(n + m) >= size)
                        continue;
                memcpy(buf + n, one, (size_t)m + 1);
                n += m;
        }
        return n;
}

/* The parts of CPU time are added where all of them fit. */
static void cpu_words(char *buf, size_t size, const struct host *h, int w)
{
        static const enum system_figure parts[] = {SYSTEM_USER, SYSTEM_NICE, SYSTEM_KERNEL,
                                                   SYSTEM_IOWAIT};
        const struct value *s = h->system;
        char busy[FORMAT_MAX], load[3][16], part[ARRAY_LEN(parts)][16], more[80];
        format_value(busy, sizeof(busy), FORMAT_WORDS, UNIT_RATIO, host_cpu_busy(h));
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                put_number(part[i], sizeof(part[i]), 0, s[parts[i]], 100);
        for (int i = 0; i < 3; i++)
                put_number(load[i], sizeof(load[i]), 1, s[SYSTEM_LOAD_1 + i], 1);
        int n = snprintf(buf, size, "%s of %zu cores, load %s %s %s", busy, h->n_cores, load[0],
                         load[1], load[2]);
        n += put_power(buf + n, size - (size_t)n, s, w - n);
        int m = snprintf(more, sizeof(more), ", user %s nice %s system %s I/O wait %s %%", part[0],
                         part[1], part[2], part[3]);
        if (n + m <= w && (size_t)(n + m) < size)
                memcpy(buf + n, more, (size_t)m + 1);
}

static void pair_words(char *buf, size_t size, enum unit unit, struct value a, struct value b,
                       const char *format)
{
        char first[24], second[24];
        format_short(first, sizeof(first), unit, a);
        format_short(second, sizeof(second), unit, b);
        snprintf(buf, size, format, first, second);
}

static void memory_words(char *buf, size_t size, const struct host *h)
{
        const struct value *s = h->system;
        char swap[32];
        pair_words(buf, size, UNIT_BYTES, s[SYSTEM_MEM_USED], s[SYSTEM_MEM_TOTAL], "%s of %s");
        size_t n = strlen(buf);
        if (!value_is_set(s[SYSTEM_SWAP_TOTAL]) || s[SYSTEM_SWAP_TOTAL].v <= 0)
                return;
        format_short(swap, sizeof(swap), UNIT_BYTES, s[SYSTEM_SWAP_USED]);
        snprintf(buf + n, size - n, ", swap %s", swap);
}

/* CPU and memory, then disks and network, side by side; lines of graph each. */
static int draw_graphs(const struct ui *ui, struct canvas *c, struct area a, const struct host *h,
                       int lines)
{
        static const struct host_graph graphs[] = {
            {"CPU", HOST_RING_CPU, 1, INK_COMPUTE}, {"Memory", HOST_RING_MEMORY, 1, INK_MEMORY},
            {"Disk", HOST_RING_READ, 0, INK_IO},    {"Disk", HOST_RING_WRITE, 0, INK_IO},
            {"Network", HOST_RING_RX, 0, INK_LINK}, {"Network", HOST_RING_TX, 0, INK_LINK},
        };
        const struct value *s = h->system, *all = h->levels[LEVEL_SYSTEM].f;
        const struct value rates[] = {all[FIGURE_READ], all[FIGURE_WRITE], s[SYSTEM_NET_RX],
                                      s[SYSTEM_NET_TX]};
        static const char *const names[] = {"read", "write", "in", "out"};
        char text[160], number[24];
        int half = a.w / 2, quarter = a.w / 4, y = a.y;
        cpu_words(text, sizeof(text), h, half - 6); /* beside its title */
        draw_graph(ui, c, (struct area){a.x + 1, y, half - 1, lines + 1}, &graphs[0], text);
        memory_words(text, sizeof(text), h);
        draw_graph(ui, c, (struct area){a.x + half, y, a.w - half, lines + 1}, &graphs[1], text);
        y += lines + 1;
        int low = MAX(lines / 2, 1);
        for (int i = 0; i < 4; i++) {
                format_short(number, sizeof(number), UNIT_BYTES_PER_S, rates[i]);
                snprintf(text, sizeof(text), "%s %s%s", names[i], number,
                         value_is_set(rates[i]) ? "B/s" : "");
                struct area in = {a.x + i * quarter + (i == 0), y, quarter - (i == 0), low + 1};
                draw_graph(ui, c, in, &graphs[2 + i], text);
        }
        return y + low + 1 - a.y;
}

/* "pressure: some task waited for CPU 2 %  memory 0 %  I/O 31 %". */
static void draw_pressure(const struct ui *ui, struct canvas *c, struct area a,
                          const struct host *h)
{
        static const struct {
                const char *name;
                enum system_figure figure;
                enum host_ring ring;
        } parts[] = {{"CPU", SYSTEM_PSI_CPU, HOST_RING_PSI_CPU},
                     {"memory", SYSTEM_PSI_MEMORY, HOST_RING_PSI_MEMORY},
                     {"I/O", SYSTEM_PSI_IO, HOST_RING_PSI_IO}};
        int x = a.x + 1;
        x += canvas_text(c, x, a.y, a.w - 2, (struct style){INK_TITLE, 0, ATTR_BOLD}, "Pressure") +
             1;
        x += canvas_text(c, x, a.y, a.w - x, dim, a.w >= 100 ? "tasks waited for" : "wait") + 1;
        int each = MAX((a.x + a.w - x - 1) / 3, 12);
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                struct value v = h->system[parts[i].figure];
                bool much = value_is_set(v) && v.v >= HOST_PRESSURE_MUCH;
                int n = canvas_text(c, x, a.y, each, dim, parts[i].name);
                widget_number(c, x + n, a.y, 5, much ? INK_HOT : INK_TEXT, UNIT_RATIO, v);
                ring_draw(&ui->past.host[parts[i].ring], ui->past.host_bucket, 1, c,
                          (struct area){x + n + 6, a.y, each - n - 8, 1}, INK_HOT);
                x += each;
        }
}

static void draw_level(struct canvas *c, int x, int y, int w, enum level level,
                       const struct level_state *l)
{
        const struct value *f = l->f;
        char cores[16];
        canvas_text(c, x, y, 9, plain, level_name(level));
        if (!l->present) {
                canvas_text(c, x + 10, y, w - 10, dim, l->why[0] ? l->why : "not here");
                return;
        }
        put_number(cores, sizeof(cores), 1, f[FIGURE_CPU], 1);
        canvas_right(c, x + 10, y, 6, widget_value_style(f[FIGURE_CPU], INK_TEXT), cores);
        widget_number(c, x + 17, y, 5, INK_COMPUTE, UNIT_RATIO, f[FIGURE_CPU_SHARE]);
        widget_number(c, x + 23, y, 6, INK_MEMORY, UNIT_BYTES, f[FIGURE_MEMORY]);
        widget_number(c, x + 30, y, 6, INK_DIM, UNIT_BYTES, f[FIGURE_MEMORY_LIMIT]);
        widget_number(c, x + 37, y, 6, INK_TEXT, UNIT_BYTES_PER_S, f[FIGURE_READ]);
        widget_number(c, x + 44, y, 6, INK_TEXT, UNIT_BYTES_PER_S, f[FIGURE_WRITE]);
        widget_number(c, x + 51, y, 6, INK_TEXT, UNIT_COUNT, f[FIGURE_PROCESSES]);
        widget_number(c, x + 58, y, 7, INK_TEXT, UNIT_COUNT, f[FIGURE_THREADS]);
        canvas_text(c, x + 67, y, w - 67, dim, l->name);
}

/* How many lines that took. */
static int draw_levels(struct canvas *c, struct area a, const struct host *h)
{
        struct style head = {INK_DIM, 0, ATTR_UNDERLINE};
        int n = 0;
        for (enum level l = 0; l < LEVEL_COUNT && n + 1 < a.h; l++) {
                if (h->levels[l].asked)
                        draw_level(c, a.x + 1, a.y + 1 + n++, a.w - 2, l, &h->levels[l]);
        }
        if (n == 0)
                return 0;
        canvas_textf(c, a.x + 1, a.y, a.w - 2, head, "%-9s %6s %5s %6s %6s %6s %6s %6s %7s",
                     "Level", "Cores", "CPU", "Memory", "Limit", "Read", "Write", "Procs",
                     "Threads");
        return n + 1;
}

/* One block a core: sixteen apart, so that they can be counted. */
static int draw_core_blocks(struct canvas *c, struct area a, const struct host *h)
{
        int columns = MAX((a.w - 2) / 17, 1) * 16, used = 0;
        for (int i = 0; i < (int)h->n_cores && i / columns < a.h; i++) {
                struct value v = h->cores[i].util;
                int level = value_is_set(v) ? (int)(MIN(MAX(v.v, 0.0), 1.0) * 7 + 0.5) : 0;
                int at = i % columns;
                canvas_char(c, a.x + 1 + at + at / 16, a.y + i / columns,
                            (struct style){.fg = level > 0 ? INK_COMPUTE : INK_FAINT},
                            value_is_set(v) ? 0x2581u + (uint32_t)level : 0xb7);
                used = i / columns + 1;
        }
        return used;
}

/* One bar a core, in as many columns as fit; with very many cores one block each. */
static int draw_cores(struct canvas *c, struct area a, const struct host *h)
{
        int n = (int)h->n_cores, columns = MAX(a.w / CORE_W, 1);
        int lines = (n + columns - 1) / columns;
        if (lines > a.h) {
                columns = MAX(a.w / CORE_W_MIN, 1);
                lines = (n + columns - 1) / columns;
        }
        if (lines > a.h)
                return draw_core_blocks(c, a, h);
        int w = a.w / columns;
        for (int i = 0; i < n; i++) {
                int x = a.x + 1 + i / lines * w, y = a.y + i % lines;
                canvas_textf(c, x, y, 4, dim, "%3d", i);
                widget_number(c, x + 3, y, 5, INK_TEXT, UNIT_RATIO, h->cores[i].util);
                if (w > 13)
                        widget_bar(c, x + 9, y, w - 11, INK_COMPUTE, h->cores[i].util);
        }
        return lines;
}

/* Processes of the levels, busiest first. */
static void draw_busiest(struct canvas *c, struct area a, const struct host *h)
{
        struct style head = {INK_DIM, 0, ATTR_UNDERLINE};
        canvas_textf(c, a.x + 1, a.y, a.w - 2, head, "%8s %6s %6s %8s %7s  %s", "PID", "CPU",
                     "Memory", "Disk/s", "Threads", "Busiest processes of these levels");
        for (size_t i = 0; i < h->n_busiest && (int)i + 1 < a.h; i++) {
                const struct host_process *p = &h->busiest[i];
                int y = a.y + 1 + (int)i, x = a.x + 1;
                canvas_textf(c, x, y, 8, dim, "%8d", p->pid);
                widget_number(c, x + 9, y, 6, value_or(p->cpu, 0) >= 0.5 ? INK_COMPUTE : INK_TEXT,
                              UNIT_RATIO, p->cpu);
                widget_number(c, x + 16, y, 6, INK_MEMORY, UNIT_BYTES, value_ok(p->memory));
                widget_number(c, x + 23, y, 8, INK_TEXT, UNIT_BYTES_PER_S, p->disk);
                widget_number(c, x + 32, y, 7, INK_TEXT, UNIT_COUNT, value_ok((double)p->threads));
                canvas_text(c, x + 41, y, a.w - 43, plain, p->command);
        }
}

static void draw_missing(const struct ui_data *d, struct canvas *c, struct area a)
{
        canvas_text(c, a.x + 2, a.y + 2, a.w - 4, (struct style){.fg = INK_TITLE},
                    "this source says nothing about the host");
        widget_wrap(c, (struct area){a.x + 2, a.y + 4, a.w - 4, 3}, dim,
                    d->replay ? "a capture of GPU counters does not hold the CPU, memory and I/O "
                                "of the machine it was made on"
                              : "CPU, memory, pressure and I/O appear here once a source reads "
                                "them");
}

static void draw_host(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        int y = a.y, end = a.y + a.h;
        int jobs = (int)job_count(d) > 0 ? MAX(a.h / 4, 4) : 0;
        y += draw_graphs(ui, c, a, d->host, MIN(MAX(a.h / 8, 1), GRAPH_LINES_MAX));
        draw_pressure(ui, c, (struct area){a.x, y++, a.w, 1}, d->host);
        y += draw_levels(c, (struct area){a.x, y, a.w, end - y}, d->host);
        int room = end - y - (end - y > jobs + 2 ? jobs : 0);
        y += draw_cores(c, (struct area){a.x, y, a.w, room}, d->host);
        if (jobs > 0 && end - y >= 3) {
                int lines = d->host->n_busiest > 0 && end - y >= 12 ? (end - y) / 2 : end - y - 1;
                job_draw_list(ui, d, c, (struct area){a.x, y + 1, a.w, lines});
                y += lines + 1;
        }
        if (d->host->n_busiest > 0 && end - y >= 3)
                draw_busiest(c, (struct area){a.x, y, a.w, end - y}, d->host);
}

static void host_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        if (!d->host) {
                draw_missing(d, c, a);
                return;
        }
        draw_host(ui, d, c, a);
        if (d->host_old_ns == 0)
                return;
        char age[16], words[64];
        canvas_tint(c, a, INK_DIM);
        widget_age(age, sizeof(age), d->host_old_ns);
        snprintf(words, sizeof(words), " STALE, no news of the host for %s ", age);
        canvas_right(c, a.x, a.y, a.w - 1, (struct style){INK_WARN, 0, ATTR_BOLD}, words);
}

const struct view_ops view_host = {
    .name = "host",
    .title = "Host",
    .hints = "4 processes",
    .draw = host_draw,
};
