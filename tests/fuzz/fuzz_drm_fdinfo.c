/* What the kernel tells of a DRM client. */
#include "fuzz.h"

#include "read/drm/fdinfo.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct fdinfo f;
        if (!fdinfo_parse((const char *)data, size, &f))
                return 0;
        if (!f.driver[0] || f.n_engines > FDINFO_ENGINES_MAX || f.n_regions > FDINFO_REGIONS_MAX)
                abort();
        for (size_t i = 0; i < f.n_engines; i++) {
                if (f.engines[i].capacity == 0 || strlen(f.engines[i].name) >= FDINFO_NAME_MAX)
                        abort();
        }
        fdinfo_device_bytes(&f);
        fdinfo_host_bytes(&f);
        return 0;
}
