/* The sessions of a job's ranks, read as one: the same for report, plot, top and diff. */
#pragma once

#include "app/summarise.h"
#include "model/job.h"

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

/* All zeros to begin with, but for the callback. */
struct job_reading {
        struct job job;
        struct strbuf notices;
        void (*on_tick)(void *arg); /* on the caller's thread; may be NULL */
        void *arg;
        bool all; /* every finding is told, every rank has a row */
        size_t columns;
};

/*
 * Reads the sessions, some at a time on threads of their own, and compares their ranks. What cannot
 * be read is told in the notices; an error when nothing can. Finish it either way.
 */
int job_read(struct job_reading *r, const struct config *config, const char *const *paths, size_t n,
             struct err *err);
/* format: text, json or html. */
int job_write(const struct job_reading *r, const char *format, struct strbuf *out, struct err *err);
void job_reading_finish(struct job_reading *r);
