/*
 * A session: one SQLite file with everything known about a run. docs/SESSION.md describes the
 * tables and the views; a file can be read by anything that reads SQLite, also while it grows.
 */
#pragma once

#include "base/err.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/stack_log.h"
#include "session/mark.h"

/* 1: 0.1.0. 2: what the host does for each GPU; of processes, children and frameworks. 3: stacks.
 */
#define SESSION_SCHEMA_VERSION 3

/* How many ticks were asked for, and what became of them. */
struct session_counts {
        uint64_t asked;
        uint64_t taken;
        uint64_t late;    /* more than half an interval behind */
        uint64_t missed;  /* the source gave nothing in time */
        uint64_t dropped; /* could not be stored: the disk was full for long */
};

/*
 * Tells SQLite that nobody else in this process uses it, so it need not count what it allocates,
 * which is a fifth of opening a session. Called before anything else here, by programs alone.
 */
void session_own_process(void);

/* ---- writing ---- */

struct session;

/* The session starts with its first frame: for captures, whose times are of another day. */
#define SESSION_START_FIRST INT64_MIN

/*
 * Makes a new file; one present already is refused. start_wall_ns is the time that ticks are kept
 * relative to. 0, or a negative code with err.
 */
int session_create(const char *path, int64_t start_wall_ns, struct session **ret, struct err *err);

/* Where its file is now: under its own name, or another when it was moved meanwhile. False when it
 * was removed. */
bool session_find_file(const struct session *s, char *ret, size_t size);
/*
 * Why the session takes no marks of other processes: the folder for them is not this user's own.
 * NULL when it does. Marks of this process go into the file all the same.
 */
const struct err *session_trouble(const struct session *s);

/*
 * Commits no longer wait for the disk: a program that dies loses no more than before, a machine
 * that does may lose all. For sessions in a temporary folder.
 */
int session_relax(struct session *s, struct err *err);

/* Whose command lines are kept; of others there is only the program's name. */
enum session_commands { COMMANDS_OWN, COMMANDS_ALL, COMMANDS_NONE };
/* Before the first frame. COMMANDS_OWN, those of the user who records, unless this is called. */
void session_keep_commands(struct session *s, enum session_commands which);

/* Facts about the run. They are written at the next commit. 0 or -ENOMEM. */
int session_set_text(struct session *s, const char *key, const char *value);
int session_set_number(struct session *s, const char *key, double value);
int session_set_time(struct session *s, const char *key, int64_t ns);
void session_set_counts(struct session *s, const struct session_counts *counts);

/*
 * Takes a frame into memory and never waits for the disk. 1 when so much was added that it is time
 * to commit, for callers that no other thread does it for; 0, or a negative code with err.
 */
int session_add(struct session *s, const struct frame *frame, struct err *err);
/*
 * The same for the host: its levels, cores and GPUs. It has ticks of its own on the same clock, and
 * may come from another thread than frames do. What is kept: docs/SESSION.md.
 */
int session_add_host(struct session *s, const struct host *host, struct err *err);
/*
 * The same for stacks of threads. The table is the same at every call and outlives the session;
 * what the samples name in it is written with them. Nothing is kept with COMMANDS_NONE.
 */
void session_add_stacks(struct session *s, const struct stack_table *table,
                        const struct stack_sample *samples, size_t n);
/* No more samples come, and the table is not used after this. After the last commit. */
void session_end_stacks(struct session *s);
/* A process whose stacks are read, or why they are not; again when that changes. */
void session_add_stack_process(struct session *s, const struct stack_process *process);
/* The same for a mark made in this process. */
int session_mark(struct session *s, const struct mark *m, struct err *err);

/* Whether there were more GPUs than a session keeps: later ones are not in it. */
#define SESSION_GPUS_MAX 4096
bool session_left_out(struct session *s);

/* How many ticks could not be kept: what waits for a disk is bounded. */
uint64_t session_dropped(struct session *s);

/* Puts marks that were made elsewhere into the file at once. */
int session_import(struct session *s, const struct mark *marks, size_t n, struct err *err);

/*
 * Writes what was added and what waits in the spool, and syncs. Safe from another thread than the
 * one that adds. On failure everything is kept for the next try while memory allows.
 */
int session_commit(struct session *s, struct err *err);

/* Commits and leaves one plain file. NULL is allowed. The session is gone also when this fails. */
int session_close(struct session *s, struct err *err);

/* ---- writing into memory ---- */

/*
 * A session without a file, for the last minutes of a program that runs for long: what is added is
 * kept within a bound in bytes, at the price of the oldest. It starts with its first tick.
 */
