#include "present/stream/stack_export.h"

#include "base/jsonw.h"
#include "model/where.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DOING_MAX (STACK_NAME_MAX + 32)
#define PROCESS_MAX 96
#define SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void name_process(const struct stack_process *p, char buf[PROCESS_MAX])
{
        snprintf(buf, PROCESS_MAX, "%.72s%s(%d)", p->command, p->command[0] ? " " : "", p->pid);
}

static void name_thread(const struct stack_export *e, uint32_t thread, char buf[PROCESS_MAX])
{
        const struct stack_thread *t = &e->log->threads[thread];
        if (t->is_main)
                snprintf(buf, PROCESS_MAX, "main");
        else
                snprintf(buf, PROCESS_MAX, "%.72s (%d)", stack_text(e->log->table, t->name),
                         t->tid);
}

/* ---- folded lines ---- */

/* A semicolon stands between frames. */
static void put_folded(struct strbuf *out, const char *s)
{
        for (; *s; s++)
                strbuf_putc(out, *s == ';' ? ':' : *s);
}

static void put_folded_frame(const struct stack_export *e, uint32_t frame, struct strbuf *out)
{
        const struct stack_frame *f = stack_frame(e->log->table, frame);
        const char *function = stack_text(e->log->table, f->function);
        strbuf_putc(out, ';');
        put_folded(out, function[0] ? function : "?");
        if (f->file == STACK_TEXT_NONE)
                return;
        strbuf_puts(out, " (");
        put_folded(out, where_short_file(stack_text(e->log->table, f->file), f->whose));
        if (f->line > 0)
                strbuf_putf(out, ":%" PRIu32, f->line);
        strbuf_putc(out, ')');
}

static void put_folded_line(const struct stack_export *e, const struct stack_sum *s,
                            struct strbuf *out)
{
        uint32_t frames[STACK_PATH_MAX];
        char name[PROCESS_MAX], doing[DOING_MAX];
        name_process(&e->log->processes[e->log->threads[s->thread].process], name);
        put_folded(out, name);
        strbuf_putc(out, ';');
        name_thread(e, s->thread, name);
        put_folded(out, name);
        for (size_t n = stack_path(e->log->table, s->stack, frames); n-- > 0;)
                put_folded_frame(e, frames[n], out);
        stack_sum_describe(s, e->log, doing, sizeof(doing));
        strbuf_puts(out, doing[0] ? ";" : "");
        put_folded(out, doing);
        strbuf_putf(out, " %lld\n", llround(s->seconds * 1e3));
}

void stack_export_folded(const struct stack_export *e, struct strbuf *out)
{
        for (size_t i = 0; i < e->sums->n; i++) {
                if (e->sums->list[i].seconds > 0)
                        put_folded_line(e, &e->sums->list[i], out);
        }
}

/* ---- speedscope ---- */

#define GAP_LEAST_S 0.05 /* shorter ones are between two looks */

/* Numbers of the file's frames, from 1: those of the table, and what threads do in them. */
struct scope {
        uint32_t *frames; /* by id */
        uint32_t *doing;  /* by state and call */
        size_t n_texts;
        uint32_t n;
};

/* NULL for a thread that runs code with lines. */
static uint32_t *doing_slot(const struct scope *w, const struct stack_sum *s)
{
        if (s->state == STACK_RUNNING && s->stack != STACK_EMPTY)
                return NULL;
        return &w->doing[(size_t)s->state * w->n_texts + s->call];
}

static void put_scope_frame(const struct stack_export *e, uint32_t frame, struct jsonw *j)
{
        const struct stack_frame *f = stack_frame(e->log->table, frame);
        const char *function = stack_text(e->log->table, f->function);
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_text(j, "name", function[0] ? function : "?");
        if (f->file != STACK_TEXT_NONE)
                jsonw_text(j, "file", stack_text(e->log->table, f->file));
        if (f->line > 0)
                jsonw_count(j, "line", f->line);
        jsonw_end(j);
}

/* Numbers the frames of a sum, and writes those that are new. */
static void add_scope_frames(const struct stack_export *e, const struct stack_sum *s,
                             struct scope *w, struct jsonw *j)
{
        uint32_t frames[STACK_PATH_MAX];
        char doing[DOING_MAX];
        for (size_t n = stack_path(e->log->table, s->stack, frames); n-- > 0;) {
                if (w->frames[frames[n]] == 0) {
                        w->frames[frames[n]] = ++w->n;
                        put_scope_frame(e, frames[n], j);
                }
        }
        uint32_t *slot = doing_slot(w, s);
        if (!slot || *slot != 0)
                return;
        *slot = ++w->n;
        stack_sum_describe(s, e->log, doing, sizeof(doing));
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_text(j, "name", doing);
        jsonw_end(j);
}

