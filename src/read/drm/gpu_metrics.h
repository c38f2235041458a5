/*
 * amdgpu's gpu_metrics file: a versioned binary table that the firmware fills. Pure functions; the
 * layouts are those of the kernel's kgd_pp_interface.h, reported by format, content revision and
 * size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GM_FIELD(id, name): the fields that are kept, under the kernel's names. Others are read past. */
#define GM_FIELDS(GM_FIELD)                                                                        \
        GM_FIELD(TEMP_EDGE, "temperature_edge")                                                    \
        GM_FIELD(TEMP_HOTSPOT, "temperature_hotspot")                                              \
        GM_FIELD(TEMP_MEM, "temperature_mem")                                                      \
        GM_FIELD(TEMP_GFX, "temperature_gfx")                                                      \
        GM_FIELD(GFX_ACTIVITY, "average_gfx_activity")                                             \
        GM_FIELD(UMC_ACTIVITY, "average_umc_activity")                                             \
        GM_FIELD(MM_ACTIVITY, "average_mm_activity")                                               \
        GM_FIELD(VCN_ACTIVITY, "vcn_activity")                                                     \
        GM_FIELD(SOCKET_POWER, "average_socket_power")                                             \
        GM_FIELD(CURR_SOCKET_POWER, "curr_socket_power")                                           \
        GM_FIELD(GFX_POWER, "average_gfx_power")                                                   \
        GM_FIELD(ENERGY, "energy_accumulator")                                                     \
        GM_FIELD(CLOCK_COUNTER, "system_clock_counter")                                            \
        GM_FIELD(FIRMWARE_TIME, "firmware_timestamp")                                              \
        GM_FIELD(GFXCLK_AVERAGE, "average_gfxclk_frequency")                                       \
        GM_FIELD(UCLK_AVERAGE, "average_uclk_frequency")                                           \
        GM_FIELD(GFXCLK, "current_gfxclk")                                                         \
        GM_FIELD(UCLK, "current_uclk")                                                             \
        GM_FIELD(SOCCLK, "current_socclk")                                                         \
        GM_FIELD(THROTTLE, "throttle_status")                                                      \
        GM_FIELD(THROTTLE_INDEP, "indep_throttle_status")                                          \
        GM_FIELD(FAN, "current_fan_speed")                                                         \
        GM_FIELD(PCIE_WIDTH, "pcie_link_width")                                                    \
        GM_FIELD(PCIE_SPEED, "pcie_link_speed")                                                    \
        GM_FIELD(PCIE_REPLAY, "pcie_replay_count_acc")                                             \
        GM_FIELD(XGMI_WIDTH, "xgmi_link_width")                                                    \
        GM_FIELD(XGMI_SPEED, "xgmi_link_speed")                                                    \
        GM_FIELD(XGMI_READ, "xgmi_read_data_acc")                                                  \
        GM_FIELD(XGMI_WRITE, "xgmi_write_data_acc")                                                \
        GM_FIELD(GFX_ACTIVITY_ACC, "gfx_activity_acc")                                             \
        GM_FIELD(MEM_ACTIVITY_ACC, "mem_activity_acc")                                             \
        GM_FIELD(ACCUMULATIONS, "accumulation_counter")                                            \
        GM_FIELD(PROCHOT_ACC, "prochot_residency_acc")                                             \
        GM_FIELD(PPT_ACC, "ppt_residency_acc")                                                     \
        GM_FIELD(SOCKET_THM_ACC, "socket_thm_residency_acc")                                       \
        GM_FIELD(VR_THM_ACC, "vr_thm_residency_acc")                                               \
        GM_FIELD(HBM_THM_ACC, "hbm_thm_residency_acc")                                             \
        GM_FIELD(BELOW_BY_POWER, "gfx_below_host_limit_ppt_acc")                                   \
        GM_FIELD(BELOW_BY_HEAT, "gfx_below_host_limit_thm_acc")                                    \
        GM_FIELD(PARTITIONS, "num_partition")

enum gm_field {
#define GM_FIELD(id, name) GM_##id,
        GM_FIELDS(GM_FIELD)
#undef GM_FIELD
            GM_COUNT
};

#define GM_INSTANCES_MAX 8  /* of a field: links, clocks */
#define GM_PARTITIONS_MAX 8 /* compute partitions of one GPU */
#define GM_TABLE_MAX 16384  /* the largest table known has 3,872 bytes */

/* One field: as many instances as the table has, each with a value or without. */
struct gm_value {
        uint64_t v[GM_INSTANCES_MAX];
        uint8_t n;
        uint8_t present; /* a bit an instance; the firmware marks what it lacks with all ones */
};

/* How busy each of a compute partition's shader complexes was, in percent. */
struct gm_partition {
        uint32_t busy[GM_INSTANCES_MAX];
        uint8_t present;
};

/* What one unit of the table is; 0 where the kernel does not say, so the value is not used. */
struct gm_units {
        double celsius, percent, watts;
};

struct gpu_metrics {
        uint8_t format, content;
        struct gm_units units;
        struct gm_value f[GM_COUNT];
        struct gm_partition partitions[GM_PARTITIONS_MAX];
};

enum gm_result {
        GM_FINE,
        GM_TOO_SHORT,       /* fewer bytes than the header says, or than a header has */
        GM_UNKNOWN_VERSION, /* no layout of that revision is known */
        GM_WRONG_SIZE,      /* the revision is known and the size is not its */
};

/* Decodes a whole table. ret is untouched unless the result is GM_FINE. */
enum gm_result gpu_metrics_decode(const void *data, size_t len, struct gpu_metrics *ret);
/* "it is shorter than it says", …: for messages. */
const char *gm_result_text(enum gm_result result);
const char *gm_field_name(enum gm_field field);

/* The first instance, as the table has it. False when it is missing. */
bool gm_get(const struct gpu_metrics *m, enum gm_field field, uint64_t *ret);
/* The first instance in °C, percent or watts; false where the unit is not known either. */
bool gm_get_scaled(const struct gpu_metrics *m, enum gm_field field, double *ret);
/* The sum of the instances present; false when none is. */
bool gm_sum(const struct gpu_metrics *m, enum gm_field field, uint64_t *ret);
/* The mean busy share of a partition, in percent. False when nothing is known of it. */
bool gm_partition_busy(const struct gpu_metrics *m, size_t partition, double *ret);
