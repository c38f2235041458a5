/* Stands in for bundle_zip.c where libarchive's headers were missing at build time. */
#include "base/attr.h"
#include "formats/bundle.h"

#include <errno.h>

static int bundle_without_zip_refuse(struct err *err)
{
        err_set(err, -ENOSYS, "this assay was built without libarchive, which zip files need");
        return err_hint(err, "build it where libarchive-dev is installed, or use a folder");
}

int bundle_read_zip(const void *zip UNUSED, size_t len UNUSED,
                    bool (*wanted)(const char *name) UNUSED, struct bundle *ret UNUSED,
                    struct err *err)
{
        return bundle_without_zip_refuse(err);
}

int bundle_write_zip(const char *path UNUSED, const struct bundle *b UNUSED, struct err *err)
{
        return bundle_without_zip_refuse(err);
}
