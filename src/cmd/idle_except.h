/* What 'assay fleet idle' leaves out, from a file. */
#pragma once

#include "base/err.h"
#include "fleet/fleet.h"

struct idle_except;

/*
 * "user root", "account ops", "partition debug*", "node n[1-2]", "job 4711", one a line; # begins a
 * comment. 0, or a negative code with the line in err.
 */
int idle_except_read(const char *path, struct idle_except **ret, struct err *err);
/* The same of a text; name is for messages. */
int idle_except_parse(const char *name, const char *text, size_t n, struct idle_except **ret,
                      struct err *err);
void idle_except_free(struct idle_except *e);
/* Whether a line names the holder. arg is a struct idle_except, NULL for none. */
bool idle_except_names(void *arg, const struct fleet_holder *holder);
