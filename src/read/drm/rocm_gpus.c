/* Fills in what sysfs lacks from AMD's library, where that is installed. */
#include "base/attr.h"
#include "base/clock.h"
#include "read/drm/gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FRESH_NS (2 * NS_PER_S)

/* What the library is needed for; false when sysfs reports all. A GPU that may fall asleep is not
 * asked about: counters would keep it awake. */
static bool lacks_values(const struct drm_gpu *gpu, struct rocm_gpu *ret)
{
        if (gpu->kind != DRM_KIND_AMDGPU || drm_suspend_delay_ns(gpu) > 0)
                return false;
        *ret = (struct rocm_gpu){
            .links = gpu->last[DRM_XGMI_WRITE].state == STATE_UNSUPPORTED &&
                     faccessat(gpu->dir, "xgmi_device_id", F_OK, 0) == 0,
            .partitions = !gpu->partition[0] && gpu->accelerator, /* others cannot be divided */
        };
        snprintf(ret->pci, sizeof(ret->pci), "%s", gpu->pci);
        return ret->links || ret->partitions;
}

/* Starting the library examines every AMD GPU, so it waits for none to be asleep. */
static bool any_asleep(const struct drm_gpu *gpus, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (gpus[i].kind == DRM_KIND_AMDGPU && drm_is_suspended(&gpus[i]) != 0)
                        return true;
        }
        return false;
}

struct rocm *drm_rocm_open(const char *root, const char *library, struct drm_gpu *gpus, size_t n)
{
        struct rocm_gpu wanted[DRM_GPUS_MAX];
        size_t n_wanted = 0;
        /* A machine in a folder has not this machine's library. */
        if ((root[0] && !library) || any_asleep(gpus, n))
                return NULL;
        for (size_t i = 0; i < n; i++) {
                gpus[i].asked = lacks_values(&gpus[i], &wanted[n_wanted]);
                gpus[i].rocm = n_wanted;
                n_wanted += gpus[i].asked;
        }
        return n_wanted > 0 ? rocm_open(library, wanted, n_wanted) : NULL;
}

void drm_rocm_query(struct rocm *rocm, const struct drm_gpu *gpus, size_t n)
{
        if (rocm && !any_asleep(gpus, n))
                rocm_query(rocm);
}

/* The rate between the library's last two answers, with its age when it answers no more. */
static struct raw sent_rate(struct drm_gpu *gpu, const struct rocm_values *v, int64_t mono_ns)
{
        if (v->sent.state != STATE_OK)
                return drm_missing((enum state)v->sent.state);
        if (v->mono_ns != gpu->sent.mono_ns)
                gpu->sent_rate = drm_rate(&gpu->sent, v->sent.v, v->mono_ns);
        struct raw rate = gpu->sent_rate;
        int64_t age = mono_ns - v->mono_ns;
        if (rate.state == STATE_OK && age > FRESH_NS) {
                rate.state = STATE_STALE;
                rate.age_ms = (uint32_t)(age / NS_PER_MS);
        }
        return rate;
}

void drm_rocm_put(struct rocm *rocm, struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        struct rocm_values v;
        if (!rocm || !gpu->asked)
                return;
        rocm_get(rocm, gpu->rocm, &v);
        cells[DRM_ROCM_SENT] = sent_rate(gpu, &v, mono_ns);
        if (!gpu->partition[0])
                drm_set_partition(gpu, v.compute, v.memory);
}
