/* Threads for work beside the program's own. */
#pragma once

#include <pthread.h>

/*
 * Starts a thread that takes no signal but those of its own faults: others are for the thread that
 * ends the program in order, whenever it starts. 0 or a negative errno.
 */
int life_start_thread(void *(*run)(void *arg), void *arg, pthread_t *ret);

/* Wakes any thread that waits for an eventfd. */
void life_wake(int fd);

/* A condition whose timed waits go by the monotonic clock. */
void life_init_wake(pthread_cond_t *wake);
