/*
 * Passwords are checked on a thread of their own: bcrypt takes a tenth of a second by design, and
 * nobody else waits for it. Addresses take turns, and so do the users of one. A wrong password
 * makes the next check of the same user from the same address wait, and the thread rests as long as
 * it worked.
 */
#pragma once

#include "base/err.h"
#include "serve/auth.h"

#define CHECKS_MAX 64

enum check_result { CHECK_RIGHT, CHECK_WRONG, CHECK_LATER };

struct checks;
struct check;

/* resume() is called on the thread when a request's check has a result. */
int checks_open(void (*resume)(void *arg, void *request), void *arg, struct checks **ret,
                struct err *err);
/* Ends what waits, with CHECK_LATER. Before the daemon stops; NULL is allowed here and below. */
void checks_stop(struct checks *c);
void checks_close(struct checks *c);
/*
 * A place for a check; nothing happens before checks_start(). When there are too many the newest of
 * the address that has most of them is ended with CHECK_LATER; NULL when that is this one.
 */
struct check *checks_reserve(struct checks *c, const struct auth_claim *claim, const char *hash,
                             uint64_t address, void *request);
void checks_start(struct checks *c, struct check *check);
/* The result, once the request was resumed. The place is free then. */
enum check_result checks_take(struct checks *c, struct check *check, struct auth_claim *ret);
