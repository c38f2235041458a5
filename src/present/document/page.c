#include "present/document/page.h"

#include "base/quote.h"

void page_begin(struct strbuf *out, const char *title, const char *script_hash)
{
        strbuf_puts(out,
                    "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
                    "content=\"width=device-width,initial-scale=1\">\n");
        strbuf_putf(
            out,
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
            "script-src '%s'%s%s%s; style-src '%s'; base-uri 'none'; form-action 'none'\">\n"
            "<title>",
            page_sort_hash, script_hash ? " '" : "", script_hash ? script_hash : "",
            script_hash ? "'" : "", page_style_hash);
        quote_markup(out, title);
        strbuf_putf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<h1>", page_style);
        quote_markup(out, title);
        strbuf_puts(out, "</h1>\n");
}

void page_end(struct strbuf *out, const char *script)
{
        if (script)
                strbuf_putf(out, "<script>%s</script>", script);
        strbuf_putf(out, "<script>%s</script></body></html>\n", page_sort);
}

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
