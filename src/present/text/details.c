#include "present/text/details.h"

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
        if (value_there(a))
                snprintf(x, sizeof(x), "%.0f", a.v / scale);
        if (value_there(b))
                snprintf(y, sizeof(y), "%.0f", b.v / scale);
        snprintf(buf, size, "%s/%s", x, y);
}

static bool has_clock(const struct row *row)
{
        static const enum metric shown[] = {METRIC_SM_CLOCK, METRIC_GPU_TEMP, METRIC_MEM_TEMP};
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                if (value_there(row->sample.m[shown[i]]))
                        return true;
        }
        return false;
}

/* The first column is as wide as the longest label, within reason. */
static int label_width(const struct frame *f)
{
        size_t most = 6;
        for (size_t i = 0; frame_has_hosts(f) && i < f->n; i++) {
                char label[FRAME_LABEL_MAX];
                frame_label(f, f->rows[i].sample.who, label, sizeof(label));
                most = MAX(most, strlen(label));
        }
        return (int)MIN(most, (size_t)24);
}

static void put_clock(const struct frame *f, const struct row *row, int width, struct strbuf *out)
{
        char label[FRAME_LABEL_MAX];
        const struct value *m = row->sample.m;
        char temp[2 * FORMAT_MAX + 2], clock[2 * FORMAT_MAX + 2];
        put_pair(temp, sizeof(temp), m[METRIC_GPU_TEMP], m[METRIC_MEM_TEMP], 1);
        put_pair(clock, sizeof(clock), m[METRIC_SM_CLOCK], m[METRIC_SM_CLOCK_MAX], 1e6);
        frame_label(f, row->sample.who, label, sizeof(label));
        strbuf_putf(out, "%-*s %11s %13s  ", width, label, temp, clock);
        if (value_there(m[METRIC_THROTTLE_REASONS]))
                throttle_put(out, (uint64_t)m[METRIC_THROTTLE_REASONS].v);
        else
                strbuf_puts(out, "--");
        strbuf_putc(out, '\n');
}

void details_write_clocks(const struct frame *frame, struct strbuf *out)
{
        bool begun = false;
        int width = label_width(frame);
        for (size_t i = 0; i < frame->n; i++) {
                if (!has_clock(&frame->rows[i]))
                        continue;
                if (!begun)
                        strbuf_putf(out, "\n%-*s %11s %13s  %s\n", width, "GPU", "GPU/mem C",
                                    "SM/max MHz", "Clock held by");
                begun = true;
                put_clock(frame, &frame->rows[i], width, out);
        }
}

static void put_process(const struct process *p, unsigned width, struct strbuf *out)
{
        char memory[FORMAT_MAX], util[FORMAT_MAX], cpu[FORMAT_MAX] = "--";
        size_t start = out->len;
        format_binary(memory, sizeof(memory), p->gpu_memory);
        format_percent(util, sizeof(util), p->sm_util);
        if (value_there(p->cpu))
                snprintf(cpu, sizeof(cpu), "%.0f%%", p->cpu.v * 100);
        strbuf_putf(out, "%-6s %9d %-12.12s %7s %5s %6s  ", p->gpu, (int)p->pid,
                    p->user[0] ? p->user : "--", memory, util, cpu);
        size_t used = out->len - start;
        text_put(out, p->command[0] ? p->command : "--", width > used ? width - used : 1);
        strbuf_putc(out, '\n');
}

void details_write_processes(const struct frame *frame, unsigned width, struct strbuf *out)
{
        if (!frame->knows_processes)
                return;
        if (frame->processes.n == 0) {
                strbuf_puts(out, "\nno process uses these GPUs\n");
                return;
        }
        strbuf_putf(out, "\n%-6s %9s %-12s %7s %5s %6s  %s\n", "GPU", "PID", "User", "Memory",
                    "Util", "CPU", "Command");
        for (size_t i = 0; i < frame->processes.n; i++) {
                if (!frame->processes.list[i].child)
                        put_process(&frame->processes.list[i], width, out);
        }
}
