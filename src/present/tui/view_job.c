/* Job: the processes on the GPUs and those that serve them, as trees. */
#include "base/clock.h"
#include "base/text.h"
#include "present/tui/servings.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"
#include "present/tui/words.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define JOBS_MAX 1024
#define SCROLL_COLUMNS 8 /* columns that a command moves at once */

struct job_column {
        const char *heading;
        int width; /* 0: what is left over */
        uint8_t rank;
        bool left;
        void (*draw)(struct canvas *c, int x, int y, int w, const struct process *p);
        /* NULL: cannot be sorted by. */
        double (*key)(const struct process *p);
        /* How many columns a process needs of it, 0 for nothing to show; NULL: the width. */
        int (*need)(const struct process *p);
};

static double number_or_low(struct value v)
{
        return value_or(v, -1);
}

#define NUMBER_W 9 /* the widest heading and number */

#define NUMBER_COLUMN(name, member, unit, ink)                                                     \
        static void draw_##name(struct canvas *c, int x, int y, int w, const struct process *p)    \
        {                                                                                          \
                widget_number(c, x, y, w, ink, unit, p->member);                                   \
        }                                                                                          \
        static double key_##name(const struct process *p)                                          \
        {                                                                                          \
                return number_or_low(p->member);                                                   \
        }                                                                                          \
        static int need_##name(const struct process *p)                                            \
        {                                                                                          \
                return value_is_set(p->member) ? NUMBER_W : 0;                                     \
        }
NUMBER_COLUMN(memory, gpu_memory, UNIT_BYTES, INK_MEMORY)
NUMBER_COLUMN(sm, sm_util, UNIT_RATIO, INK_COMPUTE)
NUMBER_COLUMN(cpu, cpu, UNIT_RATIO, INK_TEXT)
NUMBER_COLUMN(rss, rss, UNIT_BYTES, INK_TEXT)

#define TEXT_COLUMN(name, member, ink)                                                             \
        static void draw_##name(struct canvas *c, int x, int y, int w, const struct process *p)    \
        {                                                                                          \
                canvas_text(c, x, y, w, (struct style){.fg = ink}, p->member);                     \
        }                                                                                          \
        static int need_##name(const struct process *p)                                            \
        {                                                                                          \
                return text_width(p->member);                                                      \
        }
TEXT_COLUMN(user, user, INK_TEXT)
TEXT_COLUMN(group, group, INK_DIM)
TEXT_COLUMN(gpu, gpu, INK_TITLE)
TEXT_COLUMN(slurm, slurm_job, INK_TEXT)
TEXT_COLUMN(container, container, INK_DIM)

static void draw_pid(struct canvas *c, int x, int y, int w, const struct process *p)
{
        char text[16];
        snprintf(text, sizeof(text), "%d", p->pid);
        canvas_right(c, x, y, w, (struct style){.fg = INK_TEXT}, text);
}

static int need_pid(const struct process *p)
{
        char text[16];
        return snprintf(text, sizeof(text), "%d", p->pid);
}

static double key_pid(const struct process *p)
{
        return -(double)p->pid;
}

static void draw_type(struct canvas *c, int x, int y, int w, const struct process *p)
{
        char text[3] = {p->type & PROCESS_COMPUTE ? 'C' : '-',
                        p->type & PROCESS_GRAPHICS ? 'G' : '-', '\0'};
        canvas_text(c, x, y, w, (struct style){.fg = INK_DIM}, p->type ? text : "--");
}

