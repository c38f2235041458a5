/* A job as text: a screen that answers who holds whom up, and where the time goes. */
#include "present/report/job.h"
#include "present/format.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/text.h"
#include "present/report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RANKS_EACH 16 /* of more, only those that differ have a row */
#define LINE_LEAST 12
#define LINE_MOST 40
#define FINDINGS_TOLD 3

static const int widths[] = {
#define JOB_COLUMN(id, title, width) width,
    JOB_COLUMNS(JOB_COLUMN)
#undef JOB_COLUMN
};

static void put_item(struct strbuf *out, size_t number, struct strbuf *words, const char *advice,
                     size_t columns)
{
        strbuf_putf(out, "  %zu ", number);
        text_put_wrapped(out, strbuf_str(words), number < 10 ? 4 : 5, columns);
        if (advice) {
                strbuf_puts(out, "    try: ");
                text_put_wrapped(out, advice, 9, columns);
        }
        strbuf_clear(words);
}

static void put_stragglers(const struct job *j, size_t columns, struct strbuf *out)
{
        struct strbuf words = {0};
        strbuf_puts(out, "stragglers\n");
        for (size_t i = 0; i < j->n_stragglers; i++) {
                job_put_straggler(j, &j->stragglers[i], &words);
                put_item(out, i + 1, &words, cause_try(j->stragglers[i].cause), columns);
        }
        if (j->n_stragglers == 0) {
                job_put_nobody(j, &words);
                strbuf_puts(out, "  ");
                text_put_wrapped(out, strbuf_str(&words), 2, columns);
        }
        strbuf_finish(&words);
}

static void put_findings(const struct job *j, bool all, size_t columns, struct strbuf *out)
{
        struct strbuf words = {0};
        size_t n = all ? j->n_joined : MIN(j->n_joined, (size_t)FINDINGS_TOLD);
        if (n > 0)
                strbuf_puts(out, "\nfindings of all ranks\n");
        for (size_t i = 0; i < n; i++) {
                job_put_joined(j, &j->joined[i], &words);
                put_item(out, i + 1, &words, job_joined_try(j, &j->joined[i]), columns);
        }
        strbuf_finish(&words);
}

/* ---- rows ---- */

static bool is_told(const struct job *j, size_t i, bool all)
{
        if (all || j->n <= RANKS_EACH)
                return true;
        for (size_t k = 0; k < j->n_stragglers; k++) {
                if (j->stragglers[k].rank == i)
                        return true;
        }
        for (size_t f = 0; f < JOB_FIGURE_COUNT; f++) {
                if (j->ranks[i].outlier[f] != JOB_USUAL)
                        return true;
        }
        return false;
}

/* How busy it was over the job's time: eight heights, a blank for none, a dot where nothing is
 * known. */
static void put_line(const struct job *j, const struct job_rank *r, size_t columns,
                     struct strbuf *out)
{
        static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        int64_t wide = (j->end_ns - j->start_ns) / (int64_t)columns;
        for (size_t i = 0; i < columns; i++) {
                int64_t from = j->start_ns + (int64_t)i * wide;
                bool before = from + wide < r->start_ns;
                double v = before ? NAN : job_mean(r, JOB_ENGINE, from, from + wide);
                strbuf_puts(out, isnan(v)   ? "·"
                                 : v < 0.02 ? " "
                                            : heights[MIN((size_t)(v * 8), (size_t)7)]);
        }
}

static void put_cells(char cells[JOB_COLUMN_COUNT][JOB_CELL_MAX], struct strbuf *out)
{
        strbuf_puts(out, "  ");
        for (enum job_column c = 0; c < JOB_COLUMN_COUNT; c++)
                strbuf_putf(out, c <= JOB_COLUMN_NODE ? "%-*.*s " : "%*.*s ", widths[c], widths[c],
                            cells[c]);
}

