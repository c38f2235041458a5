/* A session played with captions, without its idle time. */
#pragma once

#include "cmd/command.h"

struct tour;

/* Reads the session's phases and where its GPUs are idle. 0, or a negative code with err. */
int tour_open(const struct config *config, const char *path, struct tour **ret, struct err *err);
void tour_close(struct tour *t); /* NULL is allowed */
/* The caption for a position from the beginning; NULL when it is still the one of the last call. */
const char *tour_caption(struct tour *t, int64_t position_ns);
/* Where to continue from an idle position; -1 to stay. */
int64_t tour_skip(const struct tour *t, int64_t position_ns);

/* The dashboard; tour may be NULL. Returns the exit status. */
int top_play(const struct config *config, struct tour *tour);
