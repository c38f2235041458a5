/* What a drawing is made with. One implementation writes SVG, one hands everything to cairo. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct ink {
        uint32_t rgb;
        float alpha; /* from 0 to 1 */
};

struct stroke {
        struct ink ink;
        float width;
        bool dashed;
};

struct spot {
        float x, y;
};

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

struct letters {
        float size;
        bool bold;
        enum anchor anchor;
        struct ink ink;
};

struct pen;

/* Coordinates are units of 1/96 inch from the upper left corner. Texts are clean UTF-8. */
struct pen_ops {
        void (*rect)(struct pen *p, double x, double y, double w, double h, struct ink fill);
        void (*line)(struct pen *p, const struct spot *spots, size_t n, const struct stroke *s);
        void (*area)(struct pen *p, const struct spot *spots, size_t n, struct ink fill);
        /* y is the base line. */
        void (*text)(struct pen *p, double x, double y, const struct letters *l, const char *s);
        /* What follows until the next call belongs together, under a name; "" ends it. */
        void (*group)(struct pen *p, const char *name);
        /* Ends the drawing and puts the file into out; the pen is gone also when this fails. */
        int (*close)(struct pen *p, struct strbuf *out, struct err *err);
};

struct pen {
        const struct pen_ops *ops;
};

enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_JPEG, PLOT_PDF };

struct sheet {
        double width, height;
        const char *title; /* of the document */
        const char
            *made; /* ISO 8601; kept in the file's metadata, so that equal runs give equal files */
};

/* Draws nothing, and has no close. */
extern const struct pen_ops pen_null_ops;
/* -ENOMEM when memory is short. */
int pen_open_svg(const struct sheet *sheet, struct pen **ret, struct err *err);
/* PNG, JPEG or PDF; needs libcairo, and says so. */
int pen_open_cairo(enum plot_format format, const struct sheet *sheet, struct pen **ret,
                   struct err *err);
