/*
 * The counters of every GPU in one small file, so that a restart continues where a crash ended:
 * they never go back. Two halves are written in turn, each with a number, a checksum and the time
 * since the machine's start; a write that was cut off leaves the other. Only the newest half
 * counts, and only while nobody can have been reported more than it says: for STATE_LEASE_NS, or
 * STATE_CLEAN_NS when it was written at a clean end. What is older, or of before a power cut, is
 * forgotten: counters start at 0 with a new created time.
 */
#pragma once

#include "base/err.h"
#include "model/integral.h"

#define STATE_KEY_MAX 192
#define STATE_LEASE_NS (120 * INT64_C(1000000000))
#define STATE_CLEAN_NS (3600 * INT64_C(1000000000))

struct state_file;

/* Opens or makes DIR/counters, locked against other programs. 0 or a negative code with err. */
int state_open(const char *dir, size_t gpus_max, struct state_file **ret, struct err *err);
/* A clean end: the file may be believed for an hour, and after a reboot too. NULL is allowed. */
void state_close(struct state_file *f);
/* What an earlier program kept of a GPU; false when there is nothing. */
bool state_find(const struct state_file *f, const char *key, struct integrals *ret);
/* The at-th GPU for the next write. GPUs of earlier programs that are not put again are kept. */
void state_put(struct state_file *f, size_t at, const char *key, const struct integrals *in);
enum state_result {
        STATE_KEPT,
        STATE_DROPPED, /* not written, and a later program starts at 0 */
        STATE_HELD     /* not written, and a later program may continue from the last that was */
};

/*
 * Writes the first n and those kept; errno says why it could not. The file is emptied then. Where
 * that fails too, as on a file system that became read-only, the counters that were kept last may
 * still be believed, so nobody may be reported newer ones: STATE_HELD, until the lease is over.
 */
enum state_result state_write(struct state_file *f, size_t n);

/* What a later program may believe of a GPU; false, and ret as it was, when there is nothing. The
 * hint is its place among those that were put. */
bool state_find_kept(const struct state_file *f, const char *key, size_t hint,
                     struct integrals *ret);

/* For tests and fuzzers: reads a half's text. Number of GPUs, or -1 when it is not whole. */
int state_parse(const char *text, size_t len, struct integrals *in, char (*keys)[STATE_KEY_MAX],
                size_t max);
