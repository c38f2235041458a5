/*
 * The host as CSV: one row a level and tick. Utilization in percent, memory in GiB, I/O in bytes
 * and operations a second, totals in bytes, operations and seconds. Missing is an empty field.
 */
#pragma once

#include "base/strbuf.h"
#include "model/host.h"

/* The columns depend on how many cores and GPUs there are, so they are those of this host. */
void host_csv_header(const struct host *h, const char *end, struct strbuf *out);
/* Rows of the levels present. n_cores and n_gpus are those of the header. */
void host_csv_rows(const struct host *h, size_t n_cores, size_t n_gpus, const char *end,
                   struct strbuf *out);
