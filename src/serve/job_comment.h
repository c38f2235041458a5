/* A job's AdminComment as 'jobstats' reads it: "JS1:" and base64 of a gzip of JSON. */
#pragma once

#include "serve/records.h"
#include "serve/sacct.h"

/* The JSON in a comment, at most JOBSTATS_TEXT_MAX bytes, owned by the caller; false for others. */
bool job_comment_read(const char *comment, char **ret, size_t *ret_n);
/*
 * The comment of a job with what this record has of this node. Other nodes that the comment before
 * names stay. 0 or a negative code with err.
 */
int job_comment_write(const struct record *r, const struct job_request *request, const char *node,
                      const char *before, struct strbuf *out, struct err *err);
