/*
 * Why a job does not continue: what its ranks do, which of them differ, and what that says. Made
 * from a snapshot that watched them for a while (stack_snapshot.h), and from what NCCL says
 * (ras.h).
 */
#pragma once

#include "model/ras.h"
#include "model/stack_snapshot.h"
#include "model/where.h"

enum why_cause {
#define WHY(id, name, sure, words, advice) WHY_##id,
#include "model/why.def"
        WHY_CAUSE_COUNT
};

struct why_cause_info {
        const char *name, *words, *advice;
        bool sure; /* it explains a hang by itself */
};
const struct why_cause_info *why_cause_info(enum why_cause cause);

/* What a rank, or a process that is not one of many, does. */
enum why_doing {
        WHY_UNKNOWN, /* it could not be read */
        WHY_MOVES,   /* it makes progress, or goes from line to line */
        WHY_IDLE,    /* it waits for input: of a terminal, of requests, of a notebook's user */
        WHY_WAITS,   /* asleep in one place all the time */
        WHY_SPINS,   /* runs all the time, and nothing else changes */
        WHY_HALTED,  /* stopped by a signal or a debugger */
        WHY_DOING_COUNT
};
/* "unknown", "moves", "idle", "waits", "spins", "halted". */
const char *why_doing_name(enum why_doing doing);

#define WHY_NONE UINT32_MAX
#define WHY_DETAIL_MAX 160

struct why_rank {
        uint32_t process; /* place in the snapshot */
        uint32_t thread;  /* place of the thread that says where it is; WHY_NONE: none was read */
        uint32_t group;   /* of those in the same place; the first is the largest */
        uint8_t doing;    /* enum why_doing */
        bool in_collective;
        struct value since_s; /* how long it has been there */
};

struct why_finding {
        enum why_cause cause;
        bool sure;         /* it explains a hang here */
        uint32_t host;     /* place in the snapshot's hosts; WHY_NONE: unknown */
        uint32_t process;  /* place in the snapshot; WHY_NONE: none */
        uint32_t thread;   /* likewise */
        uint32_t gpu;      /* likewise */
        struct value rank; /* of the job */
        struct value since_s;
        char detail[WHY_DETAIL_MAX]; /* in what, in words; "" for nothing more */
};

enum why_outcome { WHY_FINE, WHY_FOUND, WHY_NOT_KNOWN };
/* "fine", "found", "not_known". */
const char *why_outcome_name(enum why_outcome outcome);

struct why {
        const struct stack_snapshot *snapshot; /* borrowed, as what NCCL says */
        const struct ras_report *ras;          /* NULL: it was not asked */
        struct why_rank *ranks;                /* by rank, those without one last */
        struct why_finding *findings;          /* in the order of the causes */
        size_t n_ranks, cap_ranks, n_findings, cap_findings, n_groups;
        size_t in_common; /* ranks in the place where most wait; 0: there is none */
        struct value
            stalled_s; /* how long nothing has moved; missing: something does, or unknown */
        enum why_outcome outcome;
};
void why_finish(struct why *w);
/* The line that a thread of the snapshot is in: the user's own (of one that goes from line to line,
 * of the innermost function that it never left: the loop), and the one inside of it where that is
 * another (else its file is empty). False without lines. */
bool why_line(const struct stack_snapshot *l, uint32_t thread, struct code_line *ret_own,
              struct code_line *ret_inner);
/* Whether a function is one in which ranks wait for each other. */
bool why_is_collective(const char *function);
