/* Fleet: every GPU, as cards while there is room, as lines when there are many. */
#include "base/clock.h"
#include "present/tui/fleet.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <math.h>
#include <stdio.h>

#define LARGE_W 58
#define LARGE_H 8
#define SMALL_W 40
#define SMALL_H 5
#define LINE_W 60
/* Width over height, in cells, that a card looks best at. */
#define CARD_SHAPE 5.0

/* How the cards lie. */
struct grid {
        enum { GRID_LARGE, GRID_SMALL, GRID_LINES } kind;
        int columns, rows; /* rows that can be seen */
        int w, h;          /* of one card */
};

/* Every card in sight, at least min_w × min_h each, the shape as pleasing as it gets. */
static bool fit_cards(int n, struct area a, int min_w, int min_h, struct grid *ret)
{
        double best = INFINITY;
        for (int columns = 1; columns <= MAX(a.w / min_w, 1) && columns <= n; columns++) {
                int rows = (n + columns - 1) / columns, w = a.w / columns, h = a.h / rows;
                double off = h > 0 ? fabs(log((double)w / h / CARD_SHAPE)) : INFINITY;
                if (w < min_w || h < min_h || off >= best)
                        continue;
                best = off;
                ret->columns = columns;
                ret->rows = rows;
                ret->w = w;
                ret->h = h;
        }
        return best < INFINITY;
}

static struct grid fit_lines(int n, struct area a)
{
        int height = MAX(a.h - 1, 1); /* one line is for headings */
        int columns = 1;
        while (columns * height < n && a.w / (columns + 1) >= LINE_W)
                columns++;
        return (struct grid){GRID_LINES, columns, height, a.w / columns, 1};
}

static struct grid choose_grid(const struct ui *ui, struct area a)
{
        int n = (int)ui->n_order;
        struct grid g = {GRID_LARGE, 1, 1, 1, 1};
        /* A key may come before anything was drawn. */
        a.w = MAX(a.w, 1);
        if (ui->layout != LAYOUT_LINES && fit_cards(n, a, MIN(LARGE_W, a.w), LARGE_H, &g))
                return g;
        g.kind = GRID_SMALL;
        if (ui->layout != LAYOUT_LINES && fit_cards(n, a, MIN(SMALL_W, a.w), SMALL_H, &g))
                return g;
        if (ui->layout != LAYOUT_CARDS || a.h < SMALL_H)
                return fit_lines(n, a);
        /* Cards were asked for and do not all fit: they scroll. */
        int columns = MAX(a.w / SMALL_W, 1);
        return (struct grid){GRID_SMALL, columns, a.h / SMALL_H, a.w / columns, SMALL_H};
}

/* Keeps the chosen card in sight. */
static void scroll_to_choice(struct ui *ui, const struct grid *g)
{
        int total = ((int)ui->n_order + g->columns - 1) / g->columns;
        int at = g->kind == GRID_LINES && g->columns > 1 ? (int)ui->cursor % MAX(total, 1)
                                                         : (int)ui->cursor / g->columns;
        ui->scroll = MIN(ui->scroll, at);
        ui->scroll = MAX(ui->scroll, at - g->rows + 1);
        ui->scroll = MAX(MIN(ui->scroll, total - g->rows), 0);
}

static void draw_cards(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                       const struct grid *g)
{
        for (int i = 0; i < g->rows * g->columns; i++) {
                size_t place = (size_t)ui->scroll * (size_t)g->columns + (size_t)i;
                if (place >= ui->n_order)
                        return;
                struct area card = {a.x + i % g->columns * g->w, a.y + i / g->columns * g->h, g->w,
                                    g->h};
                /* The last column takes what division leaves over. */
                if (i % g->columns == g->columns - 1)
                        card.w = a.x + a.w - card.x;
                const struct row *row = &d->frame->rows[ui->order[place]];
                bool chosen = place == ui->cursor;
                if (g->kind == GRID_LARGE)
                        fleet_draw_large(ui, d, c, card, row, chosen);
                else
                        fleet_draw_small(ui, d, c, card, row, chosen);
                if (row_is_stale(row))
                        canvas_tint(c, card, INK_DIM);
        }
}

/* Lines run down the first column, then the second. */
static void draw_lines(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                       const struct grid *g)
{
        int down = ((int)ui->n_order + g->columns - 1) / g->columns;
        for (int k = 0; k < g->columns; k++) {
                struct area line = {a.x + k * g->w, a.y, g->w - (g->columns > 1), 1};
                fleet_draw_headings(ui, d, c, line);
                for (int i = 0; i < g->rows && ui->scroll + i < down; i++) {
                        size_t place = (size_t)k * (size_t)down + (size_t)ui->scroll + (size_t)i;
                        if (place >= ui->n_order)
                                return;
                        line.y = a.y + 1 + i;
                        const struct row *row = &d->frame->rows[ui->order[place]];
                        fleet_draw_line(d, c, line, row, place == ui->cursor);
                        if (row_is_stale(row))
                                canvas_tint(c, line, INK_DIM);
                }
        }
}

