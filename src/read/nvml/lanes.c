/* How each lane is read: one function a lane, listed in a table at the end. */
#include "read/nvml/device.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/sysfiles.h"

#include <stdio.h>

static void lane_put(struct nvml_device *d, size_t row, enum nvml_field field, int rc, double v)
{
        enum state state = nvml_state(rc);
        d->row[row].value[field] =
            (struct nvml_value){.v = state == STATE_OK ? v : 0, .state = (uint8_t)state};
        if (nvml_is_lost(rc))
                d->lost = true;
}

static void put_u32(struct nvml_device *d, enum nvml_field field, int(*call) NVML_ARGS_U32)
{
        unsigned v = 0;
        if (!d->env->wanted[field])
                return;
        int rc = call ? call(d->handle, &v) : NVML_FUNCTION_NOT_FOUND;
        lane_put(d, 0, field, rc, v);
}

static void put_kind(struct nvml_device *d, enum nvml_field field, int(*call) NVML_ARGS_ARG_U32,
                     int kind)
{
        unsigned v = 0;
        if (!d->env->wanted[field])
                return;
        int rc = call ? call(d->handle, kind, &v) : NVML_FUNCTION_NOT_FOUND;
        lane_put(d, 0, field, rc, v);
}

static void put_percent(struct nvml_device *d, enum nvml_field field, int rc, unsigned v)
{
        lane_put(d, 0, field, rc == 0 && v > 100 ? NVML_NO_DATA : rc, v);
}

static void read_gpm(struct nvml_device *d, size_t i)
{
        const struct nvml_env *env = d->env;
        struct nvml_row *row = &d->row[i];
        int rc = nvml_gpm_read(&d->origin[i].gpm, &d->gpm, d->handle, row->gi, env->mono_ns(),
                               env->boot_ns(), row);
        if (nvml_is_lost(rc))
                d->lost = true;
        if (i > 0 && (rc == NVML_NOT_FOUND || rc == NVML_INVALID_ARGUMENT))
                d->topology_ns = 0; /* the instance is gone: check again soon */
}

static void read_utilization(struct nvml_device *d, size_t i UNUSED)
{
        struct nvml_utilization u = {0};
        int rc = NVML_CALL(&d->env->lib, utilization, d->handle, &u);
        put_percent(d, NVML_FIELD_UTIL_GPU, rc, u.gpu);
        put_percent(d, NVML_FIELD_UTIL_MEMORY, rc, u.memory);
}

/* GPUs without memory of their own, such as GB10, say NOT_SUPPORTED: theirs is the system's. */
static void read_shared_memory(struct nvml_device *d)
{
        char path[512], text[4096];
        struct meminfo m = {0};
        snprintf(path, sizeof(path), "%s/proc/meminfo", d->env->root);
        FILE *f = fopen(path, "re");
        size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
        int rc = sysfiles_meminfo(text, n, &m) == 0 ? 0 : NVML_NO_DATA;
        if (f)
                fclose(f);
        lane_put(d, 0, NVML_FIELD_SHARED_USED, rc, (double)(m.total - MIN(m.available, m.total)));
        lane_put(d, 0, NVML_FIELD_SHARED_TOTAL, rc, (double)m.total);
}

/* The older call counts what the driver holds as used, and has no number for it. */
static void read_memory(struct nvml_device *d, size_t i)
{
        const struct nvml_lib *lib = &d->env->lib;
        struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
        int rc = NVML_CALL(lib, memory_v2, d->origin[i].handle, &m), reserved_rc = rc;
        if (rc != 0 && !nvml_is_lost(rc)) {
                struct nvml_memory old = {0};
                rc = NVML_CALL(lib, memory, d->origin[i].handle, &old);
                m.total = old.total;
                m.free = old.free;
                m.used = old.used;
        }
        if (i == 0 && rc == NVML_NOT_SUPPORTED)
                read_shared_memory(d);
        lane_put(d, i, NVML_FIELD_MEMORY_USED, rc, (double)m.used);
        lane_put(d, i, NVML_FIELD_MEMORY_FREE, rc, (double)m.free);
        lane_put(d, i, NVML_FIELD_MEMORY_TOTAL, rc, (double)m.total);
        lane_put(d, i, NVML_FIELD_MEMORY_RESERVED, reserved_rc, (double)m.reserved);
}

static void read_power(struct nvml_device *d, size_t i UNUSED)
{
        put_u32(d, NVML_FIELD_POWER, d->env->lib.power);
}

static void read_clocks(struct nvml_device *d, size_t i UNUSED)
{
        put_kind(d, NVML_FIELD_CLOCK_SM, d->env->lib.clock, NVML_CLOCK_SM);
        put_kind(d, NVML_FIELD_CLOCK_MEMORY, d->env->lib.clock, NVML_CLOCK_MEM);
}

