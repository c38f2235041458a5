/* What is said of a job and its ranks: the same in text and page. */
#include "base/attr.h"
#include "base/clock.h"
#include "present/format.h"
#include "present/report/job.h"
#include "present/report/parts.h"
#include "present/text/where.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t count_nodes(const struct job *j)
{
        size_t n = 0;
        for (size_t i = 0; i < j->n; i++) {
                size_t k = 0;
                while (k < i && strcmp(j->ranks[k].node, j->ranks[i].node) != 0)
                        k++;
                n += k == i;
        }
        return n;
}

void job_put_title(const struct job *j, struct strbuf *out)
{
        size_t nodes = count_nodes(j);
        if (j->n > 0 && j->ranks[0].job[0])
                strbuf_putf(out, "job %s: ", j->ranks[0].job);
        strbuf_putf(out, "%zu rank%s on %zu node%s, ", j->n, j->n == 1 ? "" : "s", nodes,
                    nodes == 1 ? "" : "s");
        report_put_seconds(out, clock_to_seconds(j->end_ns - j->start_ns));
}

/* "0-3, 6, 7"; labels that are no numbers one by one, at most eight. */
static void put_labels(const struct job *j, const uint8_t *has, struct strbuf *out)
{
        size_t reported = 0;
        for (size_t i = 0; i < j->n; i++) {
                if (!has[i])
                        continue;
                if (reported == 8) {
                        strbuf_puts(out, ", …");
                        return;
                }
                size_t end = i;
                while (end + 1 < j->n && has[end + 1] && value_is_set(j->ranks[end + 1].rank) &&
                       value_is_set(j->ranks[end].rank) &&
                       j->ranks[end + 1].rank.v == j->ranks[end].rank.v + 1)
                        end++;
                strbuf_putf(out, "%s%s", reported++ ? ", " : "", j->ranks[i].label);
                if (end > i + 1)
                        strbuf_putf(out, "-%s", j->ranks[end].label);
                i = end > i + 1 ? end : i;
        }
}

static void put_who(const struct job_rank *r, struct strbuf *out)
{
        strbuf_putf(out, "rank %s", r->label);
        if (value_is_set(r->rank) && strchr(r->label, ':') == NULL)
                strbuf_putf(out, " (%s%s%s)", r->node, r->gpu[0] ? ", GPU " : "", r->gpu);
}

/* "1.25 s", "35 ms". */
static void put_time(struct strbuf *out, double s)
{
        if (s < 0.0995)
                strbuf_putf(out, "%.3g ms", 1000 * s);
        else if (s < 9.95)
                strbuf_putf(out, "%.2f s", s);
        else
                report_put_seconds(out, s);
}

static void put_amount(const struct job *j, const struct straggler *s, struct strbuf *out)
{
        char share[FORMAT_MAX];
        if (s->cause == CAUSE_LATE_START) {
                strbuf_puts(out, " began its work ");
                put_time(out, s->late_s);
                strbuf_puts(out, " after the others");
                return;
        }
        strbuf_puts(out, " holds the others up");
        if (s->by_marks && s->times == 0) {
                strbuf_puts(out, " by ");
                put_time(out, s->late_s);
                strbuf_putf(out, " a step (%s of '%s'), since ",
                            format_share(share, s->late_s / j->step_s), s->step);
                report_put_seconds(out, s->begin_s);
        } else if (s->times > 0) {
                if (s->times == 1)
                        strbuf_puts(out, " once by ");
                else
                        strbuf_putf(out, " %zu times by ", s->times);
                put_time(out, s->late_s);
        } else if (s->share > 0) {
                strbuf_putf(out, " for about %s of the time",
                            format_share(share, MAX(s->share, 0.01)));
        }
        if (s->cost_s >= 0.05 && s->times != 1) {
                strbuf_puts(out, ", ");
                put_time(out, s->cost_s);
                strbuf_puts(out, " in all");
        }
}

static void put_clock(const struct straggler *s, struct strbuf *out)
{
        strbuf_putf(out, " (%.0f MHz, the others %.0f MHz)", s->own.v / 1e6, s->peers.v / 1e6);
        if (value_is_set(s->own_more) && value_is_set(s->peers_more))
                strbuf_putf(out, ", with a power limit of %.0f W, the others' is %.0f W",
                            s->own_more.v, s->peers_more.v);
        else if (s->reason) {
                strbuf_puts(out, ", held down by: ");
                throttle_put(out, s->reason);
        } else {
                strbuf_puts(out, "; the driver gives no reason of its own");
        }
}