static void draw_elapsed(struct canvas *c, int x, int y, int w, const struct process *p)
{
        char text[32] = "--";
        long s = value_is_set(p->elapsed) ? (long)p->elapsed.v : 0;
        if (value_is_set(p->elapsed) && s >= 86400)
                snprintf(text, sizeof(text), "%ldd%02ldh", s / 86400, s / 3600 % 24);
        else if (value_is_set(p->elapsed))
                snprintf(text, sizeof(text), "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
        canvas_right(c, x, y, w, widget_value_style(p->elapsed, INK_DIM), text);
}

static double key_elapsed(const struct process *p)
{
        return number_or_low(p->elapsed);
}

static int need_elapsed(const struct process *p)
{
        return value_is_set(p->elapsed) ? NUMBER_W : 0;
}

static int need_type(const struct process *p)
{
        return p->type ? 2 : 0;
}

static const struct job_column columns[] = {
    {"PID", 8, 0, false, draw_pid, key_pid, need_pid},
    {"User", 9, 1, true, draw_user, NULL, need_user},
    {"Group", 8, 8, true, draw_group, NULL, need_group},
    {"GPU", 5, 0, true, draw_gpu, NULL, need_gpu},
    {"Ty", 2, 6, true, draw_type, NULL, need_type},
    {"GPU mem", 8, 0, false, draw_memory, key_memory, need_memory},
    {"NVML", 5, 0, false, draw_sm, key_sm, need_sm},
    {"CPU", 5, 2, false, draw_cpu, key_cpu, need_cpu},
    {"RSS", 6, 3, false, draw_rss, key_rss, need_rss},
    {"Time", 9, 4, false, draw_elapsed, key_elapsed, need_elapsed},
    {"Slurm", 9, 4, true, draw_slurm, NULL, need_slurm},
    {"Container", 12, 7, true, draw_container, NULL, need_container},
    {"Past", 12, 5, true, NULL, NULL, NULL},
    {"Limited by", 14, 1, true, NULL, NULL, NULL},
    {"In", 32, 1, true, NULL, NULL, NULL},
    {"Command", 0, 0, true, NULL, NULL, NULL},
};
#define COMMAND_MIN 14
#define LINE_MIN 18 /* "train.py:120 main" */
#define RANKS 9
#define RANK_LOW 5
#define COLUMN_PAST (ARRAY_LEN(columns) - 4)
#define COLUMN_LIMIT (ARRAY_LEN(columns) - 3)
#define COLUMN_IN (ARRAY_LEN(columns) - 2)
#define COLUMN_COMMAND (ARRAY_LEN(columns) - 1)

void job_use_default_order(struct ui *ui)
{
        for (unsigned i = 0; i < ARRAY_LEN(columns); i++) {
                if (columns[i].key == key_memory)
                        ui->job.sort = i;
        }
}

struct job_list {
        const struct process *list[JOBS_MAX];
        uint8_t depth[JOBS_MAX];
        size_t n;
};

static bool process_matches(const struct process *p, const char *filter)
{
        return ui_contains(p->command, filter) || ui_contains(p->user, filter) ||
               ui_contains(p->slurm_job, filter) || ui_contains(p->container, filter) ||
               ui_contains(p->gpu, filter);
}

static void sort_jobs(const struct ui *ui, struct job_list *l)
{
        double (*key)(const struct process *) = columns[ui->job.sort].key;
        for (size_t i = 1; key && i < l->n; i++) {
                const struct process *p = l->list[i];
                size_t k = i;
                while (k > 0 && (ui->job.reversed ? key(l->list[k - 1]) > key(p)
                                                  : key(l->list[k - 1]) < key(p))) {
                        l->list[k] = l->list[k - 1];
                        k--;
                }
                l->list[k] = p;
        }
}

/* A process on two GPUs is listed twice; its children come under the first. */
static void add_children(const struct job_list *from, bool *placed, const struct process *parent,
                         uint8_t depth, struct job_list *to)
{
        for (size_t i = 0; depth < 16 && i < from->n; i++) {
                const struct process *p = from->list[i];
                if (placed[i] || p->ppid != parent->pid || p->pid == parent->pid)
                        continue;
                placed[i] = true;
                to->depth[to->n] = depth;
                to->list[to->n++] = p;
                add_children(from, placed, p, (uint8_t)(depth + 1), to);
        }
}

static bool has_parent(const struct job_list *l, const struct process *p)
{
        for (size_t i = 0; i < l->n; i++) {
                if (l->list[i]->pid == p->ppid && l->list[i]->pid != p->pid)
                        return true;
        }
        return false;
}

/*
 * Parents before their children; those whose parent is not listed are roots. What is left then goes
 * round in a circle, as only a file can say: it is listed as it comes.
 */
static void make_tree(struct job_list *l)
{
        static const uint8_t roots_first[] = {true, false};
        struct job_list tree = {.n = 0};
        bool placed[JOBS_MAX] = {false};
        for (size_t pass = 0; pass < ARRAY_LEN(roots_first); pass++) {
                for (size_t i = 0; i < l->n; i++) {
                        if (placed[i] || (roots_first[pass] && has_parent(l, l->list[i])))
                                continue;
                        placed[i] = true;
                        tree.depth[tree.n] = 0;
                        tree.list[tree.n++] = l->list[i];
                        add_children(l, placed, l->list[i], 1, &tree);
                }
        }
        *l = tree;
}

static void make_list(const struct ui *ui, const struct ui_data *d, const char *filter,
                      struct job_list *ret)
{
        ret->n = 0;
        memset(ret->depth, 0, sizeof(ret->depth));
        for (size_t i = 0; d->processes && i < d->processes->n && ret->n < JOBS_MAX; i++) {
                const struct process *p = &d->processes->list[i];
                /* Those that hold no GPU are part of the tree only. */
                if ((ui->job.tree || !p->child) && process_matches(p, filter))
                        ret->list[ret->n++] = p;
        }
        sort_jobs(ui, ret);
        if (ui->job.tree)
                make_tree(ret);
}

static const struct row *gpu_of(const struct ui_data *d, const struct process *p)
{
        for (size_t i = 0; d->frame && i < d->frame->n; i++) {
                if (d->frame->rows[i].sample.who->slot == p->slot)
                        return &d->frame->rows[i];
        }
        return NULL;
}

/* The columns that a command and its place in the tree take. */
static int command_width(const struct job_list *l)
{
        int w = 0;
        for (size_t i = 0; i < l->n; i++)
                w = MAX(w, 2 * l->depth[i] + text_width(l->list[i]->command));
        return w;
}

/* As wide as what it shows; a column in which nobody has anything is left out. */
static int fitted_width(const struct job_column *column, const struct job_list *l)
{
        int need = 0;
        for (size_t i = 0; column->need && i < l->n; i++)
                need = MAX(need, column->need(l->list[i]));
        if (!column->need || (need == 0 && column->rank == 0) || l->n == 0)
                return column->width;
        return need == 0 ? 0 : MIN(MAX(need, text_width(column->heading) + 1), column->width);
}

/* The widest line that one of them is in. */
static int lines_width(struct ui *ui, const struct ui_data *d, const struct job_list *l)
{
        int w = 0;
        for (size_t i = 0; d->stacks && i < l->n; i++) {
                strbuf_clear(&ui->text);
                stacks_put_line(d, l->list[i]->pid, &ui->text);
                w = MAX(w, text_width(strbuf_str(&ui->text)));
        }
        return MIN(w, columns[COLUMN_IN].width);
}

/* What a column may have of the room that is left; 0 to leave it out. A line may be cut. */
static int width_in(size_t column, int wanted, int room)
{
        if (wanted == 0 || wanted <= room)
                return wanted;
        return column == COLUMN_IN && room >= LINE_MIN ? room : 0;
}

/* A quarter of the width, or what it needs, is the command's; the others come by rank as long as
 * they fit, those of a low rank once the whole command has room, and what is left is its own. */
static void choose_widths(struct ui *ui, const struct ui_data *d, int width,
                          const struct job_list *l, int *widths)
{
        int total = MAX(COMMAND_MIN, MIN(command_width(l), width / 4)), least = total;
        memset(widths, 0, ARRAY_LEN(columns) * sizeof(*widths));
        for (unsigned rank = 0; rank < RANKS; rank++) {
                int more = rank == RANK_LOW ? MAX(command_width(l) - least, 0) : 0;
                total += more;
                least += more;
                for (size_t i = 0; i < COLUMN_COMMAND; i++) {
                        if (columns[i].rank != rank)
                                continue;
                        int wanted =
                            i == COLUMN_IN ? lines_width(ui, d, l) : fitted_width(&columns[i], l);
                        widths[i] = rank == 0 ? wanted : width_in(i, wanted, width - total - 1);
                        total += widths[i] ? widths[i] + 1 : 0;
                }
        }
        widths[COLUMN_COMMAND] = MAX(least + width - total, 1);
}

static void draw_headings(const struct ui *ui, struct canvas *c, struct area a, const int *widths)
{
        int x = a.x + 1;
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
                bool order = ui->job.sort == i;
                struct style style = {order ? INK_KEY : INK_DIM, 0,
                                      order ? ATTR_UNDERLINE | ATTR_BOLD : ATTR_UNDERLINE};
                char text[32];
                if (widths[i] == 0)
                        continue;
                snprintf(text, sizeof(text), "%s%s", columns[i].heading,
                         !order             ? ""
                         : ui->job.reversed ? "\u25b2"
                                            : "\u25bc");
                if (columns[i].left)
                        canvas_text(c, x, a.y, widths[i], style, text);
                else
                        canvas_right(c, x, a.y, widths[i], style, text);
                x += widths[i] + 1;
        }
}

