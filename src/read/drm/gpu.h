/* GPUs with a Linux DRM driver: which there are, and the values the kernel gives of each. */
#pragma once

#include "base/err.h"
#include "read/drm/file.h"
#include "read/drm/gpu_metrics.h"
#include "read/drm/rocm.h"
#include "read/source.h"

#define DRM_GPUS_MAX 128

enum drm_field {
#define DRM_FIELD(id, name) DRM_##id,
#include "read/drm/fields.def"
#undef DRM_FIELD
        DRM_FIELD_COUNT
};

const char *drm_field_name(enum drm_field field);

enum drm_kind { DRM_KIND_AMDGPU, DRM_KIND_I915, DRM_KIND_XE, DRM_KIND_OTHER };

/* Why clocks are held down, whatever the driver: bits of DRM_THROTTLE. */
enum drm_throttle {
        DRM_THROTTLE_POWER = 1,
        DRM_THROTTLE_CURRENT = 2,
        DRM_THROTTLE_THERMAL = 4,
        DRM_THROTTLE_PROCHOT = 8, /* the board asks for it */
        DRM_THROTTLE_OTHER = 16,
};

/* A counter and when it was read, for its rate. */
struct drm_counter {
        bool present;
        double v;
        int64_t mono_ns;
};

enum drm_residency { DRM_RESIDENCY_COUNT = 7 };

struct drm_gpu {
        enum drm_kind kind;
        char pci[24];    /* "0000:03:00.0", or the device's own name when it is not on PCI */
        char card[16];   /* "card0"; may be empty */
        char render[16]; /* "renderD128"; may be empty */
        char driver[48]; /* "amdgpu", with the module's version where it has one */
        char model[80];
        char uuid[48]; /* "GPU-" and amdgpu's unique id; empty where there is none */
        char serial[32];
        char numa[8];       /* "0"; empty where memory has no nodes */
        char partition[36]; /* amdgpu: "SPX/NPS1", "CPX"; empty where it cannot be divided */
        enum vendor brand;
        int32_t ordinal, ordinals; /* its numbers by the brand's own counting */
        uint16_t vendor, device;
        uint8_t revision;
        uint8_t tiles;    /* of an Intel GPU; 0 where the driver does not report */
        bool accelerator; /* for computing only: it shows no pictures */
        bool one_video;   /* amdgpu: the engine that encodes decodes too */
        char path[1024];  /* of the device's folder, links resolved */
        /* Folders, -1 for none: the device, its card, hwmon, where its PCIe link ends, Intel's GT.
         */
        int dir, card_dir, hwmon, link, gt;
        uint8_t temp_gpu, temp_junction, temp_mem; /* hwmon channels; 0 for none */

        struct drm_counter energy, xgmi_read, xgmi_write;
        struct drm_counter residency[DRM_RESIDENCY_COUNT];
        bool asked;  /* AMD's library is asked about it */
        size_t rocm; /* its place there */
        struct drm_counter sent;
        struct raw sent_rate;
        int64_t slow_ns; /* when the slow values below were read; 0 for never */
        struct raw slow[DRM_FIELD_COUNT];
        int64_t read_ns; /* when the values below were read; 0 for never */
        struct raw last[DRM_FIELD_COUNT];
        struct gpu_metrics table;
        bool has_table;
        enum gm_result table_result; /* why there is none */
};

/* The drm source without a thread: next() takes as long as the drivers do. */
extern const struct source_ops drm_reader;
extern const struct source_ops source_drm; /* with one */

/* What discovery passed over, for messages. */
struct drm_passed {
        unsigned nvidia;      /* left to NVML */
        unsigned display;     /* no render node: they show pictures only */
        unsigned unreachable; /* their nodes are not in /dev/dri, as in a container */
};

/* Finds GPUs below root, ordered by PCI address. 0 or a negative errno. */
int drm_find_gpus(const char *root, struct drm_gpu *gpus, size_t max, size_t *ret_n,
                  struct drm_passed *ret_passed);
/* Whether there is one of a vendor's own driver other than NVIDIA's. Cheap: only links are read. */
bool drm_has_gpu(const char *root);
/* Closes the folders. */
void drm_forget_gpu(struct drm_gpu *gpu);
/* Opens them again when a GPU that was gone is back, under other numbers it may be. False while it
 * is not. */
bool drm_reopen_gpu(struct drm_gpu *gpu);

/* A GPU of AMD's compute driver, or a partition of one. */
struct drm_node {
        uint64_t place;  /* PCI address: the domain in bits 63 to 32, the rest in 15 to 0 */
        unsigned render; /* the number of its render node; 0 when that is not reported */
};

/* Reads one of the driver's list, whose text is taken apart. False for a node that is not a GPU. */
bool drm_parse_node(char *text, struct drm_node *ret);
/* Whether a partition of the GPU has its render node in the folder. */
bool drm_has_partition_node(const char *root, const struct drm_gpu *gpu, int folder);
/* Finds out how the vendors count: brand, ordinal, ordinals. Intel's tiles count unless it is asked
 * for cards. */
void drm_number_gpus(const char *root, bool intel_cards, struct drm_gpu *gpus, size_t n);

/* 1 suspended, 0 awake, negative errno when the device or its driver is gone. Never wakes it. */
int drm_is_suspended(const struct drm_gpu *gpu);
/*
 * How long the GPU has to be left alone before the kernel may suspend it; 0 when it never does.
 * Every read puts the suspension off.
 */
int64_t drm_suspend_delay_ns(const struct drm_gpu *gpu);
/* Whether a screen is on at one of its connectors. Wakes nothing either. */
bool drm_shows_pictures(const struct drm_gpu *gpu);
/* Fills cells[DRM_FIELD_COUNT] with all that sysfs gives. The GPU must be awake. */
void drm_read_gpu(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells);
/* The parts of it. */
void drm_read_hwmon(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells);
void drm_read_amdgpu(struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells);
void drm_read_intel(struct drm_gpu *gpu, struct raw *cells);
/* The rate of a counter since its last reading, by value_rate(). */
struct raw drm_rate(struct drm_counter *before, double v, int64_t mono_ns);
/* Error counts and retired pages, which cost more to ask for. */
void drm_read_errors(const struct drm_gpu *gpu, struct raw *cells);
/* Texts about a GPU that only amdgpu has. */
void drm_identify_amdgpu(struct drm_gpu *gpu);
/* How it is divided, which may change. Asks the hardware, so the GPU must be awake. */
void drm_read_partition(struct drm_gpu *gpu);
/* How it is divided: compute "CPX", memory "NPS4"; both may be empty. */
void drm_set_partition(struct drm_gpu *gpu, const char *compute, const char *memory);

/*
 * Starts AMD's library (NULL: where it usually is) when GPUs lack something that it may report.
 * They must have been read once. NULL when nothing is lacking, or the library may not be started.
 */
struct rocm *drm_rocm_open(const char *root, const char *library, struct drm_gpu *gpus, size_t n);
/* Asks it for news, unless a GPU is asleep. rocm may be NULL. */
void drm_rocm_query(struct rocm *rocm, const struct drm_gpu *gpus, size_t n);
/* What it said last. rocm may be NULL. */
void drm_rocm_put(struct rocm *rocm, struct drm_gpu *gpu, int64_t mono_ns, struct raw *cells);
