#include "present/stream/collected.h"

#include "base/clock.h"

void collected_json_member(struct jsonw *j, const struct collected *list, size_t n)
{
        if (n == 0)
                return;
        jsonw_object(j, "collected");
        for (size_t i = 0; i < n; i++) {
                jsonw_object(j, list[i].name);
                jsonw_number(j, "value", list[i].value);
                jsonw_text_or_null(j, "unit", list[i].unit);
                jsonw_number(j, "time", clock_to_seconds(list[i].wall_ns));
                jsonw_end(j);
        }
        jsonw_end(j);
}

void collected_json_append(const struct collected *list, size_t n, struct strbuf *out)
{
        struct jsonw j = {.out = out, .more = true};
        if (n == 0)
                return;
        jsonw_reopen(out);
        collected_json_member(&j, list, n);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

void collected_put_text(const struct collected *list, size_t n, struct strbuf *out)
{
        for (size_t i = 0; i < n; i++)
                strbuf_putf(out, "%s %s %.6g%s%s", i > 0 ? "," : "\ncollected:", list[i].name,
                            list[i].value, list[i].unit[0] ? " " : "", list[i].unit);
        if (n > 0)
                strbuf_putc(out, '\n');
}
