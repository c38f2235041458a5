/* The maps themselves. Where two names feed one metric, the one that stands first wins. */
#include "translate/map.h"

#include "base/attr.h"

#define DCGM_TEXT(id, old_name, new_name, column, text) MAP_TEXT(column, text),
#define DCGM_NAME(id, old_name, new_name, column) MAP_NAME(column),
#define DCGM(id, old_name, new_name, column, metric, conversion)                                   \
        MAP_METRIC(column, metric, conversion),
static const struct map_row dmon[] = {
#include "translate/dcgm.def"
    /* What the dcgm source adds from discovery. */
    MAP_TEXT("(model)", MODEL),
    /* Spellings found in captures made by others. */
    MAP_METRIC("MTMP", MEM_TEMP, CELSIUS),
    MAP_METRIC("GTMP", GPU_TEMP, CELSIUS),
    MAP_METRIC("PCIRP", PCIE_REPLAY, COUNT),
    MAP_METRIC("DRACT", DRAM_ACTIVE, RATIO),
    MAP_METRIC("NVLBW", NVLINK_TOTAL, MB_PER_S),
};
#undef DCGM
#undef DCGM_NAME
#undef DCGM_TEXT

#define DCGM_TEXT(id, old_name, new_name, column, text)                                            \
        MAP_TEXT(old_name, text), MAP_TEXT(new_name, text),
#define DCGM_NAME(id, old_name, new_name, column) MAP_NAME(old_name), MAP_NAME(new_name),
#define DCGM(id, old_name, new_name, column, metric, conversion)                                   \
        MAP_METRIC(old_name, metric, conversion), MAP_METRIC(new_name, metric, conversion),
static const struct map_row dcgm[] = {
#include "translate/dcgm.def"
    /* Of 'assay serve': a node knows more of its GPUs' health than dcgm-exporter's names report. */
    MAP_METRIC("assay_gpu_problems", PROBLEMS, BITS),
    /* Fields that newer DCGM has beside the old ones, in SI units. */
    MAP_METRIC("DCGM_FI_DEV_GPU_UTIL_RATIO", GPU_UTIL, RATIO_OR_PERCENT),
    MAP_METRIC("DCGM_FI_DEV_MEMORY_UTIL_RATIO", MEM_COPY_UTIL, RATIO_OR_PERCENT),
    MAP_METRIC("DCGM_FI_DEV_ENC_UTIL_RATIO", ENC_UTIL, RATIO_OR_PERCENT),
    MAP_METRIC("DCGM_FI_DEV_DEC_UTIL_RATIO", DEC_UTIL, RATIO_OR_PERCENT),
    MAP_METRIC("DCGM_FI_DEV_FAN_SPEED_RATIO", FAN_SPEED, RATIO),
    MAP_METRIC("DCGM_FI_DEV_SM_CLOCK_HERTZ", SM_CLOCK, HERTZ),
    MAP_METRIC("DCGM_FI_DEV_MEMORY_CLOCK_HERTZ", MEM_CLOCK, HERTZ),
    MAP_METRIC("DCGM_FI_DEV_SM_MAX_CLOCK_HERTZ", SM_CLOCK_MAX, HERTZ),
    MAP_METRIC("DCGM_FI_DEV_MEMORY_MAX_CLOCK_HERTZ", MEM_CLOCK_MAX, HERTZ),
    MAP_METRIC("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", ENERGY, JOULES),
    MAP_METRIC("DCGM_FI_DEV_FB_CAPACITY_BYTES", FB_TOTAL, BYTES),
    MAP_METRIC("DCGM_FI_DEV_FB_FREE_BYTES", FB_FREE, BYTES),
    MAP_METRIC("DCGM_FI_DEV_FB_USED_BYTES", FB_USED, BYTES),
    MAP_METRIC("DCGM_FI_DEV_FB_RESERVED_BYTES", FB_RESERVED, BYTES),
    MAP_METRIC("DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND", NVLINK_TOTAL, BYTES_PER_S),
    /* Labels of dcgm-exporter. */
    MAP_TEXT("modelName", MODEL),
    MAP_TEXT("UUID", UUID),
    MAP_TEXT("uuid", UUID),
    MAP_TEXT("pci_bus_id", PCI),
    MAP_TEXT("device", DEVICE),
    MAP_TEXT("Hostname", HOST),
    MAP_TEXT("hostname", HOST),
    MAP_TEXT("GPU_I_PROFILE", MIG_PROFILE),
    MAP_TEXT("container", CONTAINER),
    MAP_TEXT("namespace", NAMESPACE),
    MAP_TEXT("pod", POD),
    MAP_TEXT("hpc_job", JOB),
};
#undef DCGM
#undef DCGM_NAME
#undef DCGM_TEXT

