#include "present/stream/csv.h"

#include "base/clock.h"
#include "base/num.h"

#include <string.h>

bool csv_wants_limits(const struct csv *csv)
{
        for (size_t i = 0; i < csv->n; i++) {
                enum column_kind kind = csv->columns[i]->kind;
                if (kind == COLUMN_LIMITER || kind == COLUMN_HELD_BY || kind == COLUMN_BASIS ||
                    kind == COLUMN_CEILING)
                        return true;
        }
        return false;
}

void csv_write_header(const struct csv *csv, struct strbuf *out)
{
        struct csvw c = {.out = out, .end = csv->end};
        for (size_t i = 0; i < csv->n; i++)
                csvw_text(&c, csv->columns[i]->name);
        csvw_end(&c);
}

/*
 * A number, from the memo when it is the one written last in this place. The text is kept
 * when a number comes for the second time: reading it back right after it was written is slow, and
 * for numbers that never repeat it would be for nothing.
 */
static char *put_number(char *to, double value, unsigned decimals, struct csv_memo *memo)
{
        uint64_t bits = num_bits(value);
        bool again = memo->bits == bits;
        if (again && memo->len > 0) {
                memcpy(to, memo->text, sizeof(memo->text));
                return to + memo->len;
        }
        size_t len = num_format(to, value, decimals);
        memo->bits = bits;
        memo->len = 0;
        if (again && len <= sizeof(memo->text)) {
                memo->len = (uint8_t)len;
                memcpy(memo->text, to, sizeof(memo->text));
        }
        return to + len;
}

/*
 * The metrics from column i on, up to one that is not one; returns its place. The buffer is asked
 * once and reported once: what is written into it might be its own length, as far as the compiler
 * knows.
 */
static size_t write_metrics(const struct csv *csv, size_t i, const struct row *row,
                            struct csv_memo *memo, struct strbuf *out)
{
        if (UNLIKELY(!strbuf_reserve(out, (csv->n - i) * (1 + NUM_FORMAT_MAX))))
                return csv->n;
        char *to = out->s + out->len;
        for (; i < csv->n && column_is_number(csv->columns[i]); i++) {
                double value;
                *to = ',';
                to += i > 0;
                if (column_value(csv->columns[i], row, &value))
                        to = put_number(to, value, csv->columns[i]->decimals, &memo[i]);
        }
        out->len = (size_t)(to - out->s);
        return i;
}

static void write_time(struct csv_memo *time, const struct column *column, int64_t wall_ns,
                       struct csvw *c)
{
        char text[NUM_FORMAT_MAX];
        if (time->len == 0 || time->bits != (uint64_t)wall_ns) {
                size_t len = num_format(text, clock_to_seconds(wall_ns), column->decimals);
                time->bits = (uint64_t)wall_ns;
                time->len = (uint8_t)MIN(len, sizeof(time->text));
                memcpy(time->text, text, time->len);
        }
        csvw_begin(c);
        strbuf_put(c->out, time->text, time->len);
}

static void write_row(struct csv *csv, const struct frame *frame, const struct row *row,
                      struct csv_memo *memo, struct strbuf *out)
{
        struct csvw c = {.out = out, .end = csv->end};
        for (size_t i = 0; i < csv->n;) {
                const struct column *column = csv->columns[i];
                c.more = i > 0;
                if (column_is_number(column)) {
                        i = write_metrics(csv, i, row, memo, out);
                        continue;
                }
                if (column->kind == COLUMN_TIME)
                        write_time(&csv->time, column, frame->wall_ns, &c);
                else
                        column_write(column, frame, row, &c);
                i++;
        }
        csvw_end(&c);
}

void csv_write_frame(struct csv *csv, const struct frame *frame, struct strbuf *out)
{
        for (size_t r = 0; r < frame->n; r++) {
                if (LIKELY(!row_is_stale(&frame->rows[r])))
                        write_row(csv, frame, &frame->rows[r], csv->memo[r % CSV_MEMO_ROWS], out);
        }
}
