/*
 * The part of NVML's binary interface we use, declared by us from NVIDIA's public documentation, so
 * that building needs no NVIDIA header and running needs no NVIDIA library.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct nvml_device_opaque *nvml_device; /* a GPU or a MIG device */
typedef void *nvml_gpm_sample;
typedef void *nvml_event_set;

/* NVML_RC(id, number): what calls return. */
#define NVML_RCS(NVML_RC)                                                                          \
        NVML_RC(SUCCESS, 0)                                                                        \
        NVML_RC(UNINITIALIZED, 1)                                                                  \
        NVML_RC(INVALID_ARGUMENT, 2)                                                               \
        NVML_RC(NOT_SUPPORTED, 3)                                                                  \
        NVML_RC(NO_PERMISSION, 4)                                                                  \
        NVML_RC(ALREADY_INITIALIZED, 5)                                                            \
        NVML_RC(NOT_FOUND, 6)                                                                      \
        NVML_RC(INSUFFICIENT_SIZE, 7)                                                              \
        NVML_RC(INSUFFICIENT_POWER, 8)                                                             \
        NVML_RC(DRIVER_NOT_LOADED, 9)                                                              \
        NVML_RC(TIMEOUT, 10)                                                                       \
        NVML_RC(IRQ_ISSUE, 11)                                                                     \
        NVML_RC(LIBRARY_NOT_FOUND, 12)                                                             \
        NVML_RC(FUNCTION_NOT_FOUND, 13)                                                            \
        NVML_RC(CORRUPTED_INFOROM, 14)                                                             \
        NVML_RC(GPU_IS_LOST, 15)                                                                   \
        NVML_RC(RESET_REQUIRED, 16)                                                                \
        NVML_RC(OPERATING_SYSTEM, 17)                                                              \
        NVML_RC(LIB_RM_VERSION_MISMATCH, 18)                                                       \
        NVML_RC(IN_USE, 19)                                                                        \
        NVML_RC(MEMORY, 20)                                                                        \
        NVML_RC(NO_DATA, 21)                                                                       \
        NVML_RC(VGPU_ECC_NOT_SUPPORTED, 22)                                                        \
        NVML_RC(INSUFFICIENT_RESOURCES, 23)                                                        \
        NVML_RC(FREQ_NOT_SUPPORTED, 24)                                                            \
        NVML_RC(ARGUMENT_VERSION_MISMATCH, 25)                                                     \
        NVML_RC(DEPRECATED, 26)                                                                    \
        NVML_RC(NOT_READY, 27)                                                                     \
        NVML_RC(GPU_NOT_FOUND, 28)                                                                 \
        NVML_RC(INVALID_STATE, 29)                                                                 \
        NVML_RC(UNKNOWN, 999)

enum nvml_rc {
#define NVML_RC(id, number) NVML_##id = number,
        NVML_RCS(NVML_RC)
#undef NVML_RC
};

/* Arguments of the calls that take a kind. */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_THRESHOLD_SHUTDOWN = 0, NVML_THRESHOLD_SLOWDOWN = 1, NVML_THRESHOLD_GPU_MAX = 3 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 }; /* KB/s over 20 ms */
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };
enum { NVML_PSTATE_UNKNOWN = 32 };
enum { NVML_RETIRED_DBE = 1 };
enum { NVML_EVENT_XID = 0x8 };
enum {
        NVML_FI_VIOLATION_POWER = 74, /* ns, cumulative, as those that follow */
        NVML_FI_VIOLATION_THERMAL = 75,
        NVML_FI_VIOLATION_SYNC = 76,
        NVML_FI_VIOLATION_BOARD = 77,
        NVML_FI_VIOLATION_LOW_UTIL = 78,
        NVML_FI_VIOLATION_RELIABILITY = 79,
        NVML_FI_MEMORY_TEMP = 82,
        NVML_FI_VIOLATION_APP_CLOCKS = 85,
        NVML_FI_VIOLATION_BASE_CLOCKS = 86,
        NVML_FI_NVLINK_TX = 138, /* KiB, cumulative; scope UINT32_MAX is all links */
        NVML_FI_NVLINK_RX = 139,
        NVML_FI_SLOTS = 204, /* ids below this are worth recording */
};

#define NVML_TEXT_MAX 96
#define NVML_NO_MEMORY UINT64_MAX /* used memory of a process that cannot be reported */

struct nvml_memory { /* v1 */
        uint64_t total, free, used;
};

struct nvml_memory_v2 {
        uint32_t version;
        uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 (sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_bar1 {
        uint64_t total, free, used;
};

struct nvml_utilization {
        uint32_t gpu, memory; /* percent */
};

struct nvml_pci {
        char bus_id_short[16];
        uint32_t domain, bus, device, device_id, subsystem_id;
        char bus_id[32];
};

struct nvml_process_info {
        uint32_t pid;
        uint64_t used_memory; /* bytes, or NVML_NO_MEMORY */
        uint32_t gi, ci;      /* UINT32_MAX outside MIG */
};

struct nvml_process_sample {
        uint32_t pid;
        uint64_t time_us; /* wall clock */
        uint32_t sm, mem, enc, dec;
};

/* The newer call: one sample a process. */
struct nvml_process_share {
        uint64_t time_us; /* wall clock */
        uint32_t pid, sm, mem, enc, dec, jpg, ofa;
};

#define NVML_PROCESS_SHARES_V1 0x01000018
struct nvml_process_shares {
        uint32_t version, n; /* n: room, then how many there are */
        uint64_t since_us;
        struct nvml_process_share *list;
};

enum nvml_value_type {
        NVML_VALUE_DOUBLE,
        NVML_VALUE_UINT,
        NVML_VALUE_ULONG,
        NVML_VALUE_ULONGLONG,
        NVML_VALUE_LONGLONG,
        NVML_VALUE_INT,
        NVML_VALUE_USHORT,
};

struct nvml_field_value {
        uint32_t id, scope;
        int64_t time_us, latency_us;
        uint32_t type; /* enum nvml_value_type */
        int32_t rc;
        union {
                double d;
                int32_t i;
                uint32_t u;
                uint64_t ull;
                int64_t ll;
                uint16_t us;
        } value;
};

struct nvml_attributes {
        uint32_t sm_count, copy_engines, decoders, encoders, jpegs, ofas, gi_slices, ci_slices;
        uint64_t memory_mib;
};

struct nvml_event {
        nvml_device device;
        uint64_t type, data; /* data of an XID event: its number */
        uint32_t gi, ci;
};

struct nvml_gpm_support {
        uint32_t version, supported;
};
#define NVML_GPM_VERSION 1

struct nvml_gpm_metric {
        uint32_t id;
        int32_t rc;
        double value;
        const char *short_name, *long_name, *unit;
};

/* The driver reads n entries; the array has room for as many as its newest header declares. */
#define NVML_GPM_METRICS_MAX 333
struct nvml_gpm_metrics {
        uint32_t version, n;
        nvml_gpm_sample from, to;
        struct nvml_gpm_metric metric[NVML_GPM_METRICS_MAX];
};

/* A layout that differs from the driver's corrupts memory, so the sizes are pinned. */
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_process_info) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct nvml_process_share) == 40, "nvmlProcessUtilizationInfo_v1_t");
_Static_assert(sizeof(struct nvml_process_shares) == (NVML_PROCESS_SHARES_V1 & 0xffffff),
               "nvmlProcessesUtilizationInfo_v1_t");
_Static_assert(sizeof(struct nvml_field_value) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_attributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nvml_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(offsetof(struct nvml_gpm_metrics, metric) == 24, "nvmlGpmMetricsGet_t");
