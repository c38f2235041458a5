#include "present/text/host_table.h"

#include "base/tablew.h"
#include "base/text.h"
#include "present/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
        char s[FORMAT_MAX];
};

static struct text text_percent(struct value v)
{
        struct text t;
        format_short(t.s, sizeof(t.s), UNIT_RATIO, v);
        return t;
}

static struct text text_binary(struct value v)
{
        struct text t;
        format_short(t.s, sizeof(t.s), UNIT_BYTES, v);
        return t;
}

static struct text text_decimal(struct value v)
{
        struct text t;
        format_short(t.s, sizeof(t.s), UNIT_BYTES_PER_S, v);
        return t;
}

static struct text text_number(struct value v, int decimals)
{
        struct text t;
        if (value_is_set(v))
                snprintf(t.s, sizeof(t.s), "%.*f", decimals, v.v);
        else
                snprintf(t.s, sizeof(t.s), "--");
        return t;
}

static struct text text_whole(struct value v)
{
        return text_number(v, 0);
}

static struct text text_cores(struct value v)
{
        return text_number(v, 2);
}

static struct text text_framework(struct value v)
{
        struct text t;
        bool known = value_is_set(v) && v.v >= 0 && v.v < FRAMEWORK_COUNT;
        snprintf(t.s, sizeof(t.s), "%s", known ? framework_name((enum framework)v.v) : "--");
        return t;
}

static void write_cpus(const struct host *h, struct strbuf *out)
{
        const struct value *v = h->system;
        strbuf_putf(out, "%s CPUs", text_number(v[SYSTEM_CPUS_ONLINE], 0).s);
        if (value_is_set(v[SYSTEM_CPUS_AFFINITY]) &&
            v[SYSTEM_CPUS_AFFINITY].v < v[SYSTEM_CPUS_ONLINE].v)
                strbuf_putf(out, ", %s by affinity", text_number(v[SYSTEM_CPUS_AFFINITY], 0).s);
        if (value_is_set(v[SYSTEM_CPUS_QUOTA]))
                strbuf_putf(out, ", %s by quota", text_number(v[SYSTEM_CPUS_QUOTA], 1).s);
}

/* Only where a counter or a meter reports it. */
static void write_power(const struct host *h, struct strbuf *out)
{
        struct value cpu = h->system[SYSTEM_CPU_POWER], node = h->system[SYSTEM_NODE_POWER];
        char watts[FORMAT_MAX];
        if (!value_is_set(cpu) && !value_is_set(node))
                return;
        strbuf_puts(out, "  power   ");
        if (value_is_set(cpu)) {
                format_with_unit(watts, sizeof(watts), UNIT_WATTS, cpu);
                strbuf_putf(out, "  processors %s", watts);
        }
        if (value_is_set(node)) {
                format_with_unit(watts, sizeof(watts), UNIT_WATTS, node);
                strbuf_putf(out, "  whole machine %s", watts);
        }
        strbuf_putc(out, '\n');
}

