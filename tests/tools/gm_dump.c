/* Prints what the program makes of a gpu_metrics file: "name[instance] value", or why it refuses.
 */
#include "base/attr.h"
#include "read/drm/gpu_metrics.h"

#include <stdio.h>

int main(int argc, char **argv)
{
        static uint8_t data[GM_TABLE_MAX];
        static struct gpu_metrics m;
        FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
        if (!f)
                return 2;
        size_t n = fread(data, 1, sizeof(data), f);
        fclose(f);
        enum gm_result r = gpu_metrics_decode(data, n, &m);
        if (r != GM_FINE)
                return printf("%s\n", gm_result_text(r)), 1;
        for (enum gm_field k = 0; k < GM_COUNT; k++) {
                for (size_t i = 0; i < m.f[k].n; i++) {
                        if (m.f[k].present & (1u << i))
                                printf("%s[%zu] %llu\n", gm_field_name(k), i,
                                       (unsigned long long)m.f[k].v[i]);
                }
        }
        for (size_t p = 0; p < GM_PARTITIONS_MAX; p++) {
                double busy;
                if (gm_partition_busy(&m, p, &busy))
                        printf("partition[%zu] %g\n", p, busy);
        }
        return 0;
}
