/* One job from the engine alone. */
#include "base/clock.h"
#include "base/text.h"
#include "fleet/collect.h"
#include "net/ask.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CARD_NODES_MAX 8192
#define JOULES_A_KWH 3.6e6
/* A selection of nodes is in a question ten times, and VictoriaMetrics takes 16 KiB of one. */
#define PART_BYTES 1000

static const struct doc_column card_columns[] = {
    COLUMN("job", "job", TEXT, 0, 0),
    COLUMN("kind", "kind", TEXT, 0, 0),
    COLUMN("owner", "owner", TEXT, 0, 0),
    COLUMN("account", "account", TEXT, 0, 0),
    COLUMN("partition", "partition", TEXT, 0, 0),
    COLUMN("gpus", "GPUs", COUNT, 0, 0),
    COLUMN("nodes", "nodes", COUNT, 0, 0),
    COLUMN("begin", "first seen", TIME, 0, 0),
    COLUMN("end", "last seen", TIME, 0, 0),
    COLUMN("held_seconds", "held", GPU_HOURS, 0, 0),
    COLUMN("observed", "of that observed", RATIO, 0, 0),
    COLUMN("real_util", "Real Utilization", RATIO, 0, 0),
    COLUMN("wasted_seconds", "wasted", GPU_HOURS, 0, 0),
    COLUMN("wasted", "of what was held", RATIO, 0, 0),
    COLUMN("energy_j", "energy", ENERGY, 0, 0),
    COLUMN("co2_g", "grams of CO2 of that energy", COUNT, 0, DOC_MINOR),
    COLUMN("cpu_energy_j", "energy of its nodes' processors", ENERGY, 0, DOC_MINOR),
    COLUMN("node_energy_j", "energy of its whole nodes", ENERGY, 0, DOC_MINOR),
    COLUMN("node_co2_g", "grams of CO2 of the whole nodes", COUNT, 0, DOC_MINOR),
    COLUMN("goodput", "at work", RATIO, 0, 0),
};

static const struct doc_column ledger_columns[] = {
    COLUMN("part", "PART", TEXT, 12, 0),
    COLUMN("seconds", "GPU h", GPU_HOURS, 10, 0),
    COLUMN("share", "SHARE %", RATIO, 7, 0),
    COLUMN("meaning", "", TEXT, 80, 0),
};

static const struct doc_column gpu_columns[] = {
    COLUMN("node", "NODE", TEXT, 22, 0),
    COLUMN("gpu", "GPU", TEXT, 5, 0),
    COLUMN("held_seconds", "HELD h", GPU_HOURS, 9, 0),
    COLUMN("observed", "SEEN %", RATIO, 6, 0),
    COLUMN("real_util", "REAL", RATIO, 6, 0),
    COLUMN("wasted_seconds", "WASTED h", GPU_HOURS, 9, 0),
    COLUMN("reason", "MOSTLY", TEXT, 12, 0),
    COLUMN("cluster", "CLUSTER", TEXT, 10, DOC_MINOR),
};

struct card {
        struct collect c;
        const char *owner; /* the requested owner, not terminated; NULL for any */
        int owner_len;
        const char *job;
        struct question stays;
        struct strbuf owners;          /* a selection */
        struct fleet_sums nodes, gpus; /* where it ran */
        struct value begin, end;
};

static int no_such_job(const struct card *k, struct err *err)
{
        err_set(err, ERR_USAGE, "'%s' has no job '%.*s%s%s' in this window", k->c.report->engine,
                k->owner_len, k->owner ? k->owner : "", k->owner ? "/" : "", k->job);
        return err_hint(err, "a longer --window looks further back; 'assay fleet jobs' lists the "
                             "largest");
}

static int many_owners(const struct card *k, const char *one, const char *other, struct err *err)
{
        err_set(err, ERR_USAGE, "job '%s' is of several owners in this window: '%s' and '%s'",
                k->job, one, other);
        return err_hint(err, "name one: 'assay fleet job %s/%s'", one, k->job);
}

static int many_clusters(const struct card *k, const char *one, const char *other, struct err *err)
{
        err_set(err, ERR_USAGE, "job '%s' is in several clusters in this window: '%s' and '%s'",
                k->job, one, other);
        return err_hint(err, "name one: --cluster %s", one[0] ? one : other);
}

