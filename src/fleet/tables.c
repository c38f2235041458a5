/* The tables of the views. */
#include "fleet/collect.h"
#include "model/limit.h"
#include "model/verdict.h"
#include "model/xid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT FLEET_UNIT_TEXT
#define COUNT FLEET_UNIT_COUNT
#define TIME FLEET_UNIT_SECONDS
#define RATIO FLEET_UNIT_RATIO

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

static const struct fleet_column owner_columns[] = {
    {"owner", "OWNER", TEXT, 18, false},
    {"kind", "KIND", TEXT, 10, true},
    {"account", "ACCOUNT", TEXT, 12, true},
    {"held_seconds", "HELD h", TIME, 9, false},
    {"observed", "SEEN %", RATIO, 6, false},
    {"real_util", "REAL %", RATIO, 6, false},
    {"wasted_seconds", "WASTED h", TIME, 9, false},
    {"wasted", "% HELD", RATIO, 6, false},
    {"reason", "MOSTLY", TEXT, 12, false},
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
        OWNER_REASON
};

static void gather_owners(struct fleet_sums *s, const struct question *q, size_t n)
{
        sums_add(s, answer_to(q, n, QUERY_USER_HELD), SUM_BY_OWNER, SUM_FIELD(held));
        sums_add(s, answer_to(q, n, QUERY_USER_OBSERVED), SUM_BY_OWNER, SUM_FIELD(observed));
        sums_add(s, answer_to(q, n, QUERY_USER_REAL), SUM_BY_OWNER, SUM_FIELD(real));
        sums_add_wasted(s, answer_to(q, n, QUERY_USER_WASTED), SUM_BY_OWNER);
}

static void put_use(struct fleet_cell *row, const struct fleet_sum *s)
{
        row[OWNER_HELD].v = s->held;
        row[OWNER_SEEN].v = ratio_of(s->observed, s->held);
        row[OWNER_REAL].v = ratio_of(s->real, s->observed);
        row[OWNER_WASTED].v = sum_wasted_value(s);
        row[OWNER_SHARE].v = ratio_of(sum_wasted_value(s), s->held);
        fleet_cell_text(&row[OWNER_REASON], sum_reason(s));
}

static void owners_table(struct collect *c, const struct fleet_sums *s, size_t rows)
{
        struct fleet_table *t = fleet_report_table(c->report, "owners", "By owner", owner_columns,
                                                   ARRAY_LEN(owner_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                const struct answer_series *who = &s->list[i].labels;
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                fleet_cell_text(&row[OWNER_NAME], owner_name_of(who));
                fleet_cell_text(&row[OWNER_KIND], answer_label(who, "kind"));
                fleet_cell_text(&row[OWNER_ACCOUNT], answer_label(who, "account"));
                put_use(row, &s->list[i]);
        }
        if (t)
                fleet_table_sort(t, OWNER_WASTED, rows);
}

/* --- by job --------------------------------------------------------------------------------------
 */

static const struct fleet_column job_columns[] = {
    {"job", "JOB", TEXT, 18, false},
    {"owner", "OWNER", TEXT, 12, false},
    {"account", "ACCOUNT", TEXT, 12, true},
    {"held_seconds", "HELD h", TIME, 9, false},
    {"observed", "SEEN %", RATIO, 6, false},
    {"real_util", "REAL %", RATIO, 6, false},
    {"wasted_seconds", "WASTED h", TIME, 9, false},
    {"wasted", "% HELD", RATIO, 6, true},
    {"reason", "MOSTLY", TEXT, 12, false},
};

void collect_jobs_table(struct collect *c, const struct fleet_sums *jobs)
{
        struct fleet_table *t =
            fleet_report_table(c->report, "jobs", "By job", job_columns, ARRAY_LEN(job_columns));
        for (size_t i = 0; t && i < jobs->n; i++) {
                char job[512];
                const struct answer_series *who = &jobs->list[i].labels;
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                job_name_of(who, job, sizeof(job));
                fleet_cell_text(&row[0], job);
                fleet_cell_text(&row[1], owner_name_of(who));
                fleet_cell_text(&row[2], answer_label(who, "account"));
                put_use(row, &jobs->list[i]);
        }
        if (t)
                fleet_table_sort(t, OWNER_WASTED, c->asked->rows);
}

/* --- by node -------------------------------------------------------------------------------------
 */

static const struct fleet_column node_columns[] = {
    {"node", "NODE", TEXT, 22, false},          {"gpus", "GPUS", COUNT, 5, false},
    {"answering", "UP", COUNT, 5, false},       {"held_now", "HELD NOW", COUNT, 8, false},
    {"observed", "SEEN %", RATIO, 6, false},    {"real_util", "REAL %", RATIO, 6, false},
    {"held_seconds", "HELD h", TIME, 9, false}, {"wasted_seconds", "WASTED h", TIME, 9, false},
    {"reason", "MOSTLY", TEXT, 12, false},
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
            {QUERY_NODE_REAL, SUM_FIELD(real)},
            {QUERY_FLEET_REAL, SUM_FIELD(real)},
            {QUERY_NODE_HELD, SUM_FIELD(held)},
            {QUERY_FLEET_HELD, SUM_FIELD(held)},
        };
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
                sums_add(s, answer_to(q, n, table[i].query), SUM_BY_NODE, table[i].field);
        sums_add_wasted(s, answer_to(q, n, QUERY_NODE_WASTED), SUM_BY_NODE);
        sums_add_wasted(s, answer_to(q, n, QUERY_FLEET_WASTED), SUM_BY_NODE);
}

