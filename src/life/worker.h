/*
 * Threads that may be left behind. A crew is what an owner and its workers share: a lock, news, and
 * the wish to stop. It is a member of the thing they work on. Whoever leaves last frees the thing:
 * a worker that hangs in a driver keeps nobody waiting, and nothing is freed under it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct crew {
        pthread_mutex_t lock;
        pthread_cond_t news; /* something below the lock has changed, or a worker has ended */
        unsigned workers;    /* under the lock: threads that have not ended */
        bool owned;          /* under the lock: the owner has not left */
        bool stop;           /* under the lock: it is time to end */
        void (*free)(struct crew *c);
};

/* The caller becomes the owner. free is called once, without the lock, by the last one to leave. */
void crew_init(struct crew *c, void (*free)(struct crew *c));
/*
 * Starts a worker, which takes no signals: those are for the thread that ends the program in order.
 * It ends by returning. 0 or a negative errno. Call it without the lock.
 */
int crew_start(struct crew *c, void (*work)(void *arg), void *arg);
/* The same of a worker that is one of another crew as well, whose thing owns this one: it parts
 * from that one last, so that this one's workers have ended when the other's have. user may be
 * NULL. */
int crew_start_for(struct crew *c, struct crew *user, void (*work)(void *arg), void *arg);
/* A worker of another crew uses this one too: it counts as a worker here until it parts, which may
 * free the thing. Call both without the lock. */
void crew_join(struct crew *c);
void crew_part(struct crew *c);
void crew_lock(struct crew *c);
void crew_unlock(struct crew *c);
/* Lock held: wakes all that wait. */
void crew_request_stop(struct crew *c);
/* Lock held: waits for news until a moment on the monotonic clock, INT64_MAX forever. False when
 * the moment has passed. */
bool crew_wait(struct crew *c, int64_t until_ns);
/* Asks the workers to stop and wakes them. */
void crew_stop(struct crew *c);
bool crew_stopping(struct crew *c);
/* The owner's: waits so long for all workers to end. True when they have. */
bool crew_ended(struct crew *c, int64_t patience_ns);
/* The owner's last call: stops the workers, and leaves behind those that do not end in time. True
 * when all have ended; then everything is freed. */
bool crew_leave(struct crew *c, int64_t patience_ns);
