/* cairo, loaded when a PNG, JPEG or PDF is drawn: it brings a dozen libraries that nothing else
 * needs.
 */
#pragma once

#include "base/err.h"

#include <cairo-pdf.h>
#include <cairo.h>

/* CAIRO_CALL(name): the functions that are used, without their cairo_. */
#define CAIRO_CALLS(CAIRO_CALL)                                                                    \
        CAIRO_CALL(image_surface_create)                                                           \
        CAIRO_CALL(pdf_surface_create_for_stream)                                                  \
        CAIRO_CALL(pdf_surface_set_metadata)                                                       \
        CAIRO_CALL(surface_write_to_png_stream)                                                    \
        CAIRO_CALL(surface_flush)                                                                  \
        CAIRO_CALL(image_surface_get_data)                                                         \
        CAIRO_CALL(image_surface_get_stride)                                                       \
        CAIRO_CALL(image_surface_get_width)                                                        \
        CAIRO_CALL(image_surface_get_height)                                                       \
        CAIRO_CALL(surface_finish)                                                                 \
        CAIRO_CALL(surface_status)                                                                 \
        CAIRO_CALL(surface_destroy)                                                                \
        CAIRO_CALL(create)                                                                         \
        CAIRO_CALL(destroy)                                                                        \
        CAIRO_CALL(status)                                                                         \
        CAIRO_CALL(status_to_string)                                                               \
        CAIRO_CALL(scale)                                                                          \
        CAIRO_CALL(rectangle)                                                                      \
        CAIRO_CALL(move_to)                                                                        \
        CAIRO_CALL(line_to)                                                                        \
        CAIRO_CALL(close_path)                                                                     \
        CAIRO_CALL(fill)                                                                           \
        CAIRO_CALL(stroke)                                                                         \
        CAIRO_CALL(set_source_rgba)                                                                \
        CAIRO_CALL(set_line_width)                                                                 \
        CAIRO_CALL(set_line_cap)                                                                   \
        CAIRO_CALL(set_line_join)                                                                  \
        CAIRO_CALL(set_dash)                                                                       \
        CAIRO_CALL(select_font_face)                                                               \
        CAIRO_CALL(set_font_size)                                                                  \
        CAIRO_CALL(text_extents)                                                                   \
        CAIRO_CALL(show_text)                                                                      \
        CAIRO_CALL(font_options_create)                                                            \
        CAIRO_CALL(font_options_set_hint_style)                                                    \
        CAIRO_CALL(font_options_set_hint_metrics)                                                  \
        CAIRO_CALL(font_options_destroy)                                                           \
        CAIRO_CALL(set_font_options)

struct cairo_api {
#define CAIRO_CALL(name) __typeof__(&cairo_##name) name;
        CAIRO_CALLS(CAIRO_CALL)
#undef CAIRO_CALL
};

/* 0, or a negative code that says what to install. It stays loaded. */
int cairo_api_load(struct cairo_api *ret, struct err *err);
