/* How dcgmi is called: the words of each command, and which fields to ask for. */
#pragma once

#include "read/dcgm/discovery.h"

/* How much to ask for: each refusal of the counters leads to the next. */
enum dcgm_plan {
        DCGM_PLAN_ALL,
        DCGM_PLAN_MOST,     /* without the engines for JPEG and optical flow */
        DCGM_PLAN_ONE_PASS, /* without the counters that some GPUs cannot measure beside others */
        DCGM_PLAN_DEVICE,   /* no counters */
};

#define DCGM_IDS_MAX 128 /* what DCGM takes in one group */
#define DCGM_ID_PROFILING 1001
#define DCGM_ID_PROFILING_END 1200
#define DCGM_ID_NAME 50 /* of a slice: its profile */
#define DCGM_ID_UUID 54

struct dcgm_ids {
        size_t n;
        unsigned id[DCGM_IDS_MAX];
};

/* The ids of the plan among those wanted, and with slices what distinguishes them; known may be
 * NULL, or empty when nothing was learnt. */
void dcgm_choose_ids(const unsigned *wanted, size_t n, enum dcgm_plan plan, bool slices,
                     const struct dcgm_fields *known, struct dcgm_ids *ret);

struct dcgm_command {
        const char *argv[16];
        char ids[DCGM_IDS_MAX * 6];
        char entities[DCGM_GPUS_MAX * 6];
        char delay[24];
};

enum dcgm_verb { DCGM_LIST_GPUS, DCGM_LIST_SLICES, DCGM_LIST_FIELDS, DCGM_STREAM };

/* Fills argv, which points into ret and at program and host (may be NULL). ids, inv and delay_ms
 * matter to DCGM_STREAM only. */
void dcgm_build_command(enum dcgm_verb verb, const char *program, const char *host,
                        const struct dcgm_ids *ids, const struct dcgm_inventory *inv,
                        int64_t delay_ms, struct dcgm_command *ret);
