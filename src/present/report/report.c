#include "present/report/report.h"

#include "base/clock.h"
#include "base/text.h"
#include "model/xid.h"
#include "present/format.h"
#include "present/report/parts.h"
#include "present/text/where.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD_INDENT 12 /* "  command   " */

void report_put_seconds(struct strbuf *out, double s)
{
        char text[FORMAT_MAX];
        strbuf_puts(out, format_length(text, sizeof(text), s));
}

static void put_ticks(struct strbuf *out, const struct run_facts *f, const struct summary *s)
{
        strbuf_putf(out, "  samples   %llu", (unsigned long long)(f->asked ? f->taken : s->ticks));
        if (f->asked)
                strbuf_putf(out, " of %llu, %llu late, %llu missed", (unsigned long long)f->asked,
                            (unsigned long long)f->late, (unsigned long long)f->missed);
        if (f->dropped)
                strbuf_putf(out, ", %llu not stored", (unsigned long long)f->dropped);
        if (f->source[0])
                strbuf_putf(out, "; from %s", f->source);
        strbuf_putc(out, '\n');
}

static void put_line(struct strbuf *out, const char *title, const char *text)
{
        strbuf_puts(out, title);
        text_put(out, text, SIZE_MAX);
        strbuf_putc(out, '\n');
}

static void put_command(struct strbuf *out, const struct run_facts *f, size_t columns)
{
        struct strbuf text = {0};
        if (f->command[0])
                put_line(out, "  command   ", f->command);
        if (!value_is_set(f->exit_status) && !value_is_set(f->exit_signal))
                return;
        if (value_is_set(f->exit_status))
                strbuf_putf(&text, "with %.0f", f->exit_status.v);
        else
                strbuf_putf(&text, "by signal %.0f", f->exit_signal.v);
        if (value_is_set(f->command_s)) {
                strbuf_puts(&text, " after ");
                report_put_seconds(&text, f->command_s.v);
        }
        if (value_is_set(f->cpu_user_s)) {
                char rss[FORMAT_MAX];
                format_with_unit(rss, sizeof(rss), UNIT_BYTES, f->max_rss);
                strbuf_putf(&text, "; CPU %.1f s user, %.1f s system; peak memory %s",
                            f->cpu_user_s.v, f->cpu_system_s.v, rss);
        }
        strbuf_puts(out, "  ended     ");
        text_put_wrapped(out, strbuf_str(&text), HEAD_INDENT, columns);
        strbuf_finish(&text);
}

/* Without a GPU the level is what there is to report. */
void report_finding_or_level(const struct summary *s, struct strbuf *out)
{
        if (s->limits.n_findings > 0) {
                report_finding(&s->limits, &s->limits.findings[0], out);
                return;
        }
        if (s->scopes[0].n > 0) {
                strbuf_puts(out, "one tick is too short to tell what limits a GPU");
                return;
        }
        strbuf_puts(out, "no GPU was recorded");
        if (s->scopes[0].level.cpu.n == 0)
                return;
        strbuf_puts(out, "; ");
        report_level_line(s, out);
}

/* The last tick is not the end of the run, where that is known. */
static int64_t length_ns(const struct run_facts *f, const struct summary *s)
{
        if (f->start_ns > 0 && f->stop_ns >= s->last_ns && f->start_ns <= s->first_ns)
                return f->stop_ns - f->start_ns;
        return s->last_ns - s->first_ns;
}

/* A capture without times counts from 0. */
static void put_assumed(struct strbuf *out, const struct summary *s, size_t columns)
{
        char text[160];
        snprintf(text, sizeof(text),
                 "assumed: %g s between rounds (the capture has no times; set with --poll SECONDS)",
                 clock_to_seconds(s->last_ns) / (double)(s->ticks - 1));
        strbuf_puts(out, "  times     ");
        text_put_wrapped(out, text, HEAD_INDENT, columns);
}

