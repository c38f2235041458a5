/* Dumps of a flight recorder: why one was written, and what became of the last. */
#pragma once

#include "base/err.h"
#include "model/naming.h"

#include <stdbool.h>
#include <stdint.h>

enum dump_cause {
#define DUMP_CAUSE(id, name, asked, text) DUMP_CAUSE_##id,
#include "model/dump_causes.def"
#undef DUMP_CAUSE
        DUMP_CAUSE_COUNT
};

struct dump_cause_info {
        const char *name, *text; /* name: in files and labels */
        bool asked;              /* somebody waits for it */
};

const struct dump_cause_info *dump_cause_info(enum dump_cause cause);

#define DUMP_TEXT_MAX 160
#define DUMP_FILE_MAX 128 /* a name in the folder of dumps */

struct dump_reason {
        enum dump_cause cause;
        char gpu[GPU_NAME_MAX]; /* "" for none */
        char text[DUMP_TEXT_MAX];
        int64_t wall_ns, mono_ns; /* when it happened */
};

/* What a recorder has written so far. */
struct dump_status {
        bool busy;                          /* one is asked for or being written */
        int64_t kept_ns;                    /* how much it holds */
        uint64_t written[DUMP_CAUSE_COUNT]; /* by their first cause */
        uint64_t failed;                    /* could not be written */
        uint64_t held_back;                 /* events that a dump of the same kind had just been
                                               written for */
        struct dump_reason last;            /* of the newest that was written */
        char file[DUMP_FILE_MAX];           /* its name; "" while there is none */
        int64_t ended_wall_ns;              /* its newest moment */
        int64_t asked_mono_ns;              /* what came before is in it, or was refused */
        uint64_t bytes;
        int64_t took_ns; /* to write it */
        struct err err;  /* why the newest could not be written; code 0 when it was */
};
