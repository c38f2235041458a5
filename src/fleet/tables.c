/* The tables of the views. */
#include "fleet/collect.h"
#include "model/limit.h"
#include "model/verdict.h"
#include "model/xid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVERVIEW_USERS 10
#define OVERVIEW_LIMITERS 6
/* A share of time that was not seen which is worth a word. */
#define UNSEEN_SHARE 0.01

static const struct answer nothing;

static const struct answer *answer_to(const struct question *q, size_t n, enum query query)
{
        for (size_t i = 0; i < n; i++) {
                if (q[i].query == query)
                        return &q[i].answer;
        }
        return &nothing;
}

/* --- by owner ----------------------------------------------------------------------------------
 */

static const struct doc_column owner_columns[] = {
    COLUMN("owner", "OWNER", TEXT, 18, 0),
    COLUMN("kind", "KIND", TEXT, 10, DOC_MINOR),
    COLUMN("account", "ACCOUNT", TEXT, 12, DOC_MINOR),
    COLUMN("held_seconds", "HELD h", GPU_HOURS, 9, 0),
    COLUMN("observed", "SEEN %", RATIO, 6, 0),
    COLUMN("real_util", "REAL", RATIO, 6, 0),
    COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 9, 0),
    COLUMN("wasted", "% HELD", RATIO, 6, 0),
    COLUMN("reason", "MOSTLY", TEXT, 12, 0),
    COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
    COLUMN("goodput", "WORK %", RATIO, 6, DOC_MINOR),
};
enum {
        OWNER_NAME,
        OWNER_KIND,
        OWNER_ACCOUNT,
        OWNER_HELD,
        OWNER_SEEN,
        OWNER_REAL,
        OWNER_WASTED,
        OWNER_SHARE,
        OWNER_REASON,
        OWNER_CLUSTER,
        OWNER_GOODPUT
};

static void gather_owners(struct fleet_sums *s, const struct question *q, size_t n)
{
        sums_add(s, answer_to(q, n, QUERY_USER_HELD), SUM_BY_OWNER, SUM_FIELD(held));
        sums_add(s, answer_to(q, n, QUERY_USER_OBSERVED), SUM_BY_OWNER, SUM_FIELD(observed));
        sums_add(s, answer_to(q, n, QUERY_USER_IDLE_UNOBSERVED), SUM_BY_OWNER,
                 SUM_FIELD(idle_unobserved));
        sums_add(s, answer_to(q, n, QUERY_USER_REAL), SUM_BY_OWNER, SUM_FIELD(real));
        sums_add_wasted(s, answer_to(q, n, QUERY_USER_WASTED), SUM_BY_OWNER);
        sums_bound_wasted(s);
}

static void put_use(struct doc_cell *row, const struct fleet_sum *s)
{
        row[OWNER_HELD].v = s->held;
        row[OWNER_SEEN].v = ratio_of(sum_seen(s), s->held);
        row[OWNER_REAL].v = ratio_of(s->real, s->observed);
        row[OWNER_WASTED].v = sum_wasted_value(s);
        row[OWNER_SHARE].v = ratio_of(sum_wasted_value(s), s->held);
        doc_cell_text(&row[OWNER_REASON], sum_reason(s));
        doc_cell_text(&row[OWNER_CLUSTER], answer_label(&s->labels, "cluster"));
        row[OWNER_GOODPUT].v = ratio_of(sum_worked(s), s->held);
}

static void owners_table(struct collect *c, const struct fleet_sums *s, size_t rows)
{
        struct doc_part *t = document_add(&c->report->tables, DOC_ROWS, "owners", "By owner",
                                          owner_columns, ARRAY_LEN(owner_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                const struct answer_series *who = &s->list[i].labels;
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                doc_cell_text(&row[OWNER_NAME], owner_name_of(who));
                doc_cell_text(&row[OWNER_KIND], answer_label(who, "kind"));
                doc_cell_text(&row[OWNER_ACCOUNT], answer_label(who, "account"));
                put_use(row, &s->list[i]);
        }
        if (t)
                doc_sort(t, OWNER_WASTED, rows);
}

/* --- by job --------------------------------------------------------------------------------------
 */

static const struct doc_column job_columns[] = {
    COLUMN("job", "JOB", TEXT, 18, 0),
    COLUMN("owner", "OWNER", TEXT, 12, 0),
    COLUMN("account", "ACCOUNT", TEXT, 12, DOC_MINOR),
    COLUMN("held_seconds", "HELD h", GPU_HOURS, 9, 0),
    COLUMN("observed", "SEEN %", RATIO, 6, 0),
    COLUMN("real_util", "REAL", RATIO, 6, 0),
    COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 9, 0),
    COLUMN("wasted", "% HELD", RATIO, 6, DOC_MINOR),
    COLUMN("reason", "MOSTLY", TEXT, 12, 0),
    COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
    COLUMN("goodput", "WORK %", RATIO, 6, 0),
};

