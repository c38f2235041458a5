/* Any text as an engine's answer to every question of every view, and what is written of it. */
#include "fuzz.h"

#include "base/clock.h"
#include "fleet/collect.h"
#include "present/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

/* Names are somebody else's: nothing that a terminal would obey comes out. */
static void check_text(const struct strbuf *out)
{
        for (size_t i = 0; i < out->len; i++) {
                unsigned char c = (unsigned char)out->s[i];
                if ((c < 0x20 && c != '\n') || c == 0x7f)
                        abort();
        }
}

static void show_view(enum fleet_view view, const char *text, size_t size)
{
        const struct fleet_asked asked = {
            .to_ns = 1800000000 * NS_PER_S, .window_ns = 86400 * NS_PER_S, .rows = 5};
        struct question q[16] = {0};
        struct fleet_report report;
        struct strbuf out = {0};
        struct collect c;
        struct err err = {0};
        if (collect_begin(&c, NULL, &asked, &report, &err) < 0)
                abort();
        report.what = fleet_view_name(view);
        size_t n = collect_questions(view, q, 16);
        for (size_t i = 0; i < n; i++)
                answer_parse(text, size, "engine", &q[i].answer, &err);
        collect_tables(&c, view, q, n);
        static const char *const formats[] = {"text", "json", "csv", "markdown", "html"};
        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                if (fleet_write(&report, formats[i], 0, &out, NULL) < 0)
                        abort();
                check_text(&out);
                strbuf_clear(&out);
        }
        strbuf_finish(&out);
        question_finish(q, n);
        collect_finish(&c);
        fleet_report_finish(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct answer a = {0};
        struct err err = {0};
        if (answer_parse((const char *)data, size, "engine", &a, &err) < 0) {
                if (!err.msg[0] || a.root)
                        abort();
                return 0;
        }
        answer_finish(&a);
        for (enum fleet_view v = 0; v < FLEET_VIEW_COUNT; v++)
                show_view(v, (const char *)data, size);
        return 0;
}