/* "8 × NVIDIA H200, driver 580.159.04"; several models one after the other. */
static void put_models(struct strbuf *out, const struct scope *run)
{
        const char *title = "  GPUs      ";
        for (size_t i = 0; i < run->n; i++) {
                const char *model = run->gpus[i]->who.text[ENTITY_TEXT_MODEL];
                size_t n = 0, before = 0;
                for (size_t k = 0; k < run->n; k++) {
                        bool same = strcmp(run->gpus[k]->who.text[ENTITY_TEXT_MODEL], model) == 0;
                        n += same;
                        before += same && k < i;
                }
                if (before > 0 || !model[0])
                        continue;
                strbuf_putf(out, "%s%zu × ", title, n);
                text_put(out, model, SIZE_MAX);
                title = ", ";
        }
        if (title[0] != ',')
                return;
        const char *driver = run->gpus[0]->who.text[ENTITY_TEXT_DRIVER];
        strbuf_putf(out, "%s", driver[0] ? ", driver " : "");
        text_put(out, driver, SIZE_MAX);
        strbuf_putc(out, '\n');
}

static void put_head(struct strbuf *out, const struct run_facts *f, const struct summary *s,
                     size_t columns)
{
        strbuf_putc(out, '\n');
        text_put(out, f->input, SIZE_MAX);
        strbuf_putc(out, '\n');
        put_command(out, f, columns);
        if (f->host[0])
                strbuf_putf(out, "  where     %s%s%s\n", f->user, f->user[0] ? " on " : "",
                            f->host);
        put_models(out, &s->scopes[0]);
        if (s->ticks > 0 && format_is_date(s->first_ns)) {
                char when[FORMAT_MAX];
                format_utc(when, sizeof(when), s->first_ns);
                strbuf_putf(out, "  when      %s, for ", when);
                report_put_seconds(out, clock_to_seconds(length_ns(f, s)));
                strbuf_putc(out, '\n');
        }
        if (s->ticks > 1 && s->first_ns == 0)
                put_assumed(out, s, columns);
        put_ticks(out, f, s);
}

#define UNHEALTHY_SHARE 0.25 /* of the run */

/* 0 unless it is a good part of the run. */
static double unhealthy_s(const struct gpu_summary *g)
{
        double s = g->health_s[HEALTH_HOT] + g->health_s[HEALTH_WARN] + g->health_s[HEALTH_CRIT];
        return s >= UNHEALTHY_SHARE * g->seconds ? s : 0;
}

/* What is wrong, the worst first. */
bool report_unhealthy(const struct gpu_summary *g, struct strbuf *out)
{
        double seconds = unhealthy_s(g);
        char share[FORMAT_MAX];
        const char *gap = ": ";
        if (seconds <= 0)
                return false;
        strbuf_putf(out, "GPU %s was not healthy for %.1f s (%s of the run)", g->who.label, seconds,
                    format_share(share, seconds / g->seconds));
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (!(g->findings & (1U << f)))
                        continue;
                strbuf_putf(out, "%s%s", gap, health_reason_text(f));
                gap = ", ";
        }
        return true;
}

/* What to do about the gravest error that the driver reported; NULL without one. */
static const char *xid_remedy(const struct gpu_summary *g)
{
        const struct xid_info *worst = NULL;
        for (size_t i = 0; i < g->n_xids; i++) {
                const struct xid_info *xid = xid_info(g->xids[i].xid);
                if (xid && (!worst || xid->effect > worst->effect))
                        worst = xid;
        }
        return worst ? worst->remedy : NULL;
}

const char *report_unhealthy_try(const struct gpu_summary *g)
{
        static const char *const words[REMEDY_COUNT] = {
            [REMEDY_OUT_OF_SERVICE] = "take it out of service until the cause is known: the "
                                      "kernel's log (dmesg, Xid) tells more",
            [REMEDY_LINK] =
                "have the link looked at: its seat, riser or cable, and the slot's settings",
            [REMEDY_RESET] = "reset the GPU while no program uses it: then the row is replaced",
            [REMEDY_PROGRAM] = "look for the program in the kernel's log (dmesg, Xid): it made an "
                               "invalid access",
            [REMEDY_COOLING] =
                "look at its cooling: fans, dust, the air that goes in, what runs beside it",
        };
        enum health_reason worst =
            (enum health_reason)__builtin_ctz(g->findings | 1U << HEALTH_REASON_GPU_HOT);
        bool by_xid = health_reason_info(worst)->metric == METRIC_XID_LAST;
        const char *remedy = by_xid ? xid_remedy(g) : NULL;
        return remedy ? remedy : words[health_reason_info(worst)->remedy];
}

static size_t count_unhealthy(const struct scope *run)
{
        size_t n = 0;
        for (size_t i = 0; i < run->n; i++)
                n += unhealthy_s(run->gpus[i]) > 0;
        return n;
}

