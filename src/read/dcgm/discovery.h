/* Who is who for DCGM: what `dcgmi discovery -l` and `-c` and `dcgmi dmon -l` print, line by line.
 */
#pragma once

#include "model/entity.h"

#define DCGM_GPUS_MAX 64
#define DCGM_SLICES_MAX 1024
#define DCGM_FIELDS_MAX 4096

struct dcgm_gpu {
        int32_t id;    /* as the engine numbers it */
        int32_t local; /* as this machine or container numbers it; -1 when it cannot be reached */
        char name[ENTITY_TEXT_MAX];
        char pci[ENTITY_TEXT_MAX];
        char uuid[ENTITY_TEXT_MAX];
};

/* A MIG slice: the flat number dmon prints, and where it belongs. */
struct dcgm_slice {
        enum entity_kind kind;
        int32_t flat;
        int32_t gpu; /* as the engine numbers it */
        int32_t gi, ci;
};

struct dcgm_inventory {
        size_t n_gpus;
        struct dcgm_gpu gpus[DCGM_GPUS_MAX];
        size_t n_slices;
        struct dcgm_slice slices[DCGM_SLICES_MAX];
        bool in_gpus; /* inside the table of GPUs: switches and CPUs have tables that look alike */
};

/* Takes a line of `discovery -l`; false when it means nothing. */
bool dcgm_take_gpu(struct dcgm_inventory *inv, const char *s, size_t len);
/* Takes a line of `discovery -c`; false when it means nothing. */
bool dcgm_take_slice(struct dcgm_inventory *inv, const char *s, size_t len);

/* The fields dcgmi knows, one bit an id. */
struct dcgm_fields {
        size_t n;
        uint8_t known[DCGM_FIELDS_MAX / 8];
};

/* Takes a line of `dmon -l`; false when it names no field. */
bool dcgm_take_field(struct dcgm_fields *fields, const char *s, size_t len);
bool dcgm_has_field(const struct dcgm_fields *fields, unsigned id);

/* The GPU of that engine number, or NULL. */
const struct dcgm_gpu *dcgm_find_gpu(const struct dcgm_inventory *inv, int32_t id);
/* The GPU of that local number, or NULL. */
const struct dcgm_gpu *dcgm_find_local(const struct dcgm_inventory *inv, int32_t local);
/* dmon's way of naming an entity becomes (local GPU, GPU instance, compute instance) and the UUID;
 * what cannot be reached or is not known becomes ENTITY_OTHER. arg is an inventory. */
void dcgm_rename(const void *arg, struct entity_key *key);
/* How many rows a round of dmon has for what can be reached, slices included. */
size_t dcgm_expected_rows(const struct dcgm_inventory *inv);
