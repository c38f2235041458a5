/* assay metrics: the vocabulary. */
#include "base/strbuf.h"
#include "cmd/command.h"
#include "model/metric.h"
#include "present/stream/json.h"

static void write_json(struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_array(&j, NULL);
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                const struct metric_info *i = metric_info(m);
                jsonw_line(&j);
                jsonw_object(&j, NULL);
                jsonw_text(&j, "name", i->name);
                jsonw_text(&j, "kind", metric_kind_name(i->kind));
                jsonw_text(&j, "unit", unit_name(i->unit));
                jsonw_text(&j, "group", metric_group_name(i->group));
                jsonw_text(&j, "scope", metric_scope_name(i->scope));
                jsonw_short(&j, "most", i->most, 6);
                jsonw_text(&j, "help", i->help);
                jsonw_end(&j);
        }
        jsonw_line(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

static void write_text(struct strbuf *out)
{
        for (enum metric_group g = 0; g < METRIC_GROUP_COUNT; g++) {
                strbuf_putf(out, "%s%s\n", g ? "\n" : "", metric_group_name(g));
                for (enum metric m = 0; m < METRIC_COUNT; m++) {
                        const struct metric_info *i = metric_info(m);
                        if (i->group == g)
                                strbuf_putf(out, "  %-24s %-7s %-7s %s\n", i->name,
                                            unit_name(i->unit), metric_kind_name(i->kind), i->help);
                }
        }
}

static int metrics_run(const struct config *config)
{
        struct strbuf out = {0};
        if (config_flag(config, OPT_JSON))
                write_json(&out);
        else
                write_text(&out);
        strbuf_flush(&out, STDOUT_FILENO);
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
