#include "fleet/collect.h"

#include "base/clock.h"
#include "read/prometheus/ask.h"

#include <stdio.h>
#include <string.h>

#define QUESTIONS_MAX 16
/* The rules are believed when they ran nearly always in the window. */
#define RECORDED_SHARE 0.9
#define RULE_STEP_S 300
#define JOB_FILTER_MAX 256
#define NEWEST_BACK_S (7 * 86400)

void collect_begin(struct collect *c, struct fleet *f, const struct fleet_asked *asked,
                   struct fleet_report *report)
{
        int64_t window = MAX(asked->window_ns / NS_PER_S, (int64_t)60);
        int64_t step = query_step_s(window);
        window = (window + step - 1) / step * step;
        *c = (struct collect){.fleet = f, .asked = asked, .report = report};
        c->terms = (struct query_terms){
            .window_s = window, .step_s = step, .rows = asked->rows, .gpus = "", .owners = ""};
        c->at_s = asked->to_ns / NS_PER_S / step * step;
        *report = (struct fleet_report){.from_ns = (c->at_s - window) * NS_PER_S,
                                        .to_ns = c->at_s * NS_PER_S};
        if (f)
                snprintf(report->engine, sizeof(report->engine), "%s", ask_shown(f->ask));
}

int collect_prepare(struct collect *c, struct err *err)
{
        struct question q = {.query = QUERY_RECORDED};
        if (c->terms.window_s < 2 * RULE_STEP_S)
                return 1;
        int r = question_ask(c->fleet, &c->terms, c->at_s, &q, 1, err);
        double want = (double)(c->terms.window_s / RULE_STEP_S);
        if (r > 0 && q.answer.n > 0 && value_there(q.answer.series[0].v)) {
                double have = q.answer.series[0].v.v;
                c->terms.recorded = have >= RECORDED_SHARE * want;
                if (c->terms.recorded && have < want - 1)
                        fleet_report_notice(c->report,
                                            "the recording rules ran %.0f of %.0f times: what "
                                            "was missed counts as not observed",
                                            have, want);
        }
        c->report->recorded = c->terms.recorded;
        question_finish(&q, 1);
        return r;
}

/* QUESTIONS(view, …): in the order of their cost, the dearest first. */
size_t collect_questions(enum fleet_view view, struct question *ret, size_t max)
{
#define OWNERS QUERY_USER_HELD, QUERY_USER_WASTED, QUERY_USER_OBSERVED, QUERY_USER_REAL
#define NODES QUERY_NODE_HELD, QUERY_NODE_WASTED, QUERY_NODE_OBSERVED, QUERY_NODE_REAL
        static const enum query lists[FLEET_VIEW_COUNT][QUESTIONS_MAX] = {
            [FLEET_OVERVIEW] = {OWNERS, QUERY_FLEET_HELD, QUERY_FLEET_WASTED, QUERY_FLEET_OBSERVED,
                                QUERY_FLEET_REAL, QUERY_LIMITERS, QUERY_HEALTHS, QUERY_FLEET_KNOWN,
                                QUERY_FLEET_NODES, QUERY_FLEET_GPUS, QUERY_FLEET_UP,
                                QUERY_FLEET_OWNED, QUERY_COUNT},
            [FLEET_USERS] = {OWNERS, QUERY_COUNT},
            [FLEET_JOBS] = {QUERY_JOBS_BY_WASTE, QUERY_JOBS_BY_TIME, QUERY_COUNT},
            [FLEET_NODES] = {NODES, QUERY_NODE_KNOWN, QUERY_NODE_GPUS, QUERY_NODE_UP,
                             QUERY_NODE_OWNED, QUERY_COUNT},
            [FLEET_WASTED] = {OWNERS, QUERY_COUNT},
            [FLEET_LIMITERS] = {QUERY_LIMITERS, QUERY_COUNT},
            [FLEET_HEALTH] = {QUERY_FINDINGS, QUERY_XIDS, QUERY_HEALTHS, QUERY_NODE_KNOWN,
                              QUERY_NODE_NOW, QUERY_DOWN, QUERY_COUNT},
        };
        size_t n = 0;
        while (n < max && lists[view][n] != QUERY_COUNT) {
                ret[n] = (struct question){.query = lists[view][n]};
                n++;
        }
        return n;
}

/* exported_job=~"1|2", of the jobs that were found: what is asked next is about these alone. */
static void write_job_filter(const struct question *q, size_t n, struct strbuf *out)
{
        static const char *const names[] = {"exported_job", "job", "exported_pod", "pod"};
        const char *label = NULL;
        size_t written = 0;
        for (size_t k = 0; k < ARRAY_LEN(names) && !label; k++) {
                for (size_t i = 0; i < n && !label; i++) {
                        for (size_t s = 0; s < q[i].answer.n && !label; s++) {
                                if (answer_label(&q[i].answer.series[s], names[k])[0])
                                        label = names[k];
                        }
                }
        }
        if (!label)
                return;
        strbuf_putf(out, "{%s=~\"", label);
        for (size_t i = 0; i < n; i++) {
                for (size_t s = 0; s < q[i].answer.n && written < JOB_FILTER_MAX; s++) {
                        const char *job = answer_label(&q[i].answer.series[s], label);
                        if (!job[0])
                                continue;
                        strbuf_puts(out, written++ ? "|" : "");
                        query_put_literal(out, job);
                }
        }
        strbuf_puts(out, "\"}");
}

