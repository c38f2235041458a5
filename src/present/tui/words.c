#include "present/tui/words.h"

#include "base/clock.h"
#include "present/format.h"
#include "present/text/explain.h"
#include "present/tui/ink.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

uint8_t words_limiter_ink(enum limiter limiter)
{
        static const uint8_t inks[LIMITER_GROUP_COUNT] = {
            [LIMITER_GROUP_UNKNOWN] = INK_DIM,   [LIMITER_GROUP_IDLE] = INK_DIM,
            [LIMITER_GROUP_HOST] = INK_WARN,     [LIMITER_GROUP_COPY] = INK_IO,
            [LIMITER_GROUP_TENSOR] = INK_TENSOR, [LIMITER_GROUP_COMPUTE] = INK_COMPUTE,
            [LIMITER_GROUP_MEMORY] = INK_MEMORY, [LIMITER_GROUP_KERNEL] = INK_COMPUTE,
        };
        return inks[limiter_group(limiter)];
}

void words_limit(char *buf, size_t size, const struct row *row, int w)
{
        char whole[EXPLAIN_LIMIT_MAX];
        enum limiter limiter = (enum limiter)row->limit.limiter;
        enum basis basis = (enum basis)row->limit.basis;
        const char *present = limiter_info(limiter)->present;
        explain_limit_words(&row->limit, whole);
        snprintf(buf, size, "%s", whole);
        /* Shorter in two steps. */
        const char *const leads[] = {limiter_lead(basis),
                                     basis == BASIS_DRIVER ? "likely by" : "by"};
        const char *short_held = held_by_name((enum held_by)row->limit.held_by);
        for (size_t i = 0; i < ARRAY_LEN(leads) && text_width(buf) > w && !present[0]; i++)
                snprintf(buf, size, "%s %s%s%s", leads[i], limiter_brief(limiter),
                         short_held ? ", clocks held by " : "", short_held ? short_held : "");
}

/* Why the clock is below its maximum: "power limit", "heat", …; "" when nobody says. */
static const char *words_hold(const struct row *row)
{
        static const char *const words[] = {
            [CLOCKS_UNKNOWN] = "",         [CLOCKS_FULL] = "",
            [CLOCKS_HEAT] = "heat",        [CLOCKS_POWER] = "power limit",
            [CLOCKS_CHOSEN] = "set lower", [CLOCKS_SLOWDOWN] = "hardware slowdown",
            [CLOCKS_IDLE] = "idle",
        };
        bool locked = row->clocks == CLOCKS_UNKNOWN && row->limit.held_by == HELD_BY_LOCKED;
        return locked ? "locked" : words[row->clocks];
}

bool words_is_throttled(const struct row *row)
{
        return row->clocks == CLOCKS_HEAT || row->clocks == CLOCKS_POWER ||
               row->clocks == CLOCKS_SLOWDOWN || row->limit.held_by == HELD_BY_POWER ||
               row->limit.held_by == HELD_BY_THERMAL;
}

/* "1515 of 1980"; the second only when it is known. */
static int put_of(char *buf, size_t size, enum unit unit, struct value a, struct value b)
{
        char first[24], second[24];
        format_short(first, sizeof(first), unit, a);
        format_short(second, sizeof(second), unit, b);
        return value_is_set(b) ? snprintf(buf, size, "%s of %s", first, second)
                               : snprintf(buf, size, "%s", first);
}

void words_clock(char *buf, size_t size, const struct row *row)
{
        char of[64];
        const struct value *m = row->sample.m;
        const char *why = words_hold(row);
        put_of(of, sizeof(of), UNIT_HERTZ, m[METRIC_SM_CLOCK], m[METRIC_SM_CLOCK_MAX]);
        snprintf(buf, size, "clock %s MHz%s%s", of, *why ? ", " : "", why);
}

