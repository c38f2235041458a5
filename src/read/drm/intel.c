/* i915 and xe: clocks and why they are held down. Power and energy are hwmon's. */
#include "base/attr.h"
#include "read/drm/gpu.h"

#include <stdio.h>

/* The clock file of each driver; i915 had them beside the card before it had a folder per GT. */
static struct raw read_clock(const struct drm_gpu *gpu, const char *xe, const char *i915,
                             const char *old)
{
        if (gpu->kind == DRM_KIND_XE)
                return drm_read_number(gpu->gt, xe);
        struct raw v = drm_read_number(gpu->gt, i915);
        return v.state == STATE_UNSUPPORTED ? drm_read_number(gpu->card_dir, old) : v;
}

/* Which reasons there are depends on the GPU. */
static struct raw read_throttle(const struct drm_gpu *gpu)
{
        static const struct {
                const char *name;
                unsigned bit;
        } reasons[] = {
            {"pl1", DRM_THROTTLE_POWER},
            {"pl2", DRM_THROTTLE_POWER},
            {"psys_pl1", DRM_THROTTLE_POWER},
            {"psys_pl2", DRM_THROTTLE_POWER},
            {"psys_crit", DRM_THROTTLE_POWER},
            {"pl4", DRM_THROTTLE_CURRENT},
            {"vr_tdc", DRM_THROTTLE_CURRENT},
            {"iccmax", DRM_THROTTLE_CURRENT},
            {"fastvmode", DRM_THROTTLE_CURRENT},
            {"thermal", DRM_THROTTLE_THERMAL},
            {"ratl", DRM_THROTTLE_THERMAL}, /* a running average of the temperature */
            {"soc_thermal", DRM_THROTTLE_THERMAL},
            {"soc_avg_thermal", DRM_THROTTLE_THERMAL},
            {"mem_thermal", DRM_THROTTLE_THERMAL},
            {"vr_thermal", DRM_THROTTLE_THERMAL},
            {"vr_thermalert", DRM_THROTTLE_THERMAL},
            {"prochot", DRM_THROTTLE_PROCHOT},
        };
        bool xe = gpu->kind == DRM_KIND_XE;
        struct raw status =
            drm_read_number(gpu->gt, xe ? "freq0/throttle/status" : "throttle_reason_status");
        unsigned bits = 0;
        char file[64];
        if (status.state != STATE_OK || status.num == 0)
                return status;
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
                snprintf(file, sizeof(file), "%s%s",
                         xe ? "freq0/throttle/reason_" : "throttle_reason_", reasons[i].name);
                struct raw v = drm_read_number(gpu->gt, file);
                bits |= v.state == STATE_OK && v.num > 0 ? reasons[i].bit : 0;
        }
        return drm_raw(bits ? bits : DRM_THROTTLE_OTHER);
}

/* Some kernels say how much memory the card has; what is used comes from the clients. */
static struct raw read_memory(const struct drm_gpu *gpu)
{
        char name[48];
        if (gpu->kind != DRM_KIND_XE)
                return drm_read_number(gpu->card_dir, "lmem_total_bytes");
        struct raw sum = drm_missing(STATE_UNSUPPORTED);
        for (unsigned i = 0; i < gpu->tiles; i++) {
                snprintf(name, sizeof(name), "tile%u/physical_vram_size_bytes", i);
                struct raw v = drm_read_number(gpu->dir, name);
                if (v.state != STATE_OK)
                        return v;
                sum = drm_raw(i > 0 ? sum.num + v.num : v.num);
        }
        return sum;
}

void drm_read_intel(struct drm_gpu *gpu, struct raw *cells)
{
        cells[DRM_CLOCK] = read_clock(gpu, "freq0/act_freq", "rps_act_freq_mhz", "gt_act_freq_mhz");
        cells[DRM_CLOCK_MAX] =
            read_clock(gpu, "freq0/rp0_freq", "rps_RP0_freq_mhz", "gt_RP0_freq_mhz");
        cells[DRM_THROTTLE] = read_throttle(gpu);
        cells[DRM_VRAM_TOTAL] = read_memory(gpu);
}