void collect_jobs_table(struct collect *c, const struct fleet_sums *jobs)
{
        struct doc_part *t = document_add(&c->report->tables, DOC_ROWS, "jobs", "By job",
                                          job_columns, ARRAY_LEN(job_columns));
        for (size_t i = 0; t && i < jobs->n; i++) {
                char job[512];
                const struct answer_series *who = &jobs->list[i].labels;
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                job_name_of(who, job, sizeof(job));
                doc_cell_text(&row[0], job);
                doc_cell_text(&row[1], owner_name_of(who));
                doc_cell_text(&row[2], answer_label(who, "account"));
                put_use(row, &jobs->list[i]);
        }
        if (t)
                doc_sort(t, OWNER_WASTED, c->asked->rows);
}

/* --- by node -------------------------------------------------------------------------------------
 */

static const struct doc_column node_columns[] = {
    COLUMN("node", "NODE", TEXT, 22, 0),
    COLUMN("gpus", "GPUS", COUNT, 5, 0),
    COLUMN("answering", "UP", COUNT, 5, 0),
    COLUMN("held_now", "HELD NOW", COUNT, 8, 0),
    COLUMN("observed", "SEEN %", RATIO, 6, 0),
    COLUMN("real_util", "REAL", RATIO, 6, 0),
    COLUMN("held_seconds", "HELD h", GPU_HOURS, 9, 0),
    COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 9, 0),
    COLUMN("reason", "MOSTLY", TEXT, 12, 0),
    COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
};

/* Of each node; or of the whole fleet, in a sum without a name. */
static void gather_nodes(struct fleet_sums *s, const struct question *q, size_t n)
{
        static const struct {
                enum query query;
                size_t field;
        } table[] = {
            {QUERY_NODE_KNOWN, SUM_FIELD(known)},
            {QUERY_FLEET_KNOWN, SUM_FIELD(known)},
            {QUERY_NODE_GPUS, SUM_FIELD(gpus)},
            {QUERY_FLEET_GPUS, SUM_FIELD(gpus)},
            {QUERY_NODE_NOW, SUM_FIELD(gpus)},
            {QUERY_NODE_UP, SUM_FIELD(up)},
            {QUERY_FLEET_UP, SUM_FIELD(up)},
            {QUERY_NODE_OWNED, SUM_FIELD(owned)},
            {QUERY_FLEET_OWNED, SUM_FIELD(owned)},
            {QUERY_NODE_OBSERVED, SUM_FIELD(observed)},
            {QUERY_FLEET_OBSERVED, SUM_FIELD(observed)},
            {QUERY_NODE_IDLE_UNOBSERVED, SUM_FIELD(idle_unobserved)},
            {QUERY_FLEET_IDLE_UNOBSERVED, SUM_FIELD(idle_unobserved)},
            {QUERY_NODE_REAL, SUM_FIELD(real)},
            {QUERY_FLEET_REAL, SUM_FIELD(real)},
            {QUERY_NODE_HELD, SUM_FIELD(held)},
            {QUERY_FLEET_HELD, SUM_FIELD(held)},
        };
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
                sums_add(s, answer_to(q, n, table[i].query), SUM_BY_NODE, table[i].field);
        sums_add_wasted(s, answer_to(q, n, QUERY_NODE_WASTED), SUM_BY_NODE);
        sums_add_wasted(s, answer_to(q, n, QUERY_FLEET_WASTED), SUM_BY_NODE);
        sums_bound_wasted(s);
}

static struct value time_of(const struct collect *c, struct value gpus)
{
        return value_is_set(gpus) ? value_ok(gpus.v * (double)c->terms.window_s) : gpus;
}