static void read_reasons(struct nvml_device *d, size_t i UNUSED)
{
        uint64_t v = 0;
        int rc = NVML_CALL(&d->env->lib, clock_reasons, d->handle, &v);
        lane_put(d, 0, NVML_FIELD_CLOCK_REASONS, rc, (double)v);
}

static void read_temperature(struct nvml_device *d, size_t i UNUSED)
{
        put_kind(d, NVML_FIELD_TEMP_GPU, d->env->lib.temperature, NVML_TEMPERATURE_GPU);
}

static void read_replay(struct nvml_device *d, size_t i UNUSED)
{
        put_u32(d, NVML_FIELD_PCIE_REPLAY, d->env->lib.pcie_replay);
}

/* Lost is known at the end of a tick, so it is written there. */
static void read_events(struct nvml_device *d, size_t i UNUSED)
{
        struct nvml_row *row = &d->row[0];
        enum state state = d->xids ? (enum state)atomic_load(&d->xids->state) : STATE_UNSUPPORTED;
        if (d->xids)
                nvml_xids_take(d->xids);
        uint32_t count = d->xids ? d->xids->count : 0, last = d->xids ? d->xids->last : 0;
        row->value[NVML_FIELD_XID_COUNT] = (struct nvml_value){.v = count, .state = (uint8_t)state};
        if (state == STATE_OK && count == 0)
                state = STATE_BLANK;
        row->value[NVML_FIELD_XID_LAST] = (struct nvml_value){.v = last, .state = (uint8_t)state};
}

static void put_codec(struct nvml_device *d, enum nvml_field field, int(*call) NVML_ARGS_U32_U32)
{
        unsigned v = 0, period;
        if (!d->env->wanted[field])
                return;
        int rc = call ? call(d->handle, &v, &period) : NVML_FUNCTION_NOT_FOUND;
        put_percent(d, field, rc, v);
}

static void read_codecs(struct nvml_device *d, size_t i UNUSED)
{
        const struct nvml_lib *lib = &d->env->lib;
        put_codec(d, NVML_FIELD_UTIL_ENCODER, lib->encoder);
        put_codec(d, NVML_FIELD_UTIL_DECODER, lib->decoder);
        put_codec(d, NVML_FIELD_UTIL_JPEG, lib->jpeg);
        put_codec(d, NVML_FIELD_UTIL_OFA, lib->ofa);
}

static void read_memory_temperature(struct nvml_device *d, size_t i UNUSED)
{
        struct nvml_field_value v = {.id = NVML_FI_MEMORY_TEMP};
        int rc = NVML_CALL(&d->env->lib, field_values, d->handle, 1, &v);
        lane_put(d, 0, NVML_FIELD_TEMP_MEMORY, rc ? rc : v.rc, nvml_field_number(&v));
}

static void read_energy(struct nvml_device *d, size_t i UNUSED)
{
        uint64_t v = 0;
        int rc = NVML_CALL(&d->env->lib, energy, d->handle, &v);
        lane_put(d, 0, NVML_FIELD_ENERGY, rc, (double)v);
}

static void read_link(struct nvml_device *d, size_t i UNUSED)
{
        put_u32(d, NVML_FIELD_PCIE_GEN, d->env->lib.pcie_gen);
        put_u32(d, NVML_FIELD_PCIE_WIDTH, d->env->lib.pcie_width);
}

static void read_processes(struct nvml_device *d, size_t i)
{
        int rc = nvml_process_read(&d->processes, &d->env->lib, d->origin[i].handle,
                                   i == 0 && d->counts_processes_closely);
        lane_put(d, i, NVML_FIELD_PROCESSES, rc, (double)d->processes.n);
}

/* Blocks 20 ms a direction, so only where GPM does not report. */
static void read_pcie(struct nvml_device *d, size_t i UNUSED)
{
        if (d->row[0].value[NVML_FIELD_GPM_PCIE_RX].state == STATE_OK ||
            (d->has_gpm && d->row[0].value[NVML_FIELD_GPM_PCIE_RX].state == STATE_BLANK)) {
                nvml_row_blank(&d->row[0], NVML_LANE_PCIE, STATE_NONE);
                return;
        }
        put_kind(d, NVML_FIELD_PCIE_RX, d->env->lib.pcie_throughput, NVML_PCIE_RX);
        put_kind(d, NVML_FIELD_PCIE_TX, d->env->lib.pcie_throughput, NVML_PCIE_TX);
}

