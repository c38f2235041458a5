/* Steps in words and as JSON: how long they took, and what the slow ones had otherwise. */
#include "base/clock.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define STEP_SERIES_SHOWN 4

/* "812 ms", "1.27 s", "12 min 3 s". */
static void put_step_length(struct strbuf *out, double seconds)
{
        if (seconds < 1e-3)
                strbuf_putf(out, "%.3g µs", seconds * 1e6);
        else if (seconds < 1)
                strbuf_putf(out, "%.3g ms", seconds * 1e3);
        else if (seconds < 60)
                strbuf_putf(out, "%.3g s", seconds);
        else
                report_put_seconds(out, seconds);
}

void report_steps_line(const struct step_series *s, struct strbuf *out)
{
        char share[FORMAT_MAX];
        strbuf_putf(out, "%zu steps: mean ", s->n);
        put_step_length(out, s->mean);
        strbuf_puts(out, ", p50 ");
        put_step_length(out, s->p50);
        strbuf_puts(out, ", p95 ");
        put_step_length(out, s->p95);
        strbuf_puts(out, ", jitter ±");
        put_step_length(out, s->jitter);
        if (s->per_s > 0)
                strbuf_putf(out, ", %.3g a second", s->per_s);
        if (!isnan(s->waited) && s->seconds > 0)
                strbuf_putf(out, "; %s of the time they waited for data",
                            format_share(share, s->waited / s->seconds));
}

static void put_figures(const struct step_series *s, const struct slow_step *slow,
                        struct strbuf *out)
{
        for (enum step_figure f = 0; f < STEP_FIGURE_COUNT; f++) {
                const struct step_figure_info *info = step_figure_info(f);
                char own[FORMAT_MAX], usual[FORMAT_MAX];
                if (!slow_step_differs(s, slow, f))
                        continue;
                format_value(own, sizeof(own), FORMAT_WORDS, info->unit, value_ok(slow->own[f]));
                format_value(usual, sizeof(usual), FORMAT_WORDS, info->unit, value_ok(s->usual[f]));
                strbuf_putf(out, "; %s %s instead of %s", info->words, own, usual);
        }
}

void report_slow_step(const struct step_series *s, const struct slow_step *slow, int64_t first_ns,
                      struct strbuf *out)
{
        char share[FORMAT_MAX];
        strbuf_putf(out, "step %zu took ", slow->at);
        put_step_length(out, slow->step.seconds);
        strbuf_puts(out, ", from ");
        report_put_seconds(out, MAX(clock_to_seconds(slow->step.begin_ns - first_ns), 0));
        strbuf_puts(out, " on");
        if (slow->phase[0]) {
                strbuf_puts(out, ": phase ");
                text_put(out, slow->phase, SIZE_MAX);
                strbuf_puts(out, " for ");
                put_step_length(out, slow->phase_s);
        }
        if (!isnan(slow->step.waited) && slow->step.waited > 0.2 * slow->step.seconds &&
            slow->step.waited > 2 * s->waited_usual) {
                strbuf_puts(out, "; it waited ");
                put_step_length(out, slow->step.waited);
                strbuf_puts(out, " for data instead of ");
                put_step_length(out, s->waited_usual);
        }
        if (slow->has_limiter && !slow->is_like_others)
                strbuf_putf(out, "; limited by %s", limiter_brief(slow->limiter));
        put_figures(s, slow, out);
        if (slow->line[0]) {
                strbuf_puts(out, "; in ");
                text_put(out, slow->line, SIZE_MAX);
                strbuf_putf(out, " for %s of it", format_share(share, slow->line_share));
        }
}