/* How many there are: those seen in the window, also when some of them say nothing now. */
static struct value all_of(const struct fleet_sum *s)
{
        return value_is_set(s->known) && !(value_is_set(s->gpus) && s->gpus.v > s->known.v)
                   ? s->known
                   : s->gpus;
}

static void nodes_table(struct collect *c, const struct fleet_sums *s)
{
        struct doc_part *t = document_add(&c->report->tables, DOC_ROWS, "nodes", "By node",
                                          node_columns, ARRAY_LEN(node_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                const struct fleet_sum *n = &s->list[i];
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                doc_cell_text(&row[0], answer_label(&n->labels, "instance"));
                row[1].v = all_of(n);
                row[2].v = value_is_set(n->gpus) ? n->up : value_ok(0);
                row[3].v = value_is_set(n->owned) ? n->owned : value_ok(0);
                row[4].v = ratio_of(sum_seen(n), time_of(c, n->known));
                row[5].v = ratio_of(n->real, n->observed);
                row[6].v = n->held;
                row[7].v = sum_wasted_value(n);
                doc_cell_text(&row[8], sum_reason(n));
                doc_cell_text(&row[9], answer_label(&n->labels, "cluster"));
        }
        if (t)
                doc_sort(t, 7, c->asked->rows);
}

/* --- wasted
 * ---------------------------------------------------------------------------------------- */

static const struct doc_column reason_columns[] = {
    COLUMN("reason", "REASON", TEXT, 12, 0),
    COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 10, 0),
    COLUMN("share", "SHARE %", RATIO, 7, 0),
    COLUMN("meaning", "", TEXT, 80, 0),
};

void collect_reasons_table(struct collect *c, const struct fleet_sums *sums)
{
        struct doc_part *t =
            document_add(&c->report->tables, DOC_ROWS, "reasons", "Wasted, by reason",
                         reason_columns, ARRAY_LEN(reason_columns));
        double all[IDLE_REASON_COUNT] = {0}, total = 0;
        for (size_t i = 0; i < sums->n; i++) {
                for (enum idle_reason k = 0; k < IDLE_REASON_COUNT; k++)
                        all[k] += sums->list[i].wasted[k];
                total += sum_wasted(&sums->list[i]);
        }
        for (enum idle_reason k = 0; t && k < IDLE_REASON_COUNT; k++) {
                struct doc_cell *row = all[k] > 0 ? doc_add_row(&c->report->tables, t) : NULL;
                if (!row)
                        continue;
                doc_cell_text(&row[0], idle_reason_name(k));
                row[1].v = value_ok(all[k]);
                row[2].v = ratio_of(value_ok(all[k]), value_ok(total));
                doc_cell_text(&row[3], idle_reason_words(k));
        }
        if (t)
                doc_sort(t, 1, IDLE_REASON_COUNT);
}

static const struct doc_column waste_columns[] = {
    COLUMN("owner", "OWNER", TEXT, 16, 0),
    COLUMN("account", "ACCOUNT", TEXT, 10, DOC_MINOR),
    COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 9, 0),
    COLUMN("no_process_seconds", "NO PROC", GPU_HOURS, 8, 0),
    COLUMN("memory_held_seconds", "MEM HELD", GPU_HOURS, 8, 0),
    COLUMN("starved_seconds", "STARVED", GPU_HOURS, 8, 0),
    COLUMN("waiting_seconds", "WAITING", GPU_HOURS, 8, 0),
    COLUMN("starting_seconds", "STARTING", GPU_HOURS, 8, 0),
    COLUMN("unknown_seconds", "UNKNOWN", GPU_HOURS, 8, 0),
    COLUMN("unobserved_seconds", "UNSEEN h", GPU_HOURS, 9, 0),
    COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
};