static bool is_asked_for(const struct card *k, const struct answer_series *s)
{
        const char *name = owner_name_of(s);
        return !k->owner || (strlen(name) == (size_t)k->owner_len &&
                             strncmp(name, k->owner, (size_t)k->owner_len) == 0);
}

/* {exported_job="4711",user="ada"}, where others have a job of this name. */
static void select_owner(struct card *k, const struct answer_series *who)
{
        static const char *const labels[] = {"user", "exported_namespace", "namespace"};
        size_t i = 0;
        while (i + 1 < ARRAY_LEN(labels) && !answer_label(who, labels[i])[0])
                i++;
        strbuf_putf(&k->owners, ",%s=\"", labels[i]);
        query_put_escaped(&k->owners, answer_label(who, labels[i]));
        strbuf_puts(&k->owners, "\"");
}

/* Keeps the stays of the requested owner; returns how many were dropped. */
static size_t keep_asked(const struct card *k, struct answer *a)
{
        size_t kept = 0, all = a->n;
        for (size_t i = 0; i < all; i++) {
                if (is_asked_for(k, &a->series[i]))
                        a->series[kept++] = a->series[i];
        }
        a->n = kept;
        return all - kept;
}

/*
 * Clusters and namespaces number and name their jobs each for itself: a card is of one owner's.
 * Takes the answer that has them, and its selection.
 */
static int choose_stays(struct card *k, struct question *q, struct strbuf *texts, size_t n,
                        struct err *err)
{
        const struct answer_series *chosen = NULL;
        size_t others = 0, at = n;
        for (size_t i = n; i-- > 0;) {
                size_t dropped = keep_asked(k, &q[i].answer);
                for (size_t s = 0; s < q[i].answer.n; s++) {
                        const struct answer_series *one = &q[i].answer.series[s];
                        if (chosen && strcmp(owner_name_of(chosen), owner_name_of(one)) != 0)
                                return many_owners(k, owner_name_of(chosen), owner_name_of(one),
                                                   err);
                        if (chosen && strcmp(answer_label(chosen, "cluster"),
                                             answer_label(one, "cluster")) != 0)
                                return many_clusters(k, answer_label(chosen, "cluster"),
                                                     answer_label(one, "cluster"), err);
                        chosen = one;
                        others = dropped;
                        at = i;
                }
        }
        if (!chosen)
                return no_such_job(k, err);
        strbuf_put(&k->owners, strbuf_str(&texts[at]), texts[at].len - 1);
        if (others > 0)
                select_owner(k, chosen);
        strbuf_puts(&k->owners, "}");
        k->c.terms.owners = strbuf_str(&k->owners);
        k->stays.answer = q[at].answer;
        q[at].answer = (struct answer){0};
        return 1;
}

static void put_filter(struct strbuf *out, const struct strbuf *selection)
{
        if (selection->len > 0)
                strbuf_putc(out, ',');
        strbuf_put(out, selection->s, selection->len);
}

/* Which label has the job's name: that depends on how the series came into the engine. */
static int find_stays(struct card *k, struct err *err)
{
        static const char *const selections[] = {
            "{exported_job=\"%s\"}", "{kind=~\"slurm|kubernetes\",job=\"%s\"}",
            "{exported_pod=\"%s\"}", "{kind=\"kubernetes\",pod=\"%s\"}"};
        struct query_terms terms[ARRAY_LEN(selections)];
        struct question q[ARRAY_LEN(selections)];
        struct strbuf texts[ARRAY_LEN(selections)] = {0}, name = {0};
        query_put_escaped(&name, k->job);
        for (size_t i = 0; i < ARRAY_LEN(selections); i++) {
                const char *hole = strstr(selections[i], "%s");
                strbuf_put(&texts[i], selections[i], (size_t)(hole - selections[i]));
                strbuf_put(&texts[i], strbuf_str(&name), name.len);
                strbuf_put(&texts[i], hole + 2, strlen(hole + 2) - 1);
                put_filter(&texts[i], &k->c.filter.gpus);
                put_filter(&texts[i], &k->c.filter.who);
                strbuf_putc(&texts[i], '}');
                terms[i] = k->c.terms;
                terms[i].owners = strbuf_str(&texts[i]);
                q[i] = (struct question){.query = QUERY_CARD_STAYS, .terms = &terms[i]};
        }
        int r = question_send(k->c.fleet, &k->c.terms, k->c.at_s, q, ARRAY_LEN(q), err);
        if (r > 0)
                r = choose_stays(k, q, texts, ARRAY_LEN(q), err);
        question_finish(q, ARRAY_LEN(q));
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                strbuf_finish(&texts[i]);
        strbuf_finish(&name);
        return r;
}

