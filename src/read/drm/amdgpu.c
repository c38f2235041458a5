/* amdgpu: its files beside the device, the firmware's table, RAS. */
#include "base/attr.h"
#include "read/drm/dpm.h"
#include "read/drm/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* VCN's number among the parts. From its version 4 on, "enc" encodes and decodes (amdgpu_drm.h). */
#define VIDEO_PART 12

/* indep_throttle_status: the hotspot is too hot. */
#define HOTSPOT_BIT ((uint64_t)1 << 36)
#define HOTSPOT_MARGIN 10000 /* thousandths of a degree below its limit */

void drm_set_partition(struct drm_gpu *gpu, const char *compute, const char *memory)
{
        snprintf(gpu->partition, sizeof(gpu->partition), "%.16s%s%.16s", compute,
                 compute[0] && memory[0] ? "/" : "", memory);
}

/* The driver keeps its list of the hardware's parts: to read it wakes nothing. */
static bool has_one_video(const struct drm_gpu *gpu)
{
        char name[48];
        for (unsigned die = 0; die < 8; die++) {
                snprintf(name, sizeof(name), "ip_discovery/die/%u/%u/0/major", die, VIDEO_PART);
                struct raw major = drm_read_number(gpu->dir, name);
                if (major.state == STATE_OK)
                        return major.num >= 4;
        }
        return false;
}

void drm_identify_amdgpu(struct drm_gpu *gpu)
{
        char id[32];
        gpu->one_video = has_one_video(gpu);
        ssize_t n = drm_read_text(gpu->dir, "unique_id", id, sizeof(id));
        if (n > 0 && strcmp(id, "0") != 0)
                snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%s", id);
        if (drm_read_text(gpu->dir, "product_name", gpu->model, sizeof(gpu->model)) < 0)
                gpu->model[0] = '\0';
        if (drm_read_text(gpu->dir, "serial_number", gpu->serial, sizeof(gpu->serial)) < 0)
                gpu->serial[0] = '\0';
}

void drm_read_partition(struct drm_gpu *gpu)
{
        char compute[16], memory[16];
        if (drm_read_text(gpu->dir, "current_compute_partition", compute, sizeof(compute)) < 0)
                compute[0] = '\0';
        if (drm_read_text(gpu->dir, "current_memory_partition", memory, sizeof(memory)) < 0)
                memory[0] = '\0';
        if (compute[0] || memory[0])
                drm_set_partition(gpu, compute, memory);
}

static void read_dpm(const struct drm_gpu *gpu, const char *name, struct raw *ret_now,
                     struct raw *ret_max)
{
        char text[DRM_TEXT_MAX];
        struct dpm d;
        ssize_t n = drm_read_text(gpu->dir, name, text, sizeof(text));
        if (n < 0 || !dpm_parse(text, (size_t)n, &d)) {
                *ret_now = *ret_max = drm_missing(n < 0 ? drm_state_of((int)n) : STATE_ERROR);
                return;
        }
        *ret_max = drm_raw(d.max_mhz);
        *ret_now = d.has_now ? drm_raw(d.now_mhz) : drm_missing(STATE_BLANK);
}

/* Bits of throttle_status of the data-centre GPUs, the only ones with tables 1.4 to 1.6. */
static unsigned old_throttle(uint64_t status)
{
        return (status & 0x1 ? DRM_THROTTLE_PROCHOT : 0) | (status & 0x2 ? DRM_THROTTLE_POWER : 0) |
               (status & 0x1c ? DRM_THROTTLE_THERMAL : 0);
}

/* indep_throttle_status: sixteen bits each for power, current, temperature and the rest. */
static unsigned throttle_groups(uint64_t status)
{
        const uint64_t prochot = (uint64_t)3 << 46, group = 0xffff;
        return (status & group ? DRM_THROTTLE_POWER : 0) |
               (status & group << 16 ? DRM_THROTTLE_CURRENT : 0) |
               (status & ~prochot & group << 32 ? DRM_THROTTLE_THERMAL : 0) |
               (status & prochot ? DRM_THROTTLE_PROCHOT : 0) |
               (status & group << 48 ? DRM_THROTTLE_OTHER : 0);
}

/* Newer tables count how long each throttler was at work: one that grew was at work since then. */
static bool residency_throttle(struct drm_gpu *gpu, int64_t mono_ns, unsigned *ret)
{
        static const struct {
                enum gm_field field;
                unsigned bit;
        } counters[DRM_RESIDENCY_COUNT] = {
            {GM_PROCHOT_ACC, DRM_THROTTLE_PROCHOT},    {GM_PPT_ACC, DRM_THROTTLE_POWER},
            {GM_SOCKET_THM_ACC, DRM_THROTTLE_THERMAL}, {GM_VR_THM_ACC, DRM_THROTTLE_THERMAL},
            {GM_HBM_THM_ACC, DRM_THROTTLE_THERMAL},    {GM_BELOW_BY_POWER, DRM_THROTTLE_POWER},
            {GM_BELOW_BY_HEAT, DRM_THROTTLE_THERMAL},
        };
        bool known = false;
        uint64_t v, all;
        bool counted = gm_get(&gpu->table, GM_ACCUMULATIONS, &all);
        *ret = 0;
        for (size_t i = 0; i < DRM_RESIDENCY_COUNT; i++) {
                /* Some firmware copies the count of all cycles, also when it is idle. */
                if (!gm_sum(&gpu->table, counters[i].field, &v) || (counted && v > 0 && v == all))
                        continue;
                struct raw rate = drm_rate(&gpu->residency[i], (double)v, mono_ns);
                known |= rate.state == STATE_OK;
                *ret |= rate.state == STATE_OK && rate.num > 0 ? counters[i].bit : 0;
        }
        return known;
}

