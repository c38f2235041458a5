/* A notebook monitor's session that is being read: what the files that read its parts share. */
#pragma once

#include "base/csvtext.h"
#include "formats/notebook/notebook.h"
#include "model/unit.h"

#include <jansson.h>
#include <math.h>
#include <sched.h>

#define NOTEBOOK_SECONDS_MAX 4e9 /* of a time that makes sense: the year 2096 */
#define NOTEBOOK_GPUS_MAX 256

/* What the manifest reports the run itself. */
struct notebook_run {
        struct value interval, stop_time, wall_stop, pid, uid; /* seconds */
        char slurm_job[64];
        cpu_set_t handles;
};

struct notebook {
        struct bundle files;
        double start_time; /* on the clock of the columns */
        double wall_start; /* the same moment since 1970 */
        double gpu_gib;    /* memory of one GPU; 0 when not known */
        char *text;        /* a copy of the perf file that is being read */
        struct csvtext perf;
        int time;
        size_t n_gpus;
        int util[NOTEBOOK_GPUS_MAX], band[NOTEBOOK_GPUS_MAX], mem[NOTEBOOK_GPUS_MAX];
        struct entity *entities;
        struct row *rows;
        struct frame frame;
        uint64_t ticks;
        double memory_limits[LEVEL_COUNT]; /* GiB; 0 when not known */
        double cpus, system_cpus;          /* likewise */
        bool alone;                        /* there is no manifest */
        bool io_counters; /* its I/O columns are counters divided by the time of a sample */
        struct notebook_run run;
        struct notebook_hosts *hosts; /* NULL before the first host is asked for */
};

/* Whether seconds since the start of the monitor's clock can be a time of a row. */
static inline bool notebook_is_time(const struct notebook *nb, double seconds)
{
        return fabs(seconds - nb->start_time) < NOTEBOOK_SECONDS_MAX;
}

/* A size or a count that the manifest reports; 0 stands for one that it does not. */
static inline struct value notebook_known(double v)
{
        return v > 0 && isfinite(v) ? value_ok(v) : value_missing(STATE_NONE);
}

void notebook_hosts_close(struct notebook_hosts *h);
/* The members of the manifest's "monitor"; NULL has none. */
void notebook_take_run(struct notebook_run *run, const json_t *monitor);
