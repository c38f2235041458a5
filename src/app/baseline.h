/*
 * Named baselines: recordings kept in a folder to compare later runs with. Each name is a folder
 * with one session or more, repeats of one run, numbered in the order in which they were added.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "config/config.h"

#define BASELINE_NAME_MAX 64
#define BASELINE_RUNS_MAX 32
#define BASELINE_PATH_MAX 4096

struct baseline {
        size_t n;
        char *paths[BASELINE_RUNS_MAX]; /* owned */
};

void baseline_finish(struct baseline *b);
/*
 * The folder of all baselines: dir when it is not NULL, else $XDG_DATA_HOME/assay/baselines or
 * ~/.local/share/…. 0, or ERR_USAGE when none is known.
 */
int baseline_folder(const char *dir, const char *(*get_env)(const char *name),
                    char ret[BASELINE_PATH_MAX], struct err *err);
/* Whether a file can be read and has anything to compare: samples, or marks of a run log. */
int baseline_check(const struct config *config, const char *file, struct err *err);
/*
 * Copies a file; it becomes readable under its name only when it is whole. A session that is still
 * being recorded, or whose recorder was killed, is copied as it reads now.
 */
int baseline_add(const struct config *config, const char *folder, const char *name,
                 const char *file, struct err *err);
/* The recordings of a name. 0, or a negative code with err; baseline_finish it either way. */
int baseline_find(const char *folder, const char *name, struct baseline *ret, struct err *err);
/* One line a name: the name, how many runs, the newest's time. No folder is an empty list. */
int baseline_list(const char *folder, struct strbuf *out, struct err *err);
int baseline_remove(const char *folder, const char *name, struct err *err);
