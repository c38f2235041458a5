#include "present/stream/csv.h"

#include "base/num.h"

bool csv_wants_limits(const struct csv *csv)
{
        for (size_t i = 0; i < csv->n; i++) {
                enum column_kind kind = csv->columns[i]->kind;
                if (kind == COLUMN_LIMITER || kind == COLUMN_HELD_BY || kind == COLUMN_CEILING)
                        return true;
        }
        return false;
}

void csv_write_header(const struct csv *csv, struct strbuf *out)
{
        for (size_t i = 0; i < csv->n; i++) {
                if (i)
                        strbuf_putc(out, ',');
                strbuf_puts(out, csv->columns[i]->name);
        }
        strbuf_puts(out, csv->end);
}

/*
 * Writes a number, from the memo when it is the one written last in this place. The text is kept
 * when a number comes for the second time: reading it back right after it was written is slow, and
 * for numbers that never repeat it would be for nothing.
 */
static void write_number(struct csv_memo *memo, double value, unsigned decimals, struct strbuf *out)
{
        if (UNLIKELY(!strbuf_reserve(out, NUM_FORMAT_MAX)))
                return;
        char *to = out->s + out->len;
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        bool again = memo->bits == bits;
        if (again && memo->len > 0) {
                memcpy(to, memo->text, sizeof(memo->text));
                out->len += memo->len;
                return;
        }
        size_t len = num_format(to, value, decimals);
        out->len += len;
        memo->bits = bits;
        memo->len = 0;
        if (again && len <= sizeof(memo->text)) {
                memo->len = (uint8_t)len;
                memcpy(memo->text, to, sizeof(memo->text));
        }
}

void csv_write_frame(struct csv *csv, const struct frame *frame, struct strbuf *out)
{
        for (size_t r = 0; r < frame->n; r++) {
                const struct row *row = &frame->rows[r];
                if (UNLIKELY(row_is_stale(row)))
                        continue;
                struct csv_memo *memo = csv->memo[r % CSV_MEMO_ROWS];
                for (size_t i = 0; i < csv->n; i++) {
                        double value;
                        if (i)
                                strbuf_putc(out, ',');
                        if (!column_is_number(csv->columns[i]))
                                column_write(csv->columns[i], frame, row, out);
                        else if (column_value(csv->columns[i], row, &value))
                                write_number(&memo[i], value, csv->columns[i]->decimals, out);
                }
                strbuf_puts(out, csv->end);
        }
}
