/* The scanner's insides, shared by its parts: the table, reading, membership and accounting. */
#pragma once

#include "read/host/scanner.h"

#define SCAN_BUCKETS 4096
#define SCAN_MAX 262144
#define LEADERS_MAX 1024
#define FORKS_MAX 4096 /* a power of 2 */

/* A member of the process level that began a session or a process group. */
struct scan_leader {
        int32_t pid;
        bool session;
};

/* A process that a member was seen to fork, and when. */
struct scan_fork {
        int32_t pid;
        uint64_t tick;
};

struct scanner {
        struct scan_config config;
        int proc_fd;
        struct listing *listing;
        struct listed_processes processes; /* of this tick */
        bool follows;                      /* processes one by one, not only their number */
        int64_t page_size;
        uint64_t tick;            /* from 1 */
        uint64_t last_boot_ticks; /* the time of the tick before, in clock ticks since boot */
        uint64_t listed;
        int64_t now_ns;
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
        int forks_fd;   /* -1 when the kernel does not report */
        struct scan_fork forks[FORKS_MAX];
        struct cgroup_paths job_groups;
        bool job_placed;
        struct scan_sum sums[LEVEL_COUNT];
        struct scan_holder holders[SCAN_HOLDERS_MAX];
        size_t n_holders;
        uint64_t held; /* groups that had a living holder at the last tick */
        uint64_t fed;  /* GPUs that the watched command's processes hold */
        struct scan_group groups[SCAN_GROUPS];
        char *text; /* buffer of larger files */
};

#define SCAN_TEXT (128 * 1024)

/* One pass over the table. */
#define SCAN_EACH(s, p) for (struct scan_process *p = (s)->procs; p && p < (s)->procs + (s)->n; p++)

static inline bool scan_alive(const struct scanner *s, const struct scan_process *p)
{
        return p->pid > 0 && p->seen == s->tick;
}

/* table */
struct scan_process *table_find(struct scanner *s, int32_t pid);
/* NULL when memory is short or there are too many. */
struct scan_process *table_add(struct scanner *s, int32_t pid);
/* The parent, also one that vanished in this tick; not a later process with its number. */
struct scan_process *table_parent(struct scanner *s, const struct scan_process *p);
void table_remove(struct scanner *s, struct scan_process *p);
void table_close_fds(struct scanner *s, struct scan_process *p);

/* reading: 0 or a negative errno. */
int scan_read_stat(struct scanner *s, struct scan_process *p);
void scan_read_io(struct scanner *s, struct scan_process *p);

/* membership */
/* Reads the forks that the kernel reported; after the listing, so it knows all that is listed. */
void members_hear_forks(struct scanner *s);
/* Finds orphans among the reaper's children; after processes were read. */
void members_take_orphans(struct scanner *s);
void members_decide(struct scanner *s, struct scan_process *p);
bool members_need_identity(const struct scanner *s);

/* groups */
/* Decides who holds and who serves which GPU; after the levels, before I/O is read. */
void groups_decide(struct scanner *s);

/* accounting */
void account_begin(struct scanner *s);
/* Tells the nearest living ancestor that a process is gone. */
void account_vanished(struct scanner *s, const struct scan_process *p);
void account_process(struct scanner *s, struct scan_process *p);
