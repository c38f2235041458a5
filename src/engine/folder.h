/* The sessions of a folder, and what they are together: the ranks of a job, or runs of their own.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

enum folder_kind {
        FOLDER_NONE, /* no sessions: a file, another tool's folder, or an empty one */
        FOLDER_JOB,  /* ranks of one job */
        FOLDER_RUNS, /* unrelated recordings, or those of several jobs */
};

struct folder {
        enum folder_kind kind;
        size_t n;
        char **paths;     /* owned; without copies, and of a job without what is not part of it */
        size_t *group;    /* by path: the place of the first of its job, or its own; owned */
        bool *is_job;     /* by path: whether its group is a job; owned */
        int64_t start_ns; /* when the first began; 0 when that is unknown */
        struct strbuf notices; /* what was left out, and why: a line each */
};

/*
 * The sessions in a folder, in order of their names; kind NONE and no paths when there are none. Of
 * a rank that was recorded again (rank-3.assay, rank-3-2.assay) the newest is taken. A folder is a
 * job's when more than half of its recordings are ranks of that job. 0 or -ENOMEM.
 */
int folder_read(const char *path, struct folder *ret);
/* The same for files that were named one by one, whatever they are. */
int folder_of_files(const char *const *paths, size_t n, struct folder *ret);
void folder_finish(struct folder *f);
/* Whether a folder has sessions; quick. */
bool folder_is_one(const char *path);
/* The error for a command that needs one recording or job and was given several unrelated ones; 0
 * where that is allowed. */
int folder_check_related(const struct folder *f, const char *path, struct err *err);
