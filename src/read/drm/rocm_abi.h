/*
 * The part of ROCm SMI's binary interface we use, declared by us from AMD's public documentation
 * (rocm_smi.h), so that building needs no AMD header and running needs no AMD library.
 */
#pragma once

#include <stdint.h>

enum rsmi_status {
        RSMI_SUCCESS = 0,
        RSMI_INVALID_ARGS = 1,
        RSMI_NOT_SUPPORTED = 2,
        RSMI_PERMISSION = 4, /* counters need root */
        RSMI_BUSY = 16,
};

/* Groups of counters; each event counts what goes out on one link, in beats of 32 bytes. */
enum rsmi_group { RSMI_GROUP_XGMI = 0, RSMI_GROUP_XGMI_DATA_OUT = 10 };
enum rsmi_event {
        RSMI_XGMI_0_BEATS_TX = 3,
        RSMI_XGMI_1_BEATS_TX = 7,
        RSMI_XGMI_DATA_OUT_0 = 10, /* to _5 = 15 */
};
#define RSMI_BEAT_BYTES 32
#define RSMI_COUNTER_START 0

typedef uintptr_t rsmi_counter;

struct rsmi_counter_value {
        uint64_t value;
        uint64_t time_enabled; /* nanoseconds */
        uint64_t time_running; /* less when counters take turns */
};

/* A PCI address: domain in bits 63 to 32, bus, device and function in bits 15 to 0. Bits between
 * may hold the number of a partition. */
#define RSMI_PCI_MASK 0xffffffff0000ffffULL

/* RSMI(member, name, arguments): the functions. All return an rsmi_status. */
#define RSMI_FUNCTIONS(RSMI)                                                                       \
        RSMI(init, "rsmi_init", (uint64_t flags))                                                  \
        RSMI(shut_down, "rsmi_shut_down", (void))                                                  \
        RSMI(count, "rsmi_num_monitor_devices", (uint32_t * ret))                                  \
        RSMI(pci, "rsmi_dev_pci_id_get", (uint32_t device, uint64_t * ret))                        \
        RSMI(compute_partition, "rsmi_dev_compute_partition_get",                                  \
             (uint32_t device, char *ret, uint32_t size))                                          \
        RSMI(memory_partition, "rsmi_dev_memory_partition_get",                                    \
             (uint32_t device, char *ret, uint32_t size))                                          \
        RSMI(group_supported, "rsmi_dev_counter_group_supported",                                  \
             (uint32_t device, uint32_t group))                                                    \
        RSMI(counter_create, "rsmi_dev_counter_create",                                            \
             (uint32_t device, uint32_t event, rsmi_counter * ret))                                \
        RSMI(counter_destroy, "rsmi_dev_counter_destroy", (rsmi_counter counter))                  \
        RSMI(counter_control, "rsmi_counter_control",                                              \
             (rsmi_counter counter, uint32_t command, void *unused))                               \
        RSMI(counter_read, "rsmi_counter_read",                                                    \
             (rsmi_counter counter, struct rsmi_counter_value * ret))