static void put_rows(const struct job *j, bool all, size_t columns, struct strbuf *out)
{
        char cells[JOB_COLUMN_COUNT][JOB_CELL_MAX];
        size_t used = 3, left_out = 0;
        for (enum job_column c = 0; c < JOB_COLUMN_COUNT; c++) {
                snprintf(cells[c], JOB_CELL_MAX, "%s", job_column_title(c));
                used += (size_t)widths[c] + 1;
        }
        size_t line = columns > used + LINE_LEAST ? MIN(columns - used, (size_t)LINE_MOST) : 0;
        strbuf_puts(out, "\nranks (< and >: apart from the others)\n");
        put_cells(cells, out);
        strbuf_puts(out, line ? " GPU busy over time\n" : "\n");
        for (size_t i = 0; i < j->n; i++) {
                if (!is_told(j, i, all)) {
                        left_out++;
                        continue;
                }
                job_cells(&j->ranks[i], cells);
                put_cells(cells, out);
                if (line) {
                        strbuf_putc(out, ' ');
                        put_line(j, &j->ranks[i], line, out);
                }
                strbuf_putc(out, '\n');
        }
        if (left_out > 0)
                strbuf_putf(out, "  %zu more ranks are within the spread: --all shows them\n",
                            left_out);
}

/* ---- spread ---- */

static void put_spread(const struct job *j, struct strbuf *out)
{
        static const struct {
                enum job_figure figure;
                const char *title;
                enum unit unit;
        } shown[] = {{JOB_ENGINE, "GPU busy", UNIT_RATIO},
                     {JOB_SM, "SM active", UNIT_RATIO},
                     {JOB_POWER, "power", UNIT_WATTS}};
        strbuf_puts(out, "\nspread      least      middle     most\n");
        for (size_t k = 0; k < ARRAY_LEN(shown); k++) {
                double least = INFINITY, most = -INFINITY, sum = 0, n = 0;
                size_t low = 0, high = 0;
                char text[3][FORMAT_MAX];
                for (size_t i = 0; i < j->n; i++) {
                        struct value v = j->ranks[i].mean[shown[k].figure];
                        if (!value_there(v))
                                continue;
                        low = v.v < least ? i : low;
                        high = v.v > most ? i : high;
                        least = MIN(least, v.v);
                        most = MAX(most, v.v);
                        sum += v.v;
                        n++;
                }
                if (n == 0)
                        continue;
                const double told[] = {least, sum / n, most};
                for (size_t i = 0; i < ARRAY_LEN(told); i++)
                        format_value(text[i], sizeof(text[i]), FORMAT_WORDS, shown[k].unit,
                                     value_ok(told[i]));
                strbuf_putf(out, "  %-9s %-10s %-10s %-8s (rank %s to rank %s)\n", shown[k].title,
                            text[0], text[1], text[2], j->ranks[low].label, j->ranks[high].label);
        }
}

static void put_foot(const struct job *j, struct strbuf *out)
{
        struct strbuf words = {0};
        job_put_clocks(j, &words);
        if (words.len > 0)
                strbuf_putf(out, "  %s\n", strbuf_str(&words));
        strbuf_clear(&words);
        job_put_missing(j, &words);
        if (words.len > 0)
                strbuf_putf(out, "  %s\n", strbuf_str(&words));
        strbuf_finish(&words);
}

void job_text(const struct job *j, const struct job_view *view, struct strbuf *out)
{
        size_t columns = view && view->columns ? MAX(view->columns, (size_t)REPORT_COLUMNS_LEAST)
                                               : REPORT_COLUMNS;
        bool all = view && view->all;
        job_put_title(j, out);
        strbuf_puts(out, "\n");
        put_foot(j, out);
        strbuf_putc(out, '\n');
        put_stragglers(j, columns, out);
        put_findings(j, all, columns, out);
        put_rows(j, all, columns, out);
        if (j->n > 1)
                put_spread(j, out);
        strbuf_puts(out, "\nmore: --all (every rank and finding), --format html; assay report FILE "
                         "tells of one rank\n");
}
