#include "present/stream/host_json.h"

#include "base/clock.h"
#include "present/stream/json.h"
#include "present/stream/serving_json.h"

static void put_gpus(struct jsonw *j, const struct host *h, const struct level_state *l)
{
        jsonw_object(j, "gpus");
        for (size_t i = 0; i < h->n_gpus; i++) {
                jsonw_object(j, h->gpus[i]);
                jsonw_value(j, "util", l->gpus[i].util);
                jsonw_value(j, "band", l->gpus[i].mem_copy_util);
                jsonw_value(j, "memory", l->gpus[i].memory);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_machine(struct jsonw *j, const struct host *h)
{
        jsonw_object(j, "system");
        jsonw_values(j, "figures", h->system, SYSTEM_COUNT, system_figure_info(0));
        jsonw_array(j, "cores");
        for (size_t i = 0; i < h->n_cores; i++)
                jsonw_value(j, NULL, h->cores[i].util);
        jsonw_end(j);
        jsonw_end(j);
}

static void put_level(struct jsonw *j, const struct host *h, enum level level)
{
        const struct level_state *l = &h->levels[level];
        jsonw_text(j, "level", level_name(level));
        jsonw_text(j, "name", l->name);
        jsonw_values(j, "figures", l->f, FIGURE_COUNT, figure_info(0));
        put_gpus(j, h, l);
}

/* What the host does for each GPU; the framework by its name. */
static void put_evidence(struct jsonw *j, const struct host *h)
{
        jsonw_object(j, "evidence");
        for (size_t i = 0; i < h->n_gpus; i++) {
                const struct value *e = h->evidence[i].e;
                struct value f = e[EVIDENCE_FRAMEWORK];
                bool known = value_is_set(f) && f.v >= 0 && f.v < FRAMEWORK_COUNT;
                jsonw_object(j, h->gpus[i]);
                jsonw_values(j, "figures", e, EVIDENCE_FRAMEWORK, evidence_info(0));
                jsonw_text_or_null(j, "framework",
                                   known ? framework_name((enum framework)f.v) : "");
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_time(struct jsonw *j, const struct host *h)
{
        jsonw_whole(j, "schema", JSON_SCHEMA_VERSION);
        jsonw_fixed(j, "time", clock_to_seconds(h->wall_ns), 3);
        jsonw_count(j, "tick", h->tick);
}

static void put_ticks(struct jsonw *j, const struct host *h)
{
        jsonw_short(j, "interval", clock_to_seconds(h->interval_ns), 9);
        jsonw_object(j, "ticks");
        jsonw_count(j, "asked", h->asked);
        jsonw_count(j, "taken", h->taken);
        jsonw_count(j, "late", h->late);
        jsonw_count(j, "missed", h->missed);
        jsonw_end(j);
}

void host_json_rows(const struct host *h, struct strbuf *out)
{
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct jsonw j = {.out = out};
                if (!h->levels[l].present)
                        continue;
                jsonw_object(&j, NULL);
                put_time(&j, h);
                put_ticks(&j, h);
                put_level(&j, h, l);
                if (l == LEVEL_SYSTEM) {
                        put_machine(&j, h);
                        put_evidence(&j, h);
                        jsonw_servings(&j, h->servings, h->n_servings);
                }
                jsonw_end(&j);
                strbuf_putc(out, '\n');
        }
}

void host_json_member(struct jsonw *j, const struct host *h)
{
        jsonw_line(j);
        jsonw_object(j, "host");
        jsonw_text(j, "name", h->levels[LEVEL_SYSTEM].name);
        put_ticks(j, h);
        jsonw_array(j, "levels");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present)
                        continue;
                jsonw_line(j);
                jsonw_object(j, NULL);
                put_level(j, h, l);
                jsonw_end(j);
        }
        jsonw_end(j);
        jsonw_object(j, "absent");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present)
                        jsonw_text(j, level_name(l), h->levels[l].why);
        }
        jsonw_end(j);
        jsonw_line(j);
        put_machine(j, h);
        jsonw_end(j);
}

void host_json_document(const struct host *h, const char *version, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", version);
        put_time(&j, h);
        jsonw_array(&j, "gpus");
        jsonw_end(&j);
        jsonw_servings(&j, h->servings, h->n_servings);
        host_json_member(&j, h);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

void host_json_append(const struct host *h, struct strbuf *out)
{
        struct jsonw j = {.out = out, .more = true};
        jsonw_reopen(out);
        host_json_member(&j, h);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}