static struct value time_of(const struct collect *c, struct value gpus)
{
        return value_there(gpus) ? value_ok(gpus.v * (double)c->terms.window_s) : gpus;
}

/* How many there are: those seen in the window, also when some of them tell nothing now. */
static struct value all_of(const struct fleet_sum *s)
{
        return value_there(s->known) && !(value_there(s->gpus) && s->gpus.v > s->known.v) ? s->known
                                                                                          : s->gpus;
}

static void nodes_table(struct collect *c, const struct fleet_sums *s)
{
        struct fleet_table *t = fleet_report_table(c->report, "nodes", "By node", node_columns,
                                                   ARRAY_LEN(node_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                const struct fleet_sum *n = &s->list[i];
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                fleet_cell_text(&row[0], n->key);
                row[1].v = all_of(n);
                row[2].v = value_there(n->gpus) ? n->up : value_ok(0);
                row[3].v = value_there(n->owned) ? n->owned : value_ok(0);
                row[4].v = ratio_of(n->observed, time_of(c, n->known));
                row[5].v = ratio_of(n->real, n->observed);
                row[6].v = n->held;
                row[7].v = sum_wasted_value(n);
                fleet_cell_text(&row[8], sum_reason(n));
        }
        if (t)
                fleet_table_sort(t, 7, c->asked->rows);
}

/* --- wasted
 * ---------------------------------------------------------------------------------------- */

static const struct fleet_column reason_columns[] = {
    {"reason", "REASON", TEXT, 12, false},
    {"wasted_seconds", "WASTED h", TIME, 10, false},
    {"share", "SHARE %", RATIO, 7, false},
    {"meaning", "", TEXT, 80, false},
};

void collect_reasons_table(struct collect *c, const struct fleet_sums *sums)
{
        struct fleet_table *t = fleet_report_table(c->report, "reasons", "Wasted, by reason",
                                                   reason_columns, ARRAY_LEN(reason_columns));
        double all[IDLE_REASON_COUNT] = {0}, total = 0;
        for (size_t i = 0; i < sums->n; i++) {
                for (enum idle_reason k = 0; k < IDLE_REASON_COUNT; k++)
                        all[k] += sums->list[i].wasted[k];
                total += sum_wasted(&sums->list[i]);
        }
        for (enum idle_reason k = 0; t && k < IDLE_REASON_COUNT; k++) {
                struct fleet_cell *row = all[k] > 0 ? fleet_table_row(t) : NULL;
                if (!row)
                        continue;
                fleet_cell_text(&row[0], idle_reason_name(k));
                row[1].v = value_ok(all[k]);
                row[2].v = ratio_of(value_ok(all[k]), value_ok(total));
                fleet_cell_text(&row[3], idle_reason_words(k));
        }
        if (t)
                fleet_table_sort(t, 1, IDLE_REASON_COUNT);
}

static const struct fleet_column waste_columns[] = {
    {"owner", "OWNER", TEXT, 16, false},
    {"account", "ACCOUNT", TEXT, 10, true},
    {"wasted_seconds", "WASTED h", TIME, 9, false},
    {"no_process_seconds", "NO PROC", TIME, 8, false},
    {"memory_held_seconds", "MEM HELD", TIME, 8, false},
    {"starved_seconds", "STARVED", TIME, 8, false},
    {"waiting_seconds", "WAITING", TIME, 8, false},
    {"starting_seconds", "STARTING", TIME, 8, false},
    {"unknown_seconds", "UNKNOWN", TIME, 8, false},
    {"unobserved_seconds", "UNSEEN h", TIME, 9, false},
};

static void waste_table(struct collect *c, const struct fleet_sums *s)
{
        static const enum idle_reason order[] = {IDLE_NO_PROCESS, IDLE_MEMORY_HELD, IDLE_STARVED,
                                                 IDLE_WAITING,    IDLE_STARTING,    IDLE_UNKNOWN};
        struct fleet_table *t = fleet_report_table(c->report, "owners", "Wasted, by owner",
                                                   waste_columns, ARRAY_LEN(waste_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                const struct fleet_sum *sum = &s->list[i];
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                fleet_cell_text(&row[0], owner_name_of(&sum->labels));
                fleet_cell_text(&row[1], answer_label(&sum->labels, "account"));
                row[2].v = sum_wasted_value(sum);
                for (size_t k = 0; k < ARRAY_LEN(order); k++)
                        row[3 + k].v = value_ok(sum->wasted[order[k]]);
                if (value_there(sum->held))
                        row[9].v = value_ok(MAX(sum->held.v - (value_or(sum->observed, 0)), 0.0));
        }
        if (t)
                fleet_table_sort(t, 2, c->asked->rows);
}

/* --- limiters, health
 * ---------------------------------------------------------------------------------- */

static const struct fleet_column limiter_columns[] = {
    {"limiter", "LIMITER", TEXT, 16, false},
    {"seconds", "GPU h", TIME, 10, false},
    {"share", "SHARE %", RATIO, 7, false},
    {"meaning", "", TEXT, 80, false},
};

void collect_limiters_table(struct collect *c, const struct fleet_sums *s, size_t rows)
{
        struct fleet_table *t = fleet_report_table(c->report, "limiters", "What limits the GPUs",
                                                   limiter_columns, ARRAY_LEN(limiter_columns));
        struct value total = value_missing(STATE_NONE);
        for (size_t i = 0; i < s->n; i++)
                value_add(&total, s->list[i].held);
        for (size_t i = 0; t && i < s->n; i++) {
                const struct fleet_sum *sum = &s->list[i];
                enum limiter limiter = limiter_find(sum->key);
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                fleet_cell_text(&row[0], sum->key);
                row[1].v = sum->held;
                row[2].v = ratio_of(sum->held, total);
                fleet_cell_text(&row[3], limiter < LIMITER_COUNT ? limiter_words(limiter) : "");
        }
        if (t)
                fleet_table_sort(t, 1, rows);
}

static const struct fleet_column health_columns[] = {
    {"health", "HEALTH", TEXT, 12, false},
    {"seconds", "GPU h", TIME, 10, false},
    {"share", "SHARE %", RATIO, 7, false},
};

static void health_table(struct collect *c, const struct answer *a)
{
        struct fleet_table *t = fleet_report_table(c->report, "health", "Health", health_columns,
                                                   ARRAY_LEN(health_columns));
        struct value total = value_missing(STATE_NONE);
        for (size_t i = 0; i < a->n; i++)
                value_add(&total, a->series[i].v);
        for (size_t i = 0; t && i < a->n; i++) {
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                fleet_cell_text(&row[0], answer_label(&a->series[i], "health"));
                row[1].v = a->series[i].v;
                row[2].v = ratio_of(a->series[i].v, total);
        }
        if (t)
                fleet_table_sort(t, 1, 16);
}

static const struct fleet_column trouble_columns[] = {
    {"node", "NODE", TEXT, 22, false},
    {"gpu", "GPU", TEXT, 5, false},
    {"finding", "FINDING", TEXT, 18, false},
    {"seconds", "FOR h", TIME, 8, false},
    {"count", "TIMES", COUNT, 6, false},
    {"meaning", "", TEXT, 56, false},
    {"uuid", "", TEXT, 40, true},
};

static const char *finding_words(const char *name)
{
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (strcmp(health_reason_name(f), name) == 0)
                        return health_reason_text(f);
        }
        return "";
}

static struct fleet_cell *trouble_row(struct fleet_table *t, const struct answer_series *s,
                                      const char *finding, const char *words)
{
        char gpu[64];
        struct fleet_cell *row = fleet_table_row(t);
        if (!row)
                return NULL;
        const char *gi = answer_label(s, "gi");
        snprintf(gpu, sizeof(gpu), "%s%s%s", answer_label(s, "gpu"), gi[0] ? "/" : "", gi);
        fleet_cell_text(&row[0], answer_label(s, "instance"));
        fleet_cell_text(&row[1], gpu);
        fleet_cell_text(&row[2], finding);
        fleet_cell_text(&row[5], words);
        fleet_cell_text(&row[6], answer_label(s, "uuid"));
        return row;
}

static void trouble_table(struct collect *c, const struct question *q, size_t n)
{
        const struct answer *down = answer_to(q, n, QUERY_DOWN),
                            *gone = answer_to(q, n, QUERY_GONE),
                            *found = answer_to(q, n, QUERY_FINDINGS),
                            *xids = answer_to(q, n, QUERY_XIDS);
        struct fleet_table *t = fleet_report_table(c->report, "findings", "GPUs with findings",
                                                   trouble_columns, ARRAY_LEN(trouble_columns));
        if (!t)
                return;
        for (size_t i = 0; i < down->n; i++)
                trouble_row(t, &down->series[i], "down", "the GPU does not answer now");
        for (size_t i = 0; i < gone->n; i++)
                trouble_row(t, &gone->series[i], "gone",
                            "the node tells of it no more: lost, or taken out");
        for (size_t i = 0; i < found->n; i++) {
                const char *name = answer_label(&found->series[i], "finding");
                struct fleet_cell *row =
                    trouble_row(t, &found->series[i], name, finding_words(name));
                if (row)
                        row[3].v = found->series[i].v;
        }
        for (size_t i = 0; i < xids->n; i++) {
                char name[32];
                const char *number = answer_label(&xids->series[i], "xid");
                snprintf(name, sizeof(name), "XID %.16s", number);
                const struct xid_info *xid = xid_info((uint32_t)atoi(number));
                struct fleet_cell *row = trouble_row(
                    t, &xids->series[i], name, xid ? xid->text : "errors that the driver reported");
                if (row)
                        row[4].v = xids->series[i].v;
        }
}

static const struct fleet_column silent_columns[] = {
    {"node", "NODE", TEXT, 22, false},
    {"gpus", "GPUS", COUNT, 5, false},
};

static void silent_table(struct collect *c, const struct fleet_sums *s)
{
        struct fleet_table *t = fleet_report_table(c->report, "silent", "Nodes without news",
                                                   silent_columns, ARRAY_LEN(silent_columns));
        for (size_t i = 0; t && i < s->n; i++) {
                struct fleet_cell *row = value_there(s->list[i].gpus) ? NULL : fleet_table_row(t);
                if (!row)
                        continue;
                fleet_cell_text(&row[0], s->list[i].key);
                row[1].v = s->list[i].known;
        }
        if (t)
                fleet_table_sort(t, 1, c->asked->rows);
        if (t && t->n_rows == 0 && t > c->report->tables && t[-1].n_rows == 0)
                fleet_report_notice(c->report, "no problems found");
}

/* --- the fleet in one row
 * -------------------------------------------------------------------------------- */

static const struct fleet_column summary_columns[] = {
    {"gpus", "GPUs", COUNT, 0, false},
    {"nodes", "nodes", COUNT, 0, false},
    {"answering", "GPUs that answer", COUNT, 0, false},
    {"held_now", "GPUs held now", COUNT, 0, false},
    {"window_seconds", "capacity of the window", TIME, 0, false},
    {"observed", "of the capacity observed", RATIO, 0, false},
    {"held_seconds", "held", TIME, 0, false},
    {"held", "of the capacity held", RATIO, 0, false},
    {"real_util", "Real Utilization", RATIO, 0, false},
    {"wasted_seconds", "wasted", TIME, 0, false},
    {"wasted", "of what was held wasted", RATIO, 0, false},
    {"unattributed_seconds", "held by owners not known", TIME, 0, false},
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
                if (owner_name_of(&owners->list[i].labels)[0] && value_there(owners->list[i].held))
                        held += owners->list[i].held.v;
        }
        return held;
}

