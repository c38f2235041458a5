/* What is measured: a GPU, a slice of one. What is known about it that does not change each tick.
 */
#pragma once

#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entity_kind {
        ENTITY_GPU,
        ENTITY_GPU_INSTANCE,     /* MIG: a slice of memory and SMs */
        ENTITY_COMPUTE_INSTANCE, /* MIG: a share of a GPU instance's SMs */
        ENTITY_OTHER,            /* a CPU, a link, a switch: read past */
};

/* Whose GPU it is: each vendor has a numbering and a visibility variable of its own. */
enum vendor { VENDOR_UNKNOWN, VENDOR_NVIDIA, VENDOR_AMD, VENDOR_INTEL, VENDOR_COUNT };

/* How a source names an entity. Text is borrowed from the source and may be empty. */
struct entity_key {
        enum entity_kind kind;
        int32_t index; /* of the GPU, as the source numbers it; -1 when not known */
        int32_t gi;    /* GPU instance id; -1 when not one */
        int32_t ci;    /* compute instance id; -1 when not one */
        int32_t flat;  /* dcgmi's flat number of a MIG entity; -1 otherwise */
        const char *host;
        size_t host_len;
        const char *uuid;
        size_t uuid_len;
        enum vendor vendor;
        int32_t ordinal;  /* number by the vendor's own counting, where the vendor is known */
        int32_t ordinals; /* how many numbers it has there: a divided GPU one a partition */
};

/* Text facts about an entity. ENTITY_TEXT(id, name): name as in JSON and the CSV columns. */
#define ENTITY_TEXTS(ENTITY_TEXT)                                                                  \
        ENTITY_TEXT(MODEL, "model")                                                                \
        ENTITY_TEXT(UUID, "uuid")                                                                  \
        ENTITY_TEXT(PCI, "pci")                                                                    \
        ENTITY_TEXT(SERIAL, "serial")                                                              \
        ENTITY_TEXT(DRIVER, "driver")                                                              \
        ENTITY_TEXT(DEVICE, "device")                                                              \
        ENTITY_TEXT(NUMA, "numa_node")                                                             \
        ENTITY_TEXT(MIG_PROFILE, "mig_profile")                                                    \
        ENTITY_TEXT(HOST, "hostname")                                                              \
        ENTITY_TEXT(JOB, "job")                                                                    \
        ENTITY_TEXT(CONTAINER, "container")                                                        \
        ENTITY_TEXT(NAMESPACE, "namespace")                                                        \
        ENTITY_TEXT(POD, "pod")                                                                    \
        ENTITY_TEXT(VBIOS, "vbios")

enum entity_text {
#define ENTITY_TEXT(id, name) ENTITY_TEXT_##id,
        ENTITY_TEXTS(ENTITY_TEXT)
#undef ENTITY_TEXT
            ENTITY_TEXT_COUNT
};

#define ENTITY_LABEL_MAX 32
#define ENTITY_TEXT_MAX 80

struct entity {
        uint32_t slot; /* a small number, stable while the program runs */
        enum entity_kind kind;
        int32_t index, gi, ci, flat;
        enum vendor vendor;
        int32_t ordinal, ordinals;    /* as in the key */
        uint32_t whole;               /* of a slice: slot + 1 of its GPU; 0 when not known */
        char label[ENTITY_LABEL_MAX]; /* what people call it: "0", "1/7", "GPU-I 7" */
        bool shown;                   /* the selection includes it */
        char text[ENTITY_TEXT_COUNT][ENTITY_TEXT_MAX];
};

const char *entity_text_name(enum entity_text text);
/* ENTITY_TEXT_COUNT when there is no such fact. */
enum entity_text entity_text_find(const char *name, size_t len);
/* Copies at most what fits; an over-long text is cut, and what cannot be shown becomes '?'. */
void entity_set_text(struct entity *e, enum entity_text text, const char *s, size_t len);
/* What people call its kind: "GPU", "MIG", and "part" for a partition of an AMD GPU. */
const char *entity_noun(const struct entity *e);
/* Whether it has a value of its own of a metric of that scope; a slice may show its GPU's. */
bool entity_owns(const struct entity *e, enum metric_scope scope);
/* Whether two are a GPU and its slice, or slices of one. */
bool entity_same_gpu(const struct entity *a, const struct entity *b);
/* Whether two have the same PCI address; domains are written with four digits or eight. */
bool entity_same_place(const struct entity *a, const struct entity *b);
/* dcgmi's names of slices, "GPU-I 7" and "GPU-CI 7": fills kind and flat. False when it is not one.
 */
bool entity_read_flat(const char *s, size_t len, struct entity_key *ret);
/* Order on screen and in files: host (node2 before node10), GPU, GPU instance, compute instance. */
int entity_compare(const struct entity *a, const struct entity *b);
