/*
 * One GPU and its MIG instances, read without threads or waiting: the caller says when. All of it
 * is called from one thread, because every call into the driver may block; only nvml_xids_add is
 * called from the thread that waits for events.
 */
#pragma once

#include "read/nvml/gpm.h"
#include "read/nvml/process.h"

#include <stdatomic.h>

#define NVML_ROWS_MAX 16 /* the GPU, 7 instances, and compute instances where one has several */

/* What all devices share. Constant once the threads run. */
struct nvml_env {
        struct nvml_lib lib;
        bool wanted[NVML_FIELD_COUNT];
        uint32_t lanes; /* one bit a lane that has a wanted field */
        int64_t poll_ns;
        int64_t (*mono_ns)(void);
        int64_t (*boot_ns)(void); /* continues while the machine sleeps */
        char driver[ENTITY_TEXT_MAX];
        char host[ENTITY_TEXT_MAX];
        char root[256]; /* of the file system; "" for the real one */
};

#define NVML_XID_RUNS 32

/*
 * XIDs of a GPU, from the thread that waits for events to the GPU's own. Equal ones in a row are
 * one run, so that a flood takes one place and hides no other.
 */
struct nvml_xids {
        _Atomic int state;                    /* enum state: whether events can be had */
        _Atomic uint64_t runs[NVML_XID_RUNS]; /* number << 32 | count; 0 for a free place */
        _Atomic uint32_t dropped;             /* beyond what there is room for */
        uint32_t newest;                      /* the event thread's: the run it wrote last */
        uint32_t oldest;                      /* the GPU's thread's: the run it took last */
        uint32_t last, count;                 /* likewise: as of that run */
};

/* One more, by the event thread. */
void nvml_xids_add(struct nvml_xids *x, uint32_t number);
/* The oldest run that was not taken yet becomes the last; nothing changes when there is none. */
void nvml_xids_take(struct nvml_xids *x);

/* A counter that becomes a rate. */
struct nvml_counter {
        double v;
        int64_t ns; /* 0 for none yet */
};

/* Where the values of a row come from. */
struct nvml_origin {
        nvml_device handle;
        struct nvml_gpm gpm;
        struct nvml_counter nvlink_rx, nvlink_tx;
};

struct nvml_device {
        const struct nvml_env *env;
        struct nvml_xids *xids; /* NULL when nobody waits for events */
        uint32_t index;
        nvml_device handle;
        bool attached; /* handle and rows are present */
        bool lost;
        bool has_gpm;
        bool counts_processes_closely; /* also ask for their utilization */
        uint32_t retries;              /* to get a lost GPU back */
        int64_t retry_ns;              /* the next one */
        int64_t topology_ns;           /* when MIG was examined last */
        size_t n;
        struct nvml_row row[NVML_ROWS_MAX]; /* the first is the GPU */
        struct nvml_origin origin[NVML_ROWS_MAX];
        struct nvml_gpm_plan gpm;
        struct nvml_process_list processes;
};

/* Fills what depends on the consumer: which fields, which lanes. wanted may be NULL for all. */
void nvml_env_init(struct nvml_env *env,
                   bool (*wanted)(enum dialect dialect, const char *field, size_t len),
                   int64_t poll_ns);

/* Gets the GPU's handle, who it is, its slices, and a first GPM sample. A code of NVML. */
int nvml_device_attach(struct nvml_device *d, const struct nvml_env *env, uint32_t index);
/* Gives back what NVML holds for it, before NVML is restarted; attach again afterwards. */
void nvml_device_detach(struct nvml_device *d);
void nvml_device_finish(struct nvml_device *d);

/* The lanes of every tick but the counters, which stay blank until a window has passed. */
void nvml_device_preview(struct nvml_device *d);
/* The lanes of every tick. Also notes that the GPU is lost, or tries to get it back. */
void nvml_device_tick(struct nvml_device *d);
/*
 * One slow lane that is due; false when none is. Called between ticks, so that a caller can stop in
 * time for the next. The first round has them all due.
 */
bool nvml_device_slow(struct nvml_device *d);
/* The earliest moment at which another GPM sample gives a window; 0 when that does not matter. */
int64_t nvml_device_ready_ns(const struct nvml_device *d);
/* Of the GPU, else of the first instance that has one; 0 for none. */
int64_t nvml_device_window_ns(const struct nvml_device *d);

/* The parts, in files of their own. */
void nvml_identify(struct nvml_device *d, size_t row); /* identity.c */
void nvml_mig_list(struct nvml_device *d);             /* mig.c: rows from 1 on */
bool nvml_mig_changed(struct nvml_device *d);          /* mig.c */
void nvml_lane_read(struct nvml_device *d, size_t row, enum nvml_lane lane); /* lanes.c */
