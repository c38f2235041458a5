#include "present/why/why.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "present/why/words.h"

#include <stdio.h>
#include <string.h>

static void take_words(struct doc_cell *cell, struct strbuf *words)
{
        doc_cell_text(cell, strbuf_str(words));
        strbuf_clear(words);
}

static const char *host_name(const struct why *w, uint32_t host)
{
        return host < w->snapshot->n_hosts ? w->snapshot->hosts[host].name : "";
}

/* ---- the head ---- */

static const struct doc_column head_columns[] = {
    {.key = "why_schema_version", .kind = DOC_COUNT},
    {.key = "version"},
    {.key = "time", .kind = DOC_TIME},
    {.key = "recorded", .kind = DOC_FLAG},
    {.key = "outcome"},
    {.key = "stalled_seconds", .kind = DOC_LENGTH},
    {.key = "last_progress", .kind = DOC_TIME},
    {.key = "watched_seconds", .kind = DOC_LENGTH},
    {.key = "n_ranks", .kind = DOC_COUNT},
    {.key = "waiting_ranks", .kind = DOC_COUNT},
};

static struct value watched_for(const struct why *w)
{
        return w->n_ranks > 0 ? w->snapshot->processes[w->ranks[0].process].watched_s
                              : value_missing(STATE_NONE);
}

static void add_head(const struct why *w, const char *version, struct document *d)
{
        struct doc_part *p =
            document_add(d, DOC_FACTS, "facts", "", head_columns, ARRAY_LEN(head_columns));
        struct doc_cell *row = doc_add_row(d, p);
        double now = clock_to_seconds(w->snapshot->wall_ns);
        if (!row)
                return;
        row[0].v = value_ok(WHY_SCHEMA_VERSION);
        doc_cell_text(&row[1], version);
        row[2].v = value_ok(now);
        row[3].v = value_ok(w->snapshot->is_recorded);
        doc_cell_text(&row[4], why_outcome_name(w->outcome));
        row[5].v = w->stalled_s;
        if (value_is_set(w->stalled_s))
                row[6].v = value_ok(now - w->stalled_s.v);
        row[7].v = watched_for(w);
        row[8].v = value_ok((double)w->n_ranks);
        row[9].v = value_ok((double)w->in_common);
}

/* ---- causes ---- */

enum {
        CAUSE_NAME,
        CAUSE_SURE,
        CAUSE_RANK,
        CAUSE_HOST,
        CAUSE_PID,
        CAUSE_GPU,
        CAUSE_FILE,
        CAUSE_LINE,
        CAUSE_FUNCTION,
        CAUSE_SECONDS,
        CAUSE_DETAIL,
        CAUSE_TEXT,
        CAUSE_TRY
};

static const struct doc_column cause_columns[] = {
    {.key = "cause"},
    {.key = "sure", .kind = DOC_FLAG},
    {.key = "rank", .kind = DOC_COUNT},
    {.key = "host"},
    {.key = "pid", .kind = DOC_COUNT},
    {.key = "gpu"},
    {.key = "file"},
    {.key = "line", .kind = DOC_COUNT},
    {.key = "function"},
    {.key = "seconds", .kind = DOC_LENGTH},
    {.key = "detail"},
    {.key = "text"},
    {.key = "try"},
};

static void fill_cause(const struct why *w, const struct why_finding *f, struct doc_cell *row)
{
        struct strbuf words = {0};
        struct code_line own, inner;
        doc_cell_text(&row[CAUSE_NAME], why_cause_info(f->cause)->name);
        row[CAUSE_SURE].v = value_ok(f->sure);
        row[CAUSE_RANK].v = f->rank;
        if (f->host != WHY_NONE)
                doc_cell_text(&row[CAUSE_HOST], host_name(w, f->host));
        if (f->process != WHY_NONE)
                row[CAUSE_PID].v = value_ok(w->snapshot->processes[f->process].is.pid);
        if (f->gpu != WHY_NONE)
                doc_cell_text(&row[CAUSE_GPU], w->snapshot->gpus[f->gpu].label);
        if (why_line(w->snapshot, f->thread, &own, &inner)) {
                doc_cell_text(&row[CAUSE_FILE], own.file);
                row[CAUSE_LINE].v = value_ok(own.line);
                doc_cell_text(&row[CAUSE_FUNCTION], own.function);
        }
        row[CAUSE_SECONDS].v = f->since_s;
        doc_cell_text(&row[CAUSE_DETAIL], f->detail);
        why_put_finding(w, f, &words);
        take_words(&row[CAUSE_TEXT], &words);
        doc_cell_text(&row[CAUSE_TRY], why_cause_info(f->cause)->advice);
        strbuf_finish(&words);
}

