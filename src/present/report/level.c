/* What the job around the GPUs did. */
#include "base/attr.h"
#include "base/tablew.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/report.h"

#include <stdio.h>

const char *const report_level_columns[REPORT_LEVEL_COLUMNS] = {
    "cores", "max", "CPU", "memory", "of limit", "read B/s", "write B/s", "I/O wait"};

void report_level_cells(const struct scope *scope, char cells[REPORT_LEVEL_COLUMNS][32])
{
        const struct level_summary *l = &scope->level;
        struct value cores = spread_mean(&l->cpu), most = spread_max(&l->cpu);
        struct value wait = spread_mean(&l->io_wait);
        snprintf(cells[0], 32, value_is_set(cores) ? "%.2f" : "--", cores.v);
        snprintf(cells[1], 32, value_is_set(most) ? "%.2f" : "--", most.v);
        format_short(cells[2], 32, UNIT_RATIO, spread_mean(&l->cpu_share));
        /* "<": at most that, since shared pages are counted in each process. */
        cells[3][0] = '<';
        format_short(cells[3] + l->memory_bound, 31, UNIT_BYTES, spread_max(&l->memory));
        format_short(cells[4], 32, UNIT_RATIO, spread_max(&l->memory_share));
        format_short(cells[5], 32, UNIT_BYTES_PER_S, spread_mean(&l->read));
        format_short(cells[6], 32, UNIT_BYTES_PER_S, spread_mean(&l->write));
        snprintf(cells[7], 32, value_is_set(wait) ? "%.2f" : "--", wait.v);
}

void report_level_title(const struct summary *s, struct strbuf *out)
{
        const struct level_summary *l = &s->scopes[0].level;
        char limit[FORMAT_MAX];
        strbuf_puts(out, level_name(s->level));
        if (s->level_name[0])
                strbuf_putf(out, " %s", s->level_name);
        if (value_is_set(l->cpus))
                strbuf_putf(out, ", limits: %g CPU%s", l->cpus.v, l->cpus.v == 1 ? "" : "s");
        if (value_is_set(l->memory_limit)) {
                format_with_unit(limit, sizeof(limit), UNIT_BYTES, l->memory_limit);
                strbuf_putf(out, "%s %s", value_is_set(l->cpus) ? "," : ", limits:", limit);
        }
}

static bool has_level(const struct scope *scope)
{
        return scope->level.cpu.n > 0 || scope->level.memory.n > 0;
}

/* Of the cells, with the blank before each. */
static const int cell_columns[REPORT_LEVEL_COLUMNS] = {6, 6, 5, 8, 9, 9, 10, 9};
#define CELLS_COLUMNS 62

static size_t name_columns(size_t columns)
{
        size_t room = columns > CELLS_COLUMNS + 2 ? columns - CELLS_COLUMNS - 2 : 0;
        return MAX(MIN(room, (size_t)REPORT_NAME_COLUMNS), (size_t)8);
}

static void put_row(struct strbuf *out, const struct scope *scope, size_t name)
{
        char cells[REPORT_LEVEL_COLUMNS][32];
        report_level_cells(scope, cells);
        strbuf_puts(out, "  ");
        text_put_name(out, scope->name[0] ? scope->name : "the run", name);
        for (size_t i = 0; i < REPORT_LEVEL_COLUMNS; i++)
                tablew_put(out, cells[i], cell_columns[i]);
        strbuf_putc(out, '\n');
}

/* "processors 12 kJ (mean 120 W), whole machine …": means of the time in which they are known. */
static void put_machine_energy(const struct machine_energy *e, const char *begin, const char *end,
                               struct strbuf *out)
{
        const struct {
                const char *of;
                double joules, seconds;
        } parts[] = {{"processors", e->cpu_j, e->cpu_s}, {"whole machine", e->node_j, e->node_s}};
        const char *gap = begin;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                char energy[FORMAT_MAX], power[FORMAT_MAX];
                if (parts[i].seconds <= 0)
                        continue;
                format_with_unit(power, sizeof(power), UNIT_WATTS,
                                 value_ok(parts[i].joules / parts[i].seconds));
                strbuf_putf(out, "%s%s %s (mean %s)", gap, parts[i].of,
                            format_energy(energy, parts[i].joules), power);
                gap = ", ";
        }
        if (gap != begin)
                strbuf_puts(out, end);
}

void report_level(const struct summary *s, size_t columns, struct strbuf *out)
{
        const struct level_summary *l = &s->scopes[0].level;
        char total[2][FORMAT_MAX];
        if (!has_level(&s->scopes[0]))
                return;
        strbuf_putc(out, '\n');
        report_level_title(s, out);
        strbuf_putc(out, '\n');
        strbuf_fill(out, ' ', name_columns(columns) + 2);
        for (size_t i = 0; i < REPORT_LEVEL_COLUMNS; i++)
                tablew_put(out, report_level_columns[i], cell_columns[i]);
        strbuf_putc(out, '\n');
        for (size_t i = 0; i < s->n; i++) {
                if (has_level(&s->scopes[i]))
                        put_row(out, &s->scopes[i], name_columns(columns));
        }
        format_with_unit(total[0], sizeof(total[0]), UNIT_BYTES, value_ok(l->read_bytes));
        format_with_unit(total[1], sizeof(total[1]), UNIT_BYTES, value_ok(l->written_bytes));
        strbuf_putf(out, "  total     %.1f s of CPU time, %s read, %s written\n", l->cpu_s,
                    total[0], total[1]);
        put_machine_energy(&l->energy, "  energy    ", "\n", out);
}

void report_level_line(const struct summary *s, struct strbuf *out)
{
        const struct level_summary *l = &s->scopes[0].level;
        struct value cores = spread_mean(&l->cpu), share = spread_max(&l->memory_share);
        char peak[FORMAT_MAX], percent[FORMAT_MAX], cpu[FORMAT_MAX];
        if (!value_is_set(cores))
                return;
        format_value(cpu, sizeof(cpu), FORMAT_WORDS, UNIT_RATIO, spread_mean(&l->cpu_share));
        format_with_unit(peak, sizeof(peak), UNIT_BYTES, spread_max(&l->memory));
        strbuf_putf(out, "%.1f of %g core%s busy (%s), memory peak %s", cores.v, l->cpus.v,
                    l->cpus.v == 1 ? "" : "s", cpu, peak);
        if (l->memory_bound)
                strbuf_puts(out, ", pages that processes share counted in each");
        if (value_is_set(share))
                strbuf_putf(out, " (%s of its limit)", format_share(percent, share.v));
        put_machine_energy(&l->energy, ", ", "", out);
}
