/* assay metrics: the vocabulary. */
#include "base/strbuf.h"
#include "cmd/command.h"
#include "model/host.h"
#include "model/metric.h"
#include "present/stream/json.h"

static void put_row(struct jsonw *j, const struct metric_info *i, const char *group)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_text(j, "name", i->name);
        jsonw_text(j, "kind", metric_kind_name(i->kind));
        jsonw_text(j, "unit", unit_name(i->unit));
        jsonw_text(j, "group", group);
        jsonw_text(j, "scope", metric_scope_name(i->scope));
        if (i->most > 0)
                jsonw_short(j, "most", i->most, 6);
        else
                jsonw_null(j, "most");
        jsonw_text(j, "help", i->help);
        jsonw_end(j);
}

static void write_json(struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_array(&j, NULL);
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                put_row(&j, metric_info(m), metric_group_name(metric_info(m)->group));
        for (enum metric_scope s = METRIC_SCOPE_LEVEL; s < METRIC_SCOPE_COUNT; s++) {
                for (size_t i = 0; i < host_rows(s); i++)
                        put_row(&j, host_row(s, i), "host");
        }
        jsonw_line(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

static void put_line(struct strbuf *out, const struct metric_info *i)
{
        strbuf_putf(out, "  %-24s %-7s %-7s %s\n", i->name, unit_name(i->unit),
                    metric_kind_name(i->kind), i->help);
}

static void write_text(struct strbuf *out)
{
        static const char *const titles[METRIC_SCOPE_COUNT] = {
            [METRIC_SCOPE_LEVEL] = "a level of the host: process, user, slurm, cgroup, system",
            [METRIC_SCOPE_LEVEL_GPU] = "a GPU as the processes of a level use it",
            [METRIC_SCOPE_SYSTEM] = "the machine",
            [METRIC_SCOPE_CORE] = "a CPU core",
            [METRIC_SCOPE_EVIDENCE] = "what the host does for a GPU",
            [METRIC_SCOPE_SERVING] = "a model server (--engine)",
        };
        for (enum metric_group g = 0; g < METRIC_GROUP_COUNT; g++) {
                strbuf_putf(out, "%s%s\n", g ? "\n" : "", metric_group_name(g));
                for (enum metric m = 0; m < METRIC_COUNT; m++) {
                        if (metric_info(m)->group == g)
                                put_line(out, metric_info(m));
                }
        }
        for (enum metric_scope s = METRIC_SCOPE_LEVEL; s < METRIC_SCOPE_COUNT; s++) {
                strbuf_putf(out, "\n%s\n", titles[s]);
                for (size_t i = 0; i < host_rows(s); i++)
                        put_line(out, host_row(s, i));
        }
}

static int metrics_run(const struct config *config)
{
        struct strbuf out = {0};
        if (config_flag(config, OPT_JSON))
                write_json(&out);
        else
                write_text(&out);
        print_text(&out);
        strbuf_finish(&out);
        return EXIT_FINE;
}

const struct command command_metrics = {
    .name = "metrics",
    .args = "",
    .summary = "list the metrics, their units and meanings",
    .words = WORDS_NONE,
    .examples = {{"assay metrics", "all, by group"},
                 {"assay metrics --json", "for a program"},
                 {"assay metrics | grep sm", "find one"}},
    .run = metrics_run,
};
