/* What a tape is made of. Only its writer and its reader know. */
#pragma once

#include "session/tape.h"

#include <assert.h>
#include <stdatomic.h>

#define TAPE_MAGIC "assay tape 1\n"
#define TAPE_HAS_SECONDS 1u
#define TAPE_HAS_VALUE 2u
#define TAPE_READY 0x7a9e0001u

/* The place of the first slot. */
struct tape_head {
        char magic[16];
        uint32_t slot_bytes, slots;
        atomic_uint ended; /* the recording is over */
        uint32_t unused;
        int64_t pid;
        char host[MARK_HOST_MAX];
};

struct tape_slot {
        atomic_uint ready; /* TAPE_READY, stored last */
        uint16_t type, has;
        int64_t wall_ns, mono_ns;
        double seconds, value;
        char name[MARK_NAME_MAX];
        char unused[TAPE_SLOT_BYTES - 40 - MARK_NAME_MAX];
};

static_assert(sizeof(struct tape_slot) == TAPE_SLOT_BYTES, "slots have no gaps");
static_assert(sizeof(struct tape_head) <= TAPE_SLOT_BYTES, "the head is as long as a slot");

#define TAPE_BYTES ((size_t)TAPE_SLOT_BYTES * (TAPE_SLOTS + 1))
