/*
 * The recordings of a folder, or files that were named together, read as one: as a job's ranks
 * where they are that, else as a list of runs. The same for report, once, plot and diff.
 */
#pragma once

#include "app/summarise.h"
#include "engine/folder.h"
#include "model/job.h"
#include "model/runs.h"

/* All zeros to begin with, except for the callback. */
struct job_reading {
        struct folder folder; /* what the recordings are together; filled by the caller */
        struct job job;       /* of FOLDER_JOB */
        struct run_list runs; /* of FOLDER_RUNS */
        struct strbuf notices;
        void (*on_tick)(void *arg); /* on the caller's thread; may be NULL */
        void *arg;
        const char *name; /* of the folder, for the title; NULL for files */
        const char *sort; /* the column that orders a list of runs; NULL for the newest first */
        bool all;         /* every finding is reported, every rank has a row */
        size_t columns;
};

/*
 * Reads the recordings, some at a time on threads of their own; compares the ranks of a job. What
 * cannot be read is reported in the notices; an error when nothing can. Finish it either way.
 */
int job_read(struct job_reading *r, const struct config *config, struct err *err);
/* In any format that documents have. */
int job_write(const struct job_reading *r, const char *format, struct strbuf *out, struct err *err);
/*
 * The list of a folder's runs, read and written. 0 when it was; 1 when the folder is none of runs,
 * and nothing was written; or a negative code.
 */
int job_list_folder(const struct config *config, const char *path, const char *format,
                    size_t columns, struct strbuf *out, struct strbuf *notices, struct err *err);
/* What is said first of a folder of ranks. False when it is not one, or cannot be read. */
bool job_finding(const struct config *config, const char *path, struct strbuf *out);
void job_reading_finish(struct job_reading *r);
