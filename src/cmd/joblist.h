/* What 'assay jobs' and 'assay job' share: where the records are, and how times are read. */
#pragma once

#include "cmd/serve_setup.h"
#include "serve/records.h"

/* The file of the records. 0, or ERR_USAGE with err when there is no state folder. */
int joblist_path(const struct config *config, char ret[SERVE_PATH_MAX], struct err *err);
/* Calls it with each record that a query finds; says how many cannot be true. */
int joblist_each(const char *path, struct records_query *q,
                 void (*each)(void *arg, const struct record *record), void *arg, struct err *err);
/* "7d", "12h", "30m", "2026-11-16", "2026-11-16 08:00" (local time). 0 or ERR_USAGE with err. */
int joblist_since(const char *text, int64_t now_ns, int64_t *ret, struct err *err);
/* "slurm 4711", "ml/llm-0/trainer", "alice". */
void joblist_name(const struct owner *o, char *ret, size_t size);
