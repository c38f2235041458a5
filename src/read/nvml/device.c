#include "read/nvml/device.h"

#include "base/attr.h"
#include "base/clock.h"

#include <string.h>

#define TOPOLOGY_NS (2 * NS_PER_S)
#define RETRY_FIRST_NS NS_PER_S
#define RETRY_LONGEST_NS (10 * NS_PER_S)

void nvml_env_init(struct nvml_env *env,
                   bool (*wanted)(enum dialect dialect, const char *field, size_t len),
                   int64_t poll_ns)
{
        env->poll_ns = poll_ns;
        env->lanes = 1u << NVML_LANE_EVENTS; /* whether a GPU is lost is always known */
        for (size_t i = 0; i < NVML_FIELD_COUNT; i++) {
                const char *name = nvml_field_name(i);
                env->wanted[i] = !wanted || wanted(DIALECT_NVML, name, strlen(name));
                if (env->wanted[i])
                        env->lanes |= 1u << nvml_field_lane(i);
        }
}

static bool is_wanted(const struct nvml_device *d, enum nvml_lane lane)
{
        return d->env->lanes & 1u << lane;
}

/* The number of a GPU may change when others come or go; its UUID does not. */
static int find_handle(struct nvml_device *d)
{
        const struct nvml_lib *lib = &d->env->lib;
        const char *uuid = d->row[0].text[NVML_TEXT_UUID];
        if (uuid[0] && NVML_CALL(lib, handle_by_uuid, uuid, &d->handle) == 0)
                return 0;
        int rc = NVML_CALL(lib, handle_by_index, d->index, &d->handle);
        char now[NVML_TEXT_MAX] = "";
        if (rc == 0 && uuid[0] && NVML_CALL(lib, uuid, d->handle, now, sizeof(now)) == 0 &&
            strncmp(uuid, now, ENTITY_TEXT_MAX - 1) != 0)
                return NVML_GPU_NOT_FOUND;
        return rc;
}

static void open_gpm(struct nvml_device *d)
{
        const struct nvml_lib *lib = &d->env->lib;
        struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
        nvml_gpm_close(&d->origin[0].gpm, lib);
        nvml_gpm_plan(&d->gpm, lib, d->env->wanted, d->env->poll_ns, d->env->driver);
        d->has_gpm = is_wanted(d, NVML_LANE_GPM) &&
                     NVML_CALL(lib, gpm_support, d->handle, &support) == 0 && support.supported &&
                     nvml_gpm_open(&d->origin[0].gpm, lib) == 0;
}

static void read_fast(struct nvml_device *d, enum nvml_lane first)
{
        for (size_t i = 0; i < d->n && !d->lost; i++) {
                for (enum nvml_lane l = first; l < NVML_LANE_COUNT && !d->lost; l++) {
                        if (nvml_lane_cadence_ns(l) == 0 && is_wanted(d, l))
                                nvml_lane_read(d, i, l);
                }
        }
}

static void seed_gpm(struct nvml_device *d)
{
        for (size_t i = 0; i < d->n && !d->lost && is_wanted(d, NVML_LANE_GPM); i++)
                nvml_lane_read(d, i, NVML_LANE_GPM);
}

int nvml_device_attach(struct nvml_device *d, const struct nvml_env *env, uint32_t index)
{
        struct nvml_row *row = &d->row[0];
        d->env = env;
        d->index = index;
        d->n = MAX(d->n, (size_t)1);
        row->kind = ENTITY_GPU;
        row->index = (int32_t)index;
        row->gi = row->ci = -1;
        int rc = find_handle(d);
        if (rc != 0)
                return rc;
        memset(row->value, 0, sizeof(row->value));
        memset(row->read_ns, 0, sizeof(row->read_ns));
        d->origin[0].handle = d->handle;
        d->lost = false;
        nvml_identify(d, 0);
        open_gpm(d);
        nvml_mig_list(d);
        d->topology_ns = env->mono_ns();
        seed_gpm(d);
        if (d->lost)
                return NVML_GPU_IS_LOST;
        d->attached = true;
        return 0;
}

void nvml_device_detach(struct nvml_device *d)
{
        for (size_t i = 0; i < d->n; i++)
                nvml_gpm_close(&d->origin[i].gpm, &d->env->lib);
        d->attached = false;
}

void nvml_device_finish(struct nvml_device *d)
{
        nvml_device_detach(d);
        nvml_process_finish(&d->processes);
}

