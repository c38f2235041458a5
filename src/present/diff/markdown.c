/* Markdown as code hosts show it: the verdict first, tables below. */
#include "present/diff/diff.h"

/* A text of someone else's inside a table's cell. */
static void put_safe(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '<')
                        strbuf_puts(out, "&lt;");
                else if (strchr("|`*_[]\\", *s))
                        strbuf_putf(out, "\\%c", *s);
                else
                        strbuf_putc(out, *s == '\n' ? ' ' : *s);
        }
}

static void put_line(const char *before, struct strbuf *line, const char *after, struct strbuf *out)
{
        if (line->len > 0) {
                strbuf_puts(out, before);
                put_safe(out, strbuf_str(line));
                strbuf_puts(out, after);
        }
        strbuf_clear(line);
}

static void put_rows(const struct diff *d, bool phases, struct strbuf *out)
{
        struct strbuf name = {0};
        bool begun = false;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                if (row->is_phase != phases)
                        continue;
                if (!begun)
                        strbuf_putf(out,
                                    "\n| %s | base | new | change | 95 %% | |\n"
                                    "| --- | ---: | ---: | ---: | ---: | --- |\n",
                                    phases ? "phase, each time" : "figure");
                begun = true;
                strbuf_puts(out, "| ");
                diff_put_row_name(d, row, &name);
                put_safe(out, strbuf_str(&name));
                strbuf_clear(&name);
                diff_put_cells(row, " | ", out);
                strbuf_putf(out, " | %s |\n", diff_row_words(row));
        }
        strbuf_finish(&name);
}

void diff_markdown(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf line = {0};
        diff_put_verdict(page, &line);
        put_line("### assay diff: ", &line, "\n\n", out);
        diff_put_cause(page, &line);
        put_line("**Cause:** ", &line, "\n\n", out);
        diff_put_lines(page, &line);
        put_line("**Where:** ", &line, "\n\n", out);
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &line);
                put_line("- gate: ", &line, "\n", out);
        }
        for (size_t i = 0; i < d->n_checks; i++) {
                diff_put_check(&d->checks[i], &line);
                put_line("- ", &line, "\n", out);
        }
        put_rows(d, false, out);
        put_rows(d, true, out);
        strbuf_putc(out, '\n');
        diff_put_method(page, &line);
        put_line("", &line, "; ", out);
        strbuf_puts(out, "base ");
        put_safe(out, page->base->runs[0].name);
        strbuf_puts(out, ", new ");
        put_safe(out, page->now->runs[0].name);
        strbuf_putc(out, '\n');
        strbuf_finish(&line);
}