/* CPU of the last buckets, of one core; a worker that computes for a GPU stands out. */
static void draw_past(const struct ui *ui, struct canvas *c, int x, int y, int w,
                      const struct process *p)
{
        const struct process_past *past = past_of_process(&ui->past, p);
        if (past)
                ring_draw(&past->cpu, ui->past.bucket, MAX(ring_most(&past->cpu), 1.0), c,
                          (struct area){x, y, w, 1}, INK_COMPUTE);
}

static void draw_limiter(const struct ui_data *d, struct canvas *c, int x, int y, int w,
                         const struct process *p)
{
        const struct row *gpu = p->child ? NULL : gpu_of(d, p);
        if (!gpu)
                return;
        enum limiter limiter = (enum limiter)gpu->limit.limiter;
        canvas_text(c, x, y, w, (struct style){.fg = words_limiter_ink(limiter)},
                    limiter_brief(limiter));
}

/* From the shift on, so that a long one can be read to its end. */
static void draw_command(const struct ui *ui, struct canvas *c, int x, int y, int w,
                         const struct process *p, int depth)
{
        const char *text = p->command;
        uint32_t code;
        int indent = MIN(2 * depth, w / 2), left = MAX(indent - ui->job.shift, 0);
        if (left > 1)
                canvas_char(c, x + left - 2, y, (struct style){.fg = INK_FAINT}, 0x2514);
        for (int cut = ui->job.shift - indent; cut > 0 && *text; cut--)
                text += text_decode(text, &code);
        canvas_text(c, x + left, y, w - left, (struct style){.fg = INK_TEXT}, text);
}

