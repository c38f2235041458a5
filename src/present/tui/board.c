#include "present/tui/board.h"

#include "base/clock.h"
#include "present/document/document.h"
#include "present/fleet/fleet.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

#define OLD_INTERVALS 3
#define WASTE_WARN 0.2
#define SEEN_WARN 0.8

/* --- keys --------------------------------------------------------------------------------------
 */

static enum board_request switch_view(struct board *b, enum fleet_view view)
{
        b->view = view;
        b->top = 0;
        return BOARD_ASK;
}

enum board_request board_key(struct board *b, const struct key_event *key)
{
        int k = key->key;
        if (k == 'q' || k == CTRL('c'))
                return b->help ? (b->help = false, BOARD_DRAW) : BOARD_QUIT;
        if (k >= '1' && k < '1' + FLEET_VIEW_COUNT)
                return switch_view(b, (enum fleet_view)(k - '1'));
        if (k == '\t' || k == INPUT_RIGHT || k == 'l')
                return switch_view(b, (b->view + 1) % FLEET_VIEW_COUNT);
        if (k == INPUT_BACK_TAB || k == INPUT_LEFT || k == 'h')
                return switch_view(b, (b->view + FLEET_VIEW_COUNT - 1) % FLEET_VIEW_COUNT);
        if (k == 'r')
                return BOARD_ASK;
        if (k == '+' || k == '=')
                return BOARD_LONGER;
        if (k == '-')
                return BOARD_SHORTER;
        if (k == '?' || k == INPUT_F1 || k == INPUT_ESCAPE)
                b->help = k != INPUT_ESCAPE && !b->help;
        else if (k == INPUT_DOWN || k == 'j' ||
                 (k == INPUT_MOUSE && key->button == MOUSE_WHEEL_DOWN))
                b->top++;
        else if ((k == INPUT_UP || k == 'k' ||
                  (k == INPUT_MOUSE && key->button == MOUSE_WHEEL_UP)) &&
                 b->top > 0)
                b->top--;
        else if (k == INPUT_PAGE_DOWN)
                b->top += 10;
        else if (k == INPUT_PAGE_UP)
                b->top -= MIN(b->top, (size_t)10);
        else if (k == INPUT_HOME || k == 'g')
                b->top = 0;
        else
                return BOARD_NOTHING;
        return BOARD_DRAW;
}

/* --- drawing -------------------------------------------------------------------------------------
 */

static bool is_old(const struct board_data *d)
{
        return d->report && (d->error[0] || d->age_ns > OLD_INTERVALS * d->interval_ns);
}

static uint8_t state_words(const struct board_data *d, char *buf, size_t size)
{
        char age[16];
        widget_age(age, sizeof(age), d->age_ns);
        if (d->error[0] && d->report) {
                snprintf(buf, size, "OLD: no answer, values %s old", age);
                return INK_CRIT;
        }
        if (d->error[0]) {
                snprintf(buf, size, "no answer");
                return INK_CRIT;
        }
        if (!d->report) {
                snprintf(buf, size, "asking …");
                return INK_WARN;
        }
        snprintf(buf, size, "%s%s ago, every %g s", d->asking ? "asking, " : "", age,
                 clock_to_seconds(d->interval_ns));
        return is_old(d) ? INK_WARN : INK_DIM;
}

/* Columns of all tabs with their names. */
static int tabs_width(void)
{
        int w = 0;
        for (enum fleet_view i = 0; i < FLEET_VIEW_COUNT; i++)
                w += text_width(fleet_view_name(i)) + 4;
        return w;
}

/* Where there is no room only the chosen tab has its name: the state must be seen. */
static void draw_head(const struct board *b, const struct board_data *d, struct canvas *c)
{
        static const char title[] = "assay fleet";
        char words[96];
        int x = 1;
        uint8_t ink = state_words(d, words, sizeof(words));
        int room = c->w - tabs_width() - text_width(words) - 4;
        canvas_paint(c, (struct area){0, 0, c->w, 1}, INK_BAR);
        if (room >= (int)sizeof(title) + 1)
                x += canvas_text(c, x, 0, 14, (struct style){INK_TITLE, 0, ATTR_BOLD}, title) + 2;
        for (enum fleet_view i = 0; i < FLEET_VIEW_COUNT; i++) {
                bool on = b->view == i;
                struct style style = {on ? INK_ON_TAB : INK_DIM, on ? INK_TAB : INK_NONE,
                                      on ? ATTR_BOLD : 0};
                const char *name = on || room >= 0 ? fleet_view_name(i) : "";
                int w = text_width(name) + 3 + (name[0] != '\0');
                canvas_line(c, x, 0, w, style, ' ');
                x += canvas_textf(c, x, 0, w, style, " %d%s%s ", (int)i + 1, name[0] ? " " : "",
                                  name);
        }
        canvas_right(c, x + 1, 0, MAX(c->w - x - 2, 0), (struct style){.fg = ink}, words);
}

