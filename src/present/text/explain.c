#include "present/text/explain.h"

#include "model/job.h"
#include "present/format.h"

#include <math.h>
#include <stdio.h>

static void put_inputs(const struct row *row, struct strbuf *out)
{
        const char *gap = "";
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                char text[FORMAT_MAX];
                if (!(row->verdict.inputs & ((metric_set)1 << m)))
                        continue;
                format_with_unit(text, sizeof(text), metric_info(m)->unit, row->sample.m[m]);
                strbuf_putf(out, "%s%s %s", gap, metric_info(m)->name, text);
                gap = ", ";
        }
}

static void put_missing(const struct row *row, struct strbuf *out)
{
        const char *gap = "";
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (!(row->verdict.missing & ((metric_set)1 << m)))
                        continue;
                strbuf_putf(out, "%s%s", gap, metric_info(m)->name);
                gap = ", ";
        }
}

/* Whether one of the missing metrics is missing for that reason. A slice may lack what only its GPU
 * has: that has a reason of its own. */
static bool row_lacks(const struct row *row, enum state state, bool of_gpu)
{
        for (uint64_t left = row->verdict.missing; left; left &= left - 1) {
                enum metric m = (enum metric)__builtin_ctzll(left);
                bool foreign = !entity_owns(row->sample.who, metric_info(m)->scope);
                if (row->sample.m[m].state == state && foreign == of_gpu)
                        return true;
        }
        return false;
}

/* Only the kernel reports sleep. A blank counter comes later or not at all; an absent one needs
 * another source. */
static void put_remedy(const struct row *row, struct strbuf *out)
{
        bool kernel = value_is_set(row->sample.m[METRIC_ASLEEP]);
        if (kernel)
                strbuf_puts(out, "; the kernel has no such counters for this GPU");
        else if (row_lacks(row, STATE_BLANK, false))
                strbuf_puts(out, "; the source left them blank");
        else if (row_lacks(row, STATE_ERROR, false))
                strbuf_puts(out, "; the source gave values that cannot be");
        else if (row_lacks(row, STATE_DENIED, false))
                strbuf_puts(out, "; 'assay doctor' says who may read them");
        else if (row_lacks(row, STATE_NONE, false) || row_lacks(row, STATE_UNSUPPORTED, false))
                strbuf_puts(out, "; SM and tensor counters need NVML GPM (Hopper or newer) or "
                                 "DCGM's profiling module");
        else
                strbuf_puts(out, "; only the whole GPU has them, its slices do not");
}

static void put_margin(const struct margin *m, struct strbuf *out)
{
        if (m->other == WORKLOAD_UNKNOWN)
                return;
        bool ratio = metric_info(m->metric)->unit == UNIT_RATIO;
        char text[FORMAT_MAX];
        if (ratio)
                snprintf(text, sizeof(text), "%.1f points", fabs(m->change) * 100);
        else
                format_with_unit(text, sizeof(text), metric_info(m->metric)->unit,
                                 value_ok(fabs(m->change)));
        strbuf_putf(out, "; %s if %s %s by %s", workload_status(m->other),
                    metric_info(m->metric)->name, m->change < 0 ? "falls" : "rises", text);
}

const char *explain_class(const struct row *row)
{
        bool asleep = row->verdict.inputs & METRIC_BIT(ASLEEP);
        return asleep ? "asleep" : workload_status(row->verdict.workload);
}

const char *explain_class_brief(const struct row *row, size_t columns)
{
        bool asleep = row->verdict.inputs & METRIC_BIT(ASLEEP);
        return asleep ? "asleep" : workload_words(row->verdict.workload, columns);
}

void explain_verdict(const struct row *row, struct strbuf *out)
{
        const struct verdict *v = &row->verdict;
        strbuf_puts(out, workload_status(v->workload));
        if (v->workload == WORKLOAD_UNKNOWN) {
                strbuf_puts(out, ": missing ");
                put_missing(row, out);
                put_remedy(row, out);
                return;
        }
        if (v->inputs & METRIC_BIT(ASLEEP)) {
                strbuf_puts(out, ": asleep, and not read further so that it stays so");
                return;
        }
        if (v->without_counters)
                strbuf_puts(out, ": nothing runs, no process, low power (");
        else
                strbuf_putf(out, ": %s (", workload_rule(v->workload));
        put_inputs(row, out);
        strbuf_putc(out, ')');
        put_margin(&v->margin, out);
}

