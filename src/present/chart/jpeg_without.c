/* Stands in for jpeg.c where libjpeg's headers were missing at build time. */
#include "present/chart/jpeg.h"

#include "base/attr.h"

#include <errno.h>

int jpeg_write(const unsigned char *pixels UNUSED, size_t stride UNUSED, size_t width UNUSED,
               size_t height UNUSED, struct strbuf *out UNUSED, struct err *err)
{
        err_set(err, -ENOSYS, "this assay was built without libjpeg, which JPEG needs");
        return err_hint(err, "build it where libjpeg62-turbo-dev is installed, or write a .png");
}
