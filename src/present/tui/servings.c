#include "present/tui/servings.h"

#include "base/clock.h"
#include "present/serving_words.h"
#include "present/text/serving_table.h"
#include "present/tui/widgets.h"

#include <string.h>

#define LINES 4 /* of a server, when there is room */

static void draw_text(struct ui *ui, struct canvas *c, struct area a, int indent,
                      struct style style)
{
        canvas_text(c, a.x + indent, a.y, a.w - indent - 1, style, strbuf_str(&ui->text));
        strbuf_clear(&ui->text);
}

static void cut_text(struct strbuf *text, size_t len)
{
        if (len < text->len)
                text->len = len;
}

/* Writes the text, if there is any, and goes to the next line. */
static void draw_line(struct ui *ui, struct canvas *c, struct area *a, int indent,
                      struct style style)
{
        if (ui->text.len == 0)
                return;
        draw_text(ui, c, *a, indent, style);
        a->y++;
}

static void put_title(struct strbuf *out, const struct served *s)
{
        serving_put_name(out, &s->s);
        strbuf_puts(out, ": ");
        serving_put_limit(out, s);
}

static void draw_server(struct ui *ui, const struct served *s, const struct where *line,
                        struct canvas *c, struct area a)
{
        const struct style title = {INK_TITLE, 0, ATTR_BOLD}, plain = {.fg = INK_TEXT};
        strbuf_clear(&ui->text);
        put_title(&ui->text, s);
        draw_line(ui, c, &a, 1, title);
        serving_put_load(&ui->text, &s->s);
        draw_line(ui, c, &a, 3, plain);
        serving_put_latency(&ui->text, &s->s);
        size_t latency = ui->text.len;
        strbuf_puts(&ui->text, latency > 0 ? ", " : "");
        size_t from = ui->text.len;
        serving_put_yield(&ui->text, s);
        if (ui->text.len == from)
                cut_text(&ui->text, latency);
        draw_line(ui, c, &a, 3, plain);
        /* Where it is known what the front end does, that says more than what to try. */
        if (line && s->limit == SERVING_LIMIT_HOST && line->n > 0)
                serving_put_front(&ui->text, s->s.front, line);
        else if (serving_try(s)[0])
                strbuf_putf(&ui->text, "try: %s", serving_try(s));
        draw_line(ui, c, &a, 3, (struct style){.fg = INK_DIM});
}

/* Of many servers a line each, and how many more there are. */
static int draw_short(struct ui *ui, const struct frame *f, struct canvas *c, struct area a,
                      size_t room)
{
        size_t n = f->n_servings <= room ? f->n_servings : room - 1;
        strbuf_clear(&ui->text);
        for (size_t i = 0; i < n; i++) {
                put_title(&ui->text, &f->servings[i]);
                size_t before = ui->text.len;
                strbuf_puts(&ui->text, "; ");
                size_t from = ui->text.len;
                serving_put_load(&ui->text, &f->servings[i].s);
                if (ui->text.len == from)
                        cut_text(&ui->text, before);
                draw_line(ui, c, &a, 1, (struct style){.fg = INK_TEXT});
        }
        if (n < f->n_servings) {
                strbuf_putf(&ui->text, "%zu more model servers: 'assay once' lists all",
                            f->n_servings - n);
                draw_line(ui, c, &a, 1, (struct style){.fg = INK_DIM});
        }
        return (int)n + (n < f->n_servings) + 1;
}

/* Reading costs a server time. */
static void draw_pace(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        strbuf_clear(&ui->text);
        strbuf_putf(&ui->text,
                    "read every %.3g s, which can slow a model server: + reads less often",
                    clock_to_seconds(d->interval_ns));
        draw_text(ui, c, a, 3, (struct style){.fg = INK_WARN});
}

/* How many lines they take. */
static int draw_servers(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        size_t n = d->frame->n_servings;
        size_t room = a.h > 3 ? (size_t)a.h / 2 : 0;
        if (room == 0)
                return 0;
        if (n * (LINES + 1) > room)
                return draw_short(ui, d->frame, c, a, room);
        for (size_t i = 0; i < n; i++) {
                struct area part = {a.x, a.y + (int)i * (LINES + 1), a.w, LINES};
                draw_server(ui, &d->frame->servings[i],
                            d->server_lines ? &d->server_lines[i] : NULL, c, part);
        }
        return (int)n * (LINES + 1);
}

struct area servings_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        if (!d->frame || d->frame->n_servings == 0)
                return a;
        int taken = draw_servers(ui, d, c, a);
        if (taken > 0 && !d->replay && d->interval_ns < NS_PER_S)
                draw_pace(ui, d, c, (struct area){a.x, a.y + taken++ - 1, a.w, 1});
        a.y += taken;
        a.h -= taken;
        return a;
}
