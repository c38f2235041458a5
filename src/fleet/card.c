/* One job from the engine alone. */
#include "base/clock.h"
#include "fleet/collect.h"
#include "read/prometheus/ask.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT FLEET_UNIT_TEXT
#define TIME FLEET_UNIT_SECONDS
#define RATIO FLEET_UNIT_RATIO
#define CARD_GPUS_MAX 4096

static const struct fleet_column card_columns[] = {
    {"job", "job", TEXT, 0, false},
    {"kind", "kind", TEXT, 0, false},
    {"owner", "owner", TEXT, 0, false},
    {"account", "account", TEXT, 0, false},
    {"partition", "partition", TEXT, 0, false},
    {"gpus", "GPUs", FLEET_UNIT_COUNT, 0, false},
    {"nodes", "nodes", FLEET_UNIT_COUNT, 0, false},
    {"begin", "first seen", FLEET_UNIT_TIME, 0, false},
    {"end", "last seen", FLEET_UNIT_TIME, 0, false},
    {"held_seconds", "held", TIME, 0, false},
    {"observed", "of that observed", RATIO, 0, false},
    {"real_util", "Real Utilization", RATIO, 0, false},
    {"wasted_seconds", "wasted", TIME, 0, false},
    {"wasted", "of what was held", RATIO, 0, false},
    {"energy_j", "energy", FLEET_UNIT_JOULES, 0, false},
};

static const struct fleet_column gpu_columns[] = {
    {"node", "NODE", TEXT, 22, false},          {"gpu", "GPU", TEXT, 5, false},
    {"held_seconds", "HELD h", TIME, 9, false}, {"observed", "SEEN %", RATIO, 6, false},
    {"real_util", "REAL %", RATIO, 6, false},   {"wasted_seconds", "WASTED h", TIME, 9, false},
    {"reason", "MOSTLY", TEXT, 12, false},
};

struct card {
        struct collect c;
        struct question stays;
        struct strbuf owners, gpus; /* selections */
        size_t n_gpus, n_nodes;
        struct value begin, end;
};

/* Which label has the job's name: that depends on how the series came into the engine. */
static int find_stays(struct card *k, const char *job, struct err *err)
{
        static const char *const selections[] = {
            "{exported_job=\"%s\"}", "{kind=~\"slurm|kubernetes\",job=\"%s\"}",
            "{exported_pod=\"%s\"}", "{kind=\"kubernetes\",pod=\"%s\"}"};
        struct query_terms terms[ARRAY_LEN(selections)];
        struct question q[ARRAY_LEN(selections)];
        struct strbuf texts[ARRAY_LEN(selections)] = {0}, name = {0};
        query_put_escaped(&name, job);
        for (size_t i = 0; i < ARRAY_LEN(selections); i++) {
                const char *hole = strstr(selections[i], "%s");
                strbuf_put(&texts[i], selections[i], (size_t)(hole - selections[i]));
                strbuf_put(&texts[i], strbuf_str(&name), name.len);
                strbuf_puts(&texts[i], hole + 2);
                terms[i] = k->c.terms;
                terms[i].owners = strbuf_str(&texts[i]);
                q[i] = (struct question){.query = QUERY_CARD_STAYS, .terms = &terms[i]};
        }
        int r = question_ask(k->c.fleet, &k->c.terms, k->c.at_s, q, ARRAY_LEN(q), err);
        for (size_t i = 0; r > 0 && i < ARRAY_LEN(q) && !k->stays.answer.root; i++) {
                if (q[i].answer.n == 0)
                        continue;
                k->stays.answer = q[i].answer;
                q[i].answer = (struct answer){0};
                strbuf_puts(&k->owners, strbuf_str(&texts[i]));
        }
        question_finish(q, ARRAY_LEN(q));
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                strbuf_finish(&texts[i]);
        strbuf_finish(&name);
        return r;
}

static bool seen_before(const struct answer *a, size_t at, const char *label, const char *more)
{
        for (size_t i = 0; i < at; i++) {
                if (strcmp(answer_label(&a->series[i], label),
                           answer_label(&a->series[at], label)) == 0 &&
                    strcmp(answer_label(&a->series[i], more), answer_label(&a->series[at], more)) ==
                        0)
                        return true;
        }
        return false;
}

/* uuid=~"a|b": everything else is asked of these GPUs alone. */
static void select_gpus(struct card *k)
{
        const struct answer *a = &k->stays.answer;
        strbuf_puts(&k->gpus, "uuid=~\"");
        for (size_t i = 0; i < a->n && i < CARD_GPUS_MAX; i++) {
                k->n_nodes += !seen_before(a, i, "instance", "instance");
                if (seen_before(a, i, "uuid", "gi"))
                        continue;
                strbuf_puts(&k->gpus, k->n_gpus++ ? "|" : "");
                query_put_literal(&k->gpus, answer_label(&a->series[i], "uuid"));
        }
        strbuf_puts(&k->gpus, "\"");
        k->c.terms.gpus = strbuf_str(&k->gpus);
        k->c.terms.owners = strbuf_str(&k->owners);
}

