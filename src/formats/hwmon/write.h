/* Writes a hardware monitor's folder. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "formats/bundle.h"
#include "model/frame.h"
#include "model/host.h"
#include "session/mark.h"

/* Adds a tick to hw_metrics.csv and hw_dmon.csv, making them when needed. 0 or -ENOMEM. */
int hwmon_write_frame(struct bundle *files, const struct frame *f);
/* Adds a tick of the host to cpu_metrics.csv, when it has such figures. 0 or -ENOMEM. */
int hwmon_write_host(struct bundle *files, const struct host *h);
/* cpu_metrics.csv from a run's own numbers of those names. */
int hwmon_write_cpu(struct bundle *files, const struct mark *marks, size_t n);
