/* Asks NVML a few questions in a child process, so that a driver that hangs cannot hang us. */
#pragma once

#include <stdbool.h>

#define NVML_PROBE_GPUS 64
#define NVML_PROBE_TEXT 96
#define NVML_OK 0
#define NVML_UNKNOWN (-1)

struct nvml_probe_gpu {
        char name[NVML_PROBE_TEXT];
        char uuid[NVML_PROBE_TEXT];
        char pci[NVML_PROBE_TEXT];
        int handle;      /* NVML's answer to asking for it */
        int gpm;         /* 1 supported, 0 not, NVML_UNKNOWN */
        int gpm_sample;  /* NVML's answer to taking a sample; NVML_UNKNOWN when not tried */
        int mig;         /* 1 on, 0 off, NVML_UNKNOWN */
        int persistence; /* likewise */
};

struct nvml_probe {
        bool loaded;                 /* the library is present */
        char problem[200];           /* why it is not */
        int init;                    /* NVML's answer; NVML_UNKNOWN when not asked */
        char error[NVML_PROBE_TEXT]; /* what the library calls that answer */
        char driver[NVML_PROBE_TEXT];
        char library[NVML_PROBE_TEXT];
        unsigned count;
        struct nvml_probe_gpu gpus[NVML_PROBE_GPUS];
        bool done; /* the probe finished; if not, it hung or crashed in this call: */
        char call[64];
};

#define NVML_PROBE_LIBRARY "libnvidia-ml.so.1"

/* library: its name or path, NULL for the usual one. Takes at most a few seconds; what was learnt
 * before a call that hangs is kept. */
void nvml_probe(const char *library, struct nvml_probe *ret);