static const struct map_row smi_dmon[] = {
    MAP_METRIC("pwr", POWER, WATTS),
    MAP_METRIC("gtemp", GPU_TEMP, CELSIUS),
    MAP_METRIC("mtemp", MEM_TEMP, CELSIUS),
    /* What this tool calls "sm" is the share of time any kernel ran, not SM activity. */
    MAP_METRIC("sm", GPU_UTIL, PERCENT),
    MAP_METRIC("mem", MEM_COPY_UTIL, PERCENT),
    MAP_METRIC("enc", ENC_UTIL, PERCENT),
    MAP_METRIC("dec", DEC_UTIL, PERCENT),
    MAP_METRIC("jpg", JPG_UTIL, PERCENT),
    MAP_METRIC("ofa", OFA_UTIL, PERCENT),
    MAP_METRIC("mclk", MEM_CLOCK, MHZ),
    MAP_METRIC("pclk", SM_CLOCK, MHZ),
    MAP_METRIC("fb", FB_USED, MIB),
    MAP_METRIC("bar1", BAR1_USED, MIB),
    MAP_METRIC("sbecc", ECC_SBE_VOLATILE, COUNT),
    MAP_METRIC("dbecc", ECC_DBE_VOLATILE, COUNT),
    MAP_METRIC("pci", PCIE_REPLAY, COUNT),
    MAP_METRIC("rxpci", PCIE_RX, MB_PER_S),
    MAP_METRIC("txpci", PCIE_TX, MB_PER_S),
};

static const struct map_row smi_query[] = {
    MAP_METRIC("utilization.gpu", GPU_UTIL, PERCENT),
    MAP_METRIC("utilization.memory", MEM_COPY_UTIL, PERCENT),
    MAP_METRIC("utilization.encoder", ENC_UTIL, PERCENT),
    MAP_METRIC("utilization.decoder", DEC_UTIL, PERCENT),
    MAP_METRIC("utilization.jpeg", JPG_UTIL, PERCENT),
    MAP_METRIC("utilization.ofa", OFA_UTIL, PERCENT),
    MAP_METRIC("memory.used", FB_USED, MIB),
    MAP_METRIC("memory.free", FB_FREE, MIB),
    MAP_METRIC("memory.reserved", FB_RESERVED, MIB),
    MAP_METRIC("memory.total", FB_TOTAL, MIB),
    MAP_METRIC("power.draw", POWER, WATTS),
    MAP_METRIC("power.draw.average", POWER, WATTS),
    MAP_METRIC("power.draw.instant", POWER, WATTS),
    MAP_METRIC("enforced.power.limit", POWER_LIMIT, WATTS),
    MAP_METRIC("power.limit", POWER_LIMIT, WATTS),
    MAP_METRIC("temperature.gpu", GPU_TEMP, CELSIUS),
    MAP_METRIC("temperature.memory", MEM_TEMP, CELSIUS),
    MAP_METRIC("clocks.current.sm", SM_CLOCK, MHZ),
    MAP_METRIC("clocks.sm", SM_CLOCK, MHZ),
    MAP_METRIC("clocks.current.memory", MEM_CLOCK, MHZ),
    MAP_METRIC("clocks.mem", MEM_CLOCK, MHZ),
    MAP_METRIC("clocks.max.sm", SM_CLOCK_MAX, MHZ),
    MAP_METRIC("clocks.max.memory", MEM_CLOCK_MAX, MHZ),
    MAP_METRIC("clocks_event_reasons.active", THROTTLE_REASONS, BITS),
    MAP_METRIC("clocks_throttle_reasons.active", THROTTLE_REASONS, BITS),
    MAP_METRIC("pcie.link.gen.current", PCIE_GEN, NUMBER),
    MAP_METRIC("pcie.link.gen.max", PCIE_GEN_MAX, NUMBER),
    MAP_METRIC("pcie.link.width.current", PCIE_WIDTH, NUMBER),
    MAP_METRIC("pcie.link.width.max", PCIE_WIDTH_MAX, NUMBER),
    MAP_METRIC("ecc.errors.corrected.volatile.total", ECC_SBE_VOLATILE, COUNT),
    MAP_METRIC("ecc.errors.uncorrected.volatile.total", ECC_DBE_VOLATILE, COUNT),
    MAP_TEXT("name", MODEL),
    MAP_TEXT("gpu_name", MODEL),
    MAP_TEXT("uuid", UUID),
    MAP_TEXT("gpu_uuid", UUID),
    MAP_TEXT("serial", SERIAL),
    MAP_TEXT("pci.bus_id", PCI),
    MAP_TEXT("driver_version", DRIVER),
};

