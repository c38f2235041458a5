/* What every driver gives: power management state, hwmon, the PCIe link. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/num.h"
#include "read/drm/gpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define SLOW_NS (5 * NS_PER_S)

const char *drm_field_name(enum drm_field field)
{
        static const char *const names[] = {
#define DRM_FIELD(id, name) name,
#include "read/drm/fields.def"
#undef DRM_FIELD
        };
        return names[field];
}

int drm_is_suspended(const struct drm_gpu *gpu)
{
        char status[16], node[32];
        snprintf(node, sizeof(node), "drm/%s", gpu->render);
        if (faccessat(gpu->dir, node, F_OK, 0) != 0)
                return -errno; /* without a driver it has no node */
        ssize_t n = drm_read_text(gpu->dir, "power/runtime_status", status, sizeof(status));
        if (n == -ENOENT && faccessat(gpu->dir, "vendor", F_OK, 0) == 0)
                return 0; /* a kernel without runtime power management */
        if (n < 0)
                return (int)n;
        return strncmp(status, "suspend", 7) == 0; /* suspended, or suspending */
}

int64_t drm_suspend_delay_ns(const struct drm_gpu *gpu)
{
        char control[16];
        if (drm_read_text(gpu->dir, "power/control", control, sizeof(control)) < 0 ||
            strcmp(control, "auto") != 0)
                return 0;
        struct raw delay = drm_read_number(gpu->dir, "power/autosuspend_delay_ms");
        if (delay.state != STATE_OK || delay.num < 0)
                return 0;
        return (int64_t)MIN(delay.num, 60000.0) * NS_PER_MS;
}

/* "card1-HDMI-A-1" */
static bool is_enabled(const struct drm_gpu *gpu, const char *connector)
{
        char path[64], text[16];
        size_t n = strlen(gpu->card);
        if (strncmp(connector, gpu->card, n) != 0 || connector[n] != '-')
                return false;
        snprintf(path, sizeof(path), "%.48s/enabled", connector);
        return drm_read_text(gpu->card_dir, path, text, sizeof(text)) > 0 &&
               strcmp(text, "enabled") == 0;
}

bool drm_shows_pictures(const struct drm_gpu *gpu)
{
        alignas(struct dirent64) char entries[2048];
        CLEANUP(closep) int folder = gpu->card_dir < 0 ? -1 : drm_open_folder(gpu->card_dir, ".");
        ssize_t n;
        while (folder >= 0 && (n = getdents64(folder, entries, sizeof(entries))) > 0) {
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
                        if (is_enabled(gpu, entry->d_name))
                                return true;
                        at += entry->d_reclen;
                }
        }
        return false;
}

struct raw drm_rate(struct drm_counter *before, double v, int64_t mono_ns)
{
        struct drm_counter old = *before;
        *before = (struct drm_counter){.present = true, .v = v, .mono_ns = mono_ns};
        struct value rate =
            value_rate(value_ok(v), old.present ? value_ok(old.v) : value_missing(STATE_BLANK),
                       clock_to_seconds(mono_ns - old.mono_ns));
        return value_is_set(rate) ? drm_raw(rate.v) : drm_missing((enum state)rate.state);
}

static struct raw read_channel(const struct drm_gpu *gpu, const char *kind, unsigned channel,
                               const char *what)
{
        char name[48];
        if (channel == 0)
                return drm_missing(STATE_UNSUPPORTED);
        snprintf(name, sizeof(name), "%s%u_%s", kind, channel, what);
        return drm_read_number(gpu->hwmon, name);
}

/* Intel counts the card in channel 1 and the package in channel 2, and may have either. */
static struct raw read_first(const struct drm_gpu *gpu, const char *kind, const char *what)
{
        struct raw v = read_channel(gpu, kind, 1, what);
        return v.state == STATE_UNSUPPORTED ? read_channel(gpu, kind, 2, what) : v;
}

/* A limit of 0 is switched off; the package's may hold then. */
static struct raw read_limit(const struct drm_gpu *gpu)
{
        const char *what = gpu->kind == DRM_KIND_AMDGPU ? "cap" : "max";
        struct raw v = read_first(gpu, "power", what);
        if (v.state == STATE_OK && v.num == 0)
                v = read_channel(gpu, "power", 2, what);
        return v.state == STATE_OK && v.num == 0 ? drm_missing(STATE_UNSUPPORTED) : v;
}