static void waste_table(struct collect *c, const struct fleet_sums *s)
{
        static const enum idle_reason order[] = {IDLE_NO_PROCESS, IDLE_MEMORY_HELD, IDLE_STARVED,
                                                 IDLE_WAITING,    IDLE_STARTING,    IDLE_UNKNOWN};
        struct doc_part *t =
            document_add(&c->report->tables, DOC_ROWS, "owners", "Wasted, by owner", waste_columns,
                         ARRAY_LEN(waste_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                const struct fleet_sum *sum = &s->list[i];
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                doc_cell_text(&row[0], owner_name_of(&sum->labels));
                doc_cell_text(&row[1], answer_label(&sum->labels, "account"));
                row[2].v = sum_wasted_value(sum);
                for (size_t k = 0; k < ARRAY_LEN(order); k++)
                        row[3 + k].v = value_ok(sum->wasted[order[k]]);
                row[9].v = sum_unseen(sum);
                doc_cell_text(&row[10], answer_label(&sum->labels, "cluster"));
        }
        if (t)
                doc_sort(t, 2, c->asked->rows);
}

/* --- limiters, health
 * ---------------------------------------------------------------------------------- */

static const struct doc_column limiter_columns[] = {
    COLUMN("limiter", "LIMITER", TEXT, 16, 0),
    COLUMN("seconds", "GPU h", GPU_HOURS, 10, 0),
    COLUMN("share", "SHARE %", RATIO, 7, 0),
    COLUMN("meaning", "", TEXT, 80, 0),
};

void collect_limiters_table(struct collect *c, const struct fleet_sums *s, size_t rows)
{
        struct doc_part *t =
            document_add(&c->report->tables, DOC_ROWS, "limiters", "What limits the GPUs",
                         limiter_columns, ARRAY_LEN(limiter_columns));
        struct value total = value_missing(STATE_NONE);
        for (size_t i = 0; i < s->n; i++)
                value_add(&total, s->list[i].held);
        for (size_t i = 0; t && i < s->n; i++) {
                const struct fleet_sum *sum = &s->list[i];
                enum limiter limiter = limiter_find(sum->key);
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                doc_cell_text(&row[0], sum->key);
                row[1].v = sum->held;
                row[2].v = ratio_of(sum->held, total);
                doc_cell_text(&row[3], limiter < LIMITER_COUNT ? limiter_words(limiter) : "");
        }
        if (t)
                doc_sort(t, 1, rows);
}

static const struct doc_column health_columns[] = {
    COLUMN("health", "HEALTH", TEXT, 12, 0),
    COLUMN("seconds", "GPU h", GPU_HOURS, 10, 0),
    COLUMN("share", "SHARE %", RATIO, 7, 0),
};

static void health_table(struct collect *c, const struct answer *a)
{
        struct doc_part *t = document_add(&c->report->tables, DOC_ROWS, "health", "Health",
                                          health_columns, ARRAY_LEN(health_columns));
        struct value total = value_missing(STATE_NONE);
        for (size_t i = 0; i < a->n; i++)
                value_add(&total, a->series[i].v);
        for (size_t i = 0; t && i < a->n; i++) {
                struct doc_cell *row = doc_add_row(&c->report->tables, t);
                if (!row)
                        return;
                doc_cell_text(&row[0], answer_label(&a->series[i], "health"));
                row[1].v = a->series[i].v;
                row[2].v = ratio_of(a->series[i].v, total);
        }
        if (t)
                doc_sort(t, 1, 16);
}

static const struct doc_column trouble_columns[] = {
    COLUMN("node", "NODE", TEXT, 22, 0),       COLUMN("gpu", "GPU", TEXT, 5, 0),
    COLUMN("finding", "PROBLEM", TEXT, 18, 0), COLUMN("seconds", "FOR h", GPU_HOURS, 8, 0),
    COLUMN("count", "TIMES", COUNT, 6, 0),     COLUMN("meaning", "", TEXT, 56, 0),
    COLUMN("uuid", "", TEXT, 40, DOC_MINOR),
};

static const char *finding_words(const char *name)
{
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (strcmp(health_reason_name(f), name) == 0)
                        return health_reason_text(f);
        }
        return "";
}

static struct doc_cell *trouble_row(struct collect *c, struct doc_part *t,
                                    const struct answer_series *s, const char *finding,
                                    const char *words)
{
        char gpu[64];
        struct doc_cell *row = doc_add_row(&c->report->tables, t);
        if (!row)
                return NULL;
        const char *gi = answer_label(s, "gi");
        snprintf(gpu, sizeof(gpu), "%s%s%s", answer_label(s, "gpu"), gi[0] ? "/" : "", gi);
        doc_cell_text(&row[0], answer_label(s, "instance"));
        doc_cell_text(&row[1], gpu);
        doc_cell_text(&row[2], finding);
        doc_cell_text(&row[5], words);
        doc_cell_text(&row[6], answer_label(s, "uuid"));
        return row;
}