/* RDNA 3 says at all times that its hotspot is too hot: believed only near the limit. */
static bool hotspot_is_hot(const struct drm_gpu *gpu, const struct raw *cells)
{
        char name[32];
        snprintf(name, sizeof(name), "temp%u_crit", gpu->temp_junction);
        struct raw now = cells[DRM_TEMP_JUNCTION], limit = drm_read_number(gpu->hwmon, name);
        return now.state == STATE_OK && limit.state == STATE_OK &&
               now.num >= limit.num - HOTSPOT_MARGIN;
}

static struct raw throttle_of(struct drm_gpu *gpu, int64_t mono_ns, const struct raw *cells)
{
        const struct gpu_metrics *m = &gpu->table;
        uint64_t status;
        unsigned bits;
        if (gm_get(m, GM_THROTTLE_INDEP, &status)) {
                if ((status & HOTSPOT_BIT) && !hotspot_is_hot(gpu, cells))
                        status &= ~HOTSPOT_BIT;
                return drm_raw(throttle_groups(status));
        }
        if (residency_throttle(gpu, mono_ns, &bits))
                return drm_raw(bits);
        if (m->format == 1 && m->content >= 4 && gm_get(m, GM_THROTTLE, &status))
                return drm_raw(old_throttle(status));
        return drm_missing(m->f[GM_PPT_ACC].present ? STATE_BLANK : STATE_UNSUPPORTED);
}

static struct raw scaled_field(const struct gpu_metrics *m, enum gm_field field)
{
        double v;
        return gm_get_scaled(m, field, &v) ? drm_raw(v) : drm_missing(STATE_UNSUPPORTED);
}

static struct raw plain_field(const struct gpu_metrics *m, enum gm_field field)
{
        uint64_t v;
        return gm_get(m, field, &v) ? drm_raw((double)v) : drm_missing(STATE_UNSUPPORTED);
}

/* The first of two present. */
static struct raw first_of(struct raw a, struct raw b)
{
        return a.state == STATE_OK ? a : b;
}

static struct raw sum_rate(const struct gpu_metrics *m, enum gm_field field,
                           struct drm_counter *before, int64_t mono_ns)
{
        uint64_t v;
        if (!gm_sum(m, field, &v))
                return drm_missing(STATE_UNSUPPORTED);
        return drm_rate(before, (double)v, mono_ns);
}

/* By its PCI id: many a laptop's GPU has the class of these too. */
static bool is_mi200(const struct drm_gpu *gpu)
{
        return gpu->device == 0x7408 || gpu->device == 0x740c || gpu->device == 0x740f ||
               gpu->device == 0x7410;
}

/*
 * In 2^-16 J. Tables before 1.4 do not report the unit: MI200 counts in the same, others in what
 * nobody knows. Newer firmware without a counter has 32 ones in its 64 bits.
 */
static struct raw energy_of(const struct drm_gpu *gpu)
{
        const struct gpu_metrics *m = &gpu->table;
        uint64_t v;
        bool reported = m->content >= 4 || is_mi200(gpu);
        if (!reported || !gm_get(m, GM_ENERGY, &v) || v == UINT32_MAX)
                return drm_missing(STATE_UNSUPPORTED);
        return drm_raw((double)v);
}

/* The second of MI250's two GPUs has no sensor of its own: no watt now and no joule ever. */
static bool lacks_power(const struct drm_gpu *gpu)
{
        uint64_t watts, energy;
        return is_mi200(gpu) && gm_get(&gpu->table, GM_SOCKET_POWER, &watts) &&
               gm_get(&gpu->table, GM_ENERGY, &energy) && watts == 0 && energy == 0;
}

