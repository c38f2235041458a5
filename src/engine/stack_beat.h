/*
 * Stacks beside the host's beat: the processes that hold GPUs or serve them are sampled on a thread
 * of its own, and what it saw is put into a session, kept for who shows it, or both. Nothing waits
 * for it.
 */
#pragma once

#include "engine/host.h"
#include "engine/stack_recent.h"
#include "session/session.h"

struct stack_beat;

/* Starts the sampling thread; hz looks a second. The session, that of a flight recorder, and recent
 * may be NULL and outlive it. 0 or a negative code. */
int stack_beat_open(double hz, struct session *session, struct session *flight,
                    struct stack_recent *recent, struct stack_beat **ret, struct err *err);
/* After each tick of the host, on its thread. */
void stack_beat_tick(struct stack_beat *b, const struct host_view *view);
/* After the session's last commit. NULL is allowed. */
void stack_beat_close(struct stack_beat *b);