/* The jobs of two lists, the most wasteful and the longest, in full. */
static int collect_jobs(struct collect *c, struct question *found, size_t n, struct err *err)
{
        struct question q[] = {{.query = QUERY_JOB_HELD},
                               {.query = QUERY_JOB_OBSERVED},
                               {.query = QUERY_JOB_REAL},
                               {.query = QUERY_JOB_WASTED}};
        struct strbuf filter = {0};
        struct fleet_sums jobs = {0};
        struct query_terms terms = c->terms;
        write_job_filter(found, n, &filter);
        terms.owners = strbuf_str(&filter);
        int r = filter.len > 0 ? question_ask(c->fleet, &terms, c->at_s, q, ARRAY_LEN(q), err) : 1;
        if (r > 0) {
                sums_add(&jobs, &q[0].answer, SUM_BY_JOB, SUM_FIELD(held));
                sums_add(&jobs, &q[1].answer, SUM_BY_JOB, SUM_FIELD(observed));
                sums_add(&jobs, &q[2].answer, SUM_BY_JOB, SUM_FIELD(real));
                sums_add_wasted(&jobs, &q[3].answer, SUM_BY_JOB);
                collect_jobs_table(c, &jobs);
        }
        question_finish(q, ARRAY_LEN(q));
        sums_finish(&jobs);
        strbuf_finish(&filter);
        return r;
}

/* Nothing at all came: is it the wrong engine, or an old one? */
static int explain_nothing(struct collect *c, struct err *err)
{
        struct question q = {.query = QUERY_NEWEST};
        struct query_terms terms = c->terms;
        terms.window_s = NEWEST_BACK_S;
        terms.step_s = 3600;
        int r = question_ask(c->fleet, &terms, c->at_s, &q, 1, err);
        if (r > 0 && q.answer.n > 0 && value_there(q.answer.series[0].v)) {
                double age = (double)c->at_s - q.answer.series[0].v.v;
                fleet_report_notice(c->report,
                                    "no GPU reported in this window; the newest sample "
                                    "is %.1f h old",
                                    age / 3600);
        } else if (r > 0) {
                err_set(err, ERR_NO_SOURCE, "'%s' has no series of 'assay serve' in this window",
                        c->report->engine);
                r = err_hint(err, "does it scrape the nodes? look at its targets, and at "
                                  "docs/FLEET.md for the first ten minutes");
        }
        question_finish(&q, 1);
        return r;
}

static bool is_empty(const struct question *q, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (q[i].answer.n > 0)
                        return false;
        }
        return true;
}

int fleet_collect(struct fleet *f, enum fleet_view view, const struct fleet_asked *asked,
                  struct fleet_report *ret, struct err *err)
{
        struct question q[QUESTIONS_MAX] = {0};
        struct fleet_report report;
        struct collect c;
        int64_t begun = clock_mono_ns();
        collect_begin(&c, f, asked, &report);
        report.what = fleet_view_name(view);
        size_t n = collect_questions(view, q, ARRAY_LEN(q));
        int r = collect_prepare(&c, err);
        if (r > 0)
                r = question_ask(f, &c.terms, c.at_s, q, n, err);
        if (r > 0 && is_empty(q, n))
                r = explain_nothing(&c, err);
        if (r > 0 && view == FLEET_JOBS)
                r = collect_jobs(&c, q, n, err);
        else if (r > 0)
                collect_tables(&c, view, q, n);
        for (size_t i = 0; r > 0 && i < n; i++) {
                if (q[i].answer.warning)
                        fleet_report_notice(&report, "the engine warns: %s", q[i].answer.warning);
        }
        question_finish(q, n);
        report.took_ns = clock_mono_ns() - begun;
        if (r > 0)
                *ret = report;
        else
                fleet_report_finish(&report);
        return r;
}

void fleet_write_queries(enum fleet_view view, const struct fleet_asked *asked, bool recorded,
                         struct strbuf *out)
{
        struct question q[QUESTIONS_MAX] = {0};
        struct fleet_report report;
        struct collect c;
        collect_begin(&c, NULL, asked, &report);
        c.terms.recorded = recorded;
        size_t n = collect_questions(view, q, ARRAY_LEN(q));
        for (size_t i = 0; i < n; i++) {
                strbuf_putf(out, "# %s\n", query_name(q[i].query));
                query_write(q[i].query, &c.terms, out);
                strbuf_puts(out, "\n");
        }
}