void words_memory(char *buf, size_t size, const struct row *row)
{
        char of[64];
        const struct value *m = row->sample.m;
        bool shared = value_is_set(m[METRIC_SHARED_TOTAL]);
        put_of(of, sizeof(of), UNIT_BYTES, m[shared ? METRIC_SHARED_USED : METRIC_FB_USED],
               m[shared ? METRIC_SHARED_TOTAL : METRIC_FB_TOTAL]);
        snprintf(buf, size, "%s %s", shared ? "the system's memory" : "memory", of);
}

void words_power(char *buf, size_t size, const struct row *row)
{
        char of[64];
        const struct value *m = row->sample.m;
        put_of(of, sizeof(of), UNIT_WATTS, m[METRIC_POWER], m[METRIC_POWER_LIMIT]);
        snprintf(buf, size, "power %s W", of);
}

void words_heat(char *buf, size_t size, const struct row *row)
{
        char gpu[24], memory[24];
        const struct value *m = row->sample.m;
        format_short(gpu, sizeof(gpu), UNIT_CELSIUS, m[METRIC_GPU_TEMP]);
        format_short(memory, sizeof(memory), UNIT_CELSIUS, m[METRIC_MEM_TEMP]);
        if (m[METRIC_MEM_TEMP].state == STATE_NONE)
                snprintf(buf, size, "GPU %s\u00b0", gpu);
        else
                snprintf(buf, size, "GPU %s\u00b0, memory %s\u00b0", gpu, memory);
}

void words_link(char *buf, size_t size, const char *name, struct value in, struct value out)
{
        char a[24], b[24];
        format_short(a, sizeof(a), UNIT_BYTES_PER_S, in);
        format_short(b, sizeof(b), UNIT_BYTES_PER_S, out);
        snprintf(buf, size, "%s in %s, out %s B/s", name, a, b);
}

bool words_recent(const struct ui_data *d, const struct row *row, struct recent *ret)
{
        const struct trends *t = &d->trends;
        return t->recent && t->recent(t->arg, row->sample.who->slot, d->frame->wall_ns, ret);
}

/* Parts of names in files, as people write them. */
static const struct {
        const char *part, *word;
} name_parts[] = {
    {"active", ""},
    {"bar1", "BAR1"},
    {"ber", "bit error rate"},
    {"crc", "CRC"},
    {"dbe", "uncorrected"},
    {"dec", "decoder"},
    {"dram", "DRAM"},
    {"ecc", "ECC"},
    {"enc", "encoder"},
    {"fb", "memory"},
    {"fp16", "FP16"},
    {"fp32", "FP32"},
    {"fp64", "FP64"},
    {"gen", "generation"},
    {"gpu", "GPU"},
    {"gr", "engine"},
    {"gtt", "GTT"},
    {"hmma", "HMMA"},
    {"imma", "IMMA"},
    {"dfma", "DFMA"},
    {"int", "integer"},
    {"jpg", "JPEG"},
    {"max", "maximum"},
    {"mem", "memory"},
    {"nvlink", "NVLink"},
    {"ofa", "OFA"},
    {"pcie", "PCIe"},
    {"real", "Real"},
    {"rx", "in"},
    {"sbe", "corrected"},
    {"sm", "SM"},
    {"temp", "temperature"},
    {"tx", "out"},
    {"util", "utilization"},
    {"volatile", "errors"},
    {"xid", "XID"},
};

static const char *word_of_part(const char *part, size_t len)
{
        for (size_t i = 0; i < ARRAY_LEN(name_parts); i++) {
                if (strlen(name_parts[i].part) == len &&
                    strncmp(name_parts[i].part, part, len) == 0)
                        return name_parts[i].word;
        }
        return NULL;
}

