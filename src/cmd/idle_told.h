/* Which jobs somebody was told of, so that a digest from cron comes once a day and not once an
 * hour. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define IDLE_KEY_MAX 512

struct idle_told;

/* Reads the file of a folder; one that is not there is empty. 0, or a negative code with err. */
int idle_told_open(const char *folder, int64_t now_ns, int64_t repeat_ns, struct idle_told **ret,
                   struct err *err);
void idle_told_close(struct idle_told *t);
/* Whether it was told within the time. */
bool idle_told_has(const struct idle_told *t, const char *key);
/* Remembers it. False when memory is short. */
bool idle_told_add(struct idle_told *t, const char *key);
/* Writes the file. 0, or a negative code with err. */
int idle_told_save(const struct idle_told *t, struct err *err);
