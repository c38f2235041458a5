/* PNG, JPEG and PDF. The only file that draws with cairo. */
#include "present/chart/cairo_api.h"
#include "present/chart/jpeg.h"
#include "present/chart/pen.h"

#include <errno.h>

#define PNG_SCALE 2.0       /* pixels a unit, for sharp print */
#define PNG_PIXELS_MAX 16e6 /* a larger picture is drawn with one pixel a unit */
#define PDF_SCALE 0.75      /* points a unit */

struct drawing {
        struct pen pen;
        struct cairo_api api;
        enum plot_format format;
        cairo_surface_t *surface;
        cairo_t *cr;
        struct strbuf out;
};

static cairo_status_t take_bytes(void *arg, const unsigned char *data, unsigned int n)
{
        struct strbuf *out = arg;
        strbuf_put(out, (const char *)data, n);
        return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static void use_ink(struct drawing *d, struct ink ink)
{
        d->api.set_source_rgba(d->cr, (ink.rgb >> 16 & 0xff) / 255.0, (ink.rgb >> 8 & 0xff) / 255.0,
                               (ink.rgb & 0xff) / 255.0, (double)ink.alpha);
}

static void cairo_pen_rect(struct pen *p, double x, double y, double w, double h, struct ink fill)
{
        struct drawing *d = (struct drawing *)p;
        use_ink(d, fill);
        d->api.rectangle(d->cr, x, y, w, h);
        d->api.fill(d->cr);
}

static void trace_path(struct drawing *d, const struct spot *spots, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                double x = (double)spots[i].x, y = (double)spots[i].y;
                if (i == 0)
                        d->api.move_to(d->cr, x, y);
                else
                        d->api.line_to(d->cr, x, y);
        }
}

static void cairo_pen_line(struct pen *p, const struct spot *spots, size_t n,
                           const struct stroke *s)
{
        static const double dashes[] = {4, 3};
        struct drawing *d = (struct drawing *)p;
        use_ink(d, s->ink);
        d->api.set_line_width(d->cr, (double)s->width);
        d->api.set_dash(d->cr, dashes, s->dashed ? 2 : 0, 0);
        trace_path(d, spots, n);
        d->api.stroke(d->cr);
}

static void cairo_pen_area(struct pen *p, const struct spot *spots, size_t n, struct ink fill)
{
        struct drawing *d = (struct drawing *)p;
        use_ink(d, fill);
        trace_path(d, spots, n);
        d->api.close_path(d->cr);
        d->api.fill(d->cr);
}

static void cairo_pen_text(struct pen *p, double x, double y, const struct letters *l,
                           const char *s)
{
        struct drawing *d = (struct drawing *)p;
        cairo_text_extents_t size;
        d->api.select_font_face(d->cr, "Helvetica", CAIRO_FONT_SLANT_NORMAL,
                                l->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
        d->api.set_font_size(d->cr, (double)l->size);
        d->api.text_extents(d->cr, s, &size);
        double back = l->anchor == ANCHOR_END      ? size.x_advance
                      : l->anchor == ANCHOR_MIDDLE ? size.x_advance / 2
                                                   : 0;
        use_ink(d, l->ink);
        d->api.move_to(d->cr, x - back, y);
        d->api.show_text(d->cr, s);
}

static void cairo_pen_group(struct pen *p UNUSED, const char *name UNUSED)
{
}

static int write_jpeg(struct drawing *d, struct err *err)
{
        d->api.surface_flush(d->surface);
        const unsigned char *pixels = d->api.image_surface_get_data(d->surface);
        if (!pixels)
                return 0;
        return jpeg_write(pixels, (size_t)d->api.image_surface_get_stride(d->surface),
                          (size_t)d->api.image_surface_get_width(d->surface),
                          (size_t)d->api.image_surface_get_height(d->surface), &d->out, err);
}

static int cairo_pen_close(struct pen *p, struct strbuf *out, struct err *err)
{
        struct drawing *d = (struct drawing *)p;
        cairo_status_t status = d->api.status(d->cr);
        int r = 0;
        d->api.destroy(d->cr);
        if (status == CAIRO_STATUS_SUCCESS && d->format == PLOT_PNG)
                status = d->api.surface_write_to_png_stream(d->surface, take_bytes, &d->out);
        else if (status == CAIRO_STATUS_SUCCESS && d->format == PLOT_JPEG)
                r = write_jpeg(d, err);
        d->api.surface_finish(d->surface);
        if (status == CAIRO_STATUS_SUCCESS)
                status = d->api.surface_status(d->surface);
        d->api.surface_destroy(d->surface);
        strbuf_put(out, d->out.s, d->out.len);
        strbuf_finish(&d->out);
        const char *why = d->api.status_to_string(status);
        free(d);
        if (r < 0)
                return r;
        if (status == CAIRO_STATUS_NO_MEMORY || out->failed)
                return err_set(err, -ENOMEM, "out of memory");
        return status == CAIRO_STATUS_SUCCESS ? 0
                                              : err_set(err, -EIO, "cairo cannot draw: %s", why);
}

static const struct pen_ops cairo_ops = {
    .rect = cairo_pen_rect,
    .line = cairo_pen_line,
    .area = cairo_pen_area,
    .text = cairo_pen_text,
    .group = cairo_pen_group,
    .close = cairo_pen_close,
};

static double open_surface(struct drawing *d, const struct sheet *sheet)
{
        double scale = PDF_SCALE, w = sheet->width, h = sheet->height;
        if (d->format != PLOT_PDF) {
                scale = w * h * PNG_SCALE * PNG_SCALE > PNG_PIXELS_MAX ? 1 : PNG_SCALE;
                d->surface = d->api.image_surface_create(CAIRO_FORMAT_RGB24, (int)(w * scale),
                                                         (int)(h * scale));
                return scale;
        }
        d->surface =
            d->api.pdf_surface_create_for_stream(take_bytes, &d->out, w * scale, h * scale);
        /* Without these it puts the time of drawing into the file. */
        d->api.pdf_surface_set_metadata(d->surface, CAIRO_PDF_METADATA_TITLE, sheet->title);
        d->api.pdf_surface_set_metadata(d->surface, CAIRO_PDF_METADATA_CREATE_DATE, sheet->made);
        d->api.pdf_surface_set_metadata(d->surface, CAIRO_PDF_METADATA_CREATOR, "assay");
        return scale;
}

int pen_open_cairo(enum plot_format format, const struct sheet *sheet, struct pen **ret,
                   struct err *err)
{
        struct drawing *d = calloc(1, sizeof(*d));
        if (!d)
                return err_set(err, -ENOMEM, "out of memory");
        int r = cairo_api_load(&d->api, err);
        if (r < 0) {
                free(d);
                return r;
        }
        d->pen.ops = &cairo_ops;
        d->format = format;
        double scale = open_surface(d, sheet);
        d->cr = d->api.create(d->surface);
        d->api.scale(d->cr, scale, scale);
        d->api.set_line_cap(d->cr, CAIRO_LINE_CAP_ROUND);
        /* Looks as round ones do at this width, and costs a fifth of a large picture less. */
        d->api.set_line_join(d->cr, CAIRO_LINE_JOIN_BEVEL);
        /* Letters keep their distances at every size. */
        cairo_font_options_t *font = d->api.font_options_create();
        d->api.font_options_set_hint_style(font, CAIRO_HINT_STYLE_NONE);
        d->api.font_options_set_hint_metrics(font, CAIRO_HINT_METRICS_OFF);
        d->api.set_font_options(d->cr, font);
        d->api.font_options_destroy(font);
        *ret = &d->pen;
        return 0;
}
