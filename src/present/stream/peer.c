#include "present/stream/peer.h"

#include "base/clock.h"
#include "present/stream/json.h"

void peer_write_hello(const char *version, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_text(&j, "assay", version);
        jsonw_whole(&j, "protocol", NODE_PROTOCOL);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

/* What is missing for no reason is left out: the reader knows all names. */
static void put_values(struct jsonw *j, const struct sample *s)
{
        jsonw_object(j, "metrics");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (value_is_set(s->m[m]))
                        jsonw_number(j, metric_info(m)->name, s->m[m].v);
        }
        jsonw_end(j);
        jsonw_object(j, "missing");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (!value_is_set(s->m[m]) && s->m[m].state != STATE_NONE)
                        jsonw_text(j, metric_info(m)->name, state_name((enum state)s->m[m].state));
        }
        jsonw_end(j);
        jsonw_object(j, "age");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (value_is_set(s->m[m]) && s->m[m].age_ms != 0)
                        jsonw_number(j, metric_info(m)->name, s->m[m].age_ms / 1000.0);
        }
        jsonw_end(j);
}

void peer_write_row(const struct frame *frame, const struct row *row, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_bool(&j, "stale", frame->stale || row_is_stale(row));
        jsonw_identity(&j, row->sample.who);
        put_values(&j, &row->sample);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

static void write_time(struct strbuf *out, const char *name, uint64_t number, int64_t wall_ns)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_count(&j, name, number);
        jsonw_fixed(&j, "time", clock_to_seconds(wall_ns), 6);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

void peer_write_end(const struct frame *frame, struct strbuf *out)
{
        write_time(out, "end", frame->tick, frame->wall_ns);
}

void peer_write_clock(uint64_t number, int64_t wall_ns, struct strbuf *out)
{
        write_time(out, "clock", number, wall_ns);
}
