/* The sessions of a job's ranks, read as one: the same for report, plot, top and diff. */
#pragma once

#include "app/summarise.h"
#include "engine/job_files.h"
#include "model/job.h"

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
/* What is said first of a folder of ranks. False when it is none, or cannot be read. */
bool job_finding(const struct config *config, const char *path, struct strbuf *out);
void job_reading_finish(struct job_reading *r);
