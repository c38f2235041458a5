/* Asks NCCL's service for reliability (RAS, NCCL 2.24 and newer) on this machine for its status. */
#pragma once

#include "base/err.h"
#include "model/ras.h"

#define RAS_ADDRESS "localhost:28028"
#define RAS_PATIENCE_S 3 /* that NCCL itself takes to ask its other processes */

/*
 * address: "localhost:PORT", or a numeric one: names are not resolved. 1 when it answered or tried
 * to (ret->why says what went wrong), 0 when nothing listens there, ERR_USAGE with err for what is
 * not an address, or -ENOMEM. Takes a few seconds at most, whatever the other end does.
 */
int ras_query(const char *address, struct ras_report *ret, struct err *err);
