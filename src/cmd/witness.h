/*
 * Tells a signal that somebody sent to the whole process group from one sent to us alone: the
 * first also reaches a small process of ours in the same group, which keeps it until it is asked.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct witness {
        pid_t pid;  /* 0 when there is none */
        int socket; /* asks and answers */
};

/* Starts it; without one every signal counts as sent to us alone. Nobody who waits for children
 * sees it, and it ends with the thread that started it. */
void witness_start(struct witness *w);
/* Whether the signal came to the group; takes it from the witness. */
bool witness_saw(struct witness *w, int sig);
void witness_stop(struct witness *w);