static uint8_t cell_ink(const struct doc_column *col, const struct doc_cell *cell)
{
        if (col->kind == DOC_TEXT)
                return INK_TEXT;
        if (!value_is_set(cell->v))
                return INK_FAINT;
        if (strcmp(col->key, "wasted") == 0 && cell->v.v >= WASTE_WARN)
                return INK_WARN;
        if (strcmp(col->key, "observed") == 0 && cell->v.v < SEEN_WARN)
                return INK_WARN;
        if (strcmp(col->key, "real_util") == 0)
                return INK_REAL;
        return INK_TEXT;
}

/* Draws into lines that scroll: y counts all of them, top is the first that is seen. */
struct scroll {
        struct canvas *c;
        struct area a;
        size_t y, top;
};

/* The line's place on the canvas; -1 when it is not seen. */
static int next_line(struct scroll *s)
{
        size_t y = s->y++;
        return y >= s->top && y - s->top < (size_t)s->a.h ? s->a.y + (int)(y - s->top) : -1;
}

/* Whether all of a table but its last text fits with two blanks between columns. */
static bool part_fits(const struct doc_part *t, int w)
{
        int all = 0;
        for (size_t i = 0; i < t->n_columns; i++)
                all += t->columns[i].title[0] ? t->columns[i].width + 2 : 0;
        return all <= w;
}

static void draw_cells(struct scroll *s, const struct doc_part *t, size_t row, bool head)
{
        char buf[DOC_CELL_MAX];
        int y = next_line(s), x = s->a.x;
        bool wide = part_fits(t, s->a.w);
        for (size_t i = 0; y >= 0 && i < t->n_columns; i++) {
                const struct doc_column *col = &t->columns[i];
                if (col->flags & DOC_MINOR && !wide)
                        continue;
                const struct doc_cell *cell = doc_at(t, row, i);
                const char *text = head ? col->title : doc_format_cell(col, cell, buf);
                int room = MIN(col->width, s->a.x + s->a.w - x);
                struct style style = {head ? INK_DIM : cell_ink(col, cell), INK_NONE, 0};
                if (room < (col->kind == DOC_TEXT ? 1 : col->width))
                        return;
                if (col->kind == DOC_TEXT)
                        canvas_text(s->c, x, y, room, style, text);
                else
                        canvas_right(s->c, x, y, room, style, text);
                x += col->width + (wide ? 2 : 1);
        }
}

/* A card as cells beside one another, as many as fit. */
static void draw_card(struct scroll *s, const struct doc_part *t)
{
        char buf[DOC_CELL_MAX];
        int w = 36, columns = MAX(s->a.w / w, 1), y = -1;
        for (size_t i = 0; i < t->n_columns; i++) {
                const struct doc_column *col = &t->columns[i];
                const struct doc_cell *cell = doc_at(t, 0, i);
                int at = (int)i % columns;
                if (at == 0)
                        y = next_line(s);
                if (y < 0)
                        continue;
                doc_format_cell(col, cell, buf);
                const char *unit = col->kind == DOC_GPU_HOURS ? " h"
                                   : col->kind == DOC_RATIO   ? " %"
                                                              : "";
                size_t n = strlen(buf);
                snprintf(buf + n, sizeof(buf) - n, "%s", value_is_set(cell->v) ? unit : "");
                int x = s->a.x + at * w;
                canvas_text(s->c, x, y, 24, (struct style){.fg = INK_DIM}, col->title);
                canvas_right(s->c, x + 23, y, w - 26, (struct style){.fg = cell_ink(col, cell)},
                             buf);
        }
}

static void draw_table(struct scroll *s, const struct doc_part *t)
{
        if (t->n_rows == 0)
                return;
        int y = next_line(s);
        if (y >= 0)
                canvas_text(s->c, s->a.x, y, s->a.w, (struct style){INK_TITLE, 0, ATTR_BOLD},
                            t->title);
        if (t->style == DOC_CARD) {
                draw_card(s, t);
        } else {
                draw_cells(s, t, 0, true);
                for (size_t i = 0; i < t->n_rows; i++)
                        draw_cells(s, t, i, false);
        }
        y = t->left_out > 0 ? next_line(s) : -1;
        if (y >= 0)
                canvas_textf(s->c, s->a.x, y, s->a.w, (struct style){.fg = INK_DIM},
                             "… and %zu more", t->left_out);
        next_line(s);
}