static void write_machine(const struct host *h, struct strbuf *out)
{
        const struct value *v = h->system, *f = h->levels[LEVEL_SYSTEM].f;
        strbuf_putf(out, "host %s  ", h->levels[LEVEL_SYSTEM].name);
        write_cpus(h, out);
        strbuf_putf(out, "  load %s %s %s\n", text_number(v[SYSTEM_LOAD_1], 2).s,
                    text_number(v[SYSTEM_LOAD_5], 2).s, text_number(v[SYSTEM_LOAD_15], 2).s);
        strbuf_putf(out, "  cpu       user %s  nice %s  system %s  iowait %s  steal %s  idle %s",
                    text_percent(v[SYSTEM_USER]).s, text_percent(v[SYSTEM_NICE]).s,
                    text_percent(v[SYSTEM_KERNEL]).s, text_percent(v[SYSTEM_IOWAIT]).s,
                    text_percent(v[SYSTEM_STEAL]).s, text_percent(v[SYSTEM_IDLE]).s);
        strbuf_putf(out, "  busy cores %s, most %s\n", text_number(v[SYSTEM_BUSY_CORES], 0).s,
                    text_percent(v[SYSTEM_CPU_MAX]).s);
        strbuf_putf(out, "  memory    %s of %s  swap %s of %s\n", text_binary(v[SYSTEM_MEM_USED]).s,
                    text_binary(v[SYSTEM_MEM_TOTAL]).s, text_binary(v[SYSTEM_SWAP_USED]).s,
                    text_binary(v[SYSTEM_SWAP_TOTAL]).s);
        strbuf_putf(out, "  pressure  cpu %s  memory %s  io %s\n",
                    text_percent(v[SYSTEM_PSI_CPU]).s, text_percent(v[SYSTEM_PSI_MEMORY]).s,
                    text_percent(v[SYSTEM_PSI_IO]).s);
        strbuf_putf(out, "  disk      read %sB/s  write %sB/s", text_decimal(f[FIGURE_READ]).s,
                    text_decimal(f[FIGURE_WRITE]).s);
        strbuf_putf(out, "    network  in %sB/s  out %sB/s\n", text_decimal(v[SYSTEM_NET_RX]).s,
                    text_decimal(v[SYSTEM_NET_TX]).s);
        write_power(h, out);
}

/* One column of the levels' table. */
struct level_cell {
        const char *heading;
        int width;    /* negative: left-aligned */
        uint8_t rank; /* the higher, the sooner it is left out */
        void (*fill)(char *buf, size_t size, const struct level_state *l);
};

static void fill_name(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", l->name);
}

static void fill_cpu(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", text_number(l->f[FIGURE_CPU], 2).s);
}

static void fill_share(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", text_percent(l->f[FIGURE_CPU_SHARE]).s);
}

static void fill_memory(char *buf, size_t size, const struct level_state *l)
{
        struct value memory = l->f[FIGURE_MEMORY], bound = l->f[FIGURE_MEMORY_BOUND];
        bool at_most = value_is_set(memory) && value_is_set(bound) && bound.v > 0;
        snprintf(buf, size, "%s%s/%s", at_most ? "≤" : "", text_binary(memory).s,
                 text_binary(l->f[FIGURE_MEMORY_LIMIT]).s);
}

static void fill_pss(char *buf, size_t size, const struct level_state *l)
{
        struct value v = l->f[FIGURE_PSS];
        if (value_is_set(v) && v.age_ms >= 1000)
                snprintf(buf, size, "%s (%us)", text_binary(v).s, v.age_ms / 1000);
        else
                snprintf(buf, size, "%s", text_binary(v).s);
}

static void fill_read(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", text_decimal(l->f[FIGURE_READ]).s);
}

static void fill_write(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", text_decimal(l->f[FIGURE_WRITE]).s);
}

static void fill_processes(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", text_number(l->f[FIGURE_PROCESSES], 0).s);
}

static void fill_threads(char *buf, size_t size, const struct level_state *l)
{
        snprintf(buf, size, "%s", text_number(l->f[FIGURE_THREADS], 0).s);
}

static const struct level_cell cells[] = {
    {"Of", -24, 0, fill_name},       {"Cores", 6, 0, fill_cpu},
    {"CPU", 5, 1, fill_share},       {"Memory/limit", 14, 0, fill_memory},
    {"PSS (age)", 12, 4, fill_pss},  {"Read B/s", 8, 2, fill_read},
    {"Write B/s", 9, 2, fill_write}, {"Procs", 6, 1, fill_processes},
    {"Threads", 7, 3, fill_threads},
};

#define LEVEL_WIDTH 9

static size_t total_width(const bool *shown)
{
        size_t total = LEVEL_WIDTH;
        for (size_t i = 0; i < ARRAY_LEN(cells); i++)
                total += shown[i] ? (size_t)abs(cells[i].width) + 1 : 0;
        return total;
}