static void trouble_table(struct collect *c, const struct question *q, size_t n)
{
        const struct answer *down = answer_to(q, n, QUERY_DOWN),
                            *gone = answer_to(q, n, QUERY_GONE),
                            *found = answer_to(q, n, QUERY_FINDINGS),
                            *xids = answer_to(q, n, QUERY_XIDS);
        struct doc_part *t =
            document_add(&c->report->tables, DOC_ROWS, "findings", "GPUs with problems",
                         trouble_columns, ARRAY_LEN(trouble_columns));
        if (!t)
                return;
        for (size_t i = 0; i < down->n; i++)
                trouble_row(c, t, &down->series[i], "down", "the GPU does not answer now");
        for (size_t i = 0; i < gone->n; i++)
                trouble_row(c, t, &gone->series[i], "gone",
                            "the node tells of it no more: lost, or taken out");
        for (size_t i = 0; i < found->n; i++) {
                const char *name = answer_label(&found->series[i], "finding");
                struct doc_cell *row =
                    trouble_row(c, t, &found->series[i], name, finding_words(name));
                if (row)
                        row[3].v = found->series[i].v;
        }
        for (size_t i = 0; i < xids->n; i++) {
                char name[32];
                const char *number = answer_label(&xids->series[i], "xid");
                snprintf(name, sizeof(name), "XID %.16s", number);
                const struct xid_info *xid = xid_info((uint32_t)atoi(number));
                struct doc_cell *row =
                    trouble_row(c, t, &xids->series[i], name,
                                xid ? xid->text : "errors that the driver reported");
                if (row)
                        row[4].v = xids->series[i].v;
        }
}

static const struct doc_column silent_columns[] = {
    COLUMN("node", "NODE", TEXT, 22, 0),
    COLUMN("gpus", "GPUS", COUNT, 5, 0),
    COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
};

