/*
 * One scanner of /proc for all levels. It keeps descriptors open, knows a process by pid and start
 * time, follows descendants as they fork, and adds up what each level used so that totals never
 * fall. Not for more than one thread.
 */
#pragma once

#include "base/err.h"
#include "model/host.h"
#include "read/host/cgroup.h"
#include "read/host/procfs.h"
#include "read/host/slurm.h"
#include "read/listing.h"

/* Whom the levels are about. */
struct scan_target {
        int32_t pid; /* 0 for none */
        bool has_uid;
        uint32_t uid;
        char job[SLURM_JOB_MAX];          /* "" for none */
        char job_folder[CGROUP_PATH_MAX]; /* where the job's cgroups are, when already known */
        enum cgroup_kind group_kind;      /* CGROUP_KINDS for none */
        char group[CGROUP_PATH_MAX];
};

struct scan_config {
        int root;                /* descriptor of the folder that stands for "/", borrowed */
        struct listing *listing; /* of processes; NULL: one of its own */
        bool renews_listing;     /* at each tick, for all who share it */
        unsigned levels;         /* LEVEL_BIT of each that is wanted */
        struct scan_target target;
        bool all;             /* read the figures of every process, not only of the levels' */
        bool hear_forks;      /* ask the kernel who forks whom; for the real /proc only */
        int32_t reaper;       /* the process that orphans of the target come to; 0 when unknown */
        size_t fd_budget;     /* descriptors that may stay open */
        uint64_t clock_ticks; /* a second, as /proc counts; 0 asks the system */
        int64_t page_size;    /* 0 asks the system */
};

/*
 * Groups of processes around a GPU: those that hold it, and those that hold none and serve it:
 * their descendants, and what the watched command runs beside them. One more group is the watched
 * command's: its main process stands for a holder.
 */
#define SCAN_COMMAND HOST_GPUS_MAX
#define SCAN_GROUPS (HOST_GPUS_MAX + 1)
#define SCAN_GROUP_BIT(group) (1ULL << (group))
#define SCAN_HOLDERS_MAX 1024
#define SCAN_WORKS 0.05 /* of a core: one that uses less is resting */

struct scan_holder {
        int32_t pid;
        uint64_t groups; /* SCAN_GROUP_BIT of each GPU it holds */
};

/* What a group used and does. */
struct scan_group {
        uint64_t cpu_main; /* clock ticks of the holders; only grows */
        uint64_t cpu_children, cpu_debt;
        uint64_t io[PROC_IO_COUNT]; /* of both; only grow */
        uint64_t holders, children; /* processes, now */
        uint64_t workers;           /* children that do more than rest, by their last second */
        uint64_t blocked;           /* of both, whose main thread is in uninterruptible sleep */
        uint64_t io_denied;         /* holders whose I/O counters may not be read */
};

/* One process, as of the last tick. Text and numbers are /proc's. */
struct scan_process {
        int32_t pid, ppid, pgrp, session;
        uint64_t start, ino;
        uint32_t uid;
        char state;
        char comm[PROC_COMM_MAX];
        uint64_t own, waited; /* CPU, clock ticks */
        uint64_t threads, rss_pages;
        struct proc_io io;
        enum state io_state;
        uint8_t levels;         /* LEVEL_BIT of each it belongs to */
        uint64_t holds, serves; /* groups */

        /* For PSS: the last measurement, and what it cost. */
        int64_t pss_at_ns; /* 0 when never measured */
        int64_t pss_cost_ns;
        struct proc_smaps smaps;
        uint64_t pss_rss_pages; /* RSS at that time */