/* Values of a GPU that is gone are dropped; its identity is kept. */
static void mark_lost(struct nvml_device *d)
{
        for (size_t i = 0; i < d->n; i++) {
                for (size_t f = 0; f < NVML_FIELD_COUNT; f++)
                        d->row[i].value[f] = (struct nvml_value){.state = STATE_ERROR};
                nvml_gpm_reseed(&d->origin[i].gpm);
                memset(d->row[i].read_ns, 0, sizeof(d->row[i].read_ns));
        }
        nvml_lane_read(d, 0, NVML_LANE_EVENTS);
}

/*
 * A GPU that was reset, or seated again, answers under a new handle. While any program has the GPU
 * open the driver can neither be unloaded nor the GPU reset by hand, so starting NVML again, which
 * would disturb the other GPUs, brings nothing back.
 */
static void try_again(struct nvml_device *d)
{
        int64_t now = d->env->mono_ns();
        if (now < d->retry_ns)
                return;
        if (nvml_device_attach(d, d->env, d->index) == 0) {
                d->retries = 0;
                return;
        }
        d->lost = true;
        d->retries = MIN(d->retries + 1, 16u);
        d->retry_ns = now + MIN(RETRY_FIRST_NS << MIN(d->retries, 8u), RETRY_LONGEST_NS);
}

static void read_topology(struct nvml_device *d)
{
        int64_t now = d->env->mono_ns();
        if (now - d->topology_ns < TOPOLOGY_NS)
                return;
        d->topology_ns = now;
        if (!nvml_mig_changed(d))
                return;
        nvml_mig_list(d);
        nvml_gpm_reseed(&d->origin[0].gpm);
        seed_gpm(d);
}

static void put_lost(struct nvml_device *d)
{
        for (size_t i = 0; i < d->n; i++)
                d->row[i].value[NVML_FIELD_LOST] =
                    (struct nvml_value){.v = d->lost, .state = STATE_OK};
}

void nvml_device_preview(struct nvml_device *d)
{
        _Static_assert(NVML_LANE_GPM == 0, "the counters are the first lane");
        read_fast(d, NVML_LANE_GPM + 1);
        if (!d->lost && is_wanted(d, NVML_LANE_POWER_LIMIT))
                nvml_lane_read(d, 0, NVML_LANE_POWER_LIMIT);
        put_lost(d);
}

void nvml_device_tick(struct nvml_device *d)
{
        bool was_lost = d->lost || !d->attached;
        if (was_lost)
                try_again(d);
        if (!d->lost && d->attached)
                read_fast(d, 0);
        if (d->lost) {
                if (!was_lost)
                        d->retry_ns = d->env->mono_ns() + RETRY_FIRST_NS;
                mark_lost(d);
        }
        put_lost(d);
}

/* A moment early is on time: beats jitter, and a lane of the poll's own length must not miss one.
 * It is less than a beat, or a lane would come a beat early each time. */
static bool is_due(const struct nvml_device *d, const struct nvml_row *row, enum nvml_lane lane,
                   int64_t now)
{
        int64_t cadence = nvml_lane_cadence_ns(lane);
        int64_t early = MIN(cadence / 10, d->env->poll_ns / 2);
        return row->read_ns[lane] == 0 || now - row->read_ns[lane] >= cadence - early;
}

bool nvml_device_slow(struct nvml_device *d)
{
        int64_t now = d->env->mono_ns();
        for (size_t i = 0; i < d->n && d->attached && !d->lost; i++) {
                for (enum nvml_lane l = 0; l < NVML_LANE_COUNT; l++) {
                        if (nvml_lane_cadence_ns(l) == 0 || !is_wanted(d, l) ||
                            !is_due(d, &d->row[i], l, now))
                                continue;
                        nvml_lane_read(d, i, l);
                        return true;
                }
        }
        if (!d->lost && d->attached)
                read_topology(d);
        return false;
}

int64_t nvml_device_ready_ns(const struct nvml_device *d)
{
        int64_t latest = 0;
        for (size_t i = 0; i < d->n && !d->lost; i++) {
                const struct nvml_gpm *g = &d->origin[i].gpm;
                if (g->seeded)
                        latest = MAX(latest, g->from_ns + NVML_GPM_APART_NS);
        }
        return latest;
}

int64_t nvml_device_window_ns(const struct nvml_device *d)
{
        for (size_t i = 0; i < d->n; i++) {
                if (d->origin[i].gpm.window_ns > 0)
                        return d->origin[i].gpm.window_ns;
        }
        return 0;
}
