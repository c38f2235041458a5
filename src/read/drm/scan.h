/*
 * Looks through /proc for processes that hold a GPU, and turns the engine times of their DRM
 * clients into utilization. Opens only descriptors that point at /dev/dri. Memory is kept from scan
 * to scan; nothing is allocated once there is enough.
 */
#pragma once

#include "base/lookup.h"
#include "model/value.h"
#include "read/drm/fdinfo.h"
#include "read/listing.h"

#define SCAN_GPUS_MAX 128
#define SCAN_ENGINE_NAMES_MAX 48
#define SCAN_CLIENTS_MAX 65536
#define SCAN_PROCESSES_MAX (1 << 20)

/* A GPU to attribute clients to. */
struct scan_gpu {
        const char *pdev;   /* PCI address; "" when it has none */
        const char *card;   /* "card0"; "" when it has none */
        const char *render; /* "renderD128"; "" when it has none */
        bool one_video;     /* what is called "enc" decodes too, so it is neither's */
        bool asleep;        /* reading a client could wake it, so its descriptors stay closed */
};

/* Engines by what they do. */
enum scan_class {
        SCAN_RENDER, /* graphics and compute */
        SCAN_ENCODE,
        SCAN_DECODE,
        SCAN_JPEG,
        SCAN_OTHER, /* copies, and video engines that do both */
        SCAN_CLASS_COUNT
};

/* What all clients of a GPU did since the scan before; one whose counters were reset adds nothing.
 */
struct scan_device {
        bool has_util;  /* there was a scan before, and both saw all processes */
        double busiest; /* share of time the busiest kind of engine was busy, 0 to 1 */
        bool computes;  /* somebody does through AMD's compute driver */
        bool has[SCAN_CLASS_COUNT];
        double util[SCAN_CLASS_COUNT];
        uint32_t processes;
        uint32_t clients;
        uint64_t device_bytes, host_bytes;
};

/* What one process did on one GPU. A client that processes share counts for the lowest pid. */
struct scan_use {
        uint32_t pid;
        uint16_t gpu;          /* place in the list of GPUs */
        uint8_t state;         /* of util, encode and decode: enum state */
        bool computes;         /* through AMD's compute driver, whose work no engine time counts */
        double util;           /* of its busiest kind of engine, 0 to 1 */
        double encode, decode; /* of the video engines that do only that */
        uint32_t clients;
        uint64_t device_bytes, host_bytes;
};

struct scan_engine {
        uint8_t name;  /* in drm_scan.names */
        uint8_t falls; /* scans in a row in which the counter was below its highest */
        bool has_total;
        uint32_t capacity;
        uint64_t busy;  /* nanoseconds, or cycles when has_total or max_hz */
        uint64_t total; /* cycles that passed */
        uint64_t max_hz;
};

struct scan_client {
        uint16_t gpu;
        uint8_t n;
        uint32_t pid; /* the first process seen with it */
        uint64_t id;
        struct scan_engine engines[FDINFO_ENGINES_MAX];
};

/* What is remembered of a process, so that those without a GPU are not looked through each time. */
struct scan_visit {
        uint32_t pid;
        bool holds_gpu;
        bool denied; /* the user may not look into it */
        bool unseen; /* never looked through: a scan's budget was spent before its turn */
        uint64_t inode;
        int64_t born_ns; /* when it was first seen; 0 when it was present before the first scan */
        int64_t checked_ns;
};

struct scan_table {
        void *list;
        size_t n, cap;
        struct lookup places; /* by hash */
};

struct drm_scan {
        int proc;                     /* /proc below the root */
        struct listing *listing;      /* NULL where there is no /proc */
        struct listed_processes all;  /* of this scan */
        int64_t now_ns, before_ns;    /* of the last two scans; 0 for none */
        struct scan_table clients[2]; /* [round & 1] is the newest */
        struct scan_table processes[2];
        unsigned round;
        char names[SCAN_ENGINE_NAMES_MAX][FDINFO_NAME_MAX];
        uint8_t classes[SCAN_ENGINE_NAMES_MAX]; /* enum scan_class */
        size_t n_names;
        size_t n_gpus;
        struct scan_device devices[SCAN_GPUS_MAX];
        double shares[SCAN_GPUS_MAX][SCAN_ENGINE_NAMES_MAX]; /* by GPU and engine name */
        struct scan_use *uses;
        size_t n_uses, uses_cap;
        int64_t first_budget_ns; /* for processes that no scan has looked through */
        bool whole_before;       /* the scan before left none out */
        uint32_t unseen;         /* processes left for the next scan: what is known is a part */
        uint32_t denied;         /* processes that the user may not look into */
        uint32_t visited;        /* processes looked through in this scan */
        char *text;
};

/* root is "" for the real file system; listing NULL for one of its own. 0 or a negative errno;
 * without /proc scans find nothing. */
int drm_scan_init(struct drm_scan *s, const char *root, struct listing *listing);
void drm_scan_finish(struct drm_scan *s);
/* Looks once. now_ns is on the monotonic clock. 0 or -ENOMEM. */
int drm_scan_run(struct drm_scan *s, const struct scan_gpu *gpus, size_t n, int64_t now_ns);
