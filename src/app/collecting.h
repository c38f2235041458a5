/* Numbers of the user's own (--collect), on their way into a session. */
#pragma once

#include "config/config.h"
#include "session/session.h"

#include "read/collect/line.h"

struct collecting;

/* What is wrong with one of them; on a thread of its own. */
typedef void collecting_say(const char *name, const char *why);

/* Whether --collect can be read; before anything is recorded. */
int collecting_check(const struct config *config, struct err *err);
/* The parsed --collect, for callers that collect on their own. Finish it either way. */
int collecting_list(const struct config *config, struct collect_list *ret, struct err *err);
/* The time between two beats of them. */
int64_t collecting_interval(const struct config *config);
/* Starts, where some are asked for; *ret is NULL where none are. The session must outlive it. */
int collecting_start(const struct config *config, struct session *session, collecting_say *say,
                     struct collecting **ret, struct err *err);
/* NULL is allowed. */
void collecting_stop(struct collecting *c);
