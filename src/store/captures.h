/* Writes what other tools write: dcgmi dmon captures, and a hardware monitor's folder. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/frame.h"
#include "model/host.h"
#include "store/bundle.h"
#include "store/mark.h"

/* Header lines, as dcgmi dmon prints them. */
void dmon_write_header(struct strbuf *out);
/* One round. */
void dmon_write_frame(const struct frame *f, struct strbuf *out);

/* Adds a tick to hw_metrics.csv and hw_dmon.csv, making them when needed. 0 or -ENOMEM. */
int hwmon_write_frame(struct bundle *files, const struct frame *f);
/* Adds a tick of the host to cpu_metrics.csv, when it has such figures. 0 or -ENOMEM. */
int hwmon_write_host(struct bundle *files, const struct host *h);
/* cpu_metrics.csv from a run's own numbers of those names. */
int hwmon_write_cpu(struct bundle *files, const struct mark *marks, size_t n);