static void put_scope_sample(const struct stack_export *e, const struct stack_sum *s,
                             const struct scope *w, struct jsonw *j)
{
        uint32_t frames[STACK_PATH_MAX];
        jsonw_array(j, NULL);
        for (size_t n = s ? stack_path(e->log->table, s->stack, frames) : 0; n-- > 0;)
                jsonw_count(j, NULL, w->frames[frames[n]] - 1);
        if (s && doing_slot(w, s))
                jsonw_count(j, NULL, *doing_slot(w, s) - 1);
        jsonw_end(j);
}

/*
 * A thread's samples, or with NULL for w their weights: where it was not seen for a while, an empty
 * one. Gives where they end.
 */
static double put_samples(const struct stack_export *e, size_t from, size_t end,
                          const struct scope *w, struct jsonw *j)
{
        double at = e->begin_s;
        for (size_t i = from; i < end; i++) {
                const struct stack_sum *s = &e->sums->list[i];
                double gap = e->begin_s + s->part * e->piece_s - at;
                if ((i == from || s->part != s[-1].part) && gap > GAP_LEAST_S) {
                        if (w)
                                put_scope_sample(e, NULL, w, j);
                        else
                                jsonw_fixed(j, NULL, gap, 3);
                        at += gap;
                }
                if (w)
                        put_scope_sample(e, s, w, j);
                else
                        jsonw_fixed(j, NULL, s->seconds, 3);
                at += s->seconds;
        }
        return at;
}

static void put_profile(const struct stack_export *e, size_t from, size_t end,
                        const struct scope *w, struct jsonw *j)
{
        char process[PROCESS_MAX], thread[PROCESS_MAX], name[2 * PROCESS_MAX];
        uint32_t t = e->sums->list[from].thread;
        name_process(&e->log->processes[e->log->threads[t].process], process);
        name_thread(e, t, thread);
        snprintf(name, sizeof(name), "%s %s", process, thread);
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_text(j, "type", "sampled");
        jsonw_text(j, "name", name);
        jsonw_text(j, "unit", "seconds");
        jsonw_array(j, "samples");
        put_samples(e, from, end, w, j);
        jsonw_end(j);
        jsonw_array(j, "weights");
        double last = put_samples(e, from, end, NULL, j);
        jsonw_end(j);
        jsonw_fixed(j, "startValue", e->begin_s, 3);
        jsonw_fixed(j, "endValue", last, 3);
        jsonw_end(j);
}

static void put_profiles(const struct stack_export *e, const struct scope *w, struct jsonw *j)
{
        const struct stack_sums *sums = e->sums;
        jsonw_array(j, "profiles");
        for (size_t i = 0, end; i < sums->n; i = end) {
                for (end = i + 1; end < sums->n && sums->list[end].thread == sums->list[i].thread;)
                        end++;
                put_profile(e, i, end, w, j);
        }
        jsonw_end(j);
}

void stack_export_speedscope(const struct stack_export *e, const char *version, struct strbuf *out)
{
        const struct stack_counts n = stack_table_counts(e->log->table);
        struct jsonw j = {.out = out};
        struct scope w = {.frames = calloc(n.frames, sizeof(*w.frames)),
                          .doing = calloc((size_t)n.texts * STACK_STATE_COUNT, sizeof(*w.doing)),
                          .n_texts = n.texts};
        char exporter[64];
        snprintf(exporter, sizeof(exporter), "assay@%s", version);
        out->failed |= !w.frames || !w.doing;
        if (!out->failed) {
                jsonw_object(&j, NULL);
                jsonw_text(&j, "$schema", SPEEDSCOPE_SCHEMA);
                jsonw_text(&j, "exporter", exporter);
                jsonw_text(&j, "version", version); /* which older files of the format have */
                jsonw_text(&j, "name", e->name);
                jsonw_object(&j, "shared");
                jsonw_array(&j, "frames");
                for (size_t i = 0; i < e->sums->n; i++)
                        add_scope_frames(e, &e->sums->list[i], &w, &j);
                jsonw_end(&j);
                jsonw_end(&j);
                put_profiles(e, &w, &j);
                jsonw_end(&j);
                strbuf_putc(out, '\n');
        }
        free(w.frames);
        free(w.doing);
}