/* The window becomes the job's own, so that little is asked. */
static int narrow(struct card *k, struct err *err)
{
        struct question q[] = {{.query = QUERY_CARD_BEGIN}, {.query = QUERY_CARD_END}};
        int r = question_ask(k->c.fleet, &k->c.terms, k->c.at_s, q, ARRAY_LEN(q), err);
        if (r > 0 && q[0].answer.n > 0 && value_there(q[0].answer.series[0].v)) {
                k->begin = q[0].answer.series[0].v;
                k->end = q[1].answer.n > 0 ? q[1].answer.series[0].v : k->begin;
                int64_t to = MIN((int64_t)k->end.v + 1200, k->c.at_s);
                int64_t window = MAX(to - (int64_t)k->begin.v + 600, (int64_t)300);
                window = MIN(window, k->c.terms.window_s + 1200);
                int64_t step = query_step_s(window);
                k->c.at_s = (to + step - 1) / step * step;
                k->c.terms.step_s = step;
                k->c.terms.window_s = (window + step - 1) / step * step;
        }
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
        struct fleet_table *t =
            fleet_report_table(k->c.report, "gpus", "By GPU", gpu_columns, ARRAY_LEN(gpu_columns));
        for (size_t i = 0; t && i < gpus->n; i++) {
                const struct fleet_sum *s = &gpus->list[i];
                char gpu[64];
                struct fleet_cell *row = fleet_table_row(t);
                if (!row)
                        return;
                make_gpu_key(s->labels, gpu, sizeof(gpu));
                fleet_cell_text(&row[0], answer_label(s->labels, "instance"));
                fleet_cell_text(&row[1], gpu);
                row[2].v = s->held;
                row[3].v = ratio_of(s->observed, s->held);
                row[4].v = ratio_of(s->real, s->observed);
                row[5].v = sum_wasted_value(s);
                fleet_cell_text(&row[6], sum_reason(s));
        }
        if (t)
                fleet_table_sort(t, 5, k->c.asked->rows);
}

static void card_table(struct card *k, const struct fleet_sums *gpus, struct value energy)
{
        const struct answer_series *who = &k->stays.answer.series[0];
        struct fleet_table *t =
            fleet_report_table(k->c.report, "job", "Job", card_columns, ARRAY_LEN(card_columns));
        struct fleet_cell *row = t ? fleet_table_row(t) : NULL;
        struct fleet_sum all = {0};
        char job[512];
        if (!row)
                return;
        t->card = true;
        for (size_t i = 0; i < gpus->n; i++) {
                value_add(&all.held, gpus->list[i].held);
                value_add(&all.observed, gpus->list[i].observed);
                value_add(&all.real, gpus->list[i].real);
                for (enum idle_reason r = 0; r < IDLE_REASON_COUNT; r++)
                        all.wasted[r] += gpus->list[i].wasted[r];
        }
        job_name_of(who, job, sizeof(job));
        fleet_cell_text(&row[0], job);
        fleet_cell_text(&row[1], answer_label(who, "kind"));
        fleet_cell_text(&row[2], owner_name_of(who));
        fleet_cell_text(&row[3], answer_label(who, "account"));
        fleet_cell_text(&row[4], answer_label(who, "partition"));
        row[5].v = value_ok((double)k->n_gpus);
        row[6].v = value_ok((double)k->n_nodes);
        row[7].v = k->begin;
        row[8].v = k->end;
        row[9].v = all.held;
        row[10].v = ratio_of(all.observed, all.held);
        row[11].v = ratio_of(all.real, all.observed);
        row[12].v = sum_wasted_value(&all);
        row[13].v = ratio_of(row[12].v, all.held);
        row[14].v = energy;
}

static int ask_card(struct card *k, struct err *err)
{
        struct question q[] = {{.query = QUERY_CARD_HELD},     {.query = QUERY_CARD_OBSERVED},
                               {.query = QUERY_CARD_REAL},     {.query = QUERY_CARD_WASTED},
                               {.query = QUERY_CARD_LIMITERS}, {.query = QUERY_CARD_ENERGY}};
        struct fleet_sums gpus = {0};
        int r = question_ask(k->c.fleet, &k->c.terms, k->c.at_s, q, ARRAY_LEN(q), err);
        if (r > 0) {
                const struct answer *energy = &q[5].answer;
                sums_add(&gpus, &q[0].answer, SUM_BY_GPU, SUM_FIELD(held));
                sums_add(&gpus, &q[1].answer, SUM_BY_GPU, SUM_FIELD(observed));
                sums_add(&gpus, &q[2].answer, SUM_BY_GPU, SUM_FIELD(real));
                sums_add_wasted(&gpus, &q[3].answer, SUM_BY_GPU);
                card_table(k, &gpus,
                           energy->n > 0 ? energy->series[0].v : value_missing(STATE_NONE));
                collect_reasons_table(&k->c, &gpus);
                collect_limiters_table(&k->c, &q[4].answer, 8);
                gpus_table(k, &gpus);
        }
        question_finish(q, ARRAY_LEN(q));
        sums_finish(&gpus);
        return r;
}

int fleet_collect_job(struct fleet *f, const char *job, const struct fleet_asked *asked,
                      struct fleet_report *ret, struct err *err)
{
        struct fleet_report report;
        struct card k = {0};
        int64_t begun = clock_mono_ns();
        collect_begin(&k.c, f, asked, &report);
        report.what = "job";
        int r = find_stays(&k, job, err);
        if (r > 0 && k.stays.answer.n == 0) {
                err_set(err, ERR_USAGE, "'%s' has no job '%s' in this window", report.engine, job);
                r = err_hint(err, "a longer --window looks further back; 'assay fleet jobs' lists "
                                  "the largest");
        }
        if (r > 0) {
                select_gpus(&k);
                r = narrow(&k, err);
        }
        if (r > 0)
                r = ask_card(&k, err);
        question_finish(&k.stays, 1);
        strbuf_finish(&k.owners);
        strbuf_finish(&k.gpus);
        report.took_ns = clock_mono_ns() - begun;
        if (r > 0)
                *ret = report;
        else
                fleet_report_finish(&report);
        return r;
}
