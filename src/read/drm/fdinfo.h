/*
 * What the kernel reports one DRM client in /proc/PID/fdinfo/FD, as documented in the kernel's
 * drm-usage-stats. Pure parser; the scanner that finds the files is read/drm/scan.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDINFO_TEXT_MAX 16384 /* a file has well below 4 KiB */
#define FDINFO_ENGINES_MAX 16
#define FDINFO_REGIONS_MAX 8
#define FDINFO_NAME_MAX 24

/* Work of one kind of engine. Drivers give nanoseconds, or cycles, or both. */
struct fdinfo_engine {
        char name[FDINFO_NAME_MAX];
        bool has_ns, has_cycles, has_total;
        uint64_t ns;           /* busy time for this client */
        uint64_t cycles;       /* busy cycles for this client */
        uint64_t total_cycles; /* cycles that passed, busy or not (xe) */
        uint64_t max_hz;       /* the engine's highest clock; 0 when not reported */
        uint32_t capacity;     /* engines of this kind; at least 1 */
};

/* Memory of one kind: what is resident where the driver reports, else what is allocated. */
struct fdinfo_region {
        char name[FDINFO_NAME_MAX];
        uint8_t rank; /* how good the figure is: resident above memory above total */
        uint64_t bytes;
};

struct fdinfo {
        char driver[FDINFO_NAME_MAX];
        char pdev[FDINFO_NAME_MAX]; /* "0000:03:00.0"; empty for devices that are not on PCI */
        bool has_client;
        uint64_t client;
        size_t n_engines, n_regions;
        struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
        struct fdinfo_region regions[FDINFO_REGIONS_MAX];
};

/* False when the text is not a DRM client's. What does not fit the tables is left out. */
bool fdinfo_parse(const char *text, size_t len, struct fdinfo *ret);

/* Memory on the device, and memory of the host that the device uses. */
uint64_t fdinfo_device_bytes(const struct fdinfo *f);
uint64_t fdinfo_host_bytes(const struct fdinfo *f);
