/* Stands in for pen_cairo.c where cairo's headers were missing at build time. */
#include "present/chart/pen.h"

#include <errno.h>

int pen_open_cairo(enum plot_format format UNUSED, const struct sheet *sheet UNUSED,
                   struct pen **ret UNUSED, struct err *err)
{
        err_set(err, -ENOSYS, "this assay was built without cairo, which PNG, JPEG and PDF need");
        return err_hint(err,
                        "build it where libcairo2-dev is installed, or write SVG: -o FILE.svg");
}
