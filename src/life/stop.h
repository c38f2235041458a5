/* Orderly stop: SIGINT, SIGTERM and SIGHUP arrive in a thread of their own and ask the program to
 * end. */
#pragma once

#include <stdbool.h>

/*
 * Blocks those signals in all threads started later and waits for them in a new one, which calls
 * on_stop(arg) at the first. A second signal, or a program that has not ended half a second after
 * the first, ends at once with 128 + the signal. SIGPIPE is ignored. 0 or a negative errno.
 */
int life_watch_signals(void (*on_stop)(void *arg), void *arg);
/* After this on_stop is not called any more; to be called before what arg points to goes. */
void life_forget(void);
/* Whether a stop was asked for. */
bool life_stopping(void);
