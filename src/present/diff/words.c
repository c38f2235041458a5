/* The words of a comparison, one place for all formats. */
#include "base/attr.h"
#include "base/text.h"
#include "model/serving_digest.h"
#include "present/diff/diff.h"
#include "present/format.h"
#include "present/text/where.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void diff_put_value(enum unit unit, struct value v, struct strbuf *out)
{
        char text[FORMAT_MAX];
        format_value(text, sizeof(text), FORMAT_FINE, unit, v);
        strbuf_puts(out, text);
}

void diff_put_seconds(double s, struct strbuf *out)
{
        diff_put_value(UNIT_SECONDS, s < 0 ? value_missing(STATE_NONE) : value_ok(s), out);
}

/* A change that rounds to nothing has no sign. */
static void put_signed(double v, struct strbuf *out)
{
        double shown = round(v * 1000) / 10;
        strbuf_putf(out, shown == 0 ? "%.1f" : "%+.1f", shown == 0 ? 0.0 : shown);
}

#define END_SHOWN 100.0 /* ends of intervals beyond 10000 % say nothing more */

static void put_end(double v, struct strbuf *out)
{
        if (v > END_SHOWN)
                strbuf_puts(out, "> ");
        put_signed(MIN(v, END_SHOWN), out);
}

static const char *scale_words(const struct diff_row *row)
{
        return row->scale == DIFF_ABSOLUTE ? "points" : "%";
}

void diff_put_change(const struct diff_row *row, struct strbuf *out)
{
        bool both = value_is_set(row->base) && value_is_set(row->now);
        if (!both || (row->scale == DIFF_RELATIVE && !(row->base.v > 0 && row->now.v > 0) &&
                      !row->has_interval)) {
                strbuf_puts(out, "--");
                return;
        }
        put_signed(row->change, out);
        strbuf_putf(out, " %s", scale_words(row));
}

void diff_put_interval(const struct diff_row *row, struct strbuf *out)
{
        if (!row->has_interval) {
                strbuf_puts(out, "--");
                return;
        }
        put_end(row->low, out);
        strbuf_puts(out, " to ");
        put_end(row->high, out);
        strbuf_putf(out, " %s", scale_words(row));
}

void diff_put_cells(const struct diff_row *row, const char *before, struct strbuf *out)
{
        strbuf_puts(out, before);
        diff_put_value(row->unit, row->base, out);
        strbuf_puts(out, before);
        diff_put_value(row->unit, row->now, out);
        strbuf_puts(out, before);
        diff_put_change(row, out);
        strbuf_puts(out, before);
        diff_put_interval(row, out);
}

#define WHY_FITS 24 /* letters, in the last column of a table */

const char *diff_row_words(const struct diff_row *row)
{
        bool both = value_is_set(row->base) && value_is_set(row->now);
        if (row->word != DIFF_INCONCLUSIVE || row->has_interval || !row->why[0])
                return diff_row_word_name(row);
        if (both && row->n_base == 1 && row->n_now == 1)
                return "one run a side";
        return strlen(row->why) <= WHY_FITS ? row->why : diff_row_word_name(row);
}

static void put_numbers(const struct diff_row *row, struct strbuf *out)
{
        strbuf_putf(out, "%s ", row->name);
        diff_put_value(row->unit, row->base, out);
        strbuf_puts(out, " -> ");
        diff_put_value(row->unit, row->now, out);
        strbuf_puts(out, ", ");
        diff_put_change(row, out);
        if (!row->has_interval)
                return;
        strbuf_puts(out, " (95 %: ");
        diff_put_interval(row, out);
        strbuf_puts(out, ")");
}

/* A step may be faster in a run that is slower: its start-up is another matter, and said. */
static void put_whole_run(const struct diff *d, struct strbuf *out)
{
        for (size_t i = 1; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                bool is_run = row->evidence == DIFF_EVIDENCE_RUN && !row->why[0];
                if (!is_run || row->word == d->word || row->word == DIFF_SAME)
                        continue;
                strbuf_putf(out, "; the whole run is %s, ", diff_row_word_name(row));
                diff_put_change(row, out);
        }
}