static void put_unhealthy(struct strbuf *out, const struct scope *run, size_t n,
                          const struct report_view *v)
{
        struct strbuf text = {0};
        for (size_t i = 0, reported = 0; i < run->n && (v->all || reported < REPORT_FINDINGS);
             i++) {
                strbuf_clear(&text);
                if (!report_unhealthy(run->gpus[i], &text))
                        continue;
                reported++;
                strbuf_putf(out, "  %zu ", n + reported);
                text_put_wrapped(out, strbuf_str(&text), n + reported < 10 ? 4 : 5, v->columns);
                strbuf_puts(out, "    try: ");
                text_put_wrapped(out, report_unhealthy_try(run->gpus[i]), 9, v->columns);
        }
        strbuf_finish(&text);
}

static size_t put_stalls(struct strbuf *out, const struct stretch_list *list,
                         const struct report_view *v)
{
        struct strbuf text = {0};
        size_t n = v->all ? list->n_stalls : MIN(list->n_stalls, (size_t)REPORT_FINDINGS);
        for (size_t i = 0; i < n; i++) {
                strbuf_clear(&text);
                report_stall(list, &list->stalls[i], &text);
                strbuf_putf(out, "  %zu ", i + 1);
                text_put_wrapped(out, strbuf_str(&text), 4, v->columns);
                strbuf_puts(out, "    try: ");
                text_put_wrapped(out, report_stall_try(&list->stalls[i]), 9, v->columns);
        }
        strbuf_finish(&text);
        return n;
}

static void put_where(struct strbuf *out, const struct stretch_list *list,
                      const struct limit_finding *f, size_t columns)
{
        struct strbuf text = {0};
        where_put(&text, stretch_list_where(list, f->where));
        if (text.len > 0) {
                strbuf_puts(out, "    where: ");
                text_put_wrapped(out, strbuf_str(&text), 11, columns);
        }
        strbuf_finish(&text);
}

/* What the word "likely" rests on. */
static void put_basis(struct strbuf *out, const struct summary *s, size_t n, size_t columns)
{
        for (size_t i = 0; i < n; i++) {
                const char *sure = basis_sure(s->limits.findings[i].basis);
                if (!sure[0])
                        continue;
                strbuf_puts(out, "  ");
                text_put_wrapped(out, sure, 2, columns);
                return;
        }
}

static void put_findings(struct strbuf *out, const struct summary *s, const struct report_view *v)
{
        struct strbuf text = {0};
        size_t n =
            v->all ? s->limits.n_findings : MIN(s->limits.n_findings, (size_t)REPORT_FINDINGS);
        size_t all = s->limits.n_stalls + n + count_unhealthy(&s->scopes[0]);
        strbuf_puts(out, all > 1 ? "findings\n" : "finding\n");
        size_t stalls = put_stalls(out, &s->limits, v);
        for (size_t i = 0; i < n; i++) {
                const struct limit_finding *f = &s->limits.findings[i];
                strbuf_clear(&text);
                report_finding(&s->limits, f, &text);
                strbuf_putf(out, "  %zu ", stalls + i + 1);
                text_put_wrapped(out, strbuf_str(&text), stalls + i < 9 ? 4 : 5, v->columns);
                put_where(out, &s->limits, f, v->columns);
                strbuf_puts(out, "    try: ");
                text_put_wrapped(out, report_finding_try(&s->limits, f), 9, v->columns);
        }
        put_basis(out, s, n, v->columns);
        if (n == 0) {
                report_finding_or_level(s, &text);
                strbuf_puts(out, "  ");
                text_put_wrapped(out, strbuf_str(&text), 2, v->columns);
        }
        put_unhealthy(out, &s->scopes[0], stalls + n, v);
        if (s->limits.left_out > 0)
                strbuf_putf(out,
                            "  limiters are known for the first %d GPUs only, not for %zu more\n",
                            STRETCH_GPUS_MAX, s->limits.left_out);
        strbuf_finish(&text);
}

/* ---- key numbers ---- */

struct value report_mean(const struct scope *scope, enum metric metric)
{
        double sum = 0;
        size_t n = 0;
        for (size_t i = 0; i < scope->n; i++) {
                struct value v = spread_mean(&scope->gpus[i]->m[metric]);
                sum += value_or(v, 0);
                n += value_is_set(v);
        }
        return n ? value_ok(sum / (double)n) : value_missing(STATE_NONE);
}