/* "MFU 38 %: 376 TFLOP/s of 989 TFLOP/s a GPU (bf16, dense); …". */
static void put_mfu(const struct report *r, const struct step_series *s, struct strbuf *out)
{
        const struct mfu *m = &r->steps->mfu;
        char share[FORMAT_MAX], own[FORMAT_MAX], peak[FORMAT_MAX];
        double n = (double)MAX(m->gpus, (size_t)1), tensor = s->usual[STEP_FIGURE_TENSOR];
        double busy = s->usual[STEP_FIGURE_GPU_UTIL];
        format_flops(own, sizeof(own), m->flops_per_s / n, m->flops_per_s / n);
        if (m->peak > 0) {
                format_flops(peak, sizeof(peak), m->peak / n, m->peak / n);
                strbuf_putf(out, "MFU %s: %s of %s a GPU (%s, dense%s), %zu GPU%s",
                            format_share(share, m->flops_per_s / m->peak), own, peak, m->type,
                            m->is_assumed ? "; --flops names another type" : "", m->gpus,
                            m->gpus == 1 ? "" : "s");
        } else {
                strbuf_putf(out, "MFU is unknown: %s",
                            m->gpus > 0 ? "a GPU is of a model whose peak is not known"
                                        : "no GPU was seen at work");
        }
        strbuf_puts(out, "; hardware over the same time:");
        if (!isnan(tensor))
                strbuf_putf(out, " tensor cores active %s,", format_share(share, tensor));
        if (isnan(busy))
                strbuf_puts(out, " GPU busy --");
        else
                strbuf_putf(out, " GPU busy %s", format_share(share, busy));
}

static void put_series(const struct report *r, const struct step_series *s, struct strbuf *out)
{
        struct strbuf text = {0};
        size_t columns = r->view->columns ? r->view->columns : REPORT_COLUMNS;
        strbuf_puts(out, "  ");
        text_put(&text, s->name, SIZE_MAX);
        if (r->steps->n > 1 && s->pid > 0)
                strbuf_putf(&text, " of process %" PRId64, s->pid);
        strbuf_puts(&text, ": ");
        report_steps_line(s, &text);
        text_put_wrapped(out, strbuf_str(&text), 2, columns);
        if (s == r->steps->list && r->steps->mfu.flops_per_step > 0) {
                strbuf_clear(&text);
                put_mfu(r, s, &text);
                strbuf_puts(out, "  ");
                text_put_wrapped(out, strbuf_str(&text), 2, columns);
        }
        if (s->n_slow > 0) {
                strbuf_clear(&text);
                strbuf_putf(&text, "%zu slow (over 1.5 times the p50), ", s->n_slow);
                put_step_length(&text, s->slow_s);
                strbuf_puts(&text, " more than the others");
                strbuf_puts(out, "  ");
                text_put_wrapped(out, strbuf_str(&text), 2, columns);
        }
        for (size_t i = 0; i < MIN(s->n_reported, r->view->all ? (size_t)STEP_SLOW_KEPT : 3); i++) {
                strbuf_clear(&text);
                report_slow_step(s, &s->slow[i], r->summary->first_ns, &text);
                strbuf_puts(out, "    ");
                text_put_wrapped(out, strbuf_str(&text), 4, columns);
        }
        strbuf_finish(&text);
}

void report_steps(const struct report *r, struct strbuf *out)
{
        if (!r->steps || r->steps->n == 0 || r->steps->list[0].n == 0)
                return;
        size_t n = r->view->all ? r->steps->n : MIN(r->steps->n, (size_t)STEP_SERIES_SHOWN);
        strbuf_puts(out, "\nsteps\n");
        for (size_t i = 0; i < n; i++) {
                if (r->steps->list[i].n > 0)
                        put_series(r, &r->steps->list[i], out);
        }
        if (n < r->steps->n)
                strbuf_putf(out, "  %zu more with --all\n", r->steps->n - n);
}

/* ---- JSON ---- */

static void put_nine(struct jsonw *j, const char *name, double v)
{
        if (isnan(v))
                jsonw_null(j, name);
        else
                jsonw_short(j, name, v, 9);
}

