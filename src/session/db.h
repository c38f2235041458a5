/* The little of SQLite that sessions use. Only this folder knows of it. */
#pragma once

#include "base/err.h"
#include "session/spool.h"

#include <sqlite3.h>

/* To read, to add marks to a file that may be a stranger's, or to record. */
enum db_mode { DB_READ, DB_ADD, DB_WRITE };

/* Statements that are prepared once. */
enum db_statement {
        DB_PUT_ENTITY,
        DB_PUT_TICK,
        DB_PUT_BLOCK,
        DB_PUT_FACT,
        DB_PUT_MARK,
        DB_PUT_TAPE,
        DB_PUT_HOST_TICK,
        DB_PUT_HOST_BLOCK,
        DB_PUT_HOST_GPU,
        DB_PUT_LEVEL,
        DB_PUT_SERVING,
        DB_PUT_PROCESS,
        DB_PUT_PROCESS_SAMPLE,
        DB_PUT_STACK_TEXT,
        DB_PUT_STACK_FRAME,
        DB_PUT_STACK_NODE,
        DB_PUT_STACK_PROCESS,
        DB_PUT_STACK_THREAD,
        DB_PUT_STACK_KIND,
        DB_PUT_STACK_WINDOW,
        DB_GET_FACT,
        DB_GET_TAPE,
        DB_GET_BLOCK,
        DB_GET_TICKS,
        DB_GET_HOST_TICKS,
        DB_GET_HOST_BLOCK,
        DB_GET_LEVELS,
        DB_GET_PROCESSES,
        DB_GET_STACK_WINDOWS,
        DB_STATEMENTS
};

/* The longest text or blob: a file of a notebook monitor is kept as one. */
#define DB_LENGTH_MAX (300 << 20)

struct db {
        sqlite3 *h;
        int64_t opened_ns; /* on the monotonic clock */
        int64_t steps;     /* that SQLite took */
        bool endless;      /* they were too many */
        char path[4096];
        sqlite3_stmt *prepared[DB_STATEMENTS];
};

/* A statement being filled: parameters are bound in order. Errors stick until it is run. */
struct statement {
        struct db *db;
        sqlite3_stmt *h;
        int at;
        int r; /* an SQLite code */
};

/*
 * Reads the file's first bytes through SQLite: a plain close() would drop the locks of a recorder
 * that writes the same file from this process. False when it has fewer.
 */
bool db_read_head(sqlite3 *h, unsigned char *ret, size_t len);
int db_open(struct db *db, const char *path, enum db_mode mode, struct err *err);
void db_close(struct db *db);
/* Whether what SQLite keeps beside the file may be used. To be called before the first statement.
 */
int db_check_beside(struct db *db, struct err *err);
/* The same, and whether it is a session that this program knows, of plain tables. */
int db_check_session(struct db *db, struct err *err);
/* Turns the last failure into err; returns a negative errno. code is what the call returned. */
int db_error(struct db *db, int code, struct err *err);
int db_exec(struct db *db, const char *sql, struct err *err);
/* A database without a file. */
int db_open_memory(struct db *db, struct err *err);
/* The bytes of a database become what db works on; takes ownership of them, also on failure. It may
 * grow up to most bytes. */
int db_use_image(struct db *db, unsigned char *image, int64_t len, int64_t most, struct err *err);
/* The bytes of a database file that these statements make; to be freed with sqlite3_free. */
int db_make_image(const char *sql, unsigned char **ret, size_t *ret_len, struct err *err);
void db_rollback(struct db *db);
/* Several questions in one go: each alone would lock and unlock the file. Whether it was begun is
 * given to the end; where it was not, questions are asked one by one. */
bool db_begin_reading(struct db *db);
void db_end_reading(struct db *db, bool begun);

struct statement db_prepare(struct db *db, enum db_statement which, const char *sql);
void db_bind_int(struct statement *q, int64_t v);
void db_bind_int_or_null(struct statement *q, int64_t v, bool present);
void db_bind_number(struct statement *q, double v);
void db_bind_text(struct statement *q, const char *s);             /* NULL for none */
void db_bind_blob(struct statement *q, const void *s, size_t len); /* NULL for none */
/* Runs a statement that gives no rows. 0 or a negative errno. */
int db_run(struct statement *q);
/* 1 with a row, 0 at the end (the statement is then ready for another use), or a negative errno. */
int db_step(struct statement *q);
void db_reset(struct statement *q);
/* A name that is shown, cut to size and fit to be shown: the file may be a stranger's. */
void db_take_name(sqlite3_stmt *h, int column, char *ret, size_t size);

/* spool is the name of the mark's file, which makes it unique; NULL for none. */
int db_put_mark(struct db *db, const struct mark *m, const char *spool);
/*
 * Takes the marks named in the list from the folder. Files that are no marks are passed over; the
 * names of those that cannot be read now are emptied, so that they stay for the next time.
 */
int db_take_marks(struct db *db, int folder, struct spool_list *list);
