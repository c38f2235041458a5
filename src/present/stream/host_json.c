#include "present/stream/host_json.h"

#include "base/clock.h"
#include "base/num.h"
#include "present/stream/json.h"

static void put_key(struct strbuf *out, const char *name, bool *first)
{
        if (!*first)
                strbuf_putc(out, ',');
        *first = false;
        json_put_string(out, name);
        strbuf_putc(out, ':');
}

static void put_value(struct strbuf *out, struct value v)
{
        if (value_there(v))
                json_put_number(out, v.v);
        else
                strbuf_puts(out, "null");
}

static const struct figure_info *level_info(size_t i)
{
        return figure_info((enum figure)i);
}

static const struct figure_info *machine_info(size_t i)
{
        return system_figure_info((enum system_figure)i);
}

static const struct figure_info *gpu_evidence_info(size_t i)
{
        return evidence_info((enum evidence)i);
}

/* The figures, then why those that are null are, then the age of old ones. */
static void put_figures(struct strbuf *out, const char *name, const struct value *f, size_t n,
                        const struct figure_info *(*info)(size_t i))
{
        bool first = true;
        strbuf_putf(out, "\"%s\":{", name);
        for (size_t i = 0; i < n; i++) {
                put_key(out, info(i)->name, &first);
                put_value(out, f[i]);
        }
        first = true;
        strbuf_puts(out, "},\"missing\":{");
        for (size_t i = 0; i < n; i++) {
                if (value_there(f[i]) || f[i].state == STATE_NONE)
                        continue;
                put_key(out, info(i)->name, &first);
                json_put_string(out, state_name((enum state)f[i].state));
        }
        first = true;
        strbuf_puts(out, "},\"age\":{");
        for (size_t i = 0; i < n; i++) {
                if (!value_there(f[i]) || f[i].age_ms == 0)
                        continue;
                put_key(out, info(i)->name, &first);
                json_put_number(out, f[i].age_ms / 1000.0);
        }
        strbuf_putc(out, '}');
}

static void put_gpus(const struct host *h, const struct level_state *l, struct strbuf *out)
{
        bool first = true;
        strbuf_puts(out, ",\"gpus\":{");
        for (size_t i = 0; i < h->n_gpus; i++) {
                put_key(out, h->gpus[i], &first);
                strbuf_puts(out, "{\"util\":");
                put_value(out, l->gpus[i].util);
                strbuf_puts(out, ",\"band\":");
                put_value(out, l->gpus[i].band);
                strbuf_puts(out, ",\"memory\":");
                put_value(out, l->gpus[i].memory);
                strbuf_putc(out, '}');
        }
        strbuf_putc(out, '}');
}

static void put_machine(const struct host *h, struct strbuf *out)
{
        strbuf_puts(out, "\"system\":{");
        put_figures(out, "figures", h->system, SYSTEM_COUNT, machine_info);
        strbuf_puts(out, ",\"cores\":[");
        for (size_t i = 0; i < h->n_cores; i++) {
                if (i)
                        strbuf_putc(out, ',');
                put_value(out, h->cores[i].util);
        }
        strbuf_puts(out, "]}");
}

static void put_level(const struct host *h, enum level level, struct strbuf *out)
{
        const struct level_state *l = &h->levels[level];
        strbuf_puts(out, "\"level\":");
        json_put_string(out, level_name(level));
        strbuf_puts(out, ",\"name\":");
        json_put_string(out, l->name);
        strbuf_putc(out, ',');
        put_figures(out, "figures", l->f, FIGURE_COUNT, level_info);
        put_gpus(h, l, out);
}

/* What the host does for each GPU; the framework by its name. */
static void put_evidence(const struct host *h, struct strbuf *out)
{
        bool first = true;
        strbuf_puts(out, ",\"evidence\":{");
        for (size_t i = 0; i < h->n_gpus; i++) {
                const struct value *e = h->evidence[i].e;
                struct value framework = e[EVIDENCE_FRAMEWORK];
                put_key(out, h->gpus[i], &first);
                strbuf_putc(out, '{');
                put_figures(out, "figures", e, EVIDENCE_FRAMEWORK, gpu_evidence_info);
                strbuf_puts(out, ",\"framework\":");
                if (value_there(framework) && framework.v >= 0 && framework.v < FRAMEWORK_COUNT)
                        json_put_string(out, framework_name((enum framework)framework.v));
                else
                        strbuf_puts(out, "null");
                strbuf_putc(out, '}');
        }
        strbuf_putc(out, '}');
}

static void put_time(struct strbuf *out, const struct host *h)
{
        char time[NUM_FORMAT_MAX];
        strbuf_putf(out, "\"schema\":%d,\"time\":", JSON_SCHEMA_VERSION);
        strbuf_put(out, time, num_format(time, clock_to_seconds(h->wall_ns), 3));
        strbuf_putf(out, ",\"tick\":%llu,", (unsigned long long)h->tick);
}

static void put_ticks(struct strbuf *out, const struct host *h)
{
        strbuf_putf(out,
                    "\"interval\":%.9g,\"ticks\":{\"asked\":%llu,\"taken\":%llu,\"late\":%llu,"
                    "\"missed\":%llu},",
                    clock_to_seconds(h->interval_ns), (unsigned long long)h->asked,
                    (unsigned long long)h->taken, (unsigned long long)h->late,
                    (unsigned long long)h->missed);
}

void host_json_rows(const struct host *h, struct strbuf *out)
{
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present)
                        continue;
                strbuf_putc(out, '{');
                put_time(out, h);
                put_ticks(out, h);
                put_level(h, l, out);
                if (l == LEVEL_SYSTEM) {
                        strbuf_putc(out, ',');
                        put_machine(h, out);
                        put_evidence(h, out);
                }
                strbuf_puts(out, "}\n");
        }
}

static void put_host(const struct host *h, struct strbuf *out)
{
        bool first = true;
        strbuf_puts(out, "\"host\":{\"name\":");
        json_put_string(out, h->levels[LEVEL_SYSTEM].name);
        strbuf_putc(out, ',');
        put_ticks(out, h);
        strbuf_puts(out, "\"levels\":[");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present)
                        continue;
                strbuf_puts(out, first ? "\n{" : ",\n{");
                first = false;
                put_level(h, l, out);
                strbuf_putc(out, '}');
        }
        strbuf_puts(out, "],\"absent\":{");
        first = true;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (h->levels[l].present)
                        continue;
                put_key(out, level_name(l), &first);
                json_put_string(out, h->levels[l].why);
        }
        strbuf_puts(out, "},\n");
        put_machine(h, out);
        strbuf_putc(out, '}');
}

void host_json_document(const struct host *h, const char *version, struct strbuf *out)
{
        strbuf_puts(out, "{\"program\":\"assay\",\"version\":");
        json_put_string(out, version);
        strbuf_putc(out, ',');
        put_time(out, h);
        strbuf_puts(out, "\"gpus\":[],\n");
        put_host(h, out);
        strbuf_puts(out, "}\n");
}

void host_json_append(const struct host *h, struct strbuf *out)
{
        while (out->len > 0 && (out->s[out->len - 1] == '\n' || out->s[out->len - 1] == '}')) {
                out->len--;
                if (out->s[out->len] == '}')
                        break;
        }
        strbuf_puts(out, ",\n");
        put_host(h, out);
        strbuf_puts(out, "}\n");
}