static const struct map_row columns[] = {
    MAP_TEXT("model", MODEL),
    MAP_METRIC("sm_active_pct", SM_ACTIVE, PERCENT),
    MAP_METRIC("tensor_active_pct", TENSOR_ACTIVE, PERCENT),
    MAP_METRIC("dram_active_pct", DRAM_ACTIVE, PERCENT),
    MAP_METRIC("gr_engine_active_pct", GR_ACTIVE, PERCENT),
    MAP_METRIC("gpu_util_pct", GPU_UTIL, PERCENT),
    MAP_METRIC("mem_used_mib", FB_USED, MIB),
    MAP_METRIC("mem_total_mib", FB_TOTAL, MIB),
    MAP_METRIC("power_w", POWER, WATTS),
    MAP_METRIC("gpu_temp_c", GPU_TEMP, CELSIUS),
    MAP_METRIC("mem_temp_c", MEM_TEMP, CELSIUS),
    MAP_METRIC("sm_occupancy_pct", SM_OCCUPANCY, PERCENT),
    MAP_METRIC("fp16_pipe_pct", FP16_ACTIVE, PERCENT),
    MAP_METRIC("fp32_pipe_pct", FP32_ACTIVE, PERCENT),
    MAP_METRIC("fp64_pipe_pct", FP64_ACTIVE, PERCENT),
    MAP_METRIC("memcpy_util_pct", MEM_COPY_UTIL, PERCENT),
    MAP_METRIC("pcie_rx_bytes_s", PCIE_RX, BYTES_PER_S),
    MAP_METRIC("pcie_tx_bytes_s", PCIE_TX, BYTES_PER_S),
    MAP_METRIC("nvlink_gbps", NVLINK_TOTAL, GB_PER_S),
    MAP_METRIC("sm_clock_mhz", SM_CLOCK, MHZ),
    MAP_METRIC("mem_clock_mhz", MEM_CLOCK, MHZ),
    MAP_METRIC("pcie_replay_rate_s", PCIE_REPLAY_RATE, PER_S),
    MAP_METRIC("energy_j", ENERGY, JOULES),
    MAP_METRIC("tc_hmma_pct", TENSOR_HMMA_ACTIVE, PERCENT),
    MAP_METRIC("tc_imma_pct", TENSOR_IMMA_ACTIVE, PERCENT),
    MAP_METRIC("tc_dfma_pct", TENSOR_DFMA_ACTIVE, PERCENT),
    MAP_METRIC("int_pipe_pct", INT_ACTIVE, PERCENT),
    MAP_METRIC("enc_util_pct", ENC_UTIL, PERCENT),
    MAP_METRIC("dec_util_pct", DEC_UTIL, PERCENT),
    MAP_METRIC("mem_free_mib", FB_FREE, MIB),
    MAP_METRIC("mem_reserved_mib", FB_RESERVED, MIB),
    MAP_METRIC("nvlink_rx_bytes_s", NVLINK_RX, BYTES_PER_S),
    MAP_METRIC("nvlink_tx_bytes_s", NVLINK_TX, BYTES_PER_S),
    MAP_METRIC("power_limit_w", POWER_LIMIT, WATTS),
    MAP_METRIC("sm_clock_max_mhz", SM_CLOCK_MAX, MHZ),
    MAP_METRIC("mem_clock_max_mhz", MEM_CLOCK_MAX, MHZ),
    MAP_METRIC("temp_slowdown_c", TEMP_SLOWDOWN, CELSIUS),
    MAP_METRIC("temp_max_operating_c", TEMP_MAX_OPERATING, CELSIUS),
    MAP_METRIC("throttle_reasons", THROTTLE_REASONS, BITS),
    MAP_METRIC("pcie_gen", PCIE_GEN, NUMBER),
    MAP_METRIC("pcie_gen_max", PCIE_GEN_MAX, NUMBER),
    MAP_METRIC("pcie_width", PCIE_WIDTH, NUMBER),
    MAP_METRIC("pcie_width_max", PCIE_WIDTH_MAX, NUMBER),
    MAP_METRIC("pcie_replay", PCIE_REPLAY, COUNT),
    MAP_METRIC("xid", XID_LAST, NUMBER),
    MAP_METRIC("ecc_sbe", ECC_SBE_VOLATILE, COUNT),
    MAP_METRIC("ecc_dbe", ECC_DBE_VOLATILE, COUNT),
    MAP_METRIC("remapped_uncorrectable", REMAPPED_UNCORRECTABLE, COUNT),
    MAP_METRIC("remapped_correctable", REMAPPED_CORRECTABLE, COUNT),
    MAP_METRIC("remap_pending", REMAP_PENDING, FLAG),
    MAP_METRIC("remap_failure", REMAP_FAILURE, FLAG),
    MAP_METRIC("processes", PROCESSES, COUNT),
    MAP_TEXT("uuid", UUID),
    MAP_TEXT("pci", PCI),
    MAP_TEXT("hostname", HOST),
    MAP_TEXT("job", JOB),
};

