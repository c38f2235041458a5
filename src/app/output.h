/* Where results are written: never over what they were made from. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

/*
 * Whether writing to path would destroy a recording. input is what is being read (a file or a
 * folder; NULL for none): writing over it or a part of it is refused always, by any name or link.
 * Another recording (a session, a capture, a zip of a notebook monitor) is refused unless force.
 * 0, also when there is no such file, or ERR_USAGE with err.
 */
int output_check(const char *path, const char *input, bool force, struct err *err);
/* The same for an open descriptor, for example the standard output. name is for the message. */
int output_check_fd(int fd, const char *name, const char *input, struct err *err);
/*
 * Checks, and writes everything to the file. The file is emptied only when the checks have passed
 * on the file that was opened. 0 or a negative code with err.
 */
int output_write(const char *path, const char *input, bool force, struct strbuf *out,
                 struct err *err);
/*
 * Puts a text in the place of a regular file, or makes one, all at once: a reader sees the old one
 * or the new one. A recording is not replaced. 0 or a negative code with err.
 */
int output_replace(const char *path, struct strbuf *text, struct err *err);
