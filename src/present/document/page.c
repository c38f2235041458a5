#include "present/document/page.h"

#include "base/attr.h"
#include "base/quote.h"

#include <math.h>
#include <stdlib.h>

/* ---- the frame ---- */

static void put_script_hashes(struct strbuf *out, const struct page_scripts *scripts)
{
        strbuf_putf(out, "'%s'", page_sort_hash);
        if (scripts && scripts->charts)
                strbuf_putf(out, " '%s' '%s'", page_plot_hash, page_chart_hash);
        for (size_t i = 0; scripts && i < scripts->n; i++)
                strbuf_putf(out, " '%s'", scripts->list[i].hash);
}

void page_begin(struct strbuf *out, const char *title, const struct page_scripts *scripts)
{
        strbuf_puts(out,
                    "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
                    "content=\"width=device-width,initial-scale=1\">\n"
                    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                    "script-src ");
        put_script_hashes(out, scripts);
        strbuf_putf(out, "; style-src '%s' '%s'; base-uri 'none'; form-action 'none'\">\n<title>",
                    page_style_hash, page_dark_hash);
        quote_markup(out, title);
        /* On paper it is never dark. */
        strbuf_putf(out,
                    "</title>\n<style>%s</style><style media=\"screen and "
                    "(prefers-color-scheme:dark)\">%s</style></head>\n<body><main>\n",
                    page_style, page_dark);
}

void page_put_title(struct strbuf *out, const char *title)
{
        strbuf_puts(out, "<h1>");
        quote_markup(out, title);
        strbuf_puts(out, "</h1>\n");
}

void page_put_data(struct strbuf *out, const struct strbuf *data)
{
        strbuf_puts(out, "<div id=tip></div><svg id=svg width=0 height=0 aria-hidden=true></svg>\n"
                         "<script type=application/json id=data>");
        strbuf_put(out, data->s, data->len);
        strbuf_puts(out, "</script>\n");
}

void page_end(struct strbuf *out, const struct page_scripts *scripts)
{
        strbuf_puts(out, "</main>\n");
        if (scripts && scripts->charts)
                strbuf_putf(out, "<script>%s</script><script>%s</script>", page_plot, page_chart);
        for (size_t i = 0; scripts && i < scripts->n; i++)
                strbuf_putf(out, "<script>%s</script>", scripts->list[i].body);
        strbuf_putf(out, "<script>%s</script></body></html>\n", page_sort);
}

/* ---- parts ---- */

void page_open_table(struct strbuf *out, const char *title)
{
        strbuf_puts(out, "<div class=scroll role=region tabindex=0 aria-label=\"");
        quote_markup(out, title);
        strbuf_puts(out, "\"><table><thead><tr>");
}

void page_close_table(struct strbuf *out)
{
        strbuf_puts(out, "</tbody></table></div>\n");
}

void page_put_tile(struct strbuf *out, const char *title, const char *value, const char *more)
{
        strbuf_puts(out, "<div class=tile><span class=\"soft small\">");
        quote_markup(out, title);
        strbuf_puts(out, "</span> <span class=big>");
        quote_markup(out, value);
        strbuf_puts(out, "</span> <span class=\"soft small\">");
        quote_markup(out, more);
        strbuf_puts(out, "</span></div>\n");
}

/* ---- charts ---- */

#define PARTS_OF_TOP 4094 /* values are in that many parts of the axis; the next is "missing" */

void page_put_text(struct jsonw *j, const char *name, const char *s)
{
        struct strbuf text = {0};
        json_put_string(&text, s);
        jsonw_begin(j, name);
        for (size_t i = 0; i < text.len; i++) {
                if (text.s[i] == '<')
                        strbuf_puts(j->out, "\\u003c");
                else
                        strbuf_putc(j->out, text.s[i]);
        }
        strbuf_finish(&text);
}

void page_put_short(struct jsonw *j, const char *name, double v)
{
        jsonw_short(j, name, v, 6);
}

void page_begin_chart(struct jsonw *j, const struct page_chart *chart)
{
        jsonw_object(j, NULL);
        page_put_text(j, "id", chart->id);
        page_put_text(j, "title", chart->title);
        page_put_text(j, "unit", chart->unit);
        jsonw_short(j, "top", chart->top, 8);
        page_put_text(j, "says", chart->says);
        if (chart->chosen)
                jsonw_bool(j, "gpus", true);
}

void page_put_point(struct strbuf *out, double v, double top)
{
        static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        unsigned q = PARTS_OF_TOP + 1;
        if (!isnan(v))
                q = (unsigned)(MIN(MAX(v / top, 0), 1) * PARTS_OF_TOP + 0.5);
        strbuf_putc(out, digits[q >> 6]);
        strbuf_putc(out, digits[q & 63]);
}

void page_put_chart_bar(struct strbuf *out)
{
        strbuf_puts(out, "<div class=tools id=bar></div>\n<div class=\"tools chips\" id=chips "
                         "role=group aria-label=\"What is drawn\"></div>\n");
}

void page_put_chart(struct strbuf *out, const char *id)
{
        strbuf_putf(out, "<div class=chart data-m=%s></div>\n", id);
}
