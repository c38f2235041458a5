/* Numbers of the user's own (--collect), for who wants the newest of each and records nothing. */
#pragma once

#include "app/collecting.h"
#include "model/collected.h"

struct collect_now;

/* Starts, where some are asked for; *ret is NULL where none are. */
int collect_now_start(const struct config *config, collecting_say *say, struct collect_now **ret,
                      struct err *err);
/* Waits until each has a number, at most so long, and says which have none. */
void collect_now_wait(struct collect_now *c, int64_t most_ns);
/* Copies the newest of each that has one of the last minute, of NULL none; returns how many. */
size_t collect_now_read(struct collect_now *c, struct collected ret[COLLECTED_MAX]);
/* NULL is fine. */
void collect_now_stop(struct collect_now *c);