#define DRM_TEXT(name, text) MAP_TEXT(name, text),
#define DRM(name, metric, conversion) MAP_METRIC(name, metric, conversion),
static const struct map_row drm[] = {
#include "translate/drm.def"
};
#undef DRM
#undef DRM_TEXT

#define METRIC(id, name, kind, unit, most, scope, group, help) MAP_METRIC(name, id, unit),
static const struct map_row canon[] = {
#include "model/metrics.def"
#define ENTITY_TEXT(id, name) MAP_TEXT(name, id),
    ENTITY_TEXTS(ENTITY_TEXT)
#undef ENTITY_TEXT
};
#undef METRIC

#define NVML_TEXT(id, name, text) MAP_TEXT(name, text),
#define NVML_FIELD(id, name, lane, metric, conversion) MAP_METRIC(name, metric, conversion),
static const struct map_row nvml[] = {
#include "model/nvml.def"
};

static const struct map maps[DIALECT_COUNT] = {
    [DIALECT_DMON] = {.rows = dmon, .n = ARRAY_LEN(dmon)},
    [DIALECT_DCGM] = {.rows = dcgm, .n = ARRAY_LEN(dcgm)},
    [DIALECT_SMI_DMON] = {.rows = smi_dmon, .n = ARRAY_LEN(smi_dmon)},
    [DIALECT_SMI_QUERY] = {.rows = smi_query, .n = ARRAY_LEN(smi_query)},
    [DIALECT_COLUMNS] = {.rows = columns, .n = ARRAY_LEN(columns)},
    [DIALECT_DRM] = {.rows = drm, .n = ARRAY_LEN(drm), .unprofiled = true},
    [DIALECT_CANON] = {.rows = canon, .n = ARRAY_LEN(canon)},
    [DIALECT_NVML] = {.rows = nvml, .n = ARRAY_LEN(nvml)},
};

#define DCGM_TEXT(id, old_name, new_name, column, text)
#define DCGM_NAME(id, old_name, new_name, column)
#define DCGM(id, old_name, new_name, column, metric, conversion) id,
static const unsigned dcgm_ids[] = {
#include "translate/dcgm.def"
};
#undef DCGM
#undef DCGM_NAME
#undef DCGM_TEXT

const unsigned *translate_dcgm_ids(size_t *ret_n)
{
        *ret_n = ARRAY_LEN(dcgm_ids);
        return dcgm_ids;
}

const struct map *map_for(enum dialect dialect)
{
        return &maps[dialect];
}