static void draw_scroll_mark(const struct ui *ui, struct canvas *c, struct area a,
                             const struct grid *g)
{
        int total = ((int)ui->n_order + g->columns - 1) / g->columns;
        if (total <= g->rows)
                return;
        int top = g->kind == GRID_LINES, h = a.h - top;
        int size = MAX(h * g->rows / total, 1);
        int at = (h - size) * ui->scroll / MAX(total - g->rows, 1);
        for (int i = 0; i < size; i++)
                canvas_char(c, a.x + a.w - 1, a.y + top + at + i, (struct style){.fg = INK_KEY},
                            0x2502);
}

static void draw_none(const struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        if (d->frame->n > 0)
                canvas_textf(c, a.x + 2, a.y + a.h / 3, a.w - 4, (struct style){.fg = INK_TITLE},
                             "none of %zu GPUs contains '%s'; Esc shows all again", d->frame->n,
                             ui->filter);
        else
                shell_draw_card(d, c, a,
                                d->frame->n_nodes > 0 ? "No node has shown a GPU yet"
                                : d->frame->stale     ? d->frame->provenance
                                                      : "The source sees no GPU",
                                "", "");
}

/* Lines that the processes may have below the GPUs: none unless every GPU keeps its card. */
static int process_lines(const struct ui *ui, const struct ui_data *d, struct area a)
{
        int n = (int)job_count(d), h = n > 0 ? MIN(n + 2, a.h / 3) : 0;
        if (h < 3 || ui->n_order == 0)
                return 0;
        struct grid whole = choose_grid(ui, a);
        a.h -= h;
        struct grid rest = choose_grid(ui, a);
        bool all = rest.rows * rest.columns >= (int)ui->n_order;
        return all && rest.kind == whole.kind ? h : 0;
}

/* Nodes of which there is something to report. */
static size_t troubled_nodes(const struct frame *f)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n_nodes; i++)
                n += f->nodes[i].state != NODE_OK;
        return n;
}

/* Lines for them, at most a quarter of the room; one that does not fit is in the log. */
static int node_lines(const struct ui_data *d, struct area body)
{
        return d->frame ? MIN((int)MIN(troubled_nodes(d->frame), (size_t)64), body.h / 4) : 0;
}

static void draw_nodes(const struct ui_data *d, struct canvas *c, struct area a)
{
        const struct frame *f = d->frame;
        size_t all = troubled_nodes(f);
        for (size_t i = 0, at = 0; i < f->n_nodes && (int)at < a.h; i++) {
                const struct node *node = &f->nodes[i];
                int y = a.y + (int)at, x = a.x + 1;
                if (node->state == NODE_OK)
                        continue;
                at++;
                if ((int)at == a.h && all > at) {
                        canvas_textf(c, x, y, a.w - 2, (struct style){.fg = INK_WARN},
                                     "%zu more nodes do not answer", all - at + 1);
                        return;
                }
                x += canvas_textf(c, x, y, 30, (struct style){INK_WARN, 0, ATTR_BOLD}, "%s ",
                                  node->name);
                x += canvas_textf(c, x, y, 15, (struct style){.fg = INK_WARN}, "%s ",
                                  node_state_name(node->state));
                canvas_textf(c, x, y, a.x + a.w - 1 - x, (struct style){.fg = INK_DIM}, "%s%s%s",
                             node->words, node->hint[0] ? "; " : "", node->hint);
        }
}

/* Where the GPUs are: below the summary and what is wrong with nodes, above the processes. */
static struct area gpus_area(const struct ui *ui, const struct ui_data *d, struct area body)
{
        int nodes = node_lines(d, body);
        struct area a = {body.x, body.y + 1 + nodes, body.w, body.h - 1 - nodes};
        a.h -= process_lines(ui, d, a);
        return a;
}

static void draw_processes(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        int n = canvas_text(c, a.x + 1, a.y, a.w - 2, (struct style){INK_TITLE, 0, ATTR_BOLD},
                            "Processes");
        canvas_line(c, a.x + n + 2, a.y, a.w - n - 4, (struct style){.fg = INK_FAINT}, 0x2500);
        job_draw_list(ui, d, c, (struct area){a.x, a.y + 1, a.w, a.h - 1});
}

