/* Stacks on a report's page: the trees that the script draws, and the processes as a table. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lookup.h"
#include "base/quote.h"
#include "base/text.h"
#include "present/document/page.h"
#include "present/format.h"
#include "present/report/page.h"
#include "present/report/parts.h"
#include "present/text/where.h"

#include <inttypes.h>

/* ---- names ---- */

#define NAME_COLUMNS 120

/* What nodes are, and files, each reported once for all trees. */
struct names {
        const struct stack_log *log;
        struct {
                uint32_t kind, what;
        } * list;
        size_t n, cap;
        struct lookup by_key;
};

/* The place of a name; SIZE_MAX when memory is short. */
static size_t find_name(struct names *m, uint32_t kind, uint32_t what)
{
        uint32_t key[2] = {kind, what}, at;
        uint32_t hash = hash_text((const char *)key, sizeof(key));
        size_t step = 0;
        while ((at = lookup_next(&m->by_key, hash, &step)) != LOOKUP_END) {
                if (m->list[at].kind == kind && m->list[at].what == what)
                        return at;
        }
        if (!LIST_ROOM(m->list, m->n, m->cap) || !lookup_put(&m->by_key, hash, (uint32_t)m->n))
                return SIZE_MAX;
        m->list[m->n].kind = kind;
        m->list[m->n].what = what;
        return m->n++;
}

static void put_process_name(struct strbuf *out, const struct stack_process *p)
{
        strbuf_putf(out, "process %" PRId32, p->pid);
        if (p->command[0])
                strbuf_putc(out, ' ');
        text_put(out, p->command, STACK_COMMAND_MAX);
}

static void put_thread_name(struct strbuf *out, const struct stack_log *log, uint32_t thread)
{
        const struct stack_thread *t = &log->threads[thread];
        strbuf_puts(out, t->is_main ? "main thread " : "thread ");
        text_put(out, stack_text(log->table, t->name), STACK_NAME_MAX);
        if (t->tid > 0)
                strbuf_putf(out, " (%" PRId32 ")", t->tid);
}

static const char *put_frame_name(struct strbuf *out, const struct stack_log *log, uint32_t frame)
{
        struct code_line line;
        where_fill_line(log->table, frame, &line);
        if (!line.file[0]) {
                strbuf_puts(out, "frames that were not kept");
                return "folded";
        }
        where_put_line(out, &line);
        return stack_whose_name((enum stack_whose)line.whose);
}

/* A name: its text, its class in the style sheet, and more about it; of a frame, the place of its
 * file. */
static void put_stack_name(struct jsonw *j, const struct stack_log *log, enum flame_kind kind,
                           uint32_t what, struct names *files)
{
        struct strbuf text = {0}, more = {0}, cut = {0};
        const char *class = "who";
        switch (kind) {
        case FLAME_ALL:
                strbuf_puts(&text, "all threads");
                break;
        case FLAME_PROCESS:
                put_process_name(&text, &log->processes[what]);
                text_put(&more, log->processes[what].runtime, STACK_RUNTIME_MAX);
                break;
        case FLAME_THREAD:
                put_thread_name(&text, log, what);
                break;
        case FLAME_FRAME:
                class = put_frame_name(&text, log, what);
                break;
        case FLAME_CALL:
                strbuf_puts(&text, "in ");
                text_put(&text, stack_text(log->table, what), STACK_NAME_MAX);
                strbuf_puts(&more, "a system call");
                class = "call";
                break;
        case FLAME_FOLDED:
        case FLAME_KIND_COUNT:
                strbuf_puts(&text, "folded");
                strbuf_puts(&more, "too little time to be shown");
                class = "folded";
                break;
        }
        jsonw_array(j, NULL);
        text_put(&cut, strbuf_str(&text), NAME_COLUMNS);
        page_put_text(j, NULL, strbuf_str(&cut));
        jsonw_text(j, NULL, class);
        if (kind == FLAME_FRAME)
                jsonw_count(j, NULL, find_name(files, 0, stack_frame(log->table, what)->file));
        else
                page_put_text(j, NULL, strbuf_str(&more));
        jsonw_end(j);
        strbuf_finish(&cut);
        strbuf_finish(&text);
        strbuf_finish(&more);
}

/* ---- trees ---- */

static void put_title(struct jsonw *j, const struct stretch_list *list, size_t stretch,
                      bool together)
{
        struct strbuf title = {0};
        char from[FORMAT_MAX], to[FORMAT_MAX];
        if (stretch == SIZE_MAX) {
                strbuf_puts(&title, together ? "the whole run, threads together" : "the whole run");
        } else {
                const struct stretch *s = &list->list[stretch];
                format_length(from, sizeof(from), s->begin_s);
                format_length(to, sizeof(to), s->end_s);
                strbuf_putf(&title, "%s to %s: %s", from, to,
                            limiter_brief((enum limiter)s->limit.limiter));
                if (list->n_gpus > 1) {
                        strbuf_puts(&title, ", GPU ");
                        report_stretch_gpus(list, &s->gpus, &title);
                }
        }
        page_put_text(j, "title", strbuf_str(&title));
        strbuf_finish(&title);
}

static uint64_t to_ms(double seconds)
{
        return (uint64_t)(MAX(seconds, 0) * 1e3 + 0.5);
}