static void find_places(struct card *k)
{
        sums_add(&k->nodes, &k->stays.answer, SUM_BY_NODE, SUM_FIELD(held));
        sums_add(&k->gpus, &k->stays.answer, SUM_BY_UUID, SUM_FIELD(held));
        if (k->nodes.n > CARD_NODES_MAX)
                fleet_report_notice(k->c.report, FLEET_NODES_CUT, (double)k->nodes.n,
                                    CARD_NODES_MAX);
}

/* instance=~"a|b": some nodes from *at on. Everything else is asked of these alone. */
static void write_part(const struct card *k, size_t *at, struct strbuf *out)
{
        const char *cluster = answer_label(&k->stays.answer.series[0], "cluster");
        if (cluster[0]) {
                strbuf_puts(out, "cluster=\"");
                query_put_escaped(out, cluster);
                strbuf_puts(out, "\",");
        }
        strbuf_puts(out, "instance=~\"");
        for (const char *sep = "";
             *at < MIN(k->nodes.n, (size_t)CARD_NODES_MAX) && out->len < PART_BYTES; sep = "|") {
                strbuf_puts(out, sep);
                query_put_literal(out, answer_label(&k->nodes.list[(*at)++].labels, "instance"));
        }
        strbuf_puts(out, "\"");
}

/* The window becomes the job's own, so that little is asked. */
static int narrow_window(struct card *k, struct err *err)
{
        struct question q[] = {{.query = QUERY_CARD_BEGIN}, {.query = QUERY_CARD_END}};
        int r = question_send(k->c.fleet, &k->c.terms, k->c.at_s, q, ARRAY_LEN(q), err);
        if (r > 0 && q[0].answer.n > 0 && value_is_set(q[0].answer.series[0].v)) {
                k->begin = q[0].answer.series[0].v;
                k->end = q[1].answer.n > 0 ? q[1].answer.series[0].v : k->begin;
                int64_t to = MIN((int64_t)k->end.v + 1200, k->c.at_s);
                int64_t window = MAX(to - (int64_t)k->begin.v + 600, (int64_t)300);
                window = MIN(window, k->c.terms.window_s + 1200);
                int64_t step = query_step_s(window);
                k->c.at_s = to;
                k->c.terms.step_s = step;
                k->c.terms.window_s = (window + step - 1) / step * step;
        }
        /* Engines look at whole steps: the one that is not over counts. */
        k->c.at_s = (k->c.at_s + k->c.terms.step_s - 1) / k->c.terms.step_s * k->c.terms.step_s;
        question_finish(q, ARRAY_LEN(q));
        return r;
}

static void make_gpu_key(const struct answer_series *s, char *ret, size_t size)
{
        const char *gi = answer_label(s, "gi");
        snprintf(ret, size, "%s%s%s", answer_label(s, "gpu"), gi[0] ? "/" : "", gi);
}

static void gpus_table(struct card *k, const struct fleet_sums *gpus)
{
        struct doc_part *t = document_add(&k->c.report->tables, DOC_ROWS, "gpus", "By GPU",
                                          gpu_columns, ARRAY_LEN(gpu_columns));
        for (size_t i = 0; t && i < gpus->n; i++) {
                const struct fleet_sum *s = &gpus->list[i];
                char gpu[64];
                struct doc_cell *row = doc_add_row(&k->c.report->tables, t);
                if (!row)
                        return;
                make_gpu_key(&s->labels, gpu, sizeof(gpu));
                doc_cell_text(&row[0], answer_label(&s->labels, "instance"));
                doc_cell_text(&row[1], gpu);
                row[2].v = s->held;
                row[3].v = ratio_of(sum_seen(s), s->held);
                row[4].v = ratio_of(s->real, s->observed);
                row[5].v = sum_wasted_value(s);
                doc_cell_text(&row[6], sum_reason(s));
                doc_cell_text(&row[7], answer_label(&s->labels, "cluster"));
        }
        if (t)
                doc_sort(t, 5, k->c.asked->rows);
}