static void use_table(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        const struct gpu_metrics *m = &gpu->table;
        cells[DRM_GFX_ACTIVITY] = scaled_field(m, GM_GFX_ACTIVITY);
        cells[DRM_UMC_ACTIVITY] = scaled_field(m, GM_UMC_ACTIVITY);
        cells[DRM_SOCKET_POWER] =
            first_of(scaled_field(m, GM_CURR_SOCKET_POWER), scaled_field(m, GM_SOCKET_POWER));
        cells[DRM_TABLE_TEMP] =
            first_of(scaled_field(m, GM_TEMP_EDGE), scaled_field(m, GM_TEMP_GFX));
        cells[DRM_TABLE_HOTSPOT] = scaled_field(m, GM_TEMP_HOTSPOT);
        cells[DRM_TABLE_TEMP_MEM] = scaled_field(m, GM_TEMP_MEM);
        cells[DRM_ENERGY_ACC] = energy_of(gpu);
        cells[DRM_CLOCK] = first_of(plain_field(m, GM_GFXCLK), cells[DRM_CLOCK]);
        cells[DRM_MEM_CLOCK] = first_of(plain_field(m, GM_UCLK), cells[DRM_MEM_CLOCK]);
        cells[DRM_XGMI_READ] = sum_rate(m, GM_XGMI_READ, &gpu->xgmi_read, mono_ns);
        cells[DRM_XGMI_WRITE] = sum_rate(m, GM_XGMI_WRITE, &gpu->xgmi_write, mono_ns);
        cells[DRM_REPLAYS] = first_of(cells[DRM_REPLAYS], plain_field(m, GM_PCIE_REPLAY));
        cells[DRM_THROTTLE] = throttle_of(gpu, mono_ns, cells);
        if (lacks_power(gpu))
                cells[DRM_POWER] = cells[DRM_POWER_NOW] = cells[DRM_SOCKET_POWER] =
                    cells[DRM_ENERGY_ACC] = drm_missing(STATE_UNSUPPORTED);
}

/* Reads the table; when it cannot be understood, its values are missing with that reason. */
static void read_table(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        static const enum drm_field only_present[] = {
            DRM_GFX_ACTIVITY, DRM_UMC_ACTIVITY, DRM_SOCKET_POWER, DRM_ENERGY_ACC,
            DRM_XGMI_READ,    DRM_XGMI_WRITE,   DRM_THROTTLE,
        };
        uint8_t data[GM_TABLE_MAX];
        CLEANUP(closep) int fd = openat(gpu->dir, "gpu_metrics", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));
        enum state why = n < 0 ? drm_state_of(-errno) : STATE_ERROR;
        gpu->table_result = n < 0 ? GM_FINE : gpu_metrics_decode(data, (size_t)n, &gpu->table);
        gpu->has_table = n >= 0 && gpu->table_result == GM_FINE;
        if (gpu->has_table) {
                use_table(gpu, mono_ns, cells);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(only_present); i++)
                cells[only_present[i]] = drm_missing(why);
}

/* Some firmware has 655 % where it has no value; a little above 100 is rounding. */
static void drop_nonsense(struct raw *cells)
{
        static const enum drm_field shares[] = {DRM_GPU_BUSY, DRM_MEM_BUSY, DRM_GFX_ACTIVITY,
                                                DRM_UMC_ACTIVITY};
        for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
                if (cells[shares[i]].state == STATE_OK &&
                    (cells[shares[i]].num > 110 || cells[shares[i]].num < 0))
                        cells[shares[i]] = drm_missing(STATE_ERROR);
        }
}

void drm_read_amdgpu(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        static const enum drm_field files[] = {
            DRM_GPU_BUSY, DRM_MEM_BUSY,  DRM_VRAM_USED, DRM_VRAM_TOTAL,
            DRM_GTT_USED, DRM_GTT_TOTAL, DRM_REPLAYS,
        };
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                cells[files[i]] = drm_read_number(gpu->dir, drm_field_name(files[i]));
        read_dpm(gpu, "pp_dpm_sclk", &cells[DRM_CLOCK], &cells[DRM_CLOCK_MAX]);
        read_dpm(gpu, "pp_dpm_mclk", &cells[DRM_MEM_CLOCK], &cells[DRM_MEM_CLOCK_MAX]);
        read_table(gpu, mono_ns, cells);
        drop_nonsense(cells);
}

/* "0x00000001 : 0x00001000 : R": R retired, P waits for a reset, F could not be retired. */
static void count_bad_pages(const struct drm_gpu *gpu, struct raw *ret_retired,
                            struct raw *ret_pending)
{
        char text[DRM_TEXT_MAX];
        unsigned retired = 0, pending = 0;
        CLEANUP(closep)
        int fd = openat(gpu->dir, "ras/gpu_vram_bad_pages", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : 0;
        char last = '\0';
        while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0) {
                for (ssize_t i = 0; i < n; last = text[i++]) {
                        retired += text[i] == '\n' && (last == 'R' || last == 'F');
                        pending += text[i] == '\n' && last == 'P';
                }
        }
        enum state why = n < 0 ? drm_state_of(-errno) : STATE_OK;
        *ret_retired = n < 0 ? drm_missing(why) : drm_raw(retired);
        *ret_pending = n < 0 ? drm_missing(why) : drm_raw(pending > 0);
}

void drm_read_errors(const struct drm_gpu *gpu, struct raw *cells)
{
        cells[DRM_ECC_CORRECTED] = drm_read_keyed(gpu->dir, "ras/umc_err_count", "ce");
        cells[DRM_ECC_UNCORRECTED] = drm_read_keyed(gpu->dir, "ras/umc_err_count", "ue");
        count_bad_pages(gpu, &cells[DRM_BAD_PAGES], &cells[DRM_BAD_PAGES_PENDING]);
}
