/* amdgpu's lists of clock levels. */
#include "fuzz.h"

#include "read/drm/dpm.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct dpm d;
        if (dpm_parse((const char *)data, size, &d) &&
            (!d.has_max || d.max_mhz < 0 || (d.has_now && d.now_mhz > d.max_mhz)))
                abort();
        return 0;
}