/* In joules. That of the nodes is all that they used while the job held a GPU of theirs. */
struct card_energy {
        struct value gpus, cpus, nodes;
        size_t n_cpus, n_nodes; /* nodes that report them */
};

static struct value co2_of(const struct card *k, struct value joules)
{
        double factor = k->c.asked->co2_g_per_kwh;
        if (!(factor > 0) || !value_is_set(joules))
                return value_missing(STATE_NONE);
        return value_ok(joules.v / JOULES_A_KWH * factor);
}

static struct fleet_sum sum_of_gpus(const struct fleet_sums *gpus)
{
        struct fleet_sum all = {0};
        for (size_t i = 0; i < gpus->n; i++) {
                value_add(&all.held, gpus->list[i].held);
                value_add(&all.observed, gpus->list[i].observed);
                value_add(&all.idle_unobserved, gpus->list[i].idle_unobserved);
                value_add(&all.real, gpus->list[i].real);
                for (enum idle_reason r = 0; r < IDLE_REASON_COUNT; r++)
                        all.wasted[r] += gpus->list[i].wasted[r];
        }
        return all;
}

static void ledger_row(struct card *k, struct doc_part *t, const char *part, struct value seconds,
                       struct value held, const char *meaning)
{
        bool shown = value_is_set(seconds) && seconds.v > 0;
        struct doc_cell *row = shown ? doc_add_row(&k->c.report->tables, t) : NULL;
        if (!row)
                return;
        doc_cell_text(&row[0], part);
        row[1].v = seconds;
        row[2].v = ratio_of(seconds, held);
        doc_cell_text(&row[3], meaning);
}

/* Where the time went in which the job held its GPUs; it adds up to that time. */
static void ledger_table(struct card *k, const struct fleet_sum *all)
{
        struct doc_part *t = document_add(&k->c.report->tables, DOC_ROWS, "ledger",
                                          "Where the time that was held went", ledger_columns,
                                          ARRAY_LEN(ledger_columns));
        if (!t)
                return;
        ledger_row(k, t, "work", sum_worked(all), all->held, "seen, and not wasted");
        for (enum idle_reason r = 0; r < IDLE_REASON_COUNT; r++)
                ledger_row(k, t, idle_reason_name(r), value_ok(all->wasted[r]), all->held,
                           idle_reason_words(r));
        ledger_row(k, t, "unobserved", sum_unseen(all), all->held,
                   "the GPUs were not measured then");
}

static void card_table(struct card *k, const struct fleet_sum *all,
                       const struct card_energy *energy)
{
        const struct answer_series *who = &k->stays.answer.series[0];
        struct doc_part *t = document_add(&k->c.report->tables, DOC_CARD, "job", "Job",
                                          card_columns, ARRAY_LEN(card_columns));
        struct doc_cell *row = t ? doc_add_row(&k->c.report->tables, t) : NULL;
        char job[512];
        if (!row)
                return;
        job_name_of(who, job, sizeof(job));
        doc_cell_text(&row[0], job);
        doc_cell_text(&row[1], answer_label(who, "kind"));
        doc_cell_text(&row[2], owner_name_of(who));
        doc_cell_text(&row[3], answer_label(who, "account"));
        doc_cell_text(&row[4], answer_label(who, "partition"));
        row[5].v = value_ok((double)k->gpus.n);
        row[6].v = value_ok((double)k->nodes.n);
        row[7].v = k->begin;
        row[8].v = k->end;
        row[9].v = all->held;
        row[10].v = ratio_of(sum_seen(all), all->held);
        row[11].v = ratio_of(all->real, all->observed);
        row[12].v = sum_wasted_value(all);
        row[13].v = ratio_of(row[12].v, all->held);
        row[14].v = energy->gpus;
        row[15].v = co2_of(k, energy->gpus);
        row[16].v = energy->cpus;
        row[17].v = energy->nodes;
        row[18].v = co2_of(k, energy->nodes);
        row[19].v = ratio_of(sum_worked(all), all->held);
}

/* What the card is made of. */
struct card_sums {
        struct fleet_sums gpus, limiters;
        struct card_energy energy;
};

static void add_node_energy(struct card_energy *e, const struct answer *a)
{
        for (size_t i = 0; i < a->n; i++) {
                const char *part = answer_label(&a->series[i], "part");
                bool cpu = strcmp(part, "cpu") == 0;
                if (!cpu && strcmp(part, "node") != 0)
                        continue;
                value_add(cpu ? &e->cpus : &e->nodes, a->series[i].v);
                (*(cpu ? &e->n_cpus : &e->n_nodes))++;
        }
}

