/*
 * The recordings of a folder and their reports. A report may take seconds: a thread of its own
 * makes it, and the client asks again. Files are found by a number of their name, never by a path
 * from a request.
 */
#pragma once

#include "base/jsonw.h"

#include <stdint.h>

struct archive;

/*
 * report() writes the report of a file as text, on the archive's thread; 0 or a negative code. NULL
 * when memory or threads are short.
 */
struct archive *archive_open(const char *dir,
                             int (*report)(void *arg, const char *path, struct strbuf *out),
                             void *arg);
/* Waits for the report that is being made. NULL is allowed. */
void archive_close(struct archive *a);
/* The member "sessions", an array: id, name, size, time; the newest first. */
void archive_list(struct archive *a, struct jsonw *j);

enum archive_result { ARCHIVE_EXISTS, ARCHIVE_LATER, ARCHIVE_NONE, ARCHIVE_FAILED };

/* The report of the file with that id; LATER while it is being made. */
enum archive_result archive_report(struct archive *a, const char *id, struct strbuf *out);
