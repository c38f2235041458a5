#include "fleet/collect.h"

#include "base/clock.h"
#include "net/ask.h"

#include <stdio.h>
#include <string.h>

#define QUESTIONS_MAX 24
/* The rules are believed when they ran nearly always in the window. */
#define RECORDED_SHARE 0.9
#define RULE_STEP_S 300
/* What is shown of an engine that has only just begun. */
#define FIRST_STEP_S 60
#define FIRST_WINDOW_S 900
/* Longer than a person likes to wait: then it is said what would help. */
#define SLOW_NS (2 * NS_PER_S)
#define JOB_FILTER_BYTES 8000 /* VictoriaMetrics takes questions of 16 KiB */
#define NEWEST_BACK_S (7 * 86400)

void collect_finish(struct collect *c)
{
        filter_finish(&c->filter);
        strbuf_finish(&c->owners);
}

/* Everything is asked with the filter's selections. */
static int apply_filter(struct collect *c, struct err *err)
{
        struct filter *f = &c->filter;
        int r = filter_init(f, &c->asked->filter, err);
        if (r < 0)
                return r;
        if (f->who.len > 0)
                strbuf_putf(&c->owners, "{%s}", strbuf_str(&f->who));
        c->terms.gpus = strbuf_str(&f->gpus);
        c->terms.owners = strbuf_str(&c->owners);
        c->terms.model = strbuf_str(&f->model);
        c->terms.rules = strbuf_str(&f->rules);
        return 0;
}

int collect_begin(struct collect *c, struct fleet *f, const struct fleet_asked *asked,
                  struct fleet_report *report, struct err *err)
{
        int64_t window = MAX(asked->window_ns / NS_PER_S, (int64_t)60);
        int64_t step = query_step_s(window);
        window = (window + step - 1) / step * step;
        *c = (struct collect){.fleet = f, .asked = asked, .report = report};
        c->terms = (struct query_terms){.window_s = window, .step_s = step, .rows = asked->rows};
        c->at_s = asked->to_ns / NS_PER_S / step * step;
        *report = (struct fleet_report){.from_ns = (c->at_s - window) * NS_PER_S,
                                        .to_ns = c->at_s * NS_PER_S};
        if (f)
                snprintf(report->engine, sizeof(report->engine), "%s", ask_shown(f->ask));
        return apply_filter(c, err);
}

/* Rules keep the sums of owners and of nodes: what neither reports is asked of the counters. */
static bool rules_can_answer(const struct filter *f, enum fleet_view view)
{
        bool owners = view == FLEET_USERS || view == FLEET_WASTED;
        return !f->any || (owners && f->by_owner) || (view == FLEET_NODES && f->by_node);
}

/*
 * When the engine's past begins within the window, that is where the window begins: what nobody
 * could store is not a capacity, and a shorter window has finer steps. 1, 0 when woken, or a code.
 */
static int skip_empty_past(struct collect *c, struct err *err)
{
        struct question q[] = {{.query = QUERY_BEFORE}, {.query = QUERY_BEGUN}};
        int r = question_send(c->fleet, &c->terms, c->at_s, &q[0], 1, err);
        if (r > 0 && q[0].answer.n == 0)
                r = question_send(c->fleet, &c->terms, c->at_s, &q[1], 1, err);
        if (r > 0 && q[1].answer.n > 0 && value_is_set(q[1].answer.series[0].v)) {
                /* The first sample is of the step that ends where it is known. */
                int64_t begun = (int64_t)q[1].answer.series[0].v.v - c->terms.step_s;
                int64_t at_s = c->asked->to_ns / NS_PER_S, from = c->at_s - c->terms.window_s;
                int64_t step = query_step_s(MAX(at_s - begun, (int64_t)FIRST_STEP_S));
                at_s = at_s / step * step;
                if (begun >= from + c->terms.step_s && at_s > begun) {
                        c->at_s = at_s;
                        c->terms.step_s = step;
                        c->terms.window_s = (at_s - begun + step - 1) / step * step;
                        c->report->from_ns = (at_s - c->terms.window_s) * NS_PER_S;
                        c->report->to_ns = at_s * NS_PER_S;
                        fleet_report_notice(c->report, FLEET_BEGINS, (double)(begun - from), 0);
                }
        }
        question_finish(q, ARRAY_LEN(q));
        return r;
}

