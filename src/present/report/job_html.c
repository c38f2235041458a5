/* A job as one page without a script: who holds whom up, a strip a rank, a table. */
#include "base/attr.h"
#include "base/quote.h"
#include "present/report/job.h"

#include <math.h>

#define STRIP_WIDTH 900
#define STRIP_HEIGHT 14
#define STRIP_CELLS 300

static const char head[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width\">"
    "<title>assay: a job's ranks</title><style>"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:1.5em auto;padding:0 1em;"
    "color:#222;background:#fff}h1{font-size:1.3em}h2{font-size:1.1em;margin-top:1.6em}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "td,th{padding:.15em .6em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left}.late{background:#fde3d0}.scroll{overflow:auto}"
    ".finding{border-left:4px solid #d55e00;padding:.2em .8em;margin:.6em 0;background:#fbf3ee}"
    ".none{border-color:#009e73;background:#eef8f4}.try{color:#555}"
    "svg{width:100%;height:auto;background:#eee}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#333}"
    ".late{background:#4a2a16}.finding{background:#26201c}.none{background:#1b2622}.try{color:#aaa}"
    "svg{background:#222}}</style>";

static void put_words(struct strbuf *words, const char *before, const char *after,
                      struct strbuf *out)
{
        strbuf_puts(out, before);
        quote_markup(out, strbuf_str(words));
        strbuf_puts(out, after);
        strbuf_clear(words);
}

static void put_try(const char *advice, struct strbuf *out)
{
        strbuf_puts(out, "<br><span class=\"try\">try: ");
        quote_markup(out, advice);
        strbuf_puts(out, "</span>");
}

static void put_findings(const struct job *j, struct strbuf *out)
{
        struct strbuf words = {0};
        for (size_t i = 0; i < j->n_stragglers; i++) {
                job_put_straggler(j, &j->stragglers[i], &words);
                put_words(&words, "<div class=\"finding\"><strong>", "</strong>", out);
                put_try(cause_try(j->stragglers[i].cause), out);
                strbuf_puts(out, "</div>\n");
        }
        if (j->n_stragglers == 0) {
                job_put_nobody(j, &words);
                put_words(&words, "<div class=\"finding none\"><strong>", "</strong></div>\n", out);
        }
        strbuf_puts(out, "<h2>Findings of all ranks</h2>\n");
        for (size_t i = 0; i < j->n_joined; i++) {
                const char *advice = job_joined_try(j, &j->joined[i]);
                job_put_joined(j, &j->joined[i], &words);
                put_words(&words, "<div class=\"finding\">", "", out);
                if (advice)
                        put_try(advice, out);
                strbuf_puts(out, "</div>\n");
        }
        strbuf_finish(&words);
}

/* ---- timeline ---- */

static void put_strip(const struct job *j, const struct job_rank *r, struct strbuf *out)
{
        int64_t wide = (j->end_ns - j->start_ns) / STRIP_CELLS;
        double x = (double)STRIP_WIDTH / STRIP_CELLS;
        strbuf_putf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"rank ", STRIP_WIDTH,
                    STRIP_HEIGHT);
        quote_markup(out, r->label);
        strbuf_puts(out, ": GPU busy over time\">");
        for (int i = 0; i < STRIP_CELLS; i++) {
                int64_t from = j->start_ns + i * wide;
                double v =
                    from + wide < r->start_ns ? NAN : job_mean(r, JOB_ENGINE, from, from + wide);
                if (isnan(v) || v < 0.02)
                        continue;
                strbuf_putf(
                    out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#0072b2\"/>",
                    i * x, STRIP_HEIGHT * (1 - v), x, STRIP_HEIGHT * v);
        }
        strbuf_puts(out, "</svg>");
}

static void put_table(const struct job *j, struct strbuf *out)
{
        char cells[JOB_COLUMN_COUNT][JOB_CELL_MAX];
        strbuf_puts(out, "<h2>Ranks (&lt; and &gt;: apart from the others)</h2><div "
                         "class=\"scroll\"><table><tr>");
        for (enum job_column c = 0; c < JOB_COLUMN_COUNT; c++)
                strbuf_putf(out, "<th>%s</th>", job_column_title(c));
        strbuf_puts(out, "<th>GPU busy over time</th></tr>\n");
        for (size_t i = 0; i < j->n; i++) {
                job_cells(&j->ranks[i], cells);
                strbuf_puts(out, job_is_straggler(j, i) ? "<tr class=\"late\">" : "<tr>");
                for (enum job_column c = 0; c < JOB_COLUMN_COUNT; c++) {
                        strbuf_puts(out, "<td>");
                        quote_markup(out, cells[c]);
                        strbuf_puts(out, "</td>");
                }
                strbuf_puts(out, "<td style=\"width:40%\">");
                put_strip(j, &j->ranks[i], out);
                strbuf_puts(out, "</td></tr>\n");
        }
        strbuf_puts(out, "</table></div>\n");
}

void job_html(const struct job *j, struct strbuf *out)
{
        struct strbuf words = {0};
        strbuf_puts(out, head);
        job_put_title(j, &words);
        put_words(&words, "<h1>", "</h1>", out);
        put_findings(j, out);
        put_table(j, out);
        job_put_clocks(j, &words);
        put_words(&words, "<p>", "</p>", out);
        job_put_missing(j, &words);
        put_words(&words, "<p>", "</p>", out);
        strbuf_puts(out, "</html>\n");
        strbuf_finish(&words);
}
