/* Opening a file to write, where somebody else may have put something in its place. */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/*
 * As open(), for a path that the user named. In a folder that others may write to, or that belongs
 * to another user, no link or pipe of another user is used, no file with a second name is taken,
 * and where anybody may write no file of another user than the folder's owner. what is "" or words
 * before the name in messages, such as "the log ". A descriptor, or a negative errno with err.
 */
int outfile_open(const char *path, int flags, mode_t mode, const char *what, struct err *err);
/*
 * For what makes new files by itself: whether the way to a path's folder leads over a link that
 * another user put where anybody may write. What is absent yet is fine. 0, or a negative errno with
 * err.
 */
int outfile_check_way(const char *path, struct err *err);
/* The same for a folder that files are made in. */
int outfile_check_folder(const char *folder, struct err *err);
/* The same, and makes it, for this user alone, where it is absent yet. */
int outfile_make_folder(const char *folder, struct err *err);
