/*
 * What a process computes with, by the files it has mapped. /proc/PID/maps may be half a megabyte
 * and takes the kernel some milliseconds, so a look continues from tick to tick, a piece at a time.
 */
#pragma once

#include "model/host.h"

#define FRAMEWORK_TAIL 64 /* longer than what is searched for: a path may be cut between pieces */

struct framework_search {
        int fd; /* -1: no look is under way */
        unsigned found;
        size_t tail; /* bytes at the start of text, from the piece before */
        size_t read; /* so far */
        char text[FRAMEWORK_TAIL + 4096];
};

void framework_init(struct framework_search *l);
void framework_finish(struct framework_search *l);
/* Starts a look below proc, the descriptor of /proc. 0 or a negative errno. */
int framework_begin(struct framework_search *l, int proc, int32_t pid);
/* Reads a piece. True when the look has ended: *ret is an enum framework, or missing. */
bool framework_continue(struct framework_search *l, struct value *ret);
