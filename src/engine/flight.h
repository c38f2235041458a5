/*
 * The flight recorder: the last minutes of GPUs, host, processes and stacks at full rate, in memory
 * and within a bound. When somebody asks, or something happens, it writes them into a folder as a
 * session, a dump, with what happened as an event. The engine that it is given to feeds it; nobody
 * who feeds it or asks waits for a disk.
 */
#pragma once

#include "model/dump.h"
#include "model/frame.h"
#include "model/host.h"
#include "session/session.h"

/* All that is kept, of as many GPUs as there are; the oldest goes first. */
#define FLIGHT_BYTES ((size_t)12 << 20)
/* After an event, what follows it is waited for so long. */
#define FLIGHT_SETTLE_NS (2 * NS_PER_S)
/* Dumps that nobody asked for keep this distance; events in between wait for the next. */
#define FLIGHT_AUTOMATIC_NS (60 * NS_PER_S)
/* The same cause on the same GPU is written once in so long. */
#define FLIGHT_REPEAT_NS (600 * NS_PER_S)
/* A request that follows at once is answered with the next dump. */
#define FLIGHT_ASKED_NS NS_PER_S

struct flight;

struct flight_config {
        int64_t keep_ns;
        const char *folder;  /* of dumps: made for this user alone; copied */
        const char *program; /* the command that keeps it, for 'assay dump'; copied */
        bool takes_signal;   /* SIGUSR1 asks for a dump: the caller's thread is the program's main
                              * one, and no other is present that takes it */
        const char *runs;    /* where it is entered, so that 'assay dump' finds it; NULL: nowhere */
        double interval_s;   /* between the ticks of the GPUs; 0 when not known */
};

/* Starts. 0, or a negative code with err, where the folder cannot be used. */
int flight_open(const struct flight_config *config, struct flight **ret, struct err *err);
/* Writes what is asked for, within a moment, and ends; a disk that hangs is left behind. NULL is
 * allowed. */
void flight_close(struct flight *f);

/*
 * Asks for a dump: from any thread, without waiting, and nothing is allocated. Causes that come
 * together become events of one dump. False when it was held back: the same happened a short while
 * ago on the same GPU, and is in a dump. NULL for f is fine: false.
 */
bool flight_request(struct flight *f, const struct dump_reason *reason);
/* A reason of now. */
void flight_reason(struct dump_reason *ret, enum dump_cause cause, const char *gpu, const char *fmt,
                   ...) PRINTF_LIKE(4, 5);
/* What became of the dumps so far. */
void flight_status(struct flight *f, struct dump_status *ret);
/* The session in memory: for facts of the run, and for stacks, which are added to it. */
struct session *flight_session(struct flight *f);
/* What is kept, in bytes. */
size_t flight_memory(struct flight *f);

/* --- for the engine -------------------------------------------------------------------------- */

/* It is used until the same is called with false: an engine may outlive flight_close. */
void flight_hold(struct flight *f, bool hold);
void flight_add(struct flight *f, const struct frame *frame);
void flight_add_host(struct flight *f, const struct host *host);
