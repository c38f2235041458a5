/* i915 and xe: clocks and why they are held down. Power and energy are hwmon's. */
#include "base/attr.h"
#include "read/drm_gpu.h"

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

static struct raw read_throttle(const struct drm_gpu *gpu)
{
        static const struct {
                const char *xe, *i915;
                unsigned bit;
        } reasons[] = {
            {"freq0/throttle/reason_pl1", "throttle_reason_pl1", DRM_THROTTLE_POWER},
            {"freq0/throttle/reason_pl2", "throttle_reason_pl2", DRM_THROTTLE_POWER},
            {"freq0/throttle/reason_pl4", "throttle_reason_pl4", DRM_THROTTLE_CURRENT},
            {"freq0/throttle/reason_vr_tdc", "throttle_reason_vr_tdc", DRM_THROTTLE_CURRENT},
            {"freq0/throttle/reason_thermal", "throttle_reason_thermal", DRM_THROTTLE_THERMAL},
            {"freq0/throttle/reason_vr_thermalert", "throttle_reason_vr_thermalert",
             DRM_THROTTLE_THERMAL},
            {"freq0/throttle/reason_prochot", "throttle_reason_prochot", DRM_THROTTLE_PROCHOT},
            {"freq0/throttle/reason_ratl", "throttle_reason_ratl", DRM_THROTTLE_OTHER},
        };
        bool xe = gpu->kind == DRM_KIND_XE;
        struct raw status =
            drm_read_number(gpu->gt, xe ? "freq0/throttle/status" : "throttle_reason_status");
        unsigned bits = 0;
        if (status.state != STATE_OK || status.num == 0)
                return status;
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
                struct raw v = drm_read_number(gpu->gt, xe ? reasons[i].xe : reasons[i].i915);
                bits |= v.state == STATE_OK && v.num > 0 ? reasons[i].bit : 0;
        }
        return drm_raw(bits ? bits : DRM_THROTTLE_OTHER);
}

/* Some kernels tell how much memory the card has; what is used comes from the clients. */
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
