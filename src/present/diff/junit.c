/* JUnit's XML: a gate beyond its limit is a failure, one that is open an error. */
#include "base/quote.h"
#include "present/diff/diff.h"

static void put_case(const char *name, enum diff_gate_result result, struct strbuf *words,
                     struct strbuf *out)
{
        static const char *const tags[] = {
            [DIFF_GATE_WITHIN] = "", [DIFF_GATE_BEYOND] = "failure", [DIFF_GATE_OPEN] = "error"};
        strbuf_putf(out, "    <testcase classname=\"assay.diff\" name=\"%s\"", name);
        if (result == DIFF_GATE_WITHIN) {
                strbuf_puts(out, "/>\n");
                return;
        }
        strbuf_putf(out, ">\n      <%s message=\"", tags[result]);
        quote_markup(out, strbuf_str(words));
        strbuf_puts(out, "\"/>\n    </testcase>\n");
}

/* Without gates the verdict is the one test. */
static enum diff_gate_result result_of(const struct diff_page *page)
{
        return page->status == 0   ? DIFF_GATE_WITHIN
               : page->status == 1 ? DIFF_GATE_BEYOND
                                   : DIFF_GATE_OPEN;
}

void diff_junit(const struct diff_page *page, struct strbuf *out)
{
        const struct diff *d = page->d;
        struct strbuf words = {0}, lines = {0};
        size_t n[DIFF_GATE_OPEN + 1] = {0};
        for (size_t i = 0; i < d->n_gates; i++)
                n[d->gates[i].result]++;
        if (d->n_gates == 0)
                n[result_of(page)]++;
        strbuf_putf(out,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                    "  <testsuite name=\"assay diff\" tests=\"%zu\" failures=\"%zu\" "
                    "errors=\"%zu\">\n",
                    d->n_gates > 0 ? d->n_gates : 1, n[DIFF_GATE_BEYOND], n[DIFF_GATE_OPEN]);
        for (size_t i = 0; i < d->n_gates; i++) {
                diff_put_gate(page, &d->gates[i], &words);
                put_case(diff_gate_name(d->gates[i].of), d->gates[i].result, &words, out);
                strbuf_clear(&words);
        }
        diff_put_verdict(page, &words);
        if (d->n_gates == 0)
                put_case("verdict", result_of(page), &words, out);
        if (d->cause.kind != DIFF_CAUSE_NONE)
                strbuf_puts(&words, "; cause: ");
        diff_put_cause(page, &words);
        diff_put_lines(page, &lines);
        if (lines.len > 0)
                strbuf_putf(&words, "; where: %s", strbuf_str(&lines));
        strbuf_finish(&lines);
        strbuf_puts(out, "    <system-out>");
        quote_markup(out, strbuf_str(&words));
        strbuf_puts(out, "</system-out>\n  </testsuite>\n</testsuites>\n");
        strbuf_finish(&words);
}