/* The sum of some nodes is not that of all of them. */
static void drop_partial(const struct card *k, struct card_energy *e)
{
        if (e->n_cpus < k->nodes.n)
                e->cpus = value_missing(STATE_NONE);
        if (e->n_nodes < k->nodes.n)
                e->nodes = value_missing(STATE_NONE);
}

static int query_part(struct card *k, struct card_sums *s, struct err *err)
{
        struct question q[] = {{.query = QUERY_CARD_HELD},
                               {.query = QUERY_CARD_OBSERVED},
                               {.query = QUERY_CARD_REAL},
                               {.query = QUERY_CARD_WASTED},
                               {.query = QUERY_CARD_LIMITERS},
                               {.query = QUERY_CARD_ENERGY},
                               {.query = QUERY_CARD_IDLE_UNOBSERVED},
                               {.query = QUERY_CARD_NODE_ENERGY}};
        int r = question_send(k->c.fleet, &k->c.terms, k->c.at_s, q, ARRAY_LEN(q), err);
        if (r > 0) {
                sums_add(&s->gpus, &q[0].answer, SUM_BY_GPU, SUM_FIELD(held));
                sums_add(&s->gpus, &q[1].answer, SUM_BY_GPU, SUM_FIELD(observed));
                sums_add(&s->gpus, &q[2].answer, SUM_BY_GPU, SUM_FIELD(real));
                sums_add_wasted(&s->gpus, &q[3].answer, SUM_BY_GPU);
                sums_bound_wasted(&s->gpus);
                sums_add(&s->limiters, &q[4].answer, SUM_BY_LIMITER, SUM_FIELD(held));
                sums_add(&s->gpus, &q[6].answer, SUM_BY_GPU, SUM_FIELD(idle_unobserved));
                for (size_t i = 0; i < q[5].answer.n; i++)
                        value_add(&s->energy.gpus, q[5].answer.series[i].v);
                add_node_energy(&s->energy, &q[7].answer);
        }
        question_finish(q, ARRAY_LEN(q));
        return r;
}

static int query_card(struct card *k, struct err *err)
{
        struct card_sums s = {0};
        int r = 1;
        for (size_t at = 0; r > 0 && at < MIN(k->nodes.n, (size_t)CARD_NODES_MAX);) {
                struct strbuf part = {0};
                write_part(k, &at, &part);
                k->c.terms.gpus = strbuf_str(&part);
                r = query_part(k, &s, err);
                strbuf_finish(&part);
        }
        if (r > 0) {
                const struct fleet_sum all = sum_of_gpus(&s.gpus);
                drop_partial(k, &s.energy);
                card_table(k, &all, &s.energy);
                ledger_table(k, &all);
                collect_reasons_table(&k->c, &s.gpus);
                collect_limiters_table(&k->c, &s.limiters, 8);
                gpus_table(k, &s.gpus);
        }
        sums_finish(&s.gpus);
        sums_finish(&s.limiters);
        return r;
}

int fleet_collect_job(struct fleet *f, const char *job, const struct fleet_asked *asked,
                      struct fleet_report *ret, struct err *err)
{
        struct fleet_report report;
        const char *slash = strchr(job, '/');
        struct card k = {.job = slash ? slash + 1 : job,
                         .owner = slash ? job : NULL,
                         .owner_len = slash ? (int)(slash - job) : 0};
        int64_t begun = clock_mono_ns();
        int r = collect_begin(&k.c, f, asked, &report, err);
        report.what = "job";
        /* A long window has long steps: of those the last would be left out. */
        k.c.at_s = asked->to_ns / NS_PER_S;
        report.to_ns = k.c.at_s * NS_PER_S;
        if (r == 0)
                r = find_stays(&k, err);
        if (r > 0) {
                find_places(&k);
                r = narrow_window(&k, err);
        }
        if (r > 0)
                r = query_card(&k, err);
        question_finish(&k.stays, 1);
        strbuf_finish(&k.owners);
        collect_finish(&k.c);
        sums_finish(&k.nodes);
        sums_finish(&k.gpus);
        report.took_ns = clock_mono_ns() - begun;
        if (r > 0)
                *ret = report;
        else
                fleet_report_finish(&report);
        return r;
}
