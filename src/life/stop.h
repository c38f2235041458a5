/* Orderly stop: SIGINT, SIGTERM and SIGHUP arrive in a thread of their own and ask the program to
 * end. */
#pragma once

#include <stdbool.h>

struct life_watch; /* belongs to the thread, which lives as long as the program */

/*
 * Blocks those signals in all threads started later and waits for them in a new one, which calls
 * on_stop(arg) at the first. A second signal, or a program that has not ended half a second after
 * the first, ends at once with 128 + the signal. SIGPIPE is ignored. 0 or a negative errno. on_stop
 * and ret may be NULL where life_stopping() is asked often enough.
 */
int life_watch_signals(void (*on_stop)(void *arg), void *arg, struct life_watch **ret);
/* From here on on_stop is not called, nor still running: its arg may go. NULL is allowed. */
void life_unwatch(struct life_watch *w);
/* Whether a stop was asked for. */
bool life_stopping(void);
