/* Jobs that hold GPUs now and leave them idle. */
#include "base/clock.h"
#include "fleet/collect.h"

#include <stdio.h>
#include <string.h>

#define IDLE_SHARE_LEAST 0.9 /* of what was held, as AssayIdleAllocation has it */
#define HELD_SHARE_LEAST                                                                           \
        0.9 /* share of the window: a job that started later has not been idle that long */

static const struct doc_column idle_columns[IDLE_COLUMNS] = {
    [IDLE_JOB] = COLUMN("job", "JOB", TEXT, 18, 0),
    [IDLE_OWNER] = COLUMN("owner", "OWNER", TEXT, 12, 0),
    [IDLE_ACCOUNT] = COLUMN("account", "ACCOUNT", TEXT, 12, DOC_MINOR),
    [IDLE_PARTITION] = COLUMN("partition", "PARTITION", TEXT, 10, DOC_MINOR),
    [IDLE_NODES] = COLUMN("nodes", "NODES", TEXT, 22, 0),
    [IDLE_GPUS] = COLUMN("gpus", "GPUS", COUNT, 5, 0),
    [IDLE_HELD] = COLUMN("held_seconds", "HELD h", GPU_HOURS, 9, 0),
    [IDLE_WASTED] = COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 9, 0),
    [IDLE_SHARE] = COLUMN("wasted", "% HELD", RATIO, 6, 0),
    [IDLE_REASON] = COLUMN("reason", "MOSTLY", TEXT, 12, 0),
    [IDLE_KIND] = COLUMN("kind", "KIND", TEXT, 10, DOC_MINOR),
    [IDLE_CLUSTER] = COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
};

/* Where a job has its GPUs: "n1 n2 …", at most what fits; and how many. */
static struct value places_of(const struct answer *now, const struct fleet_sum *job, char *ret,
                              size_t size)
{
        struct value gpus = value_missing(STATE_NONE);
        size_t at = 0;
        ret[0] = '\0';
        for (size_t i = 0; i < now->n; i++) {
                const struct answer_series *s = &now->series[i];
                if (!sums_is_job(job, s))
                        continue;
                value_add(&gpus, s->v);
                int n = snprintf(ret + at, size - at, "%s%s", at ? " " : "",
                                 answer_label(s, "instance"));
                if (n > 0 && (size_t)n < size - at)
                        at += (size_t)n;
                else
                        ret[at] = '\0';
        }
        return gpus;
}

static bool has_idled(const struct collect *c, const struct fleet_sum *s, struct value gpus)
{
        double wasted = sum_wasted(s), held = value_or(s->held, 0);
        return value_or(gpus, 0) > 0 && wasted >= IDLE_SHARE_LEAST * held &&
               held >= HELD_SHARE_LEAST * gpus.v * (double)c->terms.window_s;
}

static void idle_table(struct collect *c, const struct fleet_sums *jobs, const struct answer *now)
{
        struct doc_part *t =
            document_add(&c->report->tables, DOC_ROWS, "jobs",
                         "Jobs that hold GPUs and leave them idle", idle_columns, IDLE_COLUMNS);
        for (size_t i = 0; t && i < jobs->n; i++) {
                const struct fleet_sum *s = &jobs->list[i];
                char job[512], nodes[1024];
                struct value gpus = places_of(now, s, nodes, sizeof(nodes));
                job_name_of(&s->labels, job, sizeof(job));
                const struct fleet_holder who = {.owner = owner_name_of(&s->labels),
                                                 .account = answer_label(&s->labels, "account"),
                                                 .partition = answer_label(&s->labels, "partition"),
                                                 .job = job,
                                                 .cluster = answer_label(&s->labels, "cluster"),
                                                 .nodes = nodes};
                if (!has_idled(c, s, gpus) ||
                    (c->asked->leaves_out && c->asked->leaves_out(c->asked->leaves_arg, &who)))
                        continue;
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                doc_cell_text(&row[IDLE_JOB], who.job);
                doc_cell_text(&row[IDLE_OWNER], who.owner);
                doc_cell_text(&row[IDLE_ACCOUNT], who.account);
                doc_cell_text(&row[IDLE_PARTITION], who.partition);
                doc_cell_text(&row[IDLE_NODES], nodes);
                row[IDLE_GPUS].v = gpus;
                row[IDLE_HELD].v = s->held;
                row[IDLE_WASTED].v = sum_wasted_value(s);
                row[IDLE_SHARE].v = ratio_of(row[IDLE_WASTED].v, s->held);
                doc_cell_text(&row[IDLE_REASON], sum_reason(s));
                doc_cell_text(&row[IDLE_KIND], answer_label(&s->labels, "kind"));
                doc_cell_text(&row[IDLE_CLUSTER], who.cluster);
        }
        if (t)
                doc_sort(t, IDLE_WASTED, c->asked->rows);
}

int fleet_collect_idle(struct fleet *f, const struct fleet_asked *asked, struct fleet_report *ret,
                       struct err *err)
{
        struct question now = {.query = QUERY_IDLE_NOW};
        struct fleet_sums jobs = {0};
        struct fleet_report report;
        struct collect c;
        int64_t begun = clock_mono_ns();
        int r = collect_begin(&c, f, asked, &report, err);
        report.what = "idle";
        if (r == 0)
                r = question_send(f, &c.terms, c.at_s, &now, 1, err);
        if (r > 0)
                r = collect_job_sums(&c, &now, 1, &jobs, err);
        if (r > 0)
                idle_table(&c, &jobs, &now.answer);
        question_finish(&now, 1);
        sums_finish(&jobs);
        collect_finish(&c);
        report.took_ns = clock_mono_ns() - begun;
        if (r > 0)
                *ret = report;
        else
                fleet_report_finish(&report);
        return r;
}