static void put_cause(const struct straggler *s, struct strbuf *out)
{
        double own = s->own.v, peers = s->peers.v;
        bool both = value_is_set(s->own) && value_is_set(s->peers);
        strbuf_putf(out, ": %s", cause_words(s->cause));
        if (!both)
                return;
        switch (s->cause) {
        case CAUSE_OTHER_PROCESS:
                strbuf_putf(out, " (%.1f processes on average, the others %.1f)", own, peers);
                break;
        case CAUSE_LINK:
                strbuf_putf(out, " (%.1f GB/s, the others %.1f GB/s", own / 1e9, peers / 1e9);
                if (value_is_set(s->own_more) && value_is_set(s->peers_more))
                        strbuf_putf(out, "; generation %.0f, %.0f lanes", s->own_more.v,
                                    s->peers_more.v);
                strbuf_putc(out, ')');
                break;
        case CAUSE_CLOCK:
                put_clock(s, out);
                break;
        case CAUSE_MEMORY_ERRORS:
                strbuf_putf(out, " (%.0f, the others %.0f)", own, peers);
                break;
        case CAUSE_STORAGE:
                strbuf_putf(out, " (%.1f threads wait on average, the others' %.1f)", own, peers);
                break;
        case CAUSE_CORE:
                strbuf_putf(out, " (%.2f of a core, the others %.2f)", own, peers);
                break;
        case CAUSE_PAUSES:
                strbuf_puts(out, ", first at ");
                report_put_seconds(out, s->begin_s);
                break;
        case CAUSE_SLOW_STEPS:
                if (s->of_steps > 0 && s->times > 0)
                        strbuf_putf(out, ", one in %.0f", (double)s->of_steps / (double)s->times);
                break;
        case CAUSE_LATE_START:
        case CAUSE_UNKNOWN:
        case CAUSE_COUNT:
                break;
        }
}

void job_put_line(const struct job_line *l, struct strbuf *out)
{
        const struct where_place place = {.own = l->own, .inner = l->inner};
        where_put_place(out, &place);
}

/* Where the straggler is, and where the others wait meanwhile. */
static void put_rank_lines(const struct straggler *s, struct strbuf *out)
{
        const struct job_line *own = &s->line, *others = &s->others_line;
        char a[FORMAT_MAX], b[FORMAT_MAX];
        if (own->is_known) {
                strbuf_puts(out, "; its main thread is at ");
                job_put_line(own, out);
                strbuf_putf(out, " for %s of the time, the others' for %s",
                            format_share(a, own->own_share), format_share(b, own->peers_share));
        }
        if (others->is_known) {
                strbuf_puts(out, own->is_known ? "; they are at "
                                               : "; the others' main threads are at ");
                job_put_line(others, out);
                strbuf_putf(out, " for %s instead of %s", format_share(a, others->peers_share),
                            format_share(b, others->own_share));
        }
}

void job_put_straggler(const struct job *j, const struct straggler *s, struct strbuf *out)
{
        put_who(&j->ranks[s->rank], out);
        put_amount(j, s, out);
        if (s->cause != CAUSE_LATE_START)
                put_cause(s, out);
        put_rank_lines(s, out);
}

void job_put_no_straggler(const struct job *j, struct strbuf *out)
{
        if (j->n < 2) {
                strbuf_puts(out, "One rank only: nothing to compare it with");
                return;
        }
        strbuf_puts(out, "No rank holds the others up");
        if (j->n_steps > 0)
                strbuf_putf(out, ", by %zu steps '%s' and counters", j->n_steps, j->step);
        else
                strbuf_puts(
                    out,
                    ", by counters; no steps were marked (assay.step_end() or assay mark step)");
}

bool job_is_straggler(const struct job *j, size_t rank)
{
        for (size_t i = 0; i < j->n_stragglers; i++) {
                if (j->stragglers[i].rank == rank)
                        return true;
        }
        return false;
}

/* Seconds that the others lost to who holds them up most. */
static double seconds_lost(const struct job *j)
{
        double most = 0;
        for (size_t i = 0; i < j->n_stragglers; i++)
                most = MAX(most, j->stragglers[i].cost_s);
        return most;
}

/*
 * Who waits for a straggler looks as if its own host, or a collective, held it up. What the
 * straggler cost must explain half of a finding for that.
 */
enum waiting { NOBODY_WAITS, SOME_MAY_WAIT, ALL_MAY_WAIT };

static enum waiting waiting_of_job(const struct job *j, const struct job_joined *f)
{
        enum limiter limiter = f->finding.limiter;
        size_t late = 0;
        if (f->n == 0 || f->finding.before_work || seconds_lost(j) <= 0 ||
            seconds_lost(j) < f->finding.gpu_s / (double)f->n / 2 ||
            (limiter_side(limiter) != LIMITER_SIDE_HOST && limiter != LIMITER_COLLECTIVE))
                return NOBODY_WAITS;
        for (size_t i = 0; i < j->n; i++)
                late += f->has[i] && job_is_straggler(j, i);
        return late == f->n ? NOBODY_WAITS : late > 0 ? SOME_MAY_WAIT : ALL_MAY_WAIT;
}