static void take_mean(struct report_key *key, const char *title, const struct scope *run,
                      enum metric metric)
{
        *key = (struct report_key){.title = title};
        format_with_unit(key->number, sizeof(key->number), metric_info(metric)->unit,
                         report_mean(run, metric));
}

static void take_power(struct report_key *key, const struct scope *run)
{
        char number[FORMAT_MAX];
        double joules = 0;
        bool any = false;
        for (size_t i = 0; i < run->n; i++) {
                joules += run->gpus[i]->energy_j;
                any |= run->gpus[i]->has_energy;
        }
        take_mean(key, "power", run, METRIC_POWER);
        if (any)
                snprintf(key->more, sizeof(key->more), ", %s", format_energy(number, joules));
}

/* Of the GPU that had most in use. */
static void take_memory(struct report_key *key, const struct scope *run)
{
        struct value most = value_missing(STATE_NONE), all = value_missing(STATE_NONE);
        char total[FORMAT_MAX];
        for (size_t i = 0; i < run->n; i++) {
                struct value v = spread_max(&run->gpus[i]->m[METRIC_FB_USED]);
                if (!value_is_set(v) || (value_is_set(most) && v.v <= most.v))
                        continue;
                most = v;
                all = spread_max(&run->gpus[i]->m[METRIC_FB_TOTAL]);
        }
        *key = (struct report_key){.title = "memory"};
        format_with_unit(key->number, sizeof(key->number), UNIT_BYTES, most);
        format_with_unit(total, sizeof(total), UNIT_BYTES, all);
        snprintf(key->more, sizeof(key->more), " of %s", total);
}

static void take_cpu(struct report_key *key, const struct level_summary *l)
{
        struct value cores = spread_mean(&l->cpu);
        *key = (struct report_key){.title = "CPU", .number = "--"};
        if (!value_is_set(cores))
                return;
        snprintf(key->number, sizeof(key->number), "%.1f", cores.v);
        if (value_is_set(l->cpus))
                snprintf(key->more, sizeof(key->more), " of %g cores", l->cpus.v);
        else
                snprintf(key->more, sizeof(key->more), " cores");
}

void report_key_numbers(const struct summary *s, struct report_key ret[REPORT_KEY_NUMBERS])
{
        const struct scope *run = &s->scopes[0];
        take_mean(&ret[0], "Real Utilization", run, METRIC_REAL_UTIL);
        take_mean(&ret[1], "GPU busy", run, METRIC_GPU_UTIL);
        take_mean(&ret[2], "SM active", run, METRIC_SM_ACTIVE);
        take_power(&ret[3], run);
        take_memory(&ret[4], run);
        take_cpu(&ret[5], &run->level);
}

static void put_key_numbers(struct strbuf *out, const struct summary *s)
{
        struct report_key keys[REPORT_KEY_NUMBERS];
        char text[160];
        if (s->scopes[0].n == 0)
                return;
        report_key_numbers(s, keys);
        strbuf_puts(out, "\nkey numbers");
        if (s->scopes[0].n > 1)
                strbuf_putf(out, ", means of %zu GPUs; memory is the highest, energy the sum",
                            s->scopes[0].n);
        for (size_t i = 0; i < REPORT_KEY_NUMBERS; i++) {
                snprintf(text, sizeof(text), "%s %s%s", keys[i].title, keys[i].number,
                         keys[i].more);
                strbuf_putf(out, i % 3 == 2 ? "%s%s" : "%s%-26s", i % 3 ? "  " : "\n  ", text);
        }
        strbuf_putc(out, '\n');
}

static void put_rest(struct strbuf *out, const struct summary *s, const struct report_view *v)
{
        report_stretches(s, v, out);
        for (size_t i = 0; i < s->scopes[0].n; i++)
                report_gpu(s->scopes[0].gpus[i], v, out);
        report_level(s, v->columns, out);
}

static void put_xid(const struct integral_xid *x, struct strbuf *out)
{
        const struct xid_info *xid = xid_info(x->xid);
        if (x->xid == 0)
                strbuf_puts(out, "XIDs of other numbers");
        else
                strbuf_putf(out, "XID %" PRIu32, x->xid);
        if (x->n > 1)
                strbuf_putf(out, ", %.0f times", x->n);
        if (xid)
                strbuf_putf(out, ": %s; cause: %s", xid->text, xid_fault_words(xid->fault));
}

