/* The processes on a GPU, as raw data: who, how much memory, and what share of the engines. */
#pragma once

#include "read/nvml/lib.h"

#define NVML_PROCESSES_MAX 1024

enum nvml_process_type {
        NVML_PROCESS_COMPUTE = 1,
        NVML_PROCESS_GRAPHICS = 2,
        NVML_PROCESS_MPS = 4,
};

struct nvml_process {
        uint32_t pid;
        uint32_t types;             /* bits of enum nvml_process_type */
        int32_t gi, ci;             /* -1 outside MIG */
        uint64_t memory;            /* bytes; NVML_NO_MEMORY when the driver does not report */
        uint8_t util_state;         /* enum state of the four below */
        uint32_t sm, mem, enc, dec; /* percent, as the driver sampled it last */
        uint64_t sampled_us;        /* wall clock of that sample; 0 for none */
};

/* All processes of one GPU. The arrays are made at first use and kept. */
struct nvml_process_list {
        size_t n;
        struct nvml_process *list;       /* NVML_PROCESSES_MAX of them */
        struct nvml_process_info *infos; /* what NVML wrote, before it is merged */
        struct nvml_process_sample *samples;
        struct nvml_process_share *shares; /* of the newer call */
        uint64_t since_us;                 /* samples up to here are known */
        int util_rc;                       /* of the last question for utilization */
};

void nvml_process_finish(struct nvml_process_list *p);
/*
 * Lists the processes of a GPU or MIG device; with_util also asks for the utilization since the
 * call before. Returns the code NVML returned for the list; utilization that cannot be had is a
 * state.
 */
int nvml_process_read(struct nvml_process_list *p, const struct nvml_lib *lib, nvml_device dev,
                      bool with_util);