/* KiB since some moment become KiB a second. */
static void put_rate(struct nvml_device *d, enum nvml_field field, struct nvml_counter *before,
                     uint32_t id)
{
        struct nvml_field_value v = {.id = id, .scope = UINT32_MAX};
        int rc = NVML_CALL(&d->env->lib, field_values, d->handle, 1, &v);
        int64_t now_ns = d->env->mono_ns();
        double now = nvml_field_number(&v);
        if (rc == 0)
                rc = v.rc;
        struct value rate = value_rate(
            value_ok(now), before->ns > 0 ? value_ok(before->v) : value_missing(STATE_BLANK),
            clock_to_seconds(now_ns - before->ns));
        lane_put(d, 0, field, rc, rate.v);
        if (rc == 0)
                d->row[0].value[field].state = rate.state;
        *before = rc == 0 ? (struct nvml_counter){now, now_ns} : (struct nvml_counter){0};
}

static void read_nvlink(struct nvml_device *d, size_t i UNUSED)
{
        if (d->has_gpm) {
                nvml_row_blank(&d->row[0], NVML_LANE_NVLINK, STATE_NONE);
                return;
        }
        put_rate(d, NVML_FIELD_NVLINK_RX, &d->origin[0].nvlink_rx, NVML_FI_NVLINK_RX);
        put_rate(d, NVML_FIELD_NVLINK_TX, &d->origin[0].nvlink_tx, NVML_FI_NVLINK_TX);
}

static void read_power_limit(struct nvml_device *d, size_t i UNUSED)
{
        unsigned pstate = NVML_PSTATE_UNKNOWN;
        put_u32(d, NVML_FIELD_POWER_LIMIT, d->env->lib.power_limit);
        put_u32(d, NVML_FIELD_FAN_SPEED, d->env->lib.fan_speed);
        int rc = NVML_CALL(&d->env->lib, pstate, d->handle, &pstate);
        lane_put(d, 0, NVML_FIELD_PSTATE,
                 rc == 0 && pstate >= NVML_PSTATE_UNKNOWN ? NVML_NOT_SUPPORTED : rc, pstate);
}

/* All with one call. */
static void read_violations(struct nvml_device *d, size_t i UNUSED)
{
        static const struct {
                enum nvml_field field;
                uint32_t id;
        } kinds[] = {
            {NVML_FIELD_VIOLATION_POWER, NVML_FI_VIOLATION_POWER},
            {NVML_FIELD_VIOLATION_THERMAL, NVML_FI_VIOLATION_THERMAL},
            {NVML_FIELD_VIOLATION_SYNC, NVML_FI_VIOLATION_SYNC},
            {NVML_FIELD_VIOLATION_BOARD, NVML_FI_VIOLATION_BOARD},
            {NVML_FIELD_VIOLATION_LOW_UTIL, NVML_FI_VIOLATION_LOW_UTIL},
            {NVML_FIELD_VIOLATION_RELIABILITY, NVML_FI_VIOLATION_RELIABILITY},
            {NVML_FIELD_VIOLATION_APP_CLOCKS, NVML_FI_VIOLATION_APP_CLOCKS},
            {NVML_FIELD_VIOLATION_BASE_CLOCKS, NVML_FI_VIOLATION_BASE_CLOCKS},
        };
        struct nvml_field_value v[ARRAY_LEN(kinds)] = {0};
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                v[k].id = kinds[k].id;
        int rc = NVML_CALL(&d->env->lib, field_values, d->handle, (int)ARRAY_LEN(kinds), v);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                lane_put(d, 0, kinds[k].field, rc ? rc : v[k].rc, nvml_field_number(&v[k]));
}

static void read_bar1(struct nvml_device *d, size_t i UNUSED)
{
        struct nvml_bar1 m = {0};
        int rc = NVML_CALL(&d->env->lib, bar1, d->handle, &m);
        lane_put(d, 0, NVML_FIELD_BAR1_USED, rc, (double)m.used);
}

static void put_ecc(struct nvml_device *d, int since, enum nvml_field corrected,
                    enum nvml_field uncorrected)
{
        const enum nvml_field fields[] = {
            [NVML_ECC_CORRECTED] = corrected,
            [NVML_ECC_UNCORRECTED] = uncorrected,
        };
        for (int kind = 0; kind < (int)ARRAY_LEN(fields); kind++) {
                uint64_t v = 0;
                int rc = NVML_CALL(&d->env->lib, ecc_errors, d->handle, kind, since, &v);
                lane_put(d, 0, fields[kind], rc, (double)v);
        }
}