static void draw_line(struct ui *ui, const struct ui_data *d, struct canvas *c, int x, int y, int w,
                      const struct process *p)
{
        strbuf_clear(&ui->text);
        stacks_put_line(d, p->pid, &ui->text);
        canvas_text(c, x, y, w, (struct style){.fg = INK_TEXT}, strbuf_str(&ui->text));
}

static void draw_job(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                     const int *widths, const struct process *p, int depth)
{
        int x = a.x + 1;
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
                if (widths[i] == 0)
                        continue;
                if (columns[i].draw)
                        columns[i].draw(c, x, a.y, widths[i], p);
                else if (i == COLUMN_PAST)
                        draw_past(ui, c, x, a.y, widths[i], p);
                else if (i == COLUMN_LIMIT)
                        draw_limiter(d, c, x, a.y, widths[i], p);
                else if (i == COLUMN_IN)
                        draw_line(ui, d, c, x, a.y, widths[i], p);
                else
                        draw_command(ui, c, x, a.y, widths[i], p, depth);
                x += widths[i] + 1;
        }
}

static void draw_none(const struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        bool filtered = ui->filter[0] && job_count(d) > 0;
        const char *title = filtered       ? "no process contains the filter; Esc shows all again"
                            : d->processes ? "no process holds a GPU"
                                           : ui_why_no_processes(d);
        canvas_text(c, a.x + 2, a.y + 1, a.w - 4, (struct style){.fg = INK_TITLE}, title);
        if (!d->processes && !d->asking_processes)
                widget_wrap(c, (struct area){a.x + 2, a.y + 3, a.w - 4, 3},
                            (struct style){.fg = INK_DIM},
                            d->replay ? "a capture holds counters of GPUs, not who used them"
                                      : "a source that reads this machine's driver can tell who "
                                        "uses its GPUs");
}

