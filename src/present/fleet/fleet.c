#include "present/fleet/fleet.h"

#include "base/attr.h"
#include "base/clock.h"
#include "present/document/document.h"
#include "present/format.h"

#include <stdio.h>
#include <string.h>

#define FLEET_SCHEMA_VERSION 1
#define SECONDS_PER_HOUR 3600.0

void fleet_format_window(const struct fleet_report *r, char *buf, size_t size)
{
        char to[32];
        double hours = clock_to_seconds(r->to_ns - r->from_ns) / SECONDS_PER_HOUR;
        format_minute(to, sizeof(to), r->to_ns);
        if (hours >= 72)
                snprintf(buf, size, "%g days to %s", hours / 24, to);
        else if (hours >= 1)
                snprintf(buf, size, "%g h to %s", hours, to);
        else
                snprintf(buf, size, "%g min to %s", hours * 60, to);
}

void fleet_put_notice(const struct fleet_notice *n, struct strbuf *out)
{
        char share[FORMAT_MAX];
        switch (n->kind) {
        case FLEET_RULES_MISSED:
                strbuf_putf(out,
                            "the recording rules ran %.0f of %.0f times: what was missed counts as "
                            "not observed",
                            n->a, n->b);
                break;
        case FLEET_NO_NEWS:
                strbuf_putf(out, "no GPU reported in this window; the newest sample is %.1f h old",
                            n->a / SECONDS_PER_HOUR);
                break;
        case FLEET_SLOW:
                strbuf_putf(out,
                            "this took %.0f s, for the raw counters were asked: with the recording "
                            "rules (deploy/prometheus/rules; vmalert runs them beside "
                            "VictoriaMetrics) it is quick",
                            n->a);
                break;
        case FLEET_FIRST_MINUTES:
                strbuf_puts(out, "the engine has nothing of the time before: these are the first "
                                 "minutes");
                break;
        case FLEET_BEGINS:
                strbuf_putf(out,
                            "the engine has nothing of the window's first %.1f h: what is shown "
                            "is of the time since",
                            n->a / SECONDS_PER_HOUR);
                break;
        case FLEET_NODES_CUT:
                strbuf_putf(out, "of %.0f nodes the first %.0f are shown", n->a, n->b);
                break;
        case FLEET_NO_PROBLEMS:
                strbuf_puts(out, "no problems found");
                break;
        case FLEET_UNSEEN:
                format_with_unit(share, sizeof(share), UNIT_RATIO, value_ok(n->a));
                strbuf_putf(out,
                            "%s of the GPU time in the window was not observed: it counts as "
                            "neither used nor wasted",
                            share);
                break;
        case FLEET_ALL_OLD:
                strbuf_puts(out, "no GPU reports at the window's end: what is shown is old");
                break;
        case FLEET_SILENT:
                strbuf_putf(out,
                            "%.0f of %.0f GPUs or slices of the window do not answer now: 'assay "
                            "fleet health' tells which are missed",
                            n->a, n->b);
                break;
        case FLEET_WARNING:
                strbuf_putf(out, "the engine warns: %s", n->text);
                break;
        }
}

static const struct doc_column facts[] = {
    {.key = "schema", .kind = DOC_COUNT},
    {.key = "view"},
    {.key = "engine"},
    {.key = "from", .kind = DOC_TIME},
    {.key = "to", .kind = DOC_TIME},
    {.key = "recorded", .kind = DOC_FLAG},
};

static void fill_facts(const struct fleet_report *r, struct doc_cell *row)
{
        row[0].v = value_ok(FLEET_SCHEMA_VERSION);
        doc_cell_text(&row[1], r->what);
        doc_cell_text(&row[2], r->engine);
        row[3].v = value_ok(clock_to_seconds(r->from_ns));
        row[4].v = value_ok(clock_to_seconds(r->to_ns));
        row[5].v = value_ok(r->recorded);
}

/* The same notices for programs, who always have a list, and for people, below the tables. */
static void add_notices(const struct fleet_report *r, unsigned flags, struct document *d)
{
        static const struct doc_column text[] = {{.key = "text"}};
        struct doc_part *p = document_add(d, DOC_NOTES, "notices", "", text, 1);
        struct strbuf words = {0};
        p->flags = flags;
        for (size_t i = 0; i < r->n_notices; i++) {
                struct doc_cell *row = doc_add_row(d, p);
                fleet_put_notice(&r->notices[i], &words);
                if (row)
                        doc_cell_text(row, strbuf_str(&words));
                strbuf_clear(&words);
        }
        strbuf_finish(&words);
}

static void set_title(const struct fleet_report *r, struct document *d)
{
        char window[64], title[DOC_TITLE_MAX];
        fleet_format_window(r, window, sizeof(window));
        snprintf(title, sizeof(title), "%s: %s, from %.120s%s", r->what, window, r->engine,
                 r->recorded ? " (recording rules)" : "");
        document_set_title(d, title);
}

int fleet_write(const struct fleet_report *r, const char *format, size_t columns,
                struct strbuf *out, struct err *err)
{
        const struct doc_view view = {.columns = columns};
        /* The overview's tables are short, whatever is asked for. */
        bool overview = strcmp(r->what, fleet_view_name(FLEET_OVERVIEW)) == 0;
        struct document own = {0}, all = {.what = "a report of a fleet"};
        struct doc_cell *row =
            doc_add_row(&own, document_add(&own, DOC_FACTS, "facts", "", facts, ARRAY_LEN(facts)));
        if (row)
                fill_facts(r, row);
        add_notices(r, DOC_MACHINE_ONLY, &own);
        add_notices(r, DOC_PEOPLE, &own);
        set_title(r, &all);
        all.parts[all.n++] = own.parts[0];
        all.parts[all.n++] = own.parts[1];
        for (size_t i = 0; i < r->tables.n && all.n + 1 < DOC_PARTS_MAX; i++) {
                all.parts[all.n] = r->tables.parts[i];
                all.parts[all.n++].rest =
                    overview ? "their own view shows them" : "--limit shows them";
        }
        all.parts[all.n++] = own.parts[2];
        all.failed = own.failed || r->tables.failed;
        int code = document_write(&all, format, &view, out, err);
        document_finish(&own);
        return code;
}
