/*
 * GPM: the profiling counters of Hopper and newer, as averages between two samples. The driver
 * takes new counters about every 100 ms; two samples with nothing new between them give zeros and a
 * NaN with return code 0, so a window is used only when it shows that it advanced.
 */
#pragma once

#include "read/nvml/row.h"

#define NVML_GPM_FLOOR_NS (100 * 1000000LL)
/* Samples this far apart had new values in every measured case; less than the floor, so that a beat
 * that came late does not make the next one late too. */
#define NVML_GPM_APART_NS (98 * 1000000LL)

/* The two ends of a window. */
struct nvml_gpm {
        nvml_gpm_sample from, to;
        bool seeded;          /* from holds a sample */
        int64_t from_ns;      /* when it was taken */
        int64_t from_boot_ns; /* the same, on the clock that continues while the machine sleeps */
        int64_t window_ns;    /* of the last good window; 0 when the last was not good */
        double cycles;        /* as the driver reported them last; 0 when it did not */
};

/* What does not change from window to window, and the buffer all windows of a thread share. */
struct nvml_gpm_plan {
        const struct nvml_lib *lib;
        int64_t longest_ns; /* a longer window is not a picture of now: start again */
        size_t n;
        enum nvml_field field[NVML_FIELD_COUNT];
        struct nvml_gpm_metrics get;
};

/*
 * Chooses the metrics that are wanted. The DRAM one is always read: it reports empty windows. Of a
 * driver ("590.44.01") that is too old to know a metric it is not asked.
 */
void nvml_gpm_plan(struct nvml_gpm_plan *plan, const struct nvml_lib *lib,
                   const bool wanted[NVML_FIELD_COUNT], int64_t poll_ns, const char *driver);

/* 0, or the code NVML returned; then the rest must not be used. */
int nvml_gpm_open(struct nvml_gpm *g, const struct nvml_lib *lib);
void nvml_gpm_close(struct nvml_gpm *g, const struct nvml_lib *lib);
/* The next sample starts a new window. */
void nvml_gpm_reseed(struct nvml_gpm *g);

/*
 * Takes a sample of the GPU, or of its instance gi when that is not -1, and writes the averages
 * since the one before; STATE_BLANK while there is no window. Returns the code of a failed call.
 */
int nvml_gpm_read(struct nvml_gpm *g, struct nvml_gpm_plan *plan, nvml_device gpu, int32_t gi,
                  int64_t now_ns, int64_t boot_ns, struct nvml_row *row);