void diff_put_verdict(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        if (!d->comparable) {
                strbuf_puts(out, "not comparable: ");
                diff_put_reason(d, out);
                return;
        }
        strbuf_puts(out, diff_word_name(d->word));
        if (d->identical) {
                strbuf_puts(out, ": both sides are the same recording");
                return;
        }
        if (d->word == DIFF_INCONCLUSIVE)
                strbuf_putf(out, ": %s", d->why);
        if (d->main != SIZE_MAX) {
                strbuf_puts(out, d->word == DIFF_INCONCLUSIVE ? "; " : ": ");
                put_numbers(&d->rows[d->main], out);
        }
        put_whole_run(d, out);
}

#define PATH_COLUMNS 36

/* The end of a path says more than its beginning. */
static void put_path(const char *path, struct strbuf *out)
{
        size_t len = strlen(path);
        const char *end = len > PATH_COLUMNS ? strchr(path + len - PATH_COLUMNS, '/') : NULL;
        if (end)
                strbuf_puts(out, "...");
        text_put(out, end ? end : path, PATH_COLUMNS);
}

void diff_put_side(const struct diff_side *side, struct strbuf *out)
{
        const struct diff_run *run = &side->runs[0];
        put_path(run->name, out);
        if (side->n > 1)
                strbuf_putf(out, " and %zu more", side->n - 1);
        strbuf_putf(out, ", %.1f s, ", run->seconds);
        if (run->unwatched)
                strbuf_puts(out, "a run log");
        else
                strbuf_putf(out, "%zu GPU%s", run->gpus, run->gpus == 1 ? "" : "s");
        if (run->model[0])
                strbuf_putf(out, " (%s)", run->model);
}

void diff_put_method(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        if (d->main == SIZE_MAX)
                return;
        const struct diff_row *row = &d->rows[d->main];
        switch (row->method) {
        case DIFF_BY_REPEATS:
                strbuf_putf(out, "noise from %zu and %zu repeats (Welch's t)", page->base->n,
                            page->now->n);
                return;
        case DIFF_BY_STEPS:
                strbuf_putf(out,
                            "noise from %zu and %zu %s (block bootstrap) and 0.5 %% between runs",
                            row->n_base, row->n_now,
                            row->evidence == DIFF_EVIDENCE_STEPS ? "steps" : "numbers");
                return;
        case DIFF_BY_WINDOWS:
                strbuf_putf(out,
                            "noise from %zu and %zu windows of SM activity (block bootstrap), "
                            "a sample at the start, and 0.5 %% between runs",
                            row->n_base, row->n_now);
                return;
        case DIFF_BY_ASSUMPTION:
                strbuf_putf(out, "%s came %s a run: runs are taken to differ by 2 %%", row->name,
                            MAX(row->n_base, row->n_now) > 1 ? "a few times" : "once");
                return;
        case DIFF_BY_NOTHING:
        case DIFF_BY_IDENTITY:
        case DIFF_BY_PEAK:
                return;
        }
}

/* " 1.7 ms a step instead of 28 ms". */
static void put_instead(const struct diff_page *page, struct value now, struct value base,
                        struct strbuf *out)
{
        bool step = page->d->rows[page->d->main].evidence == DIFF_EVIDENCE_STEPS;
        strbuf_putc(out, ' ');
        diff_put_value(UNIT_SECONDS, now, out);
        strbuf_puts(out, step ? " a step instead of " : " instead of ");
        diff_put_value(UNIT_SECONDS, base, out);
}

static void put_engine(const struct diff_cause *c, struct strbuf *out)
{
        char now[FORMAT_MAX], base[FORMAT_MAX];
        if (value_is_set(c->engine_base) && value_is_set(c->engine_now))
                strbuf_putf(out, "; kernels run %s of the time instead of %s",
                            format_share(now, c->engine_now.v),
                            format_share(base, c->engine_base.v));
}

#define SHARE_SAME 0.05

/* What a limiter is, without the explanation that follows a colon. */
static void put_limiter_name(enum limiter l, struct strbuf *out)
{
        const char *words = limiter_words(l);
        strbuf_put(out, words, strcspn(words, ":"));
}