static void put_differences(struct jsonw *j, const struct step_series *s,
                            const struct slow_step *slow)
{
        jsonw_object(j, "figures");
        for (enum step_figure f = 0; f < STEP_FIGURE_COUNT; f++) {
                if (isnan(slow->own[f]))
                        continue;
                jsonw_object(j, step_figure_info(f)->name);
                put_nine(j, "own", slow->own[f]);
                put_nine(j, "usual", s->usual[f]);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_slow(struct jsonw *j, const struct report *r, const struct step_series *s,
                     const struct slow_step *slow)
{
        struct strbuf text = {0};
        report_slow_step(s, slow, r->summary->first_ns, &text);
        jsonw_object(j, NULL);
        jsonw_count(j, "step", slow->at);
        put_nine(j, "at_seconds", clock_to_seconds(slow->step.begin_ns - r->summary->first_ns));
        put_nine(j, "seconds", slow->step.seconds);
        put_nine(j, "waited", slow->step.waited);
        jsonw_text_or_null(j, "phase", slow->phase);
        jsonw_text_or_null(j, "limiter", slow->has_limiter ? limiter_name(slow->limiter) : "");
        put_differences(j, s, slow);
        jsonw_text_or_null(j, "line", slow->line);
        jsonw_text(j, "text", strbuf_str(&text));
        jsonw_end(j);
        strbuf_finish(&text);
}

static void put_mfu_json(struct jsonw *j, const struct mfu *m, const struct step_series *s)
{
        jsonw_object(j, "mfu");
        put_nine(j, "flops_per_step", m->flops_per_step);
        put_nine(j, "flops_per_s", m->flops_per_s);
        jsonw_count(j, "gpus", m->gpus);
        jsonw_text_or_null(j, "type", m->peak > 0 ? m->type : "");
        jsonw_bool(j, "type_is_assumed", m->is_assumed);
        put_nine(j, "peak_flops_per_s", m->peak > 0 ? m->peak : NAN);
        put_nine(j, "mfu", m->peak > 0 ? m->flops_per_s / m->peak : NAN);
        put_nine(j, "tensor_active", s->usual[STEP_FIGURE_TENSOR]);
        put_nine(j, "gpu_util", s->usual[STEP_FIGURE_GPU_UTIL]);
        jsonw_end(j);
}

static void put_series_json(struct jsonw *j, const struct report *r, const struct step_series *s)
{
        jsonw_object(j, NULL);
        jsonw_text(j, "name", s->name);
        jsonw_whole(j, "pid", s->pid);
        jsonw_text_or_null(j, "host", s->host);
        jsonw_count(j, "steps", s->n);
        put_nine(j, "seconds", s->seconds);
        put_nine(j, "mean", s->mean);
        put_nine(j, "p50", s->p50);
        put_nine(j, "p95", s->p95);
        put_nine(j, "max", s->longest);
        put_nine(j, "jitter", s->jitter);
        put_nine(j, "per_second", s->per_s > 0 ? s->per_s : NAN);
        put_nine(j, "waited", s->waited);
        if (s == r->steps->list && r->steps->mfu.flops_per_step > 0)
                put_mfu_json(j, &r->steps->mfu, s);
        jsonw_count(j, "slow_steps", s->n_slow);
        put_nine(j, "slow_seconds", s->slow_s);
        jsonw_array(j, "slow");
        for (size_t i = 0; i < s->n_reported; i++)
                put_slow(j, r, s, &s->slow[i]);
        jsonw_end(j);
        jsonw_end(j);
}

void report_json_steps(const struct report *r, struct jsonw *j)
{
        jsonw_line(j);
        jsonw_array(j, "steps");
        for (size_t i = 0; r->steps && i < r->steps->n; i++) {
                if (r->steps->list[i].n > 0)
                        put_series_json(j, r, &r->steps->list[i]);
        }
        jsonw_end(j);
}
