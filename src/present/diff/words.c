/* The words of a comparison, one place for all formats. */
#include "base/attr.h"
#include "present/diff/diff.h"

#include <math.h>
#include <stdio.h>

static void put_bytes(double v, struct strbuf *out)
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        size_t i = 0;
        for (; fabs(v) >= 1024 && i + 1 < ARRAY_LEN(units); i++)
                v /= 1024;
        strbuf_putf(out, "%.*f %s", i == 0 ? 0 : 2, v, units[i]);
}

/* Three digits or more, and no exponent where people read it. */
static void put_plain(double v, const char *unit, struct strbuf *out)
{
        double a = fabs(v);
        int decimals = a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : a >= 1 ? 3 : 4;
        if (a != 0 && (a < 1e-3 || a >= 1e9))
                strbuf_putf(out, "%.4g%s", v, unit);
        else
                strbuf_putf(out, "%.*f%s", decimals, v, unit);
}

void diff_put_value(enum unit unit, struct value v, struct strbuf *out)
{
        if (!value_there(v))
                strbuf_puts(out, "--");
        else if (unit == UNIT_BYTES)
                put_bytes(v.v, out);
        else if (unit == UNIT_RATIO)
                strbuf_putf(out, "%.1f %%", v.v * 100);
        else if (unit == UNIT_WATTS)
                strbuf_putf(out, "%.1f W", v.v);
        else
                put_plain(v.v, unit == UNIT_SECONDS ? " s" : unit == UNIT_JOULES ? " J" : "", out);
}

/* A change that rounds to nothing has no sign. */
static void put_signed(double v, struct strbuf *out)
{
        double shown = round(v * 1000) / 10;
        strbuf_putf(out, shown == 0 ? "%.1f" : "%+.1f", shown == 0 ? 0.0 : shown);
}

static const char *scale_words(const struct diff_row *row)
{
        return row->scale == DIFF_ABSOLUTE ? "points" : "%";
}

void diff_put_change(const struct diff_row *row, struct strbuf *out)
{
        bool both = value_there(row->base) && value_there(row->now);
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
        put_signed(row->low, out);
        strbuf_puts(out, " to ");
        put_signed(row->high, out);
        strbuf_putf(out, " %s", scale_words(row));
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

void diff_put_verdict(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        if (!d->comparable) {
                strbuf_putf(out, "not comparable: %s", d->why);
                return;
        }
        strbuf_puts(out, diff_word_name(d->word, true));
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
                strbuf_putf(
                    out, "noise from %zu and %zu steps (block bootstrap) and 0.5 %% between runs",
                    row->n_base, row->n_now);
                return;
        case DIFF_BY_WINDOWS:
                strbuf_putf(out,
                            "noise from %zu and %zu windows of SM activity (block bootstrap) and "
                            "0.5 %% between runs; the GPU work is the same",
                            row->n_base, row->n_now);
                return;
        case DIFF_BY_NOTHING:
        case DIFF_BY_IDENTITY:
        case DIFF_BY_PEAK:
                return;
        }
}

#define SHARE_SAME 0.05

static void put_limiter(const struct diff_cause *c, bool longer, struct strbuf *out)
{
        bool device = limiter_side(c->limiter) == LIMITER_SIDE_DEVICE;
        if (fabs(c->now - c->base) < SHARE_SAME)
                strbuf_putf(out, "%s; both sides are limited by %s",
                            !device  ? longer ? "more of the same" : "less of the same"
                            : longer ? "the kernels take longer"
                                     : "the kernels take less time",
                            limiter_words(c->limiter));
        else
                strbuf_putf(out, "%s: it limits %.0f %% of the time instead of %.0f %%",
                            limiter_words(c->limiter), c->now * 100, c->base * 100);
        if (value_there(c->engine_base) && value_there(c->engine_now))
                strbuf_putf(out, "; kernels run %.0f %% of the time instead of %.0f %%",
                            c->engine_now.v * 100, c->engine_base.v * 100);
        if (c->other != c->limiter)
                strbuf_putf(out, c->now > c->base ? "; before: %s" : "; now: %s",
                            limiter_words(c->other));
}

void diff_put_cause(const struct diff_page *page, struct strbuf *out)
{
        const struct diff_cause *c = &page->d->cause;
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
                put_limiter(c, page->d->rows[page->d->main].change > 0, out);
                break;
        }
        if (c->part[0]) {
                strbuf_putf(out, "; phase '%s' takes ", c->part);
                diff_put_value(UNIT_SECONDS, value_ok(c->part_now), out);
                strbuf_puts(out, " a step instead of ");
                diff_put_value(UNIT_SECONDS, value_ok(c->part_base), out);
        }
}

void diff_put_check(const struct diff_check *check, struct strbuf *out)
{
        strbuf_putf(out, "%s: ", check->what);
        if (check->base[0] && check->now[0])
                strbuf_putf(out, "%s, now %s", check->base, check->now);
        else
                strbuf_puts(out, check->base[0] ? check->base : check->now);
        if (check->why[0])
                strbuf_putf(out, "; %s", check->why);
        if (check->forbids)
                strbuf_puts(out, " (forbids a verdict)");
        else if (check->allowed)
                strbuf_puts(out, " (allowed)");
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
        if (gate->row == SIZE_MAX)
                return;
        const struct diff_row *row = &page->d->rows[gate->row];
        strbuf_putf(out, "; %s ", row->name);
        diff_put_change(row, out);
        if (row->why[0])
                strbuf_putf(out, ", %s", row->why);
}

void diff_put_part(const struct diff_part *part, struct strbuf *out)
{
        if (part->before_work)
                strbuf_puts(out, "start-up, ");
        strbuf_putf(out, "limited by %s", limiter_name(part->limiter));
}