/* Of a small share a decimal reports something; cores and threads have none of the units. */
void explain_ceiling(enum ceiling at, double v, struct strbuf *out)
{
        char text[FORMAT_MAX];
        enum unit unit = ceiling_info(at)->unit;
        if (unit == UNIT_RATIO || unit == UNIT_BYTES || unit == UNIT_BYTES_PER_S)
                format_value(text, sizeof(text), v < 0.0995 ? FORMAT_FULL : FORMAT_WORDS, unit,
                             value_ok(v));
        else
                snprintf(text, sizeof(text), "%.1f", v);
        strbuf_puts(out, text);
}

static void put_ceilings(const struct limit *l, struct strbuf *out)
{
        const char *gap = ": ";
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(l->inputs & CEILING_AT(i)))
                        continue;
                strbuf_putf(out, "%s%s ", gap, ceiling_info(i)->name);
                explain_ceiling(i, (double)l->ceilings.v[i], out);
                gap = ", ";
        }
}

bool explain_candidates(const struct limit *l, struct strbuf *out)
{
        if (l->limiter != LIMITER_UNKNOWN || l->or_else == LIMITER_UNKNOWN)
                return false;
        strbuf_putf(out, "%s, or %s; profiling counters would tell",
                    limiter_sight((enum limiter)l->undecided, (enum basis)l->basis)->words,
                    limiter_sight((enum limiter)l->or_else, (enum basis)l->basis)->words);
        return true;
}

void explain_limit_words(const struct limit *l, char buf[EXPLAIN_LIMIT_MAX])
{
        enum limiter limiter = (enum limiter)l->limiter;
        enum basis basis = (enum basis)l->basis;
        const char *present = limiter_info(limiter)->present;
        const char *held = held_by_words((enum held_by)l->held_by);
        if (present[0])
                snprintf(buf, EXPLAIN_LIMIT_MAX, "%s", present);
        else
                snprintf(buf, EXPLAIN_LIMIT_MAX, "%s %s%s%s", limiter_lead(basis),
                         limiter_sight(limiter, basis)->words, *held ? ", clocks held by " : "",
                         held);
}

static void put_missing_ceilings(const struct limit *l, struct strbuf *out)
{
        const char *gap = " ";
        strbuf_puts(out, "missing");
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(l->missing & CEILING_AT(i)))
                        continue;
                strbuf_putf(out, "%s%s", gap, ceiling_info(i)->name);
                gap = ", ";
        }
}

void explain_limiter(const struct row *row, struct strbuf *out)
{
        const struct limit *l = &row->limit;
        char words[EXPLAIN_LIMIT_MAX];
        explain_limit_words(l, words);
        strbuf_puts(out, words);
        if (l->limiter != LIMITER_UNKNOWN)
                return;
        strbuf_puts(out, ": ");
        if (!explain_candidates(l, out))
                put_missing_ceilings(l, out);
}

void explain_limit(const struct row *row, struct strbuf *out)
{
        explain_limiter(row, out);
        if (row->limit.limiter != LIMITER_UNKNOWN)
                put_ceilings(&row->limit, out);
}

/* The cause is reported unless it is not known. */
static void put_late(const struct row *row, struct strbuf *out)
{
        enum straggler_cause cause = (enum straggler_cause)(row->late - 1);
        strbuf_puts(out, "LATE: it holds the others up");
        if (cause != CAUSE_UNKNOWN)
                strbuf_putf(out, ": %s", cause_words(cause));
}

static void put_stalled(const struct row *row, struct strbuf *out)
{
        double seconds = row->sample.m[METRIC_STALLED].v;
        char text[FORMAT_MAX];
        if (seconds < 100)
                snprintf(text, sizeof(text), "%.0f s", seconds);
        else
                format_length(text, sizeof(text), seconds);
        strbuf_putf(out,
                    "stalled for %s: kernels run and move nothing; "
                    "'assay why' says who is waited for",
                    text);
}

void explain_health(const struct row *row, struct strbuf *out)
{
        const char *gap = "";
        if (row_is_stalled(row)) {
                put_stalled(row, out);
                gap = "; ";
        }
        if (row->late && !row_is_stalled(row)) {
                put_late(row, out);
                gap = "; ";
        }
        if (row->health.findings == 0)
                return;
        strbuf_putf(out, "%s%s: ", gap, health_name(row->health.state));
        gap = "";
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (!(row->health.findings & (1u << f)))
                        continue;
                char words[HEALTH_WORDS_MAX];
                strbuf_putf(out, "%s%s", gap,
                            health_reason_words(&row->health, f, words, sizeof(words)));
                gap = "; ";
        }
}
