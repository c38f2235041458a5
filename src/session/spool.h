/*
 * The spool: a folder beside the session in which each mark is a file. Marks of many processes and
 * nodes never wait for each other or for the recorder, on any file system; the recorder takes them
 * into the session twice a second and removes the folder at the end.
 *
 * The folder may lie where others can write. So it is opened without following a link, and used
 * only when it is a folder of this user that nobody else may enter; in it only plain files of this
 * user with names of the spool's own are examined or removed.
 */
#pragma once

#include "session/mark.h"

#define SPOOL_SUFFIX "-marks"
#define SPOOL_NAME_MAX 160
/* The data may be quotes and backslashes, which take two bytes each. */
#define SPOOL_FILE_MAX (2 * MARK_DATA_MAX + 2048)

/*
 * Opens the spool of a session: a descriptor, or a negative code with err. -ENOENT when there is
 * none, -EPERM when what is present cannot be trusted.
 */
int spool_open(const char *session, struct err *err);
/*
 * Makes it where there is none, opens it, and locks it; ret_made says whether it was made here.
 * -EAGAIN when somebody else holds or removes it at this moment.
 */
int spool_make(const char *session, bool *ret_made, struct err *err);
/* Takes the lock of its recorder: false when that lives. True where folders cannot be locked. */
bool spool_lock(int dir);
/* Removes the open folder if it is empty and still has its name: whether it is gone. */
bool spool_remove(const char *session, int dir);

/* Puts the mark into the spool. session is for messages. */
int spool_put(int dir, const char *session, const struct mark *m, struct err *err);

struct spool_list {
        char (*names)[SPOOL_NAME_MAX]; /* free() it */
        size_t n;
};

/* The marks that wait, oldest first, at most SPOOL_BATCH of them. */
#define SPOOL_BATCH 20000
int spool_list(int dir, struct spool_list *ret);
/* 0, ERR_DATA when it is not a mark, or another negative code when it cannot be read now. */
int spool_read(int dir, const char *name, struct mark *ret);
/* Removes those of the list that still have a name there. */
void spool_clean(int dir, const struct spool_list *list);
