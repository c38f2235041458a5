/* Which jobs somebody was reported, so that a digest from cron comes once a day and not once an
 * hour. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define IDLE_KEY_MAX 512

struct idle_reported;

/* Reads the file of a folder; one that is not there is empty. 0, or a negative code with err. */
int idle_reported_open(const char *folder, int64_t now_ns, int64_t repeat_ns,
                       struct idle_reported **ret, struct err *err);
void idle_reported_close(struct idle_reported *t);
/* Whether it was reported within the time. */
bool idle_reported_has(const struct idle_reported *t, const char *key);
/* Remembers it. False when memory is short. */
bool idle_reported_add(struct idle_reported *t, const char *key);
/* Writes the file. 0, or a negative code with err. */
int idle_reported_save(const struct idle_reported *t, struct err *err);
