/* AMD's and Intel's GPUs, which the kernel shows to everyone. */
#include "doctor/checks.h"

#include "base/strbuf.h"
#include "entity/select.h"
#include "read/drm/gpu.h"

#include <stdio.h>
#include <string.h>

/* Engine times of processes, in the form all drivers share, came with these kernels. */
static const struct {
        enum drm_kind kind;
        const char *driver;
        unsigned major, minor;
} since[] = {
    {DRM_KIND_AMDGPU, "amdgpu", 5, 19},
    {DRM_KIND_I915, "i915", 5, 19},
    {DRM_KIND_XE, "xe", 6, 11},
};

static void no_gpu(const struct drm_passed *passed, struct result *ret)
{
        if (passed->unreachable == 0) {
                result_set(ret, OUTCOME_NOTE, "no AMD or Intel GPU");
                return;
        }
        result_set(ret, OUTCOME_WARN, "%u GPU%s in /sys, and no node of any in /dev/dri",
                   passed->unreachable, passed->unreachable == 1 ? "" : "s");
        result_remedy(ret, "start the container with --device /dev/dri");
}

/* True when the kernel is older than what the GPU's driver needs to report processes. */
static bool too_old(const struct doctor *d, const struct drm_gpu *gpu, struct result *ret)
{
        char release[64] = "";
        unsigned major, minor;
        if (!doctor_read(d, "/proc/sys/kernel/osrelease", release, sizeof(release)) ||
            sscanf(release, "%u.%u", &major, &minor) != 2)
                return false;
        for (size_t i = 0; i < ARRAY_LEN(since); i++) {
                bool old =
                    major < since[i].major || (major == since[i].major && minor < since[i].minor);
                if (since[i].kind != gpu->kind || !old)
                        continue;
                result_set(ret, OUTCOME_WARN,
                           "%s of Linux %u.%u does not tell what each process does",
                           since[i].driver, major, minor);
                result_remedy(ret, "Linux %u.%u or newer does; the rest can be read",
                              since[i].major, since[i].minor);
                return true;
        }
        return false;
}

/* Reading needs no node; using the GPU does, and a closed node is a common reason for no load. */
static bool node_is_closed(const struct doctor *d, const struct drm_gpu *gpu, struct result *ret)
{
        char path[4096];
        snprintf(path, sizeof(path), "%s/dev/dri/%s", d->source.root, gpu->render);
        if (access(path, F_OK) != 0 || access(path, R_OK | W_OK) == 0)
                return false;
        result_set(ret, OUTCOME_WARN,
                   "%s: you may read its values, but not use it: /dev/dri/%s is closed to you",
                   gpu->pci, gpu->render);
        result_remedy(ret, "join the groups that own the node: 'sudo usermod -aG render,video "
                           "$USER', then log in again");
        return true;
}

struct entity doctor_drm_entity(const struct doctor *d, size_t i)
{
        const struct drm_gpu *gpu = &d->drm[i];
        struct entity e = {.kind = ENTITY_GPU,
                           .vendor = gpu->brand,
                           .ordinal = gpu->ordinal,
                           .ordinals = gpu->ordinals,
                           .index = (int32_t)i,
                           .gi = -1,
                           .ci = -1,
                           .flat = -1};
        entity_set_text(&e, ENTITY_TEXT_UUID, gpu->uuid, strlen(gpu->uuid));
        entity_set_text(&e, ENTITY_TEXT_PCI, gpu->pci, strlen(gpu->pci));
        return e;
}

static bool same_model(const struct drm_gpu *a, const struct drm_gpu *b)
{
        return strcmp(a->model, b->model) == 0 && strcmp(a->driver, b->driver) == 0;
}

/* "8 x AMD Instinct MI300X (amdgpu), Intel Arc A770 (xe)" */
static void list_models(const struct drm_gpu *gpus, size_t n, struct strbuf *out)
{
        for (size_t i = 0; i < n; i++) {
                size_t before = 0, alike = 1;
                while (!same_model(&gpus[before], &gpus[i]))
                        before++;
                if (before < i)
                        continue; /* counted with the first of its kind */
                for (size_t k = i + 1; k < n; k++)
                        alike += same_model(&gpus[k], &gpus[i]);
                strbuf_puts(out, i > 0 ? ", " : "");
                if (alike > 1)
                        strbuf_putf(out, "%zu x ", alike);
                strbuf_putf(out, "%.60s (%s)", gpus[i].model, gpus[i].driver);
        }
}

void check_drm(const struct doctor *d, struct result *ret)
{
        struct strbuf list = {0};
        size_t n = d->n_drm, asleep = 0;
        bool reported = false;
        if (n == 0)
                no_gpu(&d->drm_passed, ret);
        list_models(d->drm, n, &list);
        for (size_t i = 0; i < n; i++) {
                asleep += drm_is_suspended(&d->drm[i]) == 1;
                reported =
                    reported || node_is_closed(d, &d->drm[i], ret) || too_old(d, &d->drm[i], ret);
        }
        if (asleep > 0)
                strbuf_putf(&list, "; %zu of %zu asleep", asleep, n);
        if (n > 0 && !reported)
                result_set(ret, OUTCOME_OK, "%s: read through the kernel%s", strbuf_str(&list),
                           doctor_no_nvidia(d) ? "" : ", beside NVIDIA's");
        strbuf_finish(&list);
}
