/* Rows of dmon gathered into rounds. The last whole round is kept, for when there is no news. */
#pragma once

#include "formats/dmon/dmon.h"
#include "read/dcgm/command.h"

struct dcgm_rounds {
        const struct dcgm_inventory *inventory; /* borrowed: who is who */
        size_t expected;                        /* rows a round */
        struct dmon dmon;
        struct batcher round[2]; /* the one being gathered and the last one */
        unsigned gathering;      /* which of them */
        int name_field, pci_field;
        bool settled;         /* this stream has given a round */
        unsigned passed_over; /* rounds of this stream whose counters had no values yet */
        uint64_t rows;
        bool any;                 /* there is a last round */
        int64_t mono_ns, wall_ns; /* when it was complete */
};

enum dcgm_taken {
        DCGM_TAKEN,
        DCGM_ROUND,     /* taken, and a round is complete */
        DCGM_NOT_A_ROW, /* neither row nor header: someone else's to read */
        DCGM_NO_MEMORY,
};

void dcgm_rounds_init(struct dcgm_rounds *r, const struct dcgm_inventory *inventory);
void dcgm_rounds_finish(struct dcgm_rounds *r);
/* A new stream begins: a round that was half gathered is dropped, the last one is kept. */
void dcgm_rounds_restart(struct dcgm_rounds *r);

/* Takes a line. A round is complete when all entities came, or one came again. */
enum dcgm_taken dcgm_rounds_take(struct dcgm_rounds *r, const struct line *line);
/* Whether rows wait for the rest of their round. */
bool dcgm_rounds_waiting(const struct dcgm_rounds *r);
/* Makes what was gathered the last round; false when it has nothing to report. */
bool dcgm_rounds_complete(struct dcgm_rounds *r);

/* The last round. There must be one. */
void dcgm_rounds_give(const struct dcgm_rounds *r, struct batch *ret);
/* The last round once more, each value with its age. */
void dcgm_rounds_give_stale(struct dcgm_rounds *r, int64_t now_ns, struct batch *ret);
