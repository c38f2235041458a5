/* Tapes of a spool, and how far they are in a session's file. */
#pragma once

#include "session/db.h"
#include "session/tape.h"

/* Marks that one commit takes from tapes. */
#define TAPES_BATCH 50000

struct tapes {
        struct spool_list list; /* names of tapes that are to be kept are emptied */
        size_t taken;           /* marks */
        bool more;              /* there are marks beyond the batch */
};

/*
 * Takes new marks into the file, inside the caller's transaction. last: nobody writes any more, so
 * that all of each tape is taken. 0 or a negative code; tapes_finish it either way.
 */
int tapes_take(struct db *db, int dir, bool last, struct tapes *ret);
/* After the transaction: removes the tapes that are in the file as a whole. */
void tapes_clean(int dir, const struct tapes *t);
void tapes_finish(struct tapes *t);
/* Tells the programs that the recording is over. */
void tapes_end(int dir);
/* How many slots of a tape are in the file: 0 for one that it does not know, or a negative code. */
int64_t tapes_position(struct db *db, const char *name);
/* Whether all tapes that the file knows in part are present. */
bool tapes_exist(struct db *db, int dir);
