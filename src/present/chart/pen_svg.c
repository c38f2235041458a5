/* SVG by hand: text stays text, which can be searched, read aloud and edited; nothing to install.
 */
#include "present/chart/pen.h"

#include "base/attr.h"
#include "base/quote.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct svg {
        struct pen pen;
        struct strbuf out;
        bool grouped;
};

/* A tenth of a unit is finer than anybody sees; a whole number needs no point. */
static void put_number(struct strbuf *out, double v)
{
        long tenths = lround(v * 10);
        if (tenths < 0)
                strbuf_putc(out, '-');
        tenths = labs(tenths);
        strbuf_putf(out, "%ld", tenths / 10);
        if (tenths % 10)
                strbuf_putf(out, ".%ld", tenths % 10);
}

static void put_attribute(struct strbuf *out, const char *name, double v)
{
        strbuf_putf(out, " %s=\"", name);
        put_number(out, v);
        strbuf_putc(out, '"');
}

static void put_ink(struct strbuf *out, const char *what, struct ink ink)
{
        strbuf_putf(out, " %s=\"#%06x\"", what, ink.rgb);
        if (ink.alpha < 1)
                strbuf_putf(out, " %s-opacity=\"%.2g\"", what, (double)ink.alpha);
}

static void svg_rect(struct pen *p, double x, double y, double w, double h, struct ink fill)
{
        struct strbuf *out = &((struct svg *)p)->out;
        strbuf_puts(out, "<rect");
        put_attribute(out, "x", x);
        put_attribute(out, "y", y);
        put_attribute(out, "width", w);
        put_attribute(out, "height", h);
        put_ink(out, "fill", fill);
        strbuf_puts(out, "/>\n");
}

/* Points on a level line say nothing that its ends do not. */
static bool is_on_line(const struct spot *s, size_t i, size_t n)
{
        return i > 0 && i + 1 < n && lroundf(s[i - 1].y * 10) == lroundf(s[i].y * 10) &&
               lroundf(s[i + 1].y * 10) == lroundf(s[i].y * 10);
}

static void put_points(struct strbuf *out, const struct spot *spots, size_t n)
{
        strbuf_puts(out, " points=\"");
        for (size_t i = 0; i < n; i++) {
                if (is_on_line(spots, i, n))
                        continue;
                if (i > 0)
                        strbuf_putc(out, ' ');
                put_number(out, (double)spots[i].x);
                strbuf_putc(out, ',');
                put_number(out, (double)spots[i].y);
        }
        strbuf_putc(out, '"');
}

static void svg_line(struct pen *p, const struct spot *spots, size_t n, const struct stroke *s)
{
        struct strbuf *out = &((struct svg *)p)->out;
        strbuf_puts(out, "<polyline fill=\"none\"");
        put_ink(out, "stroke", s->ink);
        put_attribute(out, "stroke-width", (double)s->width);
        if (s->dashed)
                strbuf_puts(out, " stroke-dasharray=\"4 3\"");
        put_points(out, spots, n);
        strbuf_puts(out, "/>\n");
}

static void svg_area(struct pen *p, const struct spot *spots, size_t n, struct ink fill)
{
        struct strbuf *out = &((struct svg *)p)->out;
        strbuf_puts(out, "<polygon");
        put_ink(out, "fill", fill);
        put_points(out, spots, n);
        strbuf_puts(out, "/>\n");
}

static void svg_text(struct pen *p, double x, double y, const struct letters *l, const char *s)
{
        static const char *const anchors[] = {NULL, "middle", "end"};
        struct strbuf *out = &((struct svg *)p)->out;
        strbuf_puts(out, "<text");
        put_attribute(out, "x", x);
        put_attribute(out, "y", y);
        put_attribute(out, "font-size", (double)l->size);
        put_ink(out, "fill", l->ink);
        if (l->bold)
                strbuf_puts(out, " font-weight=\"bold\"");
        if (anchors[l->anchor])
                strbuf_putf(out, " text-anchor=\"%s\"", anchors[l->anchor]);
        strbuf_putc(out, '>');
        quote_markup(out, s);
        strbuf_puts(out, "</text>\n");
}

static void svg_group(struct pen *p, const char *name)
{
        struct svg *svg = (struct svg *)p;
        if (svg->grouped)
                strbuf_puts(&svg->out, "</g>\n");
        svg->grouped = name[0] != '\0';
        if (!svg->grouped)
                return;
        strbuf_puts(&svg->out, "<g class=\"");
        quote_markup(&svg->out, name);
        strbuf_puts(&svg->out, "\">\n");
}

static int svg_close(struct pen *p, struct strbuf *out, struct err *err)
{
        struct svg *svg = (struct svg *)p;
        svg_group(p, "");
        strbuf_puts(&svg->out, "</svg>\n");
        strbuf_put(out, svg->out.s, svg->out.len);
        bool failed = svg->out.failed || out->failed;
        strbuf_finish(&svg->out);
        free(svg);
        return failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static const struct pen_ops svg_ops = {
    .rect = svg_rect,
    .line = svg_line,
    .area = svg_area,
    .text = svg_text,
    .group = svg_group,
    .close = svg_close,
};

int pen_open_svg(const struct sheet *sheet, struct pen **ret, struct err *err)
{
        struct svg *svg = calloc(1, sizeof(*svg));
        if (!svg)
                return err_set(err, -ENOMEM, "out of memory");
        struct strbuf *out = &svg->out;
        svg->pen.ops = &svg_ops;
        strbuf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
        put_attribute(out, "width", sheet->width);
        put_attribute(out, "height", sheet->height);
        strbuf_puts(out, " viewBox=\"0 0 ");
        put_number(out, sheet->width);
        strbuf_putc(out, ' ');
        put_number(out, sheet->height);
        strbuf_puts(out, "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
                         "stroke-linejoin=\"round\" stroke-linecap=\"round\">\n<title>");
        quote_markup(out, sheet->title);
        strbuf_puts(out, "</title>\n");
        *ret = &svg->pen;
        return 0;
}