/* Whether the rules may be used is asked first. As question_send. */
static int collect_prepare(struct collect *c, struct err *err)
{
        int skipped = skip_empty_past(c, err);
        if (skipped <= 0)
                return skipped;
        struct question q = {.query = QUERY_RECORDED};
        if (c->terms.window_s < 2 * RULE_STEP_S || !c->may_use_rules)
                return 1;
        int r = question_send(c->fleet, &c->terms, c->at_s, &q, 1, err);
        double want = (double)(c->terms.window_s / RULE_STEP_S);
        if (r > 0 && q.answer.n > 0 && value_is_set(q.answer.series[0].v)) {
                double have = q.answer.series[0].v.v;
                c->terms.recorded = have >= RECORDED_SHARE * want;
                if (c->terms.recorded && have < want - 1)
                        fleet_report_notice(c->report, FLEET_RULES_MISSED, have, want);
        }
        c->report->recorded = c->terms.recorded;
        question_finish(&q, 1);
        return r;
}

/* QUESTIONS(view, …): in the order of their cost, the dearest first. */
size_t collect_questions(enum fleet_view view, struct question *ret, size_t max)
{
#define OWNERS                                                                                     \
        QUERY_USER_HELD, QUERY_USER_WASTED, QUERY_USER_OBSERVED, QUERY_USER_REAL,                  \
            QUERY_USER_IDLE_UNOBSERVED
#define NODES                                                                                      \
        QUERY_NODE_HELD, QUERY_NODE_WASTED, QUERY_NODE_OBSERVED, QUERY_NODE_REAL,                  \
            QUERY_NODE_IDLE_UNOBSERVED
        static const enum query lists[FLEET_VIEW_COUNT][QUESTIONS_MAX] = {
            [FLEET_OVERVIEW] = {OWNERS, QUERY_FLEET_HELD, QUERY_FLEET_WASTED, QUERY_FLEET_OBSERVED,
                                QUERY_FLEET_IDLE_UNOBSERVED, QUERY_FLEET_REAL, QUERY_LIMITERS,
                                QUERY_HEALTHS, QUERY_FLEET_KNOWN, QUERY_FLEET_NODES,
                                QUERY_FLEET_GPUS, QUERY_FLEET_UP, QUERY_FLEET_OWNED, QUERY_COUNT},
            [FLEET_USERS] = {OWNERS, QUERY_COUNT},
            [FLEET_JOBS] = {QUERY_JOBS_BY_WASTE, QUERY_JOBS_BY_TIME, QUERY_COUNT},
            [FLEET_NODES] = {NODES, QUERY_NODE_KNOWN, QUERY_NODE_GPUS, QUERY_NODE_UP,
                             QUERY_NODE_OWNED, QUERY_COUNT},
            [FLEET_WASTED] = {OWNERS, QUERY_COUNT},
            [FLEET_LIMITERS] = {QUERY_LIMITERS, QUERY_COUNT},
            [FLEET_HEALTH] = {QUERY_FINDINGS, QUERY_XIDS, QUERY_HEALTHS, QUERY_NODE_KNOWN,
                              QUERY_NODE_NOW, QUERY_DOWN, QUERY_GONE, QUERY_COUNT},
        };
        size_t n = 0;
        while (n < max && lists[view][n] != QUERY_COUNT) {
                ret[n] = (struct question){.query = lists[view][n]};
                n++;
        }
        return n;
}

/* How an owner of a kind is selected: by the first of these labels that it has. */
static const struct {
        const char *kind, *label;
} selectors[] = {
    {"slurm", "exported_job"}, {"slurm", "job"},    {"kubernetes", "exported_pod"},
    {"kubernetes", "pod"},     {"process", "user"},
};

static size_t selector_of(const struct answer_series *s)
{
        size_t i = 0;
        while (i < ARRAY_LEN(selectors) &&
               (strcmp(answer_label(s, "kind"), selectors[i].kind) != 0 ||
                !answer_label(s, selectors[i].label)[0]))
                i++;
        return i;
}

/*
 * {kind="slurm",exported_job=~"1|2"}: the jobs from *at on that are selected so, as many as fit
 * into one question. Nothing when there are no more; *at is where the next one begins.
 */
