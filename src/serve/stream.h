/*
 * Live streams: server-sent events. There is one newest event; a reader that is slow loses those
 * between, and nobody else does. Events are made by the HTTP thread, once for all readers.
 */
#pragma once

#include "base/strbuf.h"
#include "serve/libraries.h"

#define STREAMS_MAX 64

struct streams;

/* make() writes one event's JSON without line ends; number() grows with news. */
struct streams *streams_open(const struct mhd_api *mhd, void (*make)(void *arg, struct strbuf *out),
                             uint64_t (*number)(void *arg), void *arg);
/* After the daemon has stopped. */
void streams_close(struct streams *s);
/* There is something new: wakes the readers, and says whether there are any. From any thread. */
bool streams_wake(struct streams *s);
/* Lets the readers end: before the daemon stops. */
void streams_stop(struct streams *s);
/* An answer that never ends. When there are too many, the oldest of the address that has most of
 * them ends; NULL when no address has more than this one. */
struct MHD_Response *streams_add(struct streams *s, struct MHD_Connection *connection,
                                 uint64_t address);
size_t streams_count(struct streams *s);