        /* The scanner's own. */
        int32_t next;        /* in its bucket or in the free list; -1 at the end */
        uint64_t seen;       /* the tick it was listed last */
        uint64_t born;       /* the tick it was found */
        uint64_t decided_at; /* the tick its levels were decided last */
        uint64_t read_at;    /* the tick its stat was read last */
        int stat_fd, io_fd;  /* -1 when not open */
        bool fresh, denied, beside, in_job;
        uint8_t levels_before;
        uint64_t groups_before, holds_before;
        int32_t first_ppid; /* its parent when it was found */
        uint64_t own_before, waited_before;
        struct proc_io io_before;
        bool io_known_before;
        int64_t read_ns, io_ns, moved_ns; /* when stat and io were read, and CPU time last grew */
        int64_t paced_ns;                 /* since when its pace is being measured; 0: not yet */
        uint64_t paced_from;              /* CPU, clock ticks, at that time */
        bool works;            /* it kept SCAN_WORKS of a core busy, or was ready to, lately */
        uint32_t looks, ready; /* since paced_ns; how often it wanted a CPU */
        uint64_t gone_cpu;     /* CPU, last seen, of its children that vanished in this tick */
        uint64_t gone_carry;   /* the part of it that its counters did not show in their tick */
        uint64_t surplus; /* waited-for CPU of the tick before that no vanished child explained */
        struct proc_io gone_io;
};

/* What the processes of a level used and have. */
struct scan_sum {
        uint64_t cpu;               /* clock ticks; only grows */
        uint64_t cpu_debt;          /* counted twice, to be made good by what comes */
        uint64_t io[PROC_IO_COUNT]; /* only grow */
        uint64_t ever;              /* processes that ever belonged to it */
        uint64_t rss;               /* bytes */
        uint64_t processes, threads;
        uint64_t io_read, io_unread; /* processes whose I/O can be read, and cannot */
        uint64_t memory;   /* bytes: PSS where it is known, moved on by RSS since; RSS elsewhere */
        uint64_t unshared; /* of those, RSS that may be shared with others of the level */
        uint64_t pss, uss;
        uint64_t pss_missing; /* processes never measured */
        int64_t pss_oldest_ns;
};

/* A process that holds a GPU, or serves one that does; the watched command's main process counts as
 * one that holds. */
struct host_server {
        int32_t pid;
        bool holds;
};

struct scanner;

/* 0, or a negative code with err: ERR_USAGE when the target does not exist. */
int scanner_open(const struct scan_config *config, struct scanner **ret, struct err *err);
void scanner_close(struct scanner *s);
/*
 * Reads all of /proc that the levels need. boot_ns is CLOCK_BOOTTIME, the clock of start times.
 * 0 or a negative errno. Allocates only while there are more processes than ever before.
 */
int scanner_tick(struct scanner *s, int64_t boot_ns);
/* The members that used most CPU time in the last tick, which took so long; most first. */
size_t scanner_busiest(const struct scanner *s, double seconds, struct host_process *ret,
                       size_t max);
const struct scan_sum *scanner_sum(const struct scanner *s, enum level level);
/* Who holds which GPUs from the next tick on; at most SCAN_HOLDERS_MAX are kept. */
void scanner_set_holders(struct scanner *s, const struct scan_holder *holders, size_t n);
/* A GPU's, or SCAN_COMMAND's. */
const struct scan_group *scanner_group(const struct scanner *s, size_t group);
/* Who holds or serves a GPU or the watched command, as of the last tick; how many. */
size_t scanner_servers(const struct scanner *s, struct host_server *list, size_t max);
/* Processes that /proc listed at the last tick. */
uint64_t scanner_listed(const struct scanner *s);
/* Borrowed. */
struct listing *scanner_listing(const struct scanner *s);
uint64_t scanner_clock_ticks(const struct scanner *s);
/* The process of that pid as of the last tick; NULL when there is none. Valid until the next. */
struct scan_process *scanner_find(struct scanner *s, int32_t pid);
/* The next process after *place, which starts at 0. NULL at the end. */
struct scan_process *scanner_each(struct scanner *s, size_t *place);
/* The control groups of the Slurm job, once a process was found by them; NULL before. */
const struct cgroup_paths *scanner_job_groups(const struct scanner *s);
