/* Text that fits a screen: the verdict, why, what differs, the figures. */
#include "base/text.h"
#include "base/attr.h"
#include "base/tablew.h"
#include "present/diff/diff.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS 80
#define NAME_COLUMNS 19
#define VALUE_COLUMNS 10
#define CHANGE_COLUMNS 9
#define INTERVAL_COLUMNS 15
#define ROWS_SHOWN 22
#define CHECKS_SHOWN 10
#define PARTS_SHOWN 8

/* Cells stands out also where one is too wide. */
static void put_cell(struct strbuf *out, struct strbuf *cell, int columns)
{
        strbuf_putc(out, ' ');
        tablew_put(out, strbuf_str(cell), columns - 1);
        strbuf_clear(cell);
}

static void put_value(enum unit unit, struct value v, struct strbuf *out)
{
        struct strbuf cell = {0};
        diff_put_value(unit, v, &cell);
        put_cell(out, &cell, VALUE_COLUMNS);
        strbuf_finish(&cell);
}

/* Cuts the unit off a cell: a change says it once for its interval too. */
static void put_without_unit(struct strbuf *cell, const char *instead)
{
        const char *s = strbuf_str(cell), *unit = strrchr(s, ' ');
        if (unit)
                cell->len = (size_t)(unit - s);
        strbuf_puts(cell, instead);
}

static void diff_text_put_row(const struct diff_row *row, const char *name, struct strbuf *out)
{
        struct strbuf cell = {0};
        text_put_name(out, name, NAME_COLUMNS + 2);
        put_value(row->unit, row->base, out);
        put_value(row->unit, row->now, out);
        diff_put_change(row, &cell);
        if (row->scale == DIFF_ABSOLUTE)
                put_without_unit(&cell, " pt");
        put_cell(out, &cell, CHANGE_COLUMNS);
        if (row->has_interval) {
                diff_put_interval(row, &cell);
                put_without_unit(&cell, "");
                put_cell(out, &cell, INTERVAL_COLUMNS);
        }
        strbuf_putf(out, "  %s\n", diff_row_words(row));
        strbuf_finish(&cell);
}

static void put_runs(const struct diff_side *side, const char *name, struct strbuf *out)
{
        strbuf_putf(out, "  %-5s ", name);
        diff_put_side(side, out);
        strbuf_putc(out, '\n');
}

/* Later lines stand under the text, or under four blanks where the label is shorter. */
static void put_line(const char *label, struct strbuf *line, struct strbuf *out)
{
        strbuf_putc(line, '\0');
        if (line->len > 1 && !line->failed) {
                strbuf_puts(out, label);
                text_put_wrapped(out, line->s, MAX(strlen(label), (size_t)4), COLUMNS);
        }
        strbuf_clear(line);
}

static void put_rows(const struct diff *d, bool phases, size_t most, struct strbuf *out)
{
        char name[sizeof(d->rows[0].name) + 4];
        size_t shown = 0, left = 0;
        bool limiters = false;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                bool limiter = row->is_limiter;
                if (row->is_phase != phases)
                        continue;
                if (limiter && !limiters && shown < most)
                        strbuf_putf(out, "  %s, of the time\n", limiter_lead(d->basis));
                limiters |= limiter;
                snprintf(name, sizeof(name), limiter ? "    %s" : "  %s",
                         limiter ? limiter_brief(row->limiter) : row->name);
                if (shown < most)
                        diff_text_put_row(row, name, out);
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
                diff_put_part(d, p, &cell);
                text_put_name(out, strbuf_str(&cell), NAME_COLUMNS + 18);
                strbuf_clear(&cell);
                diff_put_seconds(p->base_s, &cell);
                put_cell(out, &cell, VALUE_COLUMNS);
                diff_put_seconds(p->now_s, &cell);
                put_cell(out, &cell, VALUE_COLUMNS);
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
        diff_put_verdict(page, &line);
        put_line("", &line, out);
        diff_put_cause(page, &line);
        put_line("  cause ", &line, out);
        diff_put_lines(page, &line);
        put_line("  where ", &line, out);
        diff_put_method(page, &line);
        put_line("  by    ", &line, out);
        put_runs(page->base, "base", out);
        put_runs(page->now, "new", out);
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &line);
                put_line("  gate  ", &line, out);
        }
        put_checks(d, out);
        strbuf_putf(out, "\n  %-*s%*s%*s%*s%*s\n", NAME_COLUMNS, "", VALUE_COLUMNS, "base",
                    VALUE_COLUMNS, "new", CHANGE_COLUMNS, "change", INTERVAL_COLUMNS, "95 %");
        put_rows(d, false, ROWS_SHOWN, out);
        if (has_phases(d)) {
                strbuf_puts(out, "\nphases and numbers of your own, each time\n");
                put_rows(d, true, ROWS_SHOWN / 2, out);
        } else if (d->n_parts > 0 && !d->identical) {
                strbuf_puts(out, "\nstretches, in order\n");
                put_parts(d, out);
        }
        strbuf_finish(&line);
}
