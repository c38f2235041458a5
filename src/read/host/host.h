/* Reads all levels and the machine, once a tick. */
#pragma once

#include "base/err.h"
#include "model/host.h"
#include "read/host/evidence.h"
#include "read/listing.h"

/* Text is borrowed while opening only; NULL is not given. */
struct host_config {
        const char *root; /* of the file system; "" for the real one */
        /* Renewed at each tick, for all who share it; borrowed while opening. NULL: its own. */
        struct listing *listing;
        unsigned levels;  /* LEVEL_BIT of each wanted */
        int32_t pid;      /* the target; 0 for none: then our own user, job and cgroup are meant */
        const char *user; /* name or uid */
        const char *job;
        const char *cgroup; /* a path as in /proc/PID/cgroup, or a folder below /sys/fs/cgroup */
        bool pss;           /* measure PSS and USS, on a budget */
        /* Model servers to ask: addresses between commas, "auto" for those that run here. "" or
         * NULL: none. */
        const char *engines;
        bool engines_only; /* the GPUs are of another host: nothing of this one is said of them */
        bool reaps;        /* our first thread started the target, and we are its subreaper */
};

struct host_reader;

/* 0, or a negative code with err: ERR_USAGE for a target that does not exist. */
int host_open(const struct host_config *config, struct host_reader **ret, struct err *err);
void host_close(struct host_reader *h);
/* Borrowed: what the host renews at each tick. */
struct listing *host_listing(const struct host_reader *h);
/*
 * One tick: fills times, levels with their counters and gauges, and the machine. Rates are left to
 * compute/. 0 or a negative code with err.
 */
int host_read(struct host_reader *h, struct host *ret, struct err *err);
/*
 * Who holds which GPU, for the evidence of the ticks to come. n_gpus places of the host are GPUs;
 * known is false when the source cannot report: then the list is not examined.
 */
void host_hold(struct host_reader *h, size_t n_gpus, bool known, const struct host_holder *list,
               size_t n);
/* Those of the last tick; how many. Processes that /proc does not show are left out. */
size_t host_servers(const struct host_reader *h, struct host_server *list, size_t max);
/* Which levels a process belongs to, as of the last tick: bits, 0 when it is not known. */
unsigned host_levels_of(const struct host_reader *h, int32_t pid);
