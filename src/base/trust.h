/* Whom a program with more rights than its caller, or root's, may believe. */
#pragma once

#include <stdbool.h>

/* Whether the kernel gave this program rights that its caller has not: set-id, or capabilities. */
bool trust_is_set_id(void);
/*
 * Gives up rights that the caller has not, of set-id bits and of file capabilities, before anything
 * is read. 0, or a negative errno: then nothing may be done. Nothing changes for other programs.
 */
int trust_drop_rights(void);
/* getenv, but nothing in such a program. */
const char *trust_env(const char *name);
/*
 * Why root should not do what an open file says: it belongs to somebody else, or others may write
 * it. NULL when root may, and for everybody else.
 */
const char *trust_why_not(int fd);
/*
 * Opens a file that holds a secret, or decides who is admitted, without waiting. NULL, and the
 * descriptor is the caller's; else why it is not opened: it is not a regular file, it belongs
 * neither to root nor to this user, or others may write it.
 */
const char *trust_open_secret(const char *path, int *ret_fd);
