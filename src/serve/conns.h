/*
 * Who is connected, and for how long they may be: a request's headers have five seconds, an answer
 * a minute to be taken, a silent connection two minutes. When there are too many, the one that has
 * waited longest without asking anything makes room. The HTTP thread tells what happens; a thread
 * of ours ends what takes too long, by shutting its socket down.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CONNS_MAX 256      /* beyond these somebody has to go */
#define CONNS_HARD_MAX 512 /* the library accepts no more */

struct conns;
struct conn;

int conns_open(struct conns **ret, struct err *err);
void conns_close(struct conns *c);

/* A socket was accepted. NULL when memory is short. */
struct conn *conns_start(struct conns *c, int fd);
/* It is about to be closed. NULL is fine, as it is below. */
void conns_end(struct conns *c, struct conn *conn);
/* The first line of a request came. */
void conns_begin_request(struct conns *c, struct conn *conn);
/* All its headers came. False when there is no room for it. */
bool conns_take_request(struct conns *c, struct conn *conn);
/* Its answer never ends: a live stream. */
void conns_make_stream(struct conns *c, struct conn *conn);
/* Its answer was sent. */
void conns_end_request(struct conns *c, struct conn *conn);
size_t conns_count(struct conns *c);