static void add_causes(const struct why *w, struct document *d)
{
        struct doc_part *p = document_add(d, DOC_FINDINGS, "causes", "Causes", cause_columns,
                                          ARRAY_LEN(cause_columns));
        for (size_t i = 0; i < w->n_findings; i++) {
                struct doc_cell *row = doc_add_row(d, p);
                if (row)
                        fill_cause(w, &w->findings[i], row);
        }
}

/* ---- what the ranks do ---- */

enum { GROUP_RANKS, GROUP_N, GROUP_DOING, GROUP_SECONDS, GROUP_PLACE };

static const struct doc_column group_columns[] = {
    {.key = "ranks", .title = "RANKS"},
    {.key = "n", .title = "N", .kind = DOC_COUNT},
    {.key = "doing", .title = "WHAT THEY DO"},
    {.key = "seconds", .title = "FOR", .kind = DOC_LENGTH},
    {.key = "place", .title = "WHERE"},
};

static void fill_group(const struct why *w, uint32_t group, struct doc_cell *row)
{
        struct strbuf words = {0};
        const struct why_rank *first = NULL;
        struct value since = value_missing(STATE_NONE);
        size_t n = 0;
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct why_rank *r = &w->ranks[i];
                if (r->group != group)
                        continue;
                first = first ? first : r;
                n++;
                if (value_is_set(r->since_s) && (!value_is_set(since) || r->since_s.v < since.v))
                        since = r->since_s;
        }
        if (!first)
                return;
        const struct snapshot_process *p = &w->snapshot->processes[first->process];
        why_put_ranks(w, group, &words);
        if (words.len == 0)
                strbuf_putf(&words, "pid %d", p->is.pid);
        take_words(&row[GROUP_RANKS], &words);
        row[GROUP_N].v = value_ok((double)n);
        why_put_doing(w, first, &words);
        take_words(&row[GROUP_DOING], &words);
        if (first->doing != WHY_MOVES)
                row[GROUP_SECONDS].v = since;
        why_put_line(w->snapshot, first->thread, &words);
        take_words(&row[GROUP_PLACE], &words);
        strbuf_finish(&words);
}

static void add_groups(const struct why *w, struct document *d)
{
        struct doc_part *p = document_add(d, DOC_ROWS, "groups", "What the ranks do", group_columns,
                                          ARRAY_LEN(group_columns));
        for (uint32_t g = 0; g < w->n_groups; g++) {
                struct doc_cell *row = doc_add_row(d, p);
                if (row)
                        fill_group(w, g, row);
        }
}

/* ---- each rank, for programs ---- */

enum {
        RANK_RANK,
        RANK_HOST,
        RANK_PID,
        RANK_GROUP,
        RANK_DOING,
        RANK_SECONDS,
        RANK_COLLECTIVE,
        RANK_FIGURES
};

static const struct doc_column rank_columns[] = {{.key = "rank", .kind = DOC_COUNT, .flags = 0},
                                                 {.key = "host"},
                                                 {.key = "pid", .kind = DOC_COUNT},
                                                 {.key = "group", .kind = DOC_COUNT},
                                                 {.key = "doing"},
                                                 {.key = "seconds", .kind = DOC_LENGTH},
                                                 {.key = "in_collective", .kind = DOC_FLAG},
#define SNAPSHOT_FIGURE(id, name) {.key = name, .kind = DOC_NUMBER, .unit = UNIT_NUMBER},
                                                 SNAPSHOT_FIGURES(SNAPSHOT_FIGURE)
#undef SNAPSHOT_FIGURE
};

static void add_each(const struct why *w, struct document *d)
{
        struct doc_part *part =
            document_add(d, DOC_ROWS, "ranks", "", rank_columns, ARRAY_LEN(rank_columns));
        if (part)
                part->flags = DOC_MACHINE_ONLY;
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct why_rank *r = &w->ranks[i];
                const struct snapshot_process *p = &w->snapshot->processes[r->process];
                struct doc_cell *row = doc_add_row(d, part);
                if (!row)
                        return;
                row[RANK_RANK].v = p->rank;
                doc_cell_text(&row[RANK_HOST], host_name(w, p->host));
                row[RANK_PID].v = value_ok(p->is.pid);
                row[RANK_GROUP].v = value_ok(r->group);
                doc_cell_text(&row[RANK_DOING], why_doing_name((enum why_doing)r->doing));
                row[RANK_SECONDS].v = r->since_s;
                row[RANK_COLLECTIVE].v = value_ok(r->in_collective);
                for (size_t f = 0; f < SNAPSHOT_FIGURE_COUNT; f++)
                        row[RANK_FIGURES + f].v = p->figures[f];
        }
}

/* ---- GPUs ---- */

