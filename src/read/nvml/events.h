/* XIDs: what the driver reports about errors of a GPU, as events. */
#pragma once

#include "read/nvml/device.h"

#define NVML_GPUS_MAX 256

struct nvml_events {
        const struct nvml_lib *lib;
        nvml_event_set set; /* NULL when events cannot be had */
        int rc;             /* why not */
        size_t n;
        struct {
                nvml_device handle;
                struct nvml_xids *xids;
        } gpu[NVML_GPUS_MAX];
};

void nvml_events_open(struct nvml_events *e, const struct nvml_lib *lib);
void nvml_events_close(struct nvml_events *e);
/* Counts XIDs of this GPU from now on; a GPU that came back has a new handle for the same xids. */
void nvml_events_watch(struct nvml_events *e, nvml_device handle, struct nvml_xids *xids);
/* Takes the events present, without waiting. */
void nvml_events_poll(struct nvml_events *e);
