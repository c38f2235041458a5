#include "present/csv.h"

void csv_write_header(const struct csv *csv, struct strbuf *out)
{
        for (size_t i = 0; i < csv->n; i++) {
                if (i)
                        strbuf_putc(out, ',');
                strbuf_puts(out, csv->columns[i]->name);
        }
        strbuf_puts(out, csv->end);
}

void csv_write_frame(const struct csv *csv, const struct frame *frame, struct strbuf *out)
{
        for (size_t r = 0; r < frame->n; r++) {
                for (size_t i = 0; i < csv->n; i++) {
                        if (i)
                                strbuf_putc(out, ',');
                        column_write(csv->columns[i], frame, &frame->rows[r], out);
                }
                strbuf_puts(out, csv->end);
        }
}