static void put_limiter(const struct diff_page *page, struct strbuf *out)
{
        const struct diff_cause *c = &page->d->cause;
        char now[FORMAT_MAX], base[FORMAT_MAX];
        bool same = fabs(c->now - c->base) < SHARE_SAME;
        strbuf_puts(out, limiter_doubt(c->limiter, page->d->basis));
        put_limiter_name(c->limiter, out);
        if (same && value_is_set(c->gaps_base) && value_is_set(c->gaps_now)) {
                strbuf_puts(out, ": between kernels pass");
                put_instead(page, c->gaps_now, c->gaps_base, out);
        } else if (same) {
                strbuf_puts(out, ": they limit both sides");
        } else {
                strbuf_putf(out, ": the limit for %s of the time instead of %s",
                            format_share(now, c->now), format_share(base, c->base));
        }
        put_engine(c, out);
        if (c->other != c->limiter) {
                strbuf_puts(out, c->now > c->base ? "; before: " : "; now: ");
                put_limiter_name(c->other, out);
        }
}

/* Kernels, or what lies between them, where one limiter holds on both sides. */
static void put_moved(const struct diff_page *page, const char *what, struct value now,
                      struct value base, struct strbuf *out)
{
        const struct diff_cause *c = &page->d->cause;
        strbuf_puts(out, what);
        if (value_is_set(now)) {
                strbuf_putc(out, ':');
                put_instead(page, now, base, out);
        }
        put_engine(c, out);
        if (c->limiter == LIMITER_UNKNOWN)
                return;
        strbuf_putf(out, "; both sides are %s ", limiter_lead(page->d->basis));
        put_limiter_name(c->limiter, out);
}

/* "data.py:212 collate: 14 ms a step instead of 2.1 ms (±0.6 ms; 412 and 61 samples)". */
static void put_diff_line(const struct diff_page *page, const struct diff_line *l,
                          struct strbuf *out)
{
        const struct where_place place = {.own = l->own, .inner = l->inner};
        char now[FORMAT_MAX], base[FORMAT_MAX];
        bool rate = page->d->rows[page->d->main].better == DIFF_MORE_IS_FASTER;
        strbuf_puts(out, l->of_workers ? "CPU time of workers in " : "");
        where_put_place(out, &place);
        strbuf_putc(out, ':');
        if (rate)
                strbuf_putf(out, " %s of the time instead of %s", format_share(now, l->share_now),
                            format_share(base, l->share_base));
        else
                put_instead(page, value_ok(l->now), value_ok(l->base), out);
        strbuf_puts(out, " (");
        if (!rate) {
                strbuf_puts(out, "±");
                diff_put_value(UNIT_SECONDS, value_ok(l->error), out);
                strbuf_puts(out, "; ");
        }
        strbuf_putf(out, "%" PRIu64 " and %" PRIu64 " samples)", l->looks_now, l->looks_base);
}

void diff_put_lines(const struct diff_page *page, struct strbuf *out)
{
        const struct diff_cause *c = &page->d->cause;
        for (size_t i = 0; i < c->n_lines; i++) {
                if (c->kind == DIFF_CAUSE_LINE && !c->lines[i].of_workers)
                        continue; /* it is the cause */
                strbuf_puts(out, i > 0 ? "; " : "");
                put_diff_line(page, &c->lines[i], out);
        }
}

static void put_own_cause(const struct diff_page *page, struct strbuf *out)
{
        const struct diff_cause *c = &page->d->cause;
        bool slower = page->d->word == DIFF_MORE;
        switch (c->kind) {
        case DIFF_CAUSE_NONE:
                return;
        case DIFF_CAUSE_POWER_LIMIT:
                strbuf_putf(out, "the power limit: %.0f W instead of %.0f W", c->now, c->base);
                break;
        case DIFF_CAUSE_CLOCK:
                strbuf_putf(out, "the SM clock: %.0f MHz instead of %.0f MHz while it worked",
                            c->now / 1e6, c->base / 1e6);
                break;
        case DIFF_CAUSE_STARTUP:
                strbuf_putf(out, "the start-up: %.1f s instead of %.1f s", c->now, c->base);
                break;
        case DIFF_CAUSE_LIMITER:
                put_limiter(page, out);
                break;
        case DIFF_CAUSE_KERNELS:
                put_moved(page, slower ? "the kernels take longer" : "the kernels take less time",
                          c->kernels_now, c->kernels_base, out);
                break;
        case DIFF_CAUSE_GAPS:
                put_moved(page, slower ? "more time between kernels" : "less time between kernels",
                          c->gaps_now, c->gaps_base, out);
                break;
        case DIFF_CAUSE_PHASE:
                break;
        case DIFF_CAUSE_LINE:
                put_diff_line(page, &c->lines[c->n_lines - 1], out);
                break;
        }
        if (c->part[0]) {
                strbuf_putf(out, "%sphase '%s' takes", c->kind == DIFF_CAUSE_PHASE ? "" : "; ",
                            c->part);
                put_instead(page, value_ok(c->part_now), value_ok(c->part_base), out);
        }
}