static const struct doc_column gpu_columns[] = {
    {.key = "host", .title = "NODE", .flags = DOC_MINOR},
    {.key = "gpu", .title = "GPU"},
    {.key = "gpu_util", .title = "BUSY", .kind = DOC_RATIO},
    {.key = "sm_active", .title = "SM", .kind = DOC_RATIO},
    {.key = "data", .title = "DATA", .kind = DOC_RATIO},
    {.key = "power", .title = "POWER", .kind = DOC_NUMBER, .unit = UNIT_WATTS},
    {.key = "temp", .title = "TEMP", .kind = DOC_NUMBER, .unit = UNIT_CELSIUS},
    {.key = "sm_clock", .title = "CLOCK", .kind = DOC_NUMBER, .unit = UNIT_HERTZ},
    {.key = "xid", .title = "XID", .kind = DOC_COUNT, .flags = DOC_MINOR},
    {.key = "problem", .title = "PROBLEM", .flags = DOC_MINOR},
};

static void add_gpus(const struct why *w, struct document *d)
{
        struct doc_part *part =
            document_add(d, DOC_ROWS, "gpus", "Their GPUs", gpu_columns, ARRAY_LEN(gpu_columns));
        for (size_t i = 0; i < w->snapshot->n_gpus; i++) {
                const struct snapshot_gpu *g = &w->snapshot->gpus[i];
                struct doc_cell *row = doc_add_row(d, part);
                if (!row)
                        return;
                doc_cell_text(&row[0], host_name(w, g->host));
                doc_cell_text(&row[1], g->label);
                const struct value list[] = {g->busy, g->sm,    g->data, g->power,
                                             g->temp, g->clock, g->xid};
                for (size_t k = 0; k < ARRAY_LEN(list); k++)
                        row[2 + k].v = list[k];
                doc_cell_text(&row[9], g->problem);
        }
}

/* ---- nodes ---- */

static const struct doc_column node_columns[] = {
    {.key = "host", .title = "NODE", .flags = DOC_MINOR},
    {.key = "mem_total", .title = "MEMORY", .kind = DOC_NUMBER, .unit = UNIT_BYTES},
    {.key = "mem_available", .title = "AVAILABLE", .kind = DOC_NUMBER, .unit = UNIT_BYTES},
    {.key = "swap_used", .title = "SWAPPED", .kind = DOC_NUMBER, .unit = UNIT_BYTES},
    {.key = "io_stalled", .title = "I/O STALLED", .kind = DOC_RATIO},
    {.key = "disk_read", .title = "READ", .kind = DOC_NUMBER, .unit = UNIT_BYTES_PER_S},
    {.key = "disk_written", .title = "WRITTEN", .kind = DOC_NUMBER, .unit = UNIT_BYTES_PER_S},
    {.key = "net_rx", .title = "RECEIVED", .kind = DOC_NUMBER, .unit = UNIT_BYTES_PER_S},
    {.key = "net_tx", .title = "SENT", .kind = DOC_NUMBER, .unit = UNIT_BYTES_PER_S},
};
_Static_assert(ARRAY_LEN(node_columns) == NODE_FIGURE_COUNT + 1, "a column a figure");

static void add_nodes(const struct why *w, struct document *d)
{
        struct doc_part *part = document_add(d, DOC_ROWS, "nodes", "Their nodes", node_columns,
                                             ARRAY_LEN(node_columns));
        for (uint32_t i = 0; i < w->snapshot->n_hosts; i++) {
                if (!snapshot_knows_node(&w->snapshot->hosts[i]))
                        continue;
                struct doc_cell *row = doc_add_row(d, part);
                if (!row)
                        return;
                doc_cell_text(&row[0], host_name(w, i));
                for (size_t k = 0; k < NODE_FIGURE_COUNT; k++)
                        row[1 + k].v = w->snapshot->hosts[i].node[k];
        }
}

/* ---- notes ---- */

static void add_notes(const struct why *w, struct document *d)
{
        char text[NODE_WORDS_MAX + 64];
        if (w->ras && w->ras->why[0]) {
                snprintf(text, sizeof(text), "NCCL was not heard: %s", w->ras->why);
                document_note(d, 0, text);
        } else if (w->ras) {
                snprintf(text, sizeof(text), "NCCL %s: %zu communicators", w->ras->version,
                         w->ras->communicators);
                document_note(d, 0, text);
        }
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct snapshot_process *p = &w->snapshot->processes[w->ranks[i].process];
                if (p->is.access == STACK_READABLE || p->is.why[0] == '\0')
                        continue;
                snprintf(text, sizeof(text), "no lines of pid %d: %.120s", p->is.pid, p->is.why);
                document_note(d, 0, text);
                break;
        }
}

void why_document(const struct why *w, const char *version, struct document *ret)
{
        struct strbuf title = {0};
        *ret = (struct document){.what = "a page of causes"};
        add_head(w, version, ret);
        add_causes(w, ret);
        add_groups(w, ret);
        add_each(w, ret);
        add_gpus(w, ret);
        add_nodes(w, ret);
        add_notes(w, ret);
        why_put_title(w, &title);
        document_set_title(ret, strbuf_str(&title));
        strbuf_finish(&title);
}
