/* A report as a document, for the formats that any document can be written in. */
#include "present/document/document.h"
#include "base/attr.h"
#include "present/format.h"
#include "present/report/parts.h"
#include "present/text/where.h"

#include <string.h>

/* PHASE_COLUMN(id, key, title, kind, flags, unit, metric): metric: whose mean it is; COUNT for
 * none. */
#define PHASE_COLUMNS(PHASE_COLUMN)                                                                \
        PHASE_COLUMN(PHASE, "phase", "phase", DOC_TEXT, 0, 0, COUNT)                               \
        PHASE_COLUMN(TIMES, "times", "times", DOC_COUNT, 0, 0, COUNT)                              \
        PHASE_COLUMN(SECONDS, "seconds", "time", DOC_LENGTH, 0, 0, COUNT)                          \
        PHASE_COLUMN(GPU, "gpu", "GPU", DOC_TEXT, 0, 0, COUNT)                                     \
        PHASE_COLUMN(MODEL, "model", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, COUNT)                     \
        PHASE_COLUMN(REAL, "real_util", "Real", DOC_NUMBER, 0, UNIT_SCORE, REAL_UTIL)              \
        PHASE_COLUMN(UTIL, "gpu_util", "util", DOC_NUMBER, 0, UNIT_RATIO, GPU_UTIL)                \
        PHASE_COLUMN(SM, "sm_active", "SM", DOC_NUMBER, 0, UNIT_RATIO, SM_ACTIVE)                  \
        PHASE_COLUMN(TENSOR, "tensor_active", "tensor", DOC_NUMBER, 0, UNIT_RATIO, TENSOR_ACTIVE)  \
        PHASE_COLUMN(DRAM, "dram_active", "DRAM", DOC_NUMBER, 0, UNIT_RATIO, DRAM_ACTIVE)          \
        PHASE_COLUMN(MEMORY, "fb_used_bytes", "memory", DOC_NUMBER, 0, UNIT_BYTES, FB_USED)        \
        PHASE_COLUMN(PCIE, "pcie_rx_bytes_s", "PCIe in", DOC_NUMBER, 0, UNIT_BYTES_PER_S, PCIE_RX) \
        PHASE_COLUMN(POWER, "power_w", "W", DOC_NUMBER, 0, UNIT_WATTS, POWER)                      \
        PHASE_COLUMN(CLOCK, "sm_clock_hz", "MHz", DOC_NUMBER, 0, UNIT_HERTZ, SM_CLOCK)             \
        PHASE_COLUMN(ENERGY, "energy_j", "", DOC_NUMBER, DOC_MACHINE_ONLY, UNIT_JOULES, COUNT)     \
        PHASE_COLUMN(LIMITER, "limiter", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, COUNT)                 \
        PHASE_COLUMN(HELD_BY, "held_by", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, COUNT)                 \
        PHASE_COLUMN(WORDS, "limiter_words", "limiter", DOC_TEXT, DOC_PEOPLE, 0, COUNT)            \
        PHASE_COLUMN(SHARE, "limiter_share", "", DOC_RATIO, DOC_MACHINE_ONLY, 0, COUNT)            \
        PHASE_COLUMN(BASIS, "limiter_basis", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, COUNT)

enum phase_column {
#define PHASE_COLUMN(id, key, title, kind, flags, unit, metric) PHASE_##id,
        PHASE_COLUMNS(PHASE_COLUMN)
#undef PHASE_COLUMN
            PHASE_COLUMN_COUNT
};

static const struct doc_column columns[] = {
#define PHASE_COLUMN(id, key, title, kind, flags, unit, metric)                                    \
        {key, title, kind, 0, flags, unit, NULL},
    PHASE_COLUMNS(PHASE_COLUMN)
#undef PHASE_COLUMN
};

static const enum metric metrics[] = {
#define PHASE_COLUMN(id, key, title, kind, flags, unit, metric) METRIC_##metric,
    PHASE_COLUMNS(PHASE_COLUMN)
#undef PHASE_COLUMN
};

static void fill_row(const struct scope *scope, const struct gpu_summary *g, struct doc_cell *row)
{
        const struct limited *l = &g->limited;
        const char *held = l->is_known ? held_by_name(l->held_by) : NULL;
        struct strbuf words = {0};
        report_put_limiter(&words, l, true);
        doc_cell_text(&row[PHASE_PHASE], scope->name[0] ? scope->name : "the run");
        row[PHASE_TIMES].v = value_ok((double)MAX(scope->times, (uint64_t)1));
        row[PHASE_SECONDS].v = value_ok(scope->seconds);
        doc_cell_text(&row[PHASE_GPU], g->who.label);
        doc_cell_text(&row[PHASE_MODEL], g->who.text[ENTITY_TEXT_MODEL]);
        for (size_t i = 0; i < PHASE_COLUMN_COUNT; i++) {
                if (metrics[i] != METRIC_COUNT)
                        row[i].v = spread_mean(&g->m[metrics[i]]);
        }
        row[PHASE_ENERGY].v = g->has_energy ? value_ok(g->energy_j) : value_missing(STATE_NONE);
        doc_cell_text(&row[PHASE_LIMITER], l->is_known ? limiter_name(l->limiter) : "");
        doc_cell_text(&row[PHASE_HELD_BY], held ? held : "");
        doc_cell_text(&row[PHASE_WORDS], strbuf_str(&words));
        doc_cell_text(&row[PHASE_BASIS], l->is_known ? basis_name(l->basis) : "");
        row[PHASE_SHARE].v = l->is_known ? value_ok(l->share) : value_missing(STATE_NONE);
        strbuf_finish(&words);
}

