/* Opening a file to write, where somebody else may have put something in its place. */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/*
 * As open(), for a path that the user named. In a folder that others may write to, or that belongs
 * to another user, no link of another user is followed, no file with a second name is taken, and
 * where anybody may write no file of another user than the folder's owner. what is "" or words
 * before the name in messages, such as "the log ". A descriptor, or a negative errno with err.
 */
int outfile_open(const char *path, int flags, mode_t mode, const char *what, struct err *err);