static void read_ecc(struct nvml_device *d, size_t i UNUSED)
{
        put_ecc(d, NVML_ECC_VOLATILE, NVML_FIELD_ECC_CORRECTED, NVML_FIELD_ECC_UNCORRECTED);
}

static void read_remapped(struct nvml_device *d, size_t i UNUSED)
{
        unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
        int rc = NVML_CALL(&d->env->lib, remapped_rows, d->handle, &corrected, &uncorrected,
                           &pending, &failed);
        lane_put(d, 0, NVML_FIELD_REMAPPED_CORRECTABLE, rc, corrected);
        lane_put(d, 0, NVML_FIELD_REMAPPED_UNCORRECTABLE, rc, uncorrected);
        lane_put(d, 0, NVML_FIELD_REMAP_PENDING, rc, pending);
        lane_put(d, 0, NVML_FIELD_REMAP_FAILURE, rc, failed);
}

/* Only the count is asked for: without room for addresses, too little room is the answer. */
static void read_retired(struct nvml_device *d, size_t i UNUSED)
{
        unsigned n = 0;
        int rc = NVML_CALL(&d->env->lib, retired_pages, d->handle, NVML_RETIRED_DBE, &n, NULL);
        lane_put(d, 0, NVML_FIELD_RETIRED_DBE, rc == NVML_INSUFFICIENT_SIZE ? 0 : rc, n);
        put_u32(d, NVML_FIELD_RETIRED_PENDING, d->env->lib.retired_pending);
        put_ecc(d, NVML_ECC_AGGREGATE, NVML_FIELD_ECC_CORRECTED_LIFE,
                NVML_FIELD_ECC_UNCORRECTED_LIFE);
}

static void read_limits(struct nvml_device *d, size_t i UNUSED)
{
        const struct nvml_lib *lib = &d->env->lib;
        put_kind(d, NVML_FIELD_TEMP_SLOWDOWN, lib->threshold, NVML_THRESHOLD_SLOWDOWN);
        put_kind(d, NVML_FIELD_TEMP_SHUTDOWN, lib->threshold, NVML_THRESHOLD_SHUTDOWN);
        put_kind(d, NVML_FIELD_TEMP_GPU_MAX, lib->threshold, NVML_THRESHOLD_GPU_MAX);
        put_kind(d, NVML_FIELD_CLOCK_SM_MAX, lib->clock_max, NVML_CLOCK_SM);
        put_kind(d, NVML_FIELD_CLOCK_MEMORY_MAX, lib->clock_max, NVML_CLOCK_MEM);
        put_u32(d, NVML_FIELD_PCIE_GEN_MAX, lib->pcie_gen_max);
        put_u32(d, NVML_FIELD_PCIE_WIDTH_MAX, lib->pcie_width_max);
}

static const struct {
        void (*read)(struct nvml_device *d, size_t row);
        bool slices; /* MIG instances have it too */
} lanes[NVML_LANE_COUNT] = {
    [NVML_LANE_GPM] = {read_gpm, true},
    [NVML_LANE_UTILIZATION] = {read_utilization, false},
    [NVML_LANE_MEMORY] = {read_memory, true},
    [NVML_LANE_POWER] = {read_power, false},
    [NVML_LANE_CLOCKS] = {read_clocks, false},
    [NVML_LANE_REASONS] = {read_reasons, false},
    [NVML_LANE_TEMPERATURE] = {read_temperature, false},
    [NVML_LANE_REPLAY] = {read_replay, false},
    [NVML_LANE_EVENTS] = {read_events, false},
    [NVML_LANE_CODECS] = {read_codecs, false},
    [NVML_LANE_MEMORY_TEMPERATURE] = {read_memory_temperature, false},
    [NVML_LANE_ENERGY] = {read_energy, false},
    [NVML_LANE_LINK] = {read_link, false},
    [NVML_LANE_PROCESSES] = {read_processes, true},
    [NVML_LANE_PCIE] = {read_pcie, false},
    [NVML_LANE_NVLINK] = {read_nvlink, false},
    [NVML_LANE_POWER_LIMIT] = {read_power_limit, false},
    [NVML_LANE_BAR1] = {read_bar1, false},
    [NVML_LANE_ECC] = {read_ecc, false},
    [NVML_LANE_REMAPPED] = {read_remapped, false},
    [NVML_LANE_VIOLATIONS] = {read_violations, false},
    [NVML_LANE_RETIRED] = {read_retired, false},
    [NVML_LANE_LIMITS] = {read_limits, false},
};

void nvml_lane_read(struct nvml_device *d, size_t row, enum nvml_lane lane)
{
        if (row == 0 || lanes[lane].slices)
                lanes[lane].read(d, row);
        d->row[row].read_ns[lane] = d->env->mono_ns();
}
