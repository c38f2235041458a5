/*
 * An exposition as OTLP's ExportMetricsServiceRequest in JSON. Whole numbers of 64 bits are texts
 * there, enums numbers, names lowerCamelCase.
 */
#include "base/jsonw.h"
#include "formats/remote/line.h"
#include "formats/remote/remote.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define OTLP_CUMULATIVE 2
#define OTLP_NAME_MAX 200
#define OTLP_VALUE_MAX 1024

/* Endings of our names, and the unit in UCUM's letters. */
static const struct {
        const char *ending, *unit;
} units[] = {
    {"_seconds", "s"},   {"_bytes", "By"}, {"_watts", "W"}, {"_joules", "J"},
    {"_celsius", "Cel"}, {"_hertz", "Hz"}, {"_ratio", "1"},
};

struct otlp_writer {
        struct jsonw j;
        int64_t time_ns;
        char metric[OTLP_NAME_MAX];    /* whose points are being written; empty for none */
        char announced[OTLP_NAME_MAX]; /* by the last TYPE */
        bool is_counter;               /* the announced one */
};

static void put_attribute(struct jsonw *j, const char *key, const char *value)
{
        jsonw_object(j, NULL);
        jsonw_text(j, "key", key);
        jsonw_object(j, "value");
        jsonw_text(j, "stringValue", value);
        jsonw_end(j);
        jsonw_end(j);
}

/* What Prometheus calls job and instance has names of its own. */
static const char *resource_name(const char *label)
{
        if (strcmp(label, "job") == 0)
                return "service.name";
        return strcmp(label, "instance") == 0 ? "service.instance.id" : label;
}

static void put_resource(struct jsonw *j, const struct remote_labels *labels)
{
        bool named = false;
        jsonw_object(j, "resource");
        jsonw_array(j, "attributes");
        for (size_t i = 0; i < labels->n; i++) {
                const char *name = resource_name(labels->list[i].name);
                named |= strcmp(name, "service.name") == 0;
                put_attribute(j, name, labels->list[i].value);
        }
        if (!named)
                put_attribute(j, "service.name", "assay");
        jsonw_end(j);
        jsonw_end(j);
}

static const char *unit_of(const char *name)
{
        size_t len = strlen(name);
        if (len > 6 && strcmp(name + len - 6, "_total") == 0)
                len -= 6;
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
                size_t n = strlen(units[i].ending);
                if (len > n && strncmp(name + len - n, units[i].ending, n) == 0)
                        return units[i].unit;
        }
        return "";
}

static void end_metric(struct otlp_writer *w)
{
        if (!w->metric[0])
                return;
        jsonw_end(&w->j); /* dataPoints */
        jsonw_end(&w->j); /* gauge, sum */
        jsonw_end(&w->j);
        w->metric[0] = '\0';
}

static void begin_metric(struct otlp_writer *w, const char *name)
{
        bool counter = w->is_counter && strcmp(w->announced, name) == 0;
        const char *unit = unit_of(name);
        end_metric(w);
        snprintf(w->metric, sizeof(w->metric), "%s", name);
        jsonw_object(&w->j, NULL);
        jsonw_text(&w->j, "name", name);
        if (unit[0])
                jsonw_text(&w->j, "unit", unit);
        jsonw_object(&w->j, counter ? "sum" : "gauge");
        if (counter) {
                jsonw_whole(&w->j, "aggregationTemporality", OTLP_CUMULATIVE);
                jsonw_bool(&w->j, "isMonotonic", true);
        }
        jsonw_array(&w->j, "dataPoints");
}

/* A label's value, which may be escaped. */
static void put_label(struct jsonw *j, const struct exposition_label *label)
{
        char name[OTLP_NAME_MAX], value[OTLP_VALUE_MAX];
        size_t n = label->value.len;
        if (label->name.len >= sizeof(name) || n >= sizeof(value))
                return;
        snprintf(name, sizeof(name), "%.*s", (int)label->name.len, label->name.s);
        if (label->escaped)
                n = exposition_unescape(label->value.s, n, value);
        else
                memcpy(value, label->value.s, n);
        value[n] = '\0';
        put_attribute(j, name, value);
}

static void put_point(struct otlp_writer *w, const struct line_parts *line)
{
        struct exposition_label label;
        char time[24];
        size_t at = 1;
        snprintf(time, sizeof(time), "%" PRId64, w->time_ns);
        jsonw_object(&w->j, NULL);
        jsonw_array(&w->j, "attributes");
        while (line->block.len > 0 &&
               exposition_next_label(line->block.s, line->block.len, &at, &label) > 0)
                put_label(&w->j, &label);
        jsonw_end(&w->j);
        jsonw_text(&w->j, "timeUnixNano", time);
        jsonw_number(&w->j, "asDouble", line->point.v);
        jsonw_end(&w->j);
}

/* "# TYPE name counter" */
static void take_comment(struct otlp_writer *w, const struct word *line)
{
        static const char type[] = "# TYPE ";
        struct word name;
        if (line->len < sizeof(type) || memcmp(line->s, type, sizeof(type) - 1) != 0 ||
            !exposition_announces(line->s, line->len, &name) || name.len >= sizeof(w->announced))
                return;
        snprintf(w->announced, sizeof(w->announced), "%.*s", (int)name.len, name.s);
        w->is_counter = line->len >= 8 && memcmp(line->s + line->len - 8, " counter", 8) == 0;
}

static void take_sample(struct otlp_writer *w, const struct line_parts *line)
{
        char name[OTLP_NAME_MAX];
        if (line->name.len >= sizeof(name) || !isfinite(line->point.v))
                return;
        snprintf(name, sizeof(name), "%.*s", (int)line->name.len, line->name.s);
        if (strcmp(name, w->metric) != 0)
                begin_metric(w, name);
        put_point(w, line);
}

void otlp_encode(const struct remote_labels *labels, const char *version, const char *text,
                 size_t len, int64_t time_ms, struct strbuf *out)
{
        struct otlp_writer w = {.j.out = out, .time_ns = time_ms * 1000000};
        const char *end = text + len;
        struct line_parts parts;
        struct word line;
        jsonw_object(&w.j, NULL);
        jsonw_array(&w.j, "resourceMetrics");
        jsonw_object(&w.j, NULL);
        put_resource(&w.j, labels);
        jsonw_array(&w.j, "scopeMetrics");
        jsonw_object(&w.j, NULL);
        jsonw_object(&w.j, "scope");
        jsonw_text(&w.j, "name", "assay");
        jsonw_text(&w.j, "version", version);
        jsonw_end(&w.j);
        jsonw_array(&w.j, "metrics");
        while (!out->failed && remote_next_line(&text, end, &line)) {
                if (line.len > 0 && line.s[0] == '#')
                        take_comment(&w, &line);
                else if (remote_split_line(line.s, line.len, &parts))
                        take_sample(&w, &parts);
        }
        end_metric(&w);
        for (int i = 0; i < 6; i++) /* metrics, the scope's, scopeMetrics, the resource's, all */
                jsonw_end(&w.j);
}