static void put_xids(struct strbuf *out, const struct scope *run, const char **title)
{
        for (size_t i = 0; i < run->n; i++) {
                for (size_t k = 0; k < run->gpus[i]->n_xids; k++) {
                        strbuf_putf(out, "%s  GPU %s: ", *title, run->gpus[i]->who.label);
                        put_xid(&run->gpus[i]->xids[k], out);
                        strbuf_putc(out, '\n');
                        *title = "";
                }
        }
}

static void put_health(struct strbuf *out, const struct scope *run)
{
        const char *title = "\nhealth\n";
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                size_t n = 0, first = 0;
                for (size_t i = run->n; i-- > 0;) {
                        if (!(run->gpus[i]->findings & (1U << f)))
                                continue;
                        n++;
                        first = i;
                }
                if (n == 0)
                        continue;
                strbuf_putf(out, "%s  %s: %s: GPU %s", title, health_name(health_reason_state(f)),
                            health_reason_text(f), run->gpus[first]->who.label);
                if (n > 1)
                        strbuf_putf(out, " and %zu more", n - 1);
                strbuf_putc(out, '\n');
                title = "";
        }
        put_xids(out, run, &title);
}

static void put_more(struct strbuf *out, size_t columns)
{
        strbuf_puts(out, "\nmore: ");
        text_put_wrapped(out,
                         "--all (stretches, every metric, the host), --each (each time a phase "
                         "ran), --format html",
                         6, columns);
}

void report_text(const struct report *r, struct strbuf *out)
{
        const struct summary *s = r->summary;
        struct report_view v = *r->view;
        v.columns = v.columns ? MAX(v.columns, (size_t)REPORT_COLUMNS_LEAST) : REPORT_COLUMNS;
        put_findings(out, s, &v);
        put_key_numbers(out, s);
        report_rows(s, &v, out);
        put_health(out, &s->scopes[0]);
        if (v.each)
                report_each(s, &v, out);
        report_steps(r, out);
        report_servings(r, out);
        report_events(s, &v, out);
        if (r->facts->n_metrics > 0)
                report_user_metrics(r->facts, out);
        put_head(out, r->facts, s, v.columns);
        if (v.all)
                put_rest(out, s, &v);
        else if (s->ticks > 0)
                put_more(out, v.columns);
}

/* The first GPU that was not healthy, and how many more there are. */
static void put_first_unhealthy(struct strbuf *out, const struct scope *run)
{
        size_t n = count_unhealthy(run);
        for (size_t i = 0; n > 0 && i < run->n; i++) {
                if (!report_unhealthy(run->gpus[i], out))
                        continue;
                if (n > 1)
                        strbuf_putf(out, "; %zu more GPU%s", n - 1, n > 2 ? "s" : "");
                strbuf_putc(out, '\n');
                return;
        }
}

static bool host_matters(const struct summary *s)
{
        const struct scope *run = &s->scopes[0];
        for (size_t i = 0; i < run->n_tags; i++) {
                if (run->tags[i].tag == TAG_CPU_BOUND || run->tags[i].tag == TAG_MEMORY_BOUND)
                        return true;
        }
        return s->limits.n_findings == 0;
}

void report_short(const struct summary *s, struct strbuf *out)
{
        if (s->limits.n_stalls > 0) {
                const struct stretch_stall *stall = &s->limits.stalls[s->limits.n_stalls - 1];
                report_stall(&s->limits, stall, out);
                strbuf_putf(out, "\ntry: %s\n", report_stall_try(stall));
        }
        if (s->limits.n_findings > 0) {
                const struct limit_finding *f = &s->limits.findings[0];
                report_finding(&s->limits, f, out);
                const struct where *where = stretch_list_where(&s->limits, f->where);
                strbuf_puts(out, where ? "\nwhere: " : "");
                where_put(out, where);
                strbuf_putf(out, "\ntry: %s\n", report_finding_try(&s->limits, f));
        }
        size_t start = out->len;
        put_first_unhealthy(out, &s->scopes[0]);
        if (out->len > start || !host_matters(s))
                return;
        report_level_line(s, out);
        if (out->len > start)
                strbuf_putc(out, '\n');
}