static void silent_table(struct collect *c, const struct fleet_sums *s)
{
        struct doc_part *t =
            document_add(&c->report->tables, DOC_ROWS, "silent", "Nodes without news",
                         silent_columns, ARRAY_LEN(silent_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                struct doc_cell *row =
                    value_is_set(s->list[i].gpus) ? NULL : doc_add_row(&c->report->tables, t);
                if (!row)
                        continue;
                doc_cell_text(&row[0], answer_label(&s->list[i].labels, "instance"));
                row[1].v = s->list[i].known;
                doc_cell_text(&row[2], answer_label(&s->list[i].labels, "cluster"));
        }
        if (t)
                doc_sort(t, 1, c->asked->rows);
        if (t && t->n_rows == 0 && t > c->report->tables.parts && t[-1].n_rows == 0)
                fleet_report_notice(c->report, FLEET_NO_PROBLEMS, 0, 0);
}

/* --- the fleet in one row
 * -------------------------------------------------------------------------------- */

static const struct doc_column summary_columns[] = {
    COLUMN("gpus", "GPUs", COUNT, 0, 0),
    COLUMN("nodes", "nodes", COUNT, 0, 0),
    COLUMN("answering", "GPUs that answer", COUNT, 0, 0),
    COLUMN("held_now", "GPUs held now", COUNT, 0, 0),
    COLUMN("window_seconds", "capacity of the window", GPU_HOURS, 0, 0),
    COLUMN("observed", "of the capacity observed", RATIO, 0, 0),
    COLUMN("held_seconds", "held", GPU_HOURS, 0, 0),
    COLUMN("held", "of the capacity held", RATIO, 0, 0),
    COLUMN("real_util", "Real Utilization", RATIO, 0, 0),
    COLUMN("wasted_seconds", "wasted", GPU_HOURS, 0, 0),
    COLUMN("wasted", "of what was held wasted", RATIO, 0, 0),
    COLUMN("unattributed_seconds", "held by owners not known", GPU_HOURS, 0, 0),
};

static struct fleet_sum total_of(const struct fleet_sums *s)
{
        struct fleet_sum all = {0};
        for (size_t i = 0; i < s->n; i++) {
                const struct fleet_sum *n = &s->list[i];
                value_add(&all.known, n->known);
                value_add(&all.gpus, n->gpus);
                value_add(&all.up, n->up);
                value_add(&all.owned, n->owned);
                value_add(&all.observed, n->observed);
                value_add(&all.idle_unobserved, n->idle_unobserved);
                value_add(&all.real, n->real);
                value_add(&all.held, n->held);
                for (enum idle_reason k = 0; k < IDLE_REASON_COUNT; k++)
                        all.wasted[k] += n->wasted[k];
                all.has_wasted |= n->has_wasted;
        }
        return all;
}

static double held_by_known(const struct fleet_sums *owners)
{
        double held = 0;
        for (size_t i = 0; i < owners->n; i++) {
                if (owner_name_of(&owners->list[i].labels)[0] && value_is_set(owners->list[i].held))
                        held += owners->list[i].held.v;
        }
        return held;
}

static void note_coverage(struct collect *c, const struct fleet_sum *all)
{
        struct value seen = ratio_of(sum_seen(all), time_of(c, all->known));
        if (value_is_set(seen) && seen.v < 1 - UNSEEN_SHARE)
                fleet_report_notice(c->report, FLEET_UNSEEN, 1 - seen.v, 0);
        if (!value_is_set(all->gpus))
                fleet_report_notice(c->report, FLEET_ALL_OLD, 0, 0);
        else if (value_is_set(all->up) && all_of(all).v > all->up.v)
                fleet_report_notice(c->report, FLEET_SILENT, all_of(all).v - all->up.v,
                                    all_of(all).v);
}

static void summary_table(struct collect *c, const struct fleet_sums *nodes,
                          const struct fleet_sums *owners, const struct answer *n_nodes)
{
        struct fleet_sum all = total_of(nodes);
        struct doc_part *t = document_add(&c->report->tables, DOC_CARD, "fleet", "Fleet",
                                          summary_columns, ARRAY_LEN(summary_columns));
        struct doc_cell *row = t ? doc_add_row(&c->report->tables, t) : NULL;
        if (!row)
                return;
        row[0].v = all_of(&all);
        row[1].v = n_nodes->n > 0 ? n_nodes->series[0].v : value_missing(STATE_NONE);
        row[2].v = all.up;
        row[3].v = value_is_set(all.gpus) && !value_is_set(all.owned) ? value_ok(0) : all.owned;
        row[4].v = time_of(c, all.known);
        row[5].v = ratio_of(sum_seen(&all), row[4].v);
        row[6].v = all.held;
        row[7].v = ratio_of(all.held, row[4].v);
        row[8].v = ratio_of(all.real, all.observed);
        row[9].v = sum_wasted_value(&all);
        row[10].v = ratio_of(row[9].v, all.held);
        if (value_is_set(all.held))
                row[11].v = value_ok(MAX(all.held.v - held_by_known(owners), 0.0));
        note_coverage(c, &all);
}

void collect_tables(struct collect *c, enum fleet_view view, struct question *q, size_t n)
{
        struct fleet_sums owners = {0}, nodes = {0}, limiters = {0};
        gather_owners(&owners, q, n);
        gather_nodes(&nodes, q, n);
        sums_add(&limiters, answer_to(q, n, QUERY_LIMITERS), SUM_BY_LIMITER, SUM_FIELD(held));
        switch (view) {
        case FLEET_OVERVIEW:
                summary_table(c, &nodes, &owners, answer_to(q, n, QUERY_FLEET_NODES));
                owners_table(c, &owners, OVERVIEW_USERS);
                collect_reasons_table(c, &nodes);
                collect_limiters_table(c, &limiters, OVERVIEW_LIMITERS);
                health_table(c, answer_to(q, n, QUERY_HEALTHS));
                break;
        case FLEET_USERS:
                owners_table(c, &owners, c->asked->rows);
                break;
        case FLEET_NODES:
                nodes_table(c, &nodes);
                break;
        case FLEET_WASTED:
                collect_reasons_table(c, &owners);
                waste_table(c, &owners);
                break;
        case FLEET_LIMITERS:
                collect_limiters_table(c, &limiters, LIMITER_COUNT + 1);
                break;
        case FLEET_HEALTH:
                health_table(c, answer_to(q, n, QUERY_HEALTHS));
                trouble_table(c, q, n);
                silent_table(c, &nodes);
                break;
        case FLEET_JOBS:
        case FLEET_VIEW_COUNT:
                break;
        }
        sums_finish(&owners);
        sums_finish(&nodes);
        sums_finish(&limiters);
}
