/* What a process is doing now: its threads, and the lines they are in. Part of the job view. */
#include "base/clock.h"
#include "present/text/where.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

#define THREADS_MAX 256

static const struct style dim = {.fg = INK_DIM};
static const struct style plain = {.fg = INK_TEXT};
static const struct style title = {INK_TITLE, 0, ATTR_BOLD};

void stacks_put_line(const struct ui_data *d, int32_t pid, struct strbuf *out)
{
        const struct stack_sample *s = stack_live_thread(d->stacks, pid);
        struct code_line line;
        if (!s || s->stack == STACK_EMPTY)
                return;
        const struct stack_table *table = d->stacks->log.table;
        struct stack_place place = stack_find_place(table, s->stack);
        where_fill_line(table, stack_node(table, place.own)->frame, &line);
        where_put_line(out, &line);
}

/* A page that is longer than what there is room for: lines before the first shown are counted. */
struct page {
        struct canvas *c;
        struct area area;
        int line, scroll;
};

/* The row of the next line; -1 when it is not in sight. */
static int next_line(struct page *p)
{
        int at = p->line++ - p->scroll;
        return at >= 0 && at < p->area.h ? p->area.y + at : -1;
}

static const struct process *stacks_process(const struct ui_data *d, int32_t pid)
{
        for (size_t i = 0; d->processes && i < d->processes->n; i++) {
                if (d->processes->list[i].pid == pid)
                        return &d->processes->list[i];
        }
        return NULL;
}

static void draw_thread(struct page *p, const struct stack_table *table,
                        const struct stack_sample *s)
{
        const char *call = stack_text(table, s->call);
        if (!call[0])
                call = stack_text(table, s->channel);
        int y = next_line(p), x = p->area.x + 1, w = p->area.w - 2;
        if (y < 0)
                return;
        int n = canvas_textf(p->c, x, y, w, (struct style){INK_TITLE, 0, 0}, "%s %d  ",
                             s->is_main ? "main" : stack_text(table, s->thread), s->tid);
        n += canvas_textf(p->c, x + n, y, w - n,
                          (struct style){.fg = s->state == STACK_RUNNING ? INK_COMPUTE : INK_DIM},
                          "%s%s%s", stack_state_name((enum stack_state)s->state),
                          call[0] ? " in " : "", call);
        if (s->holds_gil)
                canvas_text(p->c, x + n, y, w - n, (struct style){INK_KEY, 0, ATTR_BOLD}, "  GIL");
}

/* How often a line calls itself from here on, and the caller of all that. */
static uint32_t run_of(const struct stack_table *table, uint32_t stack, int *ret_n)
{
        uint32_t frame = stack_node(table, stack)->frame;
        for (*ret_n = 0; stack != STACK_EMPTY && stack_node(table, stack)->frame == frame; ++*ret_n)
                stack = stack_node(table, stack)->parent;
        return stack;
}

static int count_lines(const struct stack_table *table, uint32_t stack)
{
        int n = 0, run;
        for (; stack != STACK_EMPTY; n++)
                stack = run_of(table, stack, &run);
        return n;
}

/* The innermost frame first; the program's own stand out. */
static void draw_frames(struct page *p, struct strbuf *text, const struct stack_table *table,
                        uint32_t stack)
{
        uint32_t caller;
        for (int n; stack != STACK_EMPTY; stack = caller) {
                struct code_line line;
                int y = next_line(p);
                caller = run_of(table, stack, &n);
                if (y < 0)
                        continue;
                where_fill_line(table, stack_node(table, stack)->frame, &line);
                strbuf_clear(text);
                where_put_line(text, &line);
                if (n > 1)
                        strbuf_putf(text, "  \u00d7%d", n);
                canvas_text(p->c, p->area.x + 3, y, p->area.w - 4,
                            line.whose == STACK_USER ? plain : dim, strbuf_str(text));
        }
}

static void draw_counts(struct page *p, int x, int y, int w, const struct stack_process *is)
{
        int n = canvas_text(p->c, x, y, w, dim, is->runtime);
        if (is->threads > 0) /* a recording does not report */
                n += canvas_textf(p->c, x + n, y, w - n, dim, ", %u thread%s", is->threads,
                                  is->threads == 1 ? "" : "s");
        canvas_textf(p->c, x + n, y, w - n, dim, ", %llu looks, %llu dropped",
                     (unsigned long long)is->samples, (unsigned long long)is->torn);
}

/* Who it is, whether it can be read, and why not. */
static void draw_process(struct page *p, const struct ui_data *d, int32_t pid)
{
        const struct process *process = stacks_process(d, pid);
        const struct stack_process *is = stack_live_process(d->stacks, pid);
        int y = next_line(p), x = p->area.x + 1, w = p->area.w - 2;
        if (y >= 0)
                canvas_textf(p->c, x, y, w, title, "%d  %s", pid,
                             process ? process->command
                             : is    ? is->command
                                     : "has ended");
        y = next_line(p);
        if (y < 0)
                return;
        if (!d->stacks)
                canvas_text(p->c, x, y, w, dim, "no stacks: --stacks off, or the source has none");
        else if (!is)
                canvas_text(p->c, x, y, w, dim,
                            "its stacks are not looked at: it neither holds a GPU nor serves one");
        else if (is->access != STACK_READABLE)
                canvas_textf(p->c, x, y, w, (struct style){.fg = INK_WARN}, "%s",
                             is->why[0] ? is->why : stack_access_name(is->access));
        else
                draw_counts(p, x, y, w, is);
}

void stacks_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        const struct stack_sample *threads[THREADS_MAX];
        size_t n = stack_live_threads(d->stacks, ui->job.stacks_of, threads, ARRAY_LEN(threads));
        const struct stack_table *table = n > 0 ? d->stacks->log.table : NULL;
        int lines = 2;
        for (size_t i = 0; i < n; i++)
                lines += 2 + count_lines(table, threads[i]->stack);
        ui->job.stacks_scroll = MAX(MIN(ui->job.stacks_scroll, lines - a.h), 0);
        struct page page = {.c = c, .area = a, .scroll = ui->job.stacks_scroll};
        draw_process(&page, d, ui->job.stacks_of);
        for (size_t i = 0; i < n; i++) {
                page.line++;
                draw_thread(&page, table, threads[i]);
                draw_frames(&page, &ui->text, table, threads[i]->stack);
        }
        widget_scroll_marks(c, a, ui->job.stacks_scroll, lines);
        if (ui_is_stale(d))
                canvas_tint(c, a, INK_DIM);
}