void words_name(char *buf, size_t size, const char *name, int w)
{
        size_t n = 0;
        buf[0] = '\0';
        for (const char *at = name; *at; at += *at == '_') {
                size_t len = strcspn(at, "_");
                const char *word = word_of_part(at, len);
                const char *gap = n > 0 && (!word || *word) ? " " : "";
                if (word)
                        n += (size_t)snprintf(buf + n, size - n, "%s%s", gap, word);
                else
                        n += (size_t)snprintf(buf + n, size - n, "%s%.*s", gap, (int)len, at);
                n = MIN(n, size - 1);
                at += len;
        }
        if (text_width(buf) <= w)
                return;
        snprintf(buf, size, "%s", name);
        for (char *c = buf; *c; c++)
                *c = *c == '_' ? ' ' : *c;
}

void words_metric(char *buf, size_t size, enum metric metric, int w)
{
        if (metric == METRIC_REAL_UTIL && (int)size > w && w >= text_width("Real Utilization")) {
                snprintf(buf, size, "Real Utilization");
                return;
        }
        /* Its name in files says something else. */
        words_name(buf, size,
                   metric == METRIC_MEM_COPY_UTIL ? "memory_controller" : metric_info(metric)->name,
                   w);
}

/* Ceilings whose names alone say little; what is counted in cores or things says so. */
static const struct {
        enum ceiling at;
        const char *name, *unit;
} evidence_words[] = {
    {CEILING_CPU_MAIN, "its program", " cores"},
    {CEILING_CPU_THREAD, "its busiest thread", ""},
    {CEILING_CPU_FIRST, "its main thread", " cores"},
    {CEILING_CPU_CHILDREN, "what it started", " cores"},
    {CEILING_CPU_QUEUED, "waiting for a CPU", ""},
    {CEILING_IO_WAIT, "threads in I/O", ""},
    {CEILING_WRITTEN, "written", ""},
    {CEILING_CONTROLLER, "memory controller", ""},
    {CEILING_DECODER, "video decoder", ""},
    {CEILING_ENCODER, "video encoder", ""},
    {CEILING_JPEG, "JPEG decoder", ""},
    {CEILING_HELD_POWER, "held by power", ""},
    {CEILING_HELD_THERMAL, "held by heat", ""},
};

static void put_evidence(struct strbuf *out, enum ceiling at, double v)
{
        const char *unit = "";
        char name[48];
        words_name(name, sizeof(name), ceiling_info(at)->name, (int)sizeof(name));
        for (size_t i = 0; i < ARRAY_LEN(evidence_words); i++) {
                if (evidence_words[i].at != at)
                        continue;
                snprintf(name, sizeof(name), "%s", evidence_words[i].name);
                unit = evidence_words[i].unit;
        }
        strbuf_putf(out, "%s ", name);
        if (ceiling_info(at)->unit == UNIT_COUNT)
                strbuf_putf(out, "%.0f", v);
        else
                explain_ceiling(at, v, out);
        strbuf_puts(out, unit);
}

void words_evidence(struct strbuf *out, const struct row *row)
{
        const struct limit *l = &row->limit;
        const char *gap = ": ";
        for (enum ceiling i = 0; l->limiter != LIMITER_UNKNOWN && i < CEILING_COUNT; i++) {
                if (!(l->inputs & CEILING_AT(i)))
                        continue;
                strbuf_puts(out, gap);
                put_evidence(out, i, (double)l->ceilings.v[i]);
                gap = ", ";
        }
}

void words_trouble(char *buf, size_t size, const struct recent *r)
{
        char share[FORMAT_MAX];
        int n = 0;
        buf[0] = '\0';
        if (r->is_starved)
                n = snprintf(buf, size, "waited for the host %s of the last %.0f s, mostly %s",
                             format_share(share, r->starved), r->seconds, limiter_brief(r->by));
        if (r->is_held && n >= 0 && (size_t)n < size)
                snprintf(buf + n, size - (size_t)n, "%sclocks held by %s %s of the last %.0f s",
                         n > 0 ? "; " : "", r->thermal > r->power ? "heat" : "the power limit",
                         format_share(share, MAX(r->power, r->thermal)), r->seconds);
}
