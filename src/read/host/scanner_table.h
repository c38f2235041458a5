/* The scanner's insides, shared by its parts: the table, reading, membership and accounting. */
#pragma once

#include "read/host/scanner.h"

#define SCAN_BUCKETS 4096
#define SCAN_MAX 262144
#define LEADERS_MAX 1024

/* A member of the process level that began a session or a process group. */
struct scan_leader {
        int32_t pid;
        bool session;
};

struct scanner {
        struct scan_config config;
        int proc_fd;
        int64_t page_size;
        uint64_t tick;            /* from 1 */
        uint64_t last_boot_ticks; /* the time of the tick before, in clock ticks since boot */
        uint64_t listed;
        size_t open_fds;
        struct scan_process *procs;
        size_t n, cap; /* slots in use or free below n */
        int32_t free_slot;
        int32_t buckets[SCAN_BUCKETS];
        uint64_t target_start;
        int32_t target_ppid;
        struct scan_leader leaders[LEADERS_MAX];
        size_t n_leaders;
        unsigned depth; /* of members_decide */
        struct cgroup_paths job_groups;
        bool job_placed;
        struct scan_sum sums[LEVEL_COUNT];
        char *dents; /* buffer of the listing */
        char *text;  /* buffer of larger files */
};

#define SCAN_DENTS (64 * 1024)
#define SCAN_TEXT (128 * 1024)

/* table */
struct scan_process *table_find(struct scanner *s, int32_t pid);
/* NULL when memory is short or there are too many. */
struct scan_process *table_add(struct scanner *s, int32_t pid);
void table_remove(struct scanner *s, struct scan_process *p);
void table_close_fds(struct scanner *s, struct scan_process *p);

/* reading: 0 or a negative errno. */
int scan_read_stat(struct scanner *s, struct scan_process *p);
void scan_read_io(struct scanner *s, struct scan_process *p);

/* membership */
void members_decide(struct scanner *s, struct scan_process *p);
bool members_need_identity(const struct scanner *s);

/* accounting */
void account_begin(struct scanner *s);
/* Tells the nearest living ancestor that a process is gone. */
void account_vanished(struct scanner *s, const struct scan_process *p);
void account_process(struct scanner *s, struct scan_process *p);
