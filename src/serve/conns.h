/*
 * Who is connected, and who has to go. A request's headers have five seconds, a silent connection
 * two minutes, and an answer must be read at a kilobyte a second. A part of the places is kept for
 * those who have shown that they are admitted; who has not competes with its like alone: when there
 * are too many, one of the address that has most of them goes, first one that does not read. The
 * HTTP thread says what happens; a thread of our own ends what takes too long, by shutting its
 * socket down.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONNS_MAX 256         /* beyond these somebody has to go */
#define CONNS_UNKNOWN_MAX 192 /* of them, who has not shown anything */
#define CONNS_HARD_MAX 512    /* the library accepts no more */

struct conns;
struct conn;

/* Addresses are hashed with the key. */
int conns_open(uint64_t key, struct conns **ret, struct err *err);
void conns_close(struct conns *c);

/* A socket was accepted. NULL when memory is short. */
struct conn *conns_start(struct conns *c, int fd);
/* It is about to be closed. NULL is allowed, as it is below. */
void conns_end(struct conns *c, struct conn *conn);
/* The first line of a request came. */
void conns_begin_request(struct conns *c, struct conn *conn);
/* All its headers came. False when there is no room for it. */
bool conns_take_request(struct conns *c, struct conn *conn);
/* It presented a valid token, password, session or certificate. */
void conns_set_user(struct conns *c, struct conn *conn);
/* Its password is being checked, or no longer: nobody waits for it, and it is not ended. */
void conns_set_checking(struct conns *c, struct conn *conn, bool checking);
/* Its answer never ends: a live stream. */
void conns_make_stream(struct conns *c, struct conn *conn);
/* Its answer was sent. */
void conns_end_request(struct conns *c, struct conn *conn);
/* A hash of its address: of an IPv6 address the first 64 bits, of a unix socket 0. */
uint64_t conns_address(const struct conn *conn);
size_t conns_count(struct conns *c);