int session_create_memory(size_t most_bytes, struct session **ret, struct err *err);
/* Keeps no more GPUs than that; to be called before the first frame. */
void session_limit_gpus(struct session *s, size_t most);
/*
 * Instead of session_commit: takes full blocks in, and with all, or where there are many, processes
 * and stacks too. What is older than keep_ns before the newest tick goes, and more where the bound
 * asks for it. How much is present afterwards is given. One thread at a time.
 */
int session_commit_memory(struct session *s, int64_t keep_ns, bool all, int64_t *ret_kept_ns,
                          struct err *err);
/* The end of such a session. NULL is allowed. */
void session_discard(struct session *s);

/* The last keep_ns of what is present, as a session that ended at a moment. */
struct session_slice {
        int64_t keep_ns;
        int64_t wall_ns, mono_ns;
        const struct mark *marks; /* that are added */
        size_t n_marks;
};
/* The bytes of such a session's file, with processes and stacks as of the last commit of all.
 * Adding continues meanwhile; a commit waits. To be freed with session_free_slice. */
int session_slice(struct session *s, const struct session_slice *slice, unsigned char **ret,
                  size_t *ret_len, struct err *err);
void session_free_slice(unsigned char *image);
/* What it keeps in memory, in bytes. */
size_t session_memory(struct session *s);

/* Puts a mark into the session: by way of its recorder when there is one, else into the file. */
int session_put_mark(const char *path, const struct mark *m, struct err *err);

/* ---- reading ---- */

struct session_reader;

/* Whether a file starts as SQLite files do. */
bool session_is_one(const char *path);
/* Opens for reading, and changes nothing. */
int session_open(const char *path, struct session_reader **ret, struct err *err);
void session_reader_close(struct session_reader *r);

/* A fact; NULL when there is none. Valid until the next call. */
const char *session_text(struct session_reader *r, const char *key);
/* Calls take with every fact whose key starts with prefix; both texts are valid meanwhile. */
void session_each_fact(struct session_reader *r, const char *prefix,
                       void (*take)(void *arg, const char *key, const char *value), void *arg);
/* A fact that is a number; the fallback when there is none, or none that makes sense. */
double session_number(struct session_reader *r, const char *key, double fallback);
int64_t session_start_ns(const struct session_reader *r);
/* When its last tick was, of the GPUs or the host; 0 when there is none. */
int64_t session_last_ns(struct session_reader *r);
void session_counts(struct session_reader *r, struct session_counts *ret);
size_t session_entities(const struct session_reader *r);
/* One of them, in order of label; valid while the reader is open. */
const struct entity *session_entity(const struct session_reader *r, size_t at);

/* The next tick: 1 (valid until the next call), 0 at the end, or a negative code. */
int session_next(struct session_reader *r, const struct frame **ret, struct err *err);

/*
 * The next tick of the host, with a cursor of its own: 1 (valid until the next call), 0 at the end
 * and in sessions without a host, or a negative code. Counters are not kept, so they are missing;
 * n_gpus and their order are the same at every tick.
 */
int session_next_host(struct session_reader *r, const struct host **ret, struct err *err);

/*
 * The stacks of the session, all of their frames: NULL in sessions without. The table, threads and
 * processes belong to the reader and stay until it is closed. 0 or a negative code.
 */
int session_stacks(struct session_reader *r, const struct stack_log **ret, struct err *err);
/* The next second of them, with a cursor of its own, once session_stacks gave some: 1 (valid until
 * the next call), 0 at the end, or a negative code. */
int session_next_stacks(struct session_reader *r, struct stack_window *ret, struct err *err);

/* The levels that were present at some time: bits. */
unsigned session_levels(struct session_reader *r);

/*
 * Takes what a dead recorder left in its spool into the file, and removes the spool. Gives how many
 * marks there were. -EBUSY when the recorder lives; where locks do not reach (another node, some
 * network file systems) only the caller knows.
 */
int session_recover(const char *path, size_t *ret_n, struct err *err);

/*
 * Copies a session into an empty file that exists: what is still in its log and the marks that wait
 * come along, also while it is being recorded. 0, or a negative code with err; the copy is then to
 * be removed.
 */
int session_copy(const char *path, const char *to, struct err *err);

/*
 * All marks in order of time; those that still wait in a spool of this user's too, which stay
 * there. The caller frees each with mark_finish and the list with free. */
int session_marks(struct session_reader *r, struct mark **ret, size_t *ret_n, struct err *err);
