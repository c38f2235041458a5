/*
 * What NCCL's own service for reliability says of a job (RAS, since NCCL 2.24): its communicators,
 * and of their ranks those that are missing, dead, behind or in error.
 */
#pragma once

#include "model/node.h"
#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

#define RAS_COUNT_MAX 1e15  /* collectives of one rank: a year of 30 million a second */
#define RAS_RANKS_MAX 65536 /* that are kept: those about which there is something to say */
#define RAS_TEXT_MAX 128

enum ras_trouble {
        RAS_FINE,
        RAS_MISSING, /* does not answer NCCL */
        RAS_DEAD,    /* NCCL has given it up */
        RAS_BEHIND,  /* has begun fewer collectives than others of its communicator */
        RAS_ERROR,   /* an asynchronous error */
        RAS_TROUBLE_COUNT
};

struct ras_rank {
        uint64_t communicator; /* its hash */
        struct value rank;
        char host[NODE_NAME_MAX];
        int32_t pid;             /* 0: unknown */
        uint8_t trouble;         /* enum ras_trouble */
        struct value count;      /* collectives that it has begun */
        struct value most;       /* that any of its communicator has begun */
        char text[RAS_TEXT_MAX]; /* the error, cleaned; "" for none */
};

struct ras_report {
        char version[32];         /* of NCCL; "" when unknown */
        char why[NODE_WORDS_MAX]; /* it said nothing; "" when it did */
        size_t communicators, processes;
        struct ras_rank *ranks;
        size_t n, cap;
};

void ras_report_finish(struct ras_report *r);
/* A new entry, all of it unknown; NULL when there are too many or memory is short. */
struct ras_rank *ras_report_add(struct ras_report *r);
/* "fine", "missing", "dead", "behind", "error". */
const char *ras_trouble_name(enum ras_trouble trouble);
