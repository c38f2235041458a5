/*
 * The counters of every GPU in one small file, so that a restart goes on where a crash ended: they
 * never go back. Two halves are written in turn, each with a number and a checksum; a write that
 * was cut off leaves the other. What the machine itself forgot (a power cut) starts at 0 with a new
 * created time, because the file may be older than what was told to others.
 */
#pragma once

#include "base/err.h"
#include "model/integral.h"

#define STATE_KEY_MAX 192

struct state_file;

/* Opens or makes DIR/counters, locked against other programs. 0 or a negative code with err. */
int state_open(const char *dir, size_t gpus_max, struct state_file **ret, struct err *err);
/* A clean end: the file may be believed after a reboot too. NULL is fine. */
void state_close(struct state_file *f);
/* What an earlier program kept of a GPU; false when there is nothing. */
bool state_find(const struct state_file *f, const char *key, struct integrals *ret);
/* The at-th GPU for the next write. GPUs of earlier programs that are not put again are kept. */
void state_put(struct state_file *f, size_t at, const char *key, const struct integrals *in);
/*
 * Writes the first n and those kept. False with errno when it could not: the file is emptied then,
 * so that a later program starts at 0 instead of going back.
 */
bool state_write(struct state_file *f, size_t n);

/* For tests and fuzzers: reads a half's text. Number of GPUs, or -1 when it is not whole. */
int state_parse(const char *text, size_t len, struct integrals *in, char (*keys)[STATE_KEY_MAX],
                size_t max);
