/* The files of a hardware monitor: what they report a run, and its CPU figures as ticks. */
#pragma once

#include "base/err.h"
#include "model/host.h"
#include "model/summary.h"

/* Whether it is the folder of a hardware monitor; puts the file with the GPUs into path. */
bool hwmon_is_one(const char *folder, char *path, size_t size);
/* Puts its dmon file, which has the GPUs too, into path; false when there is none. */
bool hwmon_dmon(const char *folder, char *path, size_t size);
/* The memory controller's utilization from its dmon file. 0 or an error. */
int hwmon_facts(struct run_facts *f, const char *folder, struct err *err);
/* The same from the file itself. */
int hwmon_dmon_facts(struct run_facts *f, const char *path, struct err *err);

/* Its CPU figures, as ticks of the host. */
struct hwmon_cpu;
int hwmon_cpu_open(const char *folder, struct hwmon_cpu **ret, struct err *err);
/* The same from the file itself; NULL has none. */
int hwmon_cpu_open_file(const char *path, struct hwmon_cpu **ret, struct err *err);
void hwmon_cpu_close(struct hwmon_cpu *c);
size_t hwmon_cpu_samples(const struct hwmon_cpu *c);
/* 1 (valid until the next call), or 0 at the end. */
int hwmon_cpu_next(struct hwmon_cpu *c, const struct host **ret);
