/*
 * Tapes: marks that cost next to nothing. A program that marks every step writes each mark into a
 * slot of a file in the session's spool that it shares with the kernel's memory, without a system
 * call: a program that is killed loses none of them, and neither does a recorder. The recorder
 * takes new slots in with its commits; how far it came is kept in the same transaction, so nothing
 * is lost or taken twice. A full tape is followed by another one.
 *
 * A slot is valid once its first word says so, which is stored last. What is in a tape is checked
 * as any file's contents are.
 */
#pragma once

#include "session/mark.h"
#include "session/spool.h"

#define TAPE_SLOTS 8192
#define TAPE_SLOT_BYTES 192

/* ---- writing ---- */

struct tape_writer;

/*
 * For the marks of this process into a session that is being recorded, or whose recorder died.
 * -ENOENT when nobody records it. 0 or a negative code with err.
 */
int tape_writer_open(const char *session, struct tape_writer **ret, struct err *err);
/* Once no thread is inside tape_put any more. The tape itself stays for the recorder. */
void tape_writer_close(struct tape_writer *w);
/*
 * Puts a mark without data; any thread may. 1 when it is in the tape, 0 when the recording has
 * ended, or a negative code: -ENOSPC where the disk is full, -EINVAL when the mark does not fit.
 */
int tape_put(struct tape_writer *w, const struct mark *m);

/* ---- reading ---- */

struct tape {
        int fd;
        char host[MARK_HOST_MAX];
        int64_t pid;
};

/* The tapes of a spool, in order of their names. */
int tape_list(int dir, struct spool_list *ret);
/* 0, ERR_DATA when it is not one, or a negative code. Close the descriptor. */
int tape_open(int dir, const char *name, struct tape *ret);
/*
 * The valid slots from *at on: as many as there is room for. *at moves behind those that were
 * read. A slot that is not valid yet ends it, unless it is the last time that anybody reads the
 * tape: then such slots are passed over. 0 or a negative code.
 */
int tape_read(const struct tape *t, size_t *at, bool last, struct mark *marks, size_t room,
              size_t *ret_n);
/* Tells the program that nobody takes more marks in. */
void tape_end(int dir, const char *name);