/* So much that it may be why something else changed. */
#define SERVER_MOVED 0.1

static bool has_moved(const struct diff_row *row)
{
        if (!value_is_set(row->base) || !value_is_set(row->now))
                return false;
        double most = fmax(fabs(row->base.v), fabs(row->now.v));
        return most > 0 && fabs(row->now.v - row->base.v) >= SERVER_MOVED * most;
}

static const struct diff_row *find_diff_row(const struct diff *d, const char *name)
{
        for (size_t i = 0; i < d->n_rows; i++) {
                if (strcmp(d->rows[i].name, name) == 0)
                        return &d->rows[i];
        }
        return NULL;
}

/* "0.956", "8.62", "3480". */
static void put_plain_number(struct strbuf *out, double v)
{
        strbuf_putf(out, fabs(v) < 100 ? "%.3g" : "%.0f", v);
}

/* What a model server did otherwise: "decode batch 31 -> 22, preemptions 0 -> 8.5". */
static void put_server(const struct diff *d, struct strbuf *out)
{
        static const struct {
                const char *name;
                bool explains;
        } figures[] = {
#define DIGESTED(figure, name, explains, join) {name, explains},
            DIGESTED_FIGURES(DIGESTED)
#undef DIGESTED
        };
        const char *gap = "the model server: ";
        if (d->word == DIFF_SAME || !find_diff_row(d, figures[DIGESTED_OUTPUT].name))
                return;
        for (size_t i = 0; i < DIGESTED_COUNT; i++) {
                const struct diff_row *row =
                    figures[i].explains ? find_diff_row(d, figures[i].name) : NULL;
                if (!row || !has_moved(row))
                        continue;
                strbuf_putf(out, "%s%s ", gap, row->name);
                put_plain_number(out, row->base.v);
                strbuf_puts(out, " -> ");
                put_plain_number(out, row->now.v);
                gap = ", ";
        }
}

void diff_put_cause(const struct diff_page *page, struct strbuf *out)
{
        size_t from = out->len;
        put_server(page->d, out);
        if (out->len > from && page->d->cause.kind != DIFF_CAUSE_NONE)
                strbuf_puts(out, "; ");
        put_own_cause(page, out);
}

void diff_put_check_name(const struct diff_check *check, struct strbuf *out)
{
        const struct diff_check_info *info = diff_check_info(check->kind);
        strbuf_puts(out, info->words);
        if (info->of == DIFF_OF_ONE || info->of == DIFF_OF_LIST)
                strbuf_puts(out, check->is_new ? " NEW" : " BASE");
}

/* What is wrong with one side. */
static void put_wrong(const struct diff_check *check, const char *text, struct value v,
                      struct strbuf *out)
{
        char share[FORMAT_MAX];
        if (check->kind == DIFF_CHECK_DATA)
                strbuf_puts(out, "none");
        else if (check->kind == DIFF_CHECK_COVERAGE)
                strbuf_putf(out, "%s of the time observed",
                            format_share(share, floor(v.v * 100) / 100));
        else
                strbuf_putf(out, "%s%s", check->kind == DIFF_CHECK_LOST ? "GPU " : "", text);
}

void diff_put_checked(const struct diff_check *check, bool is_new, struct strbuf *out)
{
        const char *text = is_new ? check->now : check->base;
        struct value v = is_new ? check->now_v : check->base_v;
        switch (diff_check_info(check->kind)->of) {
        case DIFF_OF_ONE:
                if (is_new == check->is_new)
                        put_wrong(check, text, v, out);
                break;
        case DIFF_OF_LIST:
                strbuf_puts(out, text);
                break;
        case DIFF_OF_TEXTS:
                strbuf_puts(out, text[0] ? text : "not known");
                break;
        case DIFF_OF_COUNTS:
                strbuf_putf(out, "%.0f", v.v);
                break;
        case DIFF_OF_W:
                strbuf_putf(out, "%.4g W", v.v);
                break;
        case DIFF_OF_MHZ:
                strbuf_putf(out, "%.4g MHz", v.v * 1e-6);
                break;
        case DIFF_OF_S:
                strbuf_putf(out, "%.4g s", v.v);
                break;
        }
}