static void job_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        struct job_list list;
        int widths[ARRAY_LEN(columns)];
        if (ui->job.stacks_of != 0) {
                stacks_draw(ui, d, c, a);
                return;
        }
        a = servings_draw(ui, d, c, a);
        make_list(ui, d, ui->filter, &list);
        choose_widths(ui, d, a.w - 3, &list, widths);
        ui->job.shift = MAX(MIN(ui->job.shift, command_width(&list) - widths[COLUMN_COMMAND]), 0);
        draw_headings(ui, c, a, widths);
        a = (struct area){a.x, a.y + 1, a.w, a.h - 1};
        if (list.n == 0) {
                draw_none(ui, d, c, a);
                return;
        }
        ui->job.cursor = MIN(ui->job.cursor, list.n - 1);
        ui->job.scroll = MIN(ui->job.scroll, (int)ui->job.cursor);
        ui->job.scroll = MAX(ui->job.scroll, (int)ui->job.cursor - a.h + 1);
        for (int i = 0; i < a.h; i++) {
                size_t at = (size_t)ui->job.scroll + (size_t)i;
                if (at >= list.n)
                        break;
                struct area line = {a.x, a.y + i, a.w, 1};
                if (at == ui->job.cursor)
                        canvas_paint(c, line, INK_SELECT);
                draw_job(ui, d, c, line, widths, list.list[at], list.depth[at]);
        }
        if (ui_is_stale(d))
                canvas_tint(c, a, INK_DIM);
        widget_scroll_marks(c, a, ui->job.scroll, (int)list.n);
        if ((int)list.n < a.h - 1)
                canvas_text(c, a.x + 1, a.y + a.h - 1, a.w - 2, (struct style){.fg = INK_DIM},
                            "NVML: the driver's utilization, not SM activity.  CPU: of one core");
}

size_t job_count(const struct ui_data *d)
{
        size_t n = 0;
        for (size_t i = 0; d->processes && i < d->processes->n; i++)
                n += !d->processes->list[i].child;
        return n;
}

void job_draw_list(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        struct job_list list;
        int widths[ARRAY_LEN(columns)];
        make_list(ui, d, "", &list);
        choose_widths(ui, d, a.w - 2, &list, widths);
        draw_headings(ui, c, a, widths);
        for (int i = 0; i < a.h - 1 && i < (int)list.n; i++)
                draw_job(ui, d, c, (struct area){a.x, a.y + 1 + i, a.w, 1}, widths, list.list[i],
                         list.depth[i]);
}

static void next_sort(struct ui *ui)
{
        do {
                ui->job.sort = (ui->job.sort + 1) % (unsigned)ARRAY_LEN(columns);
        } while (!columns[ui->job.sort].key);
        ui->job.cursor = 0;
        ui_notify(ui, "sorted by %s", columns[ui->job.sort].heading);
}

static void confirm_signal(struct ui *ui, const struct ui_data *d, const struct process *p)
{
        if (d->read_only || d->replay) {
                ui_notify(ui, d->replay ? "these processes are recorded, not running"
                                        : "--read-only forbids signals");
                return;
        }
        ui->request = (struct ui_request){.pid = p->pid, .start_ns = p->start_ns};
        ui->prompt = PROMPT_SIGNAL;
        snprintf(ui->typed, sizeof(ui->typed), "send SIGTERM to %d %.60s? y/N", p->pid, p->command);
}

