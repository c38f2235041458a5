/* A job of several ranks as a document. */
#pragma once

#include "base/strbuf.h"
#include "model/document.h"
#include "model/job.h"

#define JOB_SCHEMA_VERSION 1

/*
 * Who holds the others up, findings, one row a rank, spread. complete: every finding and a row for
 * every rank; else what a screen has room for. docs/JSON.md describes the members. Finish it.
 */
void job_document(const struct job *j, const char *version, bool complete, struct document *ret);

/* ---- words; no newline ---- */

/* Whether it holds the others up. */
bool job_is_straggler(const struct job *j, size_t rank);
/* "8 ranks on 2 nodes, 10 min 3 s". */
void job_put_title(const struct job *j, struct strbuf *out);
/* Who, by how much, since when, why. */
/* "loader.py:41 read_batch". */
void job_put_line(const struct job_line *l, struct strbuf *out);
void job_put_straggler(const struct job *j, const struct straggler *s, struct strbuf *out);
/* What it was decided by when nobody is named. */
void job_put_no_straggler(const struct job *j, struct strbuf *out);
/* "6 of 8 ranks (0-3, 6, 7) limited by …". */
void job_put_joined(const struct job *j, const struct job_joined *f, struct strbuf *out);
/* What to do about it; NULL for nothing. */
const char *job_joined_try(const struct job *j, const struct job_joined *f);
/* How clocks were aligned; ranks that have no file. Empty where there is nothing to say. */
void job_put_clocks(const struct job *j, struct strbuf *out);
void job_put_missing(const struct job *j, struct strbuf *out);
/* What is odd about its nodes and ranks: machines of one name, a rank twice, clocks hours apart. */
void job_put_shared_names(const struct job *j, struct strbuf *out);
void job_put_twice(const struct job *j, struct strbuf *out);
void job_put_apart(const struct job *j, struct strbuf *out);