const char *job_joined_try(const struct job *j, const struct job_joined *f)
{
        if (f->finding.before_work)
                return NULL;
        if (waiting_of_job(j, f) == ALL_MAY_WAIT)
                return "mend what holds the others up first, then look again";
        return limiter_try(f->finding.limiter, &f->finding.why, FRAMEWORK_NONE);
}

/* What the job's length would be without it, where all ranks have it; otherwise their time. */
static void put_job_at_best(const struct job *j, const struct job_joined *f, struct strbuf *out)
{
        double length_s = clock_to_seconds(j->end_ns - j->start_ns);
        double won_s = f->n > 0 ? f->finding.won_s / (double)f->n : 0;
        if (!(won_s > 0) || won_s > length_s)
                return;
        strbuf_puts(out, f->n == j->n ? "; this job: "
                         : f->n == 1  ? "; this rank: "
                                      : "; these ranks: ");
        report_put_seconds(out, length_s);
        strbuf_puts(out, " → about ");
        report_put_seconds(out, length_s - won_s);
        strbuf_puts(out, " at best");
        if (f->finding.before_work)
                strbuf_puts(out, ", once for each start");
}

void job_put_joined(const struct job *j, const struct job_joined *f, struct strbuf *out)
{
        const struct job_finding *d = &f->finding;
        char share[FORMAT_MAX];
        if (f->n == j->n)
                strbuf_putf(out, j->n == 1 ? "the rank" : "all %zu ranks", j->n);
        else
                strbuf_putf(out, "%zu of %zu ranks (", f->n, j->n);
        if (f->n < j->n) {
                put_labels(j, f->has, out);
                strbuf_putc(out, ')');
        }
        if (d->before_work)
                strbuf_puts(out, ": start-up, before the first work");
        else
                strbuf_putf(out, ": %s %s", limiter_lead(d->basis),
                            limiter_sight(d->limiter, d->basis)->words);
        if (d->held_by != HELD_BY_NOTHING)
                strbuf_putf(out, ", clocks held by %s", held_by_words(d->held_by));
        strbuf_putf(out, ", for %s of their time", format_share(share, d->share));
        put_job_at_best(j, f, out);
        if (f->n > 1)
                strbuf_putf(out, "; most on rank %s", j->ranks[f->first].label);
        if (d->rule) {
                strbuf_puts(out, f->n > 1 ? ": " : "; ");
                where_put_places(out, &d->place, 1, d->rule->words);
        }
        enum waiting w = waiting_of_job(j, f);
        if (w != NOBODY_WAITS)
                strbuf_putf(out, "; %s may only wait for rank %s",
                            w == SOME_MAY_WAIT ? "who is not late"
                            : f->n == 1        ? "it"
                                               : "they",
                            j->ranks[j->stragglers[0].rank].label);
}

void job_put_clocks(const struct job *j, struct strbuf *out)
{
        if (count_nodes(j) < 2)
                return;
        if (j->align == JOB_BY_MARKS) {
                strbuf_puts(out, "clocks of the nodes are aligned by marks, moved by at most ");
                put_time(out, j->moved_s);
        } else if (j->n_apart == 0) {
                strbuf_puts(out, "clocks of the nodes are taken as they are (wall clock)");
        }
}

void job_put_missing(const struct job *j, struct strbuf *out)
{
        if (j->n_missing == 0)
                return;
        strbuf_putf(out, "%zu of %.0f ranks have no file here:", j->n_missing, j->world);
        for (size_t i = 0; i < MIN(j->n_missing, ARRAY_LEN(j->missing)); i++)
                strbuf_putf(out, "%s %zu", i ? "," : "", j->missing[i]);
        if (j->n_missing > ARRAY_LEN(j->missing))
                strbuf_puts(out, ", …");
}

void job_put_shared_names(const struct job *j, struct strbuf *out)
{
        if (j->n_shared_names == 0)
                return;
        strbuf_putf(out,
                    "%zu node name%s of several machines, by the GPUs' UUIDs: '%s'%s; they "
                    "are numbered here",
                    j->n_shared_names, j->n_shared_names == 1 ? " is that" : "s are those",
                    j->shared_name, j->n_shared_names == 1 ? "" : " and others");
}

void job_put_twice(const struct job *j, struct strbuf *out)
{
        if (j->n_twice == 0)
                return;
        strbuf_putf(out,
                    "%zu rank%s recorded more than once: %.0f%s; they are named by node and "
                    "GPU here",
                    j->n_twice, j->n_twice == 1 ? " is" : "s are", j->twice,
                    j->n_twice == 1 ? "" : " and others");
}

void job_put_apart(const struct job *j, struct strbuf *out)
{
        if (j->n_apart == 0)
                return;
        strbuf_putf(out, "the clock%s of %zu node%s %s off by up to ", j->n_apart == 1 ? "" : "s",
                    j->n_apart, j->n_apart == 1 ? "" : "s", j->n_apart == 1 ? "is" : "are");
        put_time(out, j->apart_s);
        strbuf_puts(out, ": their times are moved so that all nodes begin together");
}
