/*
 * The memory of another process, which continues meanwhile: whatever is read may be stale or
 * nonsense the next moment. Nothing stops the process or writes to it.
 *
 * What is asked for one snapshot is kept until the next one begins. A plan remembers it, so the
 * next look at the same process begins with one call that reads all of that at once: few system
 * calls, and an instant that is as short as a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define REMOTE_SPANS_MAX 1024          /* parts of memory of one snapshot */
#define REMOTE_BYTES_MAX (1024 * 1024) /* of all of them together */
#define REMOTE_READ_MAX (256 * 1024)   /* of one */
#define REMOTE_CALLS_MAX                                                                           \
        20000 /* system calls of one snapshot: a chain that never ends ends here                   \
               */
#define REMOTE_SNAPSHOT_MAX (32 * 1024 * 1024) /* bytes read for one snapshot */

/* How memory is read: as process_vm_readv, with one piece of own memory. NULL: that itself. */
typedef ssize_t remote_readv(void *arg, const struct iovec *to, const struct iovec *from, size_t n);

struct remote_span {
        uint64_t addr;
        uint32_t n, at; /* bytes, and where they are in the arena */
        uint8_t unused; /* looks since it was asked for */
        bool is_read;
};

/* What examines one process ask for. Zero it; the remote fills it. */
struct remote_plan {
        struct remote_span *list; /* by address */
        size_t n, cap;
};

struct remote {
        uint8_t *arena;            /* what is read once lies behind REMOTE_BYTES_MAX */
        struct remote_span *spans; /* n_planned of the plan, by address; then as they were read */
        size_t n_planned, planned_bytes, n, used;
        uint32_t calls; /* left in this snapshot */
        uint64_t bytes; /* likewise */
        uint64_t total_calls;
        uint64_t vain; /* reads that failed in this snapshot */
        int error;     /* of the last that failed; 0 when none did */
        int32_t pid;
        remote_readv *readv;
        void *arg;
};

/* 0 or -ENOMEM. */
int remote_init(struct remote *r);
void remote_finish(struct remote *r);
/* readv NULL: of the process pid, by the kernel. */
void remote_use(struct remote *r, int32_t pid, remote_readv *readv, void *arg);

/* Begins a snapshot; plan may be NULL. What was read before is forgotten. */
void remote_begin(struct remote *r, struct remote_plan *plan);
/* The same within a snapshot, for a program that moved on: what is left of its limits stays. */
void remote_begin_again(struct remote *r, struct remote_plan *plan);
/* Ends it: the plan, which must be the same, learns what it asked for. */
void remote_end(struct remote *r, struct remote_plan *plan);
void remote_plan_finish(struct remote_plan *p);

/*
 * n bytes at an address, valid until the next call: what a snapshot has read beyond the plan is
 * forgotten when there is no room for more. NULL when they cannot be read, or the snapshot has made
 * REMOTE_CALLS_MAX calls. They are not aligned: take numbers out with the functions below.
 */
const uint8_t *remote_get(struct remote *r, uint64_t addr, size_t n);
/* The same for what is read once: not planned, and valid until the next such call. */
const uint8_t *remote_get_once(struct remote *r, uint64_t addr, size_t n);
/* The same into the caller's memory. */
bool remote_copy(struct remote *r, uint64_t addr, void *to, size_t n);

uint64_t remote_u64(const uint8_t *at);
uint32_t remote_u32(const uint8_t *at);
/* A pointer at an address; false when it cannot be read. */
bool remote_pointer(struct remote *r, uint64_t addr, uint64_t *ret);