static void write_job_filter(const struct fleet_sums *found, size_t selector, size_t *at,
                             const char *who_else, struct strbuf *out)
{
        for (; *at < found->n && out->len < JOB_FILTER_BYTES; (*at)++) {
                const struct answer_series *who = &found->list[*at].labels;
                if (selector_of(who) != selector)
                        continue;
                if (out->len > 0)
                        strbuf_puts(out, "|");
                else
                        strbuf_putf(out, "{kind=\"%s\",%s=~\"", selectors[selector].kind,
                                    selectors[selector].label);
                query_put_literal(out, answer_label(who, selectors[selector].label));
        }
        if (out->len > 0)
                strbuf_putf(out, "\"%s%s}", who_else[0] ? "," : "", who_else);
}

static int add_jobs(struct collect *c, const char *filter, struct fleet_sums *jobs, struct err *err)
{
        struct question q[] = {{.query = QUERY_JOB_HELD},
                               {.query = QUERY_JOB_OBSERVED},
                               {.query = QUERY_JOB_REAL},
                               {.query = QUERY_JOB_WASTED},
                               {.query = QUERY_JOB_IDLE_UNOBSERVED}};
        struct query_terms terms = c->terms;
        terms.owners = filter;
        int r = question_send(c->fleet, &terms, c->at_s, q, ARRAY_LEN(q), err);
        if (r > 0) {
                sums_add(jobs, &q[0].answer, SUM_BY_JOB, SUM_FIELD(held));
                sums_add(jobs, &q[1].answer, SUM_BY_JOB, SUM_FIELD(observed));
                sums_add(jobs, &q[2].answer, SUM_BY_JOB, SUM_FIELD(real));
                sums_add_wasted(jobs, &q[3].answer, SUM_BY_JOB);
                sums_bound_wasted(jobs);
                sums_add(jobs, &q[4].answer, SUM_BY_JOB, SUM_FIELD(idle_unobserved));
        }
        question_finish(q, ARRAY_LEN(q));
        return r;
}

int collect_job_sums(struct collect *c, const struct question *lists, size_t n,
                     struct fleet_sums *jobs, struct err *err)
{
        struct fleet_sums found = {0};
        int r = 1;
        for (size_t i = 0; i < n; i++)
                sums_add(&found, &lists[i].answer, SUM_BY_JOB, SUM_FIELD(held));
        for (size_t i = 0; r > 0 && i < ARRAY_LEN(selectors); i++) {
                for (size_t at = 0; r > 0 && at < found.n;) {
                        struct strbuf filter = {0};
                        write_job_filter(&found, i, &at, strbuf_str(&c->filter.who), &filter);
                        if (filter.len > 0)
                                r = add_jobs(c, strbuf_str(&filter), jobs, err);
                        strbuf_finish(&filter);
                }
        }
        sums_finish(&found);
        return r;
}

/* The jobs of two lists, the most wasteful and the longest, in full. */
static int collect_jobs(struct collect *c, const struct question *lists, size_t n, struct err *err)
{
        struct fleet_sums jobs = {0};
        int r = collect_job_sums(c, lists, n, &jobs, err);
        if (r > 0)
                collect_jobs_table(c, &jobs);
        sums_finish(&jobs);
        return r;
}

/* Nothing at all came: is it the wrong engine, or an old one? */
static int explain_nothing(struct collect *c, struct err *err)
{
        struct question q = {.query = QUERY_NEWEST};
        struct query_terms terms = c->terms;
        terms.window_s = NEWEST_BACK_S;
        terms.step_s = 3600;
        int r = question_send(c->fleet, &terms, c->at_s, &q, 1, err);
        if (r > 0 && q.answer.n > 0 && value_is_set(q.answer.series[0].v)) {
                double age = (double)c->at_s - q.answer.series[0].v.v;
                fleet_report_notice(c->report, FLEET_NO_NEWS, age, 0);
        } else if (r > 0) {
                err_set(err, ERR_NO_SOURCE, "'%s' has no series of 'assay serve' in this window",
                        c->report->engine);
                r = err_hint(err, "does it scrape the nodes? look at its targets, and at "
                                  "docs/FLEET.md for the first ten minutes");
        }
        question_finish(&q, 1);
        return r;
}

