/*
 * What is known of the processes that hold GPUs beyond their own counters: their threads, the CPUs
 * they may use, what they compute with. Each on a cadence of its own, so that a tick stays short.
 */
#pragma once

#include "read/host/scanner.h"
#include "read/host/threads.h"

struct holders;

struct holders_config {
        int root;                           /* borrowed, as the mounts */
        const struct cgroup_mounts *mounts; /* NULL: threads and CPUs are not examined */
        size_t fd_budget;
};

/* 0 or a negative errno. */
int holders_open(const struct holders_config *config, struct holders **ret);
void holders_close(struct holders *h);
/* Once a tick, after the scan. */
void holders_tick(struct holders *h, struct scanner *scanner, int64_t mono_ns);

/* What the holders of a group are together. */
struct holders_sum {
        struct value busiest; /* of all their threads; a ratio of one core */
        struct value first;   /* all their main threads, in cores; missing when one of them is */
        struct value queued;  /* the largest share that one of their threads waited for a CPU */
        struct value cpus;    /* the most that one of them may use */
        struct value framework;
        uint32_t blocked; /* threads in uninterruptible sleep, main threads left out */
};

void holders_sum(const struct holders *h, size_t group, int64_t mono_ns, struct holders_sum *ret);
/* enum framework of a process that holds a GPU, or missing. */
struct value holders_framework(const struct holders *h, int32_t pid);
