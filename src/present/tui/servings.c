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

static void put_join(struct strbuf *out)
{
        if (out->len > 0)
                strbuf_puts(out, ", ");
}

static void draw_server(struct ui *ui, const struct served *s, const struct where *line,
                        struct canvas *c, struct area a)
{
        const struct style title = {INK_TITLE, 0, ATTR_BOLD}, plain = {.fg = INK_TEXT};
        strbuf_clear(&ui->text);
        serving_put_name(&ui->text, &s->s);
        strbuf_puts(&ui->text, ": ");
        serving_put_limit(&ui->text, s);
        draw_text(ui, c, a, 1, title);
        serving_put_load(&ui->text, &s->s);
        a.y++;
        draw_text(ui, c, a, 3, plain);
        serving_put_latency(&ui->text, &s->s);
        put_join(&ui->text);
        serving_put_yield(&ui->text, s);
        a.y++;
        draw_text(ui, c, a, 3, plain);
        if (serving_try(s)[0])
                strbuf_putf(&ui->text, "try: %s", serving_try(s));
        /* Where it is known what the front end does, that says more than what to try. */
        if (line && s->limit == SERVING_LIMIT_HOST && line->n > 0) {
                strbuf_clear(&ui->text);
                serving_put_front(&ui->text, s->s.front, line);
        }
        a.y++;
        draw_text(ui, c, a, 3, (struct style){.fg = INK_DIM});
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

struct area servings_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        size_t n = d->frame ? d->frame->n_servings : 0;
        int room = a.h / 2;
        for (size_t i = 0; i < n && room >= LINES; i++) {
                struct area part = {a.x, a.y, a.w, LINES};
                draw_server(ui, &d->frame->servings[i],
                            d->server_lines ? &d->server_lines[i] : NULL, c, part);
                a.y += LINES + 1;
                a.h -= LINES + 1;
                room -= LINES + 1;
        }
        if (n > 0 && room > 0 && !d->replay && d->interval_ns < NS_PER_S) {
                draw_pace(ui, d, c, (struct area){a.x, a.y - 1, a.w, 1});
                a.y++;
                a.h--;
        }
        return a;
}