/* Scrolls the stacks of a process, and leads back to the list. */
static bool stacks_act(struct ui *ui, enum action action)
{
        int page = MAX(ui->body.h - 1, 1), *at = &ui->job.stacks_scroll;
        if (action == ACTION_BACK || action == ACTION_STACKS)
                ui->job.stacks_of = 0;
        else if (action == ACTION_UP || action == ACTION_DOWN)
                *at += action == ACTION_DOWN ? 1 : -1;
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                *at += action == ACTION_PAGE_DOWN ? page : -page;
        else if (action == ACTION_HOME || action == ACTION_END)
                *at = action == ACTION_END ? INT_MAX / 2 : 0;
        else
                return action == ACTION_SIGNAL || action == ACTION_ENTER || action == ACTION_SORT;
        *at = MAX(*at, 0);
        return true;
}

static bool job_act(struct ui *ui, const struct ui_data *d, enum action action)
{
        struct job_list list;
        if (ui->job.stacks_of != 0)
                return stacks_act(ui, action);
        make_list(ui, d, ui->filter, &list);
        size_t page = (size_t)MAX(ui->body.h - 1, 1), last = list.n > 0 ? list.n - 1 : 0;
        if (action == ACTION_UP)
                ui->job.cursor -= ui->job.cursor > 0;
        else if (action == ACTION_DOWN)
                ui->job.cursor = MIN(ui->job.cursor + 1, last);
        else if (action == ACTION_PAGE_UP)
                ui->job.cursor -= MIN(page, ui->job.cursor);
        else if (action == ACTION_PAGE_DOWN)
                ui->job.cursor = MIN(ui->job.cursor + page, last);
        else if (action == ACTION_HOME || action == ACTION_END)
                ui->job.cursor = action == ACTION_END ? last : 0;
        else if (action == ACTION_LEFT || action == ACTION_RIGHT)
                ui->job.shift +=
                    action == ACTION_RIGHT ? SCROLL_COLUMNS : -MIN(SCROLL_COLUMNS, ui->job.shift);
        else if (action == ACTION_SORT)
                next_sort(ui);
        else if (action == ACTION_REVERSE)
                ui->job.reversed = !ui->job.reversed;
        else if (action == ACTION_TREE)
                ui->job.tree = !ui->job.tree;
        else if (action == ACTION_STACKS && ui->job.cursor < list.n) {
                ui->job.stacks_of = list.list[ui->job.cursor]->pid;
                ui->job.stacks_scroll = 0;
        } else if (action == ACTION_SIGNAL && ui->job.cursor < list.n)
                confirm_signal(ui, d, list.list[ui->job.cursor]);
        else if (action == ACTION_ENTER && ui->job.cursor < list.n) {
                char command[64];
                snprintf(command, sizeof(command), "focus %s", list.list[ui->job.cursor]->gpu);
                ui_command(ui, d, command);
        } else {
                return false;
        }
        return true;
}

static void job_mouse(struct ui *ui, const struct ui_data *d, const struct key_event *e)
{
        if (e->button == MOUSE_WHEEL_UP || e->button == MOUSE_WHEEL_DOWN)
                job_act(ui, d, e->button == MOUSE_WHEEL_UP ? ACTION_UP : ACTION_DOWN);
        else if (e->button == MOUSE_LEFT && e->y > ui->body.y && ui->job.stacks_of == 0)
                ui->job.cursor = (size_t)(ui->job.scroll + e->y - ui->body.y - 1);
}

const struct view_ops view_job = {
    .name = "job",
    .title = "Job",
    .hints = "s sort  t tree  S stacks  / filter  \u2190\u2192 command",
    .acting_hints = "  x signal",
    .draw = job_draw,
    .act = job_act,
    .mouse = job_mouse,
};
