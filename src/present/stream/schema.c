#include "present/stream/schema.h"

#include "base/jsonw.h"

#include <stdio.h>

#define DOCUMENTS_MAX 9

/* The documents that a command writes, by name in schema.json. */
static const struct {
        const char *command;
        const char *documents[DOCUMENTS_MAX];
} written[] = {
    {"report", {"run_report", "job_report", "runs_report", "goodput_report"}},
    {"once", {"moment", "runs_report"}},
    {"export", {"gpu_line", "host_line"}},
    {"stacks", {"stacks_look"}},
    {"why", {"why_answer"}},
    {"diff", {"comparison"}},
    {"devices", {"device_list"}},
    {"doctor", {"diagnosis"}},
    {"metrics", {"metric_list"}},
    {"columns", {"column_list"}},
    {"jobs", {"job_record"}},
    {"job", {"job_record"}},
    {"fleet",
     {"fleet_overview_view", "fleet_users_view", "fleet_jobs_view", "fleet_nodes_view",
      "fleet_wasted_view", "fleet_limiters_view", "fleet_health_view", "fleet_idle_view",
      "fleet_job_view"}},
};

static void put_documents(struct jsonw *j, const char *const *documents)
{
        char reference[64];
        jsonw_array(j, "anyOf");
        for (size_t i = 0; i < DOCUMENTS_MAX && documents[i]; i++) {
                snprintf(reference, sizeof(reference), "#/$defs/%s", documents[i]);
                jsonw_object(j, NULL);
                jsonw_text(j, "$ref", reference);
                jsonw_end(j);
        }
        jsonw_end(j);
}

bool schema_write(const char *command, const char *version, struct strbuf *out)
{
        size_t at = 0;
        char title[64];
        struct jsonw j = {.out = out};
        while (at < ARRAY_LEN(written) && strcmp(written[at].command, command) != 0)
                at++;
        if (at == ARRAY_LEN(written))
                return false;
        snprintf(title, sizeof(title), "JSON of assay %s", command);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
        jsonw_text(&j, "title", title);
        jsonw_text(&j, "$comment", version);
        put_documents(&j, written[at].documents);
        jsonw_begin(&j, "$defs");
        strbuf_puts(out, schema_defs);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
        return true;
}
