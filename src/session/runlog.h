/* The run log: JSON lines for tail -f and jq. Each line is one write, so writers never mix. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "session/mark.h"

#include <stdbool.h>

/*
 * Appends the mark. The end of a phase becomes a phase with its seconds when the log has its
 * beginning. 0, or a negative code with err.
 */
int runlog_append(const char *path, const struct mark *m, struct err *err);

/* The line of a mark, with its newline. began_ns is when an ended phase began; 0 when not known. */
int runlog_line(const struct mark *m, int64_t began_ns, struct strbuf *out);

/*
 * Makes one object of key=value words, for mark.data: numbers, true, false and null are taken for
 * what they are, all else is text. The caller frees *ret; NULL when there are no words.
 */
int runlog_keys(const char *const *words, size_t n, char **ret, struct err *err);
/* Checks that text is JSON and gives it in its shortest form. The caller frees *ret. */
int runlog_data(const char *text, char **ret, struct err *err);

#define RUNLOG_MAX 1000000 /* entries that are read */

/* "2026-01-02T03:04:05.678+00:00", as the log's times are. 0 when it is not. */
int64_t runlog_time(const char *s);
/* One line. False when it is not an entry of a run log; the keys of phases and events are left out.
 */
bool runlog_parse(const char *line, size_t len, struct mark *ret);
/* Whether a file begins with an entry. */
bool runlog_is_one(const char *path);
/* All entries; lines that are none, or whose name or time is too long, are counted. The caller
 * frees *ret. */
int runlog_read(const char *path, struct mark **ret, size_t *ret_n, size_t *ret_skipped,
                struct err *err);
