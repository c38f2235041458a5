/* Text that fits a screen: the verdict, why, what differs, the figures. */
#include "base/text.h"
#include "base/attr.h"
#include "present/diff/diff.h"

#define NAME_COLUMNS 26
#define ROWS_SHOWN 22
#define CHECKS_SHOWN 10
#define PARTS_SHOWN 8

static void put_cell(struct strbuf *out, struct strbuf *cell, size_t columns)
{
        size_t len = cell->len;
        strbuf_fill(out, ' ', len < columns ? columns - len : 1);
        strbuf_puts(out, strbuf_str(cell));
        strbuf_clear(cell);
}

static void put_row(const struct diff_row *row, struct strbuf *out)
{
        struct strbuf cell = {0};
        strbuf_puts(out, "  ");
        text_put_name(out, row->name, NAME_COLUMNS);
        diff_put_value(row->unit, row->base, &cell);
        put_cell(out, &cell, 12);
        diff_put_value(row->unit, row->now, &cell);
        put_cell(out, &cell, 12);
        diff_put_change(row, &cell);
        put_cell(out, &cell, 14);
        diff_put_interval(row, &cell);
        put_cell(out, &cell, 22);
        strbuf_putf(out, "  %s\n", diff_word_name(row->word, row->is_time));
        strbuf_finish(&cell);
}

static void put_runs(const struct diff_side *side, const char *name, struct strbuf *out)
{
        const struct diff_run *run = &side->runs[0];
        strbuf_putf(out, "  %-5s ", name);
        text_put(out, run->name, 60);
        if (side->n > 1)
                strbuf_putf(out, " and %zu more", side->n - 1);
        strbuf_putf(out, "  %.1f s, ", run->seconds);
        if (run->unwatched)
                strbuf_puts(out, "a run log");
        else
                strbuf_putf(out, "%zu GPU%s", run->gpus, run->gpus == 1 ? "" : "s");
        if (run->model[0])
                strbuf_putf(out, " (%s)", run->model);
        strbuf_putc(out, '\n');
}

static void put_line(const char *label, struct strbuf *line, struct strbuf *out)
{
        if (line->len > 0)
                strbuf_putf(out, "%s%s\n", label, strbuf_str(line));
        strbuf_clear(line);
}

static void put_rows(const struct diff *d, bool phases, size_t most, struct strbuf *out)
{
        size_t shown = 0, left = 0;
        for (size_t i = 0; i < d->n_rows; i++) {
                if (d->rows[i].is_phase != phases)
                        continue;
                if (shown < most)
                        put_row(&d->rows[i], out);
                else
                        left++;
                shown++;
        }
        if (left > 0)
                strbuf_putf(out, "  and %zu more: --format json has all\n", left);
}

static bool has_phases(const struct diff *d)
{
        bool any = false;
        for (size_t i = 0; i < d->n_rows; i++)
                any |= d->rows[i].is_phase;
        return any;
}

static void put_parts(const struct diff *d, struct strbuf *out)
{
        struct strbuf cell = {0};
        for (size_t i = 0; i < MIN(d->n_parts, (size_t)PARTS_SHOWN); i++) {
                const struct diff_part *p = &d->parts[i];
                strbuf_puts(out, "  ");
                diff_put_part(p, &cell);
                text_put_name(out, strbuf_str(&cell), NAME_COLUMNS + 12);
                strbuf_clear(&cell);
                diff_put_value(UNIT_SECONDS,
                               p->base_s < 0 ? value_missing(STATE_NONE) : value_ok(p->base_s),
                               &cell);
                put_cell(out, &cell, 12);
                diff_put_value(UNIT_SECONDS,
                               p->now_s < 0 ? value_missing(STATE_NONE) : value_ok(p->now_s),
                               &cell);
                put_cell(out, &cell, 12);
                strbuf_putc(out, '\n');
        }
        if (d->n_parts > PARTS_SHOWN)
                strbuf_putf(out, "  and %zu more: --format json has all\n",
                            d->n_parts - PARTS_SHOWN);
        strbuf_finish(&cell);
}

static void put_checks(const struct diff *d, struct strbuf *out)
{
        struct strbuf line = {0};
        size_t n = MIN(d->n_checks, (size_t)CHECKS_SHOWN);
        if (n > 0)
                strbuf_puts(out, "\ndifferences besides the result\n");
        for (size_t i = 0; i < n; i++) {
                diff_put_check(&d->checks[i], &line);
                put_line("  ", &line, out);
        }
        if (d->n_checks > n)
                strbuf_putf(out, "  and %zu more: --format json has all\n", d->n_checks - n);
        strbuf_finish(&line);
}

void diff_text(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf line = {0};
        size_t from = out->len;
        diff_put_verdict(page, &line);
        put_line("", &line, out);
        diff_put_cause(page, &line);
        put_line("  cause ", &line, out);
        diff_put_method(page, &line);
        put_line("  by    ", &line, out);
        put_runs(page->base, "base", out);
        put_runs(page->now, "new", out);
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &line);
                put_line("  gate  ", &line, out);
        }
        put_checks(d, out);
        strbuf_putf(out, "\n  %-*s%12s%12s%14s%22s\n", NAME_COLUMNS, "", "base", "new", "change",
                    "95 %");
        put_rows(d, false, ROWS_SHOWN, out);
        if (has_phases(d)) {
                strbuf_puts(out, "\nphases and numbers of your own, each time\n");
                put_rows(d, true, ROWS_SHOWN / 2, out);
        } else if (d->n_parts > 0 && !d->identical) {
                strbuf_puts(out, "\nstretches, in order\n");
                put_parts(d, out);
        }
        strbuf_finish(&line);
        text_clean_lines(out, from);
}
