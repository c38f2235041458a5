/*
 * MIG: the slices of a GPU. A GPU instance has memory and GPM samples of its own; where it is split
 * into several compute instances, each of those is an entity too.
 */
#include "read/nvml/device.h"

#include "base/attr.h"

#include <string.h>

struct slice {
        nvml_device handle;
        int32_t gi, ci;
};

static size_t find_slices(const struct nvml_device *d, struct slice ret[NVML_ROWS_MAX])
{
        const struct nvml_lib *lib = &d->env->lib;
        unsigned mode = 0, pending, max = 0, gi, ci;
        size_t n = 0;
        if (NVML_CALL(lib, mig_mode, d->handle, &mode, &pending) != 0 || mode == 0 ||
            NVML_CALL(lib, mig_count_max, d->handle, &max) != 0)
                return 0;
        for (unsigned i = 0; i < max && n < NVML_ROWS_MAX; i++) {
                nvml_device mig;
                if (NVML_CALL(lib, mig_by_index, d->handle, i, &mig) != 0 ||
                    NVML_CALL(lib, gpu_instance, mig, &gi) != 0)
                        continue;
                if (NVML_CALL(lib, compute_instance, mig, &ci) != 0)
                        ci = 0;
                ret[n++] = (struct slice){mig, (int32_t)gi, (int32_t)ci};
        }
        return n;
}

static size_t slices_in(const struct slice *slices, size_t n, int32_t gi)
{
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
                count += slices[i].gi == gi;
        return count;
}

static bool is_first_of_instance(const struct slice *slices, size_t i)
{
        return slices_in(slices, i, slices[i].gi) == 0;
}

static void mig_add_row(struct nvml_device *d, enum entity_kind kind, const struct slice *s)
{
        if (d->n == NVML_ROWS_MAX)
                return;
        size_t i = d->n++;
        struct nvml_row *row = &d->row[i];
        *row = (struct nvml_row){.kind = kind, .index = (int32_t)d->index, .gi = s->gi, .ci = -1};
        if (kind == ENTITY_COMPUTE_INSTANCE)
                row->ci = s->ci;
        for (size_t f = 0; f < NVML_FIELD_COUNT; f++)
                row->value[f].state = STATE_UNSUPPORTED; /* what only the whole GPU has */
        d->origin[i] = (struct nvml_origin){.handle = s->handle};
        nvml_identify(d, i);
        if (kind == ENTITY_GPU_INSTANCE && (d->env->lanes & 1u << NVML_LANE_GPM) &&
            d->env->lib.gpm_mig_sample)
                nvml_gpm_open(&d->origin[i].gpm, &d->env->lib);
}

static void drop_rows(struct nvml_device *d)
{
        for (size_t i = 1; i < d->n; i++)
                nvml_gpm_close(&d->origin[i].gpm, &d->env->lib);
        d->n = MIN(d->n, (size_t)1);
}

void nvml_mig_list(struct nvml_device *d)
{
        struct slice slices[NVML_ROWS_MAX];
        drop_rows(d);
        size_t n = find_slices(d, slices);
        for (size_t i = 0; i < n; i++) {
                if (is_first_of_instance(slices, i))
                        mig_add_row(d, ENTITY_GPU_INSTANCE, &slices[i]);
                if (slices_in(slices, n, slices[i].gi) > 1)
                        mig_add_row(d, ENTITY_COMPUTE_INSTANCE, &slices[i]);
        }
}

/* Instances keep their numbers when others take their place, so the UUIDs are compared too. */
static bool same_slice(const struct nvml_device *d, const struct slice *s)
{
        char uuid[NVML_TEXT_MAX] = "";
        NVML_CALL(&d->env->lib, uuid, s->handle, uuid, sizeof(uuid));
        for (size_t i = 1; i < d->n; i++) {
                const struct nvml_row *row = &d->row[i];
                if (row->gi == s->gi &&
                    strncmp(row->text[NVML_TEXT_UUID], uuid, ENTITY_TEXT_MAX - 1) == 0)
                        return true;
        }
        return false;
}

bool nvml_mig_changed(struct nvml_device *d)
{
        struct slice slices[NVML_ROWS_MAX];
        size_t n = find_slices(d, slices), rows = 0;
        for (size_t i = 0; i < n; i++) {
                if (!same_slice(d, &slices[i]))
                        return true;
                rows += is_first_of_instance(slices, i);
                rows += slices_in(slices, n, slices[i].gi) > 1;
        }
        return rows != d->n - 1 && rows < NVML_ROWS_MAX - 1;
}