static void add_phases(const struct summary *s, struct document *d)
{
        struct doc_part *p =
            document_add(d, DOC_ROWS, "phases", "Phases, means", columns, ARRAY_LEN(columns));
        for (size_t i = 0; i < s->n; i++) {
                for (size_t k = 0; k < s->scopes[i].n; k++) {
                        struct doc_cell *row = doc_add_row(d, p);
                        if (row)
                                fill_row(&s->scopes[i], s->scopes[i].gpus[k], row);
                }
        }
}

static void add_stalls(const struct stretch_list *list, struct doc_part *p, struct document *d)
{
        struct strbuf text = {0};
        for (size_t i = 0; i < MIN(list->n_stalls, (size_t)REPORT_FINDINGS); i++) {
                struct doc_cell *row = doc_add_row(d, p);
                strbuf_clear(&text);
                report_stall(list, &list->stalls[i], &text);
                if (row) {
                        doc_cell_text(&row[0], strbuf_str(&text));
                        doc_cell_text(&row[1], report_stall_try(&list->stalls[i]));
                }
        }
        strbuf_finish(&text);
}

static void add_findings(const struct summary *s, struct document *d)
{
        static const struct doc_column finding[] = {{.key = "text"}, {.key = "try"}};
        const struct stretch_list *list = &s->limits;
        struct doc_part *p =
            document_add(d, DOC_FINDINGS, "findings", "Findings", finding, ARRAY_LEN(finding));
        struct strbuf text = {0};
        add_stalls(list, p, d);
        size_t n = MIN(list->n_findings, (size_t)REPORT_FINDINGS);
        for (size_t i = 0; i < MAX(n, (size_t)1); i++) {
                const struct limit_finding *f = n > 0 ? &list->findings[i] : NULL;
                const struct where *where = f ? stretch_list_where(list, f->where) : NULL;
                struct doc_cell *row = doc_add_row(d, p);
                strbuf_clear(&text);
                if (f)
                        report_finding(list, f, &text);
                else
                        report_finding_or_level(s, &text);
                strbuf_puts(&text, where ? "; where: " : "");
                where_put(&text, where);
                if (row)
                        doc_cell_text(&row[0], strbuf_str(&text));
                if (row && f)
                        doc_cell_text(&row[1], report_finding_try(list, f));
        }
        strbuf_finish(&text);
}

static void add_keys(const struct summary *s, struct document *d)
{
        struct report_key keys[REPORT_KEY_NUMBERS];
        struct strbuf text = {0};
        if (s->scopes[0].n == 0)
                return;
        report_key_numbers(s, keys);
        for (size_t i = 0; i < REPORT_KEY_NUMBERS; i++)
                strbuf_putf(&text, "%s%s %s%s", i > 0 ? "; " : "", keys[i].title, keys[i].number,
                            keys[i].more);
        document_note(d, DOC_PEOPLE, strbuf_str(&text));
        strbuf_finish(&text);
}

static void add_steps(const struct report *r, struct document *d)
{
        struct strbuf text = {0};
        for (size_t i = 0; r->steps && i < MIN(r->steps->n, (size_t)1); i++) {
                const struct step_series *s = &r->steps->list[i];
                if (s->n == 0)
                        continue;
                report_steps_line(s, &text);
                document_note(d, DOC_PEOPLE, strbuf_str(&text));
                for (size_t k = 0; k < s->n_reported; k++) {
                        strbuf_clear(&text);
                        report_slow_step(s, &s->slow[k], r->summary->first_ns, &text);
                        document_note(d, DOC_PEOPLE, strbuf_str(&text));
                }
        }
        strbuf_finish(&text);
}

static void add_servings(const struct report *r, struct document *d)
{
        struct strbuf line = {0};
        for (size_t i = 0; r->servings && i < r->servings->n; i++) {
                for (unsigned k = 0; report_serving_line(&r->servings->list[i], k, &line); k++) {
                        if (line.len > 0)
                                document_note(d, DOC_PEOPLE, strbuf_str(&line));
                }
        }
        strbuf_finish(&line);
}

static void write_document(const struct report *r, const char *format, struct strbuf *out)
{
        struct document d = {.what = "a report"};
        document_set_title(&d, r->facts->command[0] ? r->facts->command : r->facts->input);
        add_findings(r->summary, &d);
        add_keys(r->summary, &d);
        add_steps(r, &d);
        add_servings(r, &d);
        add_phases(r->summary, &d);
        doc_writer_find(format)->write(&d, &(struct doc_view){0}, out);
        out->failed |= d.failed;
        document_finish(&d);
}

void report_csv(const struct report *r, struct strbuf *out)
{
        write_document(r, "csv", out);
}

void report_markdown(const struct report *r, struct strbuf *out)
{
        write_document(r, "markdown", out);
}
