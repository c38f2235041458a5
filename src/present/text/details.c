#include "present/text/details.h"

#include "base/tablew.h"
#include "base/text.h"
#include "model/throttle.h"
#include "present/format.h"
#include "present/text/explain.h"

#include <stdio.h>
#include <string.h>

/* "1515/1980": both in MHz, "--" for what is missing. */
static void put_pair(char *buf, size_t size, struct value a, struct value b, double scale)
{
        char x[FORMAT_MAX] = "--", y[FORMAT_MAX] = "--";
        if (value_is_set(a))
                snprintf(x, sizeof(x), "%.0f", a.v / scale);
        if (value_is_set(b))
                snprintf(y, sizeof(y), "%.0f", b.v / scale);
        snprintf(buf, size, "%s/%s", x, y);
}

static bool has_clock(const struct row *row)
{
        static const enum metric shown[] = {METRIC_SM_CLOCK, METRIC_GPU_TEMP, METRIC_MEM_TEMP};
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                if (value_is_set(row->sample.m[shown[i]]))
                        return true;
        }
        return false;
}

/* The first column is as wide as the longest name, within reason. */
static int label_width(const struct frame *f)
{
        return (int)MIN(MAX((size_t)f->naming.columns, (size_t)6), (size_t)36);
}

static void put_clock(const struct frame *f, const struct row *row, struct tablew *t)
{
        char label[FRAME_LABEL_MAX];
        const struct value *m = row->sample.m;
        char temp[2 * FORMAT_MAX + 2], clock[2 * FORMAT_MAX + 2];
        put_pair(temp, sizeof(temp), m[METRIC_GPU_TEMP], m[METRIC_MEM_TEMP], 1);
        put_pair(clock, sizeof(clock), m[METRIC_SM_CLOCK], m[METRIC_SM_CLOCK_MAX], 1e6);
        frame_label(f, row->sample.who, label, sizeof(label));
        tablew_cell(t, label);
        tablew_cell(t, temp);
        tablew_cell(t, clock);
        if (value_is_set(m[METRIC_THROTTLE_REASONS])) {
                tablew_cell(t, "");
                throttle_put(t->out, (uint64_t)m[METRIC_THROTTLE_REASONS].v);
        } else {
                tablew_cell(t, "--");
        }
        tablew_end(t);
}

void details_write_clocks(const struct frame *frame, struct strbuf *out)
{
        bool begun = false;
        const struct tablew_column columns[] = {{"GPU", -label_width(frame), 0},
                                                {"GPU/mem C", 11, 1},
                                                {"SM/max MHz", 13, 1},
                                                {"Clock held by", 0, 2}};
        struct tablew t = {.out = out, .columns = columns};
        for (size_t i = 0; i < frame->n; i++) {
                if (!has_clock(&frame->rows[i]))
                        continue;
                if (!begun) {
                        strbuf_putc(out, '\n');
                        tablew_head(&t, ARRAY_LEN(columns));
                }
                begun = true;
                put_clock(frame, &frame->rows[i], &t);
        }
}

static const struct tablew_column process_columns[] = {
    {"GPU", -6, 0}, {"PID", 9, 1}, {"User", -12, 1},  {"Memory", 7, 1},
    {"Util", 5, 1}, {"CPU", 6, 1}, {"Command", 0, 2},
};
#define BEFORE_COMMAND 52 /* columns, if no cell is wider than its column */

static void put_process(const struct process *p, unsigned width, struct tablew *t)
{
        char memory[FORMAT_MAX], util[FORMAT_MAX], cpu[FORMAT_MAX];
        format_short(memory, sizeof(memory), UNIT_BYTES, p->gpu_memory);
        format_short(util, sizeof(util), UNIT_RATIO, p->sm_util);
        format_short(cpu, sizeof(cpu), UNIT_RATIO, p->cpu);
        tablew_cell(t, p->gpu);
        tablew_cellf(t, "%d", (int)p->pid);
        tablew_cell(t, p->user[0] ? p->user : "--");
        tablew_cell(t, memory);
        tablew_cell(t, util);
        tablew_cell(t, cpu);
        tablew_cell(t, "");
        text_put(t->out, p->command[0] ? p->command : "--",
                 width > BEFORE_COMMAND ? width - BEFORE_COMMAND : 1);
        tablew_end(t);
}

void details_write_processes(const struct frame *frame, unsigned width, struct strbuf *out)
{
        if (!frame->knows_processes)
                return;
        if (frame->processes.n == 0) {
                strbuf_puts(out, "\nno process uses these GPUs\n");
                return;
        }
        struct tablew t = {.out = out, .columns = process_columns};
        strbuf_putc(out, '\n');
        tablew_head(&t, ARRAY_LEN(process_columns));
        for (size_t i = 0; i < frame->processes.n; i++) {
                if (!frame->processes.list[i].child)
                        put_process(&frame->processes.list[i], width, &t);
        }
}