const char *diff_check_why(const struct diff_check *check)
{
        return check->is_grave ? diff_check_info(check->kind)->why : "";
}

const char *diff_check_allow(const struct diff_check *check)
{
        return check->is_grave ? diff_allow_name(diff_check_info(check->kind)->allow) : NULL;
}

/* "GPUs: 8, now 7", "end of NEW: killed by signal 9"; each side in at most that many bytes. */
static void put_both(const struct diff_check *check, int most, struct strbuf *out)
{
        struct strbuf base = {0}, now = {0};
        diff_put_checked(check, false, &base);
        diff_put_checked(check, true, &now);
        diff_put_check_name(check, out);
        strbuf_putf(out, ": %.*s%s%.*s", most, strbuf_str(&base),
                    base.len > 0 && now.len > 0 ? ", now " : "", most, strbuf_str(&now));
        strbuf_finish(&base);
        strbuf_finish(&now);
}

void diff_put_check(const struct diff_check *check, struct strbuf *out)
{
        const char *why = diff_check_why(check), *allow = diff_check_allow(check);
        put_both(check, DIFF_TEXT_MAX, out);
        if (why[0])
                strbuf_putf(out, "; %s", why);
        if (check->forbids)
                strbuf_putf(out, " (forbids a verdict%s%s%s)", allow ? "; --allow " : "",
                            allow ? allow : "", allow ? " lifts that" : "");
        else if (check->allowed)
                strbuf_puts(out, " (allowed)");
}

#define REASON_MOST 60 /* bytes of a side in the line of the verdict */

void diff_put_reason(const struct diff *d, struct strbuf *out)
{
        for (size_t i = 0; !d->comparable && i < d->n_checks; i++) {
                if (!d->checks[i].forbids)
                        continue;
                put_both(&d->checks[i], REASON_MOST, out);
                return;
        }
        strbuf_puts(out, d->why);
}

const char *diff_gate_word(enum diff_gate_result result)
{
        switch (result) {
        case DIFF_GATE_WITHIN:
                return "within";
        case DIFF_GATE_BEYOND:
                return "beyond";
        case DIFF_GATE_OPEN:
                break;
        }
        return "inconclusive";
}

void diff_put_gate(const struct diff_page *page, const struct diff_gate *gate, struct strbuf *out)
{
        strbuf_putf(out, "%s at most +", diff_gate_name(gate->of));
        if (gate->relative)
                strbuf_putf(out, "%.4g %%", gate->most * 100);
        else
                diff_put_value(gate->of == DIFF_GATE_TIME     ? UNIT_SECONDS
                               : gate->of == DIFF_GATE_ENERGY ? UNIT_JOULES
                                                              : UNIT_BYTES,
                               value_ok(gate->most), out);
        strbuf_putf(out, ": %s", diff_gate_word(gate->result));
        if (!page->d->comparable)
                strbuf_puts(out, "; the runs are not comparable");
        if (gate->row == SIZE_MAX) {
                strbuf_puts(out, page->d->identical ? "" : "; not recorded");
                return;
        }
        const struct diff_row *row = &page->d->rows[gate->row];
        strbuf_putf(out, "; %s ", row->name);
        diff_put_change(row, out);
        if (!diff_gate_fits(gate, row))
                strbuf_puts(out, ", which has no seconds: write the gate in %");
        else if (gate->of == DIFF_GATE_TIME && page->d->opposed != SIZE_MAX)
                strbuf_putf(out, ", %s", page->d->why);
        if (row->why[0])
                strbuf_putf(out, ", %s", row->why);
}

void diff_put_row_name(const struct diff *d, const struct diff_row *row, struct strbuf *out)
{
        if (row->is_limiter)
                strbuf_putf(out, "%s %s", limiter_lead(d->basis), limiter_brief(row->limiter));
        else
                strbuf_puts(out, row->name);
}

void diff_put_part(const struct diff *d, const struct diff_part *part, struct strbuf *out)
{
        if (part->before_work)
                strbuf_puts(out, "start-up");
        if (part->before_work && part->limiter == LIMITER_HOST_STARTING)
                return;
        strbuf_puts(out, part->before_work ? ", " : "");
        strbuf_putf(out, "%s %s", limiter_lead(d->basis), limiter_brief(part->limiter));
}