static void choose_cells(const struct host *h, unsigned width, bool *shown)
{
        bool pss = false;
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                pss |= h->levels[l].f[FIGURE_PSS].state != STATE_NONE;
        for (size_t i = 0; i < ARRAY_LEN(cells); i++)
                shown[i] = cells[i].fill != fill_pss || pss;
        for (unsigned rank = 4; rank > 0 && total_width(shown) > width; rank--) {
                for (size_t i = ARRAY_LEN(cells); i-- > 0 && total_width(shown) > width;) {
                        if (cells[i].rank == rank)
                                shown[i] = false;
                }
        }
}

/* A name too long keeps its end: the end of a path says more. */
static void put_cell(struct strbuf *out, int width, const char *s)
{
        size_t over = text_columns(s), w = (size_t)abs(width);
        uint32_t code;
        for (; over > w; over--)
                s += text_decode(s, &code);
        strbuf_putc(out, ' ');
        tablew_put(out, s, width);
}

static void write_levels(const struct host *h, unsigned width, struct strbuf *out)
{
        bool shown[ARRAY_LEN(cells)];
        choose_cells(h, width, shown);
        tablew_put(out, "Level", -LEVEL_WIDTH);
        for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
                if (shown[i])
                        put_cell(out, cells[i].width, cells[i].heading);
        }
        tablew_end_line(out);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present)
                        continue;
                tablew_put(out, level_name(l), -LEVEL_WIDTH);
                for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
                        char text[HOST_TEXT_MAX];
                        if (!shown[i])
                                continue;
                        cells[i].fill(text, sizeof(text), &h->levels[l]);
                        put_cell(out, cells[i].width, text);
                }
                tablew_end_line(out);
        }
}

/* One column of the table of what the host does for each GPU. */
static const struct {
        const char *heading;
        int width;
        enum evidence of;
        struct text (*format)(struct value v);
} gpu_cells[] = {
    {"Held by", 8, EVIDENCE_HOLDERS, text_whole},
    {"Cores", 6, EVIDENCE_CPU_MAIN, text_cores},
    {"Thread", 6, EVIDENCE_CPU_THREAD, text_percent},
    {"Children", 8, EVIDENCE_CPU_CHILDREN, text_cores},
    {"of CPUs", 7, EVIDENCE_CPUS, text_whole},
    {"I/O wait", 8, EVIDENCE_IO_WAIT, text_whole},
    {"Read B/s", 8, EVIDENCE_READ, text_decimal},
    {"Write B/s", 9, EVIDENCE_WRITE, text_decimal},
    {"With", -11, EVIDENCE_FRAMEWORK, text_framework},
};

/* Of the GPUs that somebody holds, or that the watched command may. */
static void write_evidence(const struct host *h, struct strbuf *out)
{
        bool headed = false;
        for (size_t i = 0; i < h->n_gpus; i++) {
                const struct value *e = h->evidence[i].e;
                if (!value_is_set(e[EVIDENCE_CPU_MAIN]))
                        continue;
                if (!headed) {
                        strbuf_putc(out, '\n');
                        tablew_put(out, "For GPU", -LEVEL_WIDTH);
                        for (size_t k = 0; k < ARRAY_LEN(gpu_cells); k++)
                                put_cell(out, gpu_cells[k].width, gpu_cells[k].heading);
                        tablew_end_line(out);
                        headed = true;
                }
                tablew_put(out, h->gpus[i], -LEVEL_WIDTH);
                for (size_t k = 0; k < ARRAY_LEN(gpu_cells); k++)
                        put_cell(out, gpu_cells[k].width,
                                 gpu_cells[k].format(e[gpu_cells[k].of]).s);
                tablew_end_line(out);
        }
}

void host_table_write(const struct host *h, unsigned width, struct strbuf *out)
{
        if (h->levels[LEVEL_SYSTEM].present) {
                write_machine(h, out);
                strbuf_putc(out, '\n');
        }
        write_levels(h, width, out);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present && h->levels[l].asked)
                        strbuf_putf(out, "%-*s --  %s\n", LEVEL_WIDTH, level_name(l),
                                    h->levels[l].why);
        }
        write_evidence(h, out);
}
