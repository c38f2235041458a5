/*
 * Which processes there are: /proc, listed once a tick for all who want to know. Whoever needs them
 * exactly lists them again, and all others who share the listing take the newest. Safe from several
 * threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct listed {
        int32_t pid;
        /* Of /proc/PID: it belongs to one process as long as the kernel remembers it, so a pid that
         * is used again shows without reading anything. */
        uint64_t inode;
};

/* The caller's copy; its memory is used again. */
struct listed_processes {
        struct listed *list;
        size_t n, cap;
};

struct listing;

/* root is the descriptor of the folder that stands for "/", borrowed. 0 or a negative errno. */
int listing_open(int root, struct listing **ret);
/* The same below a folder by its name, "" for the real one. NULL where there is no /proc. */
struct listing *listing_open_root(const char *root);
/* Another user, who closes it too. NULL stays NULL. */
struct listing *listing_share(struct listing *l);
/* NULL is allowed. The last user frees it. */
void listing_close(struct listing *l);
/* From now on l takes what leader lists. */
void listing_follow(struct listing *l, struct listing *leader);
/* Lists now, for all. Allocates only while there are more processes than ever before. 0 or a
 * negative errno. */
int listing_renew(struct listing *l, struct listed_processes *ret);
/* The newest list, as long as somebody renews it; a new one elsewhere. 0 or a negative errno. */
int listing_take(struct listing *l, struct listed_processes *ret);
void listed_finish(struct listed_processes *p);
