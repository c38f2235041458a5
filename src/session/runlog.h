/* The run log: JSON lines for tail -f and jq. Each line is one write, so writers never mix. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "session/mark.h"

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