void drm_read_hwmon(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        cells[DRM_POWER] = read_channel(gpu, "power", 1, "average");
        cells[DRM_POWER_NOW] = read_channel(gpu, "power", 1, "input");
        cells[DRM_POWER_CAP] = read_limit(gpu);
        cells[DRM_ENERGY] = read_first(gpu, "energy", "input");
        if (cells[DRM_ENERGY].state == STATE_OK)
                cells[DRM_ENERGY_POWER] = drm_rate(&gpu->energy, cells[DRM_ENERGY].num, mono_ns);
        cells[DRM_TEMP] = read_channel(gpu, "temp", gpu->temp_gpu, "input");
        cells[DRM_TEMP_JUNCTION] = read_channel(gpu, "temp", gpu->temp_junction, "input");
        cells[DRM_TEMP_MEM] = read_channel(gpu, "temp", gpu->temp_mem, "input");
        cells[DRM_FREQ_GPU] = read_channel(gpu, "freq", 1, "input");
        cells[DRM_FREQ_MEM] = read_channel(gpu, "freq", 2, "input");
}

/* "16.0 GT/s PCIe": a generation from 1 to 6. */
static struct raw read_gen(const struct drm_gpu *gpu, const char *name)
{
        static const double speeds[] = {2.5, 5, 8, 16, 32, 64};
        char text[64];
        double speed;
        ssize_t n = drm_read_text(gpu->link, name, text, sizeof(text));
        if (n < 0)
                return drm_missing(drm_state_of((int)n));
        if (num_parse(text, (size_t)n, &speed) == 0)
                return drm_missing(STATE_BLANK); /* "Unknown" */
        for (size_t i = 0; i < ARRAY_LEN(speeds); i++) {
                if (fabs(speed - speeds[i]) < 0.1)
                        return drm_raw((double)i + 1);
        }
        return drm_missing(STATE_ERROR);
}

/* A width of 0 or 255 means that there is no link to speak of, as in an APU. */
static struct raw read_width(const struct drm_gpu *gpu, const char *name)
{
        struct raw v = drm_read_number(gpu->link, name);
        return v.state == STATE_OK && (v.num < 1 || v.num > 32) ? drm_missing(STATE_UNSUPPORTED)
                                                                : v;
}

static void read_limits(const struct drm_gpu *gpu, struct raw *cells)
{
        cells[DRM_TEMP_CRIT] = read_channel(gpu, "temp", gpu->temp_gpu, "crit");
        cells[DRM_TEMP_EMERGENCY] = read_channel(gpu, "temp", gpu->temp_gpu, "emergency");
        cells[DRM_LINK_GEN_MAX] = read_gen(gpu, "max_link_speed");
        cells[DRM_LINK_WIDTH_MAX] = read_width(gpu, "max_link_width");
}

/* Limits do not change, and error counts cost the firmware a question: both every few seconds. */
static const enum drm_field limit_fields[] = {DRM_TEMP_CRIT, DRM_TEMP_EMERGENCY, DRM_LINK_GEN_MAX,
                                              DRM_LINK_WIDTH_MAX};
static const enum drm_field error_fields[] = {DRM_ECC_CORRECTED, DRM_ECC_UNCORRECTED, DRM_BAD_PAGES,
                                              DRM_BAD_PAGES_PENDING};

static void read_slow(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        if (gpu->slow_ns == 0 || mono_ns - gpu->slow_ns >= SLOW_NS) {
                memset(gpu->slow, 0, sizeof(gpu->slow));
                read_limits(gpu, gpu->slow);
                if (gpu->kind == DRM_KIND_AMDGPU) {
                        drm_read_errors(gpu, gpu->slow);
                        drm_read_partition(gpu);
                }
                gpu->slow_ns = mono_ns;
        }
        for (size_t i = 0; i < ARRAY_LEN(limit_fields); i++)
                cells[limit_fields[i]] = gpu->slow[limit_fields[i]];
        for (size_t i = 0; i < ARRAY_LEN(error_fields); i++) {
                struct raw *cell = &cells[error_fields[i]];
                *cell = gpu->slow[error_fields[i]];
                cell->age_ms = (uint32_t)((mono_ns - gpu->slow_ns) / NS_PER_MS);
        }
}

void drm_read_gpu(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells)
{
        drm_read_hwmon(gpu, mono_ns, cells);
        cells[DRM_LINK_GEN] = read_gen(gpu, "current_link_speed");
        cells[DRM_LINK_WIDTH] = read_width(gpu, "current_link_width");
        read_slow(gpu, mono_ns, cells);
        switch (gpu->kind) {
        case DRM_KIND_AMDGPU:
                drm_read_amdgpu(gpu, mono_ns, cells);
                break;
        case DRM_KIND_I915:
        case DRM_KIND_XE:
                drm_read_intel(gpu, cells);
                break;
        case DRM_KIND_OTHER:
                break;
        }
}