/* Draws what is in sight from the line top; how many lines there are. */
static size_t draw_lines(const struct fleet_report *r, struct canvas *c, struct area a, size_t top)
{
        char window[64];
        struct strbuf words = {0};
        struct scroll s = {c, a, 0, top};
        fleet_format_window(r, window, sizeof(window));
        int y = next_line(&s);
        if (y >= 0)
                canvas_textf(c, s.a.x, y, s.a.w, (struct style){.fg = INK_DIM}, "%s, from %s%s",
                             window, r->engine, r->recorded ? " (recording rules)" : "");
        for (size_t i = 0; i < r->n_notices; i++) {
                y = next_line(&s);
                strbuf_clear(&words);
                fleet_put_notice(&r->notices[i], &words);
                if (y >= 0)
                        canvas_text(c, s.a.x, y, s.a.w, (struct style){.fg = INK_WARN},
                                    strbuf_str(&words));
        }
        strbuf_finish(&words);
        next_line(&s);
        for (size_t i = 0; i < r->tables.n; i++)
                draw_table(&s, &r->tables.parts[i]);
        return s.y;
}

static void draw_report(struct board *b, const struct board_data *d, struct canvas *c,
                        struct area a)
{
        struct area inner = {a.x + 1, a.y, a.w - 2, a.h};
        /* The end stays in sight: lines are counted before any is drawn. */
        size_t n = draw_lines(d->report, c, (struct area){inner.x, a.y, inner.w, 0}, 0);
        b->top = MIN(b->top, n > (size_t)a.h ? n - (size_t)a.h : 0);
        draw_lines(d->report, c, inner, b->top);
        if (is_old(d))
                canvas_tint(c, a, INK_DIM);
}

static void draw_help(struct canvas *c, struct area a)
{
        static const char *const lines[][2] = {
            {"1 … 7, Tab", "views"},
            {"up, down, PgUp, PgDn", "more of a table"},
            {"+ -", "a longer or shorter window"},
            {"r", "ask again now"},
            {"q", "leave"},
        };
        int y = a.y + 1;
        for (size_t i = 0; i < ARRAY_LEN(lines) && y < a.y + a.h; i++, y++) {
                canvas_text(c, 3, y, 24, (struct style){.fg = INK_KEY}, lines[i][0]);
                canvas_text(c, 28, y, c->w - 29, (struct style){.fg = INK_TEXT}, lines[i][1]);
        }
        for (enum fleet_view i = 0; i < FLEET_VIEW_COUNT && y + 1 < a.y + a.h; i++) {
                canvas_text(c, 3, ++y, 24, (struct style){.fg = INK_TITLE}, fleet_view_name(i));
                canvas_text(c, 28, y, c->w - 29, (struct style){.fg = INK_DIM}, fleet_view_what(i));
        }
}

static void draw_foot(const struct board_data *d, struct canvas *c)
{
        int y = c->h - 1;
        canvas_paint(c, (struct area){0, y, c->w, 1}, INK_BAR);
        if (d->error[0])
                canvas_textf(c, 1, y, c->w - 2, (struct style){.fg = INK_WARN}, "%s%s%s", d->error,
                             d->hint[0] ? "; " : "", d->hint);
        else
                canvas_text(c, 1, y, c->w - 2, (struct style){.fg = INK_DIM},
                            "1-7 views  ↑↓ scroll  +- window  r ask now  ? help  q quit");
}

void board_draw(struct board *b, const struct board_data *d, struct canvas *c)
{
        struct area a = {0, 1, c->w, c->h - 2};
        canvas_clear(c);
        if (c->w < UI_WIDTH_MIN || c->h < UI_HEIGHT_MIN) {
                canvas_textf(c, 0, 0, c->w, (struct style){.fg = INK_WARN}, "too small");
                return;
        }
        draw_head(b, d, c);
        if (b->help)
                draw_help(c, a);
        else if (d->report)
                draw_report(b, d, c, a);
        else
                widget_wrap(c, (struct area){2, 3, c->w - 4, c->h - 5},
                            (struct style){.fg = d->error[0] ? INK_WARN : INK_TITLE},
                            d->error[0] ? d->error : "asking the engine …");
        draw_foot(d, c);
}
