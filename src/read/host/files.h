/* Small files below a root folder, read whole into the caller's buffer. */
#pragma once

#include "model/value.h"

#include <stddef.h>
#include <sys/types.h>

/* Opens the folder that stands for "/": "" is the real one. A descriptor or a negative errno. */
int files_open_root(const char *root);
/* Opens path (a leading "/" is dropped) below dir for reading. A descriptor or a negative errno. */
int files_open(int dir, const char *path);
/* Reads from the start of an open file: how many bytes, at most size, or a negative errno. */
ssize_t files_reread(int fd, char *buf, size_t size);
/*
 * The same with one call, for files that are one record: a second call, to see the end, would make
 * the kernel write the record again.
 */
ssize_t files_reread_record(int fd, char *buf, size_t size);
/* Opens, reads and closes. What is beyond size is left out. */
ssize_t files_read(int dir, const char *path, char *buf, size_t size);
bool files_exist(int dir, const char *path);
/* Why a value is missing whose file gave this negative errno. */
struct value files_missing(ssize_t error);
