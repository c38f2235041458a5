/* Draws nothing: to learn how much room a drawing takes. */
#include "present/chart/pen.h"

static void null_rect(struct pen *p UNUSED, double x UNUSED, double y UNUSED, double w UNUSED,
                      double h UNUSED, struct ink fill UNUSED)
{
}

static void null_line(struct pen *p UNUSED, const struct spot *spots UNUSED, size_t n UNUSED,
                      const struct stroke *s UNUSED)
{
}

static void null_area(struct pen *p UNUSED, const struct spot *spots UNUSED, size_t n UNUSED,
                      struct ink fill UNUSED)
{
}

static void null_text(struct pen *p UNUSED, double x UNUSED, double y UNUSED,
                      const struct letters *l UNUSED, const char *s UNUSED)
{
}

static void null_group(struct pen *p UNUSED, const char *name UNUSED)
{
}

const struct pen_ops pen_null_ops = {
    .rect = null_rect,
    .line = null_line,
    .area = null_area,
    .text = null_text,
    .group = null_group,
};