static void tell_coverage(struct collect *c, const struct fleet_sum *all)
{
        struct value seen = ratio_of(all->observed, time_of(c, all->known));
        if (value_there(seen) && seen.v < 1 - UNSEEN_SHARE)
                fleet_report_notice(c->report,
                                    "%.1f %% of the GPU time in the window was not observed: it "
                                    "counts as neither used nor wasted",
                                    (1 - seen.v) * 100);
        if (!value_there(all->gpus))
                fleet_report_notice(c->report, "no GPU reports at the window's end: what is shown "
                                               "is old");
        else if (value_there(all->up) && all_of(all).v > all->up.v)
                fleet_report_notice(c->report,
                                    "%.0f of %.0f GPUs or slices of the window do not answer now: "
                                    "'assay fleet health' tells which are missed",
                                    all_of(all).v - all->up.v, all_of(all).v);
}

static void summary_table(struct collect *c, const struct fleet_sums *nodes,
                          const struct fleet_sums *owners, const struct answer *n_nodes)
{
        struct fleet_sum all = total_of(nodes);
        struct fleet_table *t = fleet_report_table(c->report, "fleet", "Fleet", summary_columns,
                                                   ARRAY_LEN(summary_columns));
        struct fleet_cell *row = t ? fleet_table_row(t) : NULL;
        if (!row)
                return;
        t->card = true;
        row[0].v = all_of(&all);
        row[1].v = n_nodes->n > 0 ? n_nodes->series[0].v : value_missing(STATE_NONE);
        row[2].v = all.up;
        row[3].v = value_there(all.gpus) && !value_there(all.owned) ? value_ok(0) : all.owned;
        row[4].v = time_of(c, all.known);
        row[5].v = ratio_of(all.observed, row[4].v);
        row[6].v = all.held;
        row[7].v = ratio_of(all.held, row[4].v);
        row[8].v = ratio_of(all.real, all.observed);
        row[9].v = sum_wasted_value(&all);
        row[10].v = ratio_of(row[9].v, all.held);
        if (value_there(all.held))
                row[11].v = value_ok(MAX(all.held.v - held_by_known(owners), 0.0));
        tell_coverage(c, &all);
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