/* The raw counters of many GPUs over a long window: it works, and it is said why it takes long. */
static void explain_slow(struct collect *c, const struct question *q, size_t n)
{
        struct query_terms with = c->terms;
        bool would_help = false;
        with.recorded = true;
        for (size_t i = 0; i < n; i++)
                would_help |= query_is_recorded(q[i].query, &with);
        if (!would_help || c->terms.recorded || c->report->took_ns < SLOW_NS ||
            c->terms.window_s < 2 * RULE_STEP_S)
                return;
        fleet_report_notice(c->report, FLEET_SLOW, clock_to_seconds(c->report->took_ns), 0);
}

static bool is_empty(const struct question *q, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (q[i].answer.n > 0)
                        return false;
        }
        return true;
}

/*
 * A window ends at a whole step, minutes ago: an engine that has only just begun has nothing in it.
 * Then what came since is shown, to this second.
 */
static int query_first_minutes(struct collect *c, struct question *q, size_t n, struct err *err)
{
        struct query_terms terms = c->terms;
        int64_t at_s = c->asked->to_ns / NS_PER_S;
        if (at_s <= c->at_s)
                return 1;
        terms.step_s = FIRST_STEP_S;
        /* Whatever there is came after the last whole step. */
        terms.window_s = MIN((at_s - c->at_s + FIRST_STEP_S - 1) / FIRST_STEP_S * FIRST_STEP_S,
                             (int64_t)FIRST_WINDOW_S);
        terms.recorded = false;
        question_finish(q, n);
        int r = question_send(c->fleet, &terms, at_s, q, n, err);
        if (r <= 0 || is_empty(q, n))
                return r;
        c->terms = terms;
        c->at_s = at_s;
        c->report->from_ns = (at_s - terms.window_s) * NS_PER_S;
        c->report->to_ns = at_s * NS_PER_S;
        c->report->recorded = false;
        fleet_report_notice(c->report, FLEET_FIRST_MINUTES, 0, 0);
        return r;
}

int fleet_collect(struct fleet *f, enum fleet_view view, const struct fleet_asked *asked,
                  struct fleet_report *ret, struct err *err)
{
        struct question q[QUESTIONS_MAX] = {0};
        struct fleet_report report;
        struct collect c;
        int64_t begun = clock_mono_ns();
        int r = collect_begin(&c, f, asked, &report, err);
        report.what = fleet_view_name(view);
        size_t n = collect_questions(view, q, ARRAY_LEN(q));
        c.may_use_rules = rules_can_answer(&c.filter, view);
        if (r == 0)
                r = collect_prepare(&c, err);
        if (r > 0)
                r = question_send(f, &c.terms, c.at_s, q, n, err);
        if (r > 0 && is_empty(q, n))
                r = query_first_minutes(&c, q, n, err);
        if (r > 0 && is_empty(q, n))
                r = explain_nothing(&c, err);
        if (r > 0 && view == FLEET_JOBS)
                r = collect_jobs(&c, q, n, err);
        else if (r > 0)
                collect_tables(&c, view, q, n);
        for (size_t i = 0; r > 0 && i < n; i++) {
                if (q[i].answer.warning)
                        fleet_report_warning(&report, q[i].answer.warning);
        }
        report.took_ns = clock_mono_ns() - begun;
        if (r > 0)
                explain_slow(&c, q, n);
        question_finish(q, n);
        collect_finish(&c);
        if (r > 0)
                *ret = report;
        else
                fleet_report_finish(&report);
        return r;
}

int fleet_write_queries(enum fleet_view view, const struct fleet_asked *asked, bool recorded,
                        struct strbuf *out, struct err *err)
{
        struct question q[QUESTIONS_MAX] = {0};
        struct fleet_report report;
        struct collect c;
        int r = collect_begin(&c, NULL, asked, &report, err);
        c.terms.recorded = recorded && rules_can_answer(&c.filter, view);
        size_t n = collect_questions(view, q, ARRAY_LEN(q));
        for (size_t i = 0; i < n && r == 0; i++) {
                strbuf_putf(out, "# %s\n", query_name(q[i].query));
                query_write(q[i].query, &c.terms, out);
                strbuf_puts(out, "\n");
        }
        collect_finish(&c);
        return r;
}
