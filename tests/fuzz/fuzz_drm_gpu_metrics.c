/* amdgpu's firmware table. */
#include "fuzz.h"

#include "read/drm/gpu_metrics.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct gpu_metrics m;
        memset(&m, 0xaa, sizeof(m));
        enum gm_result r = gpu_metrics_decode(data, size, &m);
        if (r != GM_FINE) {
                if (m.format != 0xaa || !gm_result_text(r)[0])
                        abort(); /* a failure leaves the result alone and says why */
                return 0;
        }
        for (enum gm_field f = 0; f < GM_COUNT; f++) {
                uint64_t v;
                double d;
                if (m.f[f].n > GM_INSTANCES_MAX || (m.f[f].present >> m.f[f].n) != 0)
                        abort();
                gm_get(&m, f, &v);
                gm_sum(&m, f, &v);
                gm_get_scaled(&m, f, &d);
        }
        for (size_t p = 0; p < GM_PARTITIONS_MAX; p++) {
                double d;
                gm_partition_busy(&m, p, &d);
        }
        return 0;
}
