/* The sessions of a job's ranks: which files of a folder they are. */
#pragma once

#include <stddef.h>

struct job_files {
        size_t n;
        char **paths;   /* owned */
        size_t again;   /* older recordings of ranks that were started again: left out */
        size_t foreign; /* files of other users: left out */
};

/*
 * The sessions in a folder, in order of their names; none when it is no folder, or a monitor's. Of
 * a rank that was recorded again (rank-3.assay, rank-3-2.assay) the newest is taken. 0 or -ENOMEM.
 */
int job_files_list(const char *path, struct job_files *ret);
void job_files_finish(struct job_files *f);
