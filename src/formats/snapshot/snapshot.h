/* A snapshot of stacks that another assay wrote (docs/JSON.md). It comes from another machine:
 * every count and text is bounded, and what makes no sense is an error. */
#pragma once

#include "base/err.h"
#include "model/stack_snapshot.h"

#define SNAPSHOT_HOST_PROCESSES_MAX 1024 /* of one machine; what is beyond is left out */
#define SNAPSHOT_HOST_THREADS_MAX 16384
#define SNAPSHOT_HOST_GPUS_MAX 64

/* Adds what a host of the snapshot wrote; schema is the one that is understood. 0, ERR_DATA with
 * err, or -ENOMEM. */
int snapshot_parse(const char *text, size_t n, int schema, uint32_t host,
                   struct stack_snapshot *ret, struct err *err);