static void fleet_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        struct area body = a;
        fleet_draw_summary(ui, d, c, a);
        draw_nodes(d, c, (struct area){a.x, a.y + 1, a.w, node_lines(d, a)});
        a = gpus_area(ui, d, body);
        if (ui->n_order == 0) {
                draw_none(ui, d, c, a);
                return;
        }
        struct area below = {a.x, a.y + a.h, a.w, body.y + body.h - a.y - a.h};
        if (below.h > 0)
                draw_processes(ui, d, c, below);
        struct grid g = choose_grid(ui, a);
        ui->columns = g.columns;
        ui->page = g.rows;
        scroll_to_choice(ui, &g);
        if (g.kind == GRID_LINES)
                draw_lines(ui, d, c, a, &g);
        else
                draw_cards(ui, d, c, a, &g);
        draw_scroll_mark(ui, c, a, &g);
        if (ui_is_stale(d))
                canvas_tint(c, (struct area){a.x, a.y, a.w, body.y + body.h - a.y}, INK_DIM);
}

static void move_selection(struct ui *ui, const struct ui_data *d, int by)
{
        int to = (int)ui->cursor + by;
        ui_choose(ui, d, (size_t)MAX(MIN(to, (int)ui->n_order - 1), 0));
}

static bool fleet_act(struct ui *ui, const struct ui_data *d, enum action action)
{
        /* Lines in columns are read downwards: up and down go to the neighbour, left and right
         * over to the next column. */
        struct area a = gpus_area(ui, d, ui->body);
        bool lines = ui->n_order > 0 && choose_grid(ui, a).kind == GRID_LINES;
        int down = ((int)ui->n_order + ui->columns - 1) / MAX(ui->columns, 1);
        int vertical = lines ? 1 : ui->columns, sideways = lines ? down : 1;
        if (action == ACTION_UP || action == ACTION_DOWN)
                move_selection(ui, d, action == ACTION_DOWN ? vertical : -vertical);
        else if (action == ACTION_LEFT || action == ACTION_RIGHT)
                move_selection(ui, d, action == ACTION_RIGHT ? sideways : -sideways);
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                move_selection(ui, d, (action == ACTION_PAGE_DOWN ? 1 : -1) * ui->page * vertical);
        else if (action == ACTION_HOME)
                ui_choose(ui, d, 0);
        else if (action == ACTION_END)
                ui_choose(ui, d, ui->n_order);
        else if (action == ACTION_SORT)
                ui->sort = (enum fleet_sort)((ui->sort + 1) % FLEET_SORT_COUNT);
        else if (action == ACTION_REVERSE)
                ui->reversed = !ui->reversed;
        else if (action == ACTION_LAYOUT)
                ui->layout = (enum layout)((ui->layout + 1) % LAYOUT_COUNT);
        else
                return false;
        if (action == ACTION_LAYOUT)
                ui_notify(ui, "layout %s", layout_name(ui->layout));
        ui_update(ui, d);
        /* A new order is examined from its top. */
        if (action == ACTION_SORT || action == ACTION_REVERSE) {
                ui_choose(ui, d, 0);
                ui_notify(ui, "sorted by %s%s", fleet_sort_name(ui->sort),
                          ui->reversed ? ", reversed" : "");
        }
        return true;
}

static void fleet_mouse(struct ui *ui, const struct ui_data *d, const struct key_event *e)
{
        struct area a = gpus_area(ui, d, ui->body);
        if (e->button == MOUSE_WHEEL_UP || e->button == MOUSE_WHEEL_DOWN) {
                fleet_act(ui, d, e->button == MOUSE_WHEEL_UP ? ACTION_UP : ACTION_DOWN);
                return;
        }
        if (ui->n_order == 0 || e->y < a.y || e->y >= a.y + a.h)
                return;
        struct grid g = choose_grid(ui, a);
        int column = MIN((e->x - a.x) / MAX(g.w, 1), g.columns - 1);
        int down = ((int)ui->n_order + g.columns - 1) / g.columns;
        int place = g.kind == GRID_LINES ? column * down + ui->scroll + e->y - a.y - 1
                                         : (ui->scroll + (e->y - a.y) / g.h) * g.columns + column;
        if (place < 0 || place >= (int)ui->n_order)
                return;
        /* A second click on the chosen card opens it. */
        if (ui->cursor == (size_t)place)
                ui_show(ui, VIEW_FOCUS);
        ui_choose(ui, d, (size_t)place);
}

const struct view_ops view_fleet = {
    .name = "fleet",
    .title = "Fleet",
    .hints = "Enter focus  s sort  c compact  / filter",
    .draw = fleet_draw,
    .act = fleet_act,
    .mouse = fleet_mouse,
};