/* Five numbers a node: its parent, its name, milliseconds in all and while it ran, samples. */
static void put_tree(struct jsonw *j, const struct flame_tree *t, const struct stretch_list *list,
                     struct names *names)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        put_title(j, list, t->stretch, t->together);
        jsonw_count(j, "folded", t->n_folded);
        jsonw_array(j, "nodes");
        for (size_t i = 0; i < t->n; i++) {
                const struct flame_node *n = &t->nodes[i];
                size_t name = find_name(names, n->kind, n->what);
                if (name == SIZE_MAX)
                        j->out->failed = true;
                jsonw_count(j, NULL, n->parent);
                jsonw_count(j, NULL, name);
                jsonw_count(j, NULL, to_ms(n->seconds));
                jsonw_count(j, NULL, to_ms(n->running_s));
                jsonw_count(j, NULL, n->n_samples);
        }
        jsonw_end(j);
        jsonw_end(j);
}

static void put_files(struct jsonw *j, const struct names *files)
{
        struct strbuf text = {0};
        jsonw_array(j, "files");
        for (size_t i = 0; i < files->n; i++) {
                strbuf_clear(&text);
                text_put(&text, stack_text(files->log->table, files->list[i].what), STACK_NAME_MAX);
                page_put_text(j, NULL, strbuf_str(&text));
        }
        jsonw_end(j);
        strbuf_finish(&text);
}

static void put_data(struct strbuf *out, const struct flame *f, const struct stretch_list *list)
{
        struct jsonw j = {.out = out};
        struct names names = {.log = f->log}, files = {.log = f->log};
        strbuf_puts(out, "<script type=application/json id=stacks>");
        jsonw_object(&j, NULL);
        jsonw_array(&j, "trees");
        for (size_t i = 0; i < f->n; i++)
                put_tree(&j, &f->trees[i], list, &names);
        jsonw_end(&j);
        jsonw_array(&j, "names");
        for (size_t i = 0; i < names.n; i++)
                put_stack_name(&j, f->log, (enum flame_kind)names.list[i].kind, names.list[i].what,
                               &files);
        jsonw_end(&j);
        put_files(&j, &files);
        jsonw_end(&j);
        strbuf_puts(out, "</script>\n");
        free(names.list);
        lookup_finish(&names.by_key);
        free(files.list);
        lookup_finish(&files.by_key);
}

/* ---- the table ---- */

static void put_lines(struct strbuf *out, const struct flame_process *p)
{
        struct strbuf text = {0};
        where_put_places(&text, p->places, p->n,
                         p->waits ? "of its main thread's time at" : "of its CPU time in");
        strbuf_puts(out, "<td class=\"text words\">");
        quote_markup(out, text.len > 0 ? strbuf_str(&text) : "--");
        strbuf_finish(&text);
}

/* How well it was read, or why it was not. */
static void put_read(struct strbuf *out, const struct stack_process *p)
{
        char torn[FORMAT_MAX];
        strbuf_puts(out, "<td class=\"text words\">");
        if (p->why[0]) {
                quote_markup(out, p->why);
                return;
        }
        quote_markup(out, p->runtime);
        if (p->samples > 0)
                strbuf_putf(out, "%s%" PRIu64 " samples", p->runtime[0] ? ", " : "", p->samples);
        if (p->torn > 0) {
                double all = (double)p->samples + (double)p->torn;
                strbuf_putf(out, ", %s torn", format_share(torn, (double)p->torn / all));
        }
}

static void put_processes(struct strbuf *out, const struct flame *f)
{
        strbuf_puts(out, "<h3>Processes and their busiest lines</h3>\n");
        page_open_table(out, "Processes and their busiest lines");
        strbuf_puts(out,
                    "<th scope=col>process<th scope=col class=text>command<th scope=col>threads"
                    "<th scope=col>ran for<th scope=col class=text>where"
                    "<th scope=col class=text>read</tr></thead><tbody>\n");
        for (size_t i = 0; i < f->n_processes; i++) {
                const struct flame_process *p = &f->processes[i];
                const struct stack_process *who = &f->log->processes[p->process];
                strbuf_putf(out, "<tr><td data-v=%" PRId32 ">%" PRId32 "<td class=\"text words\">",
                            who->pid, who->pid);
                quote_markup(out, who->command[0] ? who->command : "--");
                strbuf_putf(out, "<td>%zu", p->n_threads);
                strbuf_putf(out, "<td data-v=%.6g>%.1f s", p->running_s, p->running_s);
                put_lines(out, p);
                put_read(out, who);
                strbuf_puts(out, "</tr>\n");
        }
        page_close_table(out);
        if (f->n_more > 0)
                strbuf_putf(out, "<p class=note>%zu more processes ran less.</p>\n", f->n_more);
}

/* ---- all of it ---- */

bool report_has_stacks(const struct flame *f)
{
        return f && f->n > 0 && f->trees[0].nodes[0].n_samples > 0;
}

void report_stacks(const struct flame *f, const struct stretch_list *list, struct strbuf *out)
{
        strbuf_puts(
            out, "<h2>Where in the program</h2>\n"
                 "<p class=note>Stacks of the program's threads, added up: the wider a line, the "
                 "more time of threads, and what it calls is below it. A click or Enter zooms, "
                 "Escape shows all again, arrow keys move, / searches.</p>\n"
                 "<div class=flame id=flame><noscript>This picture needs JavaScript; the table "
                 "below does not.</noscript></div>\n");
        if (f->is_cut)
                strbuf_puts(out, "<p class=note>There were too many different stacks: some time of "
                                 "threads is left out.</p>\n");
        if (f->n_left_out > 0)
                strbuf_putf(
                    out,
                    "<p class=note>%zu stretch%s, short or without samples, ha%s no picture "
                    "of %s own.</p>\n",
                    f->n_left_out, f->n_left_out == 1 ? "" : "es", f->n_left_out == 1 ? "s" : "ve",
                    f->n_left_out == 1 ? "its" : "their");
        put_processes(out, f);
        put_data(out, f, list);
}
