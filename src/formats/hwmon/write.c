#include "formats/hwmon/write.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/csvw.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static void put_time(struct strbuf *out, int64_t ns)
{
        int64_t ms = ns / NS_PER_MS;
        time_t t = (time_t)(ms / 1000);
        struct tm tm;
        char text[40];
        localtime_r(&t, &tm);
        strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S", &tm);
        strbuf_putf(out, "%s.%03d", text, (int)(ms % 1000));
}

/* ISO 8601, UTC, milliseconds: as in the run log. */
static void put_iso(struct strbuf *out, int64_t ns)
{
        int64_t ms = ns / NS_PER_MS;
        time_t t = (time_t)(ms / 1000);
        struct tm tm;
        char text[40];
        gmtime_r(&t, &tm);
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        strbuf_putf(out, "%s.%03d+00:00", text, (int)(ms % 1000));
}

static void put_cpu(struct strbuf *out, int64_t ns, double usr_pct, double idle_pct)
{
        struct csvw c = {.out = out};
        csvw_begin(&c);
        put_iso(out, ns);
        csvw_fixed(&c, usr_pct, 1);
        csvw_fixed(&c, idle_pct, 1);
        csvw_end(&c);
}

struct smi_field {
        double scale;
        enum metric metric;
        int decimals;
};

static void put_field(struct strbuf *out, const struct sample *s, struct smi_field f)
{
        struct value v = s->m[f.metric];
        if (value_is_set(v))
                strbuf_putf(out, ", %.*f", f.decimals, v.v * f.scale);
        else
                strbuf_puts(out, ", [N/A]");
}

static void put_query(struct strbuf *out, const struct frame *f, const struct sample *s)
{
        static const struct smi_field fields[] = {{100, METRIC_GPU_UTIL, 0},
                                                  {100, METRIC_MEM_COPY_UTIL, 0},
                                                  {1 / 1048576.0, METRIC_FB_USED, 0},
                                                  {1 / 1048576.0, METRIC_FB_TOTAL, 0},
                                                  {1, METRIC_POWER, 2},
                                                  {1, METRIC_GPU_TEMP, 0},
                                                  {1e-6, METRIC_SM_CLOCK, 0},
                                                  {1e-6, METRIC_MEM_CLOCK, 0}};
        put_time(out, f->wall_ns);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                put_field(out, s, fields[i]);
        strbuf_putc(out, '\n');
}

static void put_dmon(struct strbuf *out, const struct sample *s)
{
        static const struct smi_field fields[] = {
            {1 / 1048576.0, METRIC_FB_USED, 0},
            {1 / 1048576.0, METRIC_BAR1_USED, 0},
            {0, METRIC_COUNT, 0}, /* ccpm: protected memory, which nobody measures */
            {100, METRIC_GPU_UTIL, 0},
            {100, METRIC_MEM_COPY_UTIL, 0},
            {100, METRIC_ENC_UTIL, 0},
            {100, METRIC_DEC_UTIL, 0},
            {100, METRIC_JPG_UTIL, 0},
            {100, METRIC_OFA_UTIL, 0}};
        strbuf_putf(out, "%5d ", s->who->index >= 0 ? s->who->index : (int)s->who->slot);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                struct value v = fields[i].metric == METRIC_COUNT ? value_missing(STATE_NONE)
                                                                  : s->m[fields[i].metric];
                if (value_is_set(v))
                        strbuf_putf(out, "%6.0f ", v.v * fields[i].scale);
                else
                        strbuf_putf(out, "%6s ", "-");
        }
        strbuf_putc(out, '\n');
}

static struct strbuf *file_for(struct bundle *files, const char *name, const char *header)
{
        struct strbuf *out = bundle_find(files, name);
        if (out)
                return out;
        out = bundle_add(files, name);
        if (out)
                strbuf_puts(out, header);
        return out;
}

int hwmon_write_frame(struct bundle *files, const struct frame *f)
{
        struct strbuf *query = file_for(files, "hw_metrics.csv", "");
        struct strbuf *dmon =
            file_for(files, "hw_dmon.csv",
                     "# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa \n"
                     "# Idx     MB     MB     MB      %      %      %      %      %      % \n");
        if (!query || !dmon)
                return -ENOMEM;
        for (size_t i = 0; i < f->n; i++) {
                put_query(query, f, &f->rows[i].sample);
                put_dmon(dmon, &f->rows[i].sample);
        }
        return query->failed || dmon->failed || query->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

#define CPU_HEADER "timestamp,usr_pct,idle_pct\n"

int hwmon_write_host(struct bundle *files, const struct host *h)
{
        struct value usr = h->system[SYSTEM_USER], idle = h->system[SYSTEM_IDLE];
        if (!value_is_set(usr) || !value_is_set(idle))
                return 0;
        struct strbuf *out = file_for(files, "cpu_metrics.csv", CPU_HEADER);
        if (!out)
                return -ENOMEM;
        if (value_is_set(h->system[SYSTEM_NICE]))
                usr.v += h->system[SYSTEM_NICE].v;
        put_cpu(out, h->wall_ns, usr.v * 100, idle.v * 100);
        return out->failed || out->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

int hwmon_write_cpu(struct bundle *files, const struct mark *marks, size_t n)
{
        double usr = 0;
        bool has_usr = false;
        for (size_t i = 0; i < n; i++) {
                const struct mark *m = &marks[i];
                if (m->type != MARK_METRIC)
                        continue;
                if (strcmp(m->name, "cpu_usr_pct") == 0) {
                        usr = m->value;
                        has_usr = true;
                } else if (strcmp(m->name, "cpu_idle_pct") == 0 && has_usr) {
                        struct strbuf *out = file_for(files, "cpu_metrics.csv", CPU_HEADER);
                        if (!out)
                                return -ENOMEM;
                        put_cpu(out, m->wall_ns, usr, m->value);
                        has_usr = false;
                }
        }
        return 0;
}
